package browser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/browsertest"
)

// What people complain about in the browser tools that there are, where it concerns seeing, sessions, dialogs, tabs and
// downloads: a page and a test for each, named after what went wrong.

// page gives one session's page with a document.
func page(t *testing.T, pages map[string]string) (*browser.Session, string) {
	t.Helper()
	at := browsertest.Site(t, pages)
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	return s, at
}

func has(t *testing.T, snap *browser.Snapshot, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text(snap)+"\n"+strings.Join(snap.Notes, "\n"), w) {
			t.Errorf("%q is missing in:\n%s\n%q", w, text(snap), snap.Notes)
		}
	}
}

func TestFramesKeepTheirContentWhateverTheirStyle(t *testing.T) {
	s, _ := page(t, map[string]string{
		"/": `<iframe style="cursor:pointer" src=/a></iframe><div style="width:0;height:0"><iframe style="width:0;height:0;overflow:visible" src=/b></iframe></div>
			<x-host></x-host><script>document.querySelector('x-host').attachShadow({mode:'closed'}).innerHTML = '<iframe src="{other}/c"></iframe>'</script>`,
		"/a": `<button>Pointer frame</button>`, "/b": `<button>Zero frame</button>`, "/c": `<button>Frame in a closed root</button>`,
	})
	has(t, until(t, s, "Frame in a closed root"), `button Pointer frame`, `button Zero frame`)
}

func TestAFrameThatHangsIsNamedAndTheRestIsRead(t *testing.T) {
	s, _ := page(t, map[string]string{
		"/": `<p>before</p><iframe title=bad src="{other}/hang"></iframe><p>after</p>`, "/hang": `<script>setTimeout(() => { for (;;); }, 300)</script>hanging`,
	})
	snap := until(t, s, "could not be read")
	has(t, snap, "before", "after", `iframe "bad"`, "it does not answer")
}

func TestAPageWhollyInShadowRootsIsNotEmpty(t *testing.T) {
	s, _ := page(t, map[string]string{"/": `<app-root></app-root><script>
		customElements.define('app-root', class extends HTMLElement { constructor() { super(); this.attachShadow({mode:'open'}).innerHTML = '<app-view><span slot=x>slotted</span></app-view>'; } });
		customElements.define('app-view', class extends HTMLElement { constructor() { super(); this.attachShadow({mode:'closed'}).innerHTML = '<h1>App</h1><button>Go</button><slot name=x></slot>'; } });
		</script>`})
	has(t, until(t, s, "Go"), "# App", `button Go`, "slotted")
}

func TestALargePageIsCutAtABudgetWithAWayToTheRest(t *testing.T) {
	var b strings.Builder
	b.WriteString("<table>")
	for i := range 2400 {
		fmt.Fprintf(&b, "<tr><td><a href=/%d>Item %d</a></td><td><button>Buy %d</button></td></tr>", i, i, i)
	}
	s, _ := page(t, map[string]string{"/": b.String() + "</table>"})
	began := time.Now()
	snap := snapshot(t, s, browser.ReadOptions{})
	t.Logf("2,400 rows: %d characters after %v", len(text(snap)), time.Since(began))
	if len(snap.Lines) != 2401 || len(text(snap)) > 150_000 {
		t.Errorf("%d lines, %d characters", len(snap.Lines), len(text(snap)))
	}
	var got []string
	for next := 0; ; {
		w := snap.Window(next, 20_000)
		if len(w.Text) > 20_000 {
			t.Fatalf("a window of %d", len(w.Text))
		}
		got = append(got, w.Text)
		if next = w.Next; next == 0 {
			break
		}
	}
	if strings.Join(got, "\n") != text(snap) {
		t.Error("the windows are not the whole")
	}
	found := snapshot(t, s, browser.ReadOptions{Find: "item 2399"})
	if found.Matches != 1 || len(text(found)) > 200 {
		t.Errorf("find: %d matches, %q", found.Matches, text(found))
	}
	if over := snapshot(t, s, browser.ReadOptions{Depth: 1}); len(over.Lines) > 3 {
		t.Errorf("depth 1: %d lines", len(over.Lines))
	}
	// A part by ref.
	ref := refOf(t, snap, "table")
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
		e, err := p.Resolve(ctx, ref)
		if err != nil {
			return err
		}
		part, err := p.Snapshot(ctx, browser.ReadOptions{From: &e.Object})
		if err == nil && len(part.Lines) != 2401 {
			t.Errorf("by ref: %d lines", len(part.Lines))
		}
		return err
	})
}

