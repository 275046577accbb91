package server

import (
	"math/rand/v2"
	"testing"
)

func TestRingGivesBackWhatItHolds(t *testing.T) {
	var r ring
	rng := rand.New(rand.NewPCG(1, 1))
	value := func(pos int64) int16 { return int16(pos*7 + pos/65536) }
	silent := map[int64]bool{}
	for range 400 {
		if rng.IntN(40) == 0 {
			to := r.end + int64(rng.IntN(9000))
			for p := r.end; p < to; p++ {
				silent[p] = true
			}
			r.skip(to)
		}
		pcm := make([]int16, rng.IntN(5000))
		for i := range pcm {
			pcm[i] = value(r.end + int64(i))
		}
		r.write(pcm)
		start := max(0, r.end-int64(rng.IntN(ringSize)))
		got := r.read(start, r.end)
		if int64(len(got)) != r.end-start {
			t.Fatalf("%d samples from %d to %d", len(got), start, r.end)
		}
		for i, v := range got {
			p := start + int64(i)
			if want := value(p); v != want && !(silent[p] && v == 0) {
				t.Fatalf("at %d: %d, want %d", p, v, want)
			}
		}
	}
}

func TestRingLeavesOutWhatItDoesNotHold(t *testing.T) {
	var r ring
	if r.read(0, 10) != nil {
		t.Error("an empty ring gave samples")
	}
	r.skip(ringSize * 3)
	r.write([]int16{1, 2, 3})
	if got := r.read(ringSize*3-1, ringSize*3+10); len(got) != 4 || got[0] != 0 || got[3] != 3 {
		t.Errorf("%v", got)
	}
	if got := r.read(0, r.end); len(got) != ringSize {
		t.Errorf("%d samples", len(got))
	}
}
