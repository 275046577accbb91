package main

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/room"
	"parley/room/guest"
	"parley/tenant"
	"parley/testkit/need"
	"parley/tool"
)

// listener is a guest that notes when it hears anybody.
type listener struct {
	*guest.Guest
	mu   sync.Mutex
	loud int // samples that were no silence
}

func (h *house) listener(link, name string) *listener {
	h.t.Helper()
	l := &listener{}
	g, err := guest.Join(h.ctx, guest.Options{URL: link, Name: name, Log: slog.New(slog.DiscardHandler), OnAudio: func(s guest.Sound) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, v := range s.PCM {
			if v > 1000 || v < -1000 {
				l.loud++
			}
		}
	}}, nil)
	if err == nil {
		err = g.Admitted(h.ctx)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = g.Leave() })
	l.Guest = g
	return l
}

// hears waits until more of somebody is heard than before.
func (h *house) hears(l *listener, what string, do func()) {
	h.t.Helper()
	l.mu.Lock()
	before := l.loud
	l.mu.Unlock()
	do()
	h.eventually(2*time.Minute, what, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.loud > before+4000
	})
}

func (h *house) voice(text string) guest.Clip {
	h.t.Helper()
	c, err := voiceOf(h.ctx, h.c.engine, line{adaName, text})
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// tools is a conversation by meeting_listen, meeting_draft and meeting_speak alone.
type tools struct {
	*house
	id     string
	cursor int64
}

// turn plays what somebody says and gives the turn that the agent hears. What comes meanwhile is shown to while.
func (c *tools) turn(g *guest.Guest, clip guest.Clip, while func(tool.Event)) tool.Turn {
	c.t.Helper()
	played := make(chan error, 1)
	go func() { played <- g.Play(c.ctx, clip) }()
	defer func() {
		if err := <-played; err != nil {
			c.t.Error(err)
		}
	}()
	for until := time.Now().Add(90 * time.Second); time.Now().Before(until); {
		var h tool.Heard
		c.call("meeting_listen", map[string]any{"meeting_id": c.id, "cursor": c.cursor, "wait_s": 10, "kinds": []string{"turn", "transcript"}, "partials": true}, &h)
		c.cursor = h.Cursor
		for _, e := range h.Events {
			if e.Turn != nil && !e.Turn.Echo {
				return *e.Turn
			}
			while(e)
		}
	}
	c.t.Fatal("the turn did not come within 90 s")
	return tool.Turn{}
}

// A client that knows nothing of MCPL holds the same conversation: what it drafted is said the moment the turn is over, its
// answer leaves that out, and a draft that cannot be said is dropped with the reason.
func TestATalkByToolsAlone(t *testing.T) {
	need.Real(t)
	h := newHouseFor(t, 12*time.Minute)
	link := h.room.Link(room.NewID())
	ada := h.listener(link, adaName)
	c := &tools{house: h, id: h.attend(link, nil)}
	short, long := h.voice("Who is going to write the notes?"), h.voice("And could you please tell all of us when the next meeting is going to be?")

	// A draft that nobody said is ready stays unsaid.
	var d tool.Drafted
	h.call("meeting_draft", map[string]any{"meeting_id": c.id, "text": "Emmy does."}, &d)
	if !d.OK || d.Sentence != "Emmy does." {
		t.Errorf("the draft was taken so: %+v", d)
	}
	turn := c.turn(ada.Guest, short, func(tool.Event) {})
	if turn.Draft != "dropped" || turn.DraftWhy != "not-ready" || turn.Seq == 0 || turn.Speaker == nil || turn.Speaker.Name != adaName {
		t.Errorf("the turn: %+v", turn)
	}
	var sp tool.Spoken
	h.hears(ada, "the answer is heard", func() {
		h.call("meeting_speak", map[string]any{"meeting_id": c.id, "text": "Emmy does.", "turn_seq": turn.Seq}, &sp)
	})
	if sp.State != "queued" || sp.PrefixSkipped || sp.LastTurn != turn.Seq {
		t.Errorf("the answer was taken so: %+v", sp)
	}

	// One that is ready is said as soon as the person stops. Where the machine hears too slowly, it is asked again.
	const draft = "It is on Monday at ten."
	for try := 0; ; try++ {
		c.quiet()
		drafted := false
		h.hears(ada, "the draft is heard", func() {
			turn = c.turn(ada.Guest, long, func(e tool.Event) {
				if e.Line != nil && !e.Line.Final && e.Line.Text != "" {
					h.call("meeting_draft", map[string]any{"meeting_id": c.id, "text": draft, "ready": true, "for_turn_seq": e.Line.Seq}, &d)
					drafted = drafted || d.OK
				}
			})
			if turn.Draft != "spoken" {
				h.call("meeting_speak", map[string]any{"meeting_id": c.id, "text": "One moment.", "turn_seq": turn.Seq}, &sp)
			}
		})
		if turn.Draft == "spoken" {
			break
		}
		if drafted && (turn.Draft != "dropped" || turn.DraftWhy == "") {
			t.Errorf("nothing says what became of the draft: %+v", turn)
		}
		if try == 4 {
			if need.Overloaded(t) {
				return
			}
			t.Fatalf("in five questions no draft was said: %+v", turn)
		}
	}
	if turn.DraftTxt != draft {
		t.Errorf("the turn tells another draft: %+v", turn)
	}
	h.call("meeting_speak", map[string]any{"meeting_id": c.id, "text": draft + " I will send the invitation.", "turn_seq": turn.Seq}, &sp)
	if sp.State != "queued" || !sp.PrefixSkipped {
		t.Errorf("the rest of the answer was taken so: %+v", sp)
	}
	said := ""
	h.until(c.id, "all of it was said", func(ev tool.Event) bool {
		if ev.Speech != nil && ev.Speech.Kind == "stream" && ev.Speech.State == "done" {
			said = strings.TrimSpace(said + " " + ev.Speech.Said)
		}
		return strings.HasSuffix(said, "I will send the invitation.")
	})
	if strings.Count(said, draft) != 1 {
		t.Errorf("said: %q", said)
	}
	// An answer to an older turn is told to be one.
	h.call("meeting_leave", map[string]any{"meeting_id": c.id}, nil)
	h.call("meeting_speak", map[string]any{"meeting_id": c.id, "text": "Too late.", "turn_seq": turn.Seq}, &sp)
	if sp.State != "dropped" || sp.Reason != "meeting-ended" {
		t.Errorf("after the end: %+v", sp)
	}
}

// quiet waits until nothing of ours is said.
func (c *tools) quiet() {
	c.t.Helper()
	c.eventually(2*time.Minute, "we fall silent", func() bool { return !c.status(c.id).Speaking })
}

// One meeting, two hosts of the tenant: over a WebSocket and through the bridge. Each gets the channel, the turn while it is
// being said, and the whole of it; what either publishes is heard; with the meeting the channel goes.
func TestAMeetingIsAChannelOfEveryHost(t *testing.T) {
	need.Real(t)
	h := newHouseFor(t, 12*time.Minute)
	h.call("speech_settings_set", map[string]any{"agent_partials": true, "agent_partials_interval_s": 0.5}, nil)
	token, err := tenant.ReadLocalToken(h.data)
	if err != nil {
		t.Fatal(err)
	}
	hosts := map[string]*host{"websocket": h.overWebSocket(),
		"bridge": h.overStdio("bridge", "PARLEY_URL=ws"+strings.TrimPrefix(h.c.address, "http"), "PARLEY_TOKEN="+token, "PARLEY_CONFIG=/dev/null")}
	link := h.room.Link(room.NewID())
	ada := h.listener(link, adaName)
	id := h.attend(link, nil)
	channel := "parley:meeting:" + id
	for name, host := range hosts {
		host.until(h.ctx, name+": the channel is offered", func() bool { return slices.Contains(host.opened, channel) })
	}
	question := h.voice("And could you please tell all of us when the next meeting is going to be?")
	partials := 0
	for range 3 { // the recogniser of a busy machine may be too slow for partials
		if err := ada.Play(h.ctx, question); err != nil {
			t.Fatal(err)
		}
		for name, host := range hosts {
			host.until(h.ctx, name+": the turn comes", func() bool { return slices.ContainsFunc(host.heard, incoming.turn) })
		}
		h.eventually(time.Minute, "both have heard the same", func() bool { return len(hosts["websocket"].turns()) == len(hosts["bridge"].turns()) })
		for name, host := range hosts {
			partials += host.check(name, channel, id)
		}
		if partials > 0 {
			break
		}
	}
	if partials == 0 && !need.Overloaded(t) {
		t.Error("nothing came while it was being said")
	}
	for name, host := range hosts {
		turns := host.turns()
		h.hears(ada, name+": what it publishes is heard", func() {
			if r := host.publish(h.ctx, channel, "On Monday at ten.", turns[len(turns)-1].Metadata.TurnSeq); !r.Delivered || r.MessageID == "" {
				t.Errorf("%s: %+v", name, r)
			}
		})
		h.eventually(2*time.Minute, "we fall silent", func() bool { return !h.status(id).Speaking })
	}
	h.call("meeting_leave", map[string]any{"meeting_id": id}, nil)
	for name, host := range hosts {
		host.until(h.ctx, name+": the channel goes", func() bool { return slices.Contains(host.gone, channel) })
		if r := host.publish(h.ctx, channel, "Too late.", 0); r.Delivered || r.Reason != "meeting-ended" {
			t.Errorf("%s: published after the end: %+v", name, r)
		}
		if m := host.call(h.ctx, "channels/open", map[string]any{"channelId": channel}); m.Error == nil || m.Error.Code != -32024 {
			t.Errorf("%s: opened after the end: %+v", name, m)
		}
	}
}

// turns are the whole turns that a host has heard.
func (h *host) turns() (list []incoming) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.heard {
		if m.turn() {
			list = append(list, m)
		}
	}
	return list
}

