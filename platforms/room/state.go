package room

import (
	"context"
	"strings"

	"parley/meeting"
	"parley/platforms/sign"
)

// state is what the page showed last. The reader writes it, acts wait on it.
type state struct {
	decision sign.Decision
	hits     []sign.Hit // of the last look
	mic      meeting.Device
	handUp   bool
	handSeen bool
	people   map[string]meeting.Person
	own      map[string]string // our own messages: id → text, folded
	ownOrder []string
}

// ownKept is how many of our own messages are remembered, to prove new ones.
const ownKept = 64

func newState() state {
	return state{decision: sign.Decision{Place: meeting.PlaceUnknown}, mic: meeting.DeviceUnknown, people: map[string]meeting.Person{}, own: map[string]string{}}
}

func (c *Call) update(f func(*state)) { c.seen.Update(f) }
func (c *Call) read(f func(*state))   { c.seen.Look(f) }

func (c *Call) await(ctx context.Context, ok func(*state) bool) error { return c.seen.Until(ctx, ok) }

func (c *Call) place() meeting.Place {
	var p meeting.Place
	c.read(func(s *state) { p = s.decision.Place })
	return p
}

// shows says whether the last look had a sign of this kind.
func (s *state) shows(kind sign.Kind) bool {
	for _, h := range s.hits {
		for _, t := range ui.Signs {
			if t.Name == h.Sign && t.Kind == kind {
				return true
			}
		}
	}
	return false
}

// fold makes texts comparable: fields and logs treat white space in their own ways.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }
