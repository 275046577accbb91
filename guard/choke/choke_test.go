package choke

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/guard/approve"
	"parley/guard/audit"
	"parley/guard/egress"
	"parley/guard/policy"
	"parley/guard/seal"
	"parley/tenant"
	"parley/tool"
)

type one struct{ p *policy.Policy }

func (o one) Of(tenant.ID) *policy.Policy { return o.p }

type args struct {
	Session string `json:"session,omitempty"`
	URL     string `json:"url,omitempty"`
	Ref     string `json:"ref,omitempty"`
	Text    string `json:"text,omitempty"`
	Value   string `json:"value,omitempty"`
	Submit  bool   `json:"submit,omitempty"`
}

type result struct {
	Page string `json:"page,omitempty" arg:"untrusted"`
	Link string `json:"link,omitempty" arg:"verbatim"`
	Ref  string `json:"ref,omitempty" arg:"untrusted,verbatim"`
}

// bench is a service of a few tools that note what ran.
type bench struct {
	guard *Guard
	tools *tool.Service
	ran   []string
	out   result
	typed string // by the last type, as the page got it
	pages map[string]Page
}

func (b *bench) Page(_ tenant.ID, session, _ string) (Page, bool) {
	p, ok := b.pages[session]
	return p, ok
}

func newBench(t *testing.T, table string, change func(*Options)) *bench {
	t.Helper()
	p, _, err := policy.New(policy.Source{Table: table}, policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{pages: map[string]Page{"s1": {Host: "shop.test", Document: "1"}}}
	o := Options{Policies: one{p}, Pages: b, Vaults: &seal.Vaults{}}
	if change != nil {
		change(&o)
	}
	b.guard = New(o)
	t.Cleanup(b.guard.Close)
	var tools []tool.Tool
	for _, name := range []string{"navigate", "read", "type", "click", "find", "macro_save"} {
		tools = append(tools, tool.New(tool.Spec[args, result]{Tool: tool.Tool{Name: name, Doc: "d"}, Run: func(ctx context.Context, _ tool.Caller, a args) (result, error) {
			b.ran = append(b.ran, name)
			if name == "type" {
				value, err := tool.Release(ctx, "value", a.Value)
				if err != nil {
					return result{}, err
				}
				b.typed = value.Text
			}
			return b.out, nil
		}}))
	}
	to := tool.Options{Tools: tools}
	b.guard.Install(&to)
	if b.tools, err = tool.NewService(to); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) call(attended bool, name, arguments string) tool.Answer {
	who := tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full, Grants: []tenant.Grant{tenant.Meeting}}}, Transport: "test", Attended: attended}
	return b.tools.Invoke(context.Background(), tool.Call{Tool: name, Args: json.RawMessage(arguments), Caller: who})
}

func codeOf(a tool.Answer) tool.Code {
	if a.Err == nil {
		return ""
	}
	return a.Err.Code
}

func TestATenantsListOfHostsIsAskedFirst(t *testing.T) {
	rules, err := egress.ParseRules("shop.test, *.shop.test, 127.0.0.1:4848")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, policy.Standard, func(o *Options) { o.Allow = map[tenant.ID]egress.Rules{"me": rules} })
	for url, want := range map[string]tool.Code{
		"https://shop.test/": "", "https://a.shop.test/": "", "http://127.0.0.1:4848/x": "", "/relative": "", "https://SHOP.test./": "",
		"https://evil.test/": tool.CodeDenied, "https://shop.test:8443/": tool.CodeDenied, "http://127.0.0.1/": tool.CodeDenied, "http://127.1:4848/": tool.CodeDenied,
		"http://shop.test@evil.test/": tool.CodeDenied, `https:\\evil.test`: tool.CodeDenied, "https://shop.test:x/": tool.CodeDenied, "javascript:alert(1)": tool.CodeDenied,
	} {
		raw, _ := json.Marshal(map[string]string{"url": url, "session": "s1"})
		a := b.call(true, "navigate", string(raw))
		if got := codeOf(a); got != want {
			t.Errorf("%s: %q, want %q (%s)", url, got, want, a.Text)
		}
	}
	if a := b.call(false, "navigate", `{"url":"https://evil.test/?secret=x"}`); !strings.Contains(a.Text, "host allowlist, evil.test:443 is not on it") || strings.Contains(a.Text, "secret=x") {
		t.Error(a.Text)
	}
}

