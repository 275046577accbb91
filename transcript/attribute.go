package transcript

import (
	"cmp"
	"slices"
	"time"
)

// Person is somebody at the meeting as the platform knows them. ID wins over Name; without an ID the name is
// all there is. The zero Person is nobody.
type Person struct {
	ID   string
	Name string
}

// The sources of a Speaker, in Speaker.Source.
const (
	SourceTrack     = "track"
	SourceHighlight = "highlight"
	SourceCaptions  = "captions"
)

// AttributorOptions tune an Attributor. The zero value is what the product uses.
type AttributorOptions struct {
	// LookBack is how long before a segment began the page's mark already counts; zero means 300 ms.
	LookBack time.Duration
	// Lag shifts the page's marks back: they come after the voice. Zero means no shift, which is what the
	// reference behaviour does.
	Lag time.Duration
	// Hold is how long one look at the page stays true when no other follows; zero means 1 s.
	Hold time.Duration
	// Keep is how far back signs are remembered, and so how late a segment can still be judged or corrected;
	// zero means 2 minutes.
	Keep time.Duration
}

// The bounds of what an Attributor remembers; over them the oldest goes first.
const (
	maxSigns    = 8192
	maxPeople   = 1024
	maxReviewed = 256
	maxName     = 200 // bytes of a name
)

// Attributor decides who said a segment from three kinds of signs: whose own track had voice, whom the page
// showed speaking, and the platform's captions. It is pure: every sign comes with its time on the meeting's
// clock (since the first recorded sample), in any order. One goroutine uses it.
//
// "Nobody knows" is an answer: a segment without signs gets no speaker. Ourselves are never one.
type Attributor struct {
	o      AttributorOptions
	people map[string]Person        // by key: the latest name of an id
	self   map[string]bool          // keys that are us
	signs  map[string][]sign        // by source, ordered by from
	long   map[string]time.Duration // the longest sign of a source
	open   int                      // index of the highlight that is still true, -1 when none
	judged []Segment                // lately judged, for Review

	// Forgotten counts signs that were dropped because there were too many.
	Forgotten int
}

// sign says that some people were heard or shown from one moment to another.
type sign struct {
	who      []Person
	from, to time.Duration
	weight   float64 // energy of a track, 1 for the others
}

// NewAttributor makes an Attributor.
func NewAttributor(o AttributorOptions) *Attributor {
	o.LookBack = cmp.Or(o.LookBack, 300*time.Millisecond)
	o.Hold = cmp.Or(o.Hold, time.Second)
	o.Keep = cmp.Or(o.Keep, 2*time.Minute)
	return &Attributor{o: o, people: map[string]Person{}, self: map[string]bool{}, signs: map[string][]sign{}, long: map[string]time.Duration{}, open: -1}
}

func keyOf(p Person) string {
	if p.ID != "" {
		return "id:" + p.ID
	}
	if p.Name != "" {
		return "name:" + p.Name
	}
	return ""
}

func clip(s string) string {
	if len(s) > maxName {
		s = s[:maxName]
		for len(s) > 0 && s[len(s)-1]&0xC0 == 0x80 {
			s = s[:len(s)-1]
		}
		if len(s) > 0 && s[len(s)-1] >= 0xC0 {
			s = s[:len(s)-1]
		}
	}
	return s
}

// Self says that this is our own tile. It never counts from then on.
func (a *Attributor) Self(p Person) {
	if k := keyOf(p); k != "" {
		a.self[k] = true
	}
}

// Know takes somebody's name from the roster. Segments whose speaker was an id without a name get it with the
// next Review; a later name of the same id changes nothing that was written before.
func (a *Attributor) Know(p Person) {
	p.Name, p.ID = clip(p.Name), clip(p.ID)
	if p.ID == "" || p.Name == "" {
		return
	}
	if _, known := a.people[keyOf(p)]; !known && len(a.people) >= maxPeople {
		return
	}
	a.people[keyOf(p)] = p
}

// Voice says that somebody's own track had voice from one moment to another, with a mean energy above 0
// (any unit that is the same for all tracks; it decides between people who are heard at once, one of them
// perhaps through another's microphone).
func (a *Attributor) Voice(p Person, from, to time.Duration, energy float64) {
	a.Know(p)
	if to <= from || !(energy > 0) || keyOf(p) == "" {
		return
	}
	a.add(SourceTrack, sign{who: []Person{p}, from: from, to: to, weight: energy})
}

// Shown says whom the page shows speaking at a moment; nobody ends what was shown before. Call it at every
// look at the page (about every 300 ms) or whenever that changes.
func (a *Attributor) Shown(at time.Duration, who []Person) {
	list := a.signs[SourceHighlight]
	if a.open >= 0 && a.open < len(list) && list[a.open].from <= at {
		list[a.open].to = min(list[a.open].to, max(at, list[a.open].from))
	}
	a.open = -1
	shown := make([]Person, 0, len(who))
	for _, p := range who {
		a.Know(p)
		if keyOf(p) != "" && !slices.Contains(shown, p) {
			shown = append(shown, p)
		}
	}
	if len(shown) > 0 {
		a.open = a.add(SourceHighlight, sign{who: shown, from: at, to: at + a.o.Hold, weight: 1})
	}
}

