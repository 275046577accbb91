package zoom

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/attend"
)

// The times of the steps to the door; the caller's context bounds them together.
const (
	nameTime  = 5 * time.Second
	readyTime = 25 * time.Second // until the button takes a click
	askedTime = 40 * time.Second
)

// maxName is how long a display name Zoom takes.
const maxName = 64

// join goes from the link to having asked: devices off, name and passcode given, button pressed.
func join(ctx context.Context, c *attend.Call, r meeting.JoinRequest) error {
	language(ctx, c)
	signedIn := ""
	if c.O.Account {
		signedIn = account(ctx, c)
	}
	if err := c.Load(ctx, c.Link.URL); err != nil {
		return err
	}
	if err := c.Arrive(ctx, attend.LoadTime, launcher(c)); err != nil {
		return err
	}
	if !c.InLobby() {
		return nil // an end, a wait or a call: the page has decided; tend asks once a meeting that had not begun shows its form
	}
	return ask(ctx, c, r, signedIn)
}

// ask fills in the page's form and presses its button, once its devices are shown to be off.
func ask(ctx context.Context, c *attend.Call, r meeting.JoinRequest, signedIn string) error {
	if err := withhold(ctx, c); err != nil {
		return err
	}
	if !c.InLobby() {
		return nil
	}
	// A signed-in account has its name there already; an empty field gets ours.
	guest, err := c.GiveName(ctx, attend.Clip(r.Name, maxName), nameTime, signedIn == "yes")
	if err != nil {
		return err
	}
	if err := givePasscode(ctx, c); err != nil {
		return err
	}
	for _, device := range []string{"camera", "microphone"} {
		if err := c.Silence(ctx, device, harmless(c, device)); err != nil {
			if !c.InLobby() {
				return nil
			}
			return err
		}
	}
	b, t, err := button(ctx, c, !r.DryRun)
	if err != nil {
		return err
	}
	l := meeting.SeenLobby{As: "guest", SignedIn: signedIn, JoinButton: attend.Clip(attend.Fold(b.Name), 80)}
	if signedIn == "yes" || !guest && signedIn == "" && c.O.Account {
		l.As = "account"
	}
	c.TellLobby(l)
	if r.DryRun {
		return nil
	}
	t.Wait = 5 * time.Second
	if err := c.Page.Click(ctx, t); err != nil {
		if !c.InLobby() {
			return nil
		}
		return fmt.Errorf("join: %w", err)
	}
	c.Knocked()
	return c.Asked(ctx, askedTime, func(ctx context.Context) error {
		if f, _, err := c.Find(ctx, "passcode-error"); err == nil && f.OK && strings.TrimSpace(f.Text) != "" {
			return &meeting.EndError{Reason: meeting.ReasonPasscodeWrong, Text: f.Text, Err: errors.New("the page does not take the passcode")}
		}
		if err := givePasscode(ctx, c); err != nil { // some links ask for it only now
			return err
		}
		if f, t, err := c.Find(ctx, "join"); err == nil && f.OK && ready(f) && c.InLobby() {
			t.Wait = time.Second
			if err := c.Page.Click(ctx, t); err != nil {
				c.Log.Debug("the button was not pressed again", "error", err)
			}
		}
		return nil
	})
}

// languageCookie is where Zoom keeps the language that a visitor chose, for all of its hosts.
const languageCookie = "_zm_lang"

// language asks for the page in English, or another language, before there is any page.
func language(ctx context.Context, c *attend.Call) {
	u, err := url.Parse(c.Link.URL)
	if err != nil {
		return // loading says so
	}
	host := u.Hostname()
	for _, d := range []string{"zoom.us", "zoom.com", "zoomgov.com"} {
		if strings.HasSuffix(host, "."+d) {
			host = d
		}
	}
	lang := map[string]string{"": "en-US", "de": "de-DE", "uk": "uk-UA", "ru": "ru-RU"}[c.O.Language]
	if lang == "" {
		lang = "en-US"
	}
	c.Cookie(ctx, host, languageCookie, lang)
}

// account says whether the browser's profile is signed in: yes, no, or "" when that cannot be told.
func account(ctx context.Context, c *attend.Call) string {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	home := "https://zoom.us"
	if c.Link.Standin {
		home = c.Link.Origin
	}
	where, err := c.Elsewhere(ctx, home+"/profile")
	switch {
	case err != nil:
		return ""
	case strings.Contains(where, "/signin"):
		return "no"
	case strings.Contains(where, "/profile"):
		return "yes"
	}
	return ""
}

