package act_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/browser"
	"parley/browser/act"
	"parley/browser/browsertest"
	"parley/browser/locate"
)

func drag(l locate.Locator, o act.DragOptions) func(ctx context.Context, p *browser.Page) (act.Done, error) {
	return func(ctx context.Context, p *browser.Page) (act.Done, error) { return act.Drag(ctx, p, l, o) }
}

const mouseDrag = `<div id=box style="position:absolute;z-index:1;left:100px;top:100px;width:40px;height:40px;background:red">x</div><div id=goal style="position:absolute;left:400px;top:300px;width:80px;height:80px;background:#ddd">goal</div>
	<script>let on = null; box.onmousedown = (e) => { on = [e.clientX - box.offsetLeft, e.clientY - box.offsetTop]; e.preventDefault() };
	onmousemove = (e) => { if (on) { box.style.left = e.clientX - on[0] + 'px'; box.style.top = e.clientY - on[1] + 'px' } };
	onmouseup = (e) => { if (on) { on = null; const g = goal.getBoundingClientRect(); if (e.clientX > g.left && e.clientX < g.right && e.clientY > g.top && e.clientY < g.bottom) log('in') } }</script>`

func TestDraggingWithTheMouse(t *testing.T) {
	s := page(t, logs+mouseDrag)
	must(t, s, drag(css("#box"), act.DragOptions{To: css("#goal")}))
	says(t, s, "in")
	must(t, s, drag(css("#box"), act.DragOptions{By: []float64{-200, 50}}))
	if got := browsertest.Eval[string](t, s, "() => { const r = document.getElementById('box').getBoundingClientRect(); return Math.round(r.left) + ',' + Math.round(r.top); }"); got != "220,370" {
		t.Error(got)
	}
}

const html5Drag = `<style>.c { width: 150px; height: 60px; border: 1px solid; margin: 30px }</style><div class=c id=a draggable=true>drag me</div><div class=c id=b>drop here</div><div class=c id=c>not here</div>
	<script>a.ondragstart = (e) => { e.dataTransfer.setData('text/plain', 'payload'); log('start') }; b.ondragover = (e) => e.preventDefault(); b.ondrop = (e) => { e.preventDefault(); log('drop:' + e.dataTransfer.getData('text/plain') + ':' + e.isTrusted) }; a.ondragend = () => log('end')</script>`

func TestDraggingWithThePagesOwnDragAndDrop(t *testing.T) {
	s := page(t, logs+html5Drag)
	must(t, s, drag(css("#a"), act.DragOptions{To: css("#b")}))
	says(t, s, "start drop:payload:true end")
	var d act.Done
	if _, err := do(t, s, func(ctx context.Context, p *browser.Page) (err error) {
		d, err = act.Drag(ctx, p, css("#a"), act.DragOptions{To: css("#c")})
		return err
	}); err != nil || d.Uncertain == "" {
		t.Errorf("dropped where nothing is taken: %+v %v", d, err)
	}
}

func TestAHiddenCheckboxIsWorkedThroughItsLabel(t *testing.T) {
	s := page(t, logs+`<label><input id=c type=checkbox style="display:none" onchange="log(this.checked)"> Fancy</label>`)
	for _, v := range []string{"true", "true", "false"} {
		must(t, s, func(ctx context.Context, p *browser.Page) (act.Done, error) {
			list, err := act.Fill(ctx, p, []act.Field{{Field: css("#c"), Value: v}}, false, short)
			if err == nil {
				err = list[0].Err
			}
			return act.Done{}, err
		})
	}
	says(t, s, "true false")
}

