package act_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/act"
	"parley/browser/browsertest"
	"parley/browser/locate"
)

// What people complain of in tools like this one, each with a page of its own. The numbers are those of
// docs/browser-complaints.md.

func site(t *testing.T, pages map[string]string) *browser.Session {
	t.Helper()
	s := session(t)
	browsertest.Go(t, s, browsertest.Site(t, pages))
	return s
}

// refOf gives the ref that a read would show for an element.
func refOf(t *testing.T, s *browser.Session, l locate.Locator) locate.Locator {
	t.Helper()
	var r browser.Ref
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
		o, err := act.Find(ctx, p, l, act.FindOptions{Hidden: true, Wait: 2 * time.Second})
		if err != nil {
			return err
		}
		r, err = o.Ref(ctx)
		return err
	})
	return locate.Locator{Ref: string(r)}
}

// 4: text and element checks did not look into iframes although the click did.
func TestWaitingLooksIntoFramesAsClickingDoes(t *testing.T) {
	s := site(t, map[string]string{"/": `<iframe src="{other}/in"></iframe>`, "/in": `<p>Inside</p><button>Go</button><script>setTimeout(() => document.body.append('Later'), 300); setTimeout(() => document.querySelector('p').remove(), 600)</script>`})
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
		for _, l := range []locate.Locator{text("Later"), css("button"), role("button", "go")} {
			if _, err := act.Wait(ctx, p, l, act.Visible, 10*time.Second); err != nil {
				t.Errorf("%s: %v", l, err)
			}
		}
		if _, err := act.Wait(ctx, p, text("Inside"), act.Hidden, 10*time.Second); err != nil {
			t.Error(err)
		}
		return nil
	})
}

// 7, 8, 9: clicks worked in frames, everything else failed there; frames of other sites panicked.
func TestEveryActWorksInAFrameOfAnotherSite(t *testing.T) {
	s := site(t, map[string]string{
		"/": logs + `<script>onmessage = (e) => log(e.data)</script><iframe src="{other}/in" width=600 height=400></iframe>`,
		"/in": `<script>const say = (s) => parent.postMessage(s, '*')</script><input id=i onkeydown="if (event.key === 'Enter') say('typed:' + this.value)"><select onchange="say(this.value)"><option>a<option>b</select><p id=h onmouseenter="say('hover')">hover</p>
			<div id=sc style="height:50px;overflow:auto" onscroll="if (this.scrollTop > 50 && !this.done) { this.done = 1; say('scrolled') }"><div style="height:500px">tall</div></div>
			<div id=d draggable=true ondragstart="event.dataTransfer.setData('text/plain', 'x')">drag</div><div id=e style="height:40px;border:1px solid" ondragover="event.preventDefault()" ondrop="event.preventDefault(); say('drop')">goal</div>`,
	})
	must(t, s, func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return act.Type(ctx, p, css("#i"), "in frame", act.TypeOptions{Submit: true})
	})
	must(t, s, func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return act.Select(ctx, p, css("select"), act.SelectOptions{Options: []string{"b"}})
	})
	must(t, s, func(ctx context.Context, p *browser.Page) (act.Done, error) { return act.Hover(ctx, p, css("#h"), 0) })
	scroll(t, s, css("#sc"), act.ScrollOptions{Down: 100})
	must(t, s, drag(css("#d"), act.DragOptions{To: css("#e")}))
	says(t, s, "typed:in frame b hover scrolled drop")
}

// 11, 12: a page that is wholly in shadow roots looked empty.
func TestAPageWhollyInShadowRootsIsWorked(t *testing.T) {
	s := page(t, logs+`<x-app></x-app><script>const a = document.querySelector('x-app').attachShadow({mode:'open'}); a.innerHTML = '<x-form></x-form>';
		const f = a.querySelector('x-form').attachShadow({mode:'open'}); f.innerHTML = '<label>City <input id=c></label><button>Save it</button>'; f.querySelector('button').onclick = () => log(f.querySelector('input').value)</script>`)
	must(t, s, typing(text("City"), "Bern"))
	must(t, s, click(role("button", "save it")))
	says(t, s, "Bern")
}

// 13: "inside a shadow DOM: not supported", said of plain elements too.
func TestPlainElementsBesideAClosedRootAreOrdinary(t *testing.T) {
	s := page(t, logs+`<x-c></x-c><button onclick="log('plain')">Plain</button><script>document.querySelector('x-c').attachShadow({mode:'closed'}).innerHTML = '<p>closed</p>'</script>`)
	must(t, s, click(text("Plain")))
	says(t, s, "plain")
}

