package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/guard/approve"
	"parley/guard/choke"
	"parley/guard/policy"
	"parley/tenant"
	"parley/tool"
)

// everyWay is each transport there is.
func everyWay(w *world, token string) map[string]func() sdk.Transport {
	all := maps.Clone(ways(w, token))
	all["stdio"] = func() sdk.Transport {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		p, err := w.server.o.Auth.(*tenant.Registry).Local("me")
		if err != nil {
			w.t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = w.server.ServeStdio(context.Background(), inR, outW, tool.Caller{Principal: tenant.Principal{Tenant: p}}) // the test's end ends it
			outW.Close()
		}()
		w.t.Cleanup(func() { inW.Close(); outR.Close(); <-done })
		return &sdk.IOTransport{Reader: outR, Writer: inW}
	}
	return all
}

// guardedAt is a strict world whose guard has a clock of its own.
func guardedAt(t *testing.T, now func() time.Time) *world {
	t.Helper()
	p, _, err := policy.New(policy.Source{Table: policy.Guarded}, policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g := choke.New(choke.Options{Policies: guarded{p}, Now: now})
	t.Cleanup(g.Close)
	return newWorldOf(t, g.Install, func(o *Options) { o.Answer = g.Answer })
}

// TestWhatIsNoClearYesIsANo: whatever else a person's client says, over each transport and in both eras, the recording stays
// and the call is declined.
func TestWhatIsNoClearYesIsANo(t *testing.T) {
	w := newGuardedWorld(t)
	answers := map[string]func() (*sdk.ElicitResult, error){
		"another word":   func() (*sdk.ElicitResult, error) { return said(map[string]any{"choice": "perhaps"}), nil },
		"another case":   func() (*sdk.ElicitResult, error) { return said(map[string]any{"choice": "ONCE"}), nil },
		"a number":       func() (*sdk.ElicitResult, error) { return said(map[string]any{"choice": 1}), nil },
		"another member": func() (*sdk.ElicitResult, error) { return said(map[string]any{"yes": true}), nil },
		"nothing":        func() (*sdk.ElicitResult, error) { return said(nil), nil },
		"no choice":      func() (*sdk.ElicitResult, error) { return &sdk.ElicitResult{Action: "decline"}, nil },
		"an error":       func() (*sdk.ElicitResult, error) { return nil, fmt.Errorf("the window was closed") },
	}
	for name, way := range everyWay(w, tokenMe) {
		for _, version := range []string{"", "2025-06-18"} {
			for what, answer := range answers {
				t.Run(name+" "+version+" "+what, func(t *testing.T) {
					asked := atomic.Int64{}
					o := &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						asked.Add(1)
						return answer()
					}}
					cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), way(), &sdk.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					defer cs.Close()
					joined, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "meeting_join", Arguments: map[string]any{"url": "http://127.0.0.1/room/" + strings.NewReplacer("/", "-", " ", "-", "#", "-").Replace(t.Name())}})
					if err != nil {
						t.Fatal(err)
					}
					var st tool.Status
					decode(t, joined.StructuredContent, &st)
					r, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "meeting_recording_delete", Arguments: map[string]any{"meeting_id": st.Meeting}})
					if err == nil { // the client itself may refuse to hand on what is none
						text := r.Content[0].(*sdk.TextContent).Text
						if !r.IsError || strings.Contains(text, "no_recording") {
							t.Errorf("it reached the tool: %s", text)
						}
					}
					if asked.Load() == 0 {
						t.Error("nobody was asked")
					}
				})
			}
		}
	}
}

func said(m map[string]any) *sdk.ElicitResult { return &sdk.ElicitResult{Action: "accept", Content: m} }

// TestAQuestionRunsOut: nobody answers until it is too late, over each transport; and a yes that comes after that is one to
// no question.
func TestAQuestionRunsOut(t *testing.T) {
	w := guardedAt(t, func() time.Time { return time.Now().Add(700*time.Millisecond - approve.TTL) }) // a question's end is seven tenths of a second away
	for name, way := range everyWay(w, tokenMe) {
		t.Run(name, func(t *testing.T) {
			released := make(chan struct{})
			o := &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				select {
				case <-released:
				case <-ctx.Done():
				}
				return said(map[string]any{"choice": "once"}), nil
			}}
			cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), way(), &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
			if err != nil {
				t.Fatal(err)
			}
			defer cs.Close()
			defer close(released)
			r, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "meeting_recording_delete", Arguments: map[string]any{"meeting_id": "m1"}})
			if err != nil {
				t.Fatal(err)
			}
			if text := r.Content[0].(*sdk.TextContent).Text; !r.IsError || strings.Contains(text, "meeting_unknown") || !strings.Contains(text, "error declined") && !strings.Contains(text, "error approval_needed") {
				t.Errorf("%s", text)
			}
		})
	}
}

