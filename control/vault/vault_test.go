package vault

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/control/publish"
	"parley/control/span"
	"parley/control/tabs"
	"parley/control/wire"
	"parley/store"
)

func newVault(t *testing.T) (*Vault, *store.Store) {
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
	return New(s.Credentials, "me", Options{Iterations: 10}), s
}

func TestAVaultIsOpenedByItsPassphraseAlone(t *testing.T) {
	v, s := newVault(t)
	ctx := t.Context()
	if err := v.Unlock(ctx, "correct horse"); !errors.Is(err, ErrNone) {
		t.Errorf("none yet: %v", err)
	}
	if err := v.Init(ctx, "short"); err == nil {
		t.Error("a short passphrase")
	}
	if err := v.Init(ctx, "correct horse"); err != nil {
		t.Fatal(err)
	}
	if err := v.Init(ctx, "correct horse"); !errors.Is(err, ErrExists) {
		t.Errorf("a second vault: %v", err)
	}
	c := store.Credential{ID: "c1", Origin: "https://a.example", Action: "https://a.example/login", UserField: "u", PassField: "p"}
	if err := v.Add(ctx, c, Login{"ada", "s3cret-horse"}); err != nil {
		t.Fatal(err)
	}
	list, err := v.List(ctx)
	if err != nil || len(list) != 1 || strings.Contains(string(list[0].Sealed), "horse") {
		t.Fatalf("%v, %v", list, err)
	}
	if l, err := v.Open(list[0]); err != nil || l != (Login{"ada", "s3cret-horse"}) {
		t.Errorf("%v", err)
	}
	moved := list[0]
	moved.Action = "https://evil.example/login"
	if _, err := v.Open(moved); err == nil {
		t.Error("a login moved to another form opens")
	}
	before, err := v.State(ctx)
	if err != nil || before.Locked || !before.Exists {
		t.Fatalf("%+v, %v", before, err)
	}
	v.Lock()
	if _, err := v.Open(list[0]); !errors.Is(err, ErrLocked) || v.Unchanged(before.Changes) {
		t.Errorf("locked: %v", err)
	}
	if err := v.Unlock(ctx, "wrong horse"); !errors.Is(err, ErrPassphrase) {
		t.Errorf("%v", err)
	}
	again := New(s.Credentials, "me", Options{}) // after a restart it is locked
	if st, err := again.State(ctx); err != nil || !st.Locked || !st.Exists {
		t.Errorf("%+v, %v", st, err)
	}
	if err := again.Unlock(ctx, "correct horse"); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Open(list[0]); err != nil {
		t.Error(err)
	}
	other := New(s.Credentials, "you", Options{})
	if err := other.Unlock(ctx, "correct horse"); !errors.Is(err, ErrNone) {
		t.Errorf("another tenant: %v", err)
	}
}

var t0 = time.UnixMilli(1_800_000_000_000)

