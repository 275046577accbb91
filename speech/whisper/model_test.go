//go:build cgo

package whisper_test

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/speech/models"
	"parley/speech/whisper"
	"parley/testkit/need"
	"parley/testkit/voices"
	"parley/transcript/score"
)

var loaded struct {
	sync.Mutex
	m map[string]*whisper.Model
}

// load gives a model that all tests share: they only read.
func load(t *testing.T, name string) *whisper.Model {
	t.Helper()
	p := models.At(need.Models(t))
	loaded.Lock()
	defer loaded.Unlock()
	if m := loaded.m[name]; m != nil {
		return m
	}
	m, err := whisper.Load(p.Whisper(name), whisper.Options{Runtime: p.Runtime})
	if err != nil {
		t.Fatal(err)
	}
	if loaded.m == nil {
		loaded.m = map[string]*whisper.Model{}
	}
	loaded.m[name] = m
	return m
}

func recordings(t *testing.T, n int) (texts []string, pcm [][]int16) {
	t.Helper()
	need.Program(t, "ffmpeg")
	read, err := voices.Novel()
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := voices.Prompts()
	if err != nil {
		t.Fatal(err)
	}
	// Mixed, and always in the same way: the first ones are a fair sample.
	place := func(r voices.Recording) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(r.ID)) // never fails
		return h.Sum64()
	}
	slices.SortFunc(prompts, func(a, b voices.Recording) int { return cmp.Compare(place(a), place(b)) })
	for _, u := range append(read, prompts...)[:n] {
		p, err := voices.Decode(t.Context(), u.Path, whisper.SampleRate)
		if err != nil {
			t.Fatal(err)
		}
		if len(p) > whisper.MaxSamples {
			continue
		}
		texts, pcm = append(texts, u.Text), append(pcm, p)
	}
	return texts, pcm
}

func processTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// 37 recordings of two people. Over all 241 it is 3.1 % for tiny.en and 2.7 % for base; single words differ between
// processors, so the limit leaves a margin.
func TestRecordedSpeechIsWrittenDown(t *testing.T) {
	texts, pcm := recordings(t, 37)
	for _, c := range []struct {
		name string
		pad  time.Duration
		most float64
	}{
		{models.TinyEn, whisper.FinalPad, 6}, {models.TinyEn, whisper.PartialPad, 8}, {models.Base, whisper.FinalPad, 6},
	} {
		m := load(t, c.name)
		var wrong, words, samples int
		begin := processTime()
		for i := range texts {
			got, err := m.Decode(t.Context(), whisper.Request{PCM: pcm[i], Pad: c.pad, Words: true})
			if err != nil {
				t.Fatal(err)
			}
			e, w := score.Count(texts[i], got.Text)
			wrong, words, samples = wrong+e, words+w, samples+len(pcm[i])
			if got.Lang != "en" {
				t.Errorf("%s: recording %d is taken for %q", c.name, i, got.Lang)
			}
			checkWords(t, got, len(pcm[i]))
		}
		rate := 100 * float64(wrong) / float64(words)
		t.Logf("%s, %v of silence: %d of %d words wrong (%.1f %%), %.3f s of processor time for 5 s of sound", c.name, c.pad, wrong, words,
			rate, (processTime()-begin).Seconds()*5*whisper.SampleRate/float64(samples))
		if rate > c.most {
			t.Errorf("%s, %v: %.1f %% of the words are wrong, want at most %.0f %%", c.name, c.pad, rate, c.most)
		}
	}
}

// checkWords: the words are those of the text, in order, inside the sound.
func checkWords(t *testing.T, r whisper.Result, samples int) {
	t.Helper()
	var texts []string
	last := 0
	for _, w := range r.Words {
		texts = append(texts, w.Text)
		if w.Start < last || w.End <= w.Start || w.End > samples || w.Prob <= 0 || w.Prob > 1 {
			t.Errorf("%+v after %d in %d samples", w, last, samples)
		}
		last = w.Start
	}
	if got, want := score.Normalize(strings.Join(texts, " "), "en"), score.Normalize(r.Text, "en"); !slices.Equal(got, want) {
		t.Errorf("words %q of the text %q", got, want)
	}
}