func TestADialogWhileAPageLoadsReturnsAtOnce(t *testing.T) {
	s, at := page(t, map[string]string{"/": "start", "/alert": `<script>alert('first')</script><p>loaded`})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	began := time.Now()
	out, err := s.Navigate(ctx, at+"/alert", browser.ActOptions{})
	if err != nil || out.Dialog == nil || out.Dialog.Message != "first" || time.Since(began) > 10*time.Second {
		t.Fatalf("%+v %v after %v", out, err, time.Since(began))
	}
	out, err = s.AnswerAndSee(ctx, "", true, "", false)
	if err != nil || out.Dialog != nil {
		t.Fatalf("%+v %v", out, err)
	}
	has(t, snapshot(t, s, browser.ReadOptions{}), "loaded")
}

func TestADialogFromATimerDoesNotFreezeTheCallsAfterIt(t *testing.T) {
	s, _ := page(t, map[string]string{"/": `<script>setTimeout(() => { document.title = prompt('Name?', 'Bob') }, 500)</script>x`})
	eventually(t, "the dialog opens", func() bool { return s.OpenDialog() != nil })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	began := time.Now()
	var met *browser.DialogError
	if _, err := s.Reload(ctx, browser.ActOptions{}); !errors.As(err, &met) || !met.Before || met.Dialog.Default != "Bob" {
		t.Errorf("%v", err)
	}
	if len(s.TabList(ctx)) != 1 || time.Since(began) > 5*time.Second {
		t.Errorf("tabs after %v", time.Since(began))
	}
	if _, err := s.Answer(ctx, "", true, "Eve", false); err != nil {
		t.Fatal(err)
	}
	if got := browsertest.Eval[string](t, s, "() => document.title"); got != "Eve" {
		t.Errorf("title %q", got)
	}
}

func TestADialogBeforeLeavingIsAnsweredAndTheNavigationGoesOn(t *testing.T) {
	s, at := page(t, map[string]string{"/": `<button>x</button><script>addEventListener('beforeunload', (e) => { e.preventDefault(); e.returnValue = 'x'; })</script>`, "/two": "two"})
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
		// Browsers ask only after a person touched the page.
		return press(ctx, p, 20, 20)
	})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out, err := s.Navigate(ctx, at+"/two", browser.ActOptions{})
	if err != nil || out.Dialog == nil || out.Dialog.Kind != "beforeunload" {
		t.Fatalf("%+v %v", out, err)
	}
	if out, err = s.AnswerAndSee(ctx, "", true, "", false); err != nil || out.Dialog != nil {
		t.Fatalf("%+v %v", out, err)
	}
	until(t, s, "two")
}

func TestRefsOutliveActsAndDieWithTheirElement(t *testing.T) {
	s, at := page(t, map[string]string{"/": `<button id=a onclick="document.body.append(Object.assign(document.createElement('p'), {textContent: 'more'})); b.textContent = 'Changed'">A</button><button id=b>B</button>`, "/two": `two`})
	snap := snapshot(t, s, browser.ReadOptions{})
	a, b := refOf(t, snap, `button A`), refOf(t, snap, `button B`)
	click(t, s, a)
	again := until(t, s, "more")
	if refOf(t, again, `button A`) != a || refOf(t, again, `button Changed`) != b {
		t.Errorf("refs changed: %q", again.Lines)
	}
	browsertest.Eval[any](t, s, "() => { document.getElementById('b').replaceWith(Object.assign(document.createElement('button'), {textContent: 'Changed'})) }")
	resolve := func(ref browser.Ref) (err error) {
		browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
			_, err = p.Resolve(ctx, ref)
			return nil
		})
		return err
	}
	if err := resolve(b); !errors.Is(err, browser.ErrStale) {
		t.Errorf("a replaced element: %v", err)
	}
	browsertest.Go(t, s, at+"/two")
	if err := resolve(a); !errors.Is(err, browser.ErrStale) {
		t.Errorf("an element of another page: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := s.History(ctx, -1, browser.ActOptions{}); err != nil {
		t.Fatal(err)
	}
	// Back again the element lives (kept by the browser) or is gone: never is it another.
	if err := resolve(a); err != nil && !errors.Is(err, browser.ErrStale) {
		t.Errorf("after back: %v", err)
	}
	if fresh := refOf(t, snapshot(t, s, browser.ReadOptions{}), `button A`); resolve(fresh) != nil {
		t.Errorf("a fresh ref after back does not work")
	}
}

func TestAClickThatNavigatesIsNoErrorOfItsOwn(t *testing.T) {
	s, _ := page(t, map[string]string{"/": `<a href=/two>x</a>`, "/two": `<title>two</title>two`})
	out, err := script(t, s, "() => document.querySelector('a').click()")
	if err != nil || out.Title != "two" || !out.Navigated || out.Status != 200 || out.Loading {
		t.Errorf("%+v %v", out, err)
	}
}

