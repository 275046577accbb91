package locate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func number(n int) *int { return &n }

func TestALocatorNamesTheElementInOneWay(t *testing.T) {
	long := strings.Repeat("x", maxSelector+1)
	for _, c := range []struct {
		name     string
		l        Locator
		argument string // empty when it is good
	}{
		{"ref", Locator{Ref: "e12"}, ""},
		{"role", Locator{Role: "button"}, ""},
		{"role and name", Locator{Role: "Button", Name: "Save"}, ""},
		{"selector", Locator{Selector: "#a"}, ""},
		{"text", Locator{Text: "Save"}, ""},
		{"text after", Locator{Text: "Save", After: "x"}, ""},
		{"nothing", Locator{}, "element"},
		{"only nth", Locator{Nth: number(1)}, "element"},
		{"name alone", Locator{Name: "Save"}, "name"},
		{"name with text", Locator{Name: "Save", Text: "x"}, "name"},
		{"two ways", Locator{Role: "button", Text: "x"}, "element"},
		{"ref and selector", Locator{Ref: "e1", Selector: "a"}, "element"},
		{"ref and nth", Locator{Ref: "e1", Nth: number(0)}, "ref"},
		{"ref and after", Locator{Ref: "e1", After: "x"}, "ref"},
		{"after and before", Locator{Role: "button", After: "x", Before: "y"}, "before"},
		{"role of two words", Locator{Role: "button Save"}, "role"},
		{"blank text", Locator{Text: "  "}, "text"},
		{"nul", Locator{Text: "a\x00"}, "text"},
		{"not utf-8", Locator{Text: "\xff"}, "text"},
		{"long", Locator{Selector: long}, "selector"},
		{"as long as may be", Locator{Selector: long[1:]}, ""},
		{"far", Locator{Text: "x", Nth: number(maxNth + 1)}, "nth"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.l.Compile()
			var e *Error
			if c.argument == "" && err != nil || c.argument != "" && (!errors.As(err, &e) || e.Argument != c.argument) {
				t.Fatalf("got %v, want an error about %q", err, c.argument)
			}
		})
	}
}

