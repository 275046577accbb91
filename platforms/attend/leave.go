package attend

import (
	"context"
	"fmt"
	"time"

	"parley/meeting"
	"parley/platforms/sign"
)

// Leave leaves as a person would and waits for the page to say so, or for the call to be gone. Before the door there is
// nothing to leave.
func (c *Call) Leave(ctx context.Context) error {
	over := false
	c.update(func(s *State) {
		out := s.Decision.Place == meeting.PlaceOut || c.shows(s, sign.Out)
		lobby := c.shows(s, sign.Lobby) && !c.shows(s, sign.Waiting) && s.place != meeting.PlaceIn && s.place != meeting.PlaceWaiting
		over = out || lobby || !s.Seen
		s.leaving = !over
	})
	if over {
		return nil
	}
	isOut := func(s *State) bool { return s.Decision.Place == meeting.PlaceOut }
	for try := 0; try < 3; try++ {
		if err := c.Nudge(ctx); err != nil {
			return fmt.Errorf("leave: %w", err)
		}
		ok, err := c.Click(ctx, "leave")
		if c.Place() == meeting.PlaceOut {
			return nil // it ended by itself meanwhile
		}
		if ctx.Err() != nil {
			return fmt.Errorf("leave: %w", err)
		}
		if ok && c.Has("leave-confirm") {
			if f, t, err := c.Await(ctx, "leave-confirm", 1500*time.Millisecond); err == nil && f.OK {
				if err := c.Page.Click(ctx, t); err != nil && c.Place() != meeting.PlaceOut {
					c.Log.Debug("the second step of leaving was not taken", "error", err)
				}
			}
		}
		step, done := context.WithTimeout(ctx, 3*time.Second)
		err = c.Until(step, isOut)
		done()
		if err == nil {
			return nil
		}
	}
	if err := c.Until(ctx, isOut); err != nil {
		return fmt.Errorf("leave: the page does not say that we are out: %w", err)
	}
	return nil
}
