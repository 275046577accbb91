package attend

import (
	"context"
	"slices"

	"parley/meeting"
	"parley/platforms/sign"
)

// State is what the page showed last. The reader writes it, steps wait on it.
type State struct {
	Decision sign.Decision
	Shown    Shown
	Seen     bool // a report of this document was read

	hits     []sign.Hit
	place    meeting.Place // the last that was known
	mic, cam meeting.Device
	knocked  bool   // we asked to be let in
	past     bool   // and the page took it
	moved    bool   // since then its form was gone at least once, whatever stood there instead
	leaving  bool   // we pressed the button
	name     string // our own
	evidence []sign.Evidence
	own      map[string]ownRow // our own messages by id
	ownOrder []string
	sending  []string       // texts of ours that are on their way, or were lately
	answered map[string]int // how often a dialog was answered, by its rule
	unmute   string         // id of the dialog in which the host asks us to unmute
	lobby    bool           // its lobby was told
	missing  bool           // the page counts more people than it names
	pending  bool           // a dialog stands that somebody else answers
	blind    bool           // what the page shows is not the meeting's
	withheld bool           // the browser refuses the page its devices
	deaf     bool           // the sound of the meeting could not be joined
	nudges   int
}

// ownRow is one message of ours as the page shows it.
type ownRow struct {
	text    string
	private bool
	to      string
}

// ownKept is how many of our own messages are remembered, to prove new ones.
const ownKept = 64

func newState() State {
	return State{Decision: sign.Decision{Place: meeting.PlaceUnknown}, mic: meeting.DeviceUnknown, cam: meeting.DeviceUnknown, own: map[string]ownRow{}, answered: map[string]int{}}
}

func (c *Call) update(f func(*State)) { c.seen.Update(f) }

// Look looks at the state.
func (c *Call) Look(f func(*State)) { c.seen.Look(f) }

// Until waits until the state is as wanted. It returns the context's cause when that ends first.
func (c *Call) Until(ctx context.Context, ok func(*State) bool) error { return c.seen.Until(ctx, ok) }

// Place is where we are.
func (c *Call) Place() meeting.Place {
	var p meeting.Place
	c.Look(func(s *State) { p = s.Decision.Place })
	return p
}

// Shows says whether the last look had a sign of this kind.
func (c *Call) Shows(kind sign.Kind) (yes bool) {
	c.Look(func(s *State) { yes = c.shows(s, kind) })
	return yes
}

func (c *Call) shows(s *State, kind sign.Kind) bool {
	for _, h := range s.hits {
		for _, t := range c.m.Table.Signs {
			doubtful := kind != sign.Lobby && kind != sign.Waiting && h.Lang != "" && slices.Contains(t.Unverified, h.Lang)
			if t.Name == h.Sign && t.Kind == kind && !doubtful {
				return true
			}
		}
	}
	return false
}

// Answered is how often dialogs of a rule were answered.
func (s *State) Answered(rule string) int { return s.answered[rule] }

// Missing says that the page counts more people than it names.
func (s *State) Missing() bool { return s.missing }

// Pending says that a dialog stands which somebody else has to answer.
func (s *State) Pending() bool { return s.pending }

// Hit says whether the last look had this sign.
func (s *State) Hit(name string) bool {
	for _, h := range s.hits {
		if h.Sign == name {
			return true
		}
	}
	return false
}

// Anywhere says whether the page shows where we are in any way: a lobby, a wait, a call, an end, a task.
func (c *Call) anywhere(s *State) bool {
	for _, k := range []sign.Kind{sign.Lobby, sign.Waiting, sign.Out, sign.Wall, sign.Challenge, sign.Gate} {
		if c.shows(s, k) {
			return true
		}
	}
	return s.Decision.Place == meeting.PlaceIn
}
