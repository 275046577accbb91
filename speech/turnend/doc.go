// Package turnend judges from the sound alone whether a speaker has finished, with the smart-turn model.
package turnend

import "math"

// Window is how much sound the model looks at, in samples at 16 kHz: eight seconds. Of a longer one it takes the end.
const Window = 8 * 16000

// frames is what the model wants: a hundred a second.
const frames = 800

// prepare gives the model's view of a sound: the end of it, silence in front of what is shorter, mean zero and
// variance one.
func prepare(pcm []int16) []float32 {
	pcm = pcm[max(0, len(pcm)-Window):]
	sum, squares := 0.0, 0.0
	for _, v := range pcm {
		x := float64(v) / 32768
		sum += x
		squares += x * x
	}
	mean := sum / Window
	scale := 1 / math.Sqrt(squares/Window-mean*mean+1e-7)
	out := make([]float32, Window)
	pad := Window - len(pcm)
	for i := range pad {
		out[i] = float32(-mean * scale)
	}
	for i, v := range pcm {
		out[pad+i] = float32((float64(v)/32768 - mean) * scale)
	}
	return out
}
