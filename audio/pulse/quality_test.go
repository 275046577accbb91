package pulse

import (
	"context"
	"slices"
	"testing"
	"time"

	"parley/audio"
)

// TestTheServerResamplesWell plays tones into our speakers and looks at what is heard at 16 kHz: the level of what is
// speech, and how little of what is above 8 kHz folds back.
func TestTheServerResamplesWell(t *testing.T) {
	s := start(t)
	p, err := s.player(t.Context(), OutSink, PlayerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, c := range []struct {
		hz, heard float64
		low, high float64 // bounds in dB against what was played
	}{
		{200, 200, -0.5, 0.5}, {1000, 1000, -0.5, 0.5}, {3400, 3400, -0.5, 0.5}, {5000, 5000, -1, 0.5}, {6500, 6500, -3, 0.5},
		{9500, 6500, -200, -40}, {11000, 5000, -200, -40},
	} {
		r := listenOn(t, s, outMonitor)
		time.Sleep(50 * time.Millisecond)
		playing := play(t, p, Samples(Tone(c.hz, -10, 400*time.Millisecond)))
		wait(t, "end", playing.Done())
		pcm := r.raw()
		// The loudest tenth of a second that has the pitch.
		best := audio.Floor
		for at := 0; at+1600 <= len(pcm); at += 400 {
			best = max(best, pitch(pcm[at:at+1600], c.heard))
		}
		if d := best + 10; d < c.low || d > c.high {
			t.Errorf("%.0f Hz is heard at %.0f Hz with %.1f dB", c.hz, c.heard, d)
		} else {
			t.Logf("%.0f Hz at %.0f Hz: %.1f dB", c.hz, c.heard, d)
		}
	}
}

func listenOn(t testing.TB, s *Server, source string) *recording {
	t.Helper()
	m, err := s.record(t.Context(), source, CaptureOptions{Latency: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &recording{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer m.Close()
		for {
			f, err := m.Read(ctx)
			if err != nil {
				return
			}
			if f.Pos > int64(len(r.pcm)) {
				r.pcm = append(r.pcm, make([]int16, f.Pos-int64(len(r.pcm)))...)
			}
			r.pcm = append(r.pcm, f.PCM...)
		}
	}()
	return r
}

// raw gives all that was heard.
func (r *recording) raw() []int16 {
	time.Sleep(100 * time.Millisecond)
	r.stop()
	<-r.done
	return slices.Clone(r.pcm)
}
