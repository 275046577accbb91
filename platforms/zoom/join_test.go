package zoom

import (
	"context"
	"encoding/json"
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
