package station

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"parley/meeting"
	"parley/speech"
)

// tongue is a synthesizer that gives what a test put in, and then hangs or ends.
type tongue struct {
	pieces []speech.Piece
	hangs  bool
	ends   error // instead of the good end
	err    error
	asked  []speech.SpeakRequest
}

func (f *tongue) Speak(_ context.Context, r speech.SpeakRequest) (speech.Clip, error) {
	f.asked = append(f.asked, r)
	if f.err != nil {
		return nil, f.err
	}
	return &tongueClip{f: f}, nil
}
func (f *tongue) Voices(context.Context) ([]speech.Voice, error) { return nil, nil }

type tongueClip struct {
	f *tongue
	n int
}

func (c *tongueClip) Next(ctx context.Context) (speech.Piece, error) {
	if c.n < len(c.f.pieces) {
		c.n++
		return c.f.pieces[c.n-1], nil
	}
	if c.f.hangs {
		<-ctx.Done()
		return speech.Piece{}, ctx.Err()
	}
	if c.f.ends != nil {
		return speech.Piece{}, c.f.ends
	}
	return speech.Piece{}, io.EOF
}
func (c *tongueClip) Close() error { return nil }

// drum is a player that takes time and nothing else.
type drum struct{ stopped chan struct{} }

func (d *drum) play(ctx context.Context, next func(context.Context) ([]int16, error), started func()) (playResult, error) {
	var r playResult
	for {
		pcm, err := next(ctx)
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return r, err
		}
		if r.samples == 0 {
			started()
		}
		select {
		case <-time.After(time.Duration(len(pcm)) * time.Second / 24000):
			r.samples += int64(len(pcm))
		case <-d.stopped:
			r.interrupted = true
			return r, nil
		}
	}
}
func (d *drum) stop()     { close(d.stopped) }
func (d *drum) duck(bool) {}

func second(text string) speech.Piece { return speech.Piece{Text: text, PCM: make([]int16, 24000)} }

func TestAVoiceThatHangsInTheMiddleIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tongue{pieces: []speech.Piece{second("one two"), second("three four")}, hangs: true}
		v := &voice{log: slog.New(slog.DiscardHandler), synth: f, backend: "local", player: &drum{stopped: make(chan struct{})}}
		s, err := v.Prepare(t.Context(), meeting.Utterance{ID: "u1.0", Text: "one two three four five six"})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		played, err := s.Play(t.Context(), func() {})
		if speech.KindOf(err) != speech.KindUnavailable || !errors.Is(err, errStalled) {
			t.Errorf("it ended with %v", err)
		}
		if took := time.Since(began); took != 2*time.Second+stall {
			t.Errorf("it took %v", took)
		}
		if played.Said != "one two three four" || played.Unsaid != "five six" {
			t.Errorf("said %q, not said %q", played.Said, played.Unsaid)
		}
	})
}

func TestAClipIsSynthesizedOnce(t *testing.T) {
	f := &tongue{pieces: []speech.Piece{second("Mhm.")}}
	v := &voice{log: slog.New(slog.DiscardHandler), synth: f, backend: "local", player: &drum{stopped: make(chan struct{})}}
	v.Warm(t.Context(), []string{"Mhm.", "I see."})
	for range 3 {
		s, err := v.Prepare(t.Context(), meeting.Utterance{ID: "c1", Text: "Mhm.", Clip: true})
		if err != nil || s.Duration() != time.Second {
			t.Fatalf("%v, %v", s, err)
		}
		_ = s.Close()
	}
	if len(f.asked) != 2 {
		t.Errorf("it was synthesized %d times", len(f.asked))
	}
}

