package mcp

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/guard/choke"
	"parley/guard/policy"
	"parley/tenant"
	"parley/tool"
)

// guarded is the strict table for everybody.
type guarded struct{ p *policy.Policy }

func (g guarded) Of(tenant.ID) *policy.Policy { return g.p }

func newGuardedWorld(t *testing.T) *world {
	t.Helper()
	p, _, err := policy.New(policy.Source{Table: policy.Guarded}, policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g := choke.New(choke.Options{Policies: guarded{p}})
	t.Cleanup(g.Close)
	return newWorldOf(t, g.Install, func(o *Options) { o.Answer = g.Answer })
}

// TestAPersonIsAskedByWhatTheClientSpeaks deletes recordings under the strict table, which asks first.
func TestAPersonIsAskedByWhatTheClientSpeaks(t *testing.T) {
	w := newGuardedWorld(t)
	for name, way := range everyWay(w, tokenMe) {
		for _, version := range []string{"", "2025-11-25", "2025-06-18"} {
			for answer, want := range map[string]string{"once": "", "deny": "declined", "cancel": "declined", "mute": "nobody_to_ask"} {
				t.Run(name+" "+version+" "+answer, func(t *testing.T) {
					asked := make(chan string, 10)
					o := &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						asked <- r.Params.Message
						if answer == "cancel" {
							return &sdk.ElicitResult{Action: "cancel"}, nil
						}
						return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"choice": answer}}, nil
					}}
					if answer == "mute" {
						o.ElicitationHandler = nil
					}
					cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), way(), &sdk.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					defer cs.Close()
					call := func(tool string, args map[string]any) *sdk.CallToolResult {
						r, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
						if err != nil {
							t.Fatal(err)
						}
						return r
					}
					joined := call("meeting_join", map[string]any{"url": "http://127.0.0.1/room/" + strings.NewReplacer("/", "-", "#", "-").Replace(t.Name())})
					var st tool.Status
					decode(t, joined.StructuredContent, &st)
					r := call("meeting_recording_delete", map[string]any{"meeting_id": st.Meeting})
					text := r.Content[0].(*sdk.TextContent).Text
					switch {
					case want == "" && r.IsError && !strings.Contains(text, "error no_recording"),
						want != "" && !strings.Contains(text, "error "+want):
						t.Errorf("%s", text)
					}
					if n := len(asked); want != "nobody_to_ask" && n != 1 || want == "nobody_to_ask" && n != 0 {
						t.Fatalf("asked %d times", n)
					}
					if want == "nobody_to_ask" {
						return
					}
					if q := <-asked; !strings.Contains(q, "meeting_recording_delete") || !strings.Contains(q, "deletes-recording") {
						t.Error(q)
					}
					// The answer is used up: another call is another question. A no holds for the same call.
					r = call("meeting_recording_delete", map[string]any{"meeting_id": st.Meeting})
					if again := len(asked) == 1; again != (want == "") {
						t.Errorf("the second time: asked %v", again)
					}
					_ = r
				})
			}
		}
	}
}

func TestAHelpersTokenHasNobodyToAsk(t *testing.T) {
	w := newGuardedWorld(t)
	way := ways(w, tokenSwarm)["websocket"]
	o := &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		t.Error("a person was asked")
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"choice": "once"}}, nil
	}}
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), way(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	if _, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "recording_get", Arguments: map[string]any{"meeting_id": "m1"}}); err != nil {
		t.Fatal(err)
	}
}
