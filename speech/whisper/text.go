package whisper

import (
	"strings"
	"unicode"
)

// bracket pairs around what the model says about a sound instead of writing words: "[static]", "(water running)",
// "*sighs*", "♪ ♪".
var brackets = [][2]string{{"[", "]"}, {"(", ")"}, {"*", "*"}, {"♪", "♪"}, {"（", "）"}, {"【", "】"}, {"<", ">"}}

// noises marks which words of a text are inside brackets. A bracket that nothing closes counts when the text begins
// with it: the description was cut off.
func noises(words []string) []bool {
	drop := make([]bool, len(words))
	for i := 0; i < len(words); i++ {
		for _, b := range brackets {
			if !strings.HasPrefix(words[i], b[0]) {
				continue
			}
			end := -1
			for j := i; j < len(words); j++ {
				rest := words[j]
				if j == i {
					rest = rest[len(b[0]):]
				}
				if strings.HasSuffix(strings.TrimRight(rest, ".,!?;:…"), b[1]) {
					end = j
					break
				}
			}
			if end < 0 && i == 0 {
				end = len(words) - 1
			}
			for ; i <= end; i++ {
				drop[i] = true
			}
			if end >= 0 {
				i--
			}
			break
		}
	}
	return drop
}

// silent tells whether a text has no letter and no digit: "...", "- -".
func silent(text string) bool {
	return !strings.ContainsFunc(text, isWordRune)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
