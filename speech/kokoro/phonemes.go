package kokoro

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Accent is a way to speak English.
type Accent string

// The accents the voices have.
const (
	American Accent = "en-us"
	British  Accent = "en-gb"
)

// chunk is a run of words, or the signs between two.
type chunk struct {
	text string
	sign bool
}

// chunks divides a normalised clause at its signs: words become phonemes, signs are said by the voice itself.
func chunks(text string) []chunk {
	var out []chunk
	var words strings.Builder
	flush := func() {
		if t := strings.Join(strings.Fields(words.String()), " "); t != "" {
			out = append(out, chunk{text: t})
		}
		words.Reset()
	}
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case strings.ContainsRune(".,;:!?—", r):
			flush()
			out = append(out, chunk{text: string(r), sign: true})
		case r == '-' || r == '–':
			// A hyphen inside a word is nothing, between words it is a dash.
			if i > 0 && i+1 < len(runes) && unicode.IsSpace(runes[i-1]) && unicode.IsSpace(runes[i+1]) {
				flush()
				out = append(out, chunk{text: "—", sign: true})
			} else {
				words.WriteByte(' ')
			}
		case unicode.IsLetter(r) || r == '\'':
			words.WriteRune(r)
		default:
			words.WriteByte(' ')
		}
	}
	flush()
	return out
}

// assemble puts phonemes and signs together again: signs stand close to the word before.
func assemble(list []chunk, phonemes []string) string {
	var b strings.Builder
	said := 0
	for _, c := range list {
		if !c.sign {
			p := phonemes[said]
			said++
			if p == "" {
				continue
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(p)
			continue
		}
		// Several signs in a row are one, the last; a text does not begin with one.
		text := strings.TrimRight(b.String(), ".,;:!?—")
		if text == "" {
			continue
		}
		b.Reset()
		b.WriteString(text)
		b.WriteString(c.text)
	}
	return b.String()
}

// mapping turns espeak-ng's symbols into Kokoro's, which has single letters for diphthongs and affricates and no mark
// for length. At each place the first that
// fits is taken, so longer ones stand before shorter ones.
var (
	common = []string{
		"dʒ", "ʤ", "tʃ", "ʧ", "aɪ", "I", "aʊ", "W", "eɪ", "A", "ɔɪ", "Y",
		"ʔn\u0329", "ʔn", "n\u0329", "ᵊn", "l\u0329", "ᵊl", "ɬ", "l", "x", "k", "ç", "k",
		"r", "ɹ", "ɐ", "ə", "\u0329", "", "\u0303", "", "\u0361", "",
	}
	american = replacer([]string{"oʊ", "O", "ɜːɹ", "ɜɹ", "ɜː", "ɜɹ", "ɚɹ", "əɹ", "ɚ", "əɹ", "oː", "ɔ", "ː", ""}, common, []string{"e", "A", "o", "O"})
	british  = replacer([]string{"əʊ", "Q", "eə", "ɛː", "iə", "ɪə", "oː", "ɔː"}, common)
	switches = regexp.MustCompile(`\([a-z-]+\)`) // espeak-ng says when it takes a word for a foreign one
)

func replacer(lists ...[]string) *strings.Replacer {
	return strings.NewReplacer(slices.Concat(lists...)...)
}

// fromEspeak makes Kokoro's symbols of espeak-ng's.
func fromEspeak(ipa string, a Accent) string {
	ipa = switches.ReplaceAllString(ipa, "")
	words := strings.Fields(ipa)
	for i, w := range words {
		if w == "ɐ" { // the article, which Kokoro knows by this sign
			continue
		}
		if a == British {
			words[i] = british.Replace(w)
		} else {
			words[i] = american.Replace(w)
		}
		if stem, ok := strings.CutSuffix(words[i], "əl"); ok {
			words[i] = stem + "ᵊl" // an l that is a syllable
		}
	}
	return strings.Join(words, " ")
}

// tokens looks symbols up. What the vocabulary does not have is left out.
func tokens(phonemes string, vocab map[string]int64) []int64 {
	out := make([]int64, 0, utf8.RuneCountInString(phonemes)+2)
	out = append(out, 0)
	for _, r := range phonemes {
		if id, ok := vocab[string(r)]; ok {
			out = append(out, id)
		}
	}
	return append(out, 0)
}