func TestEachBackendHasItsOwnVoice(t *testing.T) {
	here, there := &tongue{pieces: []speech.Piece{second("x")}}, &tongue{pieces: []speech.Piece{second("x")}}
	v := &voice{log: slog.New(slog.DiscardHandler), synth: here, backend: "local", player: &drum{stopped: make(chan struct{})},
		base: speech.SpeakRequest{Voice: "af_heart", Speed: 1.2}, others: map[string]speech.Synthesizer{"local": here, "supertonic": there}, voices: map[string]string{"supertonic": "M3"}}
	for _, c := range []struct {
		u    meeting.Utterance
		f    *tongue
		want string
	}{
		{meeting.Utterance{Text: "x"}, here, "af_heart"},
		{meeting.Utterance{Text: "x", Backend: "local"}, here, "af_heart"},
		{meeting.Utterance{Text: "x", Voice: "bf_emma"}, here, "bf_emma"},
		{meeting.Utterance{Text: "x", Backend: "supertonic"}, there, "M3"},
		{meeting.Utterance{Text: "x", Backend: "supertonic", Voice: "F2"}, there, "F2"},
	} {
		s, err := v.Prepare(t.Context(), c.u)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		if got := c.f.asked[len(c.f.asked)-1]; got.Voice != c.want || got.Speed != 1.2 {
			t.Errorf("%+v was asked for as %+v", c.u, got)
		}
	}
	for _, c := range []struct {
		u    meeting.Utterance
		f    *tongue
		want string
	}{
		{meeting.Utterance{Text: "x", Spoken: "de"}, here, ""},
		{meeting.Utterance{Text: "x", Spoken: "de", Backend: "supertonic"}, there, "de"},
		{meeting.Utterance{Text: "x", Spoken: "de", Lang: "uk", Backend: "supertonic"}, there, "uk"},
	} {
		s, err := v.Prepare(t.Context(), c.u)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		if got := c.f.asked[len(c.f.asked)-1]; got.Lang != c.want {
			t.Errorf("%+v was asked for in %q", c.u, got.Lang)
		}
	}
	if _, err := v.Prepare(t.Context(), meeting.Utterance{Text: "x", Backend: "elsewhere"}); speech.KindOf(err) != speech.KindInput {
		t.Errorf("a backend that is not there: %v", err)
	}
}

func TestWhatWasCutIsToldByTheSamples(t *testing.T) {
	taken := []speech.Piece{second("one two"), second("three four five six")}
	for _, c := range []struct {
		samples      int64
		said, unsaid string
	}{{0, "", "one two three four five six"}, {24000, "one two", "three four five six"}, {36000, "one two three four", "five six"}, {48000, "one two three four five six", ""}} {
		said, unsaid := split("one two three four five six", taken, c.samples, false)
		if said != c.said || unsaid != c.unsaid {
			t.Errorf("after %d samples: %q and %q", c.samples, said, unsaid)
		}
	}
}

// lost is what an engine says whose process was killed: the end of a connection lies behind it, and it is no good end.
var lost = &speech.Error{Kind: speech.KindNetwork, Op: "speak", Err: fmt.Errorf("the process ended: %w", io.EOF)}

func TestAVoiceThatDiesInTheMiddleDidNotSayAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tongue{pieces: []speech.Piece{second("one two")}, ends: lost}
		v := &voice{log: slog.New(slog.DiscardHandler), synth: f, backend: "local", player: &drum{stopped: make(chan struct{})}}
		s, err := v.Prepare(t.Context(), meeting.Utterance{ID: "u1.0", Text: "one two three four"})
		if err != nil {
			t.Fatal(err)
		}
		played, err := s.Play(t.Context(), func() {})
		if err == nil || played.Said != "one two" || played.Unsaid != "three four" {
			t.Errorf("said %q, not said %q: %v", played.Said, played.Unsaid, err)
		}
	})
}

// It is the voice that is broken, not the text.
func TestAVoiceThatDiesBeforeItBeginsIsNoTextWithoutWords(t *testing.T) {
	f := &tongue{ends: lost}
	v := &voice{log: slog.New(slog.DiscardHandler), synth: f, backend: "local", player: &drum{stopped: make(chan struct{})}}
	_, err := v.Prepare(t.Context(), meeting.Utterance{ID: "u1.0", Text: "one two"})
	var bad *meeting.SoundError
	if err == nil || errors.As(err, &bad) || speech.KindOf(err) != speech.KindNetwork {
		t.Errorf("%v", err)
	}
}
