package act_test

import (
	"context"
	"strings"
	"testing"

	"parley/browser"
	"parley/browser/act"
	"parley/browser/browsertest"
	"parley/browser/locate"
)

func typing(l locate.Locator, value string) func(ctx context.Context, p *browser.Page) (act.Done, error) {
	return func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return act.Type(ctx, p, l, value, act.TypeOptions{Wait: short * 5})
	}
}

// value is what a field holds, as the page sees it.
func value(t *testing.T, s *browser.Session, selector string) string {
	t.Helper()
	return browsertest.Eval[string](t, s, "() => { const e = document.querySelector('"+selector+"'); return e.value ?? e.innerText; }")
}

func TestTypedTextIsReadBack(t *testing.T) {
	long := strings.Repeat("Words and more words. ", 40)
	s := page(t, logs+`<input id=a value="old text"><textarea id=b>old</textarea><div id=c contenteditable=true>old <b>bold</b></div><label for=d>Mail</label><input id=d type=email>
		<input id=e type=number value=3><input id=f type=password value=secret oninput="log('p')"><input id=g maxlength=300>`)
	for _, c := range []struct{ l, in, want string }{
		{"#a", "Grüße, 世界 😀!", "Grüße, 世界 😀!"}, {"#b", "two\nlines", "two\nlines"}, {"#c", "one\ntwo", "one\ntwo"}, {"#d", "a@b.example", "a@b.example"},
		{"#e", "42", "42"}, {"#f", "hunter2", "hunter2"}, {"#b", long, long}, {"#a", "", ""}, {"#c", "", ""},
	} {
		must(t, s, typing(css(c.l), c.in))
		if got := strings.TrimSuffix(value(t, s, c.l), "\n"); got != c.want {
			t.Errorf("%s holds %q, want %q", c.l, got, c.want)
		}
	}
	must(t, s, func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return act.Type(ctx, p, text("Mail"), ".org", act.TypeOptions{Append: true})
	})
	if got := value(t, s, "#d"); got != "a@b.example.org" {
		t.Error(got)
	}
}

func TestAFieldThatHoldsSomethingElseIsSaidToDoSo(t *testing.T) {
	s := page(t, `<input id=a maxlength=5><input id=b oninput="this.value = 'mine'"><input id=c readonly><input id=d type=checkbox><button id=e>B</button><input id=f oninput="const d = this.value.replace(/\D/g, ''); this.value = '(' + d.slice(0, 3) + ') ' + d.slice(3)">`)
	if got := fails(t, s, act.ErrNotTyped, typing(css("#a"), "1234567")); !strings.HasPrefix(got, "the field takes 5 characters at most") {
		t.Error(got)
	}
	fails(t, s, act.ErrNotTyped, typing(css("#b"), "yours"))
	fails(t, s, act.ErrNotReady, typing(css("#c"), "x"))
	fails(t, s, act.ErrUnfit, typing(css("#d"), "x"))
	fails(t, s, act.ErrUnfit, typing(css("#e"), "x"))
	if d := must(t, s, typing(css("#f"), "5551234")); d.Value != "(555) 1234" {
		t.Error(d)
	}
}

func TestDatesTimesColoursAndSlidersTakeWhatPeopleWrite(t *testing.T) {
	s := page(t, `<html lang=de>`+logs+`<input id=date type=date onchange="log(this.value)"><input id=time type=time><input id=dt type=datetime-local><input id=month type=month><input id=week type=week><input id=color type=color><input id=range type=range min=0 max=100 step=5>
		<div id=slider style='height:20px' role=slider tabindex=0 aria-valuenow=3 aria-valuemin=0 aria-valuemax=10 onkeydown="const d = {ArrowRight: 1, ArrowLeft: -1}[event.key] || 0; this.setAttribute('aria-valuenow', Number(this.getAttribute('aria-valuenow')) + d)"></div>`)
	for _, c := range []struct{ id, in, want string }{
		{"#date", "24.12.2026", "2026-12-24"}, {"#date", "3/4/2026", "2026-04-03"}, {"#date", "1. März 2027", "2027-03-01"}, {"#date", "2026-01-02", "2026-01-02"}, {"#time", "2:30 pm", "14:30"}, {"#dt", "24.12.2026 14:30", "2026-12-24T14:30"},
		{"#month", "Dezember 2026", "2026-12"}, {"#week", "2026-W52", "2026-W52"}, {"#color", "red", "#ff0000"}, {"#range", "35", "35"},
	} {
		must(t, s, typing(css(c.id), c.in))
		if got := value(t, s, c.id); got != c.want {
			t.Errorf("%s: %q gave %q, want %q", c.id, c.in, got, c.want)
		}
	}
	fails(t, s, act.ErrUnfit, typing(css("#date"), "soon"))
	fails(t, s, act.ErrNotTyped, typing(css("#range"), "33"))
	must(t, s, typing(css("#slider"), "8"))
	if got := browsertest.Eval[string](t, s, "() => document.getElementById('slider').getAttribute('aria-valuenow')"); got != "8" {
		t.Error(got)
	}
	says(t, s, "2026-12-24 2026-04-03 2027-03-01 2026-01-02")
}

