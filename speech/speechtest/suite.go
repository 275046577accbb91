package speechtest

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"parley/speech"
	"parley/transcript/score"
)

// Engine is what the suite needs to know of an engine.
type Engine struct {
	Transcriber speech.Transcriber
	// Synthesizer may be nil: then nothing is said.
	Synthesizer speech.Synthesizer
	// Lines are at least four utterances with their text, each long enough for a partial, none with a pause inside.
	Lines []Line
	// Errors is the word error rate up to which a text counts as right.
	Errors float64
	// Pace is the time a second of audio takes to be fed; zero feeds as fast as the engine takes it. Engines whose
	// partials come by the clock need one.
	Pace time.Duration
	// Patience is how long an answer may take; zero means 10 s.
	Patience time.Duration
	// Kill breaks the engine's process or connection right now, so that it must recover by itself; nil when there is
	// nothing to break.
	Kill func(t *testing.T)
	// Memory gives the bytes that the engine holds; nil when that is unknown.
	Memory func(t *testing.T) int64
	// Absent is the same engine where something it needs is missing.
	Absent func(t *testing.T) speech.Transcriber
	// Say is a text for the voice in at least two clauses; empty means an English one.
	Say string
}

// Line is an utterance at 16 kHz and what it says.
type Line struct {
	PCM  []int16
	Text string
}

// gap is the pause between lines: longer than any segment survives.
const gap = 1200 * rate / 1000

// Run plays the suite on engines that open makes, one for each test.
func Run(t *testing.T, open func(t *testing.T) Engine) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Engine)
	}{
		{"PartialsThenFinals", testPartialsThenFinals},
		{"Framing", testFraming},
		{"AJumpForwardIsSilence", testJump},
		{"Flush", testFlush},
		{"TwoStreamsStayApart", testTwoStreams},
		{"Close", testClose},
		{"ALostConnectionLosesNothing", testKill},
		{"MemoryIsBounded", testMemory},
		{"ErrorsByKind", testKinds},
		{"Speak", testSpeak},
		{"SpeakCancelled", testSpeakCancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := open(t)
			if e.Patience == 0 {
				e.Patience = 10 * time.Second
			}
			if e.Say == "" {
				e.Say = "Good morning. We have three points today, and the first one is short."
			}
			test.run(t, e)
		})
	}
}

// talk is a stream and what came out of it.
type talk struct {
	t      *testing.T
	e      Engine
	s      speech.Stream
	pos    int64
	events []speech.Event
}

func (e Engine) open(t *testing.T, o speech.StreamOptions) *talk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*e.Patience)
	defer cancel()
	s, err := e.Transcriber.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &talk{t: t, e: e, s: s}
}

// feed writes samples, in pieces of 20 ms.
func (k *talk) feed(pcm []int16) {
	k.t.Helper()
	const piece = rate / 50
	begin := time.Now()
	for done := 0; done < len(pcm); done += piece {
		part := pcm[done:min(done+piece, len(pcm))]
		if err := k.s.Write(k.pos, part); err != nil {
			k.t.Fatal(err)
		}
		k.pos += int64(len(part))
		if k.e.Pace > 0 {
			k.pause(begin.Add(k.e.Pace * time.Duration(done+piece) / rate))
		}
	}
}

// pause collects events until a moment.
func (k *talk) pause(until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		select {
		case ev, ok := <-k.s.Events():
			if !ok {
				k.t.Fatal("the stream ended")
			}
			k.events = append(k.events, ev)
		case <-timer.C:
			return
		}
	}
}

// line says a line and the pause after it.
func (k *talk) line(l Line) {
	k.t.Helper()
	k.feed(l.PCM)
	k.feed(make([]int16, gap))
}

