package platformtest

import (
	"context"
	"testing"
	"time"

	"parley/audio/pulse"
)

// Listen records what the browser of the tests plays, 16 kHz mono.
func Listen(t *testing.T, ctx context.Context, d time.Duration) []int16 {
	t.Helper()
	c, err := Sound(t).Capture(ctx, pulse.CaptureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var pcm []int16
	for len(pcm) < int(d.Seconds()*16000) {
		f, err := c.Read(ctx)
		if err != nil {
			t.Fatalf("listening: %v", err)
		}
		pcm = append(pcm, f.PCM...)
	}
	return pcm
}

// Utter plays a tone into the microphone of the browser of the tests.
func Utter(t *testing.T, ctx context.Context, hz float64, d time.Duration) {
	t.Helper()
	p, err := Sound(t).Player(ctx, pulse.PlayerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	playing, err := p.Play(ctx, pulse.Samples(pulse.Tone(hz, -10, d)))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-playing.Done():
	case <-ctx.Done():
		t.Fatal("the tone did not end")
	}
}
