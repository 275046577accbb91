package models

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// The two recognisers that are installed.
const (
	TinyEn = "tiny.en" // English only; partials, and finals on a weak machine
	Base   = "base"    // 99 languages
)

// Paths says where each file of an installation lies. It does not look whether they exist; Status does.
type Paths struct {
	Root        string
	Kokoro      string // int8 ONNX: tokens int64 [1,n], style float32 [1,256], speed float32 [1] → audio float32, 24 kHz
	KokoroVocab string // JSON: symbol → id, 114 of them
	VAD         string // Silero v6 ONNX
	TurnEnd     string // smart-turn v3.2 int8 ONNX: mel float32 [1,80,800] → probability
	Embedder    string // d-vector int8 ONNX
	Runtime     string // libonnxruntime.so
	voices      string
	lexicon     string
	whisper     string
}

// At gives the layout below root, the value of PARLEY_MODELS.
func At(root string) Paths {
	in := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	return Paths{
		Root:        root,
		Kokoro:      in("kokoro", "kokoro.int8.onnx"),
		KokoroVocab: in("kokoro", "vocab.json"),
		VAD:         in("vad", "silero_vad.onnx"),
		TurnEnd:     in("turn", "smart_turn.onnx"),
		Embedder:    in("embedder", "embedder.int8.onnx"),
		Runtime:     in("runtime", "libonnxruntime.so"),
		voices:      in("kokoro", "voices"),
		lexicon:     in("lexicon"),
		whisper:     in("whisper"),
	}
}

// Whisper is the folder of one recogniser (TinyEn or Base), as speech/whisper's Load wants it.
func (p Paths) Whisper(name string) string { return filepath.Join(p.whisper, name) }

// Voice is the file of a voice: 510 rows of 256 little-endian float32, the row chosen by the number of tokens.
func (p Paths) Voice(id string) string { return filepath.Join(p.voices, id+".bin") }

// Lexicon is a word list with phonemes: us_gold, us_silver, gb_gold or gb_silver.
func (p Paths) Lexicon(name string) string { return filepath.Join(p.lexicon, name+".json") }

// Voices lists the ids of the voices that lie there, sorted: a or b for the accent, f or m, then a name.
func (p Paths) Voices() ([]string, error) {
	entries, err := os.ReadDir(p.voices)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".bin"); ok && !e.IsDir() { // a link to one will do, as everywhere in this folder
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	return ids, nil
}