func TestDownloadsAndEmptyAnswersAreSuccessesThatSaySo(t *testing.T) {
	at := browsertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/file":
			w.Header().Set("Content-Disposition", `attachment; filename="report.csv"`)
			fmt.Fprint(w, "a,b")
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>start</title><a id=f href=/file>File</a><a id=e href=/empty>Empty</a>`)
		}
	}))
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	file := func(out browser.Outcome, err error) {
		t.Helper()
		if err != nil || len(out.Downloads) != 1 || out.Downloads[0].Name != "report.csv" || out.Downloads[0].State != "refused" || out.Navigated || out.Title != "start" {
			t.Errorf("%+v %v", out, err)
		}
	}
	file(script(t, s, "() => document.getElementById('f').click()"))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	file(s.Navigate(ctx, at+"/file", browser.ActOptions{}))
	out, err := s.Navigate(ctx, at+"/empty", browser.ActOptions{})
	if err != nil || !out.NoContent || out.Navigated || out.Title != "start" {
		t.Errorf("204: %+v %v", out, err)
	}
	out, err = script(t, s, "() => document.getElementById('e').click()")
	if err != nil || !out.NoContent || out.Navigated {
		t.Errorf("204 by a link: %+v %v", out, err)
	}
	has(t, snapshot(t, s, browser.ReadOptions{}), `link File`)
}

func TestATabThatACallOpensIsNamedAndCurrentAndOneThatClosesItselfStrandsNothing(t *testing.T) {
	s, _ := page(t, map[string]string{
		"/":      `<title>first</title><button onclick="window.open('/two')">Open</button>`,
		"/two":   `<title>second</title><button onclick="window.close()">Close</button>`,
		"/later": `x`,
	})
	ref := refOf(t, snapshot(t, s, browser.ReadOptions{}), "Open")
	out, err := tap(t, s, ref)
	if err != nil || out.Tab != "t2" || out.Title != "second" || !strings.Contains(fmt.Sprint(out.Notes), "t2 is now current") {
		t.Fatalf("%+v %v", out, err)
	}
	// A ref of the first tab is not taken for one of the second.
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var other *browser.OtherTabError
	if err := s.Do(ctx, func(ctx context.Context, p *browser.Page) error { _, err := p.Resolve(ctx, ref); return err }); !errors.As(err, &other) || other.Tab != "t1" {
		t.Errorf("a ref of another tab: %v", err)
	}
	out, err = tap(t, s, refOf(t, snapshot(t, s, browser.ReadOptions{}), "Close"))
	if err != nil || out.Tab != "t1" || !strings.Contains(fmt.Sprint(out.Notes), "t2 is closed") {
		t.Errorf("a tab that closes itself: %+v %v", out, err)
	}
	has(t, snapshot(t, s, browser.ReadOptions{}), `button Open`)
	// A tab that comes at another time is named and stays behind.
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error { return press(ctx, p, 5, 300) })
	browsertest.Eval[any](t, s, "() => { const s = document.createElement('script'); s.textContent = 'setTimeout(() => window.open(\"/later\"), 700)'; document.body.append(s); }")
	eventually(t, "the late tab", func() bool { return len(s.Tabs()) == 2 })
	if s.Current().ID() != "t1" || !strings.Contains(fmt.Sprint(s.TakeNotes()), "was opened by the page") {
		t.Error("the late tab became current, or nobody says that it is there")
	}
	if err := s.CloseTab(ctx, "t1"); err != nil || s.Current() == nil || s.Current().ID() != "t3" {
		t.Errorf("closing the current tab: %v", err)
	}
	if err := s.CloseTab(ctx, "t3"); err != nil {
		t.Error(err)
	}
	if err := s.Do(ctx, func(context.Context, *browser.Page) error { return nil }); err != nil {
		t.Errorf("a session without a tab: %v", err)
	}
}

func TestAPageWithAnImageThatNeverComesIsReadAtOnce(t *testing.T) {
	at := browsertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/never.png" {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<p>text</p><img src=/never.png>`)
	}))
	s := browsertest.Open(t)
	began := time.Now()
	browsertest.Go(t, s, at)
	// A picture right after, too.
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
		_, err := p.Picture(ctx, browser.PictureOptions{})
		return err
	})
	has(t, snapshot(t, s, browser.ReadOptions{}), "text")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestPicturesHaveTheScaleOfThePageAndAnEdgeAtMost(t *testing.T) {
	s, _ := page(t, map[string]string{"/": `<body style="margin:0"><div id=d style="margin:50px 40px;width:100px;height:60px;background:#f00"></div><input id=p type=password value="WWWWWWWW" style="font:40px monospace"><div style="height:5000px;background:linear-gradient(red,blue)"></div>`})
	shot := func(o browser.PictureOptions) *browser.Picture {
		t.Helper()
		var pic *browser.Picture
		browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) (err error) {
			if o.Of != nil {
				main, err := p.Main(ctx)
				if err != nil {
					return err
				}
				found, err := main.Objects(ctx, kit, "(arg, kit) => kit.find(arg)", "#d")
				if err != nil {
					return err
				}
				o.Of = &found[0]
			}
			pic, err = p.Picture(ctx, o)
			return err
		})
		return pic
	}
	view := shot(browser.PictureOptions{})
	if view.Scale != 1 || view.X != 0 || view.Y != 0 {
		t.Errorf("%+v", view.Scale)
	}
	img, err := jpeg.Decode(bytes.NewReader(view.Data))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != view.Width || b.Dy() != view.Height {
		t.Errorf("%v, said %dx%d", b, view.Width, view.Height)
	}
	if r, g, _, _ := img.At(90, 80).RGBA(); r < 0xd000 || g > 0x3000 {
		t.Errorf("a point in the picture is not that point of the page: %x %x", r, g)
	}
	full := shot(browser.PictureOptions{Full: true, MaxEdge: 800, Format: "webp"})
	if full.Height != 800 || full.Scale >= 1 || full.MIME != "image/webp" {
		t.Errorf("full: %dx%d at %v", full.Width, full.Height, full.Scale)
	}
	el := shot(browser.PictureOptions{Of: &browser.Object{}, Format: "png"})
	if el.Width != 100 || el.Height != 60 || el.X != 40 || el.Y != 50 {
		t.Errorf("element: %+v", el)
	}
	// What a password field shows after "show password" is drawn as dots.
	browsertest.Eval[any](t, s, "() => { document.getElementById('p').type = 'text' }")
	after := shot(browser.PictureOptions{Format: "png"})
	browsertest.Eval[any](t, s, "() => { document.getElementById('p').value = 'iiiiiiii' }")
	other := shot(browser.PictureOptions{Format: "png"})
	if !bytes.Equal(after.Data, other.Data) {
		t.Error("a picture shows what a password field holds")
	}
}