// later is a call of the era in which questions are answers, as it goes over HTTP.
type later struct {
	w     *world
	token string
}

type wanted struct {
	Type    string
	IDs     []string
	Text    string
	IsError bool
}

func (l later) call(name string, args map[string]any, responses map[string]any) wanted {
	l.w.t.Helper()
	meta := map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": map[string]any{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}}
	params := map[string]any{"name": name, "arguments": args, "_meta": meta}
	if responses != nil {
		params["inputResponses"] = responses
		for id := range responses {
			params["requestState"] = id
		}
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	if err != nil {
		l.w.t.Fatal(err)
	}
	_, body := l.w.post(l.token, string(raw), map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name})
	if i := strings.Index(body, "data: "); i >= 0 {
		body = body[i+len("data: "):]
	}
	var m struct {
		Result struct {
			ResultType    string
			InputRequests map[string]json.RawMessage
			Content       []struct{ Text string }
			IsError       bool
		}
		Error *struct{ Message string }
	}
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&m); err != nil {
		l.w.t.Fatalf("%s: %v", body, err)
	}
	out := wanted{Type: m.Result.ResultType, IDs: slices.Sorted(maps.Keys(m.Result.InputRequests)), IsError: m.Result.IsError}
	if m.Error != nil {
		out.Text = m.Error.Message
	}
	for _, c := range m.Result.Content {
		out.Text += c.Text
	}
	return out
}

func yes(id string) map[string]any {
	return map[string]any{id: map[string]any{"action": "accept", "content": map[string]any{"choice": "once"}}}
}

// TestAYesIsForTheCallThatWasAsked, in the era in which the client carries question and answer: a changed call, a made-up
// question, another tenant's, an old one and the same yes a second time are all asked about anew, and nothing is done.
func TestAYesIsForTheCallThatWasAsked(t *testing.T) {
	w := newGuardedWorld(t)
	me, you := later{w, tokenMe}, later{w, tokenYou}
	remove := func(l later, meeting string, responses map[string]any) wanted {
		return l.call("meeting_recording_delete", map[string]any{"meeting_id": meeting}, responses)
	}
	asked := func(what string, got wanted) string {
		t.Helper()
		if got.Type != "input_required" || len(got.IDs) != 1 {
			t.Fatalf("%s: %+v", what, got)
		}
		return got.IDs[0]
	}
	done := func(got wanted) bool { return got.Type != "input_required" && strings.Contains(got.Text, "meeting") }

	first := asked("the call", remove(me, "m1", nil))
	other := asked("another meeting under the same yes", remove(me, "m2", yes(first)))
	if other == first {
		t.Error("the question is the same")
	}
	asked("a made-up question", remove(me, "m2", yes("q-"+strings.Repeat("0", 30))))
	theirs := asked("another tenant's call", remove(you, "m3", nil))
	asked("another tenant answers", remove(me, "m3", yes(theirs)))
	asked("and its own call is still not answered", remove(you, "m3", nil))
	// The yes to the first question was a yes: the call it was about is made, once.
	if got := remove(me, "m1", nil); !done(got) {
		t.Errorf("the call that was asked about: %+v", got)
	}
	asked("the same yes a second time", remove(me, "m1", yes(first)))
	asked("and once more", remove(me, "m1", yes(first)))

	second := asked("a call that gets a no", remove(me, "m4", nil))
	no := map[string]any{second: map[string]any{"action": "accept", "content": map[string]any{"choice": "deny"}}}
	if got := remove(me, "m4", no); !got.IsError || !strings.Contains(got.Text, "declined") {
		t.Errorf("a no: %+v", got)
	}
	if got := remove(me, "m4", yes(second)); !got.IsError || !strings.Contains(got.Text, "declined") {
		t.Errorf("a yes after the no: %+v", got)
	}

	var passed atomic.Int64
	late := guardedAt(t, func() time.Time { return time.Now().Add(time.Duration(passed.Load())) })
	old := later{late, tokenMe}
	id := asked("a question that runs out", remove(old, "m1", nil))
	passed.Store(int64(approve.TTL))
	if again := asked("a yes that comes too late", remove(old, "m1", yes(id))); again == id {
		t.Error("the old question is asked again")
	}
}