// until collects events until done says so.
func (k *talk) until(what string, done func() bool) {
	k.t.Helper()
	limit := time.NewTimer(k.e.Patience)
	defer limit.Stop()
	for !done() {
		select {
		case ev, ok := <-k.s.Events():
			if !ok {
				k.t.Fatalf("the stream ended before %s; %s", what, k.summary())
			}
			if f, bad := ev.(speech.Fault); bad && f.Fatal {
				k.t.Fatalf("before %s: %v", what, f.Err)
			}
			k.events = append(k.events, ev)
		case <-limit.C:
			k.t.Fatalf("no %s within %v; %s", what, k.e.Patience, k.summary())
		}
	}
}

func (k *talk) summary() string {
	var b strings.Builder
	for _, f := range k.finals() {
		b.WriteString(" final: " + f.Text)
	}
	return "so far" + b.String()
}

func (k *talk) finals() (out []speech.Final) {
	for _, ev := range k.events {
		if f, ok := ev.(speech.Final); ok && f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

// said collects events until the finals reach a position, and checks them against the lines.
func (k *talk) said(lines ...Line) {
	k.t.Helper()
	words := 0
	for _, l := range lines {
		words += len(normal(l.Text))
	}
	k.until("all that was said", func() bool {
		heard := 0
		for _, f := range k.finals() {
			heard += len(normal(f.Text))
		}
		return float64(heard) >= float64(words)*(1-k.e.Errors)
	})
	k.check(lines...)
}

// check compares the finals with the lines, and their places with each other.
func (k *talk) check(lines ...Line) {
	k.t.Helper()
	var want, got []string
	for _, l := range lines {
		want = append(want, normal(l.Text)...)
	}
	last := int64(0)
	for _, f := range k.finals() {
		got = append(got, normal(f.Text)...)
		if f.Start < last || f.End < f.Start || f.End > k.pos {
			k.t.Errorf("a final from %d to %d after %d, with %d written", f.Start, f.End, last, k.pos)
		}
		last = f.End
	}
	e := score.WER(want, got)
	if wrong, words := e.Count(), e.Reference; float64(wrong) > k.e.Errors*float64(words) {
		k.t.Errorf("%d of %d words are wrong\n was said: %s\nwas heard: %s", wrong, words, strings.Join(want, " "), strings.Join(got, " "))
	}
}

func testPartialsThenFinals(t *testing.T, e Engine) {
	e.Pace = max(e.Pace, 20*time.Millisecond) // a reader that does not keep up loses partials, and rightly
	k := e.open(t, speech.StreamOptions{Label: "m1", Lang: "en", Partials: true, Words: true})
	for _, l := range e.Lines {
		k.line(l)
	}
	k.said(e.Lines...)
	on, partials := false, 0
	last := int64(-1)
	for _, ev := range k.events {
		switch ev := ev.(type) {
		case speech.Activity:
			if ev.On == on {
				t.Errorf("activity %v twice, at %d", on, ev.At)
			}
			if ev.At < last {
				t.Errorf("activity at %d after %d", ev.At, last)
			}
			on, last = ev.On, ev.At
		case speech.Partial:
			partials++
			if ev.Text == "" || ev.End <= ev.Start {
				t.Errorf("partial %q from %d to %d", ev.Text, ev.Start, ev.End)
			}
		case speech.TurnEnd:
			if !(ev.Prob >= 0 && ev.Prob <= 1) {
				t.Errorf("turn end %v", ev.Prob)
			}
		case speech.Final:
			if ev.Text == "" {
				continue
			}
			if partials == 0 {
				t.Errorf("no partial before the final %q", ev.Text)
			}
			partials = 0
			at := ev.Start
			for _, w := range ev.Words {
				if w.Start < at || w.End < w.Start || w.End > ev.End {
					t.Errorf("word %q from %d to %d in a final from %d to %d", w.Text, w.Start, w.End, ev.Start, ev.End)
				}
				at = w.Start
			}
			if len(ev.Words) == 0 {
				t.Errorf("a final without words: %q", ev.Text)
			}
		case speech.Fault:
			t.Errorf("fault: %v", ev.Err)
		}
	}
}

// The same audio in other pieces, and told twice, gives the same text.
func testFraming(t *testing.T, e Engine) {
	if e.Pace > 0 {
		e.Pace /= 4
	}
	pcm := append(append([]int16(nil), e.Lines[0].PCM...), make([]int16, gap)...)
	for _, piece := range []int{7, 160, 3333, len(pcm)} {
		k := e.open(t, speech.StreamOptions{Lang: "en"})
		for at := 0; at < len(pcm); at += piece {
			end := min(at+piece, len(pcm))
			again := max(0, at-piece/2) // half of it was written before
			if err := k.s.Write(int64(again), pcm[again:end]); err != nil {
				t.Fatal(err)
			}
		}
		k.pos = int64(len(pcm))
		k.said(e.Lines[0])
		k.s.Close()
	}
}

func testJump(t *testing.T, e Engine) {
	k := e.open(t, speech.StreamOptions{Lang: "en"})
	k.pos = 12345
	k.feed(e.Lines[0].PCM)
	k.pos += 10 * rate
	second := k.pos
	k.line(e.Lines[1])
	k.said(e.Lines[0], e.Lines[1])
	finals := k.finals()
	if len(finals) != 2 {
		t.Fatalf("%d finals", len(finals))
	}
	if finals[0].Start < 12345-rate/10 || finals[0].End > 12345+int64(len(e.Lines[0].PCM))+rate/2 {
		t.Errorf("the first lies at %d to %d", finals[0].Start, finals[0].End)
	}
	if finals[1].Start < second-rate/2 {
		t.Errorf("the second begins at %d, before it was said at %d", finals[1].Start, second)
	}
}

func testFlush(t *testing.T, e Engine) {
	k := e.open(t, speech.StreamOptions{Lang: "en"})
	flush := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), e.Patience)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- k.s.Flush(ctx) }()
		for {
			select {
			case ev := <-k.s.Events():
				k.events = append(k.events, ev)
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
				for len(k.s.Events()) > 0 { // what was delivered waits in the channel
					k.events = append(k.events, <-k.s.Events())
				}
				return
			}
		}
	}
	flush() // nothing was said
	k.feed(e.Lines[0].PCM)
	flush()
	k.check(e.Lines[0])
	flush()
	k.line(e.Lines[1])
	k.said(e.Lines[0], e.Lines[1])
}

