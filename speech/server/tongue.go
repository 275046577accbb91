package server

import (
	"strings"
	"unicode/utf8"

	"parley/speech/segment"
)

// tongue decides in which language, and so with which model, a piece of a stream is heard.
type tongue struct {
	fixed string // what the client asked for
	known string // what the last good final was in
	weak  bool   // there is no large model
	slow  bool   // there is no small model
}

// sure is how much speech it takes to tell a language.
const sure = 1500 * 16

// choose gives the language to ask for (empty: find out) and whether the large model hears it.
func (t *tongue) choose(kind segment.Kind, speech int64) (lang string, large bool) {
	lang, large = t.prefer(kind, speech)
	return lang, large || t.slow
}

// prefer chooses between two models.
func (t *tongue) prefer(kind segment.Kind, speech int64) (lang string, large bool) {
	switch {
	case t.weak:
		return "en", false
	case t.fixed != "":
		return t.fixed, kind != segment.Partial || t.fixed != "en"
	case kind != segment.Partial && (speech >= sure || t.known == ""):
		return "", true
	case kind != segment.Partial:
		return t.known, true // too short to tell: more likely the language spoken so far
	case t.known == "" && speech >= sure/2:
		return "", true // the first partial that can tell
	case t.known == "" || t.known == "en":
		return "en", false
	}
	return t.known, true
}

// heard learns from a text.
func (t *tongue) heard(lang string, speech int64) {
	if lang != "" && (speech >= sure/2 || t.known == "") {
		t.known = lang
	}
}

// complete tells whether a text reads like a finished sentence: whoever trails off gets dots or nothing.
func complete(text string) bool {
	text = strings.TrimRight(text, "\"'”’»)")
	if strings.HasSuffix(text, "..") || strings.HasSuffix(text, "…") {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(text)
	return r != utf8.RuneError && strings.ContainsRune(".!?。！？؟।", r)
}