// Two recordings with a second of silence between: the words of the second begin where it does.
func TestWordTimesFollowTheSound(t *testing.T) {
	texts, pcm := recordings(t, 12)
	gap := make([]int16, whisper.SampleRate)
	for _, name := range []string{models.TinyEn, models.Base} {
		m := load(t, name)
		off := 0
		for i := 0; i+1 < len(pcm); i += 2 {
			if len(pcm[i])+len(pcm[i+1]) > 20*whisper.SampleRate {
				continue
			}
			both := slices.Concat(pcm[i], gap, pcm[i+1])
			got, err := m.Decode(t.Context(), whisper.Request{PCM: both, Words: true, Lang: "en"})
			if err != nil {
				t.Fatal(err)
			}
			first := len(strings.Fields(texts[i]))
			if len(got.Words) != first+len(strings.Fields(texts[i+1])) {
				continue // heard differently; what comes second is not known then
			}
			w := got.Words[first]
			d := w.Start - len(pcm[i]) - len(gap)
			t.Logf("%s: %q begins %d ms after its recording", name, w.Text, d*1000/whisper.SampleRate)
			// The recording may begin with silence of its own.
			if d < -whisper.SampleRate*3/10 || d > whisper.SampleRate/2 {
				off++
			}
		}
		if off > 1 {
			t.Errorf("%s: %d words begin elsewhere", name, off)
		}
	}
}

func TestNoTextForWhatIsNoSpeech(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	noises := map[string]func(i int) float64{
		"nothing":     func(int) float64 { return 0 },
		"quiet noise": func(int) float64 { return 20 * r.NormFloat64() },
		"loud noise":  func(int) float64 { return 3000 * r.NormFloat64() },
		"hum":         func(i int) float64 { return 2000 * math.Sin(2*math.Pi*50*float64(i)/whisper.SampleRate) },
		"tone":        func(i int) float64 { return 5000 * math.Sin(2*math.Pi*440*float64(i)/whisper.SampleRate) },
	}
	for _, name := range []string{models.TinyEn, models.Base} {
		m := load(t, name)
		for noise, f := range noises {
			for _, secs := range []float64{0.4, 3} {
				pcm := make([]int16, int(secs*whisper.SampleRate))
				for i := range pcm {
					pcm[i] = int16(f(i))
				}
				got, err := m.Decode(t.Context(), whisper.Request{PCM: pcm, Pad: whisper.PartialPad, Words: true})
				if err != nil {
					t.Fatal(err)
				}
				if got.Text != "" || len(got.Words) > 0 || len(got.Tokens) > 0 {
					t.Errorf("%s, %.1f s of %s: %q (doubt %.2f, log probability %.2f)", name, secs, noise, got.Text, got.NoSpeech, got.LogProb)
				}
			}
		}
		if got, err := m.Decode(t.Context(), whisper.Request{}); err != nil || got.Text != "" || got.NoSpeech != 1 {
			t.Errorf("%s, no sound: %+v, %v", name, got, err)
		}
	}
}

// A robot's voice, but another language: base must say which, and write it down instead of translating or guessing English.
func TestAnotherLanguageIsNotTakenForEnglish(t *testing.T) {
	need.Program(t, "espeak-ng", "ffmpeg")
	m := load(t, models.Base)
	for _, c := range []struct{ voice, lang, text, word string }{
		{"de", "de", "Guten Morgen zusammen. Wir beginnen jetzt mit der Besprechung und danach machen wir eine Pause.", "morgen"},
		{"fr-fr", "fr", "Bonjour à tous. Nous allons commencer la réunion maintenant, et ensuite nous ferons une pause.", "bonjour"},
		{"es", "es", "Buenos días a todos. Vamos a empezar la reunión ahora y después haremos una pausa.", "buenos"},
	} {
		file := filepath.Join(t.TempDir(), "a.wav")
		if out, err := exec.CommandContext(t.Context(), "espeak-ng", "-v", c.voice, "-s", "140", "-w", file, c.text).CombinedOutput(); err != nil {
			t.Fatalf("espeak-ng: %v: %s", err, out)
		}
		pcm, err := voices.Decode(t.Context(), file, whisper.SampleRate)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Decode(t.Context(), whisper.Request{PCM: pcm})
		if err != nil {
			t.Fatal(err)
		}
		if got.Lang != c.lang || !strings.Contains(strings.ToLower(got.Text), c.word) {
			t.Errorf("%s: %q in %q", c.lang, got.Text, got.Lang)
		}
		if got, err := m.Decode(t.Context(), whisper.Request{PCM: pcm, Lang: "en"}); err != nil || got.Lang != "en" {
			t.Errorf("asked for English: %q, %v", got.Lang, err)
		}
	}
	if _, err := m.Decode(t.Context(), whisper.Request{PCM: make([]int16, 16000), Lang: "tlh"}); !errors.Is(err, whisper.ErrLanguage) {
		t.Errorf("a language it does not know: %v", err)
	}
}

