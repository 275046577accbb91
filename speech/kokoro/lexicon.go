package kokoro

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// lexicon makes phonemes from word lists, for a machine without espeak-ng. Words it does not know are taken apart:
// first endings, then letters.
type lexicon struct{ words map[string]string }

// loadLexicon reads word lists; the first one that has a word decides.
func loadLexicon(paths ...string) (*lexicon, error) {
	l := &lexicon{words: map[string]string{}}
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if errors.Is(err, fs.ErrNotExist) && len(l.words) > 0 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("kokoro: word list: %w", err)
		}
		if err := l.add(raw); err != nil {
			return nil, fmt.Errorf("kokoro: word list %s: %w", p, err)
		}
	}
	return l, nil
}

// add takes a list: word → phonemes, or → phonemes by part of speech, of which the default is taken.
func (l *lexicon) add(raw []byte) error {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return err
	}
	for w, e := range entries {
		var said string
		if json.Unmarshal(e, &said) != nil {
			var byRole map[string]*string
			if err := json.Unmarshal(e, &byRole); err != nil {
				return fmt.Errorf("%q: %w", w, err)
			}
			if d := byRole["DEFAULT"]; d != nil {
				said = *d
			}
		}
		if _, known := l.words[w]; !known && said != "" {
			l.words[w] = said
		}
	}
	return nil
}

// weak are words that lists give as if they stood alone.
var weak = map[string]string{
	"a": "ɐ", "an": "ən", "the": "ðə", "and": "ænd", "of": "ʌv", "to": "tu", "for": "fɔɹ", "or": "ɔɹ", "as": "æz", "is": "ɪz", "it": "ɪt", "in": "ɪn",
}

// letters are said when a word is spelled.
var letters = map[rune]string{
	'a': "ˈA", 'b': "bˈi", 'c': "sˈi", 'd': "dˈi", 'e': "ˈi", 'f': "ˈɛf", 'g': "ʤˈi", 'h': "ˈAʧ", 'i': "ˈI", 'j': "ʤˈA", 'k': "kˈA", 'l': "ˈɛl", 'm': "ˈɛm",
	'n': "ˈɛn", 'o': "ˈO", 'p': "pˈi", 'q': "kjˈu", 'r': "ˈɑɹ", 's': "ˈɛs", 't': "tˈi", 'u': "jˈu", 'v': "vˈi", 'w': "dˈʌbᵊlju", 'x': "ˈɛks", 'y': "wˈI", 'z': "zˈi",
}

// phonemes gives the phonemes of each line of words.
func (l *lexicon) phonemes(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		var said []string
		for _, w := range strings.Fields(line) {
			if p := l.word(w); p != "" {
				said = append(said, p)
			}
		}
		out[i] = strings.Join(said, " ")
	}
	return out
}

func (l *lexicon) word(w string) string {
	lower := strings.ToLower(w)
	if len(w) == 1 && w != lower && w != "I" {
		return letters[rune(lower[0])]
	}
	if p, ok := weak[lower]; ok {
		return p
	}
	for _, form := range []string{w, lower, strings.Trim(lower, "'")} {
		if p, ok := l.words[form]; ok {
			return p
		}
	}
	for _, form := range []string{w, lower} {
		if p := l.ending(form); p != "" {
			return p
		}
	}
	var said []string
	for _, r := range lower {
		if p, ok := letters[r]; ok {
			said = append(said, p)
		}
	}
	return strings.Join(said, " ")
}

// ending takes a word apart into a word of the list and an ending.
func (l *lexicon) ending(w string) string {
	stem := func(suffix, instead string) (string, bool) {
		base, ok := strings.CutSuffix(w, suffix)
		if !ok || len(base) < 2 {
			return "", false
		}
		p, ok := l.words[base+instead]
		return p, ok
	}
	for _, suffix := range []string{"'s", "es", "s"} {
		if p, ok := stem(suffix, ""); ok {
			return p + plural(p)
		}
	}
	for _, try := range []struct{ suffix, instead string }{{"ed", ""}, {"ed", "e"}} {
		if p, ok := stem(try.suffix, try.instead); ok {
			return p + past(p)
		}
	}
	for _, try := range []struct{ suffix, instead, said string }{
		{"ing", "", "ɪŋ"}, {"ing", "e", "ɪŋ"}, {"ers", "e", "əɹz"}, {"er", "", "əɹ"}, {"er", "e", "əɹ"}, {"ly", "", "li"},
	} {
		if p, ok := stem(try.suffix, try.instead); ok {
			return p + try.said
		}
	}
	return ""
}

// plural is how an s sounds after a word.
func plural(p string) string {
	switch last := lastRune(p); {
	case strings.ContainsRune("szʃʒʧʤ", last):
		return "ᵻz"
	case strings.ContainsRune("ptkfθ", last):
		return "s"
	}
	return "z"
}

// past is how an ed sounds after a word.
func past(p string) string {
	switch last := lastRune(p); {
	case last == 't' || last == 'd' || last == 'ɾ':
		return "ᵻd"
	case strings.ContainsRune("pkfθsʃʧ", last):
		return "t"
	}
	return "d"
}

func lastRune(p string) rune {
	r := []rune(p)
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1]
}
