package server

import (
	"testing"

	"parley/speech/whisper"
)

func TestClarity(t *testing.T) {
	frame := func(level int16) []int16 {
		pcm := make([]int16, 512)
		for i := range pcm {
			pcm[i] = level * int16(1-2*(i%2))
		}
		return pcm
	}
	for _, c := range []struct {
		name        string
		quiet, loud int16
		clean       bool
	}{
		{"silence behind", 0, 3000, true},
		{"21 dB", 267, 3000, true},
		{"19 dB", 337, 3000, false},
		{"10 dB", 950, 3000, false},
		{"nobody has spoken", 100, 0, false},
	} {
		var x clarity
		for range 200 {
			x.hear(frame(c.quiet), 0.01)
		}
		for range 200 {
			x.hear(frame(c.loud), 0.99)
		}
		if got := x.pad() == whisper.PartialPad; got != c.clean {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
