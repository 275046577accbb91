//go:build cgo

package vad

import (
	"math"
	"math/rand/v2"
	"testing"

	"parley/speech/models"
	"parley/speech/ort"
	"parley/testkit/need"
	"parley/testkit/voices"
)

func load(t testing.TB) *Model {
	t.Helper()
	p := models.At(need.Models(t))
	if err := ort.Init(p.Runtime); err != nil {
		t.Fatal(err)
	}
	m, err := Load(p.VAD)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestSilenceNoiseAndTonesAreNotSpeech(t *testing.T) {
	m := load(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for name, sample := range map[string]func(i int) float64{
		"silence": func(int) float64 { return 0 },
		"noise":   func(int) float64 { return rng.NormFloat64() * 300 },
		"tone":    func(i int) float64 { return 3000 * math.Sin(float64(i)*2*math.Pi*440/16000) },
	} {
		s := m.Stream()
		high := 0
		for f := range 100 {
			pcm := make([]int16, Frame)
			for i := range pcm {
				pcm[i] = int16(sample(f*Frame + i))
			}
			p, err := s.Prob(t.Context(), pcm)
			if err != nil {
				t.Fatal(err)
			}
			if p >= 0.5 {
				high++
			}
		}
		if high > 3 {
			t.Errorf("%s: %d of 100 frames were taken for speech", name, high)
		}
	}
}

func TestAFrameHasItsLength(t *testing.T) {
	s := load(t).Stream()
	for _, n := range []int{0, Frame - 1, Frame + 1} {
		if _, err := s.Prob(t.Context(), make([]int16, n)); err == nil {
			t.Errorf("%d samples were accepted", n)
		}
	}
}

func TestAnotherModelIsRefused(t *testing.T) {
	p := models.At(need.Models(t))
	if err := ort.Init(p.Runtime); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(p.TurnEnd); err == nil {
		t.Error("the end-of-turn model passed for this one")
	}
	if _, err := Load(t.TempDir() + "/absent.onnx"); err == nil {
		t.Error("an absent file passed")
	}
}

func BenchmarkFrame(b *testing.B) {
	s := load(b).Stream()
	pcm := make([]int16, Frame)
	for b.Loop() {
		if _, err := s.Prob(b.Context(), pcm); err != nil {
			b.Fatal(err)
		}
	}
}

// Five recorded sentences: every one is heard, from its beginning to its end.
func TestRecordedSpeechIsSpeech(t *testing.T) {
	m := load(t)
	all, err := voices.Novel()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		pcm, err := voices.Decode(t.Context(), r.Path, 16000)
		if err != nil {
			t.Fatal(err)
		}
		s := m.Stream()
		speech, frames := 0, len(pcm)/Frame
		for f := range frames {
			p, err := s.Prob(t.Context(), pcm[f*Frame:(f+1)*Frame])
			if err != nil {
				t.Fatal(err)
			}
			if p >= 0.5 {
				speech++
			}
		}
		if speech*10 < frames*7 {
			t.Errorf("%s: %d of %d frames", r.ID, speech, frames)
		}
	}
}
