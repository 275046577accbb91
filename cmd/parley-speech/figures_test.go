//go:build cgo

package main

import (
	"context"
	"flag"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/local"
	"parley/speech/measure"
	"parley/speech/wire"
	"parley/testkit/need"
	"parley/testkit/voices"
)

var (
	figures = flag.Int("figures", 5, "how many recordings TestFigures feeds in real time")
	openers = flag.Duration("openers", 0, "how long TestFigures waits for openers to be made")
	nice    = flag.String("nice", "5", "the priority of the process in TestFigures")
	crowd   = flag.Int("streams", 3, "how many streams at once in TestFigures")
)

// recordings are prompts of two seconds and more, spread over all there are, and sentences of a novel.
func recordings(t testing.TB, n int) []measure.Line {
	t.Helper()
	prompts, err := voices.Prompts()
	if err != nil {
		t.Fatal(err)
	}
	novel, err := voices.Novel()
	if err != nil {
		t.Fatal(err)
	}
	all := append(novel, prompts...)
	var lines []measure.Line
	for i := 0; len(lines) < n && i < len(all); i++ {
		r := all[i]
		if i >= len(novel) {
			r = all[len(novel)+(i-len(novel))*7919%len(prompts)]
		}
		pcm, err := voices.Decode(context.Background(), r.Path, 16000)
		if err != nil {
			t.Fatal(err)
		}
		if len(pcm) >= 2*16000 {
			lines = append(lines, measure.Line{PCM: pcm, Text: r.Text})
		}
	}
	return lines
}

func less(a, b wire.Counts) wire.Counts {
	return wire.Counts{Partials: a.Partials - b.Partials, Drafts: a.Drafts - b.Drafts, Finals: a.Finals - b.Finals}
}

// TestFigures measures what is promised, in real time, and prints it. It fails only when something is far off: other
// work on the machine moves the times.
func TestFigures(t *testing.T) {
	dir := need.Models(t)
	lines := recordings(t, *figures)
	e := engine(t, dir, func(o *local.Options) { o.Args = []string{"--nice", *nice} })
	listen := func(name string, streams int, o speech.StreamOptions) measure.Hearing {
		t.Helper()
		before := e.Status(t.Context())
		h, err := measure.Hear(t.Context(), e, lines, streams, o)
		if err != nil {
			t.Fatal(err)
		}
		after := e.Status(t.Context())
		t.Logf("%s: %d lines, %v of speech, %.1f %% of %d words wrong, %d finals, %d missed", name, h.Lines, h.Audio.Round(time.Second),
			100*float64(h.Wrong)/float64(h.Words), h.Words, h.Finals, h.Missed)
		t.Logf("%s: end of speech to final: %v", name, h.Final)
		t.Logf("%s: end of speech to turn end: %v", name, h.Turn)
		t.Logf("%s: onset to activity: %v", name, h.On)
		if o.Partials {
			t.Logf("%s: onset to first partial: %v; %.0f %% of %d words revised", name, h.First, 100*float64(h.Revised)/float64(max(1, h.Partials)), h.Partials)
		}
		t.Logf("%s: %.3f s of CPU for 5 s of speech; done %+v, dropped %+v; %d MiB", name,
			(after.CPU-before.CPU).Seconds()/h.Audio.Seconds()*5, less(after.Done, before.Done), less(after.Dropped, before.Dropped), after.RSS>>20)
		return h
	}
	// The first stream starts the process.
	s, err := e.Open(t.Context(), speech.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	one := listen("finals only", 1, speech.StreamOptions{Lang: "en"})
	if one.Missed > 0 || one.Wrong*4 > one.Words || one.Final.At(0.5) > 5*time.Second {
		t.Errorf("one stream: %+v", one)
	}
	listen("with partials", 1, speech.StreamOptions{Partials: true, Words: true})
	if many := listen("streams at once", *crowd, speech.StreamOptions{Partials: true}); many.Missed > 0 {
		t.Errorf("%d lines missed", many.Missed)
	}

	if err := e.Prepare(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	say := func(name string, texts ...string) {
		t.Helper()
		v, err := measure.Say(t.Context(), e, texts, speech.SpeakRequest{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: first sound %v; %.1f s of speech in %.1f s, %d pieces late by at most %v", name, v.First, v.Audio.Seconds(), v.Wall.Seconds(), v.Late, v.Gap)
	}
	say("voice", "Let me take a look at the build.", "The release is planned for Thursday, and the tests are green.",
		"I think we should move the meeting to the afternoon, because half of the team is travelling in the morning.")
	// Openers are made while nobody speaks; a second process would find them on disk.
	for range 2 {
		say("voice with openers", "Sure. I can do that right now.", "Good question. The budget is two million dollars.")
		time.Sleep(*openers)
	}
	after := e.Status(t.Context())
	t.Logf("everything loaded and used: %d MiB; voice %s; notes %q", after.RSS>>20, after.Voice, after.Notes)
}