func TestTheConsoleIsToldOnRequestAndErrorsAreCounted(t *testing.T) {
	s, _ := page(t, map[string]string{"/": `<button onclick="console.error('bad', 1); console.log('fine'); setTimeout(() => { throw new Error('thrown') })">x</button>`})
	out, err := tap(t, s, refOf(t, snapshot(t, s, browser.ReadOptions{}), `button x`))
	if err != nil || out.Errors != 2 {
		t.Errorf("%+v %v", out, err)
	}
	lines, more := s.Current().Console("error", 0, 10)
	if len(lines) != 2 || more != 0 || lines[0].Text != "bad 1" || !strings.Contains(lines[1].Text, "thrown") {
		t.Errorf("%+v", lines)
	}
	if all, _ := s.Current().Console("", 0, 10); len(all) != 3 {
		t.Errorf("%+v", all)
	}
}

func TestAStepThatChangesANamedAppIsSeenAtOnce(t *testing.T) {
	s, _ := page(t, map[string]string{"/": `<button onclick="history.pushState({}, '', '/next'); fetch('/data').then(() => { document.body.innerHTML = '<h1>Next</h1>' })">Go</button>`, "/data": "x"})
	out, err := tap(t, s, refOf(t, snapshot(t, s, browser.ReadOptions{}), "Go"))
	if err != nil || !strings.HasSuffix(out.URL, "/next") || out.Navigated {
		t.Errorf("%+v %v", out, err)
	}
	if got := text(snapshot(t, s, browser.ReadOptions{})); got != "# Next" {
		t.Errorf("the answer came before the page was quiet: %q", got)
	}
}

func TestQuietSeesWhatChromiumSees(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<script>
		let noticed = ''; const e = new Error(); Object.defineProperty(e, 'stack', { get() { noticed = 'noticed'; return ''; } }); console.debug(e);
		addEventListener('load', () => setTimeout(() => { document.body.append('seen:' + noticed + ' '); }, 200)); </script><input type=password value=hunter2><button>Go</button>`})
	m := browsertest.Manager(t, nil)
	s := browsertest.OpenIn(t, m, browser.Want{Engine: "quiet"})
	browsertest.Go(t, s, at)
	snap := until(t, s, "seen:")
	has(t, snap, `button Go`, "(hidden)")
	if strings.Contains(text(snap), "noticed") || strings.Contains(text(snap), "hunter2") {
		t.Errorf("the page noticed that it is watched:\n%s", text(snap))
	}
}
