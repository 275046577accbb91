package kokoro

import (
	_ "embed"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The lengths of clauses, in characters. The first is short, because somebody waits for its sound; the second and third
// are not much longer than the one before, because they are made while that one is heard; none is long, because a busy
// machine makes speech only just as fast as it is spoken.
var lengths = []int{45, 65, 95, 120}

// leastLength is what a clause has at least, if it can: a word alone sounds odd.
const leastLength = 12

// lengthOf is the longest that clause n may be, counted from 0, openers not counted.
func lengthOf(n int) int { return lengths[min(n, len(lengths)-1)] }

//go:embed openers.txt
var openerData string

// openers are the common beginnings, in lower case.
var openers = func() map[string]bool {
	out := map[string]bool{}
	for _, o := range openerList() {
		out[strings.ToLower(o)] = true
	}
	return out
}()

// openerList gives the common beginnings as they are written.
func openerList() (out []string) {
	for _, line := range strings.Split(openerData, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// aheadList gives those that are made before anybody says them.
func aheadList() (out []string) {
	head, _, _ := strings.Cut(openerData, "\n\n")
	for _, line := range strings.Split(head, "\n") {
		if !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// part is a stretch of text between two signs.
type part struct {
	text   string
	strong bool // a sentence ends here
}

// Split cuts a text into clauses. All words are in the result, in order.
func Split(text string) []string {
	var out []string
	for _, paragraph := range strings.Split(text, "\n") {
		out = join(out, parts(paragraph))
	}
	return out
}

// join adds clauses made of parts: as many parts in one as fit.
func join(out []string, list []part) []string {
	current := ""
	flush := func() {
		if current != "" {
			out = append(out, current)
			current = ""
		}
	}
	for _, p := range list {
		text := p.text
		for text != "" {
			n := len(out)
			if n > 0 && openers[strings.ToLower(out[0])] {
				n--
			}
			limit := lengthOf(n)
			if current == "" {
				current, text = cut(text, limit)
				continue
			}
			together := current + " " + text
			switch {
			case len(out) == 0 && openers[strings.ToLower(current)],
				n == 0 && utf8.RuneCountInString(current) >= leastLength,
				utf8.RuneCountInString(together) > limit:
				flush()
			default:
				current, text = together, ""
			}
		}
	}
	flush()
	return out
}

// parts divides a paragraph after the signs that stand before a space.
func parts(text string) []part {
	var out []part
	start := 0
	add := func(end int, strong bool) {
		if t := strings.TrimSpace(text[start:end]); t != "" {
			out = append(out, part{t, strong})
		}
		start = end
	}
	for i, r := range text {
		if !unicode.IsSpace(r) || i == start {
			continue
		}
		before := strings.TrimRight(text[start:i], `"'”’)]`)
		last, _ := utf8.DecodeLastRuneInString(before)
		switch last {
		case '.':
			if !abbreviated(before, text[i:]) {
				add(i, true)
			}
		case '!', '?', '…', '。', '！', '？':
			add(i, true)
		case ',', ';', ':', '—', '–':
			add(i, false)
		case '-':
			if strings.HasSuffix(before, " -") {
				add(i, false)
			}
		}
	}
	add(len(text), true)
	return out
}

// abbreviated tells a full stop that belongs to a word from one that ends a sentence.
func abbreviated(text, rest string) bool {
	word := text[strings.LastIndexFunc(text, unicode.IsSpace)+1:]
	word = strings.TrimLeft(word, `("'`)
	if _, ok := abbreviations[word]; ok {
		return word != "etc."
	}
	stem := strings.TrimSuffix(word, ".")
	if strings.EqualFold(stem, "no") { // a number, or an answer
		rest = strings.TrimSpace(rest)
		return rest != "" && isNumber(rest[:1])
	}
	return len(stem) == 1 && unicode.IsUpper(rune(stem[0])) && stem != "I" || isNumber(stem) && utf8.RuneCountInString(text) <= 4
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// turns are words before which a speaker may take breath.
var turns = map[string]bool{}

func init() {
	for _, w := range strings.Fields("and but or so because which that who when where while if then than though although " +
		"with without for from into through before after until unless as to in on at by about of") {
		turns[w] = true
	}
}

// cut takes the beginning of a text that is too long: up to a word where a speaker may take breath, else between
// words, else anywhere.
func cut(text string, limit int) (head, rest string) {
	if utf8.RuneCountInString(text) <= limit {
		return text, ""
	}
	at := breath(text, limit)
	return strings.TrimSpace(text[:at]), strings.TrimSpace(text[at:])
}

// breath is where to divide a text that is longer than limit.
func breath(text string, limit int) int {
	best, space, n := 0, 0, 0
	for i, r := range text {
		if n == limit {
			switch {
			case best > 0:
				return best
			case space > 0:
				return space
			}
			return i
		}
		n++
		if !unicode.IsSpace(r) {
			continue
		}
		space = i
		next, _, _ := strings.Cut(strings.TrimSpace(text[i:]), " ")
		if turns[strings.ToLower(next)] && n >= limit/3 {
			best = i
		}
	}
	return len(text)
}