// Captioned says that the platform's own captions name somebody for a stretch of speech.
func (a *Attributor) Captioned(p Person, from, to time.Duration) {
	a.Know(p)
	if to > from && keyOf(p) != "" {
		a.add(SourceCaptions, sign{who: []Person{p}, from: from, to: to, weight: 1})
	}
}

// add keeps a sign in order and returns where it stands.
func (a *Attributor) add(source string, s sign) int {
	for i := range s.who {
		s.who[i].Name, s.who[i].ID = clip(s.who[i].Name), clip(s.who[i].ID)
	}
	list := a.signs[source]
	drop := 0
	for drop < len(list) && list[drop].to < s.from-a.o.Keep {
		drop++
	}
	if over := len(list) - drop + 1 - maxSigns; over > 0 {
		drop += over
		a.Forgotten += over
	}
	list = list[drop:]
	if source == SourceHighlight && a.open >= 0 {
		a.open -= drop
	}
	a.long[source] = max(a.long[source], s.to-s.from)
	i := len(list)
	for i > 0 && list[i-1].from > s.from {
		i--
	}
	a.signs[source] = slices.Insert(list, i, s)
	return i
}

// Track fills in the speaker of a segment that was heard on somebody's own track.
func (a *Attributor) Track(s Segment, p Person) Segment {
	s.Speaker, s.Speakers = nil, nil
	if keyOf(p) == "" || a.isSelf(p) {
		return s
	}
	a.Know(p)
	s.Speaker = &Speaker{ID: p.ID, Name: a.name(p), Confidence: 0.99, Source: SourceTrack}
	a.remember(s)
	return s
}

// Judge fills in Speaker and, when there were several, Speakers of a segment heard in the mix.
// Words are not changed; the result is remembered for Review.
func (a *Attributor) Judge(s Segment) Segment {
	s.Speaker, s.Speakers = a.judge(s)
	a.remember(s)
	return s
}

func (a *Attributor) remember(s Segment) {
	if s.Seq <= 0 {
		return
	}
	if i := slices.IndexFunc(a.judged, func(o Segment) bool { return o.Seq == s.Seq }); i >= 0 {
		a.judged = slices.Delete(a.judged, i, i+1)
	}
	a.judged = append(a.judged, s)
	if len(a.judged) > maxReviewed {
		a.judged = a.judged[len(a.judged)-maxReviewed:]
	}
}

// Review judges again what was judged lately and returns the segments whose speaker is now another one: signs
// that came late, or a name that was learned. A speaker once named is never taken back to nobody, and one
// who is named stays unless the other sign is of a better kind, or clearly surer.
func (a *Attributor) Review(now time.Duration) []Segment {
	kept := a.judged[:0]
	var changed []Segment
	for _, s := range a.judged {
		if seconds(s.End) < now-a.o.Keep {
			continue
		}
		if n, ok := a.review(s); ok {
			s = n
			changed = append(changed, s)
		}
		kept = append(kept, s)
	}
	a.judged = kept
	return changed
}

// clearly is how much surer another answer has to be to replace one that is written.
const clearly = 0.1

func (a *Attributor) review(s Segment) (Segment, bool) {
	old := s.Speaker
	if old != nil && old.Name == "" && old.ID != "" {
		if name := a.name(Person{ID: old.ID}); name != "" {
			sp := *old
			sp.Name = name
			s.Speaker = &sp
			return s, true
		}
	}
	if old != nil && old.Source == SourceTrack && old.Confidence >= 0.99 {
		return s, false
	}
	who, all := a.judge(s)
	switch {
	case who == nil:
		return s, false
	case old == nil:
	case who.ID == old.ID && who.Name == old.Name:
		return s, false
	case who.ID != "" && who.ID == old.ID: // renamed since: what was shown then stands
		return s, false
	case surest[who.Source] <= surest[old.Source] && who.Confidence < old.Confidence+clearly:
		return s, false
	}
	s.Speaker, s.Speakers = who, all
	return s, true
}

func (a *Attributor) isSelf(p Person) bool {
	return p.ID != "" && a.self["id:"+p.ID] || p.ID == "" && a.self["name:"+p.Name]
}

// name is what to call somebody: the name they came with, else the one the roster has.
func (a *Attributor) name(p Person) string {
	if p.Name != "" {
		return p.Name
	}
	return a.people[keyOf(p)].Name
}

// Forget forgets every sign, name and segment.
func (a *Attributor) Forget() { *a = *NewAttributor(a.o) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
