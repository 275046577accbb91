package attend

import (
	"context"
	"time"

	"parley/meeting"
)

const (
	tendEvery = 2 * time.Second
	pressTime = 5 * time.Second
	tendTime  = 15 * time.Second
)

// tend does what nobody asks for: dialogs that a rule answers, what the page needs after admission, a toolbar that hides,
// a camera that is on.
func (c *Call) tend(ctx context.Context) {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		in := false
		changed := c.seen.Look(func(s *State) { in = s.Decision.Place == meeting.PlaceIn })
		settled := false
		select {
		case <-c.settled:
			settled = true
		default:
		}
		if in && !settled {
			c.settle(ctx)
			continue
		}
		if settled {
			changed = nil // only the clock matters from now on
		}
		select {
		case p := <-c.pressing:
			bounded(ctx, pressTime, func(ctx context.Context) {
				if err := c.press(ctx, p); err != nil {
					c.Log.Debug("a dialog was not answered", "error", err)
				}
			})
		case <-changed:
		case <-tick.C:
			bounded(ctx, tendTime, c.look)
		case <-ctx.Done():
			return
		}
	}
}

func bounded(ctx context.Context, d time.Duration, f func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	f(ctx)
}

// settle comes once after admission.
func (c *Call) settle(ctx context.Context) {
	if c.m.Settle != nil {
		bounded(ctx, tendTime, func(ctx context.Context) {
			if err := c.m.Settle(ctx, c); err != nil {
				c.Log.Warn("after admission", "platform", c.m.Table.Platform, "error", err)
			}
		})
	}
	c.settleOnce.Do(func() { close(c.settled) })
}

// look is what comes every two seconds.
func (c *Call) look(ctx context.Context) {
	var place, was meeting.Place
	var leaving bool
	var cam meeting.Device
	c.Look(func(s *State) { place, was, leaving, cam = s.Decision.Place, s.place, s.leaving, s.cam })
	if leaving || place == meeting.PlaceOut {
		return
	}
	select {
	case <-c.asked:
	default:
		return // the steps to the door work the page themselves
	}
	// Toolbars hide while the pointer rests, and what is hidden is no sign of anything.
	if place != meeting.PlaceLobby || was == meeting.PlaceIn {
		if err := c.Nudge(ctx); err != nil {
			return
		}
	}
	if place == meeting.PlaceIn && cam == meeting.DeviceOn {
		if d, err := c.Switch(ctx, "camera", false); err != nil || d != meeting.DeviceOff {
			c.Log.Warn("the camera is on", "state", d, "error", err)
		}
	}
	if c.m.Tend != nil {
		c.m.Tend(ctx, c)
	}
}
