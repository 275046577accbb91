package turn

import (
	"testing"
	"time"
)

func TestOurVoiceGoesDownBeforeItIsDecided(t *testing.T) {
	const ms = time.Millisecond
	base := Overlap{Settings: Default(), Began: 1000 * ms, Voice: true, VoiceAt: 2000 * ms}
	with := func(now time.Duration, change func(*Overlap)) Overlap {
		o := base
		o.Now = now
		if change != nil {
			change(&o)
		}
		return o
	}
	for _, c := range []struct {
		name  string
		view  Overlap
		want  Verdict
		again time.Duration
	}{
		{"not yet", with(2099*ms, nil), Keep, 2100 * ms},
		{"after a tenth of a second", with(2100*ms, nil), Lower, 3500 * ms},
		{"a hum is over by now", with(3499*ms, nil), Lower, 3500 * ms},
		{"noise that goes on", with(3500*ms, nil), Keep, 0},
		{"it fell silent", with(2500*ms, func(o *Overlap) { o.Voice = false }), Keep, 0},
		{"one word and going on", with(4000*ms, func(o *Overlap) { o.Words = 1 }), Lower, 0},
		{"two words", with(2500*ms, func(o *Overlap) { o.Words = 2 }), Yield, 0},
		{"agreeing words", with(2500*ms, func(o *Overlap) { o.Agreed = 2 }), Lower, 3500 * ms},
		{"the page names nobody", with(2500*ms, func(o *Overlap) { o.Names = true }), Keep, 0},
		{"the page names somebody", with(2500*ms, func(o *Overlap) { o.Names, o.ShownNow = true, true }), Lower, 3500 * ms},
		{"a file", with(2500*ms, func(o *Overlap) { o.File = true }), Keep, 0},
		{"barge-in is off", with(2500*ms, func(o *Overlap) { o.Settings.BargeIn = false }), Keep, 0},
		{"somebody spoke before we began", with(1099*ms, func(o *Overlap) { o.VoiceAt = 500 * ms }), Keep, 1100 * ms},
	} {
		got, again := TwoStep{Reference{}}.Overlap(c.view)
		if got != c.want || again != c.again {
			t.Errorf("%s: verdict %d, again %v; want %d, %v", c.name, got, again, c.want, c.again)
		}
	}
}

func TestDuckedAndRestored(t *testing.T) {
	const ms = time.Millisecond
	e := New(Default(), TwoStep{Reference{}})
	var got []string
	step := func(now time.Duration, ev Event) {
		for _, eff := range e.Step(now, ev) {
			switch eff.(type) {
			case Duck:
				got = append(got, "duck "+now.String())
			case Restore:
				got = append(got, "restore "+now.String())
			case SpeechEnded:
				got = append(got, "ended "+now.String())
			}
		}
	}
	step(0, Speak{ID: "1", Text: "Let me tell you about the release in some detail."})
	step(500*ms, Started{Utterance: 1, Piece: 0, Length: 4 * time.Second})
	step(1000*ms, Activity{On: true})
	step(1100*ms, Tick{})
	step(1600*ms, Activity{})
	step(3000*ms, Activity{On: true})
	step(3100*ms, Tick{})
	step(3300*ms, Partial{Seq: 1, Start: 3000 * ms, End: 3300 * ms, Text: "wait please", Lang: "en"})
	want := []string{"duck 1.1s", "restore 1.6s", "duck 3.1s", "ended 3.3s"}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
