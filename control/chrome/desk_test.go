package chrome

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"parley/control/action"
	"parley/control/gate"
	"parley/control/grant"
	"parley/control/publish"
	"parley/control/serve"
	"parley/control/sign"
	"parley/control/wire"
	"parley/store"
	"parley/tenant"
	"parley/tool"
)

// TestActionsOnARealBrowser: the desk of the endpoint works this browser as it works the fake.
func TestActionsOnARealBrowser(t *testing.T) {
	r := start(t)
	s, err := store.Open(r.ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := &action.Desk{Tenant: "me", Browser: r.b, Store: s, Now: time.Now}
	service, err := tool.NewService(tool.Options{Tools: d.Tools()})
	if err != nil {
		t.Fatal(err)
	}
	p := publish.Default()
	for _, a := range grant.Actions() {
		p.Scopes = append(p.Scopes, a.Scope)
	}
	do := func(name, args string) (json.RawMessage, tool.Code) {
		t.Helper()
		c := &action.Call{Principal: wire.Principal{ID: publish.Shared, Generation: 1}, Policy: p, Authority: p.Authority(nil), Current: func() bool { return true }}
		ctx, cancel := context.WithTimeout(action.With(r.ctx, c), 30*time.Second)
		defer cancel()
		a := service.Invoke(ctx, tool.Call{Tool: name, Args: json.RawMessage(args), Caller: tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me"}}, Transport: "control"}})
		if a.Err != nil {
			return nil, a.Err.Code
		}
		return a.Structured, ""
	}
	r.serve("https://page.example/two", `<body>second <input id=q name=q> <a href="https://page.example/" id=home>home</a>`)
	r.open("<body>first")
	for _, step := range []struct {
		name, args, want string
		code             tool.Code
	}{
		{"read", `{}`, `{"text":"first","untrusted":["text"]}`, ""},
		{"navigate", `{"url":"https://page.example/two"}`, `{"completed":true}`, ""},
		{"type", `{"selector":"#q","text":"hello"}`, `{"completed":true}`, ""},
		{"type", `{"selector":"#none","text":"hello"}`, "", tool.Code(wire.CodeDenied)},
		{"click", `{"selector":"#home"}`, `{"completed":true}`, ""},
		{"screenshot", `{}`, "", tool.Code(wire.CodeDenied)}, // nobody reads pictures here
	} {
		got, code := do(step.name, step.args)
		if code != step.code || step.want != "" && string(got) != step.want {
			t.Errorf("%s: %s %q, want %s %q", step.name, got, code, step.want, step.code)
		}
	}
	r.eventually("the click", func() bool {
		all, _ := r.b.Tabs(r.ctx)
		return len(all) > 0 && r.front().URL == "https://page.example/" && !r.front().Loading
	})
	if got, code := do("back", `{}`); code != "" || string(got) != `{"completed":true}` {
		t.Errorf("back: %s %q", got, code)
	}
}

// TestAPageGetsNothingFromThePort: a website that found the endpoint's port gets the refusal, and may not even read it.
func TestAPageGetsNothingFromThePort(t *testing.T) {
	r := start(t)
	id, err := sign.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(id, nobody{}, gate.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.Start(g, func(context.Context, wire.Principal, wire.Request) serve.Answer {
		t.Error("an action")
		return serve.Answer{}
	}, serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(r.ctx); err != nil {
			t.Error(err)
		}
	}()
	tab := r.open("<body>evil")
	for _, js := range []string{
		`fetch("http://%s/control/v1/challenge", {method: "POST", body: "x"}).then(r => r.text()).then(t => "read " + t, () => "no")`,
		`fetch("http://%s/control/v1/action", {method: "POST", mode: "no-cors", body: "x"}).then(r => r.type + " " + r.status, () => "no")`,
		`fetch("http://%s/control/v1/action", {method: "POST", headers: {"Parley-Control": "x"}, body: "x"}).then(r => r.text()).then(t => "read " + t, () => "no")`,
		`fetch("http://%s/", {credentials: "include"}).then(r => r.text()).then(t => "read " + t, () => "no")`,
	} {
		if got := r.eval(tab, strings.ReplaceAll(js, "%s", s.Address())); got != "no" && got != "opaque 0" {
			t.Errorf("%s: %q", js, got)
		}
	}
	if accepted, _ := g.Counts(); accepted != 0 {
		t.Errorf("%d requests were accepted", accepted)
	}
}

type nobody struct{}

func (nobody) Capability(time.Time, wire.Principal) (*wire.Capability, bool) { return nil, false }