func testTwoStreams(t *testing.T, e Engine) {
	a := e.open(t, speech.StreamOptions{Label: "a", Lang: "en"})
	b := e.open(t, speech.StreamOptions{Label: "b", Lang: "en"})
	a.line(e.Lines[0])
	b.line(e.Lines[1])
	b.line(e.Lines[2])
	a.line(e.Lines[3])
	a.said(e.Lines[0], e.Lines[3])
	b.said(e.Lines[1], e.Lines[2])
}

func testClose(t *testing.T, e Engine) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := e.Transcriber.Open(ended, speech.StreamOptions{}); err == nil {
		s.Close()
		t.Error("Open with an ended context")
	}
	k := e.open(t, speech.StreamOptions{Lang: "en"})
	k.feed(e.Lines[0].PCM)
	if err := k.s.Close(); err != nil {
		t.Error(err)
	}
	limit := time.After(e.Patience)
	for open := true; open; {
		select {
		case _, open = <-k.s.Events():
		case <-limit:
			t.Fatal("Events is open after Close")
		}
	}
	if err := k.s.Write(k.pos, make([]int16, 160)); err == nil {
		t.Error("Write after Close")
	}
	if err := k.s.Flush(t.Context()); err == nil {
		t.Error("Flush after Close")
	}
	if err := k.s.Close(); err != nil {
		t.Errorf("Close twice: %v", err)
	}
}

