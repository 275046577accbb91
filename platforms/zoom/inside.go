package zoom

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/attend"
	"parley/platforms/sign"
)

// audioTime is how long joining the sound may take.
const audioTime = 9 * time.Second

// settle comes after admission: without computer audio nothing is heard; then both devices are read again, since Zoom has
// reset them; then the chat and the list of people are opened, so that they can be read.
func settle(ctx context.Context, c *attend.Call) error {
	var errs []error
	if c.Withheld() && !c.Permit(ctx, true) {
		errs = append(errs, errors.New("the browser does not give the page its microphone back"))
	}
	if err := hear(ctx, c); err != nil {
		errs = append(errs, err)
	}
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

// hear joins the sound and tells when that does not go: as a question where the page shows what it waits for.
func hear(ctx context.Context, c *attend.Call) error {
	err := joinAudio(ctx, c)
	if err == nil {
		c.Deaf(false, false)
		return nil
	}
	if c.Place() != meeting.PlaceIn {
		return err
	}
	short, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	waits := false
	for _, name := range []string{"join-audio", "by-computer", "audio-form"} {
		f, _, ferr := c.Find(short, name)
		waits = waits || ferr == nil && f.OK
	}
	if waits || !c.Sounding(short) {
		c.Deaf(true, waits)
	}
	return err
}

// joinAudio joins the computer's audio, where that is still to be done.
func joinAudio(ctx context.Context, c *attend.Call) error {
	ctx, cancel := context.WithTimeout(ctx, audioTime)
	defer cancel()
	for {
		if err := c.Nudge(ctx); err != nil {
			return fmt.Errorf("join the audio: %w", err)
		}
		if c.Try(ctx, "by-computer") {
			if joined(ctx, c, 2*time.Second) {
				return nil
			}
		}
		if joined(ctx, c, 300*time.Millisecond) {
			return nil
		}
		if f, _, err := c.Find(ctx, "audio-form"); (err != nil || !f.OK) && c.Try(ctx, "join-audio") {
			if _, _, err := c.Await(ctx, "by-computer", 1500*time.Millisecond); err != nil {
				return fmt.Errorf("join the audio: %w", err)
			}
		}
		// In other words, under another id: the one button of the form that stands where nothing can be heard yet.
		if f, t, err := c.Find(ctx, "audio-form"); err == nil && f.OK && f.Enabled && !sign.Forbidden(f.Name) {
			t.Wait = time.Second
			if err := c.Page.Click(ctx, t); err != nil {
				c.Log.Debug("the form of the sound was not answered", "error", err)
			} else if joined(ctx, c, 2*time.Second) {
				return nil
			}
		}
		if ctx.Err() != nil {
			return errors.New("the computer's audio could not be joined: nothing will be heard")
		}
	}
}

// joined says whether the microphone's control is there and nothing asks for the audio any more.
func joined(ctx context.Context, c *attend.Call, limit time.Duration) bool {
	until := time.Now().Add(limit)
	for {
		mic := meeting.DeviceUnknown
		c.Look(func(s *attend.State) {
			if s.Shown.Microphone.Found {
				mic = ui.Devices["microphone"].Read(sign.Control{Found: true, Enabled: true, Name: s.Shown.Microphone.Name})
			}
		})
		f, _, err := c.Find(ctx, "join-audio")
		if err == nil && !f.OK && mic != meeting.DeviceUnknown {
			return true
		}
		if err != nil || time.Now().After(until) {
			return false
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// tend keeps what must stand: the audio (a move to another room loses it) and the chat.
func tend(ctx context.Context, c *attend.Call) {
	moving := false
	c.Look(func(s *attend.State) { moving = s.Decision.Moving })
	if c.Place() != meeting.PlaceIn {
		begun(ctx, c)
		return
	}
	if moving {
		return
	}
	if f, _, err := c.Find(ctx, "join-audio"); err == nil && f.OK || c.IsDeaf() {
		if err := hear(ctx, c); err != nil {
			c.Log.Warn("sound", "error", err)
			return
		}
		if d, err := c.Switch(ctx, "microphone", false); err != nil || d == meeting.DeviceOn {
			c.Log.Warn("the microphone after joining the audio", "state", d, "error", err)
		}
	}
	open, missing := false, false
	c.Look(func(s *attend.State) { open, missing = s.Shown.Chat.Open, s.Missing() })
	if missing {
		c.Aside(func() { c.LookUp(ctx) })
		return
	}
	if !open {
		if err := c.OpenChat(ctx); err != nil {
			c.Log.Debug("the chat is not open", "error", err)
		}
	}
}

// begun asks to be let in when a meeting that had not begun shows its form at last.
func begun(ctx context.Context, c *attend.Call) {
	if c.HasKnocked() || !c.Shows(sign.Lobby) || !c.InLobby() {
		return
	}
	signedIn := ""
	if c.O.Account {
		signedIn = "yes" // a name that stands there is kept; an empty field gets ours
	}
	if err := ask(ctx, c, meeting.JoinRequest{Name: c.Name()}, signedIn); err != nil {
		c.Log.Debug("the meeting has begun, and was not asked yet", "error", err)
		c.GaveUp(err)
	}
}

// receiver addresses the next message: the last one used stays, so that it is looked at before each. Everyone is also
// called "Meeting Group Chat"; where the chat goes to hosts only, nobody else can be told.
func receiver(ctx context.Context, c *attend.Call, to meeting.Audience) (meeting.ChatReceipt, error) {
	fail := func(f meeting.ChatFailure, err error) (meeting.ChatReceipt, error) {
		return meeting.ChatReceipt{}, &meeting.ChatError{Failure: f, Err: err}
	}
	wanted, miss := sign.All(ui.Targets["everyone"].Texts), meeting.ChatRestricted
	if to == meeting.HostOnly {
		wanted, miss = sign.All(ui.Targets["to-host"].Texts), meeting.HostUnreachable
	}
	receipt := meeting.ChatReceipt{SentTo: to, Private: false}
	f, t, err := c.Find(ctx, "receiver")
	if err != nil {
		return fail(meeting.ChatNotSent, err)
	}
	if !f.OK {
		if to == meeting.Everyone {
			return receipt, nil // there is nobody to choose: the row that proves the message says to whom it went
		}
		return fail(miss, errors.New("the chat offers no receiver"))
	}
	if addressed(f, wanted) {
		return receipt, nil
	}
	t.Wait = 3 * time.Second
	if err := c.Page.Click(ctx, t); err != nil {
		return fail(miss, err)
	}
	item := func() (platforms.Target, bool) {
		for _, way := range []string{"receiver-item"} {
			for _, w := range ui.Targets[way].Ways() {
				for _, word := range wanted { // the widest circle first
					it := platforms.Target{Selector: w.Selector, Texts: []string{word}, Wait: 2 * time.Second}
					if f, err := c.Page.Find(ctx, it); err == nil && f.OK && f.Enabled {
						return it, true
					}
				}
			}
		}
		return platforms.Target{}, false
	}
	for try := 0; try < 8; try++ {
		if it, ok := item(); ok {
			if err := c.Page.Click(ctx, it); err != nil {
				return fail(miss, err)
			}
			break
		}
		time.Sleep(150 * time.Millisecond)
	}
	for try := 0; try < 10; try++ {
		if f, _, err := c.Find(ctx, "receiver"); err == nil && f.OK && addressed(f, wanted) {
			return receipt, nil
		}
		time.Sleep(150 * time.Millisecond)
	}
	// The menu may still stand open; the same button closes it.
	if f, t, err := c.Find(ctx, "receiver-item"); err == nil && f.OK {
		_ = t
		c.Try(ctx, "receiver")
	}
	return fail(miss, errors.New("the chat cannot be addressed so"))
}

// addressed says whether the button names one of those that are wanted.
func addressed(f platforms.Found, wanted []string) bool {
	said := strings.ToLower(f.Name + " " + f.Text)
	for _, w := range wanted {
		if strings.Contains(said, strings.ToLower(w)) {
			return true
		}
	}
	return false
}
