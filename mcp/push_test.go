package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/channel/mcpl"
	"parley/tool"
)

var host05 = map[string]any{"mcpl": map[string]any{"version": "0.5", "pushEvents": true, "channels": map[string]any{"register": true}, "featureSets": true}}

// pushes reads until there are n events, answers each, and gives them.
func (p *peer) pushes(n int) []map[string]any {
	p.t.Helper()
	var out []map[string]any
	for range n {
		m := p.await("event", func(m map[string]any) bool { return m["method"] == "push/event" })
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"accepted":true}}`, m["id"]))
		out = append(out, m["params"].(map[string]any))
	}
	return out
}

// quiet checks that nothing is pushed for what happened so far: once the hub has seen it all, whatever it
// sent stands before the answer to a ping.
func (p *peer) quiet(w *world) {
	p.t.Helper()
	for w.server.hub.seen.Load() < w.meetings.Emitted() {
		time.Sleep(time.Millisecond)
	}
	p.call("ping", map[string]any{})
	for _, m := range p.kept {
		if m["method"] == "push/event" {
			p.t.Errorf("pushed: %v", m)
		}
	}
}

func (p *peer) grant(params string) map[string]any {
	p.t.Helper()
	p.next++
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"featureSets/update","params":%s}`, p.next, params))
	return p.answer(p.next)
}

func tags(e map[string]any) string { return fmt.Sprint(e["tags"]) }

func eventText(e map[string]any) string {
	return e["payload"].(map[string]any)["content"].([]any)[0].(map[string]any)["text"].(string)
}

func TestAHostOfVersion05(t *testing.T) {
	w := newWorld(t, nil)
	p := w.socket(tokenMe)
	r := p.initialize("2024-11-05", host05)
	offer, err := json.Marshal(r["capabilities"].(map[string]any)["experimental"].(map[string]any)["mcpl"])
	if err != nil {
		t.Fatal(err)
	}
	if s := string(offer); !strings.Contains(s, `"version":"0.5"`) || !strings.Contains(s, `"pushEvents":true`) ||
		!strings.Contains(s, `"parley.meeting":{"description"`) || strings.Contains(s, `"channels"`) {
		t.Errorf("offered: %s", s)
	}
	join := func(room string) string {
		t.Helper()
		s, err := w.meetings.Join(t.Context(), p.owner(w), tool.JoinArgs{URL: "http://127.0.0.1/room/" + room, Announce: "chat", Record: true, LeaveOnOptout: true})
		if err != nil {
			t.Fatal(err)
		}
		return s.Meeting
	}
	id := join("one")
	w.meetings.Say(id, "Ada", "before anything was granted")
	p.quiet(w)
	if r := p.grant(`{"effectiveCapabilities":["tools","pushEvents"]}`); fmt.Sprint(r["result"]) != "map[accepted:true]" {
		t.Error(r)
	}
	// What had waited comes first: the announcement, which is worth knowing later. States and speech were live.
	if e := p.pushes(1)[0]; !strings.Contains(tags(e), "parley:meeting-announce") {
		t.Error(e)
	}
	w.meetings.Say(id, "Ada", "Good morning.")
	e := p.pushes(1)[0]
	origin := e["origin"].(map[string]any)
	if tags(e) != "[parley:meeting-transcript parley:meeting="+id+" chat:from-human chat:group]" || e["featureSet"] != "parley.meeting" ||
		origin["meeting_id"] != id || origin["speaker"] != "Ada" || origin["text"] != "Good morning." || origin["final"] != true ||
		!strings.Contains(eventText(e), "Ada: Good morning.") || strings.Contains(eventText(e), "<<<") || e["coalesce"] != nil {
		t.Errorf("%v", e)
	}
	if at, err := time.Parse(time.RFC3339Nano, e["timestamp"].(string)); err != nil || time.Since(at) > time.Minute {
		t.Error(e["timestamp"], err)
	}
	w.meetings.Mumble(id, "and now") // this host would wake for it
	w.meetings.Write(id, "Bob", "hello bot")
	e = p.pushes(1)[0]
	if !strings.Contains(tags(e), "parley:meeting-chat") || e["origin"].(map[string]any)["sender"] != "Bob" || !strings.Contains(eventText(e), "Bob: hello bot") {
		t.Errorf("%v", e)
	}
	w.meetings.Ask(id, tool.Question{ID: "q1", Kind: "dialog", Text: "Stay?", Choices: []string{"yes", "no"}, Default: "no"})
	if e = p.pushes(1)[0]; !strings.Contains(tags(e), "parley:meeting-question") || fmt.Sprint(e["origin"].(map[string]any)["choices"]) != "[yes no]" {
		t.Errorf("%v", e)
	}
	w.meetings.Object(id, "Bob")
	var kinds []string
	ids := map[any]bool{}
	for _, e := range p.pushes(3) {
		kinds = append(kinds, strings.Split(strings.Trim(tags(e), "[]"), " ")[0])
		ids[e["eventId"]] = true
	}
	if strings.Join(kinds, " ") != "parley:meeting-optout parley:meeting-state parley:meeting-ended" || len(ids) != 3 {
		t.Errorf("%v %v", kinds, ids)
	}
	// A narrower policy holds at once.
	if r := p.grant(`{"effectiveCapabilities":[]}`); !strings.Contains(fmt.Sprint(r["result"]), "degraded") {
		t.Error(r)
	}
	join("two")
	p.quiet(w)
	// Tools work on the same connection all the while.
	if got := p.tool("meeting_list", nil); len(got["meetings"].([]any)) != 2 {
		t.Error(got)
	}
}

