package mcp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/channel"
	"parley/channel/mcpl"
	"parley/tenant"
	"parley/tool"
)

// hub hands what happens at meetings to the clients of their tenant: as pushed events to hosts that grant
// them, and as news of a transcript to those who subscribed.
type hub struct {
	s      *Server
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	tenants map[tenant.ID]*audience

	seen, pushed, taken, lost atomic.Int64
}

// audience is a tenant's hosts, and what waits while there is none.
type audience struct {
	outbox   mcpl.Outbox
	sessions map[*conn]*attached
	// stale are transcripts whose subscribers have to hear of new text; one goroutine tells them.
	stale   map[string]bool
	telling bool
}

type attached struct {
	changed []func()
	gone    func()
	end     chan struct{}
}

func newHub(s *Server) *hub {
	h := &hub{s: s, tenants: map[tenant.ID]*audience{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

func (h *hub) start(events tool.Watcher) {
	if events == nil {
		return
	}
	news := events.Watch(h.ctx)
	h.work.Go(func() {
		for e := range news {
			h.deliver(e)
			h.seen.Add(1)
		}
	})
}

// stop ends the watching and waits for everything that it began.
func (h *hub) stop() {
	h.cancel()
	h.work.Wait()
}

func (h *hub) audience(t tenant.ID) *audience {
	a := h.tenants[t]
	if a == nil {
		a = &audience{sessions: map[*conn]*attached{}, stale: map[string]bool{}}
		h.tenants[t] = a
	}
	return a
}

// attach gives a connection its MCPL session.
func (h *hub) attach(c *conn) {
	at := &attached{end: make(chan struct{}), gone: func() {}}
	c.mcpl = mcpl.NewSession(h.s.o.MCPL, c.enqueue, func() {
		h.flush(c)
		h.mu.Lock()
		changed := at.changed
		h.mu.Unlock()
		for _, f := range changed {
			f()
		}
	})
	var changed []func()
	if h.s.o.Channels != nil {
		f, gone := h.s.o.Channels.Attach(c.mcpl, string(c.caller.Tenant.ID))
		changed, at.gone = append(changed, f), gone
	}
	if h.s.o.OnSession != nil {
		if f := h.s.o.OnSession(c.mcpl, c.caller, at.end); f != nil {
			changed = append(changed, f)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at.changed = changed
	h.audience(c.caller.Tenant.ID).sessions[c] = at
}

// detach ends it.
func (h *hub) detach(c *conn) {
	if c.mcpl == nil {
		return
	}
	h.mu.Lock()
	a := h.audience(c.caller.Tenant.ID)
	at := a.sessions[c]
	delete(a.sessions, c)
	h.mu.Unlock()
	if at != nil {
		close(at.end)
		at.gone()
	}
	c.mcpl.Close()
}

// deliver hands one event out. It never waits.
func (h *hub) deliver(e tool.Event) {
	if e.Kind == tool.EventTurn {
		return // it is for those who listen; hosts have its segments as events, or the channel
	}
	w, keep := pushed(e)
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.audience(e.Tenant)
	if e.Optout != nil && e.Optout.Deleted {
		a.outbox.Forget(e.Meeting)
	}
	h.news(a, e)
	h.push(a, w, keep, h.inChannel(e))
}

// inChannel tells which connections get an event's text in the meeting's channel, and so not as an event; nil: none.
func (h *hub) inChannel(e tool.Event) func(*conn) bool {
	switch e.Kind {
	case tool.EventTranscript, tool.EventTurnExtended, tool.EventInterrupted:
	default:
		return nil
	}
	if h.s.o.Channels == nil {
		return nil
	}
	switch when := h.s.o.Channels.Events(string(e.Tenant)); {
	case when == channel.EventsNever && e.Kind == tool.EventTranscript:
		return func(*conn) bool { return true }
	case when == channel.EventsAlways:
		return nil
	}
	return func(c *conn) bool { return h.s.o.Channels.Hears(c.mcpl, e.Meeting) }
}

// push sends an event to every host that takes it, but those to skip, and keeps it when there is none, with the
// lock held.
func (h *hub) push(a *audience, w mcpl.Waiting, keep bool, skip func(*conn) bool) {
	var waits []func(context.Context) (mcpl.Taken, error)
	for c := range a.sessions {
		if skip != nil && skip(c) {
			continue
		}
		if w.Partial && !c.mcpl.Host().CoalescesPushes {
			continue // such a host would wake its model for every half sentence
		}
		wait, err := c.mcpl.Push(w.Event)
		if err == nil {
			waits = append(waits, wait)
		}
	}
	if len(waits) == 0 {
		if keep {
			a.outbox.Add(w)
		}
		return
	}
	h.pushed.Add(1)
	h.work.Go(func() { h.await(a, w, keep, waits) })
}

// await waits for the hosts' answers. An event that no host got waits for the next.
func (h *hub) await(a *audience, w mcpl.Waiting, keep bool, waits []func(context.Context) (mcpl.Taken, error)) {
	got := make(chan error, len(waits))
	for _, wait := range waits {
		go func() {
			_, err := wait(h.ctx)
			got <- err
		}()
	}
	answered := false
	for range waits {
		if err := <-got; err == nil || !mcpl.Untaken(err) {
			answered = true
		}
	}
	switch {
	case answered:
		h.taken.Add(1)
	case keep && h.ctx.Err() == nil:
		a.outbox.Add(w)
		h.mu.Lock()
		defer h.mu.Unlock()
		for c := range a.sessions {
			h.flushTo(a, c)
		}
	default:
		h.lost.Add(1)
	}
}

// flush sends what waits to a connection whose grant changed.
func (h *hub) flush(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flushTo(h.audience(c.caller.Tenant.ID), c)
}

func (h *hub) flushTo(a *audience, c *conn) {
	for _, w := range a.outbox.Take(func(set string) bool { return c.mcpl.Usable(set, mcpl.PathPushEvents) }) {
		h.push(a, w, true, nil)
	}
}

func (h *hub) forget(t tenant.ID, meeting string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.audience(t).outbox.Forget(meeting)
}

// counts are for metrics.
func (h *hub) counts() (waiting int, dropped int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.tenants {
		n, d := a.outbox.Counts()
		waiting, dropped = waiting+n, dropped+d
	}
	return waiting, dropped
}

// news keeps the list of transcripts and tells subscribers of new text, with the lock held.
func (h *hub) news(a *audience, e tool.Event) {
	ts := h.s.peek(e.Tenant)
	if ts == nil {
		return // the tenant has no client that could care
	}
	if e.Partial() {
		return
	}
	a.stale[e.Meeting] = a.stale[e.Meeting] || e.Line != nil || e.End != nil || e.Optout != nil
	if a.telling {
		return
	}
	a.telling = true
	h.work.Go(func() {
		for {
			h.mu.Lock()
			stale := a.stale
			a.stale = map[string]bool{}
			if len(stale) == 0 {
				a.telling = false
				h.mu.Unlock()
				return
			}
			h.mu.Unlock()
			ts.once.Do(ts.make)
			if !ts.transcripts() {
				continue
			}
			for meeting, text := range stale {
				ts.addTranscript(meeting)
				if !text {
					continue
				}
				ctx, cancel := context.WithTimeout(h.ctx, 10*time.Second)
				err := ts.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: transcriptURI(meeting)})
				cancel()
				if err != nil && !errors.Is(err, context.Canceled) {
					h.s.log.Debug("subscribers could not be told", "meeting", meeting, "err", err)
				}
			}
		}
	})
}
