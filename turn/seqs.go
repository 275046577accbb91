package turn

import (
	"slices"

	"parley/transcript"
)

// seqs are numbers of segments, as stretches without a gap, the lowest first. Numbers come almost in order, so that few
// stretches hold a whole meeting's.
type seqs []stretch

type stretch struct{ from, to transcript.Seq } // both are in it

// at is where the stretch stands that holds n, or would.
func (s seqs) at(n transcript.Seq) (int, bool) {
	return slices.BinarySearchFunc(s, n, func(x stretch, n transcript.Seq) int {
		switch {
		case x.to < n:
			return -1
		case x.from > n:
			return 1
		}
		return 0
	})
}

func (s seqs) has(n transcript.Seq) bool {
	_, in := s.at(n)
	return in
}

// add takes a number in. With more than seenMax stretches the two lowest become one: what is missing between them is too
// old to come for the first time.
func (s *seqs) add(n transcript.Seq) {
	i, in := s.at(n)
	if in {
		return
	}
	x := *s
	below, above := i > 0 && x[i-1].to+1 == n, i < len(x) && n+1 == x[i].from
	switch {
	case below && above:
		x[i-1].to = x[i].to
		x = slices.Delete(x, i, i+1)
	case below:
		x[i-1].to = n
	case above:
		x[i].from = n
	default:
		x = slices.Insert(x, i, stretch{n, n})
	}
	if len(x) > seenMax {
		x[1].from = x[0].from
		x = slices.Delete(x, 0, 1)
	}
	*s = x
}