// controlsTime is how long the page gets to draw the controls of its devices, which come with the rest of it.
const controlsTime = 3 * time.Second

// withhold makes a page harmless that has no controls for its devices, as the older client's has none before the call: the
// browser refuses it microphone and camera, and it is loaded anew, since what it has taken already would stay with it. The
// microphone comes back after admission, where there is a control to switch it off and to read.
func withhold(ctx context.Context, c *attend.Call) error {
	for _, device := range []string{"microphone", "camera"} {
		f, _, err := c.Await(ctx, device, controlsTime)
		if err != nil {
			return err
		}
		if f.OK {
			return nil
		}
	}
	if !c.InLobby() || !c.Permit(ctx, false) {
		return nil // what cannot be refused is not gone: the devices are looked at in the usual way
	}
	if err := c.Load(ctx, c.Link.URL); err != nil {
		return err
	}
	return c.Arrive(ctx, attend.LoadTime, launcher(c))
}

// uncover clicks the meeting's information away where it lies over the form.
func uncover(ctx context.Context, c *attend.Call) { c.Try(ctx, "info") }

// launcher goes past the page that wants to start a program.
func launcher(c *attend.Call) func(context.Context) error {
	return func(ctx context.Context) error {
		if !c.Try(ctx, "from-browser") && c.Try(ctx, "launch") {
			if f, t, err := c.Await(ctx, "from-browser", 3*time.Second); err == nil && f.OK {
				if err := c.Page.Click(ctx, t); err != nil {
					c.Log.Debug("the launcher was not left", "error", err)
				}
			}
		}
		return nil
	}
}

// givePasscode types the passcode that stood beside the link, where the page asks for one. What stands in the link itself
// (pwd) is a token and is never typed.
func givePasscode(ctx context.Context, c *attend.Call) error {
	f, t, err := c.Find(ctx, "passcode")
	if err != nil || !f.OK {
		return err
	}
	if c.Link.Passcode == "" {
		return &meeting.EndError{Reason: meeting.ReasonPasscodeWrong, Err: errors.New("the page asks for a passcode, and the link came without one")}
	}
	if err := c.Page.Type(ctx, t, c.Link.Passcode); err != nil {
		return fmt.Errorf("join: give the passcode: %w", err)
	}
	return nil
}

// harmless says whether a device that the page does not show as off sends nothing all the same: the browser has none or
// may not use it, or a click on its control made the page ask for it, which was answered without. A control that takes
// clicks and neither turns off nor asks is a live device.
func harmless(c *attend.Call, device string) func(context.Context, meeting.Device) bool {
	rule := map[string]string{"microphone": "hear", "camera": "see"}[device]
	kind := map[string]int{"microphone": 0, "camera": 1}[device]
	asked := 0
	c.Look(func(s *attend.State) { asked = s.Answered(rule) })
	return func(ctx context.Context, d meeting.Device) bool {
		mic, cam, err := c.Devices(ctx)
		if err == nil && ![]bool{mic, cam}[kind] {
			return true
		}
		var state string
		name := []string{"microphone", "camera"}[kind]
		const script = "async (name) => { try { return (await navigator.permissions.query({ name })).state; } catch { return ''; } }"
		if err := platforms.Read(ctx, c.Page, script, name, &state); err == nil && state == "denied" {
			return true
		}
		again := 0
		c.Look(func(s *attend.State) { again = s.Answered(rule) })
		return again > asked && d != meeting.DeviceUnknown
	}
}

// ready says whether the button takes a click: Zoom marks it by a class.
func ready(f platforms.Found) bool {
	return f.Enabled && !strings.Contains(" "+f.Attrs["class"]+" ", " disabled ")
}

// button waits until there is one that takes a click.
func button(ctx context.Context, c *attend.Call, wait bool) (platforms.Found, platforms.Target, error) {
	until := time.Now().Add(readyTime)
	for {
		f, t, err := c.Find(ctx, "join")
		if err != nil {
			return f, t, err
		}
		if f.OK && (ready(f) || !wait) {
			return f, t, nil
		}
		asked := false
		c.Look(func(s *attend.State) { asked = s.Pending() })
		if asked { // terms, say, that somebody else agrees to or not: they have their own time
			until = time.Now().Add(readyTime)
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return f, t, &meeting.EndError{Reason: meeting.ReasonJoinFailed, Err: errors.New("the page's button to join never got ready")}
		}
	}
}
