package attend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/sign"
)

// LoadTime is how long a page may take until it shows where we are.
const LoadTime = 25 * time.Second

// Elsewhere opens another page than the meeting's, of which nothing is believed: it may show a form to sign in, which would be
// an end. Load comes back.
func (c *Call) Elsewhere(ctx context.Context, address string) (where string, err error) {
	c.update(func(s *State) { s.blind = true })
	if err := c.Page.Navigate(ctx, address); err != nil {
		return "", fmt.Errorf("look elsewhere: %w", err)
	}
	return c.Page.URL(ctx)
}

// Load opens the meeting's page and waits until it shows where we are.
func (c *Call) Load(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, LoadTime)
	defer cancel()
	c.update(func(s *State) { s.Seen, s.hits = false, nil })
	err := c.Page.Navigate(ctx, address)
	c.update(func(s *State) { s.blind = false })
	if err != nil {
		if errors.Is(err, platforms.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
			return &meeting.EndError{Reason: meeting.ReasonUnreachable, Err: err}
		}
		return fmt.Errorf("join: %w", err)
	}
	return Answered(ctx, c.Page, "meeting")
}

// Answered looks at the status that the server gave for the page: an error page has no lobby to wait for. The what is what
// should be at the address ("meeting").
func Answered(ctx context.Context, page platforms.Page, what string) error {
	var status int
	const script = "() => (performance.getEntriesByType('navigation')[0] || {}).responseStatus || 0"
	if err := platforms.Read(ctx, page, script, nil, &status); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	switch {
	case status >= 500:
		return &meeting.EndError{Reason: meeting.ReasonUnreachable, Err: fmt.Errorf("the server answers with status %d", status)}
	case status >= 400:
		return &meeting.EndError{Reason: meeting.ReasonInvalidMeeting, Err: fmt.Errorf("the server has no %s at this address (status %d)", what, status)}
	}
	return nil
}

// Arrive waits until the page shows a lobby, a wait, an end or a call. Each step that the page wants before is tried by
// before, which may be nil.
func (c *Call) Arrive(ctx context.Context, limit time.Duration, before func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		step, done := context.WithTimeout(ctx, time.Second)
		err := c.Until(step, c.anywhere)
		done()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return &meeting.EndError{Reason: meeting.ReasonJoinFailed, Err: errors.New("the page shows neither a lobby nor a meeting")}
		}
		if before != nil {
			if err := before(ctx); err != nil {
				return err
			}
		}
	}
}

// ErrOver means that the page has decided: an end, a call, a wait. There is nothing to ask for any more.
var ErrOver = errors.New("the page is past its lobby")

// InLobby says whether the page still waits for us to ask.
func (c *Call) InLobby() bool {
	in := false
	c.Look(func(s *State) {
		in = s.Decision.Place != meeting.PlaceOut && s.Decision.Place != meeting.PlaceIn && !c.shows(s, sign.Out) && !c.shows(s, sign.Wall) && !c.shows(s, sign.Waiting)
	})
	return in
}

// GiveName types our name where the page asks for one, and reads it back. typed is false where it does not ask. With
// keep, a name that stands there already is left.
func (c *Call) GiveName(ctx context.Context, name string, wait time.Duration, keep bool) (typed bool, err error) {
	f, t, err := c.Await(ctx, "name", wait)
	if err != nil || !f.OK {
		return false, err
	}
	if keep && Fold(f.Value) != "" {
		return false, nil
	}
	for try := 0; ; try++ {
		t.Wait = 4 * time.Second
		if err = c.Page.Type(ctx, t, name); err == nil {
			if f, _, err = c.Find(ctx, "name"); err == nil && Fold(f.Value) == Fold(name) {
				return true, nil
			}
		}
		if try == 3 || ctx.Err() != nil {
			return false, fmt.Errorf("join: give our name: %w", errors.Join(err, ctx.Err()))
		}
		if c.m.Uncover != nil {
			c.m.Uncover(ctx, c)
		}
		// Something covers the field, or the page drew it anew: dialogs are answered meanwhile.
		if !pause(ctx, 700*time.Millisecond) {
			return false, fmt.Errorf("join: give our name: %w", context.Cause(ctx))
		}
	}
}

