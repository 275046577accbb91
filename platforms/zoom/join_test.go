package zoom

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/attend"
	"parley/platforms/attend/attendtest"
)

func TestADeviceThatSendsNothingCountsAsOff(t *testing.T) {
	for _, c := range []struct {
		name       string
		devices    []string
		permission string
		asks       bool // a click on its control makes the page ask
		state      meeting.Device
		want       bool
	}{
		{"the browser has none", []string{"videoinput"}, "granted", false, meeting.DeviceOn, true},
		{"its permission is denied", []string{"audioinput"}, "denied", false, meeting.DeviceOn, true},
		{"a click made the page ask", []string{"audioinput"}, "prompt", true, meeting.DeviceOn, true},
		{"a live device", []string{"audioinput"}, "granted", false, meeting.DeviceOn, false},
		{"one that cannot be read", []string{"audioinput"}, "granted", true, meeting.DeviceUnknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := attendtest.New()
				p.OnRun = func(script string, _ json.RawMessage) any {
					if strings.Contains(script, "enumerateDevices") {
						return c.devices
					}
					return c.permission
				}
				call, err := attend.Open(t.Context(), module(), p, platforms.Link{}, platforms.Options{})
				if err != nil {
					t.Fatal(err)
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					for range call.Events() {
					}
				}()
				ask := harmless(call, "microphone")
				if c.asks {
					p.Report(map[string]any{"seq": 1, "hits": []any{}, "data": map[string]any{"dialogs": []map[string]any{{
						"id": "d1", "head": "Do you want people to hear you in the meeting?", "text": "Do you want people to hear you in the meeting?", "choices": []string{"Use microphone", "Continue without microphone"},
					}}}})
					synctest.Wait()
				}
				if got := ask(context.Background(), c.state); got != c.want {
					t.Errorf("%t", got)
				}
				_ = call.Close()
				<-done
				for _, did := range p.Did() {
					if strings.Contains(did, "use microphone") {
						t.Errorf("did %s", did)
					}
				}
			})
		})
	}
}

// bowl is a page that keeps cookies.
type bowl struct {
	*attendtest.Page
	kept []string
}

func (b *bowl) SetCookie(_ context.Context, host, name, value string, secure bool) error {
	b.kept = append(b.kept, fmt.Sprintf("%s %s=%s %t, before %d pages", host, name, value, secure, len(b.Did())))
	return nil
}

func TestALanguageIsAskedForBeforeTheFirstPage(t *testing.T) {
	for _, c := range []struct{ link, lang, want string }{
		{"https://app.zoom.us/wc/81234567890/join?pwd=x", "", "zoom.us _zm_lang=en-US true, before 0 pages"},
		{"https://us02web.zoom.us/wc/81234567890/join", "de", "zoom.us _zm_lang=de-DE true, before 0 pages"},
		{"https://example.zoomgov.com/wc/81234567890/join", "uk", "zoomgov.com _zm_lang=uk-UA true, before 0 pages"},
		{"https://meetings.example.org/wc/join/1", "sk", "meetings.example.org _zm_lang=en-US true, before 0 pages"},
		{"http://127.0.0.1:9002/wc/81234567890/join", "", "127.0.0.1 _zm_lang=en-US false, before 0 pages"},
	} {
		p := &bowl{Page: attendtest.New()}
		call, err := attend.Open(t.Context(), module(), p, platforms.Link{URL: c.link}, platforms.Options{Language: c.lang})
		if err != nil {
			t.Fatal(err)
		}
		language(t.Context(), call)
		if err := call.Close(); err != nil {
			t.Error(err)
		}
		if len(p.kept) != 1 || p.kept[0] != c.want {
			t.Errorf("%s in %q: kept %q, want %q", c.link, c.lang, p.kept, c.want)
		}
	}
}
