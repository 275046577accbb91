package meet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/attend"
	"parley/platforms/sign"
)

// The times of the steps to the door; the caller's context bounds them together.
const (
	nameTime  = 3 * time.Second
	readyTime = 25 * time.Second // "Getting ready…"
	askedTime = 30 * time.Second
)

// maxName is how long a display name Meet takes.
const maxName = 60

// join goes from the link to having asked: microphone and camera off, name given, button pressed.
func join(ctx context.Context, c *attend.Call, r meeting.JoinRequest) error {
	where, err := address(c.Link.URL, c.O.Language)
	if err != nil {
		return err
	}
	if err := c.Load(ctx, where); err != nil {
		return err
	}
	if err := c.Arrive(ctx, attend.LoadTime, func(ctx context.Context) error { c.Try(ctx, "no-account"); return nil }); err != nil {
		return err
	}
	if !c.InLobby() && !hostNotThere(c) {
		return nil // an end, a wait or a call: the page has decided
	}
	guest, err := c.GiveName(ctx, attend.Clip(r.Name, maxName), nameTime, false)
	if err != nil {
		return err
	}
	for _, device := range []string{"microphone", "camera"} {
		if err := c.Silence(ctx, device, missing(c, device)); err != nil {
			if !c.InLobby() && !hostNotThere(c) {
				return nil // it was decided meanwhile
			}
			return err
		}
	}
	if hostNotThere(c) && !r.DryRun {
		return nil // tend knocks when the host is there
	}
	b, t, err := button(ctx, c, !r.DryRun)
	if err != nil {
		return err
	}
	l := meeting.SeenLobby{As: "account", SignedIn: "yes", JoinButton: label(b)}
	if guest {
		l.As, l.SignedIn = "guest", "no"
	}
	c.TellLobby(l)
	if r.DryRun {
		return nil
	}
	return knock(ctx, c, t)
}

// hostNotThere is the page that waits for somebody who may begin the meeting.
func hostNotThere(c *attend.Call) (yes bool) {
	c.Look(func(s *attend.State) { yes = s.Hit("host-not-there") && s.Decision.Place != meeting.PlaceIn })
	return yes
}

// missing says whether a device is not there: the page says so, or it shows no control for it and the browser has none.
func missing(c *attend.Call, device string) func(context.Context, meeting.Device) bool {
	return func(ctx context.Context, d meeting.Device) bool {
		if d == meeting.DeviceOn {
			return false
		}
		if f, _, err := c.Find(ctx, "no-"+device); err == nil && f.OK {
			return true
		}
		if f, _, err := c.Find(ctx, device); err != nil || f.OK {
			return false // a control that we cannot read may be a live device
		}
		mic, cam, err := c.Devices(ctx)
		return err == nil && (device == "microphone" && !mic || device == "camera" && !cam)
	}
}

func label(f platforms.Found) string {
	if f.Text != "" {
		return attend.Clip(attend.Fold(f.Text), 80)
	}
	return attend.Clip(attend.Fold(f.Name), 80)
}

// button finds the one to press and waits until it takes a click. The same account in the call on another device is
// joined beside it; that device is dropped only where the page offers nothing else.
func button(ctx context.Context, c *attend.Call, wait bool) (platforms.Found, platforms.Target, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	opened := false
	for {
		for _, name := range []string{"join-here", "ask", "join", "switch-here"} {
			if name == "switch-here" && !opened && c.Try(ctx, "other-ways") {
				opened = true
				if f, t, err := c.Await(ctx, "join-here", 2*time.Second); err != nil || f.OK {
					return f, t, err
				}
			}
			f, t, err := c.Find(ctx, name)
			if err != nil {
				return f, t, err
			}
			if f.OK && (f.Enabled || !wait) {
				return f, t, nil
			}
		}
		if !c.InLobby() {
			return platforms.Found{}, platforms.Target{}, nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return platforms.Found{}, platforms.Target{}, &meeting.EndError{Reason: meeting.ReasonJoinFailed,
				Err: errors.New("the page offers no button to join with, or never got it ready")}
		}
	}
}

// knock presses the button and makes sure that the page took it; a click that comes before the page is ready does nothing
// and says nothing.
func knock(ctx context.Context, c *attend.Call, t platforms.Target) error {
	if t.Role == "" && t.Selector == "" && len(t.Texts) == 0 {
		return nil // the page moved on by itself
	}
	t.Wait = readyTime
	if err := c.Page.Click(ctx, t); err != nil {
		if !c.InLobby() {
			return nil
		}
		return fmt.Errorf("join: %w", err)
	}
	c.Knocked()
	return c.Asked(ctx, askedTime, func(ctx context.Context) error {
		if f, t, err := button(ctx, c, true); err == nil && f.OK && c.InLobby() {
			t.Wait = time.Second
			if err := c.Page.Click(ctx, t); err != nil {
				c.Log.Debug("the button was not pressed again", "error", err)
			}
		}
		return nil
	})
}

// settle comes after admission: Meet may have switched devices meanwhile, and the chat must stand open to be read.
func settle(ctx context.Context, c *attend.Call) error {
	var errs []error
	for _, device := range []string{"microphone", "camera"} {
		if d, err := c.Switch(ctx, device, false); err != nil || d == meeting.DeviceOn {
			errs = append(errs, fmt.Errorf("the %s is %s: %w", device, d, err))
		}
	}
	if err := c.OpenChat(ctx); err != nil {
		errs = append(errs, err)
	}
	if c.O.Captions {
		c.Try(ctx, "captions-on")
	}
	return errors.Join(errs...)
}

// tend keeps the chat open, and knocks when the host has come.
func tend(ctx context.Context, c *attend.Call) {
	if c.Place() == meeting.PlaceIn {
		open := false
		c.Look(func(s *attend.State) { open = s.Shown.Chat.Open })
		if !open {
			if err := c.OpenChat(ctx); err != nil {
				c.Log.Debug("the chat is not open", "error", err)
			}
		}
		return
	}
	if c.Shows(sign.Lobby) && !hostNotThere(c) && !c.Shows(sign.Out) {
		waiting := false
		c.Look(func(s *attend.State) { waiting = s.Hit("asking") })
		if waiting {
			return
		}
		for _, device := range []string{"microphone", "camera"} { // Meet switches devices while one waits
			if c.Silence(ctx, device, missing(c, device)) != nil {
				return
			}
		}
		if f, t, err := button(ctx, c, false); err == nil && f.OK && f.Enabled {
			t.Wait = time.Second
			c.Knocked()
			if err := c.Page.Click(ctx, t); err != nil {
				c.Log.Debug("the door was not knocked at", "error", err)
			}
		}
	}
}
