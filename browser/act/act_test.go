package act_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/act"
	"parley/browser/browsertest"
	"parley/browser/locate"
)

// page shows HTML and gives its session.
func page(t *testing.T, html string) *browser.Session {
	t.Helper()
	s := session(t)
	browsertest.Go(t, s, browsertest.Site(t, map[string]string{"/": html}))
	return s
}

func role(role, name string) locate.Locator { return locate.Locator{Role: role, Name: name} }
func css(s string) locate.Locator           { return locate.Locator{Selector: s} }
func text(s string) locate.Locator          { return locate.Locator{Text: s} }

// short is how long tests wait for what never comes.
const short = 600 * time.Millisecond

// do runs an act the way tools do.
func do(t *testing.T, s *browser.Session, f func(ctx context.Context, p *browser.Page) error) (browser.Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	return s.Act(ctx, browser.ActOptions{}, f)
}

// must is an act that works.
func must(t *testing.T, s *browser.Session, f func(ctx context.Context, p *browser.Page) (act.Done, error)) act.Done {
	t.Helper()
	var d act.Done
	_, err := do(t, s, func(ctx context.Context, p *browser.Page) (err error) {
		d, err = f(ctx, p)
		return err
	})
	if err != nil {
		var e *act.Error
		if errors.As(err, &e) {
			t.Log(e.Shown)
		}
		t.Fatal(err)
	}
	if d.Uncertain != "" {
		t.Fatalf("uncertain: %s", d.Uncertain)
	}
	return d
}

// fails is an act that cannot be done; it gives the sentence.
func fails(t *testing.T, s *browser.Session, kind error, f func(ctx context.Context, p *browser.Page) (act.Done, error)) string {
	t.Helper()
	_, err := do(t, s, func(ctx context.Context, p *browser.Page) (err error) {
		_, err = f(ctx, p)
		return err
	})
	if !errors.Is(err, kind) {
		t.Fatalf("got %v, want %v", err, kind)
	}
	return err.Error()
}

func click(l locate.Locator) func(ctx context.Context, p *browser.Page) (act.Done, error) {
	return func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return act.Click(ctx, p, l, act.ClickOptions{})
	}
}

func clickSoon(l locate.Locator) func(ctx context.Context, p *browser.Page) (act.Done, error) {
	return func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return act.Click(ctx, p, l, act.ClickOptions{Wait: short})
	}
}

// says waits until the page's #log has a text: what the page itself saw.
func says(t *testing.T, s *browser.Session, want string) {
	t.Helper()
	var got string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(30 * time.Millisecond) {
		browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
			main, err := p.Main(ctx)
			if err != nil {
				return err
			}
			return main.Run(ctx, nil, "() => (document.getElementById('log') || document.body).textContent", nil, &got)
		})
		if strings.TrimSpace(got) == want {
			return
		}
	}
	t.Fatalf("the page saw %q, want %q", got, want)
}

const logs = `<p id=log></p><script>const log = (s) => document.getElementById('log').append(s + ' ')</script>`

func TestAClickIsReceived(t *testing.T) {
	s := page(t, logs+`<div style="height:3000px"></div><button onclick="log('far:' + event.isTrusted)">Far below</button>`)
	must(t, s, click(role("button", "far below")))
	says(t, s, "far:true")
}

func TestACoveredButtonIsNotClicked(t *testing.T) {
	s := page(t, logs+`<button id=b onclick="log('no')">Pay</button><div class="tooltip-mask" style="position:fixed;inset:0" onclick="log('mask')"></div>`)
	if got := fails(t, s, act.ErrNotReady, clickSoon(css("#b"))); got != `the element did not become clickable within 0.6 s: it is covered by <div class="tooltip-mask">, which would get the click` {
		t.Error(got)
	}
	says(t, s, "")
}

func TestADisabledButtonIsNotClicked(t *testing.T) {
	s := page(t, logs+`<button disabled>Pay</button>`)
	if got := fails(t, s, act.ErrNotReady, clickSoon(text("Pay"))); got != `the element did not become clickable within 0.6 s: it is disabled` {
		t.Error(got)
	}
}

func TestWhatBecomesClickableIsWaitedFor(t *testing.T) {
	s := page(t, logs+`<button id=b disabled onclick="log('got it')">Pay</button><div id=m style="position:fixed;inset:0"></div>
		<script>setTimeout(() => { b.disabled = false }, 200); setTimeout(() => m.remove(), 400)</script>`)
	must(t, s, click(role("button", "pay")))
	says(t, s, "got it")
}

func TestAButtonThatMovesAwayIsNotMissed(t *testing.T) {
	s := page(t, logs+`<style>button { position: absolute; left: 0 } .go { animation: a 1s linear } @keyframes a { from { left: 0 } to { left: 600px } }</style>
		<button class=go onclick="log('hit')">Run</button><script>document.querySelector('button').onanimationend = (e) => { e.target.style.left = '600px'; e.target.className = '' }</script>`)
	must(t, s, click(role("button", "run")))
	says(t, s, "hit")
}

