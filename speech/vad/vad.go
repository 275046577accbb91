//go:build cgo

package vad

import (
	"context"
	"fmt"

	"parley/speech/ort"
)

// Model is the loaded network. It is safe for concurrent use.
type Model struct{ s *ort.Session }

// Load reads the model of a file. ort.Init must have been called.
func Load(path string) (*Model, error) {
	s, err := ort.Open(path, []string{"input", "state", "sr"}, []string{"output", "stateN"}, ort.Options{})
	if err != nil {
		return nil, fmt.Errorf("vad: %w", err)
	}
	m := &Model{s: s}
	// A file that loads may still be another model: it must judge silence as silence.
	p, err := m.Stream().Prob(context.Background(), make([]int16, Frame))
	if err == nil && !(p >= 0 && p < 0.5) {
		err = fmt.Errorf("it takes silence for speech (%.2f)", p)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("vad: %s is not the Silero model: %w", path, err)
	}
	return m, nil
}

// Close frees the model; no stream may be in use.
func (m *Model) Close() error { return m.s.Close() }

// Stream judges one stream of audio. It remembers what it heard, so it serves one stream and one goroutine.
type Stream struct {
	m     *Model
	state []float32 // [2,1,128]
	in    []float32 // history, then the frame
	rate  []int64
}

// Stream begins a new stream.
func (m *Model) Stream() *Stream {
	return &Stream{m: m, state: make([]float32, 2*128), in: make([]float32, history+Frame), rate: []int64{16000}}
}

// Reset forgets what was heard, as after a gap.
func (s *Stream) Reset() {
	clear(s.state)
	clear(s.in)
}

// Prob gives the probability that a frame of exactly Frame samples is speech.
func (s *Stream) Prob(ctx context.Context, pcm []int16) (float64, error) {
	if len(pcm) != Frame {
		return 0, fmt.Errorf("vad: a frame of %d samples instead of %d", len(pcm), Frame)
	}
	copy(s.in, s.in[Frame:])
	for i, v := range pcm {
		s.in[history+i] = float32(v) / 32768
	}
	in, err := ort.Tensor(s.in, 1, history+Frame)
	if err != nil {
		return 0, err
	}
	defer ort.Free(in)
	state, err := ort.Tensor(s.state, 2, 1, 128)
	if err != nil {
		return 0, err
	}
	defer ort.Free(state)
	rate, err := ort.Tensor(s.rate, 1)
	if err != nil {
		return 0, err
	}
	defer ort.Free(rate)
	out, err := s.m.s.Run(ctx, in, state, rate)
	if err != nil {
		return 0, err
	}
	defer ort.Free(out...)
	next, _, err := ort.Floats(out[1])
	if err != nil {
		return 0, err
	}
	copy(s.state, next)
	p, _, err := ort.Floats(out[0])
	if err != nil {
		return 0, err
	}
	if len(p) != 1 {
		return 0, fmt.Errorf("vad: %d answers for one frame", len(p))
	}
	return float64(p[0]), nil
}
