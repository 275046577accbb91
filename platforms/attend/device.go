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

// How long the page gets to show that a device was switched, after each way of doing it.
const (
	switchTime  = 1800 * time.Millisecond
	switchTries = 3
	settleTime  = 9 * time.Second // for what a page needs after admission
)

// SetMicrophone switches the microphone and reads it back.
func (c *Call) SetMicrophone(ctx context.Context, on bool) (meeting.Device, error) {
	if c.Place() == meeting.PlaceIn { // what the page needs after admission comes first: some pages reset devices then
		wait, done := context.WithTimeout(ctx, settleTime)
		select {
		case <-c.settled:
		case <-wait.Done():
		}
		done()
	}
	return c.Switch(ctx, "microphone", on)
}

// Switch brings a device to where it should be and reads it back: by its button, then by a control that is hidden, then by
// the keyboard. What cannot be read is not acted on.
func (c *Call) Switch(ctx context.Context, device string, on bool) (meeting.Device, error) {
	c.devices.Lock()
	defer c.devices.Unlock()
	want := meeting.DeviceOff
	if on {
		want = meeting.DeviceOn
	}
	if on && device == "microphone" {
		if err := c.acceptUnmute(ctx); err != nil {
			c.Log.Debug("the host's request to unmute was not answered", "error", err)
		}
	}
	last := meeting.DeviceUnknown
	for try := 0; try < switchTries; try++ {
		d, t, err := c.read(ctx, device)
		if err != nil {
			return meeting.DeviceUnknown, err
		}
		last = d
		switch {
		case d == want, d == meeting.DeviceBlocked:
			return d, nil
		case d == meeting.DeviceUnknown:
			if !pause(ctx, 400*time.Millisecond) {
				return d, nil
			}
			continue
		}
		if err := c.Nudge(ctx); err != nil { // a toolbar that fades out takes no click
			return meeting.DeviceUnknown, err
		}
		t.Wait = 1500 * time.Millisecond
		if err := c.Page.Click(ctx, t); err != nil {
			if ctx.Err() != nil {
				return meeting.DeviceUnknown, fmt.Errorf("%s: %w", device, err)
			}
			break // its button cannot be worked: the other ways
		}
		if d, err := c.became(ctx, device, want); err != nil || d == want {
			return d, err
		}
	}
	if last == meeting.DeviceUnknown {
		return last, nil // we never act on what we cannot read
	}
	d, err := c.lastResort(ctx, device, want)
	if err == nil && on && d == meeting.DeviceOff {
		return meeting.DeviceBlocked, nil // every way was taken, and nothing changed: we are not allowed to
	}
	return d, err
}

// read reads a device's button, now.
func (c *Call) read(ctx context.Context, device string) (meeting.Device, platforms.Target, error) {
	f, t, err := c.Find(ctx, device)
	if err != nil {
		return meeting.DeviceUnknown, t, err
	}
	if !f.OK { // hidden: what the page's script reads in the toolbar
		if err := c.Nudge(ctx); err != nil {
			return meeting.DeviceUnknown, t, err
		}
		if f, t, err = c.Await(ctx, device, 600*time.Millisecond); err != nil {
			return meeting.DeviceUnknown, t, err
		}
	}
	d := c.m.Table.Devices[device].Read(sign.Control{Found: f.OK, Enabled: f.Enabled, Name: f.Name, Attrs: c.attrs(f)})
	if d == meeting.DeviceUnknown { // a module's script may read more than a name: an icon, a class
		c.Look(func(s *State) {
			if device == "microphone" {
				d = s.mic
			} else {
				d = s.cam
			}
		})
	}
	return d, t, nil
}

func (c *Call) attrs(f platforms.Found) map[string]string { return f.Attrs }

// became waits for a device to be as wanted and gives what it is.
func (c *Call) became(ctx context.Context, device string, want meeting.Device) (meeting.Device, error) {
	until := time.Now().Add(switchTime)
	for {
		d, _, err := c.read(ctx, device)
		if err != nil || d == want || d == meeting.DeviceBlocked || time.Now().After(until) {
			return d, err
		}
		if !pause(ctx, 120*time.Millisecond) {
			return d, nil
		}
	}
}

// hiddenClick finds a device's control by its name in the toolbar, hidden or not, and clicks it there. hiddenChord gives
// the page the keys. Both act only while the control says the opposite of what is wanted, read in the same step.
const hiddenControl = `({toolbar, names, chord}, kit) => {
	const fold = kit.fold, wanted = names.map(fold);
	for (const root of kit.roots(document)) for (const bar of root.querySelectorAll(toolbar)) {
		for (const el of bar.querySelectorAll('button, [role=button], div[aria-label], a[aria-label]')) {
			const name = fold(kit.nameOf(el));
			if (!wanted.some((w) => name === w || name.startsWith(w))) continue;
			if (!chord) { el.click(); return true; }
			const key = { key: chord.key, code: chord.code, altKey: chord.alt, ctrlKey: chord.ctrl, bubbles: true, cancelable: true };
			el.ownerDocument.dispatchEvent(new KeyboardEvent('keydown', key));
			el.ownerDocument.dispatchEvent(new KeyboardEvent('keyup', key));
			return true;
		}
	}
	return false;
}`

