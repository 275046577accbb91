package local

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/server"
	"parley/speech/speechtest"
)

// mute is a voice that says when it was asked for a clause, and makes none until it may.
type mute struct {
	speechtest.Voice
	asked chan struct{}
	from  int // the clauses before this one are made at once
	n     int
}

func (m *mute) Say(ctx context.Context, c server.Clause) ([]int16, error) {
	m.n++
	if m.n <= m.from {
		return m.Voice.Say(ctx, c)
	}
	m.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestAVoiceThatDies: before the first piece another process makes the whole text, and later the text broke off. Never is
// that taken for the end of the text.
func TestAVoiceThatDies(t *testing.T) {
	const text = "one, two, three."
	for _, c := range []struct {
		name string
		from int // clauses that the first process makes
		want int // pieces in all
	}{{"before the first piece", 0, 3}, {"after it", 1, 1}} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			m := &mute{asked: make(chan struct{}, 1), from: c.from}
			h.voice = m
			e := h.engine(runDir(t))
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			clip, err := e.Speak(ctx, speech.SpeakRequest{Text: text})
			if err != nil {
				t.Fatal(err)
			}
			defer clip.Close()
			select {
			case <-m.asked:
			case <-ctx.Done():
				t.Fatal("the voice was not asked")
			}
			h.voice = speechtest.Voice{} // of the next process
			h.die()
			pieces := 0
			for err == nil {
				if _, err = clip.Next(ctx); err == nil {
					pieces++
				}
			}
			if pieces != c.want {
				t.Errorf("%d pieces, want %d (%v)", pieces, c.want, err)
			}
			if ended := errors.Is(err, io.EOF); ended != (c.from == 0) || !ended && speech.KindOf(err) != speech.KindNetwork {
				t.Errorf("the end: %v", err)
			}
		})
	}
}
