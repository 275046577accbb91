package livekit

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"parley/internal/queue"
	"parley/meeting"
	"parley/platforms"
	"parley/platforms/observe"
	"parley/platforms/platformtest"
	"parley/platforms/sign"
)

// reading is a reader without a page.
func reading() *reader {
	c := &Call{
		o: platforms.Options{Log: platformtest.Quiet}, log: platformtest.Quiet, seen: observe.NewCell(newState()),
		events: queue.New[meeting.CallEvent](eventsBound),
	}
	return &reader{call: c, engine: sign.New(ui, 0)}
}

// told takes what was told so far.
func (r *reader) told() (all []meeting.CallEvent) {
	for {
		select {
		case e := <-r.call.events.C():
			all = append(all, e)
		default:
			return all
		}
	}
}

func of[E meeting.CallEvent](all []meeting.CallEvent) (found []E) {
	for _, e := range all {
		if v, ok := e.(E); ok {
			found = append(found, v)
		}
	}
	return found
}

func report(t *testing.T, signs, data string) observe.Report {
	t.Helper()
	r, err := observe.Decode(json.RawMessage(`{"seq":1,"hits":[` + signs + `],"data":` + data + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	inSigns = `{"sign":"microphone-button"},{"sign":"chat-button"},{"sign":"our-tile"}`
	inData  = `{"conference":true,"microphone":{"found":true,"enabled":true,"attrs":{"data-lk-enabled":"false"}},
		"camera":{"found":true,"enabled":true,"attrs":{"data-lk-enabled":"false"}},
		"people":[{"id":"1:Ada","name":"Ada","speaking":true},{"id":"self","name":"Us","self":true,"speaking":true,"muted":true}],
		"messages":[{"id":"a-1","sender":"Ada","text":"hello"}]}`
)

func TestWhatDoesNotChangeIsToldOnce(t *testing.T) {
	r, now := reading(), time.Unix(1, 0)
	for i := range 10 {
		r.take(now.Add(time.Duration(i)*200*time.Millisecond), report(t, inSigns, inData))
	}
	all := r.told()
	if p, m, d := len(of[meeting.SeenPeople](all)), len(of[meeting.SeenChat](all)), len(of[meeting.SeenDevice](all)); p != 1 || m != 1 || d != 1 {
		t.Errorf("people %d, messages %d, devices %d", p, m, d)
	}
	if d := of[meeting.SeenDevice](all)[0]; d.Microphone != meeting.DeviceOff || d.Camera != meeting.DeviceOff {
		t.Errorf("%+v", d)
	}
	if places := of[meeting.SeenPlace](all); len(places) != 1 || places[0].Place != meeting.PlaceIn {
		t.Errorf("%+v", places)
	}
	for _, s := range of[meeting.SeenSpeaking](all) {
		if len(s.Names) != 1 || s.Names[0] != "Ada" { // we are left out
			t.Errorf("%+v", s)
		}
	}
}

func TestConnectingIsNotBeingIn(t *testing.T) {
	// While the page connects, its frame and our own tile without a name stand already.
	r := reading()
	for i := range 30 {
		r.take(time.Unix(1, 0).Add(time.Duration(i)*200*time.Millisecond), report(t, ``, `{"conference":true,"people":[]}`))
	}
	all := r.told()
	for _, p := range of[meeting.SeenPlace](all) {
		if p.Place == meeting.PlaceIn {
			t.Errorf("%+v", p)
		}
	}
	if n := len(of[meeting.SeenPeople](all)); n != 0 {
		t.Errorf("%d rosters of nobody", n)
	}
}

func TestMoreTilesThanThePageShowsLeaveTheCountOpen(t *testing.T) {
	r := reading()
	r.take(time.Unix(1, 0), report(t, inSigns, `{"conference":true,"more":true,"people":[{"id":"1:Ada","name":"Ada"}]}`))
	if p := of[meeting.SeenPeople](r.told()); len(p) != 1 || p[0].Count != -1 || len(p[0].People) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestAConferenceThatIsGoneAfterWeLeftIsOurLeaving(t *testing.T) {
	for _, c := range []struct {
		name    string
		leaving bool
		gone    string
		after   time.Duration
		out     int
	}{
		{"we left", true, `{"conference":false}`, 1600 * time.Millisecond, 1},
		{"it is gone for a moment", true, `{"conference":false}`, 1400 * time.Millisecond, 0},
		{"it still stands", true, `{"conference":true}`, 3 * time.Second, 0},
		{"nobody left", false, `{"conference":false}`, 3 * time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, now := reading(), time.Unix(1, 0)
			for i := range 10 {
				r.take(now.Add(time.Duration(i)*200*time.Millisecond), report(t, inSigns, inData))
			}
			now = now.Add(2 * time.Second)
			r.call.update(func(s *state) { s.leaving = c.leaving })
			for d := time.Duration(0); d <= c.after; d += 200 * time.Millisecond {
				r.take(now.Add(d), report(t, ``, c.gone))
			}
			r.take(now.Add(c.after), report(t, ``, c.gone))
			out := 0
			for _, p := range of[meeting.SeenPlace](r.told()) {
				if p.Place == meeting.PlaceOut {
					out++
					if p.Reason != string(meeting.ReasonLeft) {
						t.Errorf("%+v", p)
					}
				}
			}
			if out != c.out {
				t.Errorf("told %d times that we are out, want %d", out, c.out)
			}
		})
	}
}

func TestADeviceThatIsBeingSwitchedSaysNothing(t *testing.T) {
	r := reading()
	r.take(time.Unix(1, 0), report(t, inSigns, `{"conference":true,"microphone":{"found":true,"enabled":false,"attrs":{"data-lk-enabled":"false"}}}`))
	if d := of[meeting.SeenDevice](r.told()); len(d) != 0 {
		t.Errorf("%+v", d)
	}
	r.take(time.Unix(2, 0), report(t, inSigns, `{"conference":true,"microphone":{"found":true,"enabled":true,"attrs":{"data-lk-enabled":"true"}}}`))
	if d := of[meeting.SeenDevice](r.told()); len(d) != 1 || d[0].Microphone != meeting.DeviceOn || d[0].Camera != meeting.DeviceOff {
		t.Errorf("%+v", d)
	}
}

func TestMessagesAreRememberedInBounds(t *testing.T) {
	r := reading()
	for i := range 3 * messagesKept {
		r.take(time.Unix(int64(i), 0), observe.Report{Data: json.RawMessage(fmt.Sprintf(`{"messages":[{"id":"%d","own":true,"text":"x"}]}`, i))})
	}
	own, order := 0, 0
	r.call.read(func(s *state) { own, order = len(s.own), len(s.ownOrder) })
	if len(r.heard) > messagesKept || len(r.order) > messagesKept || own > ownKept || order > ownKept {
		t.Errorf("%d %d %d", len(r.heard), len(r.order), own)
	}
}

func TestEveryTargetThatIsAskedForIsThere(t *testing.T) {
	for _, name := range []string{"name", "join", "problem", "microphone", "camera", "conference", "tile", "person", "more", "chat", "entry", "sender", "body", "message", "send", "leave", "dialog"} {
		if w := target(name); w.Role == "" && w.Selector == "" {
			t.Errorf("%s is missing", name)
		}
	}
	for _, device := range []string{"microphone", "camera"} {
		for attr, want := range map[string]meeting.Device{"true": meeting.DeviceOn, "false": meeting.DeviceOff, "": meeting.DeviceUnknown} {
			if got := deviceState(device, button{Found: true, Enabled: true, Attrs: map[string]string{"data-lk-enabled": attr}}); got != want {
				t.Errorf("%s %q: %s, want %s", device, attr, got, want)
			}
		}
	}
}

func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"seq":1,"hits":[` + inSigns + `],"data":` + inData + `}`))
	f.Add([]byte(`{"failed":"x"}`))
	f.Add([]byte(`{"blank":true,"data":{"microphone":{"attrs":null}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		report, err := observe.Decode(raw)
		if err != nil {
			return
		}
		r := reading()
		for i := range 3 {
			r.take(time.Unix(int64(i), 0), report)
		}
		if d := r.engine.Decided(); d.Place == meeting.PlaceIn && len(d.Signs) < 2 {
			t.Fatalf("%+v", d)
		}
	})
}
