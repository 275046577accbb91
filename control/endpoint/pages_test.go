package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/control/action"
	"parley/control/client"
	"parley/control/connection"
	"parley/control/grant"
	"parley/control/publish"
	"parley/control/tabs"
	"parley/control/tabs/fake"
	"parley/control/wire"
)

// says makes a script's answer.
func says(text string) map[string]any { return map[string]any{"": m{"text": text, "complete": true}} }

// does makes an acting script say that it is done.
var does = map[string]any{"": m{"done": true}}

func acting() map[tabs.Script]map[string]any {
	return map[tabs.Script]map[string]any{tabs.Read: says("words"), tabs.Inspect: {"": m{"controls": []any{}, "complete": true}},
		tabs.Scroll: does, tabs.Click: does, tabs.Type: does, tabs.Select: does, tabs.Check: does}
}

// work are the page actions with arguments that fit, and whether they need the foreground.
var work = []struct {
	name       string
	args       m
	foreground bool
}{
	{"read", m{}, false}, {"inspect", m{}, false}, {"ai", m{"prompt": "what?"}, false},
	{"scroll", m{"x": 0, "y": 10}, true}, {"click", m{"selector": "a"}, true}, {"type", m{"selector": "input", "text": "hello"}, true},
	{"select", m{"selector": "select", "value": "a"}, true}, {"check", m{"selector": "input", "checked": true}, true},
	{"navigate", m{"url": "https://a.example/2"}, false}, {"reload", m{}, false}, {"back", m{}, false}, {"forward", m{}, false},
}

type asker struct {
	answer string
	err    error
	asked  []string
}

func (a *asker) Ask(_ context.Context, prompt, page string) (string, error) {
	a.asked = append(a.asked, prompt+"|"+page)
	return a.answer, a.err
}

// pages is a rig with everything permitted, a gateway, and a tab whose history goes both ways.
func pages(t *testing.T) (*rig, string) {
	t.Helper()
	r := newRig(t)
	r.desk.AI = &asker{answer: "fine"}
	r.browser.Answers = acting()
	r.publish(open())
	return r, history(r)
}

// history opens a tab in front whose history goes both ways.
func history(r *rig) string {
	r.t.Helper()
	id := r.browser.Open("https://a.example/0", "A")
	middle(r, id)
	return id
}

// middle puts a tab where it can go back and forward.
func middle(r *rig, id string) {
	r.t.Helper()
	r.browser.Enter(id, "https://a.example/1")
	r.browser.Enter(id, "https://a.example/2")
	if _, err := r.browser.Go(r.t.Context(), id, document(r, id), tabs.Move{Delta: -1}); err != nil {
		r.t.Fatal(err)
	}
}