func testKill(t *testing.T, e Engine) {
	if e.Kill == nil {
		t.Skip("nothing to kill")
	}
	k := e.open(t, speech.StreamOptions{Label: "m1", Lang: "en", Partials: true})
	// In the middle of a line, in the pause after it, and when everything is answered.
	k.feed(e.Lines[0].PCM[:len(e.Lines[0].PCM)/2])
	e.Kill(t)
	k.feed(e.Lines[0].PCM[len(e.Lines[0].PCM)/2:])
	k.feed(make([]int16, gap))
	k.line(e.Lines[1])
	e.Kill(t)
	k.said(e.Lines[0], e.Lines[1])
	e.Kill(t)
	k.line(e.Lines[2])
	k.said(e.Lines[0], e.Lines[1], e.Lines[2])
	e.Kill(t)
	k.feed(make([]int16, gap))
	k.line(e.Lines[3])
	k.said(e.Lines...)
	// Nothing comes late.
	k.pause(time.Now().Add(e.Patience / 10))
	k.check(e.Lines...)
	on := false
	for _, ev := range k.events {
		if a, ok := ev.(speech.Activity); ok {
			if a.On == on {
				t.Errorf("activity %v twice", on)
			}
			on = a.On
		}
		if f, ok := ev.(speech.Fault); ok && f.Kind != speech.KindNetwork {
			t.Errorf("fault %s: %v", f.Kind, f.Err)
		}
	}
}

// Minutes of speech that nobody reads, and then all of it is still heard.
func testMemory(t *testing.T, e Engine) {
	e.Pace = 0
	k := e.open(t, speech.StreamOptions{Lang: "en", Partials: true})
	silence := make([]int16, rate)
	heard := 0
	round := func() {
		for _, l := range e.Lines {
			// A jump costs nothing, silence is forgotten as it comes.
			k.pos += 3600 * rate
			for range 20 {
				k.feed(silence)
			}
			k.line(l)
			heard++
			k.until("final", func() bool { return len(k.finals()) >= heard })
		}
	}
	// An engine may take what its longest line needs, and some more until it has seen everything.
	for range 2 {
		round()
	}
	before := int64(0)
	if e.Memory != nil {
		before = e.Memory(t)
	}
	for range 3 {
		round()
	}
	if e.Memory != nil {
		if grown := e.Memory(t) - before; grown > 100<<20 {
			t.Errorf("%d MiB more after the same lines again", grown>>20)
		}
	}
}

func testKinds(t *testing.T, e Engine) {
	kind := func(what string, err error, want speech.Kind) {
		t.Helper()
		var typed *speech.Error
		if !errors.As(err, &typed) {
			t.Errorf("%s: %v is no speech.Error", what, err)
			return
		}
		if typed.Kind != want || typed.Op == "" || typed.Error() == "" {
			t.Errorf("%s: kind %s, op %q: %v", what, typed.Kind, typed.Op, err)
		}
	}
	_, err := e.Transcriber.Open(t.Context(), speech.StreamOptions{Silence: 100 * time.Millisecond})
	kind("too short a silence", err, speech.KindInput)
	_, err = e.Transcriber.Open(t.Context(), speech.StreamOptions{Silence: 4 * time.Second})
	kind("too long a silence", err, speech.KindInput)
	_, err = e.Transcriber.Open(t.Context(), speech.StreamOptions{Lang: "tlh"})
	kind("a language nobody speaks", err, speech.KindInput)
	k := e.open(t, speech.StreamOptions{})
	kind("a position before the beginning", k.s.Write(-1, make([]int16, 10)), speech.KindInput)
	k.s.Close()
	kind("a closed stream", k.s.Write(0, make([]int16, 10)), speech.KindUnavailable)
	if e.Absent != nil {
		_, err = e.Absent(t).Open(t.Context(), speech.StreamOptions{})
		kind("an engine that is not there", err, speech.KindUnavailable)
	}
	if e.Synthesizer == nil {
		return
	}
	for what, r := range map[string]speech.SpeakRequest{
		"too long a text":         {Text: strings.Repeat("word ", 100_000)},
		"an unknown voice":        {Text: "hello", Voice: "no-such-voice"},
		"a language it cannot":    {Text: "hello", Lang: "tlh"},
		"too fast":                {Text: "hello", Speed: 9},
		"a text that is not text": {Text: "\xff\xfe"},
	} {
		c, err := e.Synthesizer.Speak(t.Context(), r)
		if err == nil {
			_, err = c.Next(t.Context())
			c.Close()
		}
		kind(what, err, speech.KindInput)
	}
}

