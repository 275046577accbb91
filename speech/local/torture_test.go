package local

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/speechtest"
)

// Whatever the moment of a death: every word is written down once, in order.
func TestKillsAtRandomMoments(t *testing.T) {
	kills := 150
	if testing.Short() {
		kills = 12
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	h := newHouse(t)
	e := h.engine(runDir(t))
	s, err := e.Open(t.Context(), speech.StreamOptions{Lang: "en", Partials: true})
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	onward := int64(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range s.Events() {
			switch ev := ev.(type) {
			case speech.Final:
				if ev.Text == "" {
					continue
				}
				heard = append(heard, strings.Fields(strings.ReplaceAll(ev.Text, ".", ""))...)
				if ev.Start < onward {
					t.Errorf("a final at %d after %d", ev.Start, onward)
				}
				onward = ev.End
			case speech.Fault:
				if ev.Kind != speech.KindNetwork {
					t.Errorf("%s: %v", ev.Kind, ev.Err)
				}
			}
		}
	}()
	var said []string
	pos := int64(0)
	write := func(pcm []int16) {
		t.Helper()
		if err := s.Write(pos, pcm); err != nil {
			t.Fatal(err)
		}
		pos += int64(len(pcm))
	}
	for dead := 0; dead < kills; {
		var words []string
		for range 2 + rng.IntN(6) {
			words = append(words, speechtest.Words[rng.IntN(len(speechtest.Words))])
		}
		said = append(said, words...)
		pcm := append(speechtest.Tone(strings.Join(words, " ")), make([]int16, 3200+rng.IntN(24000))...)
		for at := 0; at < len(pcm); at += 320 {
			write(pcm[at:min(at+320, len(pcm))])
			time.Sleep(time.Millisecond) // twenty times as fast as speech
			if rng.IntN(120) == 0 {
				h.back(e)
				h.die()
				dead++
			}
		}
	}
	write(make([]int16, 16000))
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	<-done
	if got, want := strings.Join(heard, " "), strings.Join(said, " "); got != want {
		t.Errorf("%d words were said, %d heard\n said: %s\nheard: %s", len(said), len(heard), want, got)
	}
	t.Logf("%d deaths, %d processes, %d words", kills, h.started, len(said))
}

// back makes the next start come at once: the test kills more often than any fault would.
func (h *house) back(e *Engine) {
	e.mu.Lock()
	e.back = backoff{}
	e.mu.Unlock()
}

// A model that is just being replaced looks broken for a moment: a stream that worked before waits for it.
func TestAStreamWaitsForModelsThatComeBack(t *testing.T) {
	h := newHouse(t)
	e := h.engine(runDir(t))
	s, err := e.Open(t.Context(), speech.StreamOptions{Lang: "en"})
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	h.fail = errors.New("a model is broken")
	h.mu.Unlock()
	h.die()
	if err := s.Write(0, speechtest.Tone("alpha bravo charlie")); err != nil {
		t.Fatal(err)
	}
	if ev := (<-s.Events()).(speech.Fault); ev.Kind != speech.KindNetwork || ev.Fatal {
		t.Errorf("%+v", ev)
	}
	// Who asks now hears it at once.
	if _, err := e.Open(t.Context(), speech.StreamOptions{}); kindOf(err, "") != speech.KindUnavailable {
		t.Errorf("%v", err)
	}
	h.mu.Lock()
	h.fail = nil
	h.mu.Unlock()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for ev := range s.Events() {
		if f, ok := ev.(speech.Final); ok {
			if f.Text != "alpha bravo charlie." {
				t.Errorf("%+v", f)
			}
			break
		}
	}
}

// Audio over which one process after another crashes is given up, and what comes after it is heard.
func TestAudioThatKillsIsSkipped(t *testing.T) {
	h := newHouse(t)
	h.crash.Store(true)
	e := h.engine(runDir(t))
	s, err := e.Open(t.Context(), speech.StreamOptions{Lang: "en"})
	if err != nil {
		t.Fatal(err)
	}
	poison := speechtest.Tone("papa papa")
	if err := s.Write(0, poison); err != nil {
		t.Fatal(err)
	}
	seen := map[speech.Kind]int{}
	for seen[speech.KindInternal] == 0 {
		h.resent(t, s.(*stream))
		h.back(e)
		h.die()
		for done := false; !done; {
			ev := <-s.Events()
			if f, ok := ev.(speech.Fault); ok {
				seen[f.Kind]++
				done = f.Kind == speech.KindNetwork || f.Kind == speech.KindInternal
			}
			if seen[speech.KindNetwork] == stuckLimit && seen[speech.KindInternal] == 0 {
				done = false // the skip is reported after the last death
			}
		}
		if seen[speech.KindNetwork] > stuckLimit {
			t.Fatalf("%v", seen)
		}
	}
	if err := s.Write(int64(len(poison)), speechtest.Tone("alpha bravo charlie")); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for ev := range s.Events() {
		if f, ok := ev.(speech.Final); ok {
			if f.Text != "alpha bravo charlie." {
				t.Errorf("%+v", f)
			}
			return
		}
	}
}

// resent waits until a stream has sent all its audio to the process that runs.
func (h *house) resent(t *testing.T, s *stream) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		h.mu.Lock()
		srv := h.last
		h.mu.Unlock()
		s.mu.Lock()
		all := s.tape.Sent() == s.tape.End()
		s.mu.Unlock()
		if all && srv.Streams() > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the stream did not come back")
		}
	}
}