// 14: a frame inside a closed shadow root has no element that a script can find.
func TestAFrameInsideAClosedShadowRootIsClicked(t *testing.T) {
	s := site(t, map[string]string{
		"/":   logs + `<script>onmessage = (e) => log(e.data)</script><x-c></x-c><script>document.querySelector('x-c').attachShadow({mode:'closed'}).innerHTML = '<iframe src="{other}/in"></iframe>'</script>`,
		"/in": `<button onclick="parent.postMessage('closed frame', '*')">In there</button>`,
	})
	must(t, s, click(role("button", "in there")))
	says(t, s, "closed frame")
}

// 34: every ref was stale after any act.
func TestARefLivesThroughActs(t *testing.T) {
	s := page(t, logs+`<button onclick="log('a')">A</button><button onclick="log('b'); document.body.append(document.createElement('hr'))">B</button>`)
	a, b := refOf(t, s, text("A")), refOf(t, s, text("B"))
	for range 2 {
		must(t, s, click(b))
		must(t, s, click(a))
	}
	says(t, s, "b a b a")
}

// 36: a click on a stale ref was a silent success.
func TestAStaleRefIsNoSuccess(t *testing.T) {
	s := page(t, logs+`<div id=box><button onclick="log('old')">Old</button></div><button id=swap onclick="box.innerHTML = '<button onclick=&quot;log(\'new\')&quot;>Old</button>'">Swap</button>`)
	old := refOf(t, s, text("Old"))
	must(t, s, click(css("#swap")))
	_, err := do(t, s, func(ctx context.Context, p *browser.Page) error {
		_, err := act.Click(ctx, p, old, act.ClickOptions{})
		return err
	})
	if !errors.Is(err, browser.ErrStale) {
		t.Error(err)
	}
	says(t, s, "")
}

// 37: the page was looked at as it was before a single-page application changed it.
func TestWhatAnApplicationChangedIsSeenAtOnce(t *testing.T) {
	s := page(t, logs+`<main><button onclick="history.pushState({}, '', '/two'); document.querySelector('main').innerHTML = '<button>Step two</button>'; document.querySelector('main button').onclick = () => log('two')">Step one</button></main>`)
	must(t, s, click(text("Step one")))
	must(t, s, click(text("Step two")))
	says(t, s, "two")
}

// 38: "Execution context was destroyed" after a click that navigates.
func TestASubmitThatNavigatesIsNoError(t *testing.T) {
	s := site(t, map[string]string{"/": `<form action="/done"><input name=q></form>`, "/done": `<title>done</title>`})
	out, err := do(t, s, func(ctx context.Context, p *browser.Page) error {
		_, err := act.Type(ctx, p, css("input"), "x", act.TypeOptions{Submit: true})
		return err
	})
	if err != nil || out.Title != "done" || !strings.HasSuffix(out.URL, "/done?q=x") {
		t.Error(out, err)
	}
}

// 39: icon buttons without a name could not be addressed.
func TestIconButtonsAreNamedByWhatStandsBesideThem(t *testing.T) {
	row := func(name string) string {
		return fmt.Sprintf(`<li><span>%s</span> <button onclick="log('%.1s:edit')"><svg width=16 height=16><rect width=16 height=16 /></svg></button><button onclick="log('%.1s:bin')"><svg width=16 height=16><circle r=8 /></svg></button></li>`, name, name, name)
	}
	s := page(t, logs+`<ul>`+row("Ada")+row("Bob")+row("Eve")+`</ul><p>Total</p>`)
	one, minus := 1, -1
	for _, l := range []locate.Locator{{Role: "button", After: "Bob"}, {Role: "button", After: "Bob", Nth: &one}, {Role: "button", Before: "Total"}, {Role: "button", Nth: &minus}, {Selector: `li:has-text("Ada") >> role=button >> nth=1`}} {
		must(t, s, click(l))
	}
	says(t, s, "B:edit B:bin E:bin E:bin A:bin")
}

// 58: a click on an option failed.
func TestAClickOnAnOptionSelectsIt(t *testing.T) {
	s := page(t, logs+`<select onchange="log(this.value)"><option>One<option>Two<option>Three</select>`)
	must(t, s, click(role("option", "two")))
	must(t, s, click(text("Three")))
	must(t, s, click(refOf(t, s, css("option >> nth=0"))))
	says(t, s, "Two Three One")
}

// 59: filling an input with the role of a combobox searched for options and failed.
func TestAComboboxInputTakesText(t *testing.T) {
	s := page(t, `<input role=combobox aria-expanded=false id=c>`)
	must(t, s, typing(role("combobox", ""), "free text"))
	if got := value(t, s, "#c"); got != "free text" {
		t.Error(got)
	}
}

