//go:build cgo

package kokoro

import (
	"strings"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/models"
	"parley/speech/ort"
	"parley/speech/whisper"
	"parley/testkit/need"
	"parley/transcript/score"
)

func load(t testing.TB) (*Model, *Planner, models.Paths) {
	t.Helper()
	p := models.At(need.Models(t))
	if err := ort.Init(p.Runtime); err != nil {
		t.Fatal(err)
	}
	m, err := Load(p.Kokoro, p.KokoroVocab, p.Voice)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	ids, err := p.Voices()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlanner(ids, p.Lexicon("us_gold"), p.Lexicon("us_silver"))
	if err != nil {
		t.Fatal(err)
	}
	return m, plan, p
}

// said gives the sound of a text, and how long each clause took.
func said(t testing.TB, m *Model, p *Planner, r speech.SpeakRequest) (pcm []int16, took []time.Duration) {
	t.Helper()
	list, err := p.Plan(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		began := time.Now()
		part, err := m.Say(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
		pcm = append(append(pcm, part...), make([]int16, c.Pause)...)
	}
	return pcm, took
}

// What the voice says is understood by the recogniser: no listening test, but it shows that the words are there.
func TestWhatIsSaidIsUnderstood(t *testing.T) {
	m, p, paths := load(t)
	ear, err := whisper.Load(paths.Whisper(models.Base), whisper.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Close()
	for _, c := range []struct{ voice, text, heard string }{
		{"", "Sure, let me take a look at the build.", "sure let me take a look at the build"},
		{"", "I found the bug, and all the tests pass now.", "i found the bug and all the tests pass now"},
		{"am_michael", "The meeting starts at 10:30 in the large conference room.", "the meeting starts at 10 30 in the large conference room"},
		{"bf_emma", "We should talk about the budget for next year before we decide.", "we should talk about the budget for next year before we decide"},
		// The recogniser writes "Jason" and "go routine": that is how they sound.
		{"", "The API returns JSON over HTTP to the goroutine.", "the api returns jason over http to the go routine"},
	} {
		pcm, took := said(t, m, p, speech.SpeakRequest{Text: c.text, Voice: c.voice})
		seconds := float64(len(pcm)) / SampleRate
		res, err := ear.Decode(t.Context(), whisper.Request{PCM: resample(pcm), Lang: "en"})
		if err != nil {
			t.Fatal(err)
		}
		wrong, words := score.Count(c.heard, res.Text)
		t.Logf("%.1f s in %v: %s", seconds, took, res.Text)
		if wrong*4 > words {
			t.Errorf("%q was heard as %q", c.text, res.Text)
		}
		if seconds < float64(len(c.text))/30 || seconds > float64(len(c.text))/7 {
			t.Errorf("%q takes %.1f s", c.text, seconds)
		}
	}
}

// resample makes 16 kHz of 24 kHz: good enough for an ear.
func resample(pcm []int16) []int16 {
	out := make([]int16, len(pcm)*2/3)
	for i := range out {
		at := i * 3 / 2
		if i%2 == 0 {
			out[i] = pcm[at]
		} else {
			out[i] = int16((int(pcm[at]) + int(pcm[min(at+1, len(pcm)-1)])) / 2)
		}
	}
	return out
}

// Every symbol that our mapping makes is one that the model knows.
func TestEverySymbolIsKnown(t *testing.T) {
	m, p, _ := load(t)
	text := "The quick brown fox jumps over the lazy dog, while thirteen vision judges measure church bells; " +
		"boys, cows, voices, fire, poor bird, little button, about a singing teacher! Müller, café, señor, loch?"
	for _, voice := range []string{"af_heart", "bf_emma"} {
		list, err := p.Plan(t.Context(), speech.SpeakRequest{Text: text, Voice: voice})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			for _, r := range c.Phonemes {
				if _, ok := m.vocab[string(r)]; !ok {
					t.Errorf("%s: %q in %s", voice, r, c.Phonemes)
				}
			}
		}
	}
	for _, o := range openerList() {
		list, err := p.Plan(t.Context(), speech.SpeakRequest{Text: o})
		if err != nil || len(list) != 1 || !list[0].Common || strings.TrimSpace(list[0].Phonemes) == "" {
			t.Errorf("%q: %+v %v", o, list, err)
		}
	}
}

// Without espeak-ng the word lists stand in, and say so.
func TestWithoutEspeak(t *testing.T) {
	m, _, paths := load(t)
	ids, err := paths.Voices()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	p, err := NewPlanner(ids, paths.Lexicon("us_gold"), paths.Lexicon("us_silver"))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Notes()) != 1 {
		t.Errorf("notes: %q", p.Notes())
	}
	ear, err := whisper.Load(paths.Whisper(models.Base), whisper.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Close()
	text := "The meeting starts at ten in the morning, and everybody is invited."
	pcm, _ := said(t, m, p, speech.SpeakRequest{Text: text})
	res, err := ear.Decode(t.Context(), whisper.Request{PCM: resample(pcm), Lang: "en"})
	if err != nil {
		t.Fatal(err)
	}
	if wrong, words := score.Count(text, res.Text); wrong*4 > words {
		t.Errorf("%q was heard as %q", text, res.Text)
	}
	list, err := p.Plan(t.Context(), speech.SpeakRequest{Text: "The API, and walking talkers."})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		for _, r := range c.Phonemes {
			if _, ok := m.vocab[string(r)]; !ok {
				t.Errorf("%q in %s", r, c.Phonemes)
			}
		}
	}
}
