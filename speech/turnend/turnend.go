//go:build cgo

package turnend

import (
	"context"
	"fmt"

	"parley/speech/ort"
	"parley/speech/whisper"
)

// Model is the loaded network. It is safe for concurrent use.
type Model struct{ s *ort.Session }

// Load reads the model of a file. ort.Init must have been called.
func Load(path string) (*Model, error) {
	// It runs once a pause: its memory is better given back.
	s, err := ort.Open(path, []string{"input_features"}, []string{"logits"}, ort.Options{NoArena: true})
	if err != nil {
		return nil, fmt.Errorf("turnend: %w", err)
	}
	m := &Model{s: s}
	if _, err := m.Prob(context.Background(), nil); err != nil {
		s.Close()
		return nil, fmt.Errorf("turnend: %s is not the smart-turn model: %w", path, err)
	}
	return m, nil
}

// Close frees the model; no call may be running.
func (m *Model) Close() error { return m.s.Close() }

// Prob gives the probability that the speaker has finished with the sound that ends here, which should include some
// 0.2 s of the silence after it.
func (m *Model) Prob(ctx context.Context, pcm []int16) (float64, error) {
	in, err := ort.Tensor(whisper.LogMel(prepare(pcm), frames), 1, whisper.Mels, frames)
	if err != nil {
		return 0, err
	}
	defer ort.Free(in)
	out, err := m.s.Run(ctx, in)
	if err != nil {
		return 0, err
	}
	defer ort.Free(out...)
	p, _, err := ort.Floats(out[0])
	if err != nil {
		return 0, err
	}
	if len(p) != 1 || !(p[0] >= 0 && p[0] <= 1) {
		return 0, fmt.Errorf("turnend: %v is no probability", p)
	}
	return float64(p[0]), nil
}
