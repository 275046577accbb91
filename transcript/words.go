package transcript

import (
	"math/bits"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Words splits a text into comparable words: lower case, accents and punctuation removed, digits kept.
// Scripts that put no space between words (Han, Kana, Thai, Lao, Khmer, Myanmar) give a word per letter.
//
// Two texts that a listener would call the same give the same words; nothing here is for display.
func Words(text string) []string {
	var out []string
	for _, s := range Spans(text) {
		out = append(out, s.Norm)
	}
	return out
}

// Span is a word of a text, and where it stands.
type Span struct {
	Norm       string // as Words gives it
	Start, End int    // bytes of the original text
}

// Spans is Words with the place of each word in the text.
func Spans(text string) []Span {
	var out []Span
	start := -1
	flush := func(end int) {
		if start >= 0 {
			if n := fold(text[start:end]); n != "" {
				out = append(out, Span{Norm: n, Start: start, End: end})
			}
			start = -1
		}
	}
	for i, r := range text {
		switch {
		case alone(r):
			flush(i)
			end := i + len(string(r))
			if n := fold(text[i:min(end, len(text))]); n != "" {
				out = append(out, Span{Norm: n, Start: i, End: end})
			}
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r):
			if start < 0 {
				start = i
			}
		case apostrophe(r) && start >= 0:
			// "don't", "c'est", "п'ять" are one word; a trailing one is dropped by fold.
		default:
			flush(i)
		}
	}
	flush(len(text))
	return out
}

func apostrophe(r rune) bool { return r == '\'' || r == '’' || r == 'ʼ' || r == '`' }

// alone says that the script writes words without spaces between them.
func alone(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) &&
		unicode.IsLetter(r)
}

// fold is the form in which words are compared.
func fold(w string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(w) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r):
			for _, l := range strings.ToLower(string(r)) {
				if !unicode.Is(unicode.Mn, l) {
					b.WriteRune(l)
				}
			}
		}
	}
	return strings.ReplaceAll(b.String(), "ß", "ss")
}

// Alike says that two folded words are one word heard twice: equal, or so close that a recogniser mixes them up.
func Alike(a, b string) bool { return a == b || tokenOf(a).near(tokenOf(b)) }

// token is a folded word made ready for comparing.
type token struct {
	word  string
	runes []rune
	set   uint64 // which letters it has, roughly
}

func tokenOf(w string) token {
	t := token{word: w, runes: []rune(w)}
	for _, r := range t.runes {
		t.set |= 1 << (uint(r) % 64)
	}
	return t
}

// near says that two different words are within what a recogniser mixes up: one letter in a word of four or
// more, two in one of eight or more.
func (t token) near(o token) bool {
	a, b := t.runes, o.runes
	if len(a) > len(b) {
		a, b = b, a
	}
	allowed := 0
	switch {
	case len(a) >= 8:
		allowed = 2
	case len(a) >= 4:
		allowed = 1
	}
	// Each edit changes two letters of the sets at most.
	if allowed == 0 || len(b)-len(a) > allowed || bits.OnesCount64(t.set^o.set) > 2*allowed {
		return false
	}
	return within(a, b, allowed)
}

// within says that the edit distance of two short words is at most k.
func within(a, b []rune, k int) bool {
	if len(a) > 64 || len(b) > 64 {
		return false
	}
	var prev, cur [65]int
	for j := range len(b) + 1 {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		best := cur[0]
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			best = min(best, cur[j])
		}
		if best > k {
			return false
		}
		prev, cur = cur, prev
	}
	return prev[len(b)] <= k
}