func TestAHandleIsTypedAndNothingElse(t *testing.T) {
	b := newBench(t, policy.Standard, nil)
	h := b.guard.o.Vaults.Of("me", "s1").Put(time.Now(), "password", "shop.test", []byte("Tr0ub4dor&3x")).String()
	off := b.guard.o.Vaults.Of("me", "s1").Put(time.Now(), "password", "bank.test", []byte("other-Tr0ub4dor")).String()
	quote := func(s string) string { q, _ := json.Marshal(s); return string(q) }
	for _, c := range []struct {
		tool, args string
		want       tool.Code
	}{
		{"navigate", `{"url":` + quote("https://shop.test/?p="+h) + `}`, tool.CodeNotReleasable},
		{"find", `{"text":` + quote(h) + `}`, tool.CodeNotReleasable},
		{"click", `{"ref":` + quote(h) + `}`, tool.CodeNotReleasable},
		{"macro_save", `{"text":` + quote(h) + `}`, tool.CodeNotReleasable},
		{"type", `{"session":"s1","ref":` + quote(h) + `}`, tool.CodeNotReleasable},
		{"type", `{"session":"s1","value":` + quote(h) + `}`, tool.CodeNobodyToAsk},
		{"type", `{"session":"s1","value":` + strings.ReplaceAll(strings.ReplaceAll(quote(h), "⟦", `\u27e6`), "⟧", `\u27E7`) + `}`, tool.CodeNobodyToAsk},
		{"find", `{"text":"` + `\u27e6` + h[3:] + `"}`, tool.CodeNotReleasable},
		{"type", `{"session":"s1","value":"plain"}`, ""},
	} {
		b.ran = nil
		if got := codeOf(b.call(false, c.tool, c.args)); got != c.want || (got != "") != (len(b.ran) == 0) {
			t.Errorf("%s %s: %q, want %q; ran %v", c.tool, c.args, got, c.want, b.ran)
		}
	}
	// Somebody can be asked: the question names where it was read elsewhere.
	for h, rule := range map[string]string{h: "secret-release", off: "secret-off-scope"} {
		a := b.call(true, "type", `{"session":"s1","value":`+quote(h)+`}`)
		if a.Ask == nil || !strings.Contains(a.Ask.Text, rule) || strings.Contains(a.Ask.Text, "ub4dor") || !a.Ask.Always {
			t.Errorf("%s: %+v", rule, a)
		}
	}
}

func TestAnAnswerIsForTheCallAndThePage(t *testing.T) {
	b := newBench(t, policy.Guarded, nil)
	const submit = `{"session":"s1","ref":"e1","text":"x","submit":true}`
	ask := func(arguments string) string {
		t.Helper()
		a := b.call(true, "type", arguments)
		if a.Ask == nil || codeOf(a) != tool.CodeApprovalNeeded {
			t.Fatalf("not asked: %+v", a)
		}
		return a.Ask.ID
	}
	id := ask(submit)
	b.guard.Answer("you", id, "once")
	ask(submit)
	b.guard.Answer("me", id, "once")
	ask(`{"session":"s1","ref":"e2","text":"x","submit":true}`)
	b.pages["s1"] = Page{Host: "shop.test", Document: "2"}
	ask(submit) // it navigated
	b.pages["s1"] = Page{Host: "shop.test", Document: "1"}
	if a := b.call(true, "type", submit); a.Err != nil || !slices.Contains(b.ran, "type") {
		t.Error(a.Err)
	}
	id = ask(submit)
	b.guard.Answer("me", id, "no idea")
	a := b.call(true, "type", submit)
	if codeOf(a) != tool.CodeDeclined || a.Ask != nil || !strings.Contains(a.Text, "Do not try it again") || !strings.Contains(a.Text, "another way") {
		t.Errorf("%+v", a)
	}
	b.guard.Close()
	if a := b.call(true, "type", `{"session":"s1","submit":true}`); codeOf(a) != tool.CodeDeclined {
		t.Errorf("nobody is there any more: %v", a.Err)
	}
}