func TestAReferenceServesOnceAtItsPlace(t *testing.T) {
	at := Place{wire.Principal{ID: "a", Generation: 1}, "tab", "doc", 3}
	other := func(f func(*Place)) Place { p := at; f(&p); return p }
	for what, p := range map[string]Place{
		"another tab":      other(func(p *Place) { p.Tab = "x" }),
		"another document": other(func(p *Place) { p.Document = "x" }),
		"another policy":   other(func(p *Place) { p.Policy++ }),
		"a generation on":  other(func(p *Place) { p.Principal.Generation++ }),
	} {
		var r Refs
		id := r.Make(t0, at, []string{"c1"})[0]
		if _, err := r.Use(t0, p, id); !errors.Is(err, ErrRef) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var r Refs
	ids := r.Make(t0, at, []string{"c1", "c2"})
	if len(ids[0]) != 36 || ids[0] == ids[1] {
		t.Errorf("%v", ids)
	}
	if c, err := r.Use(t0, at, ids[1]); err != nil || c != "c2" {
		t.Errorf("%q, %v", c, err)
	}
	if _, err := r.Use(t0, at, ids[1]); !errors.Is(err, ErrRef) {
		t.Errorf("again: %v", err)
	}
	r.Make(t0, at, []string{"c1"})
	if _, err := r.Use(t0, at, ids[0]); !errors.Is(err, ErrRef) {
		t.Errorf("of an older list: %v", err)
	}
	id := r.Make(t0, at, []string{"c1"})[0]
	if _, err := r.Use(t0.Add(RefLife), at, id); !errors.Is(err, ErrRef) {
		t.Errorf("too old: %v", err)
	}
	for range 10 {
		for i := range 100 {
			r.Make(t0, Place{Tab: fmt.Sprint(i)}, []string{"a", "b", "c"})
		}
	}
	if len(r.out) > maxRefs {
		t.Errorf("%d references are kept", len(r.out))
	}
}

var form = publish.Form{Action: "https://a.example/login", User: "user", Pass: "pass"}

const password = "Tr0ub4dor & 3"

// post is the one submission that fits.
func post() tabs.Request {
	return tabs.Request{Tab: "tab", Document: "doc", Main: true, Kind: tabs.Navigation, Method: "POST", URL: form.Action, Origin: "https://a.example",
		Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Cookie": "session=abcdefabcdef", "Accept": "text/html"},
		Body:   []byte(url.Values{"user": {"ada"}, "pass": {password}, "lang": {"en"}}.Encode()), BodyWhole: true}
}

type rig struct {
	now    time.Time
	still  bool
	phases []Phase
	lease  *Lease
}

func arm(armed bool) *rig {
	r := &rig{now: t0, still: true}
	r.lease = NewLease(Terms{Form: form, Tab: "tab", Document: "doc", Armed: armed, Still: func() bool { return r.still }, Now: func() time.Time { return r.now },
		Tell: func(p Phase) { r.phases = append(r.phases, p) }}, Login{"ada", password})
	return r
}

func TestOneSubmissionGoes(t *testing.T) {
	r := arm(true)
	if v := r.lease.Judge(tabs.Request{Tab: "tab", Method: "GET", URL: "https://a.example/logo.png", Kind: tabs.Resource}); v != tabs.Ignore {
		t.Errorf("a picture: %v", v)
	}
	if v := r.lease.Judge(post()); v != tabs.Allow {
		t.Fatalf("the submission: %v", v)
	}
	if v := r.lease.Judge(post()); v != tabs.Refuse {
		t.Errorf("again: %v", v)
	}
	r.lease.Done(401)
	r.lease.Done(200)
	if want := []Phase{Prepared, Authorized, Completed}; !slices.Equal(r.phases, want) {
		t.Errorf("%v, want %v", r.phases, want)
	}
}

// TestWhatDoesNotFitUsesThePermissionUp: one change each, and then the right one comes too late.
func TestWhatDoesNotFitUsesThePermissionUp(t *testing.T) {
	body := func(v url.Values) func(*rig, *tabs.Request) {
		return func(_ *rig, q *tabs.Request) { q.Body = []byte(v.Encode()) }
	}
	login := func(more url.Values) url.Values {
		v := url.Values{"user": {"ada"}, "pass": {password}}
		for k, x := range more {
			v[k] = x
		}
		return v
	}
	many := url.Values{}
	for i := range MaxFields - 1 {
		many.Set(fmt.Sprint("f", i), "1")
	}
	for what, change := range map[string]func(*rig, *tabs.Request){
		"16 s later":             func(r *rig, _ *tabs.Request) { r.now = t0.Add(LeaseLife + time.Second) },
		"put":                    func(_ *rig, q *tabs.Request) { q.Method = "PUT" },
		"another path":           func(_ *rig, q *tabs.Request) { q.URL += "/" },
		"another port":           func(_ *rig, q *tabs.Request) { q.URL = "https://a.example:8443/login" },
		"another host":           func(_ *rig, q *tabs.Request) { q.URL = "https://b.example/login" },
		"a query":                func(_ *rig, q *tabs.Request) { q.URL += "?x=1" },
		"another origin":         func(_ *rig, q *tabs.Request) { q.Origin = "https://b.example" },
		"no origin":              func(_ *rig, q *tabs.Request) { q.Origin = "null" },
		"another tab":            func(_ *rig, q *tabs.Request) { q.Tab = "other" },
		"another document":       func(_ *rig, q *tabs.Request) { q.Document = "doc2" },
		"a child frame":          func(_ *rig, q *tabs.Request) { q.Main = false },
		"fetch":                  func(_ *rig, q *tabs.Request) { q.Kind = tabs.Scripted },
		"a worker":               func(_ *rig, q *tabs.Request) { q.Kind = tabs.Worker },
		"a redirect's":           func(_ *rig, q *tabs.Request) { q.From = 307 },
		"json":                   func(_ *rig, q *tabs.Request) { q.Header["Content-Type"] = "application/json" },
		"multipart":              func(_ *rig, q *tabs.Request) { q.Header["Content-Type"] = "multipart/form-data; boundary=x" },
		"with a charset":         func(_ *rig, q *tabs.Request) { q.Header["Content-Type"] += ";charset=utf-8" },
		"no type":                func(_ *rig, q *tabs.Request) { delete(q.Header, "Content-Type") },
		"a secret in a header":   func(_ *rig, q *tabs.Request) { q.Header["X-Extra"] = "password: hunter2-horse" },
		"half a body":            func(_ *rig, q *tabs.Request) { q.BodyWhole = false },
		"64 KiB and one":         body(login(url.Values{"x": {strings.Repeat("a ", MaxBody/4)}, "y": {strings.Repeat("b ", MaxBody/4)}})),
		"129 fields":             body(login(many)),
		"another password":       body(url.Values{"user": {"ada"}, "pass": {"x"}}),
		"another user":           body(url.Values{"user": {"eve"}, "pass": {password}}),
		"no user":                body(url.Values{"pass": {password}}),
		"a field twice":          func(_ *rig, q *tabs.Request) { q.Body = append(q.Body, "&lang=de"...) },
		"the password twice":     body(login(url.Values{"copy": {password}})),
		"a secret beside":        body(login(url.Values{"note": {"password: hunter2-horse"}})),
		"a broken escape":        func(_ *rig, q *tabs.Request) { q.Body = append(q.Body, "&x=%zz"...) },
		"actor, tab, policy ...": func(r *rig, _ *tabs.Request) { r.still = false },
	} {
		r := arm(true)
		q := post()
		change(r, &q)
		if v := r.lease.Judge(q); v != tabs.Refuse {
			t.Errorf("%s: %v", what, v)
		}
		r.now, r.still = t0, true
		if v := r.lease.Judge(post()); v != tabs.Refuse {
			t.Errorf("%s: the right one goes afterwards: %v", what, v)
		}
		if want := []Phase{Prepared, Denied}; !slices.Equal(r.phases, want) {
			t.Errorf("%s: %v", what, r.phases)
		}
	}
	for what, change := range map[string]func(*rig, *tabs.Request){
		"15 s later": func(r *rig, _ *tabs.Request) { r.now = t0.Add(LeaseLife) },
		"128 fields": func(_ *rig, q *tabs.Request) { many.Del("f0"); q.Body = []byte(login(many).Encode()) },
	} {
		r := arm(true)
		q := post()
		change(r, &q)
		if v := r.lease.Judge(q); v != tabs.Allow {
			t.Errorf("%s: %v", what, v)
		}
	}
}

// TestFilledInOnly: nothing goes without a preparation, and the password goes nowhere in any plain form.
func TestFilledInOnly(t *testing.T) {
	r := arm(false)
	if v := r.lease.Judge(post()); v != tabs.Refuse {
		t.Errorf("a submission nobody prepared: %v", v)
	}
	for _, q := range []tabs.Request{
		{Method: "GET", Kind: tabs.Resource, URL: "https://evil.example/?p=" + url.QueryEscape(password)},
		{Method: "GET", Kind: tabs.Resource, URL: "https://evil.example/" + url.PathEscape(password)},
		{Method: "GET", Kind: tabs.Scripted, URL: "https://a.example/", Header: map[string]string{"X": password}},
		{Method: "POST", Kind: tabs.Scripted, URL: "https://a.example/", Body: []byte(`{"p":"` + password + `"}`), BodyWhole: true},
		{Method: "POST", Kind: tabs.Scripted, URL: "https://a.example/", Body: []byte("VHIwdWI0ZG9yICYgMw=="), BodyWhole: true},
		{Method: "POST", Kind: tabs.Scripted, URL: "https://a.example/", BodyWhole: false},
	} {
		if v := r.lease.Judge(q); v != tabs.Refuse {
			t.Errorf("%s %s: %v", q.Method, q.Kind, v)
		}
	}
	if v := r.lease.Judge(tabs.Request{Method: "POST", Kind: tabs.Scripted, URL: "https://a.example/", Body: []byte("hello"), BodyWhole: true}); v != tabs.Ignore {
		t.Errorf("what carries nothing: %v", v)
	}
	if len(r.phases) != 0 {
		t.Errorf("%v", r.phases)
	}
	r.lease.End()
	if v := r.lease.Judge(post()); v != tabs.Ignore {
		t.Errorf("after the end: %v", v)
	}
}

func TestRedirectsOfASubmission(t *testing.T) {
	for _, c := range []struct {
		status          int
		method, address string
		goes            bool
	}{
		{302, "GET", "https://a.example/home", true},
		{303, "GET", "https://a.example/home", true},
		{302, "POST", "https://a.example/home", false},
		{307, "POST", "https://a.example/login2", false},
		{308, "POST", "https://a.example/login2", false},
		{307, "GET", "https://a.example/login2", false},
		{302, "GET", "https://a.example/?p=" + url.QueryEscape(password), false},
		{302, "GET", "https://a.example/?password=hunter2-horse", false},
	} {
		r := arm(true)
		r.lease.Judge(post())
		if goes := r.lease.Redirect(c.status, c.method, c.address); goes != c.goes {
			t.Errorf("%d %s: %v", c.status, c.method, goes)
		}
		r.lease.Done(200)
		last := Completed
		if !c.goes {
			last = Failed
		}
		if r.phases[len(r.phases)-1] != last {
			t.Errorf("%d %s: %v", c.status, c.method, r.phases)
		}
	}
	r := arm(true)
	r.lease.Judge(post())
	r.lease.Done(0)
	if want := []Phase{Prepared, Authorized, Failed}; !slices.Equal(r.phases, want) {
		t.Errorf("%v", r.phases)
	}
}

// TestThePhasesOfALease: each has its span, and none when they are switched off.
func TestThePhasesOfALease(t *testing.T) {
	for _, on := range []bool{true, false} {
		got := map[span.Name]bool{}
		rec := new(span.Recorder)
		rec.To(func(s span.Span) { got[s.Name] = true })
		rec.Switch(on)
		run := func(end func(*Lease)) {
			l := NewLease(Terms{Form: form, Tab: "tab", Document: "doc", Armed: true, Still: func() bool { return true }, Now: func() time.Time { return t0 }, Trace: rec.Begin()}, Login{"ada", password})
			l.Judge(post())
			end(l)
		}
		run(func(l *Lease) { l.Redirect(302, "GET", "https://a.example/"); l.Done(200) })
		run(func(l *Lease) { l.Done(0) })
		for _, n := range []span.Name{span.CredentialIssue, span.CredentialClaim, span.CredentialHeaders, span.CredentialAuthorize, span.CredentialRedirect, span.CredentialComplete, span.CredentialFailure} {
			if got[n] != on {
				t.Errorf("on %v: %s is there: %v", on, n, got[n])
			}
		}
	}
}

func FuzzSubmission(f *testing.F) {
	f.Add([]byte("user=ada&pass=x"), "application/x-www-form-urlencoded")
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		r := arm(true)
		q := post()
		q.Body, q.Header["Content-Type"] = body, kind
		if r.lease.Judge(q) == tabs.Allow {
			v, err := url.ParseQuery(string(body))
			if err != nil || v.Get("user") != "ada" || v.Get("pass") != password || kind != "application/x-www-form-urlencoded" {
				t.Errorf("%q went", body)
			}
		}
	})
}
