package convert

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"

	"parley/speech/whisper"
)

// tokenizer is what tokenizer.json says.
type tokenizer struct {
	text    [][]byte       // bytes of each text token, by id
	special map[string]int // "<|en|>" and so on
}

func readTokenizer(b []byte) (*tokenizer, error) {
	var f struct {
		Added []struct {
			ID      int    `json:"id"`
			Content string `json:"content"`
		} `json:"added_tokens"`
		Model struct {
			Vocab map[string]int `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("convert: tokenizer.json: %w", err)
	}
	t := &tokenizer{special: map[string]int{}}
	for _, a := range f.Added {
		t.special[a.Content] = a.ID
	}
	end, ok := t.special["<|endoftext|>"]
	if !ok || end <= 0 || end > len(f.Model.Vocab) {
		return nil, fmt.Errorf("%w: tokenizer.json has no end of text", ErrShape)
	}
	t.text = make([][]byte, end)
	for word, id := range f.Model.Vocab {
		if id >= end {
			continue // the end of text itself stands among the words in one of the models
		}
		raw, err := unmap(word)
		if err != nil || id < 0 || t.text[id] != nil {
			return nil, fmt.Errorf("%w: tokenizer.json: token %d", ErrShape, id)
		}
		t.text[id] = raw
	}
	for id, raw := range t.text {
		if raw == nil { // one token of the large vocabulary stands for no bytes at all
			return nil, fmt.Errorf("%w: tokenizer.json: no token %d", ErrShape, id)
		}
	}
	return t, nil
}

// byteOf undoes the alphabet of byte-level pair encoding: printable bytes stand for themselves, the others for the
// characters from U+0100 on, in order.
var byteOf = func() map[rune]byte {
	m := map[rune]byte{}
	next := rune(0x100)
	for b := range 256 {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae && b <= 0xff:
			m[rune(b)] = byte(b)
		default:
			m[next] = byte(b)
			next++
		}
	}
	return m
}()

func unmap(word string) ([]byte, error) {
	out := make([]byte, 0, len(word))
	for _, r := range word {
		b, ok := byteOf[r]
		if !ok {
			return nil, fmt.Errorf("convert: %q is outside the alphabet", r)
		}
		out = append(out, b)
	}
	return out, nil
}

// write writes tokens.txt: base64 of a token's bytes, a space, its id; text tokens only.
func (t *tokenizer) write(w io.Writer) error {
	out := bufio.NewWriter(w)
	for id, raw := range t.text {
		fmt.Fprintf(out, "%s %d\n", base64.StdEncoding.EncodeToString(raw), id)
	}
	return out.Flush()
}

func (t *tokenizer) must(names ...string) ([]int, error) {
	ids := make([]int, len(names))
	for i, n := range names {
		id, ok := t.special["<|"+n+"|>"]
		if !ok {
			return nil, fmt.Errorf("%w: tokenizer.json has no %s", ErrShape, n)
		}
		ids[i] = id
	}
	return ids, nil
}

// languages are the language tokens by code. They lie between the start token and the one for translation.
func (t *tokenizer) languages() map[string]int {
	from, to := t.special["<|startoftranscript|>"], t.special["<|translate|>"]
	m := map[string]int{}
	for name, id := range t.special {
		if id > from && id < to {
			m[strings.Trim(name, "<|>")] = id
		}
	}
	return m
}

type modelConfig struct {
	Align         [][2]int `json:"alignment_heads"`
	Suppress      []int    `json:"suppress_ids"`
	SuppressBegin []int    `json:"suppress_ids_begin"`
}

func parseModelConfig(b []byte) (modelConfig, error) {
	var c modelConfig
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("convert: config.json: %w", err)
	}
	if len(c.Align) == 0 {
		return c, fmt.Errorf("%w: config.json names no alignment heads", ErrShape)
	}
	return c, nil
}

func alignmentHeads(b []byte) ([][2]int, error) {
	c, err := parseModelConfig(b)
	return c.Align, err
}

// describe makes whisper.json. English-only models are told by their vocabulary: it lacks one language token.
func describe(name string, w *weights, t *tokenizer, config []byte) (whisper.Config, error) {
	ids, err := t.must("endoftext", "startoftranscript", "translate", "transcribe", "nocaptions", "notimestamps")
	if err != nil {
		return whisper.Config{}, err
	}
	mc, err := parseModelConfig(config)
	if err != nil {
		return whisper.Config{}, err
	}
	c := whisper.Config{
		Layout: whisper.Layout, Name: name,
		Width: w.d, Heads: w.heads, Layers: w.decLayers, Vocabulary: w.vocab,
		AudioFrames: w.audio, TextTokens: w.text, AlignHeads: len(w.align),
		EndOfText: ids[0], Start: ids[1], Transcribe: ids[3], NoSpeech: ids[4], NoTimestamps: ids[5],
		SuppressFirst: mc.SuppressBegin,
	}
	sort.Ints(c.SuppressFirst)
	if w.vocab >= multilingualVocabulary {
		c.Languages = t.languages()
	}
	return c, nil
}

// multilingualVocabulary is the least number of tokens of a model that knows more than English.
const multilingualVocabulary = 51865

func encodeConfig(c whisper.Config) ([]byte, error) {
	b, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return nil, err
	}
	if _, err := whisper.ParseConfig(b); err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