// 60: filling appended, and the second field's text landed in the first.
func TestASecondFieldsTextDoesNotLandInTheFirst(t *testing.T) {
	s := page(t, `<input id=a value=before><input id=b value=before onfocus="if (!this.n) { this.n = 1; setTimeout(() => a.focus(), 0) }">`)
	list := []act.Filled{}
	if _, err := do(t, s, func(ctx context.Context, p *browser.Page) (err error) {
		list, err = act.Fill(ctx, p, []act.Field{{Field: css("#a"), Value: "first"}, {Field: css("#b"), Value: "second"}}, false, 0)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	a, b := value(t, s, "#a"), value(t, s, "#b")
	told := list[0].Err != nil || list[1].Err != nil || list[1].Uncertain != ""
	if (a != "first" || b != "second") && !told {
		t.Errorf("a holds %q, b holds %q, and nothing was said", a, b)
	}
}

// 61: lists of the page's own: drawn elsewhere in the page, only as far as they are scrolled, filled after a moment.
func TestACustomListIsOpenedScrolledAndChosenFrom(t *testing.T) {
	s := page(t, logs+`<style>#pop { position: absolute; top: 80px; left: 8px; height: 90px; width: 200px; overflow: auto; background: #fff } .row { height: 30px }</style>
		<div tabindex=0 id=box style="border:1px solid;width:200px">Select country <i>v</i></div><script>
		const all = Array.from({length: 195}, (_, i) => 'Country ' + i);
		box.onclick = () => setTimeout(() => { if (window.pop) return; const d = document.createElement('div'); d.id = 'pop'; const inner = document.createElement('div'); inner.style.cssText = 'position:relative;height:' + 30 * all.length + 'px'; d.append(inner);
			const draw = () => { inner.innerHTML = ''; const from = Math.floor(d.scrollTop / 30); for (let i = from; i < Math.min(from + 5, all.length); i++) { const r = document.createElement('div'); r.className = 'row'; r.style.cssText = 'position:absolute;top:' + i * 30 + 'px'; r.textContent = all[i]; r.onclick = () => { box.firstChild.data = all[i]; d.remove(); log(all[i]) }; inner.append(r) } };
			d.onscroll = draw; document.body.append(d); draw() }, 200)</script>`)
	d := must(t, s, func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return act.Select(ctx, p, css("#box"), act.SelectOptions{Options: []string{"Country 150"}})
	})
	if d.Value != "Country 150" {
		t.Error(d)
	}
	says(t, s, "Country 150")
}

// 62: filling dates and times left them empty; local forms were "malformed".
func TestAnApplicationSeesADateThatWasFilledIn(t *testing.T) {
	// It keeps its own copy, as frameworks do, and puts it back when no event tells of a change.
	s := page(t, logs+`<input type=date id=d><script>let model = ''; const d = document.getElementById('d'); d.addEventListener('input', () => model = d.value); d.addEventListener('change', () => log(d.value)); setInterval(() => { d.value = model }, 20)</script>`)
	must(t, s, typing(css("#d"), "24.12.2026"))
	must(t, s, typing(css("#d"), "2027-01-02"))
	says(t, s, "2026-12-24 2027-01-02")
}

// 63: editors said success and the text was gone.
func TestAnEditorKeepsWhatWasTyped(t *testing.T) {
	// Like the editors of today it takes what the keys say, keeps its own document, and draws that.
	s := page(t, logs+`<div id=ed contenteditable=true role=textbox aria-label=Message style="min-height:40px;border:1px solid"></div><script>let doc = '';
		const draw = () => { ed.innerHTML = ''; for (const l of doc.split('\n')) { const p = document.createElement('p'); const s = document.createElement('span'); s.textContent = l || '\u200b'; p.append(s); ed.append(p) } const r = document.createRange(); r.selectNodeContents(ed.lastChild); r.collapse(false); getSelection().removeAllRanges(); getSelection().addRange(r) };
		ed.addEventListener('beforeinput', (e) => { e.preventDefault(); if (!e.isTrusted) return; if (e.inputType === 'insertText') doc += e.data; else if (/insert(Paragraph|LineBreak)/.test(e.inputType)) doc += '\n'; else if (e.inputType.startsWith('delete')) doc = getSelection().isCollapsed ? doc.slice(0, -1) : ''; draw() });</script>`)
	must(t, s, typing(role("textbox", "message"), "Hello there"))
	must(t, s, typing(role("textbox", "message"), "Second try\nwith two lines"))
	if got := browsertest.Eval[string](t, s, "() => [...document.querySelectorAll('#ed p')].map((p) => p.textContent).join('|')"); got != "Second try|with two lines" {
		t.Error(got)
	}
}

func TestAnEditorThatThrowsTheTextAwayIsFoundOut(t *testing.T) {
	s := page(t, `<div id=ed contenteditable=true style="min-height:40px"></div><script>ed.addEventListener('input', () => setTimeout(() => { ed.innerHTML = '' }, 0))</script>`)
	fails(t, s, act.ErrNotTyped, typing(css("#ed"), "gone"))
}

// 64: an overlay: five seconds of nothing, "not found", or worse "clicked".
func TestAnOverlayIsNamed(t *testing.T) {
	s := page(t, logs+`<button onclick="log('under')">Buy</button><div id=consent class="banner wide" style="position:fixed;inset:0;background:#0008"><button onclick="log('ok'); consent.remove()">Accept</button></div>`)
	if got := fails(t, s, act.ErrNotReady, clickSoon(text("Buy"))); !strings.Contains(got, `<div id="consent" class="banner wide">, which would get the click`) {
		t.Error(got)
	}
	must(t, s, click(text("Accept")))
	must(t, s, click(text("Buy")))
	says(t, s, "ok under")
}

// 65: the drop of HTML5 drag and drop never came. TestDraggingWithThePagesOwnDragAndDrop drags plain things; this sorts.
func TestACardIsDraggedToAnotherList(t *testing.T) {
	s := page(t, logs+`<style>ul { width: 120px; min-height: 80px; border: 1px solid; float: left; margin: 10px } li { padding: 5px }</style><ul id=todo><li draggable=true id=x>Card</li></ul><ul id=done></ul><script>
		let on = null; x.addEventListener('dragstart', (e) => { on = x; e.dataTransfer.effectAllowed = 'move'; e.dataTransfer.setData('text/html', x.outerHTML) });
		done.addEventListener('dragenter', (e) => e.preventDefault()); done.addEventListener('dragover', (e) => { e.preventDefault(); e.dataTransfer.dropEffect = 'move' }); done.addEventListener('drop', (e) => { e.preventDefault(); done.append(on); log('moved') })</script>`)
	must(t, s, drag(text("Card"), act.DragOptions{To: css("#done")}))
	says(t, s, "moved")
}

// 66: no tool to scroll; lists that are drawn as far as they show could not be reached.
func TestALongListIsScrolledToItsRow(t *testing.T) {
	s := page(t, logs+`<div id=v role=grid aria-rowcount=5000 style="height:200px;overflow:auto"><div id=in style="position:relative;height:100000px"></div></div><script>
		const draw = () => { const from = Math.floor(v.scrollTop / 20); let h = ''; for (let i = from; i < from + 12; i++) h += '<div role=row style="position:absolute;height:20px;top:' + i * 20 + 'px"><button onclick="log(' + i + ')">Row ' + i + '</button></div>'; document.getElementById('in').innerHTML = h }; v.onscroll = draw; draw()</script>`)
	d := scroll(t, s, css("#v"), act.ScrollOptions{Down: 60000})
	if d.Total != 5000 || d.Rows != 12 || d.Top != 60000 {
		t.Errorf("%+v", d)
	}
	must(t, s, click(locate.Locator{Selector: `text="Row 3004"`}))
	says(t, s, "3004")
}

// 67: on a canvas there is nothing to click.
func TestACanvasIsClickedAtAPoint(t *testing.T) {
	s := page(t, logs+`<div style="height:1500px"></div><canvas id=c width=300 height=200 style="border:5px solid" onclick="log(Math.round(event.offsetX) + ',' + Math.round(event.offsetY))"></canvas>`)
	for _, at := range [][]float64{{15, 25}, {205, 155}} {
		must(t, s, func(ctx context.Context, p *browser.Page) (act.Done, error) {
			return act.Click(ctx, p, css("#c"), act.ClickOptions{At: at})
		})
	}
	says(t, s, "10,20 200,150")
}

// 68: the caller's own time-out was ignored.
func TestTheCallersOwnTimeIsKept(t *testing.T) {
	s := page(t, `<p>nothing`)
	began := time.Now()
	fails(t, s, act.ErrMissing, func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return act.Click(ctx, p, text("never there"), act.ClickOptions{Wait: short})
	})
	if took := time.Since(began); took > 8*short {
		t.Errorf("took %v for a wait of %v", took, short)
	}
}

// 69: waiting for a stable page never came back, on a page with an image that never loads or one that always moves.
func TestAnImageThatNeverLoadsAndAPageThatNeverRestsHoldNothingUp(t *testing.T) {
	release := make(chan struct{})
	s := session(t)
	at := browsertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, logs+`<img src=/hang><p id=clock></p><button onclick="log('done')">Do it</button><script>setInterval(() => { clock.textContent = Math.random() }, 5)</script>`)
	}))
	t.Cleanup(func() { close(release) })
	browsertest.Go(t, s, at)
	began := time.Now()
	must(t, s, click(text("Do it")))
	t.Logf("answered after %v", time.Since(began).Round(time.Millisecond))
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	says(t, s, "done")
}
