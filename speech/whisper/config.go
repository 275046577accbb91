package whisper

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The names of the files in a model's folder.
const (
	EncoderFile = "encoder.onnx"
	DecoderFile = "decoder.onnx"
	TokensFile  = "tokens.txt"
	ConfigFile  = "whisper.json"
)

// Layout names the form of the two graphs. A folder of another layout is refused, never guessed at.
const Layout = "parley-2"

// Mels is the number of mel bands of the features.
const Mels = 80

// Config describes a model: whisper.json in its folder. All numbers but the sizes are token ids.
type Config struct {
	Layout string `json:"layout"`
	Name   string `json:"name"`

	Width       int `json:"width"`        // of a position's vector
	Heads       int `json:"heads"`        // of the decoder, each 64 wide
	Layers      int `json:"layers"`       // of the decoder
	Vocabulary  int `json:"vocabulary"`   // tokens, special ones included
	AudioFrames int `json:"audio_frames"` // positions of the encoder: 50 for each second
	TextTokens  int `json:"text_tokens"`  // positions of the decoder
	AlignHeads  int `json:"align_heads"`  // cross-attention heads that show which second a token comes from

	EndOfText    int `json:"end_of_text"` // text tokens are those below it
	Start        int `json:"start"`
	Transcribe   int `json:"transcribe"`
	NoSpeech     int `json:"no_speech"`
	NoTimestamps int `json:"no_timestamps"`
	// Languages are the language tokens by code; empty for a model that knows English only.
	Languages map[string]int `json:"languages,omitempty"`
	// SuppressFirst are tokens that may not begin a text.
	SuppressFirst []int `json:"suppress_first"`
}

// Multilingual tells whether the model knows more than English.
func (c Config) Multilingual() bool { return len(c.Languages) > 0 }

// ErrLayout means that the folder holds no model of this program's form.
var ErrLayout = errors.New("whisper: the model is not in this program's layout; parley models fetch writes it anew")

// ReadConfig reads whisper.json of a folder.
func ReadConfig(dir string) (Config, error) {
	b, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if err != nil {
		return Config{}, fmt.Errorf("whisper: %w", err)
	}
	c, err := ParseConfig(b)
	if err != nil {
		return Config{}, fmt.Errorf("%w (%s)", err, dir)
	}
	return c, nil
}

// ParseConfig reads and checks the description of a model.
func ParseConfig(b []byte) (Config, error) {
	var c Config
	if err := json.Unmarshal(b, &c); err != nil {
		return Config{}, fmt.Errorf("whisper: %s: %w", ConfigFile, err)
	}
	if c.Layout != Layout {
		return Config{}, fmt.Errorf("%w: it says %q", ErrLayout, c.Layout)
	}
	inside := func(n, most int) bool { return n > 0 && n <= most }
	ok := inside(c.Heads, 64) && c.Width == c.Heads*64 && inside(c.Layers, 64) && inside(c.Vocabulary, 1<<20) &&
		inside(c.AudioFrames, 1<<16) && inside(c.TextTokens, 1<<16) && inside(c.AlignHeads, c.Heads*c.Layers)
	ids := []int{c.EndOfText, c.Start, c.NoSpeech, c.NoTimestamps}
	if c.Multilingual() {
		ids = append(ids, c.Transcribe)
	}
	for _, id := range c.Languages {
		ids = append(ids, id)
	}
	for _, id := range ids {
		ok = ok && inside(id, c.Vocabulary-1)
	}
	for _, id := range c.SuppressFirst {
		ok = ok && id >= 0 && id < c.Vocabulary
	}
	if !ok {
		return Config{}, fmt.Errorf("whisper: %s holds impossible numbers", ConfigFile)
	}
	return c, nil
}
