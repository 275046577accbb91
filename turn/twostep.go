package turn

import "time"

// The times of TwoStep.
const (
	// duckAfter is how long somebody else has to be heard before our voice goes down.
	duckAfter = 100 * time.Millisecond
	// duckLimit is how long it stays down without a single new word: a cough, a hum or our own echo is over by then,
	// and what goes on is noise.
	duckLimit = 1500 * time.Millisecond
)

// TwoStep interrupts in two steps: somebody else's voice lowers ours within a tenth of a second, and what is said
// decides whether it stops or comes back. When it stops, and when turns are over, is for the policy within.
type TwoStep struct{ Policy }

// Name is that of the policy within with "+duck".
func (p TwoStep) Name() string { return p.Policy.Name() + "+duck" }

// Overlap lowers our voice while somebody is heard and the policy within keeps it.
func (p TwoStep) Overlap(o Overlap) (Verdict, time.Duration) {
	v, again := p.Policy.Overlap(o)
	if v != Keep || !o.Settings.BargeIn || o.File || !o.Voice {
		return v, again
	}
	if o.Names && !o.ShownNow && o.Words == 0 {
		return v, again // a page that names speakers shows nobody: most likely it is us
	}
	// A voice that was there when we began is somebody whom we interrupt: it counts from then on.
	since := max(o.VoiceAt, o.Began)
	switch {
	case o.Now < since+duckAfter:
		return Keep, sooner(again, since+duckAfter)
	case o.Words > 0:
		return Lower, again
	case o.Now < since+duckLimit:
		return Lower, sooner(again, since+duckLimit)
	}
	return Keep, again
}

// sooner is the earlier of two times; zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}
