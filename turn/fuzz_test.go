package turn_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"parley/transcript"
	"parley/turn"
	"parley/turn/turntest"
)

func TestAlwaysTrue(t *testing.T) {
	meetings := 1500
	if testing.Short() {
		meetings = 300
	}
	turntest.Check(t, turn.Reference{}, meetings)
}

// restless is a policy that does everything a policy may do, at random moments: the engine's promises hold for
// every policy, also for a bad one.
type restless struct{}

func (restless) Name() string { return "restless" }

func (restless) Hold(h turn.Held) (time.Duration, bool) {
	switch h.Now.Milliseconds() % 3 {
	case 0:
		return h.Now - time.Second, true
	case 1:
		return h.LastFinal + time.Minute, true
	}
	return 0, false
}

func (restless) Overlap(o turn.Overlap) (turn.Verdict, time.Duration) {
	return turn.Verdict(o.Now.Milliseconds() % 3), o.Now + time.Duration(o.Now.Milliseconds()%700+1)*time.Millisecond
}

func TestAlwaysTrueForAnyPolicy(t *testing.T) {
	turntest.Check(t, restless{}, 200)
}

func FuzzEngine(f *testing.F) {
	f.Add(uint64(1), []byte{3, 7, 16, 20, 0, 3, 14, 3, 9, 10, 11, 7, 13})
	f.Fuzz(func(t *testing.T, seed uint64, kinds []byte) {
		turntest.Play(t, turn.Reference{}, turntest.RandomSettings(rand.New(rand.NewPCG(seed, 7))), seed, kinds[:min(len(kinds), 500)])
	})
}

// TestAnObjectionComesBeforeWhatIsOverdue: the loop was late, and so the turn's time had passed unnoticed.
func TestAnObjectionComesBeforeWhatIsOverdue(t *testing.T) {
	for _, ev := range []turn.Event{turn.Objected{}, turn.TranscriptDeleted{}} {
		e := turn.New(turn.Default(), nil)
		e.Step(time.Second, turn.Final{Segment: transcript.Segment{Seq: 1, End: 0.6, Text: "Please do not record me"}})
		for _, eff := range e.Step(10*time.Second, ev) {
			if _, ok := eff.(turn.Deliver); ok {
				t.Errorf("%T: the turn is given all the same", ev)
			}
		}
	}
}