func TestAPressThatWouldMeetSomethingElseIsHeldBack(t *testing.T) {
	// The page puts a trap where the button is, as soon as the mouse is over it.
	s := page(t, logs+`<button id=b style="position:absolute;left:50px;top:100px" onclick="log('hit')">Safe</button><button id=trap style="position:absolute;left:50px;top:300px" onclick="log('trap')" onmousedown="log('trapdown')">Buy</button>
		<script>let n = 0; b.onmousemove = () => { if (n++) return; trap.style.top = '100px'; b.style.top = '300px'; }</script>`)
	must(t, s, click(role("button", "safe")))
	says(t, s, "hit")
}

func TestAClickThatTurnsToAnotherDocumentIsReceived(t *testing.T) {
	s := session(t)
	browsertest.Go(t, s, browsertest.Site(t, map[string]string{"/": `<a href="/next">Next</a>`, "/next": `<title>next</title><p id=log>here</p>`}))
	out, err := do(t, s, func(ctx context.Context, p *browser.Page) error {
		d, err := act.Click(ctx, p, text("Next"), act.ClickOptions{})
		if d.Uncertain != "" {
			t.Error(d.Uncertain)
		}
		return err
	})
	if err != nil || !out.Navigated || out.Title != "next" {
		t.Fatal(out, err)
	}
}

func TestClicksInFramesShadowRootsAndClosedOnes(t *testing.T) {
	s := session(t)
	inner := logs + `<button onclick="parent.postMessage('%', '*')">%</button>`
	browsertest.Go(t, s, browsertest.Site(t, map[string]string{
		"/": logs + `<script>onmessage = (e) => log(e.data)</script><div style="height:900px"></div><iframe src="{other}/far" style="transform:scale(.8);padding:7px;border:3px solid"></iframe><iframe src="/near"></iframe>
			<x-open></x-open><x-closed></x-closed>
			<script>document.querySelector('x-open').attachShadow({mode:'open'}).innerHTML = '<button onclick="log(\'open\')">Open one</button>';
			document.querySelector('x-closed').attachShadow({mode:'closed'}).innerHTML = '<button onclick="log(\'closed\')">Closed one</button>'</script>`,
		"/far":  strings.ReplaceAll(inner, "%", "Far") + `<div style="height:2000px"></div><button onclick="parent.postMessage('Deep','*')">Deep</button>`,
		"/near": strings.ReplaceAll(inner, "%", "Near"),
	}))
	for i, name := range []string{"Far", "Near", "Open one", "Closed one", "Deep"} {
		began := time.Now()
		must(t, s, click(role("button", name)))
		t.Log(name, time.Since(began).Round(time.Millisecond))
		says(t, s, strings.Join([]string{"Far", "Near", "open", "closed", "Deep"}[:i+1], " "))
	}
}

func TestHoverOpensMenus(t *testing.T) {
	s := page(t, logs+`<style>nav ul { display: none } nav:hover ul { display: block }</style><nav><span>Menu</span><ul><li><button onclick="log('item')">Item</button></li></ul></nav>`)
	must(t, s, func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return act.Hover(ctx, p, text("Menu"), 0)
	})
	must(t, s, click(text("Item")))
	says(t, s, "item")
}

func TestDoubleRightAndModifiedClicks(t *testing.T) {
	s := page(t, logs+`<button ondblclick="log('double')" oncontextmenu="log('right'); event.preventDefault()" onclick="if (event.shiftKey) log('shift')">B</button>`)
	for _, o := range []act.ClickOptions{{Count: 2}, {Button: "right"}, {Modifiers: []string{"Shift"}}} {
		must(t, s, func(ctx context.Context, p *browser.Page) (act.Done, error) {
			return act.Click(ctx, p, role("button", "B"), o)
		})
	}
	says(t, s, "double right shift")
}

func TestMissingElementsAreExplained(t *testing.T) {
	s := page(t, `<div style="display:none"><button>Share</button></div><p>Other</p>`)
	if got := fails(t, s, act.ErrMissing, clickSoon(role("button", "nope"))); got != `nothing matches role button "nope" within 0.6 s` {
		t.Error(got)
	}
	if got := fails(t, s, act.ErrMissing, clickSoon(text("Share"))); got != "text \"Share\" matched 1 element, not visible within 0.6 s\n  (it is <button>, inside a display: none <div>)" {
		t.Error(got)
	}
	var e *locate.Error
	_, err := do(t, s, func(ctx context.Context, p *browser.Page) error {
		_, err := act.Click(ctx, p, css("a[b=]"), act.ClickOptions{})
		return err
	})
	if !errors.As(err, &e) || e.Argument != "selector" {
		t.Error(err)
	}
}
