package server

import (
	"testing"

	"parley/speech/segment"
)

func TestTongue(t *testing.T) {
	P, D, F := segment.Partial, segment.Draft, segment.Final
	for _, c := range []struct {
		name   string
		t      tongue
		kind   segment.Kind
		speech int64
		lang   string
		large  bool
	}{
		{"fixed English, partial", tongue{fixed: "en"}, P, sure, "en", false},
		{"fixed English, final", tongue{fixed: "en"}, F, sure, "en", true},
		{"fixed German, partial", tongue{fixed: "de"}, P, sure, "de", true},
		{"nothing known, the first words", tongue{}, P, sure/2 - 1, "en", false},
		{"nothing known, enough to tell", tongue{}, P, sure / 2, "", true},
		{"nothing known, a short final", tongue{}, F, 100, "", true},
		{"German so far, a partial", tongue{known: "de"}, P, sure, "de", true},
		{"German so far, a short draft", tongue{known: "de"}, D, sure - 1, "de", true},
		{"German so far, a longer final may be another", tongue{known: "de"}, F, sure, "", true},
		{"English so far, a partial", tongue{known: "en"}, P, sure, "en", false},
		{"no small model, an English partial", tongue{known: "en", slow: true}, P, sure, "en", true},
		{"no small model, the first words", tongue{slow: true}, P, 100, "en", true},
		{"weak", tongue{known: "de", weak: true}, F, sure, "en", false},
	} {
		if lang, large := c.t.choose(c.kind, c.speech); lang != c.lang || large != c.large {
			t.Errorf("%s: %q %v", c.name, lang, large)
		}
	}
	var x tongue
	x.heard("", sure)
	x.heard("cy", 100) // the first guess is better than none
	x.heard("en", sure/2-1)
	if x.known != "cy" {
		t.Errorf("known %q", x.known)
	}
	x.heard("en", sure/2)
	if x.known != "en" {
		t.Errorf("known %q", x.known)
	}
}

func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"I see.": true, "Really?": true, "はい。": true, "He said \"no.\"": true,
		"and then": false, "and then...": false, "and then…": false, "first,": false, "": false,
	} {
		if complete(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
