//go:build cgo

package turnend

import (
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
	m, err := Load(p.TurnEnd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// Recorded prompts, whole and broken off in the middle of the sound: the model tells most of them apart. It is far
// from perfect, and a prompt's half may be a sentence.
func TestWholeSentencesEndAndBrokenOnesDoNot(t *testing.T) {
	m := load(t)
	all, err := voices.Prompts()
	if err != nil {
		t.Fatal(err)
	}
	silence := make([]int16, 3200)
	whole, broken, n := 0, 0, 0
	for i := 0; i < len(all) && n < 30; i += 3 {
		pcm, err := voices.Decode(t.Context(), all[i].Path, 16000)
		if err != nil {
			t.Fatal(err)
		}
		for len(pcm) > 0 && pcm[len(pcm)-1] < 100 && pcm[len(pcm)-1] > -100 {
			pcm = pcm[:len(pcm)-1]
		}
		if len(pcm) < 2*16000 || len(pcm) > 8*16000 {
			continue
		}
		n++
		judge := func(pcm []int16) bool {
			p, err := m.Prob(t.Context(), append(append([]int16(nil), pcm...), silence...))
			if err != nil {
				t.Fatal(err)
			}
			return p > 0.5
		}
		if judge(pcm) {
			whole++
		}
		if !judge(pcm[:len(pcm)*6/10]) {
			broken++
		}
	}
	t.Logf("%d of %d whole, %d broken", whole, n, broken)
	if n < 20 || whole*10 < n*7 || broken*10 < n*5 {
		t.Errorf("of %d prompts %d were taken as whole, %d halves as broken", n, whole, broken)
	}
}

func TestAnotherModelIsRefused(t *testing.T) {
	p := models.At(need.Models(t))
	if err := ort.Init(p.Runtime); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(p.VAD); err == nil {
		t.Error("the activity model passed for this one")
	}
}

func BenchmarkProb(b *testing.B) {
	m := load(b)
	pcm := make([]int16, Window)
	for b.Loop() {
		if _, err := m.Prob(b.Context(), pcm); err != nil {
			b.Fatal(err)
		}
	}
}
