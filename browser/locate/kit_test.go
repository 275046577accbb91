package locate

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
	"testing"
	"time"

	"parley/browser/cdp"
	"parley/browser/chromium"
	"parley/internal/proc"
	"parley/testkit/need"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

var shared struct {
	once    sync.Once
	browser *chromium.Browser
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.browser != nil {
		if err := shared.browser.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// open shows a page that is the given HTML.
func open(t *testing.T, html string) *cdp.Page {
	t.Helper()
	need.Browser(t)
	shared.once.Do(func() {
		var a *proc.Account
		if os.Geteuid() == 0 {
			if a, shared.err = proc.Lookup("parley"); shared.err != nil {
				return
			}
		}
		shared.browser, shared.err = chromium.Start(context.Background(), chromium.Options{Account: a, Headless: true, Log: quiet})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html>\n"+html)
	}))
	t.Cleanup(server.Close)
	p, err := cdp.Open(ctx, shared.browser, cdp.Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Navigate(ctx, server.URL); err != nil {
		t.Fatal(err)
	}
	return p
}

// chosen is what choose answers, with the element's id.
type chosen struct {
	Miss
	ID string `json:"id"`
}

const chooseScript = `({q, skip}, _) => {
	const r = (globalThis.test = globalThis.test || %s).choose(q, skip);
	return { ...r, el: undefined, option: undefined, first: undefined, id: r.el ? r.el.id || r.el.localName : '' };
}`

func choose(t *testing.T, p *cdp.Page, l Locator) chosen {
	t.Helper()
	c, err := tryChoose(t, p, l)
	if err != nil {
		t.Fatalf("%+v: %v", l, err)
	}
	return c
}

func tryChoose(t *testing.T, p *cdp.Page, l Locator) (c chosen, err error) {
	t.Helper()
	q, err := l.Compile()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = p.Run(ctx, fmt.Sprintf(chooseScript, Kit), map[string]any{"q": q, "skip": 0}, &c)
	var s *cdp.ScriptError
	if errors.As(err, &s) {
		err = errors.New(s.Text)
	}
	return c, err
}

// finds checks which element each locator means.
func finds(t *testing.T, html string, want map[string]Locator) {
	t.Helper()
	p := open(t, html)
	for id, l := range want {
		id, _, _ = strings.Cut(id, "|") // what comes behind only keeps keys apart
		if c := choose(t, p, l); c.ID != id {
			t.Errorf("%s nth=%v after=%q before=%q: found %q (%+v), want %q", l, l.Nth, l.After, l.Before, c.ID, c.Miss, id)
		}
	}
}

func TestTheFirstVisibleMatchIsMeant(t *testing.T) {
	finds(t, `<div style="display:none"><button id=no1>Save</button></div>
		<button id=no2 style="visibility:hidden">Save</button><button id=no3 style="width:0;height:0;padding:0;border:0;overflow:hidden">Save</button>
		<details><summary id=sum>More</summary><button id=no4>Save</button></details>
		<button id=yes>Save</button><button id=second>Save as</button>`, map[string]Locator{
		"yes|1":    {Role: "button", Name: "save"},
		"yes|2":    {Text: "SAVE"},
		"yes|3":    {Selector: "button"},
		"yes|4":    {Selector: "//button"},
		"yes|5":    {Selector: "text=Save"},
		"yes|6":    {Selector: "button:has-text('save')"},
		"second|1": {Role: "button", Name: "save", Nth: number(1)},
		"second|2": {Role: "button", Nth: number(-1)},
		"second|3": {Selector: `text="Save as"`},
		"sum":      {Text: "More"},
	})
}

func TestAHiddenMatchIsSaidToBeHidden(t *testing.T) {
	p := open(t, `<div id=d class="a b" style="display:none"><button>Share</button><button>Share</button></div>
		<p id=v style="visibility:hidden"><a href=x>Go</a></p><details id=det><summary>s</summary><i>inner</i></details><em style="display:none">none</em><span></span>`)
	for _, c := range []struct {
		l    Locator
		want string
	}{
		{Locator{Text: "Share"}, "text \"Share\" matched 2 elements, none visible within 15 s\n  (the first is <button>, inside a display: none <div id=\"d\" class=\"a b\">)"},
		{Locator{Role: "link"}, "role link matched 1 element, not visible within 15 s\n  (it is <a>, inside a visibility: hidden <p id=\"v\">)"},
		{Locator{Selector: "i"}, "selector i matched 1 element, not visible within 15 s\n  (it is <i>, inside a closed <details id=\"det\">)"},
		{Locator{Selector: "em"}, "selector em matched 1 element, not visible within 15 s\n  (it is <em>, with display: none)"},
		{Locator{Selector: "span"}, "selector span matched 1 element, not visible within 15 s\n  (it is <span>, 0 by 0 pixels in size)"},
		{Locator{Selector: "b"}, "nothing matches selector b within 15 s"},
	} {
		got := choose(t, p, c.l)
		q, _ := c.l.Compile()
		if text := q.Explain(got.Miss, 15*time.Second); text != c.want {
			t.Errorf("got  %s\nwant %s", text, c.want)
		}
	}
}

func TestPageOrderRunsThroughShadowRoots(t *testing.T) {
	finds(t, `<p id=top>Share</p><x-bar id=host><button id=slotted>slotted</button></x-bar><button id=last>last</button><x-in id=deep></x-in>
		<script>
		host.attachShadow({mode:'open'}).innerHTML = '<button id=a>a</button><slot></slot><button id=b>b</button><p id=anchor2>Inner text</p><button id=c>c</button>';
		deep.attachShadow({mode:'open'}).innerHTML = '<x-d id=dd></x-d>';
		deep.shadowRoot.getElementById('dd').attachShadow({mode:'open'}).innerHTML = '<input id=f placeholder="Your name"><div class=menu><a id=l href=x>Deep link</a></div>';
		</script>`, map[string]Locator{
		"a|1":       {Role: "button", After: "Share"},
		"slotted|1": {Role: "button", After: "Share", Nth: number(1)},
		"b|1":       {Role: "button", After: "Share", Nth: number(2)},
		"c|1":       {Role: "button", After: "Share", Nth: number(3)},
		"last|1":    {Role: "button", After: "Share", Nth: number(-1)},
		"b|2":       {Role: "button", Before: "Inner text"},
		"slotted|2": {Role: "button", Before: "Inner text", Nth: number(1)},
		"a|2":       {Role: "button", Before: "Inner text", Nth: number(-1)},
		"c|2":       {Role: "button", After: "Inner text"},
		"last|2":    {Role: "button", Nth: number(4)},
		"f":         {Role: "textbox", Name: "your name"},
		"l|1":       {Text: "deep link"},
		"l|2":       {Selector: "x-in .menu a"},
		"l|3":       {Selector: "x-in >> text=Deep"},
		"l|4":       {Selector: "x-d > .menu > a"},
	})
}

func TestNeitherWhatContainsTheAnchorNorWhatIsInItCounts(t *testing.T) {
	finds(t, `<div role=button id=outer>Share <button id=inner>inside</button></div><button id=next>next</button>`, map[string]Locator{
		"next": {Role: "button", After: "Share"},
	})
	p := open(t, `<div role=button id=outer><b>Share</b> <button id=inner>inside</button></div><div style="display:none"><button>h</button></div>`)
	if c := choose(t, p, Locator{Role: "button", After: "Share"}); c.ID != "inner" { // outer contains the anchor
		t.Error(c)
	}
	if c := choose(t, p, Locator{Role: "button", After: "Share", Nth: number(3)}); c.Why != "nth" || c.Visible != 1 || c.Hidden != 1 {
		t.Error(c)
	}
	if c := choose(t, p, Locator{Role: "button", After: "no such text"}); c.Why != "anchor" {
		t.Error(c)
	}
}

func TestNamesAreThoseThatPeopleSee(t *testing.T) {
	finds(t, `<label>Email <input id=email></label><label for=pw>Password</label><input id=pw type=password>
		<span id=lbl>Given</span><input id=given aria-labelledby=lbl><button id=icon aria-label="Close dialog"><svg></svg></button>
		<input id=ph placeholder="Search the site" type=search><input type=submit id=sub><input type=button id=ib value="Go on">
		<a href=# id=imglink><img alt="Home page"></a><select id=sel aria-label=Country><option id=o1>Germany</option><option id=o2>France</option></select>
		<h2 id=h>Part <em>two</em></h2><div role=checkbox id=cb tabindex=0 aria-checked=true>Agree</div><label id=l2><input type=checkbox id=box> I accept</label>
		<div contenteditable=true id=ed aria-label="Message body"></div><input id=combo list=dl aria-label=City><datalist id=dl></datalist>
		<fieldset id=fs><legend>Address</legend></fieldset><button id=typo>Don’t  save…</button><a id=plain>not a link</a><div role="presentation button" id=pres tabindex=0>fall</div>
		<table><caption>Prices</caption><tr><th id=th scope=row>Tea</th><td id=td>2</td></tr></table><button id=tt title="Only a title"></button>`, map[string]Locator{
		"email":  {Role: "textbox", Name: "Email"},
		"pw":     {Role: "textbox", Name: "Password"},
		"given":  {Role: "textbox", Name: "given"},
		"icon":   {Role: "button", Name: "close"},
		"ph|1":   {Role: "searchbox", Name: "search the site"},
		"ph|2":   {Role: "textbox", Name: "search the site"},
		"ph|3":   {Text: "search the site"},
		"sub":    {Role: "button", Name: "submit"},
		"ib|1":   {Role: "button", Name: "go on"},
		"ib|2":   {Text: "Go on"},
		"sel":    {Role: "combobox", Name: "country"},
		"h|1":    {Role: "heading", Name: "part two"},
		"h|2":    {Selector: "role=heading[level=2]"},
		"cb":     {Selector: "role=checkbox[checked]"},
		"box":    {Role: "checkbox", Name: "i accept"},
		"l2":     {Text: "I accept"},
		"ed":     {Role: "textbox", Name: "message"},
		"combo":  {Role: "combobox", Name: "city"},
		"fs":     {Role: "group", Name: "address"},
		"typo":   {Role: "button", Name: "don't save"},
		"pres":   {Text: "fall"},
		"th":     {Role: "rowheader", Name: "tea"},
		"td":     {Role: "cell", Name: "2"},
		"tt":     {Role: "button", Name: "only a title"},
		"typo|2": {Text: "don't save"},
	})
}

func TestTheSmallestElementThatShowsATextIsMeant(t *testing.T) {
	finds(t, `<div id=a><div id=b><span id=c>Hello</span> <span id=d>world</span></div></div><p id=e>one <b style="display:none">two</b> three</p>
		<script>var x = "Hello world in a script"</script><style>/* Hello in a style */</style><textarea id=ta>Hello in a field</textarea><div id=g>per<wbr>haps</div>`, map[string]Locator{
		"c":   {Text: "hello"},
		"b":   {Text: "Hello world"},
		"e|1": {Text: "one three"},
		"g":   {Text: "perhaps"},
		"e|2": {Selector: "text=/^one\\s+three$/"},
	})
	p := open(t, `<script>"in a script"</script><textarea>in a field</textarea>`)
	for _, text := range []string{"in a script", "in a field"} {
		if c := choose(t, p, Locator{Text: text}); c.Why != "nothing" {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

func TestSelectorsOfOthersWork(t *testing.T) {
	finds(t, `<section id=s1><h3>Tea</h3><button id=b1>Buy</button></section><section id=s2 class="x y"><h3 id=h3>Coffee</h3><p>p</p><button id=b2 data-testid=buy-it>Buy</button><button id=b3 style="display:none">Buy</button></section>
		<a id=rel href=/x>Rel</a>`, map[string]Locator{
		"b2|1": {Selector: `section:has(h3:has-text("coffee")) button`},
		"b2|2": {Selector: `section:has(> h3:text-is("Coffee")) >> role=button`},
		"b2|3": {Selector: `data-testid=buy-it`},
		"b2|4": {Selector: `:nth-match(button:has-text("Buy"), 2)`},
		"b2|5": {Selector: `text=Coffee >> .. >> button`},
		"b2|6": {Selector: `//section[2]//button`},
		"b2|7": {Selector: `section.x.y button:not(:text("Sell")):visible`},
		"b2|8": {Selector: `h3:text("coff") ~ button`},
		"b1|1": {Selector: `h3:text("tea") + button`},
		"b1|2": {Selector: `id=b1`},
		"b1|3": {Selector: `section >> nth=0 >> text=Buy`},
		"b1|4": {Selector: `xpath=//section >> button`},
		"s2":   {Selector: `section >> nth=-1`},
		"s1":   {Selector: `section:has-text(" tea ")`},
		"h3":   {Selector: `h3:text-matches("^c.ff", "i")`},
		"rel":  {Selector: `a[href="/x"], b`},
	})
	p := open(t, `<p>x`)
	for _, s := range []string{`a[b=]`, `//a[`, `xpath=count(//p)`, `:text-matches("(")`} {
		if _, err := tryChoose(t, p, Locator{Selector: s}); err == nil {
			t.Errorf("%s was taken", s)
		}
	}
}

func TestOptionsOfAClosedSelectComeLast(t *testing.T) {
	p := open(t, `<select><option id=o1>Germany</option><option id=o2>France</option></select><a href=x id=link>France</a>`)
	if c := choose(t, p, Locator{Text: "France"}); c.ID != "link" {
		t.Error(c)
	}
	if c := choose(t, p, Locator{Text: "Germany"}); c.Why != "hidden" || !strings.Contains(c.FirstIs, "o1") {
		t.Error(c)
	}
}

func TestThePageCannotReachTheKit(t *testing.T) {
	finds(t, `<button id=yes>Real</button><script>
		for (const f of ['querySelectorAll', 'evaluate', 'createTreeWalker']) Document.prototype[f] = () => { throw 'replaced' };
		Element.prototype.getBoundingClientRect = () => ({width: 0, height: 0}); Element.prototype.checkVisibility = () => false; Element.prototype.matches = () => true;
		Array.prototype.filter = () => []; Object.hasOwn = () => true; window.test = {choose: () => ({el: document.body})};
		</script>`, map[string]Locator{"yes|1": {Text: "Real"}, "yes|2": {Role: "button"}, "yes|3": {Selector: "//button"}})
}

func TestManyElementsAreFoundInTime(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "<div><span>row %d</span><button>Edit</button></div>", i)
	}
	p := open(t, b.String()+"<button id=z>Last one</button>")
	for _, l := range []Locator{{Text: "Last one"}, {Role: "button", Name: "last one"}, {Selector: "button:has-text('Last one')"}, {Role: "button", After: "row 4999", Nth: number(1)}} {
		began := time.Now()
		if c := choose(t, p, l); c.ID != "z" {
			t.Errorf("%s: %+v", l, c)
		}
		t.Logf("%s: %v", l, time.Since(began).Round(time.Millisecond))
	}
}