func testSpeak(t *testing.T, e Engine) {
	if e.Synthesizer == nil {
		t.Skip("no voice")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*e.Patience)
	defer cancel()
	voices, err := e.Synthesizer.Voices(ctx)
	if err != nil || len(voices) == 0 {
		t.Fatalf("%d voices, %v", len(voices), err)
	}
	c, err := e.Synthesizer.Speak(ctx, speech.SpeakRequest{Text: e.Say})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var said []string
	samples, power := 0, 0.0
	pieces := 0
	for {
		p, err := c.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		pieces++
		said = append(said, normal(p.Text)...)
		samples += len(p.PCM)
		for _, v := range p.PCM {
			power += float64(v) * float64(v)
		}
	}
	if _, err := c.Next(ctx); err != io.EOF {
		t.Errorf("after the last piece: %v", err)
	}
	if strings.Join(said, " ") != strings.Join(normal(e.Say), " ") {
		t.Errorf("the pieces say %q", strings.Join(said, " "))
	}
	if pieces < 2 {
		t.Errorf("%d pieces: a long text is said as it comes", pieces)
	}
	if seconds := float64(samples) / 24000; seconds < 1 || seconds > 60 {
		t.Errorf("%.1f s of speech", seconds)
	}
	if level := math.Sqrt(power / float64(max(samples, 1))); level < 100 {
		t.Errorf("it is silent: level %.0f", level)
	}
	empty, err := e.Synthesizer.Speak(ctx, speech.SpeakRequest{Text: " \n "})
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	if p, err := empty.Next(ctx); err != io.EOF {
		t.Errorf("an empty text: %q, %v", p.Text, err)
	}
}

func testSpeakCancelled(t *testing.T, e Engine) {
	if e.Synthesizer == nil {
		t.Skip("no voice")
	}
	long := strings.Repeat(e.Say+" ", 20)
	limit, stop := context.WithTimeout(t.Context(), 3*e.Patience)
	defer stop()
	drain := func(c speech.Clip) error {
		for {
			if _, err := c.Next(limit); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, err := e.Synthesizer.Speak(ctx, speech.SpeakRequest{Text: long})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := first.Next(limit); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := drain(first); err == nil || err == io.EOF || limit.Err() != nil {
		t.Errorf("a clip whose context ended: %v", err)
	}
	second, err := e.Synthesizer.Speak(limit, speech.SpeakRequest{Text: long})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Next(limit); err != nil {
		t.Fatal(err)
	}
	second.Close()
	if err := drain(second); err == nil || err == io.EOF || limit.Err() != nil {
		t.Errorf("a clip that was closed: %v", err)
	}
	// The voice is free again.
	third, err := e.Synthesizer.Speak(limit, speech.SpeakRequest{Text: "Good morning."})
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	if _, err := third.Next(limit); err != nil {
		t.Error(err)
	}
}

// normal gives the words of a text as they are compared.
func normal(text string) []string { return score.Normalize(text, "en") }

// RunSynthesizer plays the part of the suite that is about voices on synthesizers that open makes, one for each test.
func RunSynthesizer(t *testing.T, open func(t *testing.T) speech.Synthesizer) {
	e := Engine{Patience: 10 * time.Second, Say: "Good morning. We have three points today, and the first one is short."}
	for _, test := range []struct {
		name string
		run  func(*testing.T, Engine)
	}{{"Speak", testSpeak}, {"SpeakCancelled", testSpeakCancelled}} {
		t.Run(test.name, func(t *testing.T) {
			e := e
			e.Synthesizer = open(t)
			test.run(t, e)
		})
	}
}
