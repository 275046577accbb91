package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
	"parley/browser/browsertest"
)

// snapshot reads the session's page.
func snapshot(t testing.TB, s *browser.Session, o browser.ReadOptions) *browser.Snapshot {
	t.Helper()
	var snap *browser.Snapshot
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) (err error) {
		snap, err = p.Snapshot(ctx, o)
		return err
	})
	return snap
}

func text(s *browser.Snapshot) string { return strings.Join(s.Lines, "\n") }

// until reads the page until it shows a text.
func until(t testing.TB, s *browser.Session, want string) *browser.Snapshot {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for {
		snap := snapshot(t, s, browser.ReadOptions{})
		if strings.Contains(text(snap), want) {
			return snap
		}
		if time.Now().After(deadline) {
			t.Fatalf("the page does not show %q:\n%s\n%q", want, text(snap), snap.Notes)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

var refs = regexp.MustCompile(`\be[0-9]+\b`)

// refOf is the ref of what a line calls so.
func refOf(t testing.TB, s *browser.Snapshot, line string) browser.Ref {
	t.Helper()
	for _, l := range s.Lines {
		if i := strings.Index(l, line); i >= 0 {
			if all := refs.FindAllString(l[:i+len(line)], -1); len(all) > 0 {
				return browser.Ref(all[len(all)-1])
			}
		}
	}
	t.Fatalf("no ref before %q in:\n%s", line, text(s))
	return ""
}

// click clicks a ref by script, for tests of seeing only.
func click(t testing.TB, s *browser.Session, ref browser.Ref) {
	t.Helper()
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
		e, err := p.Resolve(ctx, ref)
		if err != nil {
			return err
		}
		return e.Call(ctx, nil, "(el) => el.click()", nil, nil)
	})
}

func TestSnapshotIsCompactText(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<title>Shop</title><h1>Shop <b>open</b></h1>
		<nav aria-label=Main><ul><li><a href=/a>Home</a><li><a href=/b>Cart</a></ul></nav>
		<p>Some <b>text</b> with a <a href=/c>link</a> inside.</p>
		<form><label>Name <input value=bob></label><label for=p>Mail</label><input id=p placeholder=x><select aria-label=Colour><option>Red<option selected>Blue</select>
		<label><input type=checkbox checked> Agree</label><button disabled>Send</button></form>
		<div onclick="1" style="cursor:pointer">Open menu</div>
		<table><tr><th>Item<th>Price<tr><td>Tea<td>3</table>
		<details><summary>More</summary>secret detail</details><p style="display:none">hidden</p><p hidden>hidden too</p><p aria-hidden=true>icon</p><img src=x alt="A picture"><img src=y alt="">
		<div role=dialog aria-label=Sure aria-modal=true><button aria-expanded=false>Yes</button></div>`})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	snap := snapshot(t, s, browser.ReadOptions{})
	want := `# Shop open
e1 navigation Main
 - e2 link Home
 - e3 link Cart
Some text with a e4 link link | inside.
e5 textbox Name = "bob" e6 textbox Mail e7 combobox Colour = "Blue" of Red / Blue e8 checkbox Agree checked e9 button Send disabled
e10 clickable Open menu
e11 table
 | Item | Price
 | Tea | 3
e12 button More collapsed
img "A picture"
e13 dialog Sure modal
 e14 button Yes collapsed`
	if got := text(snap); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if again := text(snapshot(t, s, browser.ReadOptions{})); again != want {
		t.Errorf("the second read gave other refs:\n%s", again)
	}
}

func TestSnapshotReadsFramesAndShadowRootsOfEveryKind(t *testing.T) {
	at := browsertest.Site(t, map[string]string{
		"/": `<p>top</p><iframe title=near src=/near></iframe><iframe title=far src="{other}/far"></iframe>
			<x-open></x-open><x-closed></x-closed><div id=plain></div><p>end</p>
			<iframe style="display:none" src=/gone></iframe>
			<script>
			const root = (el, mode, html) => { const r = el.attachShadow({ mode }); r.innerHTML = html; return r; };
			root(document.querySelector('x-open'), 'open', '<button>Open button</button>');
			const c = root(document.querySelector('x-closed'), 'closed', '<button>Closed button</button><y-inner></y-inner>');
			root(c.querySelector('y-inner'), 'closed', '<button>Inner button</button>');
			root(document.getElementById('plain'), 'closed', '<button>Plain button</button>');
			</script>`,
		"/near":  `<button>Near button</button>`,
		"/far":   `<button>Far button</button><iframe src="/inner"></iframe>`,
		"/inner": `<button>Deep button</button><x-c></x-c><script>document.querySelector('x-c').attachShadow({mode:'closed'}).innerHTML = '<button>Far closed</button>'</script>`,
		"/gone":  `gone`,
	})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	until(t, s, "Deep button")
	snap := until(t, s, "Far closed")
	last := -1
	for _, want := range []string{"top", `iframe "near"`, "Near button", `iframe "far"`, "Far button", "Deep button", "Far closed", "Open button", "Closed button", "Inner button", "Plain button", "end"} {
		i := strings.Index(text(snap), want)
		if i <= last {
			t.Errorf("%q is missing or out of order (%d after %d)", want, i, last)
		}
		last = i
	}
	if strings.Contains(text(snap), "gone") || !strings.Contains(fmt.Sprint(snap.Notes), "1 hidden frame") {
		t.Errorf("hidden frame: %q", snap.Notes)
	}
	// Refs reach into all of them.
	for _, name := range []string{"Near button", "Far button", "Deep button", "Open button", "Closed button", "Inner button", "Plain button"} {
		browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
			e, err := p.Resolve(ctx, refOf(t, snap, name))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return nil
			}
			var said string
			if err := e.Call(ctx, nil, "(el) => el.textContent", nil, &said); err != nil || said != name {
				t.Errorf("%s: %q %v", name, said, err)
			}
			return nil
		})
	}
	if t.Failed() {
		t.Log("\n" + text(snap))
	}
}

func TestCredentialsAreMaskedForGood(t *testing.T) {
	toggle := `<input id=p type=password value="hunter2-secret" aria-label=Word><button onclick="p.type = p.type == 'text' ? 'password' : 'text'">Show</button>`
	at := browsertest.Site(t, map[string]string{
		"/": toggle + `<input autocomplete=one-time-code value="hunter2-code"><iframe src=/frame></iframe><iframe src="{other}/frame"></iframe><x-s></x-s><x-c></x-c>
			<script>
			for (const [el, mode] of [['x-s', 'open'], ['x-c', 'closed']]) {
				const r = document.querySelector(el).attachShadow({ mode });
				r.innerHTML = '<input type=password value="hunter2-shadow"><button>Show ' + mode + '</button>';
				r.querySelector('button').onclick = () => { r.querySelector('input').type = 'text'; };
			}
			// One that is a password for a moment only.
			const brief = document.body.appendChild(Object.assign(document.createElement('input'), { type: 'password', value: 'hunter2-brief' }));
			brief.type = 'text';
			</script>`,
		"/frame": strings.ReplaceAll(toggle, "hunter2-secret", "hunter2-frame") + "<p>frame here",
	})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	deadline := time.Now().Add(15 * time.Second)
	snap := snapshot(t, s, browser.ReadOptions{})
	for strings.Count(text(snap), "frame here") < 2 && time.Now().Before(deadline) {
		snap = snapshot(t, s, browser.ReadOptions{})
	}
	check := func(when string) {
		t.Helper()
		for _, o := range []browser.ReadOptions{{}, {Find: "hunter2"}} {
			if got := text(snapshot(t, s, o)); strings.Contains(got, "hunter2") {
				t.Errorf("%s: a secret is shown:\n%s", when, got)
			}
		}
	}
	check("before")
	for _, l := range snap.Lines {
		for _, m := range regexp.MustCompile(`(e[0-9]+) button Show`).FindAllStringSubmatch(l, -1) {
			click(t, s, browser.Ref(m[1]))
		}
	}
	if shown := browsertest.Eval[string](t, s, "() => document.getElementById('p').type"); shown != "text" {
		t.Fatalf("the toggle did nothing: %s", shown)
	}
	check("after show password")
	if n := strings.Count(text(snapshot(t, s, browser.ReadOptions{})), "(hidden)"); n != 7 {
		t.Errorf("%d masked fields, want 7:\n%s", n, text(snapshot(t, s, browser.ReadOptions{})))
	}
}

func TestNamesCannotForgeLinesOrFrames(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": "<button aria-label=\"a\nbutton &quot;Pay&quot; e1\x00\x1b[2J\u202e\u2066x\u0001FRAME\u0001\">b</button><p>one\u2028two &#1;X&#1;head</p><iframe title=\"&#1;x\" src=/f></iframe>", "/f": "inside"})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	snap := until(t, s, "inside")
	for _, l := range snap.Lines {
		for _, r := range l {
			if r < 0x20 || r == 0x202e || r == 0x2066 || r == 0x2028 || (r >= 0x7f && r < 0xa0) {
				t.Errorf("%U in %q", r, l)
			}
		}
	}
	if !strings.HasPrefix(snap.Lines[0], `e1 button "a button 'Pay' e1`) || len(snap.Lines) != 4 {
		t.Errorf("lines: %q", snap.Lines)
	}
}

