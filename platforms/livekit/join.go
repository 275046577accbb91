package livekit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/attend"
	"parley/platforms/observe"
	"parley/platforms/sign"
)

// The times of the steps to the door; the caller's context bounds them together.
const (
	loadTime = 20 * time.Second
	stepTime = 20 * time.Second
)

// maxName is how long a display name we give, in letters; LiveKit itself has no bound that a tile could show.
const maxName = 60

// Join goes from the link to having asked to join: devices off, name given, button pressed.
func (c *Call) Join(ctx context.Context, r meeting.JoinRequest) error {
	if err := c.load(ctx); err != nil {
		return err
	}
	if err := c.silence(ctx); err != nil {
		return err
	}
	if err := c.page.Type(ctx, target("name"), clip(r.Name, maxName)); err != nil {
		return fmt.Errorf("join: give our name: %w", err)
	}
	if r.DryRun {
		return nil
	}
	if err := c.page.Click(ctx, target("join")); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	return c.asked(ctx)
}

// load opens the page and waits for its lobby.
func (c *Call) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	if err := c.page.Navigate(ctx, c.link.URL); err != nil {
		if errors.Is(err, platforms.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
			return &meeting.EndError{Reason: meeting.ReasonUnreachable, Err: err}
		}
		return fmt.Errorf("join: %w", err)
	}
	if err := attend.Answered(ctx, c.page, "meeting"); err != nil {
		return err
	}
	err := c.await(ctx, func(s *state) bool { return s.shows(sign.Lobby) || s.shows(sign.Out) })
	if errors.Is(err, context.DeadlineExceeded) {
		return &meeting.EndError{Reason: meeting.ReasonInvalidMeeting, Err: errors.New("the page at this address is not one of LiveKit's prebuilt conference: it does not ask for a name")}
	}
	return err
}

// silence switches microphone and camera off in the lobby and reads them back. What cannot be shown to be off stops the
// join. A page without a button for the camera has none.
func (c *Call) silence(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	for _, device := range []string{"microphone", "camera"} {
		d, err := c.turn(ctx, device, false)
		switch {
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("join: switch the %s off: %w", device, err)
		case d == meeting.DeviceOff || d == meeting.DeviceBlocked:
			continue
		case device == "camera" && err == nil && d == meeting.DeviceUnknown:
			if f, err := c.page.Find(ctx, target(device)); err == nil && !f.OK {
				continue
			}
		}
		return &meeting.EndError{Reason: meeting.ReasonDevicesOn, Err: fmt.Errorf("the %s is %s", device, d)}
	}
	return nil
}

// asked waits until the page has taken our request: it shows the conference or an end, or says what is wrong.
func (c *Call) asked(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	for {
		step, done := context.WithTimeout(ctx, time.Second)
		err := c.await(step, func(s *state) bool { return s.inside || s.shows(sign.Out) })
		done()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("join: the page did not enter the meeting: %w", context.Cause(ctx))
		}
		// A problem with the connection or the name is told beside the form, which stays.
		f, err := c.page.Find(ctx, target("problem"))
		if err != nil {
			return fmt.Errorf("join: %w", err)
		}
		back, err := c.page.Find(ctx, target("join"))
		if err != nil {
			return fmt.Errorf("join: %w", err)
		}
		if f.Text != "" && back.OK && back.Enabled {
			return &meeting.EndError{Reason: meeting.ReasonJoinFailed, Text: f.Text, Err: errors.New("the page refused the request")}
		}
	}
}

// target is an element of ui.json.
func target(name string) platforms.Target {
	w, ok := ui.Targets[name]
	if !ok {
		panic("platforms/livekit/ui.json has no target " + name) // a test asks for each
	}
	return observe.Target(w)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
