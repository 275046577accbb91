package platformtest

import (
	"context"
	"testing"
	"time"

	"parley/audio"
	"parley/audio/pulse"
	"parley/testkit/need"
	"parley/testkit/voices"
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

// Utter says a sentence, recorded from a person, into the microphone of the browser of the tests. Pages clean what comes
// from a microphone, and a tone is noise to them, which they take away.
func Utter(t *testing.T, ctx context.Context) {
	t.Helper()
	need.Program(t, "ffmpeg")
	prompts, err := voices.Prompts()
	if err == nil {
		prompts, err = voices.Pick(prompts, "demo-abouttotry")
	}
	if err != nil {
		t.Fatal(err)
	}
	voice, err := voices.Decode(ctx, prompts[0].Path, audio.SpeakRate)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Sound(t).Player(ctx, pulse.PlayerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	playing, err := p.Play(ctx, pulse.Samples(voice))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-playing.Done():
	case <-ctx.Done():
		t.Fatal("the sentence did not end")
	}
}