// lastResort works the microphone without its button: the control in the page itself, then the keyboard, each only while
// the page shows that it is still needed.
func (c *Call) lastResort(ctx context.Context, device string, want meeting.Device) (meeting.Device, error) {
	rule := c.m.Table.Devices[device]
	words := rule.On
	if want == meeting.DeviceOn {
		words = rule.Off
	}
	arg := map[string]any{"toolbar": c.m.Toolbar, "names": sign.All(words)}
	if c.m.Toolbar != "" {
		var did bool
		if err := c.Page.Run(ctx, hiddenControl, arg, &did); err != nil {
			return meeting.DeviceUnknown, fmt.Errorf("%s: %w", device, err)
		}
		if did {
			if d, err := c.became(ctx, device, want); err != nil || d == want {
				return d, err
			}
		}
	}
	chord := c.m.Chord
	if device != "microphone" {
		chord = ""
	}
	if chord != "" && c.m.Toolbar != "" {
		arg["chord"] = parts(chord)
		var did bool
		if err := c.Page.Run(ctx, hiddenControl, arg, &did); err != nil {
			return meeting.DeviceUnknown, fmt.Errorf("%s: %w", device, err)
		}
		if did {
			if d, err := c.became(ctx, device, want); err != nil || d == want {
				return d, err
			}
		}
	}
	d, _, err := c.read(ctx, device)
	if err != nil || d == want || d == meeting.DeviceUnknown || d == meeting.DeviceBlocked || chord == "" {
		return d, err
	}
	if err := c.Page.Press(ctx, chord); err != nil {
		return meeting.DeviceUnknown, fmt.Errorf("%s: %w", device, err)
	}
	return c.became(ctx, device, want)
}

// parts takes "Alt+A" apart for a synthetic event.
func parts(chord string) map[string]any {
	key := chord[len(chord)-1:]
	alt := len(chord) > 3 && chord[:3] == "Alt"
	lower := string(key[0] | 0x20)
	return map[string]any{"key": lower, "code": "Key" + key, "alt": alt, "ctrl": !alt}
}

// acceptUnmute takes up the host's request to unmute, when it stands.
func (c *Call) acceptUnmute(ctx context.Context) error {
	id := ""
	var d Dialog
	c.Look(func(s *State) {
		id = s.unmute
		for _, q := range s.Shown.Dialogs {
			if q.ID == id {
				d = q
			}
		}
	})
	if id == "" || d.ID == "" {
		return nil
	}
	r := c.m.Table.Rule(sign.Dialog{Text: d.Text, Choices: d.Choices, Made: d.Made}, 0)
	if r.Kind != sign.DialogUnmute || len(r.Choices) == 0 {
		return nil
	}
	return c.press(ctx, press{text: d.Head, choice: r.Choices[0]})
}

var errNotInside = errors.New("we are not in the meeting")

// RaiseHand raises or lowers our hand and waits for the page to show it.
func (c *Call) RaiseHand(ctx context.Context, up bool) error {
	c.devices.Lock()
	defer c.devices.Unlock()
	want, button := meeting.DeviceOn, "raise"
	if !up {
		want, button = meeting.DeviceOff, "lower"
	}
	for try := 0; try < 2; try++ {
		if err := c.Nudge(ctx); err != nil {
			return fmt.Errorf("hand: %w", err)
		}
		if c.handIs(ctx, want) {
			return nil
		}
		ok, err := c.Click(ctx, button)
		if err == nil && !ok && c.Has("reactions") { // in a menu
			if ok, err = c.Click(ctx, "reactions"); err == nil && ok {
				if c.handIs(ctx, want) {
					_, err = c.Click(ctx, "reactions") // it was as wanted: the menu goes again
					return err
				}
				if f, t, aerr := c.Await(ctx, button, 2*time.Second); aerr == nil && f.OK {
					err = c.Page.Click(ctx, t)
				}
			}
		}
		if err != nil {
			return fmt.Errorf("hand: %w", err)
		}
		for range 12 {
			if c.handIs(ctx, want) {
				return nil
			}
			if !pause(ctx, 150*time.Millisecond) {
				return fmt.Errorf("hand: %w", context.Cause(ctx))
			}
		}
	}
	if c.Place() != meeting.PlaceIn {
		return fmt.Errorf("hand: %w", errNotInside)
	}
	return errors.New("hand: the page does not show it")
}

// handIs says whether the page shows our hand as wanted: by the button that would do the opposite, or among the people.
func (c *Call) handIs(ctx context.Context, want meeting.Device) bool {
	opposite, same := "lower", "raise"
	if want == meeting.DeviceOff {
		opposite, same = "raise", "lower"
	}
	if f, _, err := c.Find(ctx, opposite); err == nil && f.OK {
		if g, _, err := c.Find(ctx, same); err == nil && !g.OK {
			return true
		}
	}
	is := false
	c.Look(func(s *State) {
		for _, p := range s.Shown.People {
			if p.Self && p.Hand && want == meeting.DeviceOn {
				is = true
			}
		}
	})
	return is
}