// owner is who the world's tests join for.
func (p *peer) owner(w *world) tool.Caller {
	pr, err := w.server.o.Auth.Authenticate(tokenMe)
	if err != nil {
		p.t.Fatal(err)
	}
	return tool.Caller{Principal: pr}
}

func TestAHostOfVersion04(t *testing.T) {
	w := newWorld(t, nil)
	p := w.socket(tokenMe)
	p.initialize("2024-11-05", map[string]any{"mcpl": map[string]any{"version": "0.4", "pushEvents": true, "channels": true}})
	p.send(`{"jsonrpc":"2.0","method":"featureSets/update","params":{"enabled":["parley.meeting"],"disabled":[]}}`)
	p.quiet(w)
	id := p.tool("meeting_join", map[string]any{"url": "http://127.0.0.1/room/old"})["meeting_id"].(string)
	w.meetings.Say(id, "Ada", "Hello.")
	p.await("a final", func(m map[string]any) bool {
		return m["method"] == "push/event" && strings.Contains(fmt.Sprint(m["params"]), "parley:meeting-transcript")
	})
}

func TestWithoutMCPLItIsPlainMCP(t *testing.T) {
	w := newWorld(t, nil)
	p := w.socket(tokenMe)
	if r := p.initialize("2025-06-18", nil); r["capabilities"].(map[string]any)["experimental"] != nil {
		t.Error(r)
	}
	for _, method := range []string{"featureSets/update", "channels/publish", "mcpl/manifest"} {
		r := p.call(method, map[string]any{"effectiveCapabilities": []string{"pushEvents"}})
		if e, ok := r["error"].(map[string]any); !ok || e["code"] != -32601.0 {
			t.Errorf("%s: %v", method, r)
		}
	}
	id := p.tool("meeting_join", map[string]any{"url": "http://127.0.0.1/room/plain"})["meeting_id"].(string)
	w.meetings.Write(id, "Bob", "hi")
	p.quiet(w)
}

func TestUnknownRequestsOfAHostAreAnswered(t *testing.T) {
	w := newWorld(t, nil)
	p := w.socket(tokenMe)
	p.initialize("2024-11-05", host05)
	p.grant(`{"effectiveCapabilities":["*"]}`)
	for _, method := range []string{"channels/open", "mcpl/manifest", "state/rollback", "push/render", "context/beforeInference"} {
		if e, ok := p.call(method, map[string]any{})["error"].(map[string]any); !ok || e["code"] != -32601.0 {
			t.Errorf("%s: %v", method, e)
		}
	}
	p.send(`{"jsonrpc":"2.0","method":"inference/lifecycle","params":{"phase":"started"}}`)
	p.quiet(w)
}

