package cdp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser/chromium"
	"parley/browser/display"
	"parley/internal/proc"
	"parley/platforms"
	"parley/testkit/need"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// shared is one browser for the tests of this package; each opens a tab of its own.
var shared struct {
	once    sync.Once
	browser *chromium.Browser
	display *display.Display
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.browser != nil {
		if err := errors.Join(shared.browser.Close(), shared.display.Close()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func account() (*proc.Account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	return proc.Lookup("parley")
}

func launch(ctx context.Context) (*chromium.Browser, *display.Display, error) {
	a, err := account()
	if err != nil {
		return nil, nil, err
	}
	d, err := display.Start(ctx, display.Options{Account: a})
	if err != nil {
		return nil, nil, err
	}
	b, err := chromium.Start(ctx, chromium.Options{Account: a, Env: d.Env(), Log: quiet})
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	return b, d, nil
}

func sharedBrowser(t *testing.T) *chromium.Browser {
	t.Helper()
	need.Browser(t)
	shared.once.Do(func() { shared.browser, shared.display, shared.err = launch(context.Background()) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.browser
}

// open opens a tab on a page with this body, with a deadline for the whole test.
func open(t *testing.T, o Options, body string) (*Page, context.Context) {
	t.Helper()
	b := sharedBrowser(t)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<!doctype html><title>t</title><body>"+body)
		case "/other":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<!doctype html><p>the other page</p>")
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	o.Log = quiet
	p, err := Open(ctx, b, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Navigate(ctx, s.URL+"/"); err != nil {
		t.Fatal(err)
	}
	return p, ctx
}

// inPage evaluates in the page's own world, as the page's scripts would.
func inPage(t *testing.T, p *Page, ctx context.Context, expression string) string {
	t.Helper()
	var answer struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
	}
	if err := ask(p.tab.With(ctx), "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(answer.Result.Value)
}

func awaitEvent(t *testing.T, p *Page, kind string) platforms.PageEvent {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case e, ok := <-p.Events():
			if !ok {
				t.Fatalf("no %q before the end", kind)
			}
			if e.Kind == kind {
				return e
			}
		case <-limit:
			t.Fatalf("no %q", kind)
		}
	}
}

func TestFindByRoleAndName(t *testing.T) {
	p, ctx := open(t, Options{}, `
		<button style="display:none">Join</button>
		<button id=a aria-label="Join the  meeting"><i aria-hidden=true>call_end</i>x</button>
		<button id=b disabled><i aria-hidden=true>mic_off</i> Mute</button>
		<label for=c>Your&nbsp;name</label><input id=c value="Ada">
		<label>Secret <input id=d type=password value=hunter2></label>
		<div id=e role=button tabindex=0 aria-labelledby="l1 l2">x</div><span id=l1>Raise</span><span id=l2>hand</span>
		<div role=toolbar aria-label="Call controls"><button id=f>Leave</button></div><button>Leave</button>
		<p id=g>Waiting to be <b>let in</b></p>
		<div id=host></div><div id=closed></div>
		<iframe srcdoc="<button id=h>In a frame</button>"></iframe>
		<a href=# id=k>You’ve been removed…</a>
		<input id=m placeholder="Nom d’affichage">
		<script>
			document.querySelector('#host').attachShadow({mode:'open'}).innerHTML = '<button id=s><slot></slot>In a shadow</button><div id=inner></div>';
			document.querySelector('#host').shadowRoot.querySelector('#inner').attachShadow({mode:'open'}).innerHTML = '<p id=deep>deep text</p>';
			document.querySelector('#closed').attachShadow({mode:'closed'}).innerHTML = '<button>Hidden from us</button>';
		</script>`)
	for _, c := range []struct {
		name    string
		t       platforms.Target
		want    string // id, "" for none
		enabled bool
	}{
		{"the hidden copy is skipped, blanks are folded", platforms.Target{Role: "button", Names: []string{"join THE meeting"}, Exact: true}, "a", true},
		{"part of a name", platforms.Target{Role: "button", Names: []string{"Join"}}, "a", true},
		{"the whole name when asked", platforms.Target{Role: "button", Names: []string{"Join"}, Exact: true}, "", false},
		{"icon text is no name", platforms.Target{Role: "button", Names: []string{"mic_off"}}, "", false},
		{"disabled", platforms.Target{Role: "button", Names: []string{"Mute"}, Exact: true}, "b", false},
		{"label, no-break space", platforms.Target{Role: "textbox", Names: []string{"Your name"}}, "c", true},
		{"wrapped label", platforms.Target{Role: "textbox", Names: []string{"secret"}}, "d", true},
		{"labelledby", platforms.Target{Role: "button", Names: []string{"raise hand"}, Exact: true}, "e", true},
		{"within", platforms.Target{Role: "button", Names: []string{"Leave"}, Within: "[role=toolbar]"}, "f", true},
		{"within nothing", platforms.Target{Role: "button", Names: []string{"Leave"}, Within: "[role=nothing]"}, "", false},
		{"text across elements is the smallest that shows it", platforms.Target{Texts: []string{"waiting to be let in"}}, "g", true},
		{"open shadow root", platforms.Target{Role: "button", Names: []string{"in a shadow"}}, "s", true},
		{"shadow root in a shadow root, by text", platforms.Target{Texts: []string{"deep text"}, Exact: true}, "deep", true},
		{"shadow root by selector", platforms.Target{Selector: "#deep"}, "deep", true},
		{"closed shadow root", platforms.Target{Role: "button", Names: []string{"hidden from us"}}, "", false},
		{"frame of the same origin", platforms.Target{Role: "button", Names: []string{"in a frame"}}, "h", true},
		{"typographic apostrophe and dots", platforms.Target{Role: "link", Names: []string{"You've been removed..."}, Exact: true}, "k", true},
		{"placeholder", platforms.Target{Role: "textbox", Names: []string{"Nom d'affichage"}}, "m", true},
		{"alternatives in other languages", platforms.Target{Role: "textbox", Names: []string{"Dein Name", "Nom d'affichage"}}, "m", true},
		{"nothing", platforms.Target{Role: "button", Names: []string{"No such"}}, "", false},
	} {
		f, err := p.Find(ctx, c.t)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if f.Attrs["id"] != c.want || f.OK != (c.want != "") || f.Enabled != c.enabled {
			t.Errorf("%s: found %+v, want %q", c.name, f, c.want)
		}
		if c.want == "d" && f.Value != "" {
			t.Error("a password was read out")
		}
		if c.want == "c" && f.Value != "Ada" {
			t.Errorf("value %q", f.Value)
		}
	}
}

func TestClickIsReceivedOrSaysWhy(t *testing.T) {
	p, ctx := open(t, Options{}, `
		<script>window.got = []; window.note = (e) => got.push(e.target.id + ':' + e.type + ':' + e.isTrusted);</script>
		<button id=a onclick=note(event)>Plain</button>
		<div style="height:3000px"></div><button id=b onclick=note(event)>Far below</button>
		<div style="position:relative;width:200px;height:60px"><button id=c onclick=note(event)>Under</button><div class=mask style="position:absolute;inset:0;background:#eee8"></div></div>
		<button id=d disabled>Off</button>
		<button id=e onclick="this.remove(); note(event)">Goes away</button>
		<button id=f onclick="location='/other'">Go</button>
		<div id=host></div>
		<button id=late style="display:none" onclick=note(event)>Late</button>
		<iframe style="margin:40px;border:7px solid" srcdoc="<button id=h onclick='parent.note(event)'>In a frame</button>"></iframe>
		<label id=lab><input type=checkbox id=box style="opacity:0;position:absolute;pointer-events:none" onclick=note(event)>Agree</label>
		<script>host.attachShadow({mode:'open'}).innerHTML='<button id=s>Shadow</button>'; host.shadowRoot.querySelector('#s').onclick = note;</script>`)
	button := func(n string) platforms.Target {
		return platforms.Target{Role: "button", Names: []string{n}, Exact: true, Wait: 300 * time.Millisecond}
	}
	for _, n := range []string{"Plain", "Far below", "Shadow", "In a frame", "Goes away"} {
		if err := p.Click(ctx, button(n)); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
	if got := inPage(t, p, ctx, "got.join(' ')"); got != "a:click:true b:click:true s:click:true h:click:true e:click:true" {
		t.Errorf("received: %s", got)
	}
	for n, want := range map[string]error{"Under": ErrCovered, "Off": ErrDisabled, "Nowhere": ErrMissing} {
		err := p.Click(ctx, button(n))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", n, err, want)
		}
		if n == "Under" && !strings.Contains(fmt.Sprint(err), `class="mask"`) {
			t.Errorf("the element in the way is not named: %v", err)
		}
	}
	inPage(t, p, ctx, "setTimeout(() => late.style.display = 'block', 400), 0")
	wait := button("Late")
	wait.Wait = 20 * time.Second
	if err := p.Click(ctx, wait); err != nil {
		t.Errorf("an element that comes late: %v", err)
	}
	if err := p.Click(ctx, platforms.Target{Texts: []string{"Agree"}, Exact: true}); err != nil || inPage(t, p, ctx, "box.checked") != "true" {
		t.Errorf("a label's box: %v", err)
	}
	if err := p.Click(ctx, button("Go")); err != nil {
		t.Errorf("a click that leaves the page: %v", err)
	}
	if err := p.Click(ctx, platforms.Target{Texts: []string{"the other page"}, Wait: 10 * time.Second}); err != nil {
		t.Errorf("after leaving: %v", err)
	}
}

func TestAClickThatAPageSwallowsIsUncertain(t *testing.T) {
	p, ctx := open(t, Options{}, `<button id=a>Runs away</button>
		<script>a.addEventListener('mouseenter', () => { a.style.display = 'none' })</script>`)
	err := p.Click(ctx, platforms.Target{Role: "button", Names: []string{"runs away"}, Wait: time.Second})
	if !errors.Is(err, ErrUncertain) {
		t.Errorf("got %v", err)
	}
}

func TestTypeWithRealKeysReadsBack(t *testing.T) {
	p, ctx := open(t, Options{}, `
		<input aria-label=Name value="old text" id=a>
		<textarea aria-label=Message id=b></textarea>
		<div contenteditable role=textbox aria-label=Editor id=c></div>
		<input aria-label=Short maxlength=4>
		<input aria-label=Picky id=d><button id=join disabled>Join</button>
		<div id=box><input aria-label=Rerendered></div>
		<script>
			window.keys = 0; window.sent = 0;
			d.addEventListener('keydown', () => { keys++; join.disabled = false });
			b.addEventListener('keydown', (e) => { if (e.key === 'Enter' && !e.shiftKey) { sent++; e.preventDefault() } });
			let n = 0;
			box.addEventListener('keydown', () => { if (++n === 3) box.innerHTML = '<input aria-label=Rerendered>' });
		</script>`)
	field := func(n string) platforms.Target {
		return platforms.Target{Role: "textbox", Names: []string{n}, Exact: true}
	}
	for _, c := range []struct{ field, text, id, want string }{
		{"Name", "Parley (AI notetaker)", "a", "Parley (AI notetaker)"},
		{"Name", "Zoë Überfluß – Łódź 李雷 😀", "a", "Zoë Überfluß – Łódź 李雷 😀"},
		{"Name", "one\nline", "a", "one line"},
		{"Message", "first\nsecond {x} \"y\" #@!", "b", "first\nsecond {x} \"y\" #@!"},
		{"Name", "", "a", ""},
	} {
		if err := p.Type(ctx, field(c.field), c.text); err != nil {
			t.Errorf("%q: %v", c.text, err)
		}
		if got := inPage(t, p, ctx, c.id+".value"); got != c.want {
			t.Errorf("%q became %q", c.text, got)
		}
	}
	if sent := inPage(t, p, ctx, "sent"); sent != "0" {
		t.Errorf("a line break sent the message")
	}
	if err := p.Type(ctx, field("Editor"), "rich  text\nline"); err != nil {
		t.Errorf("editor: %v", err)
	}
	if err := p.Type(ctx, field("Editor"), "again"); err != nil || inPage(t, p, ctx, "c.innerText.trim()") != "again" {
		t.Errorf("editor cleared: %v %q", err, inPage(t, p, ctx, "c.innerText"))
	}
	if err := p.Type(ctx, field("Picky"), "abc"); err != nil || inPage(t, p, ctx, "keys") != "3" || inPage(t, p, ctx, "join.disabled") != "false" {
		t.Errorf("real key events: %v, %s", err, inPage(t, p, ctx, "keys"))
	}
	if err := p.Type(ctx, field("Short"), "12345"); !errors.Is(err, ErrNotTyped) || strings.Contains(err.Error(), "12345") {
		t.Errorf("a field that cuts: %v", err)
	}
	if err := p.Type(ctx, field("Rerendered"), "Ada"); err != nil || inPage(t, p, ctx, "box.firstChild.value") != "Ada" {
		t.Errorf("a field that is replaced while typing: %v", err)
	}
	if err := p.Press(ctx, "Enter"); err != nil {
		t.Error(err)
	}
}

func TestPressSendsChords(t *testing.T) {
	p, ctx := open(t, Options{}, `<script>window.got = []; addEventListener('keydown', (e) => got.push([e.ctrlKey&&'C', e.altKey&&'A', e.shiftKey&&'S', e.key, e.code, e.isTrusted].filter(Boolean).join('-')))</script>`)
	for _, chord := range []string{"Alt+A", "Control+Shift+M", "Escape", "c"} {
		if err := p.Press(ctx, chord); err != nil {
			t.Fatal(err)
		}
	}
	if got := inPage(t, p, ctx, "got.join(' ')"); got != "A-Alt-AltLeft-true A-a-KeyA-true C-Control-ControlLeft-true C-S-Shift-ShiftLeft-true C-S-m-KeyM-true Escape-Escape-true c-KeyC-true" {
		t.Errorf("received: %s", got)
	}
}

func TestThePageCannotSeeOurWorld(t *testing.T) {
	p, ctx := open(t, Options{}, `<p id=x>x</p><script>
		Array.prototype.map = JSON.stringify = document.querySelector = Element.prototype.getBoundingClientRect = () => { throw 'replaced' };
	</script>`)
	reports, err := p.Listen(ctx, "parleyTest")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Listen(ctx, "parleyTest"); err == nil {
		t.Error("two listeners of one name")
	}
	if err := p.Run(ctx, "(arg) => parleyTest(JSON.stringify([arg].map((x) => x + 1)))", 41, nil); err != nil {
		t.Fatal(err)
	}
	if got := <-reports; string(got) != "[42]" {
		t.Errorf("report %s", got)
	}
	if got := inPage(t, p, ctx, "typeof parleyTest + ' ' + Object.getOwnPropertyNames(window).filter((n) => /parley|^kit/.test(n)).length"); got != "undefined 0" {
		t.Errorf("the page sees: %s", got)
	}
	if err := p.Run(ctx, "() => { parleyTest('no json'); parleyTest('{}') }", nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := <-reports; string(got) != "{}" || p.Counts().DroppedReports != 1 {
		t.Errorf("report %s, dropped %d", got, p.Counts().DroppedReports)
	}
	f, err := p.Find(ctx, platforms.Target{Selector: "#x"})
	if err != nil || !f.OK {
		t.Errorf("a page with replaced built-ins: %+v %v", f, err)
	}
}

func TestRunAwaitsAndReportsErrors(t *testing.T) {
	p, ctx := open(t, Options{}, `<p>secret words</p>`)
	var got struct{ A, B int }
	if err := p.Run(ctx, "async ({a}) => { await new Promise((r) => setTimeout(r, 10)); return {a, b: a + 1} }", map[string]int{"a": 1}, &got); err != nil || got.A != 1 || got.B != 2 {
		t.Errorf("%+v %v", got, err)
	}
	var s *ScriptError
	if err := p.Run(ctx, "() => { throw new TypeError(document.body.innerText) }", nil, nil); !errors.As(err, &s) || s.Class != "TypeError" || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := p.Run(short, "() => new Promise(() => {})", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a promise that never ends: %v", err)
	}
	if err := p.Run(ctx, "() => { location = '/other'; return new Promise(() => {}) }", nil, nil); !errors.Is(err, ErrNavigated) {
		t.Errorf("a script whose page goes: %v", err)
	}
	where := ""
	const moves = "() => { if (location.pathname !== '/third') { location = '/third'; return new Promise(() => {}) } return location.pathname }"
	if err := platforms.Read(ctx, p, moves, nil, &where); err != nil || where != "/third" {
		t.Errorf("a reading script whose page goes: %q %v", where, err)
	}
}

func TestObserversAndBindingsSurviveNavigations(t *testing.T) {
	p, ctx := open(t, Options{}, `<p>first</p>`)
	reports, err := p.Listen(ctx, "seen")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Observe(ctx, `(kit) => kit.ready(() => seen(JSON.stringify(document.body.innerText.trim())))`); err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-reports:
			if string(got) != want {
				t.Errorf("%s, want %s", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no %s", want)
		}
	}
	expect(`"first"`)
	url, err := p.URL(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Navigate(ctx, url+"other"); err != nil {
		t.Fatal(err)
	}
	expect(`"the other page"`)
	// Another site gets another process, whose context numbers begin anew.
	if err := p.Navigate(ctx, strings.Replace(url, "127.0.0.1", "localhost", 1)); err != nil {
		t.Fatal(err)
	}
	expect(`"first"`)
	var text string
	if err := p.Run(ctx, "() => document.body.innerText.trim()", nil, &text); err != nil || text != "first" {
		t.Errorf("%q %v", text, err)
	}
}

func TestNavigateSaysWhatWentWrong(t *testing.T) {
	p, ctx := open(t, Options{}, ``)
	var n *NavigateError
	if err := p.Navigate(ctx, "http://127.0.0.1:1/"); !errors.As(err, &n) || !strings.HasPrefix(n.Code, "net::ERR_") {
		t.Errorf("nobody listens: %v", err)
	}
	if err := p.Navigate(ctx, "http://does-not-exist.invalid/"); !errors.As(err, &n) {
		t.Errorf("no such host: %v", err)
	}
	for _, bad := range []string{"file:///etc/hostname", "javascript:1", "chrome://version", "data:text/html,x", "", ":"} {
		if err := p.Navigate(ctx, bad); err == nil || errors.As(err, &n) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	over := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-over }))
	defer hang.Close()
	defer close(over)
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if err := p.Navigate(short, hang.URL); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a host that never answers: %v", err)
	}
}

func TestScriptDialogsNeverBlock(t *testing.T) {
	p, ctx := open(t, Options{}, `<button onclick="window.said = [alert('hello'), confirm('sure?'), prompt('who?')].join()">Ask</button>
		<script>addEventListener('beforeunload', (e) => { e.preventDefault(); e.returnValue = 'x' })</script>`)
	if err := p.Click(ctx, platforms.Target{Role: "button", Names: []string{"Ask"}}); err != nil {
		t.Fatal(err)
	}
	if got := inPage(t, p, ctx, "said"); got != ",false," {
		t.Errorf("answers: %q", got)
	}
	if e := awaitEvent(t, p, "dialog"); e.Text != "hello" {
		t.Errorf("event %+v", e)
	}
	url, _ := p.URL(ctx)
	if err := p.Navigate(ctx, url+"other"); err != nil {
		t.Errorf("a page that asks whether to leave: %v", err)
	}
	if n := p.Counts().Dialogs; n < 3 {
		t.Errorf("%d dialogs counted", n)
	}
}

func TestCallsOfACrashedPageFailAtOnceAndItComesBack(t *testing.T) {
	p, ctx := open(t, Options{}, `<p>alive</p>`)
	url, _ := p.URL(ctx)
	waiting := make(chan error, 1)
	go func() { waiting <- p.Run(ctx, "() => new Promise(() => {})", nil, nil) }()
	crash, cancel := context.WithTimeout(ctx, time.Second) // a page that crashed answers no more
	defer cancel()
	_ = ask(p.tab.With(crash), "Page.crash", map[string]any{}, &struct{}{})
	awaitEvent(t, p, "crashed")
	select {
	case err := <-waiting:
		if !errors.Is(err, ErrCrashed) {
			t.Errorf("the call under way: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the call under way still waits")
	}
	if _, err := p.Find(ctx, platforms.Target{Texts: []string{"alive"}}); !errors.Is(err, ErrCrashed) {
		t.Errorf("a later call: %v", err)
	}
	if _, err := p.Picture(ctx); !errors.Is(err, ErrCrashed) {
		t.Errorf("a picture: %v", err)
	}
	if p.Counts().Crashes != 1 {
		t.Errorf("%+v", p.Counts())
	}
	if err := p.Navigate(ctx, url); err != nil {
		t.Fatalf("navigating again: %v", err)
	}
	if f, err := p.Find(ctx, platforms.Target{Texts: []string{"alive"}}); err != nil || !f.OK {
		t.Errorf("after coming back: %+v %v", f, err)
	}
}

func TestAPageThatHangsIsNoticedAndRevived(t *testing.T) {
	p, ctx := open(t, Options{ProbeEvery: 200 * time.Millisecond}, `<p>before</p>`)
	inPage(t, p, ctx, "setTimeout(() => { for (;;); }, 0), 0")
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if err := p.Run(short, "() => 1", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a page that hangs: %v", err)
	}
	if _, err := p.URL(ctx); err != nil {
		t.Errorf("its address: %v", err)
	}
	// Three probes of a second are missed, then the script is ended: the same tab answers again.
	if f, err := p.Find(ctx, platforms.Target{Texts: []string{"before"}}); err != nil || !f.OK {
		t.Errorf("revived: %+v %v", f, err)
	}
}

func TestConsoleErrorsAreCounted(t *testing.T) {
	p, ctx := open(t, Options{}, `<script>console.error('x'); console.log('fine'); setTimeout(() => { throw new Error('y') }, 0)</script>`)
	awaitEvent(t, p, "console-error")
	deadline := time.Now().Add(10 * time.Second)
	for p.Counts().ConsoleErrors < 2 && time.Now().Before(deadline) {
		inPage(t, p, ctx, "1")
	}
	if n := p.Counts().ConsoleErrors; n != 2 {
		t.Errorf("%d", n)
	}
}

func TestPictureIsAPNG(t *testing.T) {
	p, ctx := open(t, Options{}, `<p>x</p>`)
	png, err := p.Picture(ctx)
	if err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("%d bytes, %v", len(png), err)
	}
}

func TestTheMicrophoneIsGrantedToOneOriginOnly(t *testing.T) {
	b := sharedBrowser(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer s.Close()
	p, err := Open(ctx, b, Options{Origin: s.URL, Permissions: []string{"audioCapture"}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	state := func(url string) string {
		t.Helper()
		if err := p.Navigate(ctx, url); err != nil {
			t.Fatal(err)
		}
		return inPage(t, p, ctx, "Promise.all(['microphone','camera'].map((name) => navigator.permissions.query({name}))).then((a) => a.map((s) => s.state).join())")
	}
	if got := state(s.URL); got != "granted,denied" {
		t.Errorf("the granted origin: %s", got)
	}
	if got := state(strings.Replace(s.URL, "127.0.0.1", "localhost", 1)); got != "prompt,prompt" {
		t.Errorf("another origin: %s", got)
	}
}

func TestClosingEndsEverything(t *testing.T) {
	b := sharedBrowser(t)
	p, err := Open(t.Context(), b, Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	reports, err := p.Listen(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for range p.Events() {
	}
	if _, ok := <-reports; ok {
		t.Error("the listener is open")
	}
	if err := p.Run(t.Context(), "() => 1", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
	if _, err := p.Listen(t.Context(), "y"); !errors.Is(err, ErrClosed) {
		t.Errorf("listening after closing: %v", err)
	}
}

func TestATabThatClosesItselfAndABrowserThatDies(t *testing.T) {
	need.Browser(t)
	b, d, err := launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	defer b.Close()
	p, err := Open(t.Context(), b, Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	q, err := Open(t.Context(), b, Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_ = ask(p.tab.With(ctx), "Runtime.evaluate", map[string]any{"expression": "window.close()"}, &struct{}{})
	awaitEvent(t, p, "closed")
	if err := p.Run(ctx, "() => 1", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed tab: %v", err)
	}
	proc, _ := os.FindProcess(b.PID())
	_ = proc.Kill()
	awaitEvent(t, q, "closed")
	if err := q.Run(ctx, "() => 1", nil, nil); !errors.Is(err, chromium.ErrGone) {
		t.Errorf("a dead browser: %v", err)
	}
	if err := errors.Join(p.Close(), q.Close()); err != nil {
		t.Error(err)
	}
}

func TestAPageThatCannotBeRevivedIsReportedAsHung(t *testing.T) {
	need.Browser(t)
	b, d, err := launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	defer b.Close()
	p, err := Open(t.Context(), b, Options{Log: quiet, ProbeEvery: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	info, err := proto.SystemInfoGetProcessInfo{}.Call(b.With(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	signal := func(s syscall.Signal) {
		for _, q := range info.ProcessInfo {
			if q.Type == "renderer" {
				if err := syscall.Kill(q.ID, s); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	signal(syscall.SIGSTOP)
	awaitEvent(t, p, "hung")
	signal(syscall.SIGCONT)
	awaitEvent(t, p, "answers")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := p.Run(ctx, "() => 1", nil, nil); err != nil {
		t.Error(err)
	}
}
