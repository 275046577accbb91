package score

import (
	_ "embed"
	"strconv"
	"strings"

	"parley/transcript"
)

// english.txt says what is written in several ways but spoken in one.
//
//go:embed english.txt
var englishText string

var english = load(englishText)

type rules struct {
	drop     map[string]bool
	becomes  map[string][]string
	units    map[string]int // one … nineteen, and zero
	tens     map[string]int
	multiply map[string]int
}

func load(text string) rules {
	r := rules{map[string]bool{}, map[string][]string{}, map[string]int{}, map[string]int{}, map[string]int{}}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" {
			continue
		}
		switch f[0] {
		case "drop":
			r.drop[f[1]] = true
		case "same":
			r.becomes[f[1]] = f[2:]
		case "unit", "ten", "times":
			n, err := strconv.Atoi(f[2])
			if err != nil {
				panic("score: english.txt: " + line)
			}
			map[string]map[string]int{"unit": r.units, "ten": r.tens, "times": r.multiply}[f[0]][f[1]] = n
		}
	}
	return r
}

// Normalize gives the words of a text in the form in which they are compared. For English ("en…", or unknown)
// contractions are written out, hesitations dropped, spellings unified and numbers written in digits; other
// languages get lower case without punctuation and accents, and scripts without spaces a word per letter.
func Normalize(text, lang string) []string {
	if lang != "" && !strings.HasPrefix(strings.ToLower(lang), "en") {
		return transcript.Words(text)
	}
	text = contractions.Replace(apostrophes.Replace(strings.ToLower(text)) + " ")
	var out []string
	for _, w := range transcript.Words(text) {
		if english.drop[w] {
			continue
		}
		if to, ok := english.becomes[w]; ok {
			out = append(out, to...)
			continue
		}
		out = append(out, w)
	}
	return english.numbers(out)
}

var apostrophes = strings.NewReplacer("’", "'", "ʼ", "'", "`", "'")

// contractions writes out what an apostrophe alone tells ("we'll" and "well" are two words).
var contractions = strings.NewReplacer("won't", "will not", "can't", "can not", "shan't", "shall not", "n't", " not",
	"'ll", " will", "'re", " are", "'ve", " have", "'m ", " am ", "'d ", " would ", "let's", "let us")

// numbers writes "twenty three" as 23 and "two hundred and five" as 205. Digits read one by one stay apart.
func (r rules) numbers(words []string) []string {
	var out []string
	for i := 0; i < len(words); {
		n, used := r.number(words[i:])
		if used == 0 {
			out = append(out, words[i])
			i++
			continue
		}
		out = append(out, strconv.Itoa(n))
		i += used
	}
	return out
}

// number reads one number from the front; used is 0 when there is none.
func (r rules) number(words []string) (n, used int) {
	total, part := 0, 0
	const (
		nothing = iota
		unit
		ten
		times
	)
	last := nothing
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "and" && last == times && i+1 < len(words) && (has(r.units, words[i+1]) || has(r.tens, words[i+1])) {
			continue
		}
		u, isUnit := r.units[w]
		t, isTen := r.tens[w]
		m, isTimes := r.multiply[w]
		switch {
		case isUnit && (last == nothing || last == times || last == ten && u > 0 && u < 10):
			part += u
			last = unit
		case isTen && (last == nothing || last == times):
			part += t
			last = ten
		case isTimes && last != nothing && part > 0 && (m == 100 && part < 10 || m > 100):
			if m == 100 {
				part *= 100
			} else {
				total += part * m
				part = 0
			}
			last = times
		default:
			return total + part, used
		}
		used = i + 1
	}
	return total + part, used
}

func has(m map[string]int, w string) bool { _, ok := m[w]; return ok }
