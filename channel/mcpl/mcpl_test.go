package mcpl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var manifest = Manifest{
	Paths: []string{"tools", "pushEvents", "channels.register", "channels.incoming"},
	FeatureSets: map[string]FeatureSet{
		"parley.meeting": {Description: "Meetings", Uses: []string{"tools", "pushEvents"}, Without: map[string]string{"pushEvents": "no events"}},
		"parley.watch":   {Description: "Watching", Uses: []string{"pushEvents"}, Without: map[string]string{"pushEvents": "no watching"}},
	},
}

func TestTheManifestNamesLeaves(t *testing.T) {
	got, err := json.Marshal(manifest)
	want := `{"channels":{"incoming":true,"register":true},"featureSets":{` +
		`"parley.meeting":{"description":"Meetings","uses":["tools","pushEvents"]},` +
		`"parley.watch":{"description":"Watching","uses":["pushEvents"]}},"pushEvents":true,"version":"0.5"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestParseHost(t *testing.T) {
	for in, want := range map[string]string{
		`{"version":"0.5","pushEvents":true}`:                                      "0.5 policy: pushEvents",
		`{"version":"0.4","channels":true}`:                                        "0.4: channels.register channels.lifecycle channels.publish channels.incoming channels.streaming channels.acknowledge channels.typing",
		`{"version":"0.4","channels":{"observe":true,"publish":{}}}`:               "0.4: channels.publish channels.incoming",
		`{"version":"0.5","channels":{"incoming":false,"register":true}}`:          "0.5 policy: channels.register",
		`{"version":"0.5","eventCoalescing":true}`:                                 "0.5 policy coalesces incoming:",
		`{"version":"0.5","eventCoalescing":{"pushEvents":true,"deferred":false}}`: "0.5 policy coalesces:",
		`{"version":"0.5","eventCoalescing":{"channelsIncoming":true}}`:            "0.5 policy incoming:",
		`{"version":"0.5","streaming":{"speculative":true}}`:                       "0.5 policy speculative:",
		`{"version":"0.5","streaming":true,"channels":{"streaming":true}}`:         "0.5 policy: channels.streaming",
		`{"version":"1.0"}`: "1.0 policy:",
		`{"version":"0.5.2","unknown":{"x":1},"pushEvents":"yes"}`: "0.5.2 policy:",
		`{"version":7}`:      " policy:",
		`{}`:                 " policy:",
		`{"version":"0.10"}`: "0.10 policy:",
		`null`:               "none",
		`true`:               "none",
		``:                   "none",
	} {
		h, ok := ParseHost(json.RawMessage(in))
		got := "none"
		if ok {
			got = h.Version
			if h.SendsPolicy() {
				got += " policy"
			}
			if h.CoalescesPushes {
				got += " coalesces"
			}
			if h.CoalescesIncoming {
				got += " incoming"
			}
			if h.Speculative {
				got += " speculative"
			}
			got += ": " + strings.Join(h.Announced, " ")
		}
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestPatternsCoverExactlyOneSegment(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"pushEvents", "pushEvents", true}, {"channels.*", "channels.publish", true}, {"*.publish", "channels.publish", true},
		{"channels.*", "contextHooks.beforeInference.observe", false}, {"channels", "channels.publish", false}, {"*", "channels.publish", false},
		{"*", "pushEvents", true}, {"channels.*", "channels", false}, {"parley.*", "parley.watch", true}, {"parley.*", "parleyx.watch", false}, {"", "pushEvents", false},
	} {
		if got := covers(c.pattern, c.name); got != c.want {
			t.Errorf("%q covers %q: %v", c.pattern, c.name, got)
		}
	}
}

// wire is a connection's queue.
type wire struct {
	mu   sync.Mutex
	out  []Outgoing
	dead bool
}

func (w *wire) enqueue(o Outgoing) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return ErrClosed
	}
	w.out = append(w.out, o)
	return nil
}

// written gives what was queued, the way the writer would.
func (w *wire) written() []string {
	w.mu.Lock()
	out := w.out
	w.out = nil
	w.mu.Unlock()
	var got []string
	for _, o := range out {
		if o.Still != nil && !o.Still() {
			if o.Dropped != nil {
				o.Dropped()
			}
			continue
		}
		got = append(got, string(o.Data))
	}
	return got
}

func open(t *testing.T, o Options, version string) (*Session, *wire, *int) {
	t.Helper()
	if o.Manifest.FeatureSets == nil {
		o.Manifest = manifest
	}
	w := &wire{}
	changes := 0
	s := NewSession(o, w.enqueue, func() { changes++ })
	t.Cleanup(s.Close)
	h, ok := ParseHost(json.RawMessage(fmt.Sprintf(`{"version":%q,"pushEvents":true,"channels":true}`, version)))
	if !ok {
		t.Fatal("no host")
	}
	s.Offer(h)
	s.Initialized()
	return s, w, &changes
}

var push = Use{Set: "parley.meeting", Path: PathPushEvents}

func TestNothingBeforeThePolicyAndTheReceiptComesFirst(t *testing.T) {
	s, w, changes := open(t, Options{}, "0.5")
	if err := s.Notify(push, "push/event", nil); !errors.Is(err, ErrNotGranted) {
		t.Error(err)
	}
	s.Receive(json.RawMessage("1"), "featureSets/update", json.RawMessage(`{"effectiveCapabilities":["pushEvents","tools"]}`))
	if err := s.Notify(push, "push/event", map[string]any{"a": 1}); err != nil {
		t.Error(err)
	}
	got := w.written()
	if len(got) != 2 || got[0] != `{"id":1,"jsonrpc":"2.0","result":{"accepted":true}}` || !strings.Contains(got[1], "push/event") || *changes != 1 {
		t.Errorf("%v, %d changes", got, *changes)
	}
}

func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		name, id, params string
		receipt          string // part of it
		meeting, watch   bool   // may push
	}{
		{"everything", "1", `{"effectiveCapabilities":["pushEvents"]}`, `"result":{"accepted":true}}`, true, true},
		{"a pattern", "1", `{"effectiveCapabilities":["*"]}`, `"result":{"accepted":true}}`, true, true},
		{"one set", "1", `{"effectiveCapabilities":["pushEvents"],"enabled":["parley.watch"]}`, `{"accepted":true}`, false, true},
		{"sets by pattern", "1", `{"effectiveCapabilities":["pushEvents"],"enabled":["parley.*"],"disabled":["parley.watch"]}`, `{"accepted":true}`, true, false},
		{"no sets", "1", `{"effectiveCapabilities":["pushEvents"],"enabled":[]}`, `{"accepted":true}`, false, false},
		{"nothing", "1", `{}`, `"degraded"`, false, false},
		{"no params", "1", ``, `"degraded"`, false, false},
		{"something else", "1", `{"effectiveCapabilities":["channels.incoming"]}`, `"missingCapabilities":["pushEvents"],"effect":"no events"`, false, false},
		{"a set cannot mint", "1", `{"effectiveCapabilities":[],"enabled":["parley.meeting"]}`, `"degraded"`, false, false},
		{"in both lists", "1", `{"effectiveCapabilities":["pushEvents"],"deniedCapabilities":["pushEvents"]}`, `-32602`, false, false},
		{"denied is for logs", "1", `{"effectiveCapabilities":["*"],"deniedCapabilities":["pushEvents"]}`, `{"accepted":true}`, true, true},
		{"malformed", "1", `{"effectiveCapabilities":"all"}`, `-32602`, false, false},
		{"a string id", `"abc"`, `{"effectiveCapabilities":["pushEvents"]}`, `{"id":"abc"`, true, true},
		{"an id of zero", `0`, `{"effectiveCapabilities":["pushEvents"]}`, `{"id":0,`, true, true},
		{"a notification widens nothing", ``, `{"effectiveCapabilities":["pushEvents"]}`, ``, false, false},
	} {
		s, w, _ := open(t, Options{}, "0.5")
		s.Receive(json.RawMessage(c.id), "featureSets/update", json.RawMessage(c.params))
		if got := strings.Join(w.written(), "\n"); !strings.Contains(got, c.receipt) || (c.id == "") != (got == "") {
			t.Errorf("%s: %s", c.name, got)
		}
		if m, x := s.Usable("parley.meeting", PathPushEvents), s.Usable("parley.watch", PathPushEvents); m != c.meeting || x != c.watch {
			t.Errorf("%s: meeting %v, watch %v", c.name, m, x)
		}
	}
}

func TestAReductionReachesWhatWaits(t *testing.T) {
	s, w, _ := open(t, Options{}, "0.5")
	s.Receive(json.RawMessage("1"), "featureSets/update", json.RawMessage(`{"effectiveCapabilities":["pushEvents"]}`))
	wait, err := s.Begin(push, "push/event", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Receive(nil, "featureSets/update", json.RawMessage(`{"disabled":["parley.meeting"]}`))
	for _, m := range w.written() {
		if strings.Contains(m, "push/event") {
			t.Error("it was sent all the same")
		}
	}
	if _, err := wait(t.Context()); !errors.Is(err, ErrNotGranted) {
		t.Error(err)
	}
	if s.Usable("parley.meeting", PathPushEvents) || !s.Usable("parley.watch", PathPushEvents) {
		t.Error("the notification took away something else")
	}
	s.Receive(json.RawMessage("2"), "featureSets/update", json.RawMessage(`{"effectiveCapabilities":["pushEvents"]}`))
	if !s.Usable("parley.meeting", PathPushEvents) {
		t.Error("a new policy does not replace the old one")
	}
}

func TestOldHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, changes := open(t, Options{}, "0.4")
		time.Sleep(fallbackAfter - time.Second)
		if s.Usable("parley.meeting", PathPushEvents) {
			t.Error("granted before its time")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !s.Usable("parley.meeting", PathPushEvents) || !s.Grant().Has("channels.incoming") || s.Grant().Has("channels.typing") || *changes != 1 {
			t.Error("not what was announced and offered")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// It sends the only form it knows.
		s, w, _ := open(t, Options{}, "0.4")
		s.Receive(nil, "featureSets/update", json.RawMessage(`{"enabled":["parley.meeting"],"disabled":["parley.watch"]}`))
		if !s.Usable("parley.meeting", PathPushEvents) || s.Usable("parley.watch", PathPushEvents) || len(w.written()) != 0 {
			t.Error("its lists are not obeyed")
		}
		time.Sleep(2 * fallbackAfter)
		if s.Usable("parley.watch", PathPushEvents) {
			t.Error("the time-out widened it")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// It sends a policy although it is old: that counts.
		s, _, _ := open(t, Options{}, "0.4")
		s.Receive(json.RawMessage("1"), "featureSets/update", json.RawMessage(`{}`))
		time.Sleep(2 * fallbackAfter)
		if s.Usable("parley.meeting", PathPushEvents) {
			t.Error("the time-out widened it")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// A new host that is silent gets nothing, and so does an old one where that is switched off.
		silent, _, _ := open(t, Options{}, "0.5")
		strict, _, _ := open(t, Options{NoFallback: true}, "0.4")
		time.Sleep(2 * fallbackAfter)
		if silent.Usable("parley.meeting", PathPushEvents) || strict.Usable("parley.meeting", PathPushEvents) {
			t.Error("granted by silence")
		}
		strict.Receive(nil, "featureSets/update", json.RawMessage(`{"enabled":["parley.meeting"]}`))
		if strict.Usable("parley.meeting", PathPushEvents) {
			t.Error("granted by a notification")
		}
	})
}

func TestCallsAndTheirEnds(t *testing.T) {
	s, w, _ := open(t, Options{}, "0.5")
	s.Receive(json.RawMessage("1"), "featureSets/update", json.RawMessage(`{"effectiveCapabilities":["pushEvents"]}`))
	w.written()
	e := Event{FeatureSet: "parley.meeting", ID: "m1:e1", At: time.Date(2026, 11, 30, 13, 5, 0, 0, time.UTC), Tags: []string{"parley:a"}, Origin: map[string]any{"x": 1}, Text: "hello", CoalesceKey: "k"}
	wait, err := s.Push(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"x-1","jsonrpc":"2.0","method":"push/event","params":{"eventId":"m1:e1","featureSet":"parley.meeting","origin":{"x":1},"payload":{"content":[{"text":"hello","type":"text"}]},"tags":["parley:a"],"timestamp":"2026-11-30T13:05:00Z"}}`
	if got := w.written(); len(got) != 1 || got[0] != want {
		t.Errorf("%s", got)
	}
	if s.Response("7", nil, nil) || s.Response("", nil, nil) {
		t.Error("somebody else's id was taken")
	}
	if !s.Response("x-1", json.RawMessage(`{"accepted":false,"reason":"duplicate"}`), nil) {
		t.Error("our id was not taken")
	}
	if got, err := wait(t.Context()); err != nil || got.Accepted || got.Reason != "duplicate" {
		t.Error(got, err)
	}
	if !s.Response("x-1", nil, nil) { // once more, too late: ours, and ignored
		t.Error("our id was not taken")
	}
	if wait, err = s.Push(e); err != nil {
		t.Fatal(err)
	}
	s.Response("x-2", nil, &Error{Code: CodeCapabilityDenied, Message: "Capability denied"})
	if _, err := wait(t.Context()); err == nil || Untaken(err) {
		t.Errorf("refused: %v", err)
	}
	if wait, err = s.Push(e); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := wait(ctx); !Untaken(err) {
		t.Errorf("given up: %v", err)
	}
	wait, err = s.Push(e)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := wait(t.Context()); !errors.Is(err, ErrClosed) || !Untaken(err) {
		t.Error(err)
	}
	if _, err := s.Push(e); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestAHostThatAnswersNothingHoldsUpNobody(t *testing.T) {
	s, _, _ := open(t, Options{}, "0.5")
	s.Receive(json.RawMessage("1"), "featureSets/update", json.RawMessage(`{"effectiveCapabilities":["pushEvents"]}`))
	for range maxPending {
		if _, err := s.Begin(push, "push/event", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Begin(push, "push/event", nil); !errors.Is(err, ErrBusy) || !Untaken(err) {
		t.Error(err)
	}
}

func TestHandlersAreGuarded(t *testing.T) {
	got := make(chan string, 10)
	s, w, _ := open(t, Options{Handlers: map[string]Method{
		"channels/publish": {Path: "channels.publish", InOrder: true, Handle: func(_ context.Context, _ *Session, p json.RawMessage) (any, *Error) {
			got <- string(p)
			return map[string]any{"delivered": true}, nil
		}},
	}}, "0.5")
	s.Receive(json.RawMessage("9"), "channels/publish", nil)
	s.Receive(json.RawMessage("10"), "channels/open", nil)
	s.Receive(nil, "channels/typing", nil)
	s.Receive(json.RawMessage("1"), "featureSets/update", json.RawMessage(`{"effectiveCapabilities":["channels.*"]}`))
	s.Receive(json.RawMessage("11"), "channels/publish", json.RawMessage(`{"a":1}`))
	s.Receive(nil, "channels/publish", json.RawMessage(`{"a":2}`))
	want := []string{`"data":{"capability":"channels.publish"}`, `"code":-32601`, `"accepted":true`, `{"id":11,"jsonrpc":"2.0","result":{"delivered":true}}`}
	out := w.written()
	if len(out) != len(want) {
		t.Fatal(out)
	}
	for i := range want {
		if !strings.Contains(out[i], want[i]) {
			t.Errorf("%d: %s", i, out[i])
		}
	}
	if a, b := <-got, <-got; a != `{"a":1}` || b != `{"a":2}` {
		t.Error(a, b)
	}
}

func TestOurs(t *testing.T) {
	for method, want := range map[string]bool{
		"featureSets/update": true, "channels/publish": true, "push/render": true, "mcpl/manifest": true, "tools/lifecycle": true,
		"tools/call": false, "initialize": false, "notifications/initialized": false, "resources/read": false, "channels": false, "": false,
	} {
		if got := Ours(method); got != want {
			t.Errorf("%s: %v", method, got)
		}
	}
}

func TestTheOutboxKeepsTheLastTwenty(t *testing.T) {
	var o Outbox
	at := time.Now()
	for i := range OutboxSize + 5 {
		o.Add(Waiting{Event: Event{ID: fmt.Sprint(i), FeatureSet: "a", At: at.Add(time.Duration(i) * time.Second)}, Meeting: fmt.Sprint("m", i%2), Words: i%2 == 0})
	}
	if n, dropped := o.Counts(); n != OutboxSize || dropped != 5 {
		t.Error(n, dropped)
	}
	o.Add(Waiting{Event: Event{ID: "24", At: at}}) // it is there
	o.Add(Waiting{Event: Event{ID: "b", FeatureSet: "b", At: at}})
	if n, dropped := o.Counts(); n != OutboxSize || dropped != 6 {
		t.Error(n, dropped) // the one that came back was the oldest
	}
	o.Forget("m0")
	got := o.Take(func(set string) bool { return set == "a" })
	var ids []string
	for _, w := range got {
		ids = append(ids, w.ID)
	}
	if !slices.Equal(ids, []string{"5", "7", "9", "11", "13", "15", "17", "19", "21", "23"}) {
		t.Error(ids)
	}
	if n, _ := o.Counts(); n != 0 {
		t.Error(n)
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"effectiveCapabilities":["pushEvents","*"],"enabled":["parley.*"],"disabled":["a.b"]}`), []byte(`{"version":"0.4","channels":{"observe":true}}`))
	f.Fuzz(func(t *testing.T, params, host []byte) {
		h, ok := ParseHost(host)
		if !ok {
			return
		}
		w := &wire{}
		s := NewSession(Options{Manifest: manifest}, w.enqueue, func() {})
		defer s.Close()
		s.Offer(h)
		s.Initialized()
		s.Receive(json.RawMessage("1"), "featureSets/update", params)
		out := w.written()
		if len(out) != 1 || !json.Valid([]byte(out[0])) {
			t.Fatalf("%q", out)
		}
		if s.Usable("parley.meeting", PathPushEvents) && !strings.Contains(string(params), "effectiveCapabilities") && !strings.Contains(string(params), `\u`) {
			t.Fatalf("granted by %q", params)
		}
	})
}
