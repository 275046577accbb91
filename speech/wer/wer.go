// Package wer counts how many words of a transcript are wrong.
package wer

import (
	"strconv"
	"strings"
	"unicode"
)

// Count compares a transcript with what was said, both as plain text: how many words must be put in, taken out or
// replaced, and how many words were said.
func Count(said, written string) (errors, words int) {
	return Distance(Normalise(said), Normalise(written))
}

// Distance is Count for words that are normalised already.
func Distance(said, written []string) (errors, words int) {
	row := make([]int, len(written)+1)
	for j := range row {
		row[j] = j
	}
	for i, s := range said {
		diagonal := row[0]
		row[0] = i + 1
		for j, w := range written {
			best := diagonal
			if s != w {
				best = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], best
		}
	}
	return row[len(written)], len(said)
}

// Normalise gives a text's words so that two ways to write the same speech become equal: case, punctuation, English
// contractions and numbers in words or digits do not count.
func Normalise(text string) []string {
	text = strings.NewReplacer("’", "'", "‘", "'", "&", " and ", "%", " percent ").Replace(strings.ToLower(text))
	var words []string
	for _, field := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) && r != '\''
	}) {
		field = strings.Trim(field, "'")
		if field == "" {
			continue
		}
		words = append(words, expand(field)...)
	}
	return numbers(words)
}

// expand writes a contraction out.
func expand(word string) []string {
	if whole, ok := contractions[word]; ok {
		return strings.Fields(whole)
	}
	for _, e := range endings {
		if stem, ok := strings.CutSuffix(word, e[0]); ok && stem != "" {
			return []string{stem, e[1]}
		}
	}
	return []string{strings.ReplaceAll(word, "'", "")}
}

var endings = [][2]string{{"n't", "not"}, {"'re", "are"}, {"'ve", "have"}, {"'ll", "will"}, {"'m", "am"}, {"'d", "would"}}

var contractions = map[string]string{
	"can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not",
	"it's": "it is", "that's": "that is", "there's": "there is", "here's": "here is", "what's": "what is",
	"who's": "who is", "where's": "where is", "how's": "how is", "he's": "he is", "she's": "she is", "let's": "let us",
	"mr": "mister", "mrs": "missus", "dr": "doctor", "st": "saint", "vs": "versus", "okay": "ok", "gonna": "going to",
	"wanna": "want to", "gotta": "got to",
}

// numbers turns number words into digits: "twenty" "one" is 21, "five" "hundred" is 500; digits said one by one stay
// apart.
func numbers(words []string) []string {
	var out []string
	for i := 0; i < len(words); {
		n, ok := units[words[i]]
		if !ok {
			if tens[words[i]] == 0 {
				out = append(out, words[i])
				i++
				continue
			}
			n = tens[words[i]]
			if i+1 < len(words) {
				if u := units[words[i+1]]; u > 0 && u < 10 {
					n += u
					i++
				}
			}
		}
		i++
		for i < len(words) && scales[words[i]] > 0 {
			n *= scales[words[i]]
			i++
		}
		out = append(out, strconv.Itoa(n))
	}
	return out
}

var units = map[string]int{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
	"eighteen": 18, "nineteen": 19,
}

var tens = map[string]int{
	"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}

var scales = map[string]int{"hundred": 100, "thousand": 1000, "million": 1000000}
