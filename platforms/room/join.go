package room

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
	stepTime = 10 * time.Second
)

// maxName is how long a display name the room takes.
const maxName = 60

// Join goes from the link to having asked to join: microphone off, name given, button pressed.
func (c *Call) Join(ctx context.Context, r meeting.JoinRequest) error {
	if err := c.load(ctx); err != nil {
		return err
	}
	if err := c.silence(ctx); err != nil {
		return err
	}
	// Our voice is made, not spoken into a room: what would clean it takes bits of it away.
	if f, err := c.page.Find(ctx, target("original")); err != nil {
		return fmt.Errorf("join: %w", err)
	} else if f.OK {
		if err := c.page.Click(ctx, target("original")); err != nil {
			return fmt.Errorf("join: %w", err)
		}
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
	where, err := address(c.link.URL, c.o.Language)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	if err := c.page.Navigate(ctx, where); err != nil {
		if errors.Is(err, platforms.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
			return &meeting.EndError{Reason: meeting.ReasonUnreachable, Err: err}
		}
		return fmt.Errorf("join: %w", err)
	}
	if err := attend.Answered(ctx, c.page, "room"); err != nil {
		return err
	}
	err = c.await(ctx, func(s *state) bool { return s.shows(sign.Lobby) || s.shows(sign.Out) })
	if errors.Is(err, context.DeadlineExceeded) {
		return &meeting.EndError{Reason: meeting.ReasonInvalidMeeting, Err: errors.New("the page at this address is not a room's")}
	}
	return err
}

// silence switches the microphone off in the lobby and reads it back. One that cannot be shown to be off stops the join.
func (c *Call) silence(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	d, err := c.turn(ctx, false)
	switch {
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("join: switch the microphone off: %w", err)
	case d == meeting.DeviceOff || d == meeting.DeviceBlocked:
		return nil
	}
	return &meeting.EndError{Reason: meeting.ReasonDevicesOn, Err: fmt.Errorf("the microphone is %s", d)}
}

// asked waits until the page has taken our request: it shows the waiting, the call, an end, or says what is wrong.
func (c *Call) asked(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	for {
		step, done := context.WithTimeout(ctx, time.Second)
		err := c.await(step, func(s *state) bool { return s.shows(sign.Waiting) || s.shows(sign.In) || s.shows(sign.Out) })
		done()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("join: the room did not answer: %w", context.Cause(ctx))
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
			return &meeting.EndError{Reason: meeting.ReasonJoinFailed, Text: f.Text, Err: errors.New("the room's page refused the request")}
		}
	}
}

// target is an element of ui.json.
func target(name string) platforms.Target {
	w, ok := ui.Targets[name]
	if !ok {
		panic("platforms/room/ui.json has no target " + name) // a test asks for each
	}
	return observe.Target(w)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