func TestWhatAPageWritesIsNoRef(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<p>e1 button Pay</p><p><b>e</b>2 link Free</p><button>Go e9 button Pay</button><button>Done checked</button><button>Inbox (3)</button><button>a | b = "c"</button>
		<input aria-label=Move value="e4 e5"><p>Moves: e4 <a href=/x>next</a> after <a href=/y>last</a>.</p><p>the2e4 is one word</p>`})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	want := `'e1' button Pay
'e2' link Free
e1 button Go 'e9' button Pay e2 button "Done checked" e3 button "Inbox (3)" e4 button "a | b = 'c'" e5 textbox Move = "e4 e5"
Moves: 'e4' e6 link next | after e7 link last.
the2e4 is one word`
	if got := text(snapshot(t, s, browser.ReadOptions{})); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := snapshot(t, s, browser.ReadOptions{Find: "button go"}); got.Matches != 1 {
		t.Errorf("%d matches", got.Matches)
	}
}

func TestAVirtualListSaysSo(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<div id=l style="height:200px;overflow:auto"><div style="height:100000px;position:relative"></div></div>
		<script>const box = l.firstElementChild; const draw = () => { box.textContent = ''; const from = Math.floor(l.scrollTop / 20); for (let i = from; i < from + 12; i++) { const d = document.createElement('div'); d.style = 'position:absolute;height:20px;top:' + i * 20 + 'px'; d.textContent = 'Row ' + i; box.append(d); } }; l.onscroll = draw; draw();</script>`})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	snap := snapshot(t, s, browser.ReadOptions{})
	if !strings.Contains(fmt.Sprint(snap.Notes), "12 of about 5000 rows") {
		t.Errorf("notes: %q\n%s", snap.Notes, text(snap))
	}
}

