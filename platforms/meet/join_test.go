package meet

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/attend"
	"parley/platforms/attend/attendtest"
)

func TestTheAddressAsksForALanguage(t *testing.T) {
	for _, c := range []struct{ link, lang, want string }{
		{"https://meet.google.com/abc-defg-hij", "", "https://meet.google.com/abc-defg-hij?hl=en"},
		{"https://meet.google.com/abc-defg-hij?hl=de", "", "https://meet.google.com/abc-defg-hij?hl=en"},
		{"https://meet.google.com/abc-defg-hij", "uk", "https://meet.google.com/abc-defg-hij?hl=uk"},
	} {
		if got, err := address(c.link, c.lang); err != nil || got != c.want {
			t.Errorf("%s in %q: %s %v", c.link, c.lang, got, err)
		}
	}
}

// lobby is a call on a page without a browser.
func lobby(t *testing.T, p *attendtest.Page) *attend.Call {
	t.Helper()
	c, err := attend.Open(t.Context(), module(), p, platforms.Link{URL: "https://meet.google.com/abc-defg-hij"}, platforms.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range c.Events() {
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
	return c
}

func TestADeviceThatIsNotThereCountsAsOff(t *testing.T) {
	for _, c := range []struct {
		name    string
		notice  bool // the page says that there is none
		control bool // the page has a control for it
		devices []string
		state   meeting.Device
		want    bool
	}{
		{"the page says so", true, false, []string{"videoinput"}, meeting.DeviceUnknown, true},
		{"no control and no device", false, false, []string{"audioinput"}, meeting.DeviceUnknown, true},
		{"no control, but a device", false, false, []string{"videoinput"}, meeting.DeviceUnknown, false},
		{"a control that cannot be read", false, true, nil, meeting.DeviceUnknown, false},
		{"it is shown on", true, true, nil, meeting.DeviceOn, false},
	} {
		p := attendtest.New()
		p.Found = func(t platforms.Target) platforms.Found {
			said := len(t.Texts) > 0 && strings.Contains(strings.Join(t.Texts, " "), "Camera not found")
			control := len(t.Names) > 0 && strings.Contains(strings.Join(t.Names, " "), "Turn off camera")
			return platforms.Found{OK: said && c.notice || control && c.control, Enabled: true}
		}
		p.OnRun = func(string, json.RawMessage) any { return c.devices }
		call := lobby(t, p)
		if got := missing(call, "camera")(context.Background(), c.state); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