// Silence brings a device to off in the lobby. gone says whether it is certain in another way that nothing goes out (there
// is no such device); it is asked only when the device is not shown as off.
func (c *Call) Silence(ctx context.Context, device string, gone func(context.Context, meeting.Device) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	d, err := c.Switch(ctx, device, false)
	if err == nil && (d == meeting.DeviceOff || d == meeting.DeviceBlocked) {
		return nil
	}
	if gone != nil && gone(ctx, d) {
		return nil
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("join: switch the %s off: %w", device, err)
	}
	return &meeting.EndError{Reason: meeting.ReasonDevicesOn, Err: fmt.Errorf("the %s is %s", device, d)}
}

// Devices says which kinds of devices the browser has, as the page would see it.
func (c *Call) Devices(ctx context.Context) (microphone, camera bool, err error) {
	var kinds []string
	const script = "async () => (await navigator.mediaDevices.enumerateDevices()).map((d) => d.kind)"
	if err := platforms.Read(ctx, c.Page, script, nil, &kinds); err != nil {
		return true, true, err
	}
	for _, k := range kinds {
		microphone = microphone || k == "audioinput"
		camera = camera || k == "videoinput"
	}
	return microphone, camera, nil
}

// TellLobby says what the lobby offers, as a dry run reports it.
func (c *Call) TellLobby(l meeting.SeenLobby) {
	c.update(func(s *State) { l.Page, l.Challenge, s.lobby = s.Shown.Here, s.Decision.HeldBy == "challenge", true })
	l.Profile = c.O.Account
	c.events.Put(l)
}

// decideTime is how long a page without a lobby gets until it is certain what it shows instead.
const decideTime = 8 * time.Second

// sawLobby says how a dry run ended that had no lobby to look at: a wall that nobody tells of would look like a door.
func (c *Call) sawLobby(ctx context.Context) error {
	seen := false
	if c.Look(func(s *State) { seen = s.lobby }); seen {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, decideTime)
	defer cancel()
	var d sign.Decision
	_ = c.Until(ctx, func(s *State) bool { // what it is by then is what is said
		d = s.Decision
		return d.Place == meeting.PlaceOut || d.Place == meeting.PlaceIn
	})
	switch {
	case d.Place == meeting.PlaceOut || d.Place == meeting.PlaceWaiting && d.Reason != "":
		return &meeting.EndError{Reason: d.Reason, Text: d.Text}
	case d.Place == meeting.PlaceIn:
		return &meeting.EndError{Reason: meeting.ReasonJoinFailed, Err: errors.New("the page has no lobby: it went into the meeting at once")}
	}
	return &meeting.EndError{Reason: meeting.ReasonJoinFailed, Text: d.Text, Err: errors.New("the page shows no lobby")}
}

// Asked waits until the page has taken our request: it shows the wait, the call or an end. again is tried when nothing
// happened for a while; it may be nil. It is not tried once the form was gone: a button that stands there later asks a
// second time, and somebody may have said no in words that we do not know.
func (c *Call) Asked(ctx context.Context, limit time.Duration, again func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		step, done := context.WithTimeout(ctx, 4*time.Second)
		err := c.Until(step, func(s *State) bool {
			return s.Decision.Place == meeting.PlaceOut || s.Decision.Place == meeting.PlaceIn || s.Decision.Place == meeting.PlaceWaiting || c.shows(s, sign.Waiting) || c.shows(s, sign.Gate)
		})
		done()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return &meeting.EndError{Reason: meeting.ReasonJoinFailed, Err: fmt.Errorf("the page did not take our request: %w", context.Cause(ctx))}
		}
		moved := false
		c.Look(func(s *State) { moved = s.moved })
		if again != nil && !moved {
			if err := again(ctx); err != nil {
				return err
			}
		}
	}
}

// GaveUp tells that a step which came after Join had returned ends the attendance: an error that says no end is only one
// try that failed.
func (c *Call) GaveUp(err error) {
	var end *meeting.EndError
	if errors.As(err, &end) {
		c.events.Put(meeting.SeenPlace{Place: meeting.PlaceOut, Reason: string(end.Reason), Text: end.Text})
	}
}

// Try is Click for a step that may not be there: what is covered or gone by now is no error.
func (c *Call) Try(ctx context.Context, name string) bool {
	if !c.Has(name) {
		return false
	}
	ok, err := c.Click(ctx, name)
	if err != nil {
		c.Log.Debug("a step of the door was not taken", "step", name, "error", err)
	}
	return ok && err == nil
}
