package action_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/control/action"
	"parley/control/endpoint"
	"parley/control/grant"
	"parley/control/page"
	"parley/control/publish"
	"parley/control/tabs"
	"parley/control/tabs/fake"
	"parley/control/vault"
	"parley/control/wire"
	"parley/store"
	"parley/tenant"
	"parley/tool"
)

const (
	at        = "https://a.example/"
	loginForm = "https://a.example/session"
	secret    = "AKIAQYLPMN5HHHFPZAM2" // the shape of a vendor's key
)

// rig is a desk with one tab in front (ONE) and one behind (TWO), an open vault, and everything published.
type rig struct {
	t        *testing.T
	b        *fake.Browser
	desk     *action.Desk
	tools    *tool.Service
	policy   *publish.Policy
	stale    bool
	one, two string
	values   map[string]string // what words in arguments stand for
}

type reads struct{ text string }

func (r reads) Read(context.Context, []byte) (string, bool, error) { return r.text, true, nil }

type answers struct {
	text string
	err  error
}

func (a answers) Ask(context.Context, string, string) (string, error) { return a.text, a.err }

func newRig(t *testing.T) *rig {
	t.Helper()
	s, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{t: t, b: new(fake.Browser), policy: publish.Default(), values: map[string]string{}}
	r.policy.Version = 7
	r.policy.Scopes = nil
	for _, a := range grant.Actions() {
		r.policy.Scopes = append(r.policy.Scopes, a.Scope)
	}
	r.policy.Passwords = publish.Passwords{Enabled: true, Submission: true, Forms: []publish.Form{{Action: loginForm, User: "user", Pass: "pass"}}}
	r.two = r.b.Open("https://b.example/", "Two")
	r.one = r.b.Open(at, "One")
	does := map[string]any{"": map[string]any{"done": true}}
	r.b.Answers = map[tabs.Script]map[string]any{
		tabs.Read:    {"": map[string]any{"text": "words", "complete": true}},
		tabs.Inspect: {"": map[string]any{"controls": []map[string]any{{"selector": "#q", "tag": "input"}}, "complete": true}},
		tabs.Scroll:  does, tabs.Click: does, tabs.Type: does, tabs.Select: does, tabs.Check: does, tabs.Fill: does,
		tabs.Forms: {at: map[string]any{"forms": []int{0}}, "": map[string]any{"forms": []int{}}},
		tabs.Look:  {"": map[string]any{"sensitive": 0, "revision": 0}},
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	r.b.Shots = map[string][]byte{at: picture.Bytes()}
	r.b.Made = map[string]tabs.Structure{}
	r.desk = &action.Desk{Tenant: "me", Browser: r.b, Store: s, Vault: vault.New(s.Credentials, "me", vault.Options{Iterations: 10}), AI: answers{text: "an answer"}, Reader: reads{"hello"}, Now: time.Now}
	t.Cleanup(r.desk.Close)
	if err := r.desk.Vault.Init(t.Context(), "correct horse"); err != nil {
		t.Fatal(err)
	}
	if err := r.desk.Vault.Add(t.Context(), store.Credential{ID: "c", Origin: "https://a.example", Action: loginForm, UserField: "user", PassField: "pass"}, vault.Login{User: "ada", Pass: "Tr0ub4dor"}); err != nil {
		t.Fatal(err)
	}
	if r.tools, err = tool.NewService(tool.Options{Tools: r.desk.Tools()}); err != nil {
		t.Fatal(err)
	}
	return r
}

// do does an action as the endpoint does it, and gives its result or its code.
func (r *rig) do(name, args string) (string, wire.Code) {
	r.t.Helper()
	args = strings.NewReplacer("ONE", r.one, "TWO", r.two).Replace(args)
	for word, v := range r.values {
		args = strings.ReplaceAll(args, word, v)
	}
	c := &action.Call{Principal: wire.Principal{ID: publish.Shared, Generation: 1}, Policy: r.policy, Authority: r.policy.Authority(nil), Current: func() bool { return !r.stale }}
	a, ok := grant.Lookup(name)
	switch {
	case !ok:
		r.t.Fatalf("there is no %s", name)
	case !c.Authority.Permits(a):
		return "", wire.CodeDenied
	case a.Check(json.RawMessage(args)) != nil:
		return "", wire.CodeInvalid
	}
	got := r.tools.Invoke(action.With(r.t.Context(), c), tool.Call{Tool: name, Args: json.RawMessage(args), Caller: tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me"}}, Transport: "control"}})
	if got.Err != nil {
		return "", endpoint.CodeOf(got.Err.Code)
	}
	result, err := action.Project(name, c, got.Structured)
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	if !c.Release() {
		return "", wire.CodeConflict
	}
	return string(result), ""
}

// must does what has to work, and gives a member of the result.
func (r *rig) must(name, args, member string) string {
	r.t.Helper()
	got, code := r.do(name, args)
	var m map[string]any
	if code != "" || json.Unmarshal([]byte(got), &m) != nil {
		r.t.Fatalf("%s: %s %s", name, got, code)
	}
	return fmt.Sprint(m[member])
}

// refusal is a case in which an action must not be done.
type refusal struct {
	what   string
	change func(*rig)
	args   string // empty: those that work
	code   wire.Code
}

// row is what one action needs, gives and refuses.
type row struct {
	before func(*rig)
	args   string
	want   string // the result, or how it begins when it ends in …
	after  func(*rig) string
	no     []refusal
}

func address(r *rig) string {
	now, err := r.b.Tab(context.Background(), r.one)
	if err != nil {
		return err.Error()
	}
	return now.URL
}

func answer(s tabs.Script, v any) func(*rig) {
	return func(r *rig) { r.b.Answers[s] = map[string]any{"": v} }
}
func change(f func(*tabs.Tab)) func(*rig) { return func(r *rig) { r.b.Change(r.one, f) } }
func hosts(list ...string) func(*rig)     { return func(r *rig) { r.policy.Hosts = list } }
func refuses(word string) map[string]any  { return map[string]any{"no": word} }

var (
	noBrowser  = refusal{"no browser", func(r *rig) { r.desk.Browser = nil }, "", wire.CodeDenied}
	loading    = refusal{"a tab that loads", change(func(t *tabs.Tab) { t.Loading = true }), "", wire.CodeDenied}
	elsewhere  = refusal{"a host that is not permitted", hosts("c.example"), "", wire.CodeDenied}
	blank      = refusal{"a start page", change(func(t *tabs.Tab) { t.URL = "about:blank" }), "", wire.CodeDenied}
	covered    = refusal{"something over the page", change(func(t *tabs.Tab) { t.Covered = true }), "", wire.CodeDenied}
	noTab      = refusal{"no such tab", nil, `{"sessionId":"00000000-0000-4000-8000-ffffffffffff"}`, wire.CodeDenied}
	staleCall  = refusal{"another policy meanwhile", func(r *rig) { r.stale = true }, "", wire.CodeConflict}
	acts       = []refusal{noBrowser, loading, elsewhere, blank, covered, staleCall}
	lockedSafe = refusal{"a locked vault", func(r *rig) { r.desk.Vault.Lock() }, "", wire.CodeDenied}
)

// script is a row of an action that runs a script in the foreground.
func script(s tabs.Script, args, behind string, no ...refusal) row {
	return row{args: args, want: `{"completed":true}`, no: append(append(slices.Clone(acts), refusal{"a tab behind", nil, behind, wire.CodeDenied},
		refusal{"the page says nothing", answer(s, map[string]any{}), "", wire.CodeFailed},
		refusal{"another document", answer(s, map[string]any{"moved": true}), "", wire.CodeConflict}), no...)}
}

func rows() map[string]row {
	named := `{"sessionId":"ONE"}`
	withRef := func(r *rig) {
		var l action.Logins
		got, code := r.do("vault:list", named)
		if err := json.Unmarshal([]byte(got), &l); err != nil || code != "" || len(l.Credentials) != 1 {
			r.t.Fatalf("vault:list: %s %s", got, code)
		}
		r.values["REF"] = l.Credentials[0].Ref
	}
	saved := func(r *rig) {
		r.values["SET"] = r.must("sessions:save", `{"name":"n","sessionIds":["ONE","TWO"]}`, "id")
	}
	planned := func(r *rig) { saved(r); r.values["PLAN"] = r.must("sessions:restore", `{"id":"SET"}`, "planId") }
	forward := func(r *rig) {
		r.must("navigate", `{"url":"https://a.example/2"}`, "completed")
		r.must("back", `{}`, "completed")
	}
	fill := []refusal{noBrowser, loading, elsewhere, covered, lockedSafe,
		{"the reference a second time", func(r *rig) { r.must("vault:fill", `{"sessionId":"ONE","credentialRef":"REF"}`, "completed") }, "", wire.CodeDenied},
		{"another tab", nil, `{"sessionId":"TWO","credentialRef":"REF"}`, wire.CodeDenied},
		{"a made-up reference", nil, `{"sessionId":"ONE","credentialRef":"x"}`, wire.CodeDenied},
		{"another document", func(r *rig) { r.b.Again(r.one) }, "", wire.CodeDenied},
		{"another form", answer(tabs.Forms, map[string]any{"forms": []int{}}), "", wire.CodeDenied},
		{"logins that are not enabled", func(r *rig) { r.policy.Passwords.Enabled = false }, "", wire.CodeDenied}}
	return map[string]row{
		"sessions": {args: `{}`, want: `[{"id":"TWO","title":"Two","foreground":false},{"id":"ONE","title":"One","foreground":true}]`, no: []refusal{noBrowser}},
		"sessions:save": {args: `{"name":"n","sessionIds":["ONE","TWO"]}`, want: `{"id":…`, no: []refusal{noBrowser, loading, elsewhere, blank, staleCall,
			{"a tab that is not there", nil, `{"name":"n","sessionIds":["ONE","00000000-0000-4000-8000-ffffffffffff"]}`, wire.CodeDenied},
			{"a secret in a title", change(func(t *tabs.Tab) { t.Title = secret }), "", wire.CodeDenied},
			{"a secret as the name", nil, `{"name":"` + secret + `","sessionIds":["ONE"]}`, wire.CodeDenied},
			{"an id that was not given", nil, `{"name":"n","sessionIds":["ONE"],"id":"mine","expectedRevision":0}`, wire.CodeDenied},
			{"a revision without a set", nil, `{"name":"n","sessionIds":["ONE"],"expectedRevision":1}`, wire.CodeInvalid},
			{"a set without a revision", nil, `{"name":"n","sessionIds":["ONE"],"id":"x"}`, wire.CodeInvalid},
			{"an old revision", saved, `{"name":"n","sessionIds":["ONE"],"id":"SET","expectedRevision":9}`, wire.CodeConflict}}},
		"sessions:list": {before: saved, args: `{}`, want: `{"collections":[{"id":"SET","name":"n","revision":1,"tabCount":2,"tabs":[{"title":"One"…`},
		"sessions:restore": {before: planned, args: `{"planId":"PLAN"}`, want: `{"sessionIds":["…`, after: func(r *rig) string {
			all, err := r.b.Tabs(context.Background())
			return fmt.Sprint(len(all), err)
		}, no: []refusal{noBrowser, elsewhere, staleCall,
			{"the plan a second time", func(r *rig) { r.must("sessions:restore", `{"planId":"PLAN"}`, "tabCount") }, "", wire.CodeConflict},
			{"another policy since", func(r *rig) { p := *r.policy; p.Version++; r.policy = &p }, "", wire.CodeConflict},
			{"the set was changed", func(r *rig) {
				r.must("sessions:save", `{"name":"n","sessionIds":["ONE"],"id":"SET","expectedRevision":1}`, "id")
			}, "", wire.CodeConflict},
			{"a minute later", func(r *rig) { r.desk.Now = func() time.Time { return time.Now().Add(time.Minute) } }, "", wire.CodeConflict},
			{"an address that does not load", func(r *rig) { r.b.Fails = map[string]error{at: tabs.ErrBlocked} }, "", wire.CodeDenied},
			{"no such set", nil, `{"id":"x"}`, wire.CodeDenied}}},
		"vault:status": {args: `{}`, want: `{"autofill":false,"enabled":true,"exists":true,"locked":false}`},
		"vault:list":   {args: named, want: `{"credentials":[{"credentialRef":"…`, no: []refusal{noBrowser, loading, elsewhere, blank, lockedSafe, noTab}},
		"vault:fill":   {before: withRef, args: `{"sessionId":"ONE","credentialRef":"REF"}`, want: `{"completed":true}`, no: fill},
		"vault:prepare-submit": {before: withRef, args: `{"sessionId":"ONE","credentialRef":"REF"}`, want: `{"completed":true,"prepared":true}`,
			no: append(slices.Clone(fill), refusal{"submission that is not enabled", func(r *rig) { r.policy.Passwords.Submission = false }, "", wire.CodeDenied})},
		"screenshot": {args: `{}`, want: `{"data":"iVBOR…`, no: []refusal{noBrowser, loading, elsewhere, blank, covered, noTab,
			{"a tab behind", nil, `{"sessionId":"TWO"}`, wire.CodeDenied},
			{"a page without TLS", change(func(t *tabs.Tab) { t.URL = "http://a.example/" }), "", wire.CodeDenied},
			{"nobody reads pictures", func(r *rig) { r.desk.Reader = nil }, "", wire.CodeDenied},
			{"a secret on it", func(r *rig) { r.desk.Reader = reads{secret} }, "", wire.CodeDenied},
			{"a frame", func(r *rig) { r.b.Made[at] = tabs.Structure{Frames: 1} }, "", wire.CodeDenied},
			{"a closed root", func(r *rig) { r.b.Made[at] = tabs.Structure{Closed: 1} }, "", wire.CodeDenied},
			{"a field for a password", answer(tabs.Look, map[string]any{"sensitive": 1}), "", wire.CodeDenied},
			{"a change meanwhile", answer(tabs.Look, map[string]any{"revision": 1}), "", wire.CodeConflict},
			{"no picture", func(r *rig) { r.b.Shots[at] = []byte("GIF89a") }, "", wire.CodeDenied}}},
		"navigate": {args: `{"url":"https://a.example/2"}`, want: `{"completed":true}`, after: address, no: []refusal{noBrowser, loading, elsewhere, staleCall,
			{"no such tab", nil, `{"sessionId":"00000000-0000-4000-8000-ffffffffffff","url":"https://a.example/2"}`, wire.CodeDenied},
			{"a redirect elsewhere", func(r *rig) {
				hosts("a.example")(r)
				r.b.Redirects = map[string]string{"https://a.example/2": "https://c.example/"}
			}, "", wire.CodeDenied},
			{"what does not load", func(r *rig) { r.b.Fails = map[string]error{"https://a.example/2": tabs.ErrBlocked} }, "", wire.CodeDenied}}},
		"back": {before: func(r *rig) { r.must("navigate", `{"url":"https://a.example/2"}`, "completed") }, args: `{}`, want: `{"completed":true}`, after: address,
			no: []refusal{noBrowser, loading, elsewhere, noTab, {"no entry", nil, `{"sessionId":"TWO"}`, wire.CodeDenied}}},
		"forward": {before: forward, args: `{}`, want: `{"completed":true}`, after: address, no: []refusal{noBrowser, loading, noTab, {"no entry", nil, `{"sessionId":"TWO"}`, wire.CodeDenied}}},
		"reload":  {args: `{}`, want: `{"completed":true}`, after: address, no: []refusal{noBrowser, loading, elsewhere, noTab, {"no navigation is seen", func(r *rig) { r.b.SameDocument = true }, "", wire.CodeConflict}}},
		"read": {args: `{"sessionId":"TWO"}`, want: `{"text":"words"}`, no: []refusal{noBrowser, elsewhere, noTab, staleCall,
			{"a start page", change(func(t *tabs.Tab) { t.URL = "about:blank" }), `{}`, wire.CodeDenied},
			{"not to its end", answer(tabs.Read, map[string]any{"text": "x"}), "", wire.CodeDenied},
			{"more than is read", answer(tabs.Read, map[string]any{"text": strings.Repeat("ä", action.MaxRead+1), "complete": true}), "", wire.CodeDenied},
			{"a secret", answer(tabs.Read, map[string]any{"text": "key " + secret, "complete": true}), "", wire.CodeDenied},
			{"another document", answer(tabs.Read, map[string]any{"moved": true}), "", wire.CodeConflict}}},
		"inspect": {args: `{}`, want: `{"complete":true,"controls":[{"selector":"#q","tag":"input"}]}`, no: []refusal{noBrowser, loading, elsewhere, blank, noTab,
			{"another document", answer(tabs.Inspect, map[string]any{"moved": true}), "", wire.CodeConflict}}},
		"scroll": script(tabs.Scroll, `{"x":0,"y":10}`, `{"sessionId":"TWO","x":0,"y":10}`),
		"click": script(tabs.Click, `{"selector":"#go"}`, `{"sessionId":"TWO","selector":"#go"}`, refusal{"a selector outside the subset", nil, `{"selector":"a:has(b)"}`, wire.CodeInvalid},
			refusal{"nothing matches", answer(tabs.Click, refuses("none")), "", wire.CodeDenied}, refusal{"two match", answer(tabs.Click, refuses("many")), "", wire.CodeDenied}),
		"type": script(tabs.Type, `{"selector":"#q","text":"words"}`, `{"sessionId":"TWO","selector":"#q","text":"words"}`, refusal{"a secret", nil, `{"selector":"#q","text":"` + secret + `"}`, wire.CodeDenied},
			refusal{"a password field", answer(tabs.Type, refuses("sensitive")), "", wire.CodeDenied}),
		"select": script(tabs.Select, `{"selector":"#s","value":"a"}`, `{"sessionId":"TWO","selector":"#s","value":"a"}`, refusal{"no such option", answer(tabs.Select, refuses("option")), "", wire.CodeDenied}),
		"check":  script(tabs.Check, `{"selector":"#c","checked":true}`, `{"sessionId":"TWO","selector":"#c","checked":false}`, refusal{"a radio button", answer(tabs.Check, refuses("kind")), "", wire.CodeDenied}, refusal{"the page put it back", answer(tabs.Check, refuses("kept")), "", wire.CodeDenied}),
		"ai": {args: `{"prompt":"what is this?"}`, want: `{"text":"an answer"}`, no: []refusal{noBrowser, loading, elsewhere, blank,
			{"no gateway", func(r *rig) { r.desk.AI = nil }, "", wire.CodeDenied},
			{"a gateway that fails", func(r *rig) { r.desk.AI = answers{err: errors.New("down")} }, "", wire.CodeFailed},
			{"a secret in the question", nil, `{"prompt":"` + secret + `"}`, wire.CodeDenied},
			{"a secret in the answer", func(r *rig) { r.desk.AI = answers{text: secret} }, "", wire.CodeDenied},
			{"an answer that is too long", func(r *rig) { r.desk.AI = answers{text: strings.Repeat("a ", action.MaxRead)} }, "", wire.CodeDenied}}},
		"application:state": {args: `{}`, want: `{"activeTabId":"ONE","policyVersion":7,"ready":true,"tabCount":2}`},
		"settings:get":      {args: `{}`, want: `{"appearance":{"mode":"system","accent":"blue","tabMode":"separate"},"hiddenSections":[],"lockedSections":[],"visible":[…`},
		"settings:update": {args: `{"appearance":{"mode":"dark"}}`, want: `{"appearance":{"mode":"dark","accent":"blue","tabMode":"separate"}…`, no: []refusal{staleCall,
			{"a locked one", func(r *rig) { r.policy.Settings.Locked = []string{"appearance.mode"} }, "", wire.CodeDenied},
			{"a hidden group", func(r *rig) { r.policy.Settings.Hidden = []string{"appearance"} }, "", wire.CodeDenied}}},
		"bookmarks:list": {args: `{}`, want: `{"managed":[],"permissions":{"mutate":true},"personal":[],"policyVersion":7,"revision":0}`},
		"bookmarks:mutate": {args: `{"action":"add","bookmark":{"title":"t","url":"https://a.example/"},"expectedRevision":0,"policyVersion":7}`, want: `{"completed":true}`,
			after: func(r *rig) string { return r.must("bookmarks:list", `{}`, "revision") }, no: []refusal{elsewhere, staleCall,
				{"an old policy", nil, `{"action":"add","bookmark":{"title":"t","url":"https://a.example/"},"expectedRevision":0,"policyVersion":6}`, wire.CodeConflict},
				{"an old revision", nil, `{"action":"add","bookmark":{"title":"t","url":"https://a.example/"},"expectedRevision":1,"policyVersion":7}`, wire.CodeConflict},
				{"a revision below zero", nil, `{"action":"add","bookmark":{"title":"t","url":"https://a.example/"},"expectedRevision":-1,"policyVersion":7}`, wire.CodeInvalid},
				{"busy", func(r *rig) { r.desk.Manage() }, "", wire.CodeBusy},
				{"another verb", nil, `{"action":"erase","bookmark":{},"expectedRevision":0,"policyVersion":7}`, wire.CodeInvalid},
				{"a member too many", nil, `{"action":"add","bookmark":{"title":"t","url":"https://a.example/","icon":"x"},"expectedRevision":0,"policyVersion":7}`, wire.CodeInvalid},
				{"no title", nil, `{"action":"add","bookmark":{"title":"","url":"https://a.example/"},"expectedRevision":0,"policyVersion":7}`, wire.CodeInvalid},
				{"no web address", nil, `{"action":"add","bookmark":{"title":"t","url":"javascript:x"},"expectedRevision":0,"policyVersion":7}`, wire.CodeInvalid},
				{"what is not there", nil, `{"action":"remove","id":"x","expectedRevision":0,"policyVersion":7}`, wire.CodeDenied}}},
		"tabs:create": {args: `{"group":"work","url":"https://a.example/2"}`, want: `{"completed":true,"sessionId":"…`, after: func(r *rig) string {
			all, err := r.b.Tabs(context.Background())
			return fmt.Sprintln(len(all), all[2].URL, all[2].Group, all[2].Foreground, err)
		}, no: []refusal{noBrowser, elsewhere, staleCall, {"what does not load", func(r *rig) { r.b.Fails = map[string]error{"https://a.example/2": tabs.ErrBlocked} }, "", wire.CodeDenied}}},
		"tabs:activate": {args: `{"sessionId":"TWO"}`, want: `{"completed":true,"sessionId":"TWO"}`, no: []refusal{noBrowser, elsewhere, noTab, staleCall}},
		"tabs:close":    {args: named, want: `{"completed":true}`, after: address, no: []refusal{noBrowser, loading, elsewhere, noTab, staleCall}},
		"tabs:group":    {args: `{"sessionId":"ONE","group":""}`, want: `{"completed":true,"sessionId":"ONE"}`, no: []refusal{noBrowser, loading, elsewhere, staleCall}},
	}
}

// afters are what the rows' after says once the action was done.
var afters = map[string]string{
	"navigate": "https://a.example/2", "back": at, "forward": "https://a.example/2", "reload": at, "tabs:close": tabs.ErrNoTab.Error(),
	"sessions:restore": "4 <nil>", "bookmarks:mutate": "1", "tabs:create": "3 https://a.example/2 work false <nil>\n",
}

// TestEachAction: every action of the table does what it says, and is refused with the right word where it must be. Where it
// is refused without having begun, nothing is different afterwards.
func TestEachAction(t *testing.T) {
	all := rows()
	if len(all) != len(grant.Actions()) {
		t.Errorf("%d rows for %d actions", len(all), len(grant.Actions()))
	}
	begin := func(t *testing.T, c row) *rig {
		r := newRig(t)
		if c.before != nil {
			c.before(r)
		}
		return r
	}
	for _, a := range grant.Actions() {
		c, ok := all[a.Name]
		if !ok {
			t.Errorf("%s has no row", a.Name)
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			r := begin(t, c)
			want := strings.NewReplacer("ONE", r.one, "TWO", r.two, "SET", r.values["SET"]).Replace(c.want)
			got, code := r.do(a.Name, c.args)
			start, open := strings.CutSuffix(want, "…")
			if code != "" || !open && got != want || open && !strings.HasPrefix(got, start) {
				t.Errorf("%s %s, want %s", got, code, want)
			}
			if c.after != nil {
				if now := c.after(r); now != afters[a.Name] {
					t.Errorf("afterwards: %s, want %s", now, afters[a.Name])
				}
			}
			for _, n := range c.no {
				r := begin(t, c)
				if n.change != nil {
					n.change(r)
				}
				args := n.args
				if args == "" {
					args = c.args
				}
				before := r.state()
				if got, code := r.do(a.Name, args); code != n.code || got != "" {
					t.Errorf("%s: %s %q, want %s", n.what, got, code, n.code)
				}
				if n.code == wire.CodeInvalid || n.code == wire.CodeBusy {
					if now := r.state(); now != before {
						t.Errorf("%s: it was refused, and %s is %s", n.what, before, now)
					}
				}
			}
		})
	}
}

// state is everything an action may change.
func (r *rig) state() string {
	b := r.desk.Browser
	if b == nil {
		b = r.b
	}
	all, err := b.Tabs(context.Background())
	marks, mark, err2 := r.desk.Store.Bookmarks.List(context.Background(), "me")
	sets, set, err3 := r.desk.Store.TabSets.List(context.Background(), "me", publish.Shared)
	settings, err4 := r.desk.Store.ControlSettings.All(context.Background(), "me")
	return fmt.Sprint(all, err, marks, mark, err2, sets, set, err3, settings, err4)
}

// TestEachActionHasItsOwnScope: with that scope alone it goes, with all others it does not.
func TestEachActionHasItsOwnScope(t *testing.T) {
	for name, c := range rows() {
		a, _ := grant.Lookup(name)
		r := newRig(t)
		if c.before != nil {
			c.before(r)
		}
		every := r.policy.Scopes
		r.policy.Scopes = slices.DeleteFunc(slices.Clone(every), func(s grant.Scope) bool { return s == a.Scope })
		before := r.state()
		if _, code := r.do(name, c.args); code != wire.CodeDenied || r.state() != before {
			t.Errorf("%s without its scope: %q", name, code)
		}
		r.policy.Scopes = []grant.Scope{a.Scope}
		if got, code := r.do(name, c.args); code != "" {
			t.Errorf("%s with its scope alone: %s %s", name, got, code)
		}
	}
}

// bounds are values of a type: the outermost that fit, and the first that do not.
func bounds(t grant.ArgType, r *rig) (fit, not []string) {
	str := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	ids := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("%q", fake.UUID(uint64(i+1000))))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	url := func(n int) string {
		return `"https://a.example/` + strings.Repeat("x", n-len("https://a.example/")) + `"`
	}
	switch t {
	case grant.Session:
		return []string{`"` + r.one + `"`}, []string{`""`, `"` + strings.ToUpper("0000000a-0000-4000-8000-000000000001") + `"`, `"` + r.one + `0"`, `"` + r.one[1:] + `"`, `1`, `null`, `["` + r.one + `"]`}
	case grant.Sessions:
		return []string{ids(1), ids(128)}, []string{`[]`, ids(129), `["` + r.one + `","` + r.one + `"]`, `"` + r.one + `"`, `[1]`, `null`}
	case grant.Text:
		return []string{str(1), str(1024)}, []string{`""`, str(1025), `1`, `null`, `{}`}
	case grant.AnyText:
		return []string{`""`, str(1), str(1024)}, []string{`1`, `null`, `[]`}
	case grant.Integer:
		return []string{`0`, `9007199254740992`, `-9007199254740992`}, []string{`9007199254740993`, `-9007199254740993`, `0.5`, `"1"`, `true`, `null`}
	case grant.Boolean:
		return []string{`true`, `false`}, []string{`1`, `"true"`, `null`}
	case grant.URL:
		return []string{url(8192), `"http://a.example"`}, []string{url(8193), `""`, `"/x"`, `"ftp://a.example/"`, `"https://u:p@a.example/"`, `"javascript:1"`, `1`}
	case grant.Object:
		return nil, []string{`[]`, `"x"`, `1`, `null`}
	case grant.Appearance:
		return []string{`{"mode":"light"}`, `{"mode":"dark","accent":"violet","tabMode":"compact"}`}, []string{`{}`, `{"mode":"black"}`, `{"mode":1}`, `{"font":"x"}`, `null`}
	}
	return nil, []string{"the type has no bounds"}
}

// TestTheBoundsOfEveryArgument: for each argument of each action, both sides of each bound. What fits reaches the action,
// which may find no such thing; what does not is invalid, and so is a missing one, an unknown one and a doubled choice.
func TestTheBoundsOfEveryArgument(t *testing.T) {
	n := 0
	for name, c := range rows() {
		a, _ := grant.Lookup(name)
		r := newRig(t)
		if c.before != nil {
			c.before(r)
		}
		var good map[string]json.RawMessage
		args := strings.NewReplacer("ONE", r.one, "TWO", r.two).Replace(c.args)
		for word, v := range r.values {
			args = strings.ReplaceAll(args, word, v)
		}
		if err := json.Unmarshal([]byte(args), &good); err != nil {
			t.Fatal(err)
		}
		with := func(key, v string) string {
			m := maps.Clone(good)
			for _, one := range a.ExactlyOne {
				if slices.Contains(a.ExactlyOne, key) && one != key {
					delete(m, one)
				}
			}
			m[key] = json.RawMessage(v)
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		for _, arg := range a.Args {
			fit, not := bounds(arg.Type, r)
			if arg.Name == "selector" { // narrower than a text
				most := strings.Repeat("#x", page.MaxSelector/2)
				fit, not = []string{`"a"`, `"` + most + `"`}, append(not, `"`+most+`#"`, `"a:has(b)"`)
			}
			for _, v := range fit {
				n++
				if _, code := r.do(name, with(arg.Name, v)); code == wire.CodeInvalid && !(name == "bookmarks:mutate") && !(name == "sessions:save" && arg.Optional) {
					t.Errorf("%s: %s=%.40s is invalid", name, arg.Name, v)
				}
			}
			for _, v := range not {
				n++
				if _, code := r.do(name, with(arg.Name, v)); code != wire.CodeInvalid {
					t.Errorf("%s: %s=%.40s: %q", name, arg.Name, v, code)
				}
			}
			if m := maps.Clone(good); !arg.Optional {
				delete(m, arg.Name)
				raw, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				if _, code := r.do(name, string(raw)); code != wire.CodeInvalid {
					t.Errorf("%s without %s: %q", name, arg.Name, code)
				}
			}
		}
		for _, bad := range []string{with("further", `1`), `[]`, `null`, `"x"`} {
			n++
			if _, code := r.do(name, bad); code != wire.CodeInvalid {
				t.Errorf("%s %.60s: %q", name, bad, code)
			}
		}
	}
	t.Logf("%d values", n)
}
