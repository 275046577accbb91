package guest

import (
	"math"
	"time"
)

// The ruler: a tone whose frequency steps each second, so that a recording shows which second of it is where.
const (
	ToneBase  = 400.0 // Hz, in the first second
	ToneStep  = 50.0  // Hz more in each second
	ToneSteps = 20    // seconds until it begins again
)

// ToneHz is the frequency of the ruler's second n, counted from 0.
func ToneHz(n int) float64 { return ToneBase + ToneStep*float64(n%ToneSteps) }

// Tone gives the samples of a ruler at Rate: loud enough to be shown as speaking, without a jump where it steps.
func Tone(length time.Duration) []int16 {
	out := make([]int16, int(length.Seconds()*Rate))
	phase := 0.0
	for i := range out {
		phase += 2 * math.Pi * ToneHz(i/Rate) / Rate
		out[i] = int16(9000 * math.Sin(phase))
	}
	return out
}