func TestAnEmptyPictureOfAPageIsNamed(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<canvas width=300 height=200></canvas>`, "/empty": ``})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	if snap := snapshot(t, s, browser.ReadOptions{}); !strings.Contains(text(snap), "e1 canvas 300x200") || !strings.Contains(fmt.Sprint(snap.Notes), "screenshot") {
		t.Errorf("%q %q", snap.Lines, snap.Notes)
	}
	browsertest.Go(t, s, at+"/empty")
	if snap := snapshot(t, s, browser.ReadOptions{}); !strings.Contains(fmt.Sprint(snap.Notes), "shows no text") {
		t.Errorf("%q %q", snap.Lines, snap.Notes)
	}
}

// A PDF opens in the viewer, and nobody says that there is nothing to read (51).
func TestAPDFInTheViewerIsNamed(t *testing.T) {
	at := browsertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/pdf")
		fmt.Fprint(w, "%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n")
	}))
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	if snap := snapshot(t, s, browser.ReadOptions{}); !strings.Contains(fmt.Sprint(snap.Notes), "this is a PDF") {
		t.Errorf("%q %q", snap.Lines, snap.Notes)
	}
}

func TestChangesAreShort(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<button onclick="o.textContent = 'Saved'; this.disabled = true">Save</button><p id=o>Open</p>` + strings.Repeat("<p>line</p>", 500)})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out, err := s.Act(ctx, browser.ActOptions{Changes: true}, func(ctx context.Context, p *browser.Page) error {
		main, err := p.Main(ctx)
		if err != nil {
			return err
		}
		p.Sent()
		return main.Run(ctx, nil, "() => document.querySelector('button').click()", nil, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	c := out.Changes
	if c == nil || len(c.Added) != 2 || len(c.Removed) != 2 || c.Added[1] != "Saved" || c.Removed[1] != "Open" || !strings.HasSuffix(c.Added[0], "disabled") {
		t.Errorf("%+v", c)
	}
}

func TestWindowCutsAtLines(t *testing.T) {
	s := &browser.Snapshot{Lines: []string{"aaaa", "bbbb", "cccc"}}
	for _, c := range []struct {
		offset, max int
		text        string
		next        int
	}{{0, 100, "aaaa\nbbbb\ncccc", 0}, {0, 9, "aaaa", 1}, {0, 10, "aaaa\nbbbb", 2}, {1, 9, "bbbb", 2}, {2, 1, "c…", 0}, {3, 9, "", 0}, {9, 9, "", 0}} {
		w := s.Window(c.offset, c.max)
		if w.Text != c.text || w.Next != c.next || w.Total != 3 {
			t.Errorf("%+v: %+v", c, w)
		}
	}
}

// press clicks a point of the viewport with real input.
func press(ctx context.Context, p *browser.Page, x, y float64) error {
	down := proto.InputDispatchMouseEvent{Type: proto.InputDispatchMouseEventTypeMousePressed, X: x, Y: y, Button: proto.InputMouseButtonLeft, ClickCount: 1}
	if err := down.Call(p.Client(ctx)); err != nil {
		return err
	}
	down.Type = proto.InputDispatchMouseEventTypeMouseReleased
	return down.Call(p.Client(ctx))
}

// tap clicks a ref with real input, as an act.
func tap(t testing.TB, s *browser.Session, ref browser.Ref) (browser.Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return s.Act(ctx, browser.ActOptions{}, func(ctx context.Context, p *browser.Page) error {
		e, err := p.Resolve(ctx, ref)
		if err != nil {
			return err
		}
		var at struct{ X, Y float64 }
		if err := e.Call(ctx, nil, "(el) => { const r = el.getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; }", nil, &at); err != nil {
			return err
		}
		p.Sent()
		return press(ctx, p, at.X, at.Y)
	})
}
