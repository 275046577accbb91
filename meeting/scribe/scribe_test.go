package scribe

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/audio"
	"parley/meeting"
	"parley/speech"
	"parley/transcript"
)

// engine is a recogniser whose streams say what the test tells them to.
type engine struct {
	mu      sync.Mutex
	streams []*stream
	refuse  error
}

func (e *engine) Open(_ context.Context, o speech.StreamOptions) (speech.Stream, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuse != nil && len(e.streams) > 0 {
		return nil, e.refuse
	}
	s := &stream{label: o.Label, events: make(chan speech.Event, 64)}
	e.streams = append(e.streams, s)
	return s, nil
}

func (e *engine) stream(i int) *stream {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.streams[i]
}

func (e *engine) count() int { e.mu.Lock(); defer e.mu.Unlock(); return len(e.streams) }

type stream struct {
	label  string
	events chan speech.Event

	mu      sync.Mutex
	end     int64
	samples int
	onFlush []speech.Event
	closed  bool
}

func (s *stream) Write(pos int64, pcm []int16) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = pos + int64(len(pcm))
	s.samples += len(pcm)
	return nil
}
func (s *stream) Events() <-chan speech.Event { return s.events }
func (s *stream) Flush(context.Context) error {
	for _, e := range s.onFlush {
		s.events <- e
	}
	return nil
}
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.events)
	}
	return nil
}
func (s *stream) wrote() (int64, int) { s.mu.Lock(); defer s.mu.Unlock(); return s.end, s.samples }

// hall is a meeting in a bubble: sound, marks, and the lines that come out.
type hall struct {
	t     *testing.T
	e     *engine
	s     *Scribe
	lines chan string
	pos   int64
	track map[string]int64
}

func newHall(t *testing.T, o Options) *hall {
	h := &hall{t: t, e: &engine{}, lines: make(chan string, 256), track: map[string]int64{}}
	o.Transcriber, o.Label = h.e, "m1"
	o.OnSegment = func(s transcript.Segment, final bool) {
		who := "?"
		if s.Speaker != nil {
			who = s.Speaker.Name
		}
		kind := "partial"
		if final {
			kind = "final"
		}
		echo := ""
		if s.Echo {
			echo = " (echo)"
		}
		h.lines <- fmt.Sprintf("%s %d.%d %s: %s%s", kind, s.Seq, s.Rev, who, s.Text, echo)
	}
	h.s = New(o)
	if err := h.s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

func tone(n int, level float64) []int16 {
	pcm := make([]int16, n)
	for i := range pcm {
		pcm[i] = int16(level * math.Sin(float64(i)))
	}
	return pcm
}

const step = 20 * time.Millisecond

// pass lets time go by; loud says whether the mix has speech, and voices who has it on a track.
func (h *hall) pass(d time.Duration, loud bool, voices ...meeting.TrackFrame) {
	level := 0.0
	if loud {
		level = 8000
	}
	for t := time.Duration(0); t < d; t += step {
		time.Sleep(step)
		n := int(samples(step))
		_ = h.s.Write(audio.Frame{Pos: h.pos, PCM: tone(n, level), At: time.Now()})
		h.pos += int64(n)
		for _, v := range voices {
			v.Pos, v.PCM, v.At = h.track[v.Track], tone(n, 8000), time.Now()
			h.track[v.Track] += int64(n)
			h.s.Track(v)
		}
		synctest.Wait()
	}
}

func (h *hall) say(i int, ev speech.Event) {
	h.e.stream(i).events <- ev
	synctest.Wait()
}

func (h *hall) got(want ...string) {
	h.t.Helper()
	var got []string
	for {
		select {
		case l := <-h.lines:
			got = append(got, l)
			continue
		default:
		}
		break
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		h.t.Errorf("got:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func at(s float64) int64 { return int64(s * audio.HearRate) }

var (
	ada   = meeting.TrackFrame{Participant: "p1", Name: "Ada", Track: "t1"}
	grace = meeting.TrackFrame{Participant: "p2", Name: "Grace", Track: "t2"}
)

func TestAPartialCarriesTheNumberOfItsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Options{Partials: true})
		defer h.s.Forget()
		h.pass(time.Second, true)
		h.s.Shown(meeting.SeenSpeaking{IDs: []string{"p1"}, Names: []string{"Ada"}, At: time.Now()})
		h.pass(time.Second, true)
		h.say(0, speech.Partial{Start: at(1), End: at(1.5), Text: "the quick"})
		h.say(0, speech.Final{Start: at(1), End: at(2), Text: "The quick fox."})
		h.say(0, speech.Final{Start: at(5), End: at(6), Text: "Who was that?"})
		h.got("partial 1.0 Ada: the quick", "final 1.0 Ada: The quick fox.", "final 2.0 ?: Who was that?")
	})
}

func TestTracksTakeOverFromTheMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Options{})
		defer h.s.Forget()
		h.pass(500*time.Millisecond, false)
		h.pass(2*time.Second, true, ada)
		if h.e.count() != 2 {
			t.Fatalf("%d streams, want the mix and one track", h.e.count())
		}
		if !h.s.Stats().FromTracks {
			t.Error("the words should come from the tracks")
		}
		_, mix := h.e.stream(0).wrote()
		h.pass(time.Second, true, ada)
		if _, now := h.e.stream(0).wrote(); now != mix {
			t.Error("the mix is still written although the track has the words")
		}
		end, _ := h.e.stream(1).wrote()
		if d := end - at(3.5); d < -at(0.03) || d > at(0.03) {
			t.Errorf("the track stands at %.2f s of the meeting, want 3.50", float64(end)/audio.HearRate)
		}
		h.say(1, speech.Final{Start: at(0.6), End: at(2), Text: "On my own track."})
		h.got("final 1.0 Ada: On my own track.")
	})
}

// A track that gives nothing while its participant is muted does not count that time: what is said next is placed where it
// was said. Otherwise every later word has a wrong time, and nobody can interrupt us with it.
func TestATrackThatStopsIsPlacedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Options{})
		defer h.s.Forget()
		h.pass(500*time.Millisecond, false)
		h.pass(2*time.Second, true, ada)
		h.pass(20*time.Second, false)
		h.pass(time.Second, true, ada)
		end, n := h.e.stream(1).wrote()
		if d := end - at(23.5); d < -at(0.03) || d > at(0.03) {
			t.Errorf("the track stands at %.2f s of the meeting, want 23.50", float64(end)/audio.HearRate)
		}
		if n != int(at(3)) {
			t.Errorf("%d samples were written, want %d", n, at(3))
		}
		// A moment without sound is none of that: the track's own clock says how long it was.
		h.pass(time.Second, false)
		h.track[ada.Track] += at(1)
		h.pass(time.Second, true, ada)
		if end, _ := h.e.stream(1).wrote(); end < at(25.45) || end > at(25.53) {
			t.Errorf("the track stands at %.2f s of the meeting, want 25.50", float64(end)/audio.HearRate)
		}
	})
}

func TestTheMixComesBackWhenTracksAreIncomplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Options{})
		defer h.s.Forget()
		h.pass(time.Second, true, ada)
		_, before := h.e.stream(0).wrote()
		h.pass(4*time.Second, true) // somebody speaks whom no track has
		if _, now := h.e.stream(0).wrote(); now <= before || h.s.Stats().FromTracks {
			t.Error("words that no track has are lost")
		}
		n := h.e.count()
		h.pass(time.Second, true, grace)
		if h.e.count() != n {
			t.Error("a track was opened although the mix has the words: they would be written twice")
		}
	})
}

func TestOneSpeakerPausingIsNotAnIncompleteTrack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Options{})
		defer h.s.Forget()
		for range 5 {
			h.pass(2*time.Second, true, ada)
			h.pass(3*time.Second, false)
		}
		if !h.s.Stats().FromTracks {
			t.Error("silence took the words from the tracks")
		}
	})
}

func TestNothingBeforeTheFirstSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Options{})
		defer h.s.Forget()
		f := ada
		f.PCM, f.At = tone(320, 8000), time.Now()
		h.s.Track(f)
		synctest.Wait()
		if h.e.count() != 1 {
			t.Error("a track was opened before anything may be recorded")
		}
	})
}

func TestStopGivesTheLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Options{})
		h.pass(time.Second, true, ada, grace)
		h.e.stream(1).onFlush = []speech.Event{speech.Final{Start: at(0.1), End: at(1), Text: "Goodbye."}}
		h.e.stream(2).onFlush = []speech.Event{speech.Final{Start: at(0.1), End: at(1), Text: "See you."}}
		if err := h.s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for range 2 {
			got = append(got, (<-h.lines)[len("final 1.0 "):])
		}
		if strings.Join(got, "|") != "Ada: Goodbye.|Grace: See you." && strings.Join(got, "|") != "Grace: See you.|Ada: Goodbye." {
			t.Errorf("got %q", got)
		}
	})
}

func TestForgetGivesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Options{})
		h.pass(time.Second, true, ada)
		for i := range 10 {
			h.e.stream(1).events <- speech.Final{Start: at(float64(i)), End: at(float64(i) + 1), Text: "too late"}
		}
		h.s.Forget()
		for len(h.lines) > 0 { // what was given before Forget returned
			<-h.lines
		}
		synctest.Wait()
		h.s.Forget()
		_ = h.s.Stop(t.Context())
		h.got()
		if err := h.s.Start(t.Context()); err == nil {
			t.Error("a forgotten scribe started again")
		}
	})
}

func TestALateNameIsARevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Options{})
		defer h.s.Forget()
		h.pass(2*time.Second, true)
		h.say(0, speech.Final{Start: at(0.5), End: at(1.5), Text: "Who am I?"})
		h.got("final 1.0 ?: Who am I?")
		h.s.Shown(meeting.SeenSpeaking{IDs: []string{"p1"}, Names: []string{"Ada"}, At: time.Now().Add(-1400 * time.Millisecond)})
		h.pass(1200*time.Millisecond, false)
		h.got("final 1.1 Ada: Who am I?")
	})
}

func TestOurOwnVoiceComingBackIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Options{})
		defer h.s.Forget()
		h.pass(time.Second, false)
		h.s.Said(time.Now(), 2*time.Second, "I will send the summary tomorrow morning.")
		h.pass(3*time.Second, true)
		h.say(0, speech.Final{Start: at(1.2), End: at(3), Text: "I will send the summary tomorrow morning"})
		h.say(0, speech.Final{Start: at(3), End: at(4), Text: "Thank you very much."})
		h.got("final 1.0 ?: I will send the summary tomorrow morning (echo)", "final 2.0 ?: Thank you very much.")
	})
}

func TestARefusedTrackLeavesTheMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := make(chan speech.Kind, 8)
		h := newHall(t, Options{OnFault: func(k speech.Kind, _ bool, _ error) { faults <- k }})
		defer h.s.Forget()
		h.e.refuse = &speech.Error{Kind: speech.KindBusy, Op: "open", Err: context.DeadlineExceeded}
		h.pass(time.Second, true, ada)
		if k := <-faults; k != speech.KindBusy {
			t.Errorf("fault %q", k)
		}
		if _, n := h.e.stream(0).wrote(); n < int(at(0.9)) {
			t.Errorf("the mix was written for %.1f s only", float64(n)/audio.HearRate)
		}
	})
}

func TestWordsThatBeginSoftlyAreWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Options{})
		defer h.s.Forget()
		soft := func(n int) {
			for range n {
				time.Sleep(step)
				_ = h.s.Write(audio.Frame{Pos: h.pos, PCM: tone(320, 20), At: time.Now()})
				h.pos += 320
				f := ada
				f.Pos, f.PCM, f.At = h.track["t1"], tone(320, 20), time.Now()
				h.track["t1"] += 320
				h.s.Track(f)
				synctest.Wait()
			}
		}
		soft(50)
		h.pass(time.Second, true, ada)
		if _, n := h.e.stream(1).wrote(); n < int(at(1.25)) {
			t.Errorf("%.2f s were written, want the second and what came right before it", float64(n)/audio.HearRate)
		}
		h.pass(5*time.Second, false)
		soft(50)
		_, before := h.e.stream(1).wrote()
		h.pass(time.Second, true, ada)
		if _, n := h.e.stream(1).wrote(); n-before < int(at(1.25)) {
			t.Errorf("after a pause %.2f s were written", float64(n-before)/audio.HearRate)
		}
	})
}