// check looks at everything that a host has heard, and counts what came before its turn was over.
func (h *host) check(name, channel, meeting string) (partials int) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := map[string]bool{}
	over := map[int64]bool{}
	for _, m := range h.heard {
		if m.Channel != channel || m.Thread != meeting || ids[m.ID] {
			h.t.Errorf("%s: %+v", name, m)
		}
		ids[m.ID] = true
		if m.partial() {
			partials++
			if m.Metadata.Final == nil || *m.Metadata.Final || over[m.Metadata.Seq] || len(m.Content) == 0 {
				h.t.Errorf("%s: a partial: %+v", name, m)
			}
		} else if m.turn() {
			over[m.Metadata.Seq] = true
		}
	}
	return partials
}

// A host that starts the service itself has its meeting as a channel over standard input and output.
func TestAMeetingIsAChannelOverStdio(t *testing.T) {
	need.Real(t)
	h := newHouseFor(t, 12*time.Minute)
	own := h.overStdio("stdio", "PARLEY_DATA="+filepath.Join(t.TempDir(), "data"), "PARLEY_MODELS="+need.Models(t), "PARLEY_CONFIG=/dev/null", "PARLEY_LOG_LEVEL=error")
	link := h.room.Link(room.NewID())
	ada := h.listener(link, adaName)
	var st tool.Status
	own.tool(h.ctx, "meeting_join", map[string]any{"url": link, "lang": "en"}, &st)
	channel := "parley:meeting:" + st.Meeting
	own.until(h.ctx, "the channel is offered", func() bool { return slices.Contains(own.opened, channel) })
	if err := ada.Play(h.ctx, h.voice("And could you please tell all of us when the next meeting is going to be?")); err != nil {
		t.Fatal(err)
	}
	own.until(h.ctx, "the turn comes", func() bool { return slices.ContainsFunc(own.heard, incoming.turn) })
	own.check("stdio", channel, st.Meeting)
	h.hears(ada, "what it publishes is heard", func() {
		if r := own.publish(h.ctx, channel, "On Monday at ten.", 0); !r.Delivered {
			t.Errorf("%+v", r)
		}
	})
	own.tool(h.ctx, "meeting_leave", map[string]any{"meeting_id": st.Meeting}, nil)
	own.until(h.ctx, "the channel goes", func() bool { return slices.Contains(own.gone, channel) })
}
