package transcript

import (
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
func Alike(a, b string) bool {
	if a == b {
		return true
	}
	ra, rb := []rune(a), []rune(b)
	if len(ra) > len(rb) {
		ra, rb = rb, ra
	}
	// One letter in a word of four or five, two in eight or more.
	allowed := 0
	switch {
	case len(ra) >= 8:
		allowed = 2
	case len(ra) >= 4:
		allowed = 1
	}
	if len(rb)-len(ra) > allowed {
		return false
	}
	return within(ra, rb, allowed)
}

// within says that the edit distance of two short words is at most k.
func within(a, b []rune, k int) bool {
	if k == 0 || len(a) > 64 || len(b) > 64 {
		return false // equal words were seen before
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