func TestEventsWaitForTheNextHost(t *testing.T) {
	w := newWorld(t, nil)
	me := (&peer{t: t}).owner(w)
	s, err := w.meetings.Join(t.Context(), me, tool.JoinArgs{URL: "http://127.0.0.1/room/w", Announce: "chat", Record: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range mcpl.OutboxSize + 3 {
		w.meetings.Write(s.Meeting, "Bob", fmt.Sprint("message ", i))
		w.meetings.Say(s.Meeting, "Bob", "live only")
	}
	p := w.socket(tokenMe)
	p.initialize("2024-11-05", host05)
	p.grant(`{"effectiveCapabilities":["pushEvents"],"enabled":["parley.other"]}`) // not ours
	p.quiet(w)
	p.grant(`{"effectiveCapabilities":["pushEvents"]}`)
	events := p.pushes(mcpl.OutboxSize)
	if first, last := eventText(events[0]), eventText(events[len(events)-1]); !strings.HasSuffix(first, "message 3") || !strings.HasSuffix(last, "message 22") {
		t.Errorf("from %q to %q", first, last)
	}
	p.quiet(w)
	// Another tenant's host has heard nothing of it.
	other := w.socket(tokenYou)
	other.initialize("2024-11-05", host05)
	other.grant(`{"effectiveCapabilities":["pushEvents"]}`)
	other.quiet(w)
}

func TestAnEventThatNoHostAnsweredIsSentAgainOnce(t *testing.T) {
	w := newWorld(t, nil)
	me := (&peer{t: t}).owner(w)
	p := w.socket(tokenMe)
	p.initialize("2024-11-05", host05)
	p.grant(`{"effectiveCapabilities":["pushEvents"]}`)
	s, err := w.meetings.Join(t.Context(), me, tool.JoinArgs{URL: "http://127.0.0.1/room/again", Announce: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	w.meetings.Write(s.Meeting, "Bob", "are you there?")
	lost := p.await("the chat", func(m map[string]any) bool {
		return m["method"] == "push/event" && strings.Contains(fmt.Sprint(m["params"]), "are you there?")
	})["params"].(map[string]any)
	p.hang()
	again := w.socket(tokenMe)
	again.initialize("2024-11-05", host05)
	again.grant(`{"effectiveCapabilities":["pushEvents"]}`)
	for {
		e := again.pushes(1)[0]
		if e["eventId"] == lost["eventId"] {
			if e["timestamp"] != lost["timestamp"] {
				t.Error("the occurrence got another time")
			}
			break
		}
	}
	third := w.socket(tokenMe)
	third.initialize("2024-11-05", host05)
	third.grant(`{"effectiveCapabilities":["pushEvents"]}`)
	third.quiet(w)
}

func TestAnErasureReachesWhatWaits(t *testing.T) {
	w := newWorld(t, nil)
	me := (&peer{t: t}).owner(w)
	s, err := w.meetings.Join(t.Context(), me, tool.JoinArgs{URL: "http://127.0.0.1/room/e", Announce: "chat", LeaveOnOptout: true})
	if err != nil {
		t.Fatal(err)
	}
	w.meetings.Write(s.Meeting, "Bob", "please do not record me")
	w.meetings.Object(s.Meeting, "Bob")
	p := w.socket(tokenMe)
	p.initialize("2024-11-05", host05)
	p.grant(`{"effectiveCapabilities":["pushEvents"]}`)
	for _, e := range p.pushes(3) { // announce, optout, ended
		if strings.Contains(tags(e), "meeting-chat") || strings.Contains(fmt.Sprint(e), "please do not record") {
			t.Errorf("%v", e)
		}
	}
	p.quiet(w)
}

func TestAHostThatCoalescesGetsUnfinishedSpeech(t *testing.T) {
	w := newWorld(t, nil)
	me := (&peer{t: t}).owner(w)
	p := w.socket(tokenMe)
	p.initialize("2024-11-05", map[string]any{"mcpl": map[string]any{"version": "0.5", "pushEvents": true, "eventCoalescing": map[string]any{"pushEvents": true}}})
	p.grant(`{"effectiveCapabilities":["pushEvents"]}`)
	s, err := w.meetings.Join(t.Context(), me, tool.JoinArgs{URL: "http://127.0.0.1/room/p", Announce: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	w.meetings.Mumble(s.Meeting, "Good mor")
	w.meetings.Say(s.Meeting, "Ada", "Good morning.")
	var keys, ids []any
	for len(keys) < 2 {
		e := p.pushes(1)[0]
		if !strings.Contains(tags(e), "meeting-transcript") {
			continue
		}
		if strings.Contains(tags(e), "parley:partial") != (len(keys) == 0) {
			t.Error(e)
		}
		keys, ids = append(keys, e["coalesce"].(map[string]any)["key"]), append(ids, e["eventId"])
	}
	if keys[0] != keys[1] || ids[0] == ids[1] {
		t.Error(keys, ids)
	}
}

func TestASlowHostLosesPartialsThenItsConnection(t *testing.T) {
	// The queue itself, without a network whose buffers would hide it.
	wire := &stuck{block: make(chan struct{})}
	var stats connStats
	c := newConn(wire, tool.Caller{}, &stats)
	dropped := 0
	for range maxQueue {
		if err := c.enqueue(mcpl.Outgoing{Data: []byte("p"), Partial: true, Dropped: func() { dropped++ }}); err != nil {
			t.Fatal(err)
		}
	}
	for range maxQueue - 1 {
		if err := c.enqueue(mcpl.Outgoing{Data: []byte("f")}); err != nil {
			t.Fatal(err)
		}
	}
	if dropped < maxQueue-2 {
		t.Errorf("%d partials were dropped", dropped)
	}
	var err error
	for i := 0; i < 10 && err == nil; i++ { // the writer holds one, so it is not known how many still fit
		err = c.enqueue(mcpl.Outgoing{Data: []byte("f")})
	}
	if err == nil || !wire.slow.Load() {
		t.Errorf("the connection goes on: %v", err)
	}
	close(wire.block)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
