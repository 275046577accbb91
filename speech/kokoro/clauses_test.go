package kokoro

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{" \n ", ""},
		{"Hello.", "Hello."},
		{"Sure, let me take a look. The build is green.", "Sure,|let me take a look.|The build is green."},
		{"Yes. The build is green.", "Yes.|The build is green."},
		{"Hm, the build is green.", "Hm, the build is green."},
		{"The build is green, and all the tests pass. We can ship it today.", "The build is green,|and all the tests pass. We can ship it today."},
		{"I talked to Dr. Smith about it, e.g. the budget of 3.5 million. She agrees.", "I talked to Dr. Smith about it,|e.g. the budget of 3.5 million. She agrees."},
		{"1. First point\n2. Second point", "1. First point|2. Second point"},
		{"J. Doe wrote it. Fine?", "J. Doe wrote it.|Fine?"},
		{"(Really?) Yes, \"sure.\" Then go.", "(Really?) Yes,|\"sure.\" Then go."},
		{"No. 5 is alive. No. It is not.", "No. 5 is alive.|No. It is not."},
		{"Welcome everybody to the weekly meeting of the people who build the browser and the voice of this product",
			"Welcome everybody to the weekly meeting|of the people who build the browser and the voice of this product"},
	} {
		if got := strings.Join(Split(c.in), "|"); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestClausesAreShort(t *testing.T) {
	long := strings.Repeat("this is a sentence without any sign that goes on and on ", 20)
	list := Split(long + "\n" + strings.Repeat("x", 500) + "\n" + strings.Repeat("Short one. ", 40))
	for i, c := range list {
		if n := utf8.RuneCountInString(c); n > lengthOf(i) {
			t.Errorf("clause %d has %d characters: %s", i, n, c)
		}
	}
	if n := utf8.RuneCountInString(list[len(list)-1]); n < leastLength {
		t.Errorf("short sentences are not joined: %q", list[len(list)-1])
	}
}

func TestOpenersStandAlone(t *testing.T) {
	for _, o := range openerList() {
		got := Split(o + " the rest of the sentence follows.")
		if len(got) != 2 || got[0] != o {
			t.Errorf("%q: %q", o, got)
		}
	}
}

func TestAFewOpenersAreMadeAhead(t *testing.T) {
	if n, all := len(aheadList()), len(openerList()); n < 5 || n > 15 || n >= all {
		t.Errorf("%d of %d", n, all)
	}
	for _, o := range aheadList() {
		if !openers[strings.ToLower(o)] {
			t.Errorf("%q is no opener", o)
		}
	}
}

// No word is lost, added or moved.
func FuzzSplit(f *testing.F) {
	f.Add("Sure, let me look. It is 3.5 — or so; e.g. this\n\n- that")
	f.Fuzz(func(t *testing.T, in string) {
		if !utf8.ValidString(in) || len(in) > 4000 {
			return
		}
		strip := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := strip(strings.Join(Split(in), " ")); got != strip(in) {
			t.Fatalf("%q became %q", in, got)
		}
	})
}
