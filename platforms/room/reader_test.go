package room

import (
	"encoding/json"
	"fmt"
	"strings"
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
		events: queue.New[meeting.CallEvent](eventsBound), tracks: queue.New[meeting.TrackFrame](1),
	}
	return &reader{call: c, engine: sign.New(ui, 0)}
}

// events takes what was told so far.
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

func count[E meeting.CallEvent](all []meeting.CallEvent) (n int) {
	for _, e := range all {
		if _, ok := e.(E); ok {
			n++
		}
	}
	return n
}

const inCall = `"hits":[{"sign":"call-controls","lang":"en"},{"sign":"leave-button","lang":"en"}]`

func TestWhatDoesNotChangeIsToldOnce(t *testing.T) {
	r := reading()
	raw := `{"seq":1,` + inCall + `,"data":{"microphone":{"found":true,"enabled":true,"name":"Unmute microphone","attrs":{"data-state":"off"}},
		"people":[{"id":"p1","name":"Ada","host":true,"speaking":true},{"id":"p2","name":"Us","self":true,"speaking":true}],
		"messages":[{"id":"1","sender":"Ada","text":"hello","at":"2026-11-30T12:00:00Z"}],
		"dialogs":[{"id":"d1","text":"?","choices":["OK"]}]}}`
	report, err := observe.Decode(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1, 0)
	for i := range 5 {
		r.take(now.Add(time.Duration(i)*200*time.Millisecond), report)
	}
	all := r.told()
	if p, m, d, q, s, w := count[meeting.SeenPeople](all), count[meeting.SeenChat](all), count[meeting.SeenDevice](all), count[meeting.SeenDialog](all), count[meeting.SeenSpeaking](all), count[meeting.SeenPlace](all); p != 1 || m != 1 || d != 1 || q != 1 || w != 1 || s != 5 {
		t.Errorf("people %d, messages %d, devices %d, dialogs %d, speaking %d, places %d", p, m, d, q, s, w)
	}
	for _, e := range all {
		switch e := e.(type) {
		case meeting.SeenSpeaking:
			if len(e.IDs) != 1 || e.IDs[0] != "p1" { // we are left out
				t.Errorf("%+v", e)
			}
		case meeting.SeenChat:
			if e.At.Year() != 2026 {
				t.Errorf("%+v", e)
			}
		}
	}
	r.take(now.Add(2*time.Second), observe.Report{Hits: report.Hits, Data: json.RawMessage(`{"people":[{"id":"p2","name":"Us","self":true}]}`)})
	all = r.told()
	if count[meeting.SeenSpeaking](all) != 1 || count[meeting.SeenDialog](all) != 1 || count[meeting.SeenPeople](all) != 1 {
		t.Errorf("what ended: %+v", all)
	}
	// A page that cannot be read, or shows no list, says nothing about people.
	r.take(now.Add(3*time.Second), observe.Report{Failed: "TypeError"})
	r.take(now.Add(4*time.Second), observe.Report{Hits: report.Hits, Data: json.RawMessage(`{"people":[]}`)})
	if n := count[meeting.SeenPeople](r.told()); n != 0 {
		t.Errorf("%d rosters of nothing", n)
	}
}

func TestMessagesAreRememberedInBounds(t *testing.T) {
	r := reading()
	for i := range 3 * messagesKept {
		data := fmt.Sprintf(`{"messages":[{"id":"%d","own":true,"text":"%s"}]}`, i, strings.Repeat("x", 10))
		r.take(time.Unix(int64(i), 0), observe.Report{Data: json.RawMessage(data)})
	}
	own, order := 0, 0
	r.call.read(func(s *state) { own, order = len(s.own), len(s.ownOrder) })
	if len(r.heard) > messagesKept || len(r.order) > messagesKept || own > ownKept || order > ownKept {
		t.Errorf("%d %d %d", len(r.heard), len(r.order), own)
	}
	r.told()
	r.take(time.Unix(1, 0), observe.Report{Data: json.RawMessage(fmt.Sprintf(`{"messages":[{"id":"%d"}]}`, 3*messagesKept-1))})
	if n := count[meeting.SeenChat](r.told()); n != 0 {
		t.Error("a message was told twice")
	}
}

func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"seq":1,` + inCall + `,"data":{"people":[{"id":"p1"}],"messages":[{"id":"1"}],"dialogs":[{"id":"d1"}]}}`))
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