func document(r *rig, id string) string {
	t, err := r.browser.Tab(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return t.Document
}

func with(args m, id string) m {
	out := m{}
	for k, v := range args {
		out[k] = v
	}
	if id != "" {
		out["sessionId"] = id
	}
	return out
}

// TestWhatNeedsTheForeground: reading and moving may name a tab in the background, acting needs the one in front.
func TestWhatNeedsTheForeground(t *testing.T) {
	r, id := pages(t)
	for _, w := range work {
		r.browser.Front(id)
		r.no("", w.name, w.args) // the one in front
		middle(r, id)
		r.no("", w.name, with(w.args, id)) // the same, named
		middle(r, id)
		r.browser.Open("about:blank", "")
		want := wire.Code("")
		if w.foreground {
			want = wire.CodeDenied
		}
		if reply := r.do(w.name, with(w.args, id)); reply.Code != want {
			t.Errorf("%s in the background: %q, want %q", w.name, reply.Code, want)
		}
		middle(r, id)
	}
	// Start pages have no words, and can be left.
	r.browser.Open("about:blank", "")
	for _, w := range work {
		want := wire.CodeDenied
		if w.name == "navigate" || w.name == "reload" {
			want = ""
		}
		if reply := r.do(w.name, w.args); reply.Code != want {
			t.Errorf("%s on a start page: %q, want %q", w.name, reply.Code, want)
		}
		r.browser.Open("about:blank", "")
	}
	got[[]action.Session](r, "sessions", nil)
	for what, change := range map[string]func(*tabs.Tab){"loading": func(t *tabs.Tab) { t.Loading = true }, "covered": func(t *tabs.Tab) { t.Covered = true }} {
		id := r.browser.Open("https://a.example/", "")
		r.browser.Change(id, change)
		for _, w := range work {
			if w.name == "back" || w.name == "forward" || what == "covered" && !w.foreground {
				continue
			}
			if reply := r.do(w.name, w.args); reply.Code != wire.CodeDenied {
				t.Errorf("%s on a page that is %s: %q", w.name, what, reply.Code)
			}
		}
	}
}

// TestAnOmittedTabIsPinned: the operation stays with the tab that was in front when it began, and fails when that changes.
func TestAnOmittedTabIsPinned(t *testing.T) {
	r, id := pages(t)
	other := r.browser.Open("https://other.example/", "")
	r.browser.Front(id)
	r.browser.Answers[tabs.Read] = map[string]any{"https://a.example/1": m{"text": "first", "complete": true}, "https://other.example/": m{"text": "second", "complete": true}}
	switched := false
	r.browser.Hook = func(call, at string) {
		if call == "Run read" && !switched {
			switched = true
			r.browser.Front(other)
			if at != id {
				t.Errorf("read goes to %s", at)
			}
		}
	}
	if reply := r.do("read", m{}); reply.Code != wire.CodeConflict {
		t.Errorf("%+v", reply)
	}
	r.browser.Hook = nil
	if w := got[action.Words](r, "read", with(m{}, id)); w.Text != "first" { // named, it does not matter what is in front
		t.Errorf("%+v", w)
	}
	r.browser.Drop(id)
	r.no(wire.CodeDenied, "read", with(m{}, id))
	r.no(wire.CodeDenied, "tabs:activate", with(m{}, id))
}

// TestAChangeAtEveryStep: whatever changes, and before whichever call of the browser, nothing of the page leaves.
func TestAChangeAtEveryStep(t *testing.T) {
	changes := map[string]struct {
		do    func(r *rig, id string)
		spare bool // a read of a named tab in the background survives it
	}{
		"navigation":         {func(r *rig, id string) { r.browser.Enter(id, "https://a.example/x") }, false},
		"the same address":   {func(r *rig, id string) { r.browser.Again(id) }, false},
		"closing":            {func(r *rig, id string) { r.browser.Drop(id) }, false},
		"policy":             {func(r *rig, _ string) { r.publish(open()) }, false},
		"away and back":      {func(r *rig, id string) { r.browser.Front(r.browser.Open("about:blank", "")); r.browser.Front(id) }, true},
		"another foreground": {func(r *rig, _ string) { r.browser.Open("about:blank", "") }, true},
		"loading":            {func(r *rig, id string) { r.browser.Change(id, func(t *tabs.Tab) { t.Loading = true }) }, false},
		"another host":       {func(r *rig, id string) { r.browser.Change(id, func(t *tabs.Tab) { t.URL = "https://evil.example/" }) }, false},
	}
	actions := []struct {
		name  string
		args  m
		named bool
	}{{"read", m{}, false}, {"read", m{}, true}, {"inspect", m{}, false}, {"ai", m{"prompt": "what?"}, false}}
	for what, c := range changes {
		if testing.Short() && what != "policy" && what != "away and back" && what != "the same address" {
			continue
		}
		r, _ := pages(t)
		if what == "another host" {
			r.publish(open(func(p *publish.Policy) { p.Hosts = []string{"a.example"} }))
		}
		for _, a := range actions {
			steps := 0
			for at := 0; ; at++ {
				id := history(r)
				args := a.args
				if a.named {
					args = with(args, id)
				}
				n, begun := 0, false
				r.browser.Hook = func(string, string) {
					if n++; n == at+1 {
						begun = true
						r.browser.Hook = nil
						c.do(r, id)
					}
				}
				reply, err := r.try(r.client(connection.Name), a.name, args)
				r.browser.Hook = nil
				if errors.Is(err, client.ErrNoReply) { // it changed after the seal was made: nothing left at all
					steps++
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if !begun {
					break // it has no more steps
				}
				steps++
				// A change before the first look is simply how things are.
				if at == 0 && reply.OK() {
					continue
				}
				if reply.OK() != (c.spare && a.named) || !reply.OK() && reply.Result != nil {
					t.Errorf("%s (named %v), %s before step %d: %q %s", a.name, a.named, what, at, reply.Code, reply.Result)
				}
			}
			if steps < 4 {
				t.Errorf("%s has only %d steps", a.name, steps)
			}
		}
	}
}

// TestActsAreCheckedBeforeTheyAreDone: a change before the script runs keeps it from running.
func TestActsAreCheckedBeforeTheyAreDone(t *testing.T) {
	for what, change := range map[string]func(r *rig, id string){
		"navigation":    func(r *rig, id string) { r.browser.Again(id) },
		"policy":        func(r *rig, _ string) { r.publish(open()) },
		"away and back": func(r *rig, id string) { r.browser.Open("about:blank", ""); r.browser.Front(id) },
		"closing":       func(r *rig, id string) { r.browser.Drop(id) },
	} {
		r, _ := pages(t)
		for _, w := range work {
			if !w.foreground {
				continue
			}
			id, n, already := history(r), 0, len(r.browser.Calls())
			r.browser.Hook = func(call, _ string) {
				if n++; call == "Tab" && n > 1 {
					r.browser.Hook = nil
					change(r, id)
				}
			}
			reply := r.do(w.name, w.args)
			ran := slices.ContainsFunc(r.browser.Calls()[already:], func(c string) bool { return c == "Run "+w.name })
			if reply.OK() || ran {
				t.Errorf("%s, %s before it is done: %q, ran %v", w.name, what, reply.Code, ran)
			}
		}
	}
}

// TestAClickThatNavigates is done all the same: the page moving on is what it was for.
func TestAClickThatNavigates(t *testing.T) {
	r, id := pages(t)
	r.browser.Answers[tabs.Click] = map[string]any{"": func(json.RawMessage) any { return m{"done": true} }}
	r.browser.Hook = func(call, _ string) {
		if call == "Run click" {
			go r.browser.Again(id)
		}
	}
	if reply := r.do("click", m{"selector": "a"}); !reply.OK() && reply.Code != wire.CodeConflict {
		t.Errorf("%+v", reply)
	}
}

// TestAfterNavigationTheTabIsFresh: what was captured is not, and the same tab can be worked at once, in its place.
func TestAfterNavigationTheTabIsFresh(t *testing.T) {
	r, id := pages(t)
	before, err := r.browser.Tab(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	r.no("", "navigate", m{"url": "https://a.example/new"})
	after, err := r.browser.Tab(t.Context(), id)
	if err != nil || after.Document == before.Document || after.Activation != before.Activation {
		t.Errorf("%+v, %+v, %v", before, after, err)
	}
	r.no("", "click", m{"selector": "a"})
	c, err := tabs.Take(t.Context(), r.browser, "", tabs.Need{}, tabs.Limits{Permits: func(string) bool { return true }, Current: func() bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	next, err := c.Go(t.Context(), tabs.Move{URL: "https://a.example/again"})
	if err != nil || next.Check(t.Context()) != nil || !errors.Is(c.Check(t.Context()), tabs.ErrStale) {
		t.Errorf("%v: new %v, old %v", err, next.Check(t.Context()), c.Check(t.Context()))
	}
}

func TestWhereATabMayGo(t *testing.T) {
	r, id := pages(t)
	r.publish(open(func(p *publish.Policy) { p.Hosts = []string{"a.example", "*.b.example"} }))
	r.browser.Redirects = map[string]string{"https://a.example/away": "https://evil.example/"}
	r.browser.Fails = map[string]error{"https://a.example/blocked": tabs.ErrBlocked}
	for address, want := range map[string]wire.Code{
		"https://a.example/": "", "http://x.b.example/": "", "https://evil.example/": wire.CodeDenied, "https://b.example/": wire.CodeDenied, "https://a.example.evil.example/": wire.CodeDenied,
		"https://a.example/away": wire.CodeDenied, "https://a.example/blocked": wire.CodeDenied,
		"https://u:p@a.example/": wire.CodeInvalid, "file:///etc/passwd": wire.CodeInvalid, "data:text/html,x": wire.CodeInvalid, "javascript:alert(1)": wire.CodeInvalid,
		"about:blank": wire.CodeInvalid, "//a.example/": wire.CodeInvalid, "https://": wire.CodeInvalid, "chrome://settings": wire.CodeInvalid, "ftp://a.example/": wire.CodeInvalid,
	} {
		r.browser.Enter(id, "https://a.example/")
		if reply := r.do("navigate", m{"url": address}); reply.Code != want {
			t.Errorf("%s: %q, want %q", address, reply.Code, want)
		}
		r.browser.Enter(id, "https://a.example/")
		if reply := r.do("tabs:create", m{"url": address}); reply.Code != want {
			t.Errorf("a new tab at %s: %q, want %q", address, reply.Code, want)
		}
	}
	n := len(r.tabs())
	if n != 3 { // the first and the two that could be opened
		t.Errorf("%d tabs: those that did not get there stay open", n)
	}
}

// TestHistory: the entry is looked at before, the page after; a reload must be a navigation.
func TestHistory(t *testing.T) {
	r, id := pages(t)
	r.publish(open(func(p *publish.Policy) { p.Hosts = []string{"a.example"} }))
	r.no("", "back", m{})
	r.no(wire.CodeDenied, "back", m{}) // there is no further entry
	r.no("", "forward", m{})
	r.no("", "forward", m{})
	r.no(wire.CodeDenied, "forward", m{})
	r.no("", "reload", m{})
	r.browser.SameDocument = true
	r.no(wire.CodeConflict, "reload", m{}) // nothing happened
	r.browser.SameDocument = false
	r.browser.Enter(id, "https://evil.example/")
	r.browser.Enter(id, "https://a.example/3")
	calls := len(r.browser.Calls())
	r.no(wire.CodeDenied, "back", m{}) // a blocked entry is not gone to
	if slices.Contains(r.browser.Calls()[calls:], "Go") {
		t.Error("it went there")
	}
	r.browser.Enter(id, "https://a.example/4")
	r.browser.Redirects = map[string]string{"https://a.example/3": "https://evil.example/"}
	r.no(wire.CodeDenied, "back", m{}) // and one that leads away is refused after the fact
	r.browser.Enter(id, "https://a.example/5")
	r.browser.Hook = func(call, _ string) {
		if call == "Entry" {
			r.browser.Hook = nil
			r.browser.Again(id)
		}
	}
	r.no(wire.CodeConflict, "back", m{}) // a race
	r.browser.Hook = nil
	ctx, cancel := context.WithCancel(t.Context())
	c, err := tabs.Take(ctx, r.browser, id, tabs.Need{}, tabs.Limits{Permits: func(string) bool { return true }, Current: func() bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	r.browser.Hook = func(call, _ string) {
		if call == "Entry" {
			cancel()
		}
	}
	calls = len(r.browser.Calls())
	if _, err := c.Go(ctx, tabs.Move{Delta: -1}); !errors.Is(err, context.Canceled) || slices.Contains(r.browser.Calls()[calls:], "Go") {
		t.Errorf("cancelled: %v, %v", err, r.browser.Calls()[calls:])
	}
}

// TestWhatIsReadIsLookedThrough.
func TestWhatIsReadIsLookedThrough(t *testing.T) {
	r, _ := pages(t)
	iban := "pay to DE89 3704 0044 0532 0130 00"
	for _, c := range []struct {
		what      string
		page      any
		sensitive bool
		want      wire.Code
	}{
		{"words", m{"text": "hello", "complete": true}, false, ""},
		{"10 000 characters", m{"text": strings.Repeat("ä ", action.MaxRead/2), "complete": true}, false, ""},
		{"one more", m{"text": strings.Repeat("ä ", action.MaxRead/2) + "a", "complete": true}, false, wire.CodeDenied},
		{"not all of it", m{"text": "hello", "complete": false}, true, wire.CodeDenied},
		{"another document", m{"moved": true}, false, wire.CodeConflict},
		{"a password", m{"text": "password: hunter2-horse", "complete": true}, false, wire.CodeDenied},
		{"a password, permitted", m{"text": "password: hunter2-horse", "complete": true}, true, wire.CodeDenied},
		{"an account", m{"text": iban, "complete": true}, false, wire.CodeDenied},
		{"an account, permitted", m{"text": iban, "complete": true}, true, ""},
		{"malware, permitted", m{"text": `X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-` + `STANDARD-ANTIVIRUS-TEST-FILE!$H+H*`, "complete": true}, true, wire.CodeDenied},
		{"something encoded, permitted", m{"text": strings.Repeat("QUJD", 128), "complete": true}, true, wire.CodeDenied},
		{"the script fails", errors.New("x"), false, wire.CodeFailed},
	} {
		r.publish(open(func(p *publish.Policy) { p.SensitiveRead = c.sensitive }))
		r.browser.Answers[tabs.Read] = map[string]any{"": c.page}
		if reply := r.do("read", m{}); reply.Code != c.want {
			t.Errorf("%s: %q, want %q", c.what, reply.Code, c.want)
		}
	}
}

// TestInspectIsBounded, whatever the page says.
func TestInspectIsBounded(t *testing.T) {
	r, _ := pages(t)
	var options []m
	for i := range 30 {
		options = append(options, m{"value": fmt.Sprint(i), "label": "o"})
	}
	options[0]["value"], options[1]["value"] = strings.Repeat("ä", action.MaxOption), strings.Repeat("ä", action.MaxOption+1)
	options[2]["label"] = "password: hunter2-horse"
	var controls []m
	for range action.MaxControls + 5 {
		controls = append(controls, m{"selector": "a", "tag": "a", "label": "x"})
	}
	controls[0] = m{"selector": "select", "tag": "select", "label": "choose", "options": options}
	controls[1] = m{"selector": "input", "tag": "input", "label": "note", "value": "password: hunter2-horse"}
	controls[2] = m{"selector": "input", "tag": "input", "label": "password", "value": "hunter2-horse"}
	r.browser.Answers[tabs.Inspect] = map[string]any{"": m{"controls": controls, "complete": true}}
	c := got[action.Controls](r, "inspect", nil)
	if len(c.Controls) != action.MaxControls || c.Complete || len(c.Controls[0].Options) != action.MaxOptions {
		t.Fatalf("%d controls, complete %v, %d options", len(c.Controls), c.Complete, len(c.Controls[0].Options))
	}
	raw, err := json.Marshal(c)
	if err != nil || strings.Contains(string(raw), "hunter2") || strings.Contains(string(raw), strings.Repeat("ä", action.MaxOption+1)) || !strings.Contains(string(raw), strings.Repeat("ä", action.MaxOption)) {
		t.Errorf("%s", raw)
	}
}

func TestSelectorsAndRefusalsOfPages(t *testing.T) {
	r, _ := pages(t)
	for _, s := range []string{":has(a)", "xpath=//a", "a,b", `input[value^="a"]`, "<script>", "javascript:x"} {
		r.no(wire.CodeInvalid, "click", m{"selector": s})
	}
	for _, no := range []string{"none", "many", "hidden", "sensitive", "disabled", "covered", "kind", "option", "kept"} {
		r.browser.Answers[tabs.Type] = map[string]any{"": m{"no": no}}
		r.no(wire.CodeDenied, "type", m{"selector": "input", "text": "x"})
	}
	r.browser.Answers[tabs.Type] = map[string]any{"": m{"no": "what a page said"}}
	r.no(wire.CodeFailed, "type", m{"selector": "input", "text": "x"})
	r.browser.Answers[tabs.Type] = does
	r.no(wire.CodeDenied, "type", m{"selector": "input", "text": "password: hunter2-horse"}) // no secrets by this way
}

func TestAI(t *testing.T) {
	r, _ := pages(t)
	a := r.desk.AI.(*asker)
	if w := got[action.Words](r, "ai", m{"prompt": "what?"}); w.Text != "fine" || a.asked[0] != "what?|words" {
		t.Errorf("%+v, %v", w, a.asked)
	}
	for _, c := range []struct {
		what, prompt, answer string
		err                  error
		want                 wire.Code
	}{
		{"a secret in the question", "password: hunter2-horse", "x", nil, wire.CodeDenied},
		{"a secret in the answer", "q", "password: hunter2-horse", nil, wire.CodeDenied},
		{"a long answer", "q", strings.Repeat("a ", action.MaxRead), nil, wire.CodeDenied},
		{"no answer", "q", "", errors.New("x"), wire.CodeFailed},
	} {
		a.answer, a.err = c.answer, c.err
		if reply := r.do("ai", m{"prompt": c.prompt}); reply.Code != c.want {
			t.Errorf("%s: %q", c.what, reply.Code)
		}
	}
	n := len(a.asked)
	r.browser.Answers[tabs.Read] = says("password: hunter2-horse")
	r.no(wire.CodeDenied, "ai", m{"prompt": "q"})
	r.no(wire.CodeInvalid, "ai", m{"prompt": "q", "image": "iVBORw0KGgo="}) // a picture is nothing it takes
	if len(a.asked) != n {
		t.Error("a page that must not leave went to the gateway")
	}
	r.desk.AI = nil
	r.browser.Answers[tabs.Read] = says("words")
	r.no(wire.CodeDenied, "ai", m{"prompt": "q"})
}

// TestATabIsBoundToTheGrantThatWorksIt, until a person types an address.
func TestATabIsBoundToTheGrantThatWorksIt(t *testing.T) {
	r := newRig(t)
	r.browser.Answers = acting()
	g := builder(3, func(g *grant.Grant) { g.Hosts = []string{"a.example", "*.b.example"} })
	r.publish(granted(g))
	c := r.issue(g)
	id := r.browser.Open("https://a.example/", "")
	for _, w := range work {
		if w.name == "ai" || w.name == "back" || w.name == "forward" || w.name == "read" || w.name == "inspect" {
			continue
		}
		r.browser.Enter(id, "https://a.example/")
		if r.browser.Limit(id).Principal != "" {
			t.Fatal("a person's address did not lift it")
		}
		r.must(c, "", w.name, w.args)
		l := r.browser.Limit(id)
		if l.Principal != "builder" || l.Generation != 3 || !l.Permits("a.example") || !l.Permits("x.b.example") || l.Permits("evil.example") || l.Permits("b.example") {
			t.Errorf("%s: %+v", w.name, l)
		}
	}
	r.browser.Enter(id, "https://a.example/")
	r.must(c, "", "read", m{})
	if r.browser.Limit(id).Principal != "" {
		t.Error("reading binds the tab")
	}
}

func TestTabs(t *testing.T) {
	r := newRig(t)
	r.publish(open())
	first := r.browser.Open("https://a.example/", "A")
	d := got[action.Done](r, "tabs:create", m{"group": "g"})
	if !d.Completed || d.Session == "" {
		t.Fatalf("%+v", d)
	}
	got[action.Done](r, "tabs:group", m{"sessionId": d.Session, "group": "h"})
	got[action.Done](r, "tabs:activate", m{"sessionId": d.Session})
	now, err := r.browser.Tab(t.Context(), d.Session)
	if err != nil || now.Group != "h" || !now.Foreground {
		t.Errorf("%+v, %v", now, err)
	}
	s := got[action.State](r, "application:state", nil)
	if s.Active != d.Session || s.Tabs != 2 || !s.Ready || s.Policy != 1 {
		t.Errorf("%+v", s)
	}
	got[action.Done](r, "tabs:close", m{"sessionId": d.Session})
	r.no(wire.CodeDenied, "tabs:close", m{"sessionId": d.Session})
	r.no(wire.CodeDenied, "tabs:activate", m{"sessionId": fake.UUID(99)})
	// Titles are looked through, and those of hosts that are not permitted are not told.
	r.browser.Open("https://a.example/", "password: hunter2-horse")
	r.browser.Open("https://b.example/", "B")
	r.publish(open(func(p *publish.Policy) { p.Hosts = []string{"a.example"} }))
	var titles []string
	for _, s := range got[[]action.Session](r, "sessions", nil) {
		titles = append(titles, s.Title)
	}
	if !slices.Equal(titles, []string{"A", "", ""}) {
		t.Errorf("%q", titles)
	}
	for _, name := range []string{"tabs:close", "tabs:activate"} {
		r.no(wire.CodeDenied, name, m{"sessionId": r.tabs()[2]})
	}
	_ = first
}
