package livekit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/sign"
)

// SetMicrophone switches the microphone and reads it back.
func (c *Call) SetMicrophone(ctx context.Context, on bool) (meeting.Device, error) {
	return c.turn(ctx, "microphone", on)
}

// turn clicks a device's button when it is not as wanted, once, and once more if that changed nothing. While the page
// switches, the button takes no click and still shows what was before: nobody may judge or click it then.
func (c *Call) turn(ctx context.Context, device string, on bool) (meeting.Device, error) {
	c.devices.Lock()
	defer c.devices.Unlock()
	want := meeting.DeviceOff
	if on {
		want = meeting.DeviceOn
	}
	for try := 0; ; try++ {
		d, err := c.settled(ctx, device)
		switch {
		case err != nil:
			return meeting.DeviceUnknown, err
		case d == want, d == meeting.DeviceBlocked && !on, d == meeting.DeviceUnknown, try == 2:
			if device == "microphone" {
				c.update(func(s *state) { s.mic = d })
			}
			return d, nil
		}
		if err := c.page.Click(ctx, target(device)); err != nil {
			return meeting.DeviceUnknown, fmt.Errorf("%s: %w", device, err)
		}
	}
}

// The page gives a device some time: the first time the microphone goes on, it is published to the server.
const (
	settleTime = 8 * time.Second
	appearTime = 1500 * time.Millisecond // the buttons come a moment after what is around them
	settleStep = 100 * time.Millisecond
)

// settled reads the button as soon as the page has ended switching. One that never ends is blocked.
func (c *Call) settled(ctx context.Context, device string) (meeting.Device, error) {
	limit, done := context.WithTimeout(ctx, settleTime)
	defer done()
	tick := time.NewTicker(settleStep)
	defer tick.Stop()
	began := time.Now()
	for {
		f, err := c.page.Find(ctx, target(device))
		if err != nil {
			return meeting.DeviceUnknown, fmt.Errorf("%s: %w", device, err)
		}
		d := ui.Devices[device].Read(sign.Control{Found: f.OK, Enabled: f.Enabled, Name: f.Name, Attrs: f.Attrs})
		if f.OK && f.Enabled || !f.OK && time.Since(began) > appearTime {
			return d, nil
		}
		select {
		case <-tick.C:
		case <-limit.Done():
			return d, ctx.Err()
		}
	}
}

var errNotInside = errors.New("we are not in the meeting")

// Leave leaves as a person would and waits for the page to say so, or for the conference to be gone. Before the door
// there is nothing to leave.
func (c *Call) Leave(ctx context.Context) error {
	over := false
	c.read(func(s *state) {
		over = s.decision.Place == meeting.PlaceOut || s.shows(sign.Out) || s.shows(sign.Lobby) && !s.inside
		s.leaving = !over
	})
	if over {
		return nil
	}
	if err := c.page.Click(ctx, target("leave")); err != nil {
		if c.place() == meeting.PlaceOut {
			return nil // it ended by itself meanwhile
		}
		return fmt.Errorf("leave: %w", err)
	}
	if err := c.await(ctx, func(s *state) bool { return s.decision.Place == meeting.PlaceOut }); err != nil {
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
