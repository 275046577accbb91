package station

import (
	"context"

	"parley/meeting"
)

// listened is a Call whose events and tracks the scribe hears too.
type listened struct {
	meeting.Call
	events chan meeting.CallEvent
}

// listen wraps a call. Its goroutines end with the call's channels, which end with the page.
func (s *station) listen(c meeting.Call) *listened {
	l := &listened{Call: c, events: make(chan meeting.CallEvent, 64)}
	s.wg.Go(func() {
		defer close(l.events)
		for ev := range c.Events() {
			if h := s.hearing; h != nil {
				switch ev := ev.(type) {
				case meeting.SeenSpeaking:
					h.scribe.Shown(ev)
				case meeting.SeenCaption:
					h.scribe.Captioned(ev)
				case meeting.SeenPeople:
					h.scribe.People(ev)
				}
			}
			select {
			case l.events <- ev:
			case <-s.life.Done(): // nobody reads any more
			}
		}
	})
	if t, ok := c.(meeting.TrackTapper); ok && s.hearing != nil {
		s.wg.Go(func() {
			for f := range t.Tracks() {
				if s.gate.IsOpen() { // consent counts for tracks as for the mix
					s.hearing.scribe.Track(f)
				}
			}
		})
	}
	return l
}

// Events gives what the call shows.
func (l *listened) Events() <-chan meeting.CallEvent { return l.events }

// RaiseHand raises the hand where the platform has one.
func (l *listened) RaiseHand(ctx context.Context, up bool) error {
	if h, ok := l.Call.(meeting.HandRaiser); ok {
		return h.RaiseHand(ctx, up)
	}
	return meeting.ErrCannot
}

// AnswerDialog clicks a choice where the platform can.
func (l *listened) AnswerDialog(ctx context.Context, id, choice string) error {
	if a, ok := l.Call.(meeting.DialogAnswerer); ok {
		return a.AnswerDialog(ctx, id, choice)
	}
	return meeting.ErrCannot
}

// Testimony is what the page showed lately, where the platform keeps it.
func (l *listened) Testimony(ctx context.Context) any {
	if w, ok := l.Call.(meeting.Witness); ok {
		return w.Testimony(ctx)
	}
	return nil
}

var (
	_ meeting.Witness        = (*listened)(nil)
	_ meeting.Call           = (*listened)(nil)
	_ meeting.HandRaiser     = (*listened)(nil)
	_ meeting.DialogAnswerer = (*listened)(nil)
)
