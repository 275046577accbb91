package transcript

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// How sure each kind of sign can be at best, when it names one person for the whole of a segment.
var surest = map[string]float64{SourceTrack: 0.98, SourceCaptions: 0.9, SourceHighlight: 0.8}

const (
	// enough is how much of a segment a track has to cover before the tracks alone decide.
	enough = 0.25
	// alsoSpoke is the share of a segment, and alsoSpokeFor the time, from which somebody is listed in Speakers.
	alsoSpoke    = 0.15
	alsoSpokeFor = 200 * time.Millisecond
	// trackSlack is how far voice activity of a track and of the mix may lie apart.
	trackSlack = 100 * time.Millisecond
)

// tally is what one kind of signs says about a segment.
type tally struct {
	person Person
	mass   float64       // weighted time
	time   time.Duration // plain time
}

// judge names the speaker of a segment, and all of them when there were several.
func (a *Attributor) judge(s Segment) (*Speaker, []Speaker) {
	from, to := seconds(s.Start), seconds(s.End)
	if to <= from {
		to = from + time.Millisecond
	}
	length := to - from
	tracks := a.count(SourceTrack, from-trackSlack, to+trackSlack, 0)
	marks := a.count(SourceHighlight, from-a.o.LookBack, to, a.o.Lag)
	captions := a.count(SourceCaptions, from, to, 0)

	best, source := tracks, SourceTrack
	switch {
	case longest(tracks) >= time.Duration(enough*float64(length)):
	case len(captions) > 0:
		best, source = captions, SourceCaptions
	case len(marks) > 0:
		best, source = marks, SourceHighlight
	case len(tracks) == 0:
		return nil, nil
	}
	speakers := a.speakers(best, source, length)
	a.compare(&speakers[0], source, marks, captions)
	if len(speakers) == 1 {
		return &speakers[0], nil
	}
	first := speakers[0]
	return &first, speakers
}

// compare lets the other signs confirm or question the answer.
func (a *Attributor) compare(s *Speaker, source string, marks, captions []tally) {
	if source != SourceCaptions {
		weigh(s, captions)
	}
	if source != SourceHighlight {
		weigh(s, marks)
	}
	s.Confidence = round(min(s.Confidence, 0.99))
}

func weigh(s *Speaker, other []tally) {
	switch {
	case len(other) == 0:
	case same(other[0].person, *s):
		s.Confidence += (1 - s.Confidence) / 2
	case !slices.ContainsFunc(other, func(t tally) bool { return same(t.person, *s) }):
		s.Confidence *= 0.85
	}
}

func same(p Person, s Speaker) bool {
	if p.ID != "" && s.ID != "" {
		return p.ID == s.ID
	}
	return p.Name != "" && p.Name == s.Name
}

// speakers turns a tally into speakers with confidence, the surest first; at least one.
func (a *Attributor) speakers(list []tally, source string, length time.Duration) []Speaker {
	total := 0.0
	for _, t := range list {
		total += t.mass
	}
	var out []Speaker
	for i, t := range list {
		share := t.mass / total
		if i > 0 && (share < alsoSpoke || t.time < alsoSpokeFor) {
			break
		}
		// Somebody shown or heard during a small part of the segment only is a weaker answer.
		cover := min(1, float64(t.time)/float64(length))
		sure := surest[source] * share * (0.5 + 0.5*cover)
		out = append(out, Speaker{ID: t.person.ID, Name: a.name(t.person), Confidence: max(0.01, round(sure)), Source: source})
	}
	return out
}

// count adds up one kind of signs between two moments, per person, the most first. lag moves the signs back.
func (a *Attributor) count(source string, from, to, lag time.Duration) []tally {
	var list []tally
	index := map[string]int{}
	signs := a.signs[source]
	first := sort.Search(len(signs), func(i int) bool { return signs[i].from-lag >= from-a.long[source] })
	for _, s := range signs[first:] {
		if s.from-lag > to {
			break
		}
		overlap := min(s.to-lag, to) - max(s.from-lag, from)
		if overlap <= 0 {
			continue
		}
		for _, p := range s.who {
			if a.isSelf(p) {
				continue
			}
			k := keyOf(p)
			i, ok := index[k]
			if !ok {
				i = len(list)
				index[k] = i
				list = append(list, tally{person: p})
			}
			if p.Name != "" {
				list[i].person.Name = p.Name
			}
			list[i].mass += s.weight * overlap.Seconds()
			list[i].time += overlap
		}
	}
	slices.SortStableFunc(list, func(x, y tally) int { return cmp.Compare(y.mass, x.mass) })
	return list
}

func longest(list []tally) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return list[0].time
}

func round(f float64) float64 { return float64(int(f*100+0.5)) / 100 }
