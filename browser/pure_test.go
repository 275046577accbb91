package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/quick"
	"time"
	"unicode/utf8"
)

func TestACallsTimeIsDivided(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, c := range []struct{ total, cut, least, probe time.Duration }{
		{60 * time.Second, 52 * time.Second, 2 * time.Second, 3 * time.Second},
		{24 * time.Second, 16 * time.Second, 2 * time.Second, 3 * time.Second},
		{24*time.Second - 3, 16*time.Second - 2, 2 * time.Second, 8 * time.Second * 3 / 8},
		{12 * time.Second, 8 * time.Second, 2 * time.Second, 1500 * time.Millisecond},
		{3 * time.Second, 2 * time.Second, 500 * time.Millisecond, 375 * time.Millisecond},
		{0, 0, 0, 0},
		{-time.Second, -time.Second, 0, 0},
	} {
		b := divide(now, now.Add(c.total))
		if got := b.cut.Sub(now); got != c.cut {
			t.Errorf("%v: cut after %v, want %v", c.total, got, c.cut)
		}
		if diff := b.probe - c.probe; b.least != c.least || diff > time.Microsecond || diff < -time.Microsecond {
			t.Errorf("%v: least %v probe %v", c.total, b.least, b.probe)
		}
	}
}

func TestRefsKnowTheirDocument(t *testing.T) {
	r := newRefs()
	a, b := document{"s", "f", "1"}, document{"s", "f", "2"}
	if r.free() != 1 {
		t.Fatal(r.free())
	}
	r.gave(a, 1, 5)
	r.gave(a, 5, 9)
	r.gave(b, 9, 10)
	r.gave(b, 10, 10) // nothing
	r.lost(a, 10)
	for ref, want := range map[Ref]any{"e1": a, "e8": a, "e9": b, "[ref=e9]": b, "ref=e4": a, "e10": a, "e0": nil, "e-1": nil, "x": nil, "": nil, "e99999999999": nil, "e30000": nil, "E1": nil} {
		d, _, ok := r.of(ref)
		if (want == nil) == ok || ok && d != want {
			t.Errorf("%q: %v %v, want %v", ref, d, ok, want)
		}
	}
	if len(r.spans) != 3 || r.free() != 20_010 {
		t.Errorf("%d spans, next %d", len(r.spans), r.free())
	}
	for i := range 2 * maxSpans {
		r.gave(document{"s", "f", document{}.loader}, 30_000+2*i, 30_001+2*i)
	}
	if len(r.spans) > maxSpans {
		t.Errorf("%d spans are kept", len(r.spans))
	}
}

// FuzzWriter gives the writer what outline.js may give, and what a page that got at it might: nothing panics, lines stay
// lines, and everything is bounded.
func FuzzWriter(f *testing.F) {
	f.Add("a\n b\n\x01F1\x01iframe \"x\" e3\nc", 3)
	f.Add("\x01\x01\n\x01", 0)
	f.Add(strings.Repeat(" ", 100)+"\x01F1\x01x\xff\n\n", -1)
	f.Fuzz(func(t *testing.T, text string, max int) {
		p := &Page{}
		top := &Frame{page: p, ID: "F0"}
		dead := &Frame{page: p, ID: "F1", Parent: top, Err: context.DeadlineExceeded}
		top.children = []*Frame{dead}
		w := &writer{p: p, s: &Snapshot{Matches: -1}, placed: map[*Frame]bool{top: true}}
		w.write(context.Background(), top, &outlined{Text: text}, 0)
		for _, l := range w.s.Lines {
			if strings.ContainsRune(l, '\n') {
				t.Errorf("a line of two: %q", l)
			}
		}
		if len(w.s.Lines) > strings.Count(text, "\n")+1 {
			t.Errorf("%d lines of %d", len(w.s.Lines), strings.Count(text, "\n")+1)
		}
		// Windows give every line once, whatever the budget.
		if max %= 1000; max < 4 {
			max = 4
		}
		seen := 0
		for next, rounds := 0, 0; ; rounds++ {
			win := w.s.Window(next, max)
			if len(win.Text) > max+utf8.UTFMax {
				t.Fatalf("a window of %d bytes for %d", len(win.Text), max)
			}
			if win.Next == 0 {
				seen += win.Total - win.From
				break
			}
			if win.Next <= next || rounds > len(w.s.Lines) {
				t.Fatalf("offset %d after %d", win.Next, next)
			}
			seen += win.Next - win.From
			next = win.Next
		}
		if seen != len(w.s.Lines) {
			t.Errorf("%d lines of %d", seen, len(w.s.Lines))
		}
	})
}

func TestDiffIsBoundedAndForgetsNothing(t *testing.T) {
	same := func(lines []string) bool {
		c := Diff(&Snapshot{Lines: lines}, &Snapshot{Lines: lines})
		return len(c.Added) == 0 && len(c.Removed) == 0 && c.More == 0
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("  line ", i, strings.Repeat("x", 500)))
	}
	c := Diff(&Snapshot{Lines: []string{"a", "a", "b"}}, &Snapshot{Lines: append(many, "a", "c")})
	if len(c.Added)+len(c.Removed) != maxChanges || c.More != 100+1+2-maxChanges || len(c.Added[0]) > maxChangeText+3 {
		t.Errorf("%d added, %d removed, %d more", len(c.Added), len(c.Removed), c.More)
	}
}

func TestCheckURL(t *testing.T) {
	for address, want := range map[string]string{
		"http://a":                            "http://a",
		" https://a/b?c#d ":                   "https://a/b?c#d",
		"HTTP://A":                            "http://A",
		"file:///etc/passwd":                  "",
		"javascript:alert(1)":                 "",
		"data:text/html,x":                    "",
		"about:blank":                         "",
		"http:///x":                           "",
		"//a":                                 "",
		"a.example":                           "",
		"view-source:http://a":                "",
		"http://[::1":                         "",
		"":                                    "",
		"http://" + strings.Repeat("a", 9000): "",
	} {
		got, err := CheckURL(address)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", address, got, err)
		}
	}
}
