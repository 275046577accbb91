package kokoro

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
)

// A voice is a table of styles: the row for so many phonemes, 256 numbers each.
const (
	styleRows = 510
	styleSize = 256
)

// readStyles reads a voice's file.
func readStyles(path string) ([]float32, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("kokoro: voice: %w", err)
	}
	if len(raw) != styleRows*styleSize*4 {
		return nil, fmt.Errorf("kokoro: voice %s has %d bytes instead of %d", path, len(raw), styleRows*styleSize*4)
	}
	out := make([]float32, styleRows*styleSize)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out, nil
}

// style is the row for so many phonemes.
func style(styles []float32, phonemes int) []float32 {
	row := min(phonemes, styleRows-1)
	return styles[row*styleSize : (row+1)*styleSize]
}

// What is cut off at both ends: nearly a third of a second of near silence, which a listener would wait through.
const (
	quiet   = 0.01
	airHead = SampleRate * 2 / 100 // some of it is left, for soft consonants
	airTail = SampleRate * 5 / 100
)

// samples makes 16-bit samples of the model's sound, without the silence around it.
func samples(sound []float32) []int16 {
	from, to := 0, len(sound)
	for from < to && abs(sound[from]) < quiet {
		from++
	}
	for to > from && abs(sound[to-1]) < quiet {
		to--
	}
	if from == to {
		return nil
	}
	from, to = max(0, from-airHead), min(len(sound), to+airTail)
	out := make([]int16, to-from)
	for i, v := range sound[from:to] {
		out[i] = int16(max(-1, min(1, v)) * 32767)
	}
	// The cut ends must not click.
	const ramp = SampleRate / 200
	for i := range min(ramp, len(out)/2) {
		out[i] = int16(int(out[i]) * i / ramp)
		out[len(out)-1-i] = int16(int(out[len(out)-1-i]) * i / ramp)
	}
	return out
}

func abs(v float32) float32 { return float32(math.Abs(float64(v))) }
