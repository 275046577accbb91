package pulse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"parley/audio"
)

// Loop is what a loop test found: how long each way takes.
type Loop struct {
	Speak time.Duration // from Play until it is in the browser's microphone
	Hear  time.Duration // from what plays on our speakers until it is heard
}

// The ways a loop test can fail.
var (
	ErrMute = errors.New("what we say does not reach the browser's microphone")
	ErrDeaf = errors.New("what the browser plays is not heard")
	ErrEcho = errors.New("the two directions are not kept apart: the meeting would hear itself")
)

// The probes: short, and of two pitches, so that one is never taken for the other.
const (
	speakProbe  = 1000.0
	hearProbe   = 1600.0
	probeLevel  = -20.0
	probeLength = 150 * time.Millisecond
	// A probe is there within probeLimit, or not at all.
	probeLimit = 2 * time.Second
)

// LoopTest plays a probe in each direction and listens at all ends: each must come out where it belongs and nowhere
// else. Before a join only: what it plays is really in the microphone.
func (s *Server) LoopTest(ctx context.Context) (Loop, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*probeLimit)
	defer cancel()
	var l Loop
	var err error
	if l.Speak, err = s.probe(ctx, MicSink, speakProbe, MicSource, outMonitor, ErrMute); err != nil {
		return l, err
	}
	l.Hear, err = s.probe(ctx, OutSink, hearProbe, outMonitor, MicSource, ErrDeaf)
	return l, err
}

// probe plays into a sink, and listens where it must arrive and where it must not.
func (s *Server) probe(ctx context.Context, sink string, hz float64, here, there string, missing error) (time.Duration, error) {
	o := CaptureOptions{Latency: 10 * time.Millisecond}
	right, err := s.record(ctx, here, o)
	if err != nil {
		return 0, err
	}
	defer right.Close()
	wrong, err := s.record(ctx, there, o)
	if err != nil {
		return 0, err
	}
	defer wrong.Close()
	p, err := s.player(ctx, sink, PlayerOptions{})
	if err != nil {
		return 0, err
	}
	defer p.Close()
	if err := listen(ctx, right, 50*time.Millisecond); err != nil {
		return 0, err
	}
	at := time.Now()
	playing, err := p.Play(ctx, Samples(Tone(hz, probeLevel, probeLength)))
	if err != nil {
		return 0, err
	}
	came, err := spot(ctx, right, hz, at.Add(probeLimit))
	if err != nil {
		return 0, err
	}
	if came.IsZero() {
		return 0, fmt.Errorf("%w: %s → %s", missing, sink, here)
	}
	<-playing.Done()
	// All of it is in the one end: what is in the other by now is an echo.
	leak, err := spot(ctx, wrong, hz, time.Now().Add(100*time.Millisecond))
	if err != nil {
		return 0, err
	}
	if !leak.IsZero() {
		return 0, fmt.Errorf("%w: %s → %s", ErrEcho, sink, there)
	}
	return came.Sub(at), nil
}

// spot reads until a tone is there, and tells when it came; the zero time when it was not by the limit.
func spot(ctx context.Context, c *Capture, hz float64, limit time.Time) (time.Time, error) {
	const window = audio.HearRate / 100
	var pcm []int16
	for time.Now().Before(limit) {
		f, err := c.Read(ctx)
		if err != nil {
			return time.Time{}, err
		}
		pcm = append(pcm, f.PCM...)
		for len(pcm) >= window {
			if pitch(pcm[:window], hz) > probeLevel-12 {
				return f.At, nil
			}
			pcm = pcm[window:]
		}
	}
	return time.Time{}, nil
}

// pitch is the level of one frequency in 16 kHz samples, in dBFS of its peak.
func pitch(pcm []int16, hz float64) float64 {
	var re, im float64
	for i, s := range pcm {
		w := 2 * math.Pi * hz * float64(i) / audio.HearRate
		re += float64(s) * math.Cos(w)
		im += float64(s) * math.Sin(w)
	}
	level := 2 * math.Hypot(re, im) / float64(len(pcm)) / 32768
	return max(audio.Floor, 20*math.Log10(level+1e-9))
}
