package server_test

import (
	"context"
	"sync/atomic"
	"testing"

	"parley/speech/server"
	"parley/speech/speechtest"
	"parley/speech/wire"
)

// counted is an ear that counts how often it listens.
type counted struct {
	server.Ear
	heard, resets *atomic.Int64
}

func (c counted) Prob(ctx context.Context, pcm []int16) (float64, error) {
	c.heard.Add(1)
	return c.Ear.Prob(ctx, pcm)
}

func (c counted) Reset() { c.resets.Add(1) }

func TestAMutedTrackCostsNothing(t *testing.T) {
	var heard, resets atomic.Int64
	p := start(t, func(o *server.Options) {
		o.Load = func(context.Context) (*server.Models, error) {
			m := speechtest.Models()
			ear := m.Ear
			m.Ear = func() server.Ear { return counted{ear(), &heard, &resets} }
			return m, nil
		}
	})
	c := p.listen(wire.Listen{Lang: "en"})
	c.want(wire.TypeAccepted)
	silence := make([]int16, 60*16000)
	for i := range silence {
		silence[i] = int16(i%79) - 39
	}
	c.audio(0, silence)
	n := int64(len(silence))
	c.flush(1, n)
	c.want(wire.TypeFlushed)
	if got := heard.Load(); got > 40 {
		t.Errorf("it listened to %d frames of silence", got)
	}
	tone := speechtest.Tone("alpha bravo charlie")
	c.audio(n, tone)
	c.flush(2, n+int64(len(tone)))
	if f := want[wire.Final](c, wire.TypeFinal); f.Text != "alpha bravo charlie." || f.Start < n-640 || f.Start > n+640 {
		t.Errorf("%+v", f)
	}
	if resets.Load() != 0 {
		t.Errorf("%d resets", resets.Load())
	}
}

// Audio that stops in the middle of a word, as when a participant is muted: its final does not wait for more.
func TestAudioThatStopsEndsTheSegment(t *testing.T) {
	p := start(t, nil)
	c := p.listen(wire.Listen{Lang: "en"})
	c.want(wire.TypeAccepted)
	tone := speechtest.Tone("alpha bravo charlie")
	c.audio(0, tone)
	if f := want[wire.Final](c, wire.TypeFinal); f.Text != "alpha bravo charlie." {
		t.Errorf("%+v", f)
	}
	// It goes on where it stopped, and nothing is lost or doubled.
	n := int64(len(tone))
	c.audio(n, speechtest.Tone("delta echo"))
	c.flush(1, n+int64(len(speechtest.Tone("delta echo"))))
	if f := want[wire.Final](c, wire.TypeFinal); f.Text != "delta echo." {
		t.Errorf("%+v", f)
	}
}
