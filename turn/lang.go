package turn

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"parley/transcript"
)

// The word lists of each language are files: adding a language adds a file.
//
//go:embed lang/*.txt
var langFiles embed.FS

// language is what the rules know of one language, in folded words.
type language struct {
	agree, trail, not, ask, abbrev map[string]bool
	phrases                        [][]string // of several words that agree together
	clips                          []string
}

var languages = loadLanguages()

func loadLanguages() map[string]*language {
	out := map[string]*language{}
	files, err := langFiles.ReadDir("lang")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		data, err := langFiles.ReadFile(path.Join("lang", f.Name()))
		if err != nil {
			panic(err)
		}
		l, err := parseLanguage(string(data))
		if err != nil {
			panic("turn: lang/" + f.Name() + ": " + err.Error())
		}
		out[strings.TrimSuffix(f.Name(), ".txt")] = l
	}
	return out
}

func parseLanguage(data string) (*language, error) {
	l := &language{agree: map[string]bool{}, trail: map[string]bool{}, not: map[string]bool{}, ask: map[string]bool{}, abbrev: map[string]bool{}}
	lists := map[string]map[string]bool{"agree": l.agree, "trail": l.trail, "not": l.not, "ask": l.ask, "abbrev": l.abbrev}
	for line := range strings.Lines(data) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case key == "" || strings.HasPrefix(key, "#"):
		case key == "clip":
			l.clips = append(l.clips, rest)
		case key == "phrase":
			words := transcript.Words(rest)
			if len(words) < 2 {
				return nil, fmt.Errorf("the phrase %q is a word: it belongs to agree", rest)
			}
			l.phrases = append(l.phrases, words)
		case lists[key] != nil:
			for _, w := range strings.Fields(rest) {
				words := transcript.Words(w)
				if key == "trail" || key == "ask" {
					words = exactWords(w) // "si" is not "sí"
				}
				for _, f := range words {
					lists[key][f] = true
				}
			}
		default:
			return nil, fmt.Errorf("unknown list %q", key)
		}
	}
	if len(l.agree) == 0 || len(l.trail) == 0 || len(l.not) == 0 || len(l.ask) == 0 || len(l.clips) == 0 {
		return nil, fmt.Errorf("a list is missing")
	}
	return l, nil
}

// exactWords is transcript.Words with the accents kept.
func exactWords(text string) []string {
	var out []string
	for _, s := range transcript.Spans(text) {
		w := strings.ToLower(norm.NFC.String(text[s.Start:s.End]))
		out = append(out, strings.Trim(strings.ReplaceAll(w, "’", "'"), "'"))
	}
	return out
}

// base is the language of a code: "en" of "en-US".
func base(lang string) string {
	lang, _, _ = strings.Cut(strings.ToLower(lang), "-")
	lang, _, _ = strings.Cut(lang, "_")
	return lang
}

// listed says that a folded word is in a list of a language. Where the language is not known (or not one of
// ours) the word counts when any language lists it: who mixes languages agrees in any of them.
func listed(lang, word string, list func(*language) map[string]bool) bool {
	if l, ok := languages[base(lang)]; ok {
		return list(l)[word]
	}
	for _, l := range languages {
		if list(l)[word] {
			return true
		}
	}
	return false
}

// Agrees says that a folded word (transcript.Words) merely agrees.
func Agrees(lang, word string) bool {
	return listed(lang, word, func(l *language) map[string]bool { return l.agree })
}

// Agreement says of each of a text's folded words whether it merely agrees: by itself, or as a part of a phrase that does
// ("I see").
func Agreement(lang string, words []string) []bool {
	out := make([]bool, len(words))
	for i, w := range words {
		out[i] = out[i] || Agrees(lang, w)
		if n := phraseAt(lang, words[i:]); n > 0 {
			for k := range n {
				out[i+k] = true
			}
		}
	}
	return out
}

// phraseAt is how many words the longest agreeing phrase has with which words begin.
func phraseAt(lang string, words []string) (longest int) {
	known, ok := languages[base(lang)]
	for _, l := range languages {
		if ok && l != known {
			continue
		}
		for _, p := range l.phrases {
			if len(p) > longest && len(p) <= len(words) && slices.Equal(p, words[:len(p)]) {
				longest = len(p)
			}
		}
	}
	return longest
}

// Negates says that a folded word turns a sentence round.
func Negates(lang, word string) bool {
	return listed(lang, word, func(l *language) map[string]bool { return l.not })
}

// trails says that a sentence ending in this word goes on. Unlike agreement, an unknown language trails off
// only by words that its own lists would have, so English is assumed.
func trails(lang, word string) bool {
	if _, ok := languages[base(lang)]; !ok {
		lang = "en"
	}
	return listed(lang, word, func(l *language) map[string]bool { return l.trail })
}

func asks(lang, word string) bool {
	if _, ok := languages[base(lang)]; !ok {
		lang = "en"
	}
	return listed(lang, word, func(l *language) map[string]bool { return l.ask })
}

func abbreviates(lang, word string) bool {
	if _, ok := languages[base(lang)]; !ok {
		lang = "en"
	}
	return listed(lang, word, func(l *language) map[string]bool { return l.abbrev })
}

// Samples are a word of a language that merely agrees and one that turns a sentence round.
func Samples(lang string) (agree, not string) {
	l, ok := languages[base(lang)]
	if !ok {
		l = languages["en"]
	}
	return least(l.agree), least(l.not)
}

func least(words map[string]bool) string { return slices.Min(slices.Collect(maps.Keys(words))) }