func scroll(t *testing.T, s *browser.Session, l locate.Locator, o act.ScrollOptions) act.Scrolled {
	t.Helper()
	var d act.Scrolled
	if _, err := do(t, s, func(ctx context.Context, p *browser.Page) (err error) {
		d, err = act.Scroll(ctx, p, l, o)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestScrollingTellsWhereItLed(t *testing.T) {
	s := page(t, logs+`<div id=list style="height:200px;width:300px;overflow:auto"><div style="height:1000px">tall</div></div><p style="height:3000px">page</p><b id=far>far</b>
		<div id=inf style="height:100px;overflow:auto"></div><script>let n = 0; const more = () => { for (let i = 0; i < 20; i++) { const p = document.createElement('p'); p.textContent = 'row ' + n++; inf.append(p) } }; more();
		inf.onscroll = () => { if (n < 60 && inf.scrollTop + inf.clientHeight > inf.scrollHeight - 30) setTimeout(more, 150) }</script>`)
	if d := scroll(t, s, locate.Locator{}, act.ScrollOptions{Down: 400}); d.Top != 400 || !d.Moved || d.AtEnd || d.What != "the page" {
		t.Errorf("%+v", d)
	}
	if d := scroll(t, s, locate.Locator{}, act.ScrollOptions{To: "top"}); d.Top != 0 || !d.AtEnd {
		t.Errorf("%+v", d)
	}
	if d := scroll(t, s, css("#list"), act.ScrollOptions{Pages: 1}); d.Top != 180 || d.What != `<div id="list">` {
		t.Errorf("%+v", d)
	}
	if d := scroll(t, s, css("#list"), act.ScrollOptions{To: "bottom"}); d.Top != 800 || !d.AtEnd {
		t.Errorf("%+v", d)
	}
	if d := scroll(t, s, css("#far"), act.ScrollOptions{IntoView: true}); d.Top == 0 || d.Uncertain != "" {
		t.Errorf("%+v", d)
	}
	grown := 0
	for range 6 {
		d := scroll(t, s, css("#inf"), act.ScrollOptions{To: "bottom"})
		if d.AtEnd {
			break
		}
		if d.Grew {
			grown++
		}
	}
	if grown != 2 {
		t.Errorf("the list grew %d times", grown)
	}
}

func TestAFormIsFilledAndReadAgain(t *testing.T) {
	s := page(t, logs+`<form onsubmit="log(new URLSearchParams(new FormData(this)).toString()); return false"><label>Name <input name=n></label><label>Born <input name=b type=date></label>
		<label><input type=checkbox name=ok> I agree</label><label><input type=radio name=r value=1> One</label><label><input type=radio name=r value=2> Two</label>
		<select name=c aria-label=Country><option value="">-<option value=de>Germany</select><label>Last <input name=l></label><button>Send</button></form>
		<form id=evil><input id=x><input id=y oninput="x.value = ''"></form>`)
	fill := func(submit bool, fields ...act.Field) (list []act.Filled, err error) {
		_, err = do(t, s, func(ctx context.Context, p *browser.Page) (err error) {
			list, err = act.Fill(ctx, p, fields, submit, short)
			return err
		})
		return list, err
	}
	list, err := fill(true, act.Field{Field: role("textbox", "name"), Value: "Ada"}, act.Field{Field: text("Born"), Value: "12/10/1815"}, act.Field{Field: role("checkbox", "agree"), Value: "true"},
		act.Field{Field: text("Two"), Value: "yes"}, act.Field{Field: role("combobox", "country"), Value: "Germany"}, act.Field{Field: text("Last"), Value: "Lovelace"})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range list {
		if f.Err != nil || f.Uncertain != "" {
			t.Errorf("field %d: %+v", i, f)
		}
	}
	says(t, s, "n=Ada&b=1815-12-10&ok=on&r=2&c=de&l=Lovelace")
	list, err = fill(true, act.Field{Field: css("#x"), Value: "one"}, act.Field{Field: css("#nope"), Value: "x"}, act.Field{Field: css("#y"), Value: "two"})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(list[0].Err, act.ErrNotTyped) || !errors.Is(list[1].Err, act.ErrMissing) || list[2].Err != nil {
		t.Error(list)
	}
}

func TestPagesCannotForgeOrReplaceOurHelpers(t *testing.T) {
	s := page(t, logs+`<button id=real onclick="log('clicked')">Real</button><input id=in><script>
		const no = () => { throw new Error('replaced') };
		for (const k of ['addEventListener', 'removeEventListener', 'dispatchEvent']) EventTarget.prototype[k] = no;
		Element.prototype.getBoundingClientRect = () => new DOMRect(0, 0, 0, 0); Document.prototype.elementFromPoint = () => null; Element.prototype.checkVisibility = () => false;
		HTMLElement.prototype.focus = no; Map = WeakMap = Promise = undefined; window.requestAnimationFrame = no; window.setTimeout = no; Event.prototype.composedPath = no;
		Object.defineProperty(Event.prototype, 'isTrusted', { get: () => false });
		</script>`)
	must(t, s, click(role("button", "real")))
	says(t, s, "clicked")
	must(t, s, typing(css("#in"), "typed"))
	if got := value(t, s, "#in"); got != "typed" {
		t.Error(got)
	}
}

func TestAForgedClickIsNoClick(t *testing.T) {
	// The page moves the button away under the press and forges a click on it.
	s := page(t, logs+`<button id=b style="position:absolute;left:50px;top:50px">Go</button><div id=d style="position:absolute;left:40px;top:40px;width:100px;height:60px;display:none"></div><script>
		b.addEventListener('pointermove', () => { d.style.display = 'block'; b.dispatchEvent(new MouseEvent('mousedown', {bubbles: true})); b.click() })</script>`)
	fails(t, s, act.ErrNotReady, func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return act.Click(ctx, p, css("#b"), act.ClickOptions{Wait: 2 * short})
	})
}

func TestManyElementsAreClickedInTime(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "<div><a href=#>row %d</a><button onclick=\"log('%d')\">Edit %d</button></div>", i, i, i)
	}
	s := page(t, logs+b.String())
	must(t, s, click(role("button", "edit 2999")))
	says(t, s, "2999")
}
