package wire

import "math"

// Level is how loud samples are as RTP says it: decibels below full scale, 127 for silence.
func Level(pcm []int16) uint8 {
	if len(pcm) == 0 {
		return 127
	}
	var sum float64
	for _, s := range pcm {
		sum += float64(s) * float64(s)
	}
	rms := math.Sqrt(sum/float64(len(pcm))) / 32768
	if rms <= 0 {
		return 127
	}
	return uint8(min(127, max(0, math.Round(-20*math.Log10(rms)))))
}
