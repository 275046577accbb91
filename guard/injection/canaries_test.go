package injection

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/guard/audit"
	"parley/guard/choke"
	"parley/guard/policy"
	"parley/guard/seal"
	"parley/tenant"
	"parley/tool"
)

// canaries are fifty secrets in the shapes that the detector promises to find.
func canaries() map[string]string {
	out := map[string]string{}
	for i := range 10 {
		id := fmt.Sprintf("%c%c%d", 'a'+i, 'K'+i, i*37%10)
		out[fmt.Sprintf("Your password is Zq%s!vT8#mLp", id)] = "Zq" + id + "!vT8#mLp"
		key := "ghp_" + strings.Repeat(id+"Xw7Tq2", 4)[:36]
		out["token "+key] = key[4:]
		pay := "sk_live_" + strings.Repeat("T"+id+"9wXz4", 3)[:24]
		out["use "+pay+" for payments"] = pay[8:]
		jwt := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"`+id+`12345","name":"x"}`)) + "." + strings.Repeat(id+"Qx8Lm", 6)[:43]
		out["Authorization: Bearer "+jwt] = jwt[len(jwt)-30:]
		out["api_key="+strings.Repeat("H"+id+"r5Vn", 5)[:32]] = strings.Repeat("H"+id+"r5Vn", 5)[:32]
	}
	return out
}

// TestFiftyCanariesOverEveryOutput plants fifty secrets in what pages and people say, calls everything, and looks for
// them in every answer, event, log and file.
func TestFiftyCanariesOverEveryOutput(t *testing.T) {
	all := canaries()
	if len(all) != 50 {
		t.Fatalf("%d canaries", len(all))
	}
	var text strings.Builder
	for line := range all {
		text.WriteString(line + "\n")
	}
	dir := t.TempDir()
	log, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p, _, err := policy.New(policy.Source{Table: policy.Standard}, policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{pages: map[string]choke.Page{ours: {Host: home, Document: "1"}}}
	g := choke.New(choke.Options{Policies: one{p}, Audit: log, Pages: w, Vaults: &seal.Vaults{}, Log: logger})
	type args struct {
		Session string `json:"session,omitempty"`
		Fail    bool   `json:"submit,omitempty"`
		Panic   bool   `json:"body,omitempty"`
		Value   string `json:"value,omitempty"`
	}
	type deep struct {
		Names []string          `json:"names" arg:"untrusted"`
		Map   map[string]string `json:"map"`
		Text  string            `json:"text" arg:"untrusted"`
		Own   string            `json:"own"`
	}
	body := text.String()
	var tools []tool.Tool
	for _, name := range []string{"read", "type", "find", "meeting_transcript"} {
		tools = append(tools, tool.New(tool.Spec[args, deep]{Tool: tool.Tool{Name: name, Doc: "d"}, Run: func(_ context.Context, _ tool.Caller, a args) (deep, error) {
			switch {
			case a.Panic:
				panic(body)
			case a.Fail:
				return deep{}, tool.Fail(tool.CodeBadArgument, "what", body[:200]).Quoting(body).Because(fmt.Errorf("the page said %d bytes", len(body)))
			}
			return deep{Names: strings.Split(body, "\n"), Map: map[string]string{"x": body}, Text: body, Own: body}, nil
		}}))
	}
	o := tool.Options{Tools: tools, Log: logger}
	g.Install(&o)
	s, err := tool.NewService(o)
	if err != nil {
		t.Fatal(err)
	}
	who := tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full, Grants: []tenant.Grant{tenant.Meeting}}}, Transport: "test"}
	outputs := map[string]string{}
	for _, name := range []string{"read", "type", "find", "meeting_transcript"} {
		for _, a := range []string{`{}`, `{"session":"` + ours + `"}`, `{"submit":true}`, `{"body":true}`} {
			answer := s.Invoke(t.Context(), tool.Call{Tool: name, Args: json.RawMessage(a), Caller: who})
			outputs["answer of "+name+a] = answer.Text + string(answer.Structured)
		}
	}
	quoted, _ := json.Marshal(map[string]string{"value": body})
	s.Invoke(t.Context(), tool.Call{Tool: "type", Args: quoted, Caller: who}) // arguments reach no record
	s.Invoke(t.Context(), tool.Call{Tool: body[:60], Args: json.RawMessage(`{}`), Caller: who})
	e := g.SealEvent(tool.Event{Tenant: "me", Kind: tool.EventChat, Chat: &tool.ChatMessage{Sender: body, Text: body}, Line: &tool.Line{Text: body}, People: &tool.People{Joined: []string{body}}})
	pushed, _ := json.Marshal(e)
	outputs["event"] = string(pushed)
	outputs["log"] = logged.String()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		outputs["file "+d.Name()] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for line, canary := range all {
		for where, out := range outputs {
			if strings.Contains(out, canary) {
				t.Errorf("%s has %q of %q", where, canary, line)
			}
		}
	}
	if len(outputs) < 20 {
		t.Errorf("only %d outputs were looked at", len(outputs))
	}
}
