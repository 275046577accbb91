package pulse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"parley/audio"
)

// The measurements below are for the bench and the doctor: they play on a server that nobody else uses.

// loudAbove and quietBelow tell a played tone from silence, in dBFS.
const (
	loudAbove  = -40.0
	quietBelow = -60.0
)

// errUnheard means that a tone was played and did not arrive.
var errUnheard = errors.New("what was played was not heard")

// Tone is a sine of 24 kHz samples.
func Tone(hz, dbfs float64, d time.Duration) []int16 {
	pcm := make([]int16, int(d.Seconds()*audio.SpeakRate))
	top := 32767 * math.Pow(10, dbfs/20)
	for i := range pcm {
		pcm[i] = int16(math.Round(top * math.Sin(2*math.Pi*hz*float64(i)/audio.SpeakRate)))
	}
	return pcm
}

// MeasureLatency plays n tones and gives the times from Play until the first sound of each arrives from the
// monitor of the sink that the browser hears.
func MeasureLatency(ctx context.Context, s *Server, n int) ([]time.Duration, error) {
	return measure(ctx, s, n, func(p *Player, m *Capture) (time.Duration, error) {
		at := time.Now()
		playing, err := p.Play(ctx, Samples(Tone(1000, -10, 150*time.Millisecond)))
		if err != nil {
			return 0, err
		}
		heard, err := until(ctx, m, func(pcm []int16) bool { return audio.Peak(pcm) > loudAbove })
		if err != nil {
			return 0, err
		}
		<-playing.Done()
		_, err = until(ctx, m, func(pcm []int16) bool { return audio.Peak(pcm) < quietBelow })
		return heard.Sub(at), err
	})
}

// MeasureStop stops n tones and gives the times from Stop until silence arrives from the monitor.
func MeasureStop(ctx context.Context, s *Server, n int) ([]time.Duration, error) {
	return measure(ctx, s, n, func(p *Player, m *Capture) (time.Duration, error) {
		playing, err := p.Play(ctx, Samples(Tone(1000, -10, 5*time.Second)))
		if err != nil {
			return 0, err
		}
		if _, err := until(ctx, m, func(pcm []int16) bool { return audio.Peak(pcm) > loudAbove }); err != nil {
			return 0, err
		}
		if err := listen(ctx, m, time.Duration(100+rand.IntN(100))*time.Millisecond); err != nil {
			return 0, err
		}
		at := time.Now()
		playing.Stop()
		quiet, err := until(ctx, m, func(pcm []int16) bool { return audio.Peak(pcm) < quietBelow })
		<-playing.Done()
		return quiet.Sub(at), err
	})
}

// MeasureDuck lowers n tones and gives the times from Duck until the lower level arrives from the monitor.
func MeasureDuck(ctx context.Context, s *Server, n int) ([]time.Duration, error) {
	return measure(ctx, s, n, func(p *Player, m *Capture) (time.Duration, error) {
		playing, err := p.Play(ctx, Samples(Tone(1000, -10, 5*time.Second)))
		if err != nil {
			return 0, err
		}
		if _, err := until(ctx, m, func(pcm []int16) bool { return audio.Peak(pcm) > loudAbove }); err != nil {
			return 0, err
		}
		if err := listen(ctx, m, time.Duration(100+rand.IntN(100))*time.Millisecond); err != nil {
			return 0, err
		}
		at := time.Now()
		p.Duck(audio.Duck)
		lower, err := until(ctx, m, func(pcm []int16) bool { return audio.Peak(pcm) < -10+audio.Duck+1 })
		p.Restore()
		playing.Stop()
		<-playing.Done()
		if err == nil {
			_, err = until(ctx, m, func(pcm []int16) bool { return audio.Peak(pcm) < quietBelow })
		}
		return lower.Sub(at), err
	})
}

// MeasureOther lets another program play a tone of a second or less n times, and gives the times from asking for it until
// its first sound arrives, as MeasureLatency does for ours. play starts it and gives what ends it.
func MeasureOther(ctx context.Context, s *Server, n int, play func(context.Context) (stop func(), err error)) ([]time.Duration, error) {
	return measure(ctx, s, n, func(_ *Player, m *Capture) (time.Duration, error) {
		at := time.Now()
		stop, err := play(ctx)
		if err != nil {
			return 0, err
		}
		heard, err := until(ctx, m, func(pcm []int16) bool { return audio.Peak(pcm) > loudAbove })
		stop()
		if err != nil {
			return 0, err
		}
		_, err = until(ctx, m, func(pcm []int16) bool { return audio.Peak(pcm) < quietBelow })
		return heard.Sub(at), err
	})
}

// MeasureCapture gives the times between arrivals from what the meeting plays.
func MeasureCapture(ctx context.Context, s *Server, n int) ([]time.Duration, error) {
	c, err := s.Capture(ctx, CaptureOptions{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var out []time.Duration
	var last time.Time
	for len(out) < n {
		f, err := c.Read(ctx)
		if err != nil {
			return out, err
		}
		if !last.IsZero() {
			out = append(out, f.At.Sub(last))
		}
		last = f.At
	}
	return out, nil
}

// measure does one trial after the other, at moments that have nothing to do with the server's clock.
func measure(ctx context.Context, s *Server, n int, trial func(*Player, *Capture) (time.Duration, error)) ([]time.Duration, error) {
	m, err := s.Monitor(ctx, CaptureOptions{Latency: 10 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	p, err := s.Player(ctx, PlayerOptions{})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var out []time.Duration
	for i := range n {
		if err := listen(ctx, m, time.Duration(100+rand.IntN(100))*time.Millisecond); err != nil {
			return out, err
		}
		d, err := trial(p, m)
		if err != nil {
			return out, fmt.Errorf("trial %d of %d: %w", i+1, n, err)
		}
		out = append(out, d)
	}
	return out, nil
}

// listen lets sound pass for a while.
func listen(ctx context.Context, m audio.Source, d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
		if _, err := m.Read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// until gives the time when the first stretch arrived that is as it should be.
func until(ctx context.Context, m audio.Source, is func([]int16) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Second, errUnheard)
	defer cancel()
	for {
		f, err := m.Read(ctx)
		if err != nil {
			return time.Time{}, err
		}
		if is(f.PCM) {
			return f.At, nil
		}
	}
}
