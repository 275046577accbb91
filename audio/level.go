package audio

import (
	"math"
	"sync/atomic"
	"time"
)

// Floor is the level given for digital silence, in dBFS: just below the smallest 16-bit sample.
const Floor = -96.0

// RMS is the level of the samples in dBFS: 0 is a square wave at full scale, a full sine is -3.
func RMS(pcm []int16) float64 {
	if len(pcm) == 0 {
		return Floor
	}
	var sum float64
	for _, s := range pcm {
		sum += float64(s) * float64(s)
	}
	return toDB(math.Sqrt(sum/float64(len(pcm))) / 32768)
}

// Peak is the largest sample in dBFS.
func Peak(pcm []int16) float64 {
	top := 0
	for _, s := range pcm {
		top = max(top, int(s), -int(s))
	}
	return toDB(float64(top) / 32768)
}

func toDB(ratio float64) float64 {
	if ratio <= 0 {
		return Floor
	}
	return max(Floor, 20*math.Log10(ratio))
}

// Level is what a meter shows, in dBFS.
type Level struct {
	RMS    float64 // of the last frame
	Peak   float64 // of the last frame
	Smooth float64 // rises within 10 ms, falls 20 dB in about 0.3 s: what a person's meter shows
}

// Meter measures what passes: a Sink of one writer, read from anywhere.
type Meter struct {
	rate   int
	smooth float64
	now    atomic.Pointer[Level]
}

// NewMeter makes a meter for sound of a rate in Hz.
func NewMeter(rate int) *Meter {
	m := &Meter{rate: rate, smooth: Floor}
	m.now.Store(&Level{Floor, Floor, Floor})
	return m
}

const (
	meterRise = 10 * time.Millisecond
	meterFall = 130 * time.Millisecond
)

// Write measures a frame.
func (m *Meter) Write(f Frame) error {
	if len(f.PCM) == 0 {
		return nil
	}
	rms := RMS(f.PCM)
	length := time.Duration(len(f.PCM)) * time.Second / time.Duration(m.rate)
	constant := meterFall
	if rms > m.smooth {
		constant = meterRise
	}
	m.smooth += (rms - m.smooth) * (1 - math.Exp(-float64(length)/float64(constant)))
	m.now.Store(&Level{RMS: rms, Peak: Peak(f.PCM), Smooth: m.smooth})
	return nil
}

// Level is the latest measurement.
func (m *Meter) Level() Level { return *m.now.Load() }
