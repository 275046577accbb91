package room

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/sign"
)

// SetMicrophone switches the microphone and reads it back. A microphone that the browser or the host blocks is no error:
// the state says so.
func (c *Call) SetMicrophone(ctx context.Context, on bool) (meeting.Device, error) {
	return c.turn(ctx, on)
}

// turn clicks the microphone's button when it is not as wanted, once, and once more if that changed nothing.
func (c *Call) turn(ctx context.Context, on bool) (meeting.Device, error) {
	c.devices.Lock()
	defer c.devices.Unlock()
	want := meeting.DeviceOff
	if on {
		want = meeting.DeviceOn
	}
	for try := 0; ; try++ {
		d, err := c.readMicrophone(ctx)
		switch {
		case err != nil:
			return meeting.DeviceUnknown, err
		case d == want, d == meeting.DeviceBlocked && !on, d == meeting.DeviceUnknown, try == 2:
			c.update(func(s *state) { s.mic = d })
			return d, nil
		}
		if err := c.page.Click(ctx, target("microphone")); err != nil {
			return meeting.DeviceUnknown, fmt.Errorf("microphone: %w", err)
		}
		settle, done := context.WithTimeout(ctx, 1500*time.Millisecond)
		// Whether it changed is read from the page below; this only waits for the moment.
		_ = c.await(settle, func(s *state) bool { return s.mic == want })
		done()
	}
}

// readMicrophone reads the button itself, now.
func (c *Call) readMicrophone(ctx context.Context) (meeting.Device, error) {
	f, err := c.page.Find(ctx, target("microphone"))
	if err != nil {
		return meeting.DeviceUnknown, fmt.Errorf("microphone: %w", err)
	}
	return ui.Devices["microphone"].Read(sign.Control{Found: f.OK, Enabled: f.Enabled, Name: f.Name, Attrs: f.Attrs}), nil
}

// RaiseHand raises or lowers our hand and waits for the page to show it.
func (c *Call) RaiseHand(ctx context.Context, up bool) error {
	c.devices.Lock()
	defer c.devices.Unlock()
	as := func(s *state) bool { return s.handSeen && s.handUp == up }
	f, err := c.page.Find(ctx, target("hand"))
	switch {
	case err != nil:
		return fmt.Errorf("hand: %w", err)
	case !f.OK:
		return fmt.Errorf("hand: %w", errNotInside)
	case (f.Attrs["aria-pressed"] == "true") == up:
		return nil
	}
	button := target("raise")
	if !up {
		button = target("lower")
	}
	if err := c.page.Click(ctx, button); err != nil {
		return fmt.Errorf("hand: %w", err)
	}
	if err := c.await(ctx, as); err != nil {
		return fmt.Errorf("hand: %w", err)
	}
	return nil
}

var errNotInside = errors.New("we are not in the room")

// Leave leaves as a person would and waits for the page to say so. From the lobby there is nothing to leave.
func (c *Call) Leave(ctx context.Context) error {
	out := func(s *state) bool { return s.decision.Place == meeting.PlaceOut }
	var button platforms.Target
	over := false
	c.read(func(s *state) {
		switch {
		case out(s) || s.shows(sign.Out):
			over = true
		case s.shows(sign.Waiting):
			button = target("cancel")
		case s.shows(sign.In):
			button = target("leave")
		case s.shows(sign.Lobby):
			over = true
		default: // nothing to be seen: try the door that is most likely there
			button = target("leave")
		}
	})
	if over {
		return nil
	}
	if err := c.page.Click(ctx, button); err != nil {
		if c.place() == meeting.PlaceOut {
			return nil // it ended by itself meanwhile
		}
		return fmt.Errorf("leave: %w", err)
	}
	if err := c.await(ctx, out); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}

// AnswerDialog clicks a button of a dialog that stands.
func (c *Call) AnswerDialog(ctx context.Context, id, choice string) error {
	if err := c.page.Click(ctx, platforms.Target{Role: "button", Names: []string{choice}, Exact: true, Within: ui.Targets["dialog"].Selector}); err != nil {
		return fmt.Errorf("dialog: %w", err)
	}
	return nil
}
