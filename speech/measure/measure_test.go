package measure

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"parley/speech"
	"parley/speech/speechtest"
)

func TestTimes(t *testing.T) {
	var none Times
	if none.At(0.5) != 0 {
		t.Error("the median of nothing")
	}
	list := Times{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for q, want := range map[float64]time.Duration{0: 1, 0.1: 1, 0.5: 5, 0.51: 6, 0.95: 10, 1: 10} {
		if got := list.At(q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
}

func TestSpeechIsFoundInSilence(t *testing.T) {
	pcm := append(append(make([]int16, 3200), speechtest.Tone("alpha bravo")...), make([]int16, 4800)...)
	from, to := Speech(pcm)
	if from != 3200 || to < len(pcm)-4800-320 || to > len(pcm)-4800+160 {
		t.Errorf("%d to %d of %d", from, to, len(pcm))
	}
	if from, to := Speech(make([]int16, 1000)); from != 0 || to != 0 {
		t.Errorf("silence: %d to %d", from, to)
	}
}

// The fake answers at once, so what is measured is the silence that the segments wait for: half a second.
func TestHear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []Line
		for _, l := range speechtest.ToneLines() {
			lines = append(lines, Line{PCM: l.PCM, Text: l.Text})
		}
		h, err := Hear(t.Context(), speechtest.NewFake(), lines, 2, speech.StreamOptions{Partials: true})
		if err != nil {
			t.Fatal(err)
		}
		if h.Lines != 8 || h.Wrong != 0 || h.Finals != 8 || h.Missed != 0 || h.Words != 50 {
			t.Errorf("%+v", h)
		}
		if p50 := h.Final.At(0.5); p50 < 500*time.Millisecond || p50 > 560*time.Millisecond {
			t.Errorf("finals: %v", h.Final)
		}
		if p50 := h.On.At(0.5); p50 < 32*time.Millisecond || p50 > 120*time.Millisecond {
			t.Errorf("activity: %v", h.On)
		}
		if h.Revised != 0 || h.Partials == 0 || len(h.Turn) != 8 {
			t.Errorf("%+v", h)
		}
	})
}

func TestHearSaysWhyItFailed(t *testing.T) {
	f := speechtest.NewFake()
	f.Refuse(context.DeadlineExceeded)
	if _, err := Hear(t.Context(), f, []Line{{PCM: speechtest.Tone("alpha")}}, 1, speech.StreamOptions{}); err == nil {
		t.Error("no error")
	}
}

func TestSay(t *testing.T) {
	s, err := Say(t.Context(), speechtest.NewFake(), []string{"One, two. Three.", "Four."}, speech.SpeakRequest{})
	if err != nil || len(s.First) != 2 || s.Audio != 4*time.Second || s.Late != 0 {
		t.Errorf("%+v %v", s, err)
	}
}
