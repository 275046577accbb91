package turn

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"parley/transcript"
)

func TestNumbersAreHeldAsStretches(t *testing.T) {
	for _, c := range []struct {
		name string
		add  []transcript.Seq
		want seqs
	}{
		{"none", nil, nil},
		{"in order", []transcript.Seq{1, 2, 3}, seqs{{1, 3}}},
		{"backwards", []transcript.Seq{3, 2, 1}, seqs{{1, 3}}},
		{"a gap", []transcript.Seq{1, 2, 5}, seqs{{1, 2}, {5, 5}}},
		{"a gap that closes", []transcript.Seq{1, 2, 5, 4, 3}, seqs{{1, 5}}},
		{"twice", []transcript.Seq{2, 2, 1, 2}, seqs{{1, 2}}},
	} {
		var s seqs
		for _, n := range c.add {
			s.add(n)
		}
		if !reflect.DeepEqual(s, c.want) {
			t.Errorf("%s: %v, want %v", c.name, s, c.want)
		}
	}
	var s seqs
	all := map[transcript.Seq]bool{}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := transcript.Seq(r.IntN(500))
		if s.has(n) != all[n] {
			t.Fatalf("%d: %v", n, s)
		}
		s.add(n)
		all[n] = true
	}
}

func TestTooManyGapsForgetTheOldest(t *testing.T) {
	var s seqs
	for n := range transcript.Seq(seenMax + 10) {
		s.add(2 * n)
	}
	if len(s) != seenMax || !s.has(1) || s.has(2*(seenMax+9)-1) || !s.has(2*(seenMax+9)) {
		t.Errorf("%d stretches, the lowest %v", len(s), s[0])
	}
}
