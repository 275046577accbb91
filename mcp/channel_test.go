package mcp

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/channel"
	"parley/channel/mcpl"
	"parley/tool/toolfake"
)

// preferring is meetings with the settings of a tenant.
type preferring struct {
	*toolfake.Meetings
	events atomic.Value // channel.Events
}

func (p *preferring) Prefers(string) channel.Preferences {
	e, _ := p.events.Load().(channel.Events)
	return channel.Preferences{Events: e, Channel: true}
}

// newChannelWorld is a world whose simulated meetings have channels.
func newChannelWorld(t testing.TB) (*world, *mcpl.Board, *preferring) {
	t.Helper()
	var board *mcpl.Board
	var p *preferring
	w := newWorld(t, func(o *Options) {
		p = &preferring{Meetings: o.Events.(*toolfake.Meetings)}
		board = mcpl.NewBoard(mcpl.BoardOptions{Set: MeetingSet, Meetings: p})
		o.Channels = board
	})
	t.Cleanup(board.Close)
	return w, board, p
}

// hostAt connects a host and takes the channels that it is offered.
func (w *world) hostAt(caps string, channels int) *peer {
	w.t.Helper()
	p := w.socket(tokenMe)
	p.initialize("2024-11-05", map[string]any{"mcpl": map[string]any{"version": "0.5", "pushEvents": true, "channels": true}})
	p.grant(`{"effectiveCapabilities":` + caps + `}`)
	for range channels {
		m := p.await("register", func(m map[string]any) bool { return m["method"] == "channels/register" })
		id := m["params"].(map[string]any)["channels"].([]any)[0].(map[string]any)["id"]
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"results":[{"id":%q,"accepted":true}]}}`, m["id"], id))
	}
	p.call("ping", map[string]any{})
	return p
}

// got counts what came by method and tag, up to a barrier.
func (p *peer) got(w *world) (messages, events int) {
	p.t.Helper()
	for w.server.hub.seen.Load() < w.meetings.Emitted() {
		time.Sleep(time.Millisecond)
	}
	p.call("ping", map[string]any{})
	for _, m := range p.kept {
		switch {
		case m["method"] == "channels/incoming":
			messages++
		case m["method"] == "push/event" && strings.Contains(fmt.Sprint(m["params"]), "parley:meeting-transcript"):
			events++
		}
	}
	p.kept = nil
	return messages, events
}

func TestTextComesInTheChannelOrAsEvents(t *testing.T) {
	w, _, prefers := newChannelWorld(t)
	st := w.socket(tokenMe)
	st.initialize("2025-06-18", nil)
	id := st.tool("meeting_join", map[string]any{"url": "http://127.0.0.1/room/c"})["meeting_id"].(string)
	with := w.hostAt(`["channels.*","pushEvents"]`, 1)
	without := w.hostAt(`["pushEvents"]`, 0)
	for _, c := range []struct {
		events                                    channel.Events
		withMessages, withEvents, withoutMessages int
		withoutEvents                             int
	}{
		{"", 1, 0, 0, 1},
		{channel.EventsAuto, 1, 0, 0, 1},
		{channel.EventsAlways, 1, 1, 0, 1},
		{channel.EventsNever, 1, 0, 0, 0},
	} {
		prefers.events.Store(c.events)
		w.meetings.Say(id, "Ada", "Hello.")
		// The message and the event come by two ways: the message is waited for.
		with.kept = append(with.kept, with.await("message", func(m map[string]any) bool { return m["method"] == "channels/incoming" }))
		m1, e1 := with.got(w)
		m2, e2 := without.got(w)
		if m1 != c.withMessages || e1 != c.withEvents || m2 != c.withoutMessages || e2 != c.withoutEvents {
			t.Errorf("%q: with the channel %d messages, %d events; without it %d, %d", c.events, m1, e1, m2, e2)
		}
	}
	// A channel that the host closed takes nothing: the text comes as events again.
	prefers.events.Store(channel.EventsAuto)
	if r := with.call("channels/close", map[string]any{"channelId": channel.ID(id)}); r["error"] != nil {
		t.Fatal(r)
	}
	w.meetings.Say(id, "Ada", "Hello.")
	if m, e := with.got(w); m != 0 || e != 1 {
		t.Errorf("closed: %d messages, %d events", m, e)
	}
}

func TestAHostThatReadsNothingHoldsUpNobody(t *testing.T) {
	w, board, _ := newChannelWorld(t)
	st := w.socket(tokenMe)
	st.initialize("2025-06-18", nil)
	id := st.tool("meeting_join", map[string]any{"url": "http://127.0.0.1/room/c"})["meeting_id"].(string)
	w.hostAt(`["channels.*"]`, 1) // it reads no more from here on
	good := w.hostAt(`["channels.*"]`, 1)
	const turns = 400
	for i := range turns {
		w.meetings.Say(id, "Ada", strings.Repeat("word ", 1000))
		m := good.await("message", func(m map[string]any) bool { return m["method"] == "channels/incoming" })
		good.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"results":[]}}`, m["id"]))
		if got := fmt.Sprint(m["params"].(map[string]any)["messages"].([]any)[0].(map[string]any)["messageId"]); got != fmt.Sprintf("%s:%d", id, i+1) {
			t.Fatalf("message %d is %s", i+1, got)
		}
	}
	w.server.mu.Lock()
	for c := range w.server.conns {
		c.mu.Lock()
		if len(c.queue) > maxQueue || c.bytes > maxQueueBytes {
			t.Errorf("%d messages, %d bytes wait", len(c.queue), c.bytes)
		}
		c.mu.Unlock()
	}
	w.server.mu.Unlock()
	if c := board.Counts(); c.Lost == 0 || c.Incoming < turns {
		t.Errorf("%+v", c)
	}
	if r := good.call("channels/publish", map[string]any{"channelId": channel.ID(id), "content": "Fine."}); r["result"].(map[string]any)["delivered"] != true {
		t.Error(r)
	}
	resp, err := http.Get("http://" + w.addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); !strings.Contains(string(b), "parley_channel_published_total 1\n") || !strings.Contains(string(b), "parley_channels 2\n") {
		t.Error(string(b))
	}
}
