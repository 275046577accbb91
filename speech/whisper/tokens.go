package whisper

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tokens knows the bytes of each text token.
type Tokens struct {
	text [][]byte
}

// ReadTokens reads tokens.txt of a folder.
func ReadTokens(dir string) (*Tokens, error) {
	b, err := os.ReadFile(filepath.Join(dir, TokensFile))
	if err != nil {
		return nil, fmt.Errorf("whisper: %w", err)
	}
	t, err := ParseTokens(b)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, dir)
	}
	return t, nil
}

// ParseTokens reads lines of base64 and an id, the ids counting up from zero. A token may be empty.
func ParseTokens(b []byte) (*Tokens, error) {
	t := &Tokens{}
	s := bufio.NewScanner(bytes.NewReader(b))
	for s.Scan() {
		code, id, ok := strings.Cut(s.Text(), " ")
		n, err := strconv.Atoi(id)
		if !ok || err != nil || n != len(t.text) {
			return nil, fmt.Errorf("whisper: %s: line %d does not give token %d", TokensFile, len(t.text)+1, len(t.text))
		}
		raw, err := base64.StdEncoding.DecodeString(code)
		if err != nil {
			return nil, fmt.Errorf("whisper: %s: token %d: %w", TokensFile, n, err)
		}
		t.text = append(t.text, raw)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("whisper: %s: %w", TokensFile, err)
	}
	return t, nil
}

// Len is the number of text tokens.
func (t *Tokens) Len() int { return len(t.text) }

// bytes gives nothing for an id that is no text token.
func (t *Tokens) bytes(id int) []byte {
	if id < 0 || id >= len(t.text) {
		return nil
	}
	return t.text[id]
}

// Text joins tokens to a text. Bytes that are no UTF-8 (a character cut in two) become one U+FFFD.
func (t *Tokens) Text(ids []int) string {
	var b []byte
	for _, id := range ids {
		b = append(b, t.bytes(id)...)
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD"))
}

// span is a word as a stretch of tokens: from ≤ i < to.
type span struct {
	from, to int
	text     string // without space around it
	spaced   bool   // a space stands before it
}

// words cuts tokens into words: at spaces or, in languages that write none, at characters. Punctuation stays with
// the word before it, an opening bracket or quotation mark goes with the word after it.
func (t *Tokens) words(ids []int, lang string) []span {
	var all []span
	for i := 0; i < len(ids); {
		// A character may be spread over several tokens; they stay together.
		from, piece := i, append([]byte(nil), t.bytes(ids[i])...)
		for i++; i < len(ids) && !utf8.Valid(piece); i++ {
			piece = append(piece, t.bytes(ids[i])...)
		}
		text := strings.ToValidUTF8(string(piece), "\uFFFD")
		trimmed := strings.TrimSpace(text)
		spaced := len(text) > 0 && unicode.IsSpace([]rune(text)[0])
		last := len(all) - 1
		switch {
		case trimmed == "" && last >= 0:
			all[last].to = i
		case last < 0:
			all = append(all, span{from, i, trimmed, spaced})
		case opens(all[last].text):
			all[last].text, all[last].to = all[last].text+trimmed, i
		case closes(trimmed) && !(spaced && opens(trimmed)):
			all[last].text, all[last].to = all[last].text+trimmed, i
		case spaced || noSpaces[lang]:
			all = append(all, span{from, i, trimmed, spaced})
		default:
			all[last].text, all[last].to = all[last].text+trimmed, i
		}
	}
	return all
}

// noSpaces are the languages whose words the text does not set apart.
var noSpaces = map[string]bool{"zh": true, "ja": true, "th": true, "lo": true, "my": true, "yue": true, "km": true, "bo": true}

// opens tells whether a text is nothing but marks that belong to what follows.
func opens(text string) bool {
	return text != "" && strings.Trim(text, "\"'“‘«¿¡([{-„‚「『《（") == ""
}

// closes tells whether a text is nothing but marks that belong to what was before.
func closes(text string) bool {
	if opens(text) && strings.Trim(text, "\"'-") != "" {
		return false // an opening bracket
	}
	for _, r := range text {
		if !unicode.IsPunct(r) {
			return false
		}
	}
	return text != ""
}
