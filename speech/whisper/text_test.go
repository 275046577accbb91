package whisper

import (
	"strings"
	"testing"
)

func TestDescriptionsOfSoundsAreLeftOut(t *testing.T) {
	for _, c := range [][2]string{
		{"[static]", ""},
		{"(water running)", ""},
		{"(water running) Hello there.", "Hello there."},
		{"Hello (laughs) there.", "Hello there."},
		{"Hello. (phone ringing).", "Hello."},
		{"*sighs* Yes.", "Yes."},
		{"♪ la la ♪ and", "and"},
		{"♪", ""},
		{"[static", ""},                  // cut off: nothing else was said
		{"Well [static", "Well [static"}, // perhaps said
		{"No brackets here", "No brackets here"},
		{"（笑） はい", "はい"},
		{"a (b) c [d] e", "a c e"},
		{"2 * 3", "2 * 3"},
		{"", ""},
	} {
		words := strings.Fields(c[0])
		var left []string
		for i, drop := range noises(words) {
			if !drop {
				left = append(left, words[i])
			}
		}
		if got := strings.Join(left, " "); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

func TestSilent(t *testing.T) {
	for text, want := range map[string]bool{"": true, "...": true, "- -": true, "♪": true, "a": false, "7": false, "日": false, "é.": false} {
		if silent(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