func TestListsNativeAndOfThePagesOwn(t *testing.T) {
	s := page(t, logs+`<select id=n onchange="log(this.value)"><option value=de>Germany</option><option value=fr>France</option><option value=gf>French Guiana</option><option value=x disabled>Atlantis</option></select>
		<select id=m multiple><option>A</option><option>B</option><option>C</option></select><select id=h style="display:none"><option>1<option>2</select>
		<div id=cb role=combobox tabindex=0 aria-haspopup=listbox aria-controls=lb onclick="lb.hidden = !lb.hidden">Choose</div><ul id=lb role=listbox hidden style="height:60px;overflow:auto"></ul>
		<div id=plain onclick="pop.style.display='block'" style="cursor:pointer">Pick a fruit</div><div id=pop style="display:none"><div class=o>Apple</div><div class=o>Pear</div></div>
		<div id=ta><input id=q role=combobox aria-autocomplete=list><div id=sug></div></div>
		<script>
		for (let i = 0; i < 50; i++) { const li = document.createElement('li'); li.role = 'option'; li.textContent = 'Item ' + i; li.style.height = '20px'; li.onclick = () => { cb.textContent = li.textContent; lb.hidden = true; log(li.textContent) }; lb.append(li) }
		document.querySelectorAll('.o').forEach((o) => o.onclick = () => { plain.textContent = o.textContent; pop.style.display = 'none' });
		q.oninput = () => { sug.innerHTML = ''; setTimeout(() => { for (const c of ['Berlin', 'Bern', 'Bonn'].filter((c) => q.value && c.toLowerCase().startsWith(q.value.toLowerCase()))) { const d = document.createElement('div'); d.role = 'option'; d.textContent = c; d.onmousedown = (e) => { e.preventDefault(); q.value = c; sug.innerHTML = '' }; sug.append(d) } }, 150) };
		</script>`)
	sel := func(l locate.Locator, options ...string) func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return func(ctx context.Context, p *browser.Page) (act.Done, error) {
			return act.Select(ctx, p, l, act.SelectOptions{Options: options})
		}
	}
	for _, c := range []struct {
		l       locate.Locator
		options []string
		value   string
	}{
		{css("#n"), []string{"France"}, "France"}, {css("#n"), []string{"gf"}, "French Guiana"}, {css("#n"), []string{"german"}, "Germany"}, {css("#m"), []string{"A", "C"}, "A, C"}, {css("#h"), []string{"2"}, "2"},
		{css("#cb"), []string{"Item 37"}, "Item 37"}, {css("#plain"), []string{"Pear"}, "Pear"}, {css("#q"), []string{"Bern"}, "Bern"},
	} {
		if d := must(t, s, sel(c.l, c.options...)); d.Value != c.value {
			t.Errorf("%s %q: %+v", c.l, c.options, d)
		}
	}
	if got := value(t, s, "#q"); got != "Bern" {
		t.Error(got)
	}
	says(t, s, "fr gf de Item 37")
	must(t, s, func(ctx context.Context, p *browser.Page) (act.Done, error) {
		last := -2
		return act.Select(ctx, p, css("#n"), act.SelectOptions{Index: &last})
	})
	must(t, s, click(css("#n option >> nth=0"))) // a click on an option is a choice
	if got := value(t, s, "#n"); got != "de" {
		t.Error(got)
	}
	if d := must(t, s, click(css("#n"))); len(d.Options) != 4 || d.Note == "" {
		t.Error(d)
	}
	fails(t, s, act.ErrNoOption, sel(css("#n"), "Spain"))
	fails(t, s, act.ErrNoOption, sel(css("#n"), "fran gui"))
	fails(t, s, act.ErrNotReady, sel(css("#n"), "Atlantis"))
	fails(t, s, act.ErrUnfit, sel(css("#n"), "France", "Germany"))
	if got := fails(t, s, act.ErrNoOption, sel(css("#cb"), "Item 99")); !strings.Contains(got, "no single option") {
		t.Error(got)
	}
}

func TestKeysGoToTheElementOrToTheFocus(t *testing.T) {
	s := page(t, logs+`<input id=a onkeydown="log('a:' + event.key)"><button id=b onkeydown="log('b:' + event.key)">B</button>`)
	pressing := func(l locate.Locator, chords ...string) {
		t.Helper()
		must(t, s, func(ctx context.Context, p *browser.Page) (act.Done, error) { return act.Press(ctx, p, l, chords, 0) })
	}
	pressing(css("#a"), "x", "Shift+y", "Tab")
	pressing(locate.Locator{}, "Escape")
	says(t, s, "a:x a:Shift a:Y a:Tab b:Escape")
	if got := value(t, s, "#a"); got != "xY" {
		t.Error(got)
	}
}
