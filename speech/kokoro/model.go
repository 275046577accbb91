//go:build cgo

package kokoro

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"parley/speech/ort"
)

// Model is the loaded network. Say may be called from several goroutines, but one at a time is what a machine bears.
type Model struct {
	s      *ort.Session
	vocab  map[string]int64
	voice  func(id string) string
	mu     sync.Mutex
	styles map[string][]float32
}

// Load reads the model and its vocabulary; voice gives the file of a voice. ort.Init must have been called.
func Load(model, vocab string, voice func(id string) string) (*Model, error) {
	raw, err := os.ReadFile(vocab)
	if err != nil {
		return nil, fmt.Errorf("kokoro: %w", err)
	}
	var file struct {
		Vocab map[string]int64 `json:"vocab"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("kokoro: %s: %w", vocab, err)
	}
	if len(file.Vocab) < 100 {
		return nil, fmt.Errorf("kokoro: %s has %d symbols only", vocab, len(file.Vocab))
	}
	// With the arena: without it, the allocator of the C library keeps several times as much after a few clauses.
	s, err := ort.Open(model, []string{"tokens", "style", "speed"}, []string{"audio"}, ort.Options{})
	if err != nil {
		return nil, fmt.Errorf("kokoro: %w", err)
	}
	return &Model{s: s, vocab: file.Vocab, voice: voice, styles: map[string][]float32{}}, nil
}

// Close frees the model; no call may be running.
func (m *Model) Close() error { return m.s.Close() }

// maxStyles bounds the voices that are kept, of half a megabyte each.
const maxStyles = 16

func (m *Model) style(voice string) ([]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.styles[voice]; ok {
		return s, nil
	}
	s, err := readStyles(m.voice(voice))
	if err != nil {
		return nil, err
	}
	if len(m.styles) >= maxStyles {
		clear(m.styles)
	}
	m.styles[voice] = s
	return s, nil
}

// Say gives the sound of a clause, at 24 kHz.
func (m *Model) Say(ctx context.Context, c Clause) ([]int16, error) {
	styles, err := m.style(c.Voice)
	if err != nil {
		return nil, err
	}
	ids := tokens(c.Phonemes, m.vocab)
	if len(ids) == 2 {
		return nil, nil
	}
	if len(ids) > styleRows+2 {
		return nil, errors.New("kokoro: the clause is too long")
	}
	in, err := ort.Tensor(ids, 1, int64(len(ids)))
	if err != nil {
		return nil, err
	}
	defer ort.Free(in)
	st, err := ort.Tensor(style(styles, len(ids)-2), 1, styleSize)
	if err != nil {
		return nil, err
	}
	defer ort.Free(st)
	speed, err := ort.Tensor([]float32{float32(c.Speed)}, 1)
	if err != nil {
		return nil, err
	}
	defer ort.Free(speed)
	out, err := m.s.Run(ctx, in, st, speed)
	if err != nil {
		return nil, err
	}
	defer ort.Free(out...)
	sound, _, err := ort.Floats(out[0])
	if err != nil {
		return nil, err
	}
	return samples(sound), nil
}
