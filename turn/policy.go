package turn

import (
	"time"

	"parley/transcript"
)

// Policy is the judgement of the turn engine; everything else (what a turn consists of, what is answered, what
// is said) is the Engine's and the same for every policy. A policy is pure: the same view gives the same answer.
// It is asked again whenever something in its view changes, and at the time it names.
type Policy interface {
	// Name tells policies apart in journals and tables.
	Name() string
	// Hold says when a held turn is handed over; ok is false when only more speech can decide. A time that has
	// passed means at once.
	Hold(Held) (at time.Duration, ok bool)
	// Overlap says what becomes of our voice while others are heard, and when to ask again (0 = when something
	// changes).
	Overlap(Overlap) (Verdict, time.Duration)
}

// Held is a turn that waits, as a policy sees it. Times are on the meeting's clock.
type Held struct {
	Now       time.Duration
	Settings  Settings
	Text      string // all its segments
	Lang      string
	Began     time.Duration // when the limit began to count
	LastFinal time.Duration // when its last final came
	// Open says that its speaker is heard again and the next final is still to come; LastPartial is when that
	// was last confirmed.
	Open        bool
	OpenText    string
	LastPartial time.Duration
	// Voice and TurnEnd are what Activity and TurnEnd events told last; TurnEnd is -1 before there is one.
	Voice   bool
	VoiceAt time.Duration
	TurnEnd float64
}

// Overlap is somebody else's voice over ours, as a policy sees it.
type Overlap struct {
	Now      time.Duration
	Settings Settings
	// Began is when our voice began.
	Began time.Duration
	// File is true for an uploaded sound, whose echo cannot be recognised.
	File bool
	// Words are the new words of one segment since we began: neither ours nor merely agreeing.
	Words int
	// Agreed are the merely agreeing ones.
	Agreed int
	// Shown is for how long the page has shown somebody speaking since we began; ShownNow whether it does now.
	Shown    time.Duration
	ShownNow bool
	// Names says that this page has ever shown somebody speaking.
	Names bool
	// Voice is what Activity told; VoiceAt when.
	Voice   bool
	VoiceAt time.Duration
	Ducked  bool
	// Speaker is who is heard, when known.
	Speaker *transcript.Speaker
}

// Verdict is what becomes of our voice.
type Verdict int

// The verdicts.
const (
	Keep  Verdict = iota // go on as usual (and restore what was ducked)
	Lower                // go on, lower
	Yield                // stop
)

// Reference is the source document's policy: fixed holds by rules of text, interruption by counted words. It is
// frozen: it is what every other policy is measured against.
type Reference struct{}

// Name is "reference".
func (Reference) Name() string { return "reference" }

// Hold waits TurnHold after the last final, TurnHoldComplete after a question or a complete sentence, and for
// the next final while the speaker goes on.
func (Reference) Hold(h Held) (time.Duration, bool) {
	if h.Open {
		return 0, false
	}
	hold := h.Settings.TurnHold
	if IsQuestion(h.Text, h.Lang) || IsComplete(h.Text, h.Lang) {
		hold = min(hold, h.Settings.TurnHoldComplete)
	}
	return h.LastFinal + hold, true
}

// Overlap yields to enough new words, or to one while the page shows somebody speaking for long enough; where
// the page names speakers, it has to show one at all.
func (Reference) Overlap(o Overlap) (Verdict, time.Duration) {
	s := o.Settings
	switch {
	case !s.BargeIn || o.File || o.Words == 0:
		return Keep, 0
	case o.Names && !o.ShownNow && o.Shown == 0:
		return Keep, 0
	case o.Words >= s.BargeInMinWords:
		return Yield, 0
	case o.Shown >= s.BargeInMinShown && (o.ShownNow || o.Shown > 0):
		return Yield, 0
	case o.ShownNow:
		return Keep, o.Now + s.BargeInMinShown - o.Shown
	}
	return Keep, 0
}

// Named gives a policy by the name that journals carry; nil when there is none of that name.
func Named(name string) Policy {
	for _, p := range []Policy{Reference{}, TwoStep{Reference{}}} {
		if p.Name() == name {
			return p
		}
	}
	return nil
}