// What partials agree on is fed in as known: the same text comes, in fewer steps.
func TestPartialsWithAPrefix(t *testing.T) {
	texts, pcm := recordings(t, 7)
	m := load(t, models.TinyEn)
	var wrong, words, taken int
	for i := range pcm {
		var before, prefix []int
		for n := whisper.SampleRate; n < len(pcm[i]); n += whisper.SampleRate / 2 {
			got, err := m.Decode(t.Context(), whisper.Request{PCM: pcm[i][:n], Pad: whisper.PartialPad, Prefix: prefix})
			if err != nil {
				t.Fatal(err)
			}
			if len(prefix) > 0 && (len(got.Tokens) < len(prefix) || !slices.Equal(got.Tokens[:len(prefix)], prefix)) {
				t.Fatalf("the prefix %v became %v", prefix, got.Tokens)
			}
			prefix, before = m.Tokens.Agreed(before, got.Tokens), got.Tokens
		}
		got, err := m.Decode(t.Context(), whisper.Request{PCM: pcm[i], Pad: whisper.PartialPad, Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		taken += len(prefix)
		e, w := score.Count(texts[i], got.Text)
		wrong, words = wrong+e, words+w
	}
	rate := 100 * float64(wrong) / float64(words)
	t.Logf("last partials: %.1f %% of the words wrong, %d tokens were known before", rate, taken)
	if rate > 15 || taken < words/3 {
		t.Errorf("%.1f %% of %d words wrong, %d tokens taken over", rate, words, taken)
	}
	if _, err := m.Decode(t.Context(), whisper.Request{PCM: pcm[0], Prefix: []int{m.Config.EndOfText}}); err == nil {
		t.Error("a prefix with the end of the text was accepted")
	}
}

func TestManyDecodesAtOnceGiveWhatOneGives(t *testing.T) {
	_, pcm := recordings(t, 5)
	m := load(t, models.TinyEn)
	want := make([]string, len(pcm))
	for i := range pcm {
		got, err := m.Decode(t.Context(), whisper.Request{PCM: pcm[i]})
		if err != nil {
			t.Fatal(err)
		}
		want[i] = got.Text
	}
	var wg sync.WaitGroup
	for k := range 3 {
		wg.Go(func() {
			for j := range pcm {
				i := (j + k*3) % len(pcm)
				got, err := m.Decode(t.Context(), whisper.Request{PCM: pcm[i], Words: k == 1})
				if err != nil || got.Text != want[i] {
					t.Errorf("%q, %v, alone it was %q", got.Text, err, want[i])
				}
			}
		})
	}
	wg.Wait()
}

func TestADecodeIsBrokenOffAndTheModelGoesOn(t *testing.T) {
	_, pcm := recordings(t, 6)
	m := load(t, models.Base)
	long := slices.Concat(pcm...)
	long = long[:min(len(long), 28*whisper.SampleRate)]
	whole := time.Now()
	want, err := m.Decode(t.Context(), whisper.Request{PCM: long})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(whole)
	for _, part := range []time.Duration{0, took / 10, took / 3, took / 2} {
		ctx, cancel := context.WithTimeout(t.Context(), part)
		got, err := m.Decode(ctx, whisper.Request{PCM: long})
		cancel()
		if err == nil && part < took/2 {
			t.Errorf("after %v of %v: %q", part, took, got.Text)
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", part, err)
		}
	}
	if got, err := m.Decode(t.Context(), whisper.Request{PCM: long}); err != nil || got.Text != want.Text {
		t.Errorf("afterwards: %q, %v", got.Text, err)
	}
}

func TestMoreThanHalfAMinuteIsCut(t *testing.T) {
	m := load(t, models.TinyEn)
	got, err := m.Decode(t.Context(), whisper.Request{PCM: make([]int16, whisper.MaxSamples+1)})
	if err != nil || !got.Truncated {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLoadingSaysWhatIsWrong(t *testing.T) {
	p := models.At(need.Models(t))
	if _, err := whisper.Load(filepath.Join(p.Root, "absent"), whisper.Options{Runtime: p.Runtime}); err == nil {
		t.Error("a folder that is not there was loaded")
	}
	m, err := whisper.Load(p.Whisper(models.TinyEn), whisper.Options{Runtime: p.Runtime})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Error(err)
	}
	if _, err := m.Decode(t.Context(), whisper.Request{PCM: make([]int16, 16000)}); !errors.Is(err, whisper.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
