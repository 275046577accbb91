package transcript

import (
	"slices"
	"sort"
)

// View is a transcript as it stands now: of each segment, its latest revision.
// The zero View is empty. It is not safe for concurrent use.
type View struct {
	segs []Segment // ordered by Seq
}

// Apply takes a line. It says whether the line changed anything: an older revision, or the same one again, does not.
func (v *View) Apply(s Segment) bool {
	i := v.find(s.Seq)
	if i < len(v.segs) && v.segs[i].Seq == s.Seq {
		if s.Rev <= v.segs[i].Rev {
			return false
		}
		v.segs[i] = s
		return true
	}
	v.segs = slices.Insert(v.segs, i, s)
	return true
}

// Get gives a segment.
func (v *View) Get(seq Seq) (Segment, bool) {
	if i := v.find(seq); i < len(v.segs) && v.segs[i].Seq == seq {
		return v.segs[i], true
	}
	return Segment{}, false
}

// Last is the highest Seq, 0 when there is none.
func (v *View) Last() Seq {
	if len(v.segs) == 0 {
		return 0
	}
	return v.segs[len(v.segs)-1].Seq
}

// Segments are all segments in the order of Seq. The slice is the caller's.
func (v *View) Segments() []Segment { return slices.Clone(v.segs) }

func (v *View) find(seq Seq) int {
	return sort.Search(len(v.segs), func(i int) bool { return v.segs[i].Seq >= seq })
}