type desk struct{ shown chan approve.Question }

func (d desk) Reachable(t tenant.ID) bool    { return t == "me" }
func (d desk) Show(q approve.Question) error { d.shown <- q; return nil }

func TestAPersonAtTheDeskIsAsked(t *testing.T) {
	d := desk{make(chan approve.Question, 1)}
	b := newBench(t, policy.Guarded, func(o *Options) { o.Person = d })
	for choice, want := range map[approve.Choice]tool.Code{approve.Once: "", approve.No: tool.CodeDeclined} {
		// The client alone could ask nobody.
		answered := make(chan error, 1)
		go func() {
			q := <-d.shown
			answered <- b.guard.Broker().Answer("me", q.ID, choice)
		}()
		if got := codeOf(b.call(false, "type", `{"session":"s1","submit":true,"text":"`+string(choice)+`"}`)); got != want {
			t.Errorf("%s: %q", choice, got)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsHandedBackIsNotSealed(t *testing.T) {
	b := newBench(t, policy.Standard, nil)
	key := "ghp_" + strings.Repeat("aB3dE6gH9", 4)
	b.out = result{Page: "token: " + key, Link: "https://h.test/recording/x?t=" + key, Ref: "input[name=" + key + "]"}
	a := b.call(false, "read", `{}`)
	var r result
	if err := json.Unmarshal(a.Structured, &r); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.Page, key) || r.Link != b.out.Link || r.Ref != b.out.Ref {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsPushedIsSealed(t *testing.T) {
	b := newBench(t, policy.Standard, nil)
	key := "ghp_" + strings.Repeat("aB3dE6gH9", 4)
	chat := &tool.ChatMessage{Text: "my token is " + key, Sender: key}
	e := tool.Event{Tenant: "me", Kind: tool.EventChat, Chat: chat, People: &tool.People{Joined: []string{key}, People: []tool.Person{{Name: key}}}}
	out, err := json.Marshal(b.guard.SealEvent(e))
	if err != nil || strings.Contains(string(out), key) {
		t.Errorf("%s %v", out, err)
	}
	if chat.Text != "my token is "+key || e.People.Joined[0] != key {
		t.Error("the event itself was changed")
	}
	if b.guard.Events(nil) != nil {
		t.Error("nothing to watch became something")
	}
}

func TestEveryCallLeavesItsRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	b := newBench(t, policy.Guarded, func(o *Options) { o.Audit = log })
	b.call(false, "read", `{}`)
	b.call(false, "type", `{"submit":true,"text":"Tr0ub4dor"}`)
	a := b.call(true, "type", `{"submit":true}`)
	b.guard.Answer("me", a.Ask.ID, "once")
	b.call(true, "type", `{"submit":true}`)
	var lines []string
	if _, err := audit.Verify(dir, func(e audit.Entry) error { l, err := e.Line(); lines = append(lines, l); return err }); err != nil {
		t.Fatal(err)
	}
	want := []string{`"stage":"authorized"`, `"stage":"completed"`, `"effect":"deny","rules":["form-submission"],"code":"nobody_to_ask"`,
		`"effect":"confirm","rules":["form-submission"],"code":"approval_needed"`, `"effect":"confirm","rules":["form-submission"],"approved":true`, `"approved":true`}
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for i := range want {
		if !strings.Contains(lines[i], want[i]) || strings.Contains(lines[i], "Tr0ub4dor") {
			t.Errorf("%s\nhas no %s", lines[i], want[i])
		}
	}
}

// TestAnAnswerTellsThatThePageWentElsewhere: a redirect to a site outside the run's is told in the answer that brought it
// there, acting there is held up, and neither is so once the run is back. Tools that only look tell nothing.
func TestAnAnswerTellsThatThePageWentElsewhere(t *testing.T) {
	p, _, err := policy.New(policy.Source{Table: policy.Guarded}, policy.Config{Guardrails: policy.Guardrails{Hosts: []string{"a.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	page := &Page{Host: "a.test", Document: "1"}
	g := New(Options{Policies: one{p}, Pages: shown{page}})
	t.Cleanup(g.Close)
	pixel := []byte{1}
	var list []tool.Tool
	for _, name := range []string{"navigate", "read", "click"} {
		list = append(list, tool.New(tool.Spec[surveyArgs, struct{}]{Tool: tool.Tool{Name: name, Doc: "x", ReadOnly: name == "read"},
			Run: func(_ context.Context, _ tool.Caller, a surveyArgs) (struct{}, error) {
				if a.URL == "https://a.test/away" {
					page.Host = "b.test"
				} else if a.URL != "" {
					page.Host = "a.test"
				}
				return struct{}{}, nil
			}}))
	}
	list = append(list, tool.New(tool.Spec[surveyArgs, picture]{Tool: tool.Tool{Name: "screenshot", Doc: "x", ReadOnly: true},
		Run: func(context.Context, tool.Caller, surveyArgs) (picture, error) { return picture{data: pixel}, nil }}))
	o := tool.Options{Tools: list, Limits: tool.Limits{PerMinute: 1e6, Burst: 1e6, Running: 100}}
	g.Install(&o)
	s, err := tool.NewService(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		tool, args string
		told, held bool
	}{
		{"navigate", `{"session":"s1","url":"https://a.test/"}`, false, false},
		{"click", `{"session":"s1"}`, false, false},
		{"navigate", `{"session":"s1","url":"https://a.test/away"}`, true, false},
		{"read", `{"session":"s1"}`, false, false},
		{"click", `{"session":"s1"}`, false, true},
		{"navigate", `{"session":"s1","url":"https://a.test/"}`, false, false},
		{"click", `{"session":"s1"}`, false, false},
	} {
		a := s.Invoke(t.Context(), tool.Call{Tool: step.tool, Args: json.RawMessage(step.args), Caller: tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me"}}}})
		if told := strings.Contains(a.Text, "now on b.test"); told != step.told {
			t.Errorf("%s %s: told %v: %s", step.tool, step.args, told, a.Text)
		}
		if held := a.Err != nil && a.Err.Code == tool.CodeNobodyToAsk; held != step.held {
			t.Errorf("%s %s: held up %v: %v", step.tool, step.args, held, a.Err)
		}
	}
	a := s.Invoke(t.Context(), tool.Call{Tool: "screenshot", Args: json.RawMessage(`{"session":"s1"}`), Caller: tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me"}}}})
	if len(a.Images) != 1 || !strings.Contains(a.Text, pictureNote) {
		t.Errorf("a picture: %d, %q", len(a.Images), a.Text)
	}
	if a := s.Invoke(t.Context(), tool.Call{Tool: "read", Args: json.RawMessage(`{"session":"s1"}`), Caller: tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me"}}}}); strings.Contains(a.Text, "picture") {
		t.Errorf("no picture: %q", a.Text)
	}
}

// picture is a result with a picture beside it.
type picture struct{ data []byte }

// Images implements tool.Pictured.
func (p picture) Images() []tool.Image { return []tool.Image{{MIME: "image/png", Data: p.data}} }