func TestSelectors(t *testing.T) {
	for _, c := range []struct{ selector, want string }{
		{`#a`, `[{"engine":"css","css":[{"compounds":[{"css":"#a"}]}]}]`},
		{`a.b > c[d="e >> f"] ~ *`, `[{"engine":"css","css":[{"compounds":[{"css":"a.b"},{"css":"c[d=\"e \u003e\u003e f\"]"},{"css":"*"}],"combinators":["\u003e","~"]}]}]`},
		{`button:has-text('Export')`, `[{"engine":"css","css":[{"compounds":[{"css":"button","filters":[{"kind":"has-text","text":{"has":"Export"}}]}]}]}]`},
		{`:text-is("OK"):visible`, `[{"engine":"css","css":[{"compounds":[{"css":"*","filters":[{"kind":"text","text":{"is":"OK"}},{"kind":"visible"}]}]}]}]`},
		{`li:not(.x):nth-child(2n + 1)`, `[{"engine":"css","css":[{"compounds":[{"css":"li:not(.x):nth-child(2n + 1)"}]}]}]`},
		{`div:has(> a:has-text("x"))`, `[{"engine":"css","css":[{"compounds":[{"css":"div","filters":[{"kind":"has","list":[{"compounds":[{"css":"a","filters":[{"kind":"has-text","text":{"has":"x"}}]}]}],"lead":["\u003e"]}]}]}]}]`},
		{`div:has(a.b)`, `[{"engine":"css","css":[{"compounds":[{"css":"div:has(a.b)"}]}]}]`},
		{`:nth-match(:text("Buy"), 3)`, `[{"engine":"css","css":[{"compounds":[{"css":"*","filters":[{"kind":"nth-match","list":[{"compounds":[{"css":"*","filters":[{"kind":"text","text":{"has":"Buy"}}]}]}],"nth":3}]}]}]}]`},
		{`a, b`, `[{"engine":"css","css":[{"compounds":[{"css":"a"}]},{"compounds":[{"css":"b"}]}]}]`},
		{`//a[@b=">>"]/..`, `[{"engine":"xpath","xpath":"//a[@b=\"\u003e\u003e\"]/.."}]`},
		{`xpath=(//a)[2]`, `[{"engine":"xpath","xpath":"(//a)[2]"}]`},
		{`text=Don't stop >> ..`, `[{"engine":"text","text":{"has":"Don't stop"}},{"engine":"up"}]`},
		{`text="Log in"`, `[{"engine":"text","text":{"is":"Log in"}}]`},
		{`"Log in"`, `[{"engine":"text","text":{"is":"Log in"}}]`},
		{`text=/log\s*in/i`, `[{"engine":"text","text":{"match":"log\\s*in","flags":"i"}}]`},
		{`role=button[name="Save"][pressed=true]`, `[{"engine":"role","role":{"role":"button","name":{"is":"Save"},"states":{"pressed":"true"}}}]`},
		{`role=button[name="save" i]`, `[{"engine":"role","role":{"role":"button","name":{"has":"save"}}}]`},
		{`id=a.b`, `[{"engine":"attr","attr":"id","value":"a.b"}]`},
		{`data-testid="x y"`, `[{"engine":"attr","attr":"data-testid","value":"x y"}]`},
		{`css=.row >> nth=-1 >> text=Edit >> visible=true`, `[{"engine":"css","css":[{"compounds":[{"css":".row"}]}]},{"engine":"nth","nth":-1},{"engine":"text","text":{"has":"Edit"}},{"engine":"visible"}]`},
		{`.md\:flex`, `[{"engine":"css","css":[{"compounds":[{"css":".md\\:flex"}]}]}]`},
	} {
		t.Run(c.selector, func(t *testing.T) {
			q, err := Locator{Selector: c.selector}.Compile()
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(q.Parts)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestSelectorsThatSayNothingAreRefused(t *testing.T) {
	for _, s := range []string{
		">> a", "a >>", "a >> >> b", "nth=1", "visible=true >> a", "..", "a >> nth=x", "a[b", "a:not(", "a::before", "> a", "a >", "a,", "a..b", "a#", "a:",
		"a:right-of(b)", "a:has-text()", `text=""`, "css=", "role=", "role=button[foo=1]", "role=button[name", "foo=bar", "a b{}", "a/b", "text=//", "a:nth-match(b)", "a:nth-match(b, 0)",
		"a:visible(x)", `a:text-matches("x", "gy")`, strings.Repeat(":not(:has-text(x)", 30) + strings.Repeat(")", 30), strings.Repeat("a >> ", 20) + "a", `a\`,
	} {
		if q, err := (Locator{Selector: s}).Compile(); err == nil {
			got, _ := json.Marshal(q.Parts)
			t.Errorf("%q was taken as %s", s, got)
		}
	}
}

func TestWhyThereIsNoElement(t *testing.T) {
	compile := func(l Locator) *Query {
		q, err := l.Compile()
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	for _, c := range []struct {
		l    Locator
		m    Miss
		want string
	}{
		{Locator{Selector: "xpath=//*[normalize-space(text())='Share']/parent::*//button"}, Miss{Why: "hidden", Hidden: 2, Total: 2, FirstIs: "<button>", FirstWhy: "inside a display: none <div>"},
			"selector xpath=//*[normalize-space(text())='Share']/parent::*//button matched 2 elements, none visible within 15 s\n  (the first is <button>, inside a display: none <div>)"},
		{Locator{Selector: "#send"}, Miss{Why: "nothing"}, "nothing matches selector #send within 15 s"},
		{Locator{Role: "button", After: "Download all"}, Miss{Why: "anchor"}, `no visible element shows the text "Download all" (after) within 15 s`},
		{Locator{Role: "button", After: "Share", Nth: number(3)}, Miss{Why: "nth", Visible: 1, Hidden: 4}, `role button: 1 visible match after "Share", so nth 3 is not there (4 more hidden)`},
		{Locator{Role: "button", Name: "Save", Nth: number(-3)}, Miss{Why: "nth", Visible: 2}, `role button "Save": 2 visible matches, so nth -3 is not there`},
		{Locator{Text: "x"}, Miss{Why: "hidden", Total: 1, Hidden: 1, FirstIs: `<p id="a">`, FirstWhy: "with display: none"}, "text \"x\" matched 1 element, not visible within 15 s\n  (it is <p id=\"a\">, with display: none)"},
		{Locator{Role: "link", Before: "x"}, Miss{Why: "hidden", Total: 7}, `role link: no match before "x" within 15 s (7 elsewhere)`},
	} {
		if got := compile(c.l).Explain(c.m, 15*time.Second); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := seconds(1234 * time.Millisecond); got != "1.2 s" {
		t.Error(got)
	}
}

func FuzzSelector(f *testing.F) {
	for _, s := range []string{`a:has(> b:has-text("x")) >> nth=-1`, `text=/a(/i`, `role=a[name="x" i]`, `//a >> ..`, "\\", `:not(:is(:text(x)))`, "a\x00", `"`, `[a='>>'] >> b`, `:nth-match(a,1)`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := Locator{Selector: s}.Compile()
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Why == "" {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if len(q.Parts) == 0 {
			t.Fatalf("%q asks for nothing", s)
		}
		// What compiles must survive the way to the page: the same text gives the same query again.
		raw, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		var back Query
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(&back)
		if err != nil || string(again) != string(raw) {
			t.Fatalf("%q: %s became %s (%v)", s, raw, again, err)
		}
	})
}
