package mcpl

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/channel"
)

// BoardOptions make a Board.
type BoardOptions struct {
	// Set is the feature set that has to be switched on for channels, such as parley.meeting.
	Set string
	// Meetings are the conversations. What hosts write is given to them by one goroutine for each connection and
	// channel, in the order in which the host sent it.
	Meetings channel.Meetings
	Log      *slog.Logger // nil: silent
}

// Bounds of a board.
const (
	// waitingMax is how many messages wait for a host's answer to channels/register; partials are dropped first.
	waitingMax = 64
	// endedMax is how many channels a connection is remembered to have had.
	endedMax = 64
	// answerWithin is how long a host may take over a request of ours.
	answerWithin = 30 * time.Second
)

// Board is the meetings' channels on the connections of their tenants' hosts. It offers every channel wherever the
// grant allows it, carries messages to those who have it open, and what hosts publish to the meetings. Its methods may
// be called from any goroutine and do not wait for the network.
type Board struct {
	o    BoardOptions
	log  *slog.Logger
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	closed bool
	desk   *channel.Desk
	next   channel.Conn
	guests map[*Session]*guest
	byConn map[channel.Conn]*guest

	stats boardStats
}

// boardStats are counted for /metrics.
type boardStats struct {
	published, refused, incoming, lost, chunks, chunksLost atomic.Int64
}

// guest is one connection.
type guest struct {
	conn     channel.Conn
	s        *Session
	tenant   string
	attached bool // the first policy is there
	grant    channel.Grant
	links    map[string]*link
	ended    []past // channels that it had, the oldest first
}

type past struct{ id, reason string }

// link is a channel on a connection.
type link struct {
	ch       channel.Channel
	answered bool // the host took it
	waiting  []channel.Message
	erased   *atomic.Bool // what waits to be written is not written any more
	lane     lane
}

// NewBoard makes a board and follows the meetings' conversations. Close ends it.
func NewBoard(o BoardOptions) *Board {
	b := &Board{o: o, log: o.Log, desk: channel.NewDesk(), guests: map[*Session]*guest{}, byConn: map[channel.Conn]*guest{}}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.life, b.end = context.WithCancel(context.Background())
	updates := o.Meetings.Converse(b.life)
	b.work.Go(func() {
		for u := range updates {
			b.update(u)
		}
	})
	return b
}

// update does what a conversation tells. It never waits for a host.
func (b *Board) update(u channel.Update) {
	switch {
	case u.Opened != nil:
		if !b.o.Meetings.Prefers(u.Tenant).Channel {
			return
		}
		if err := b.Begin(*u.Opened); err != nil {
			b.log.Warn("a meeting gets no channel", "meeting", u.Meeting, "err", err)
		}
	case u.Message != nil:
		b.Tell(*u.Message)
	case u.Closed == "ended":
		b.End(channel.ID(u.Meeting), channel.ReasonEnded, false)
	case u.Closed != "":
		b.End(channel.ID(u.Meeting), channel.ReasonClosed, true)
	}
}

// Close refuses everything from now on and waits for what runs.
func (b *Board) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.end()
	b.work.Wait()
}

// Attach takes a connection in. Changed is to be called after each change of its grant, gone when it is over.
func (b *Board) Attach(s *Session, tenant string) (changed, gone func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	g := &guest{conn: b.next, s: s, tenant: tenant, links: map[string]*link{}}
	b.guests[s], b.byConn[g.conn] = g, g
	return func() { b.regrant(g) }, func() { b.detach(g) }
}

// granted is what a session's present grant says of channels.
func (b *Board) granted(s *Session) channel.Grant {
	has := func(path string) bool { return s.Usable(b.o.Set, path) }
	return channel.Grant{Register: has(PathRegister), Lifecycle: has(PathLifecycle), Publish: has(PathPublish),
		Incoming: has(PathIncoming), Streaming: has(PathStreaming)}
}

// regrant offers what a new grant allows. A host that let us register nothing for a while starts anew; one whose
// grant grew is offered again what it refused.
func (b *Board) regrant(g *guest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.guests[g.s] != g || b.closed {
		return
	}
	was, now := g.grant, b.granted(g.s)
	g.grant = now
	switch {
	case !g.attached || !was.Register && now.Register:
		g.attached = true
		for id := range g.links {
			b.unlink(g, id, "")
		}
		actions, err := b.desk.Attach(g.conn, g.tenant, now)
		if err != nil {
			b.log.Warn("a connection gets no channels", "err", err)
			g.attached = false
			return
		}
		b.perform(actions)
	default:
		b.perform(b.desk.Regrant(g.conn, now))
		if grew(was, now) {
			b.perform(b.desk.Retry(g.conn))
		}
	}
}

// grew tells whether a grant has something that another lacks.
func grew(was, now channel.Grant) bool {
	return now.Register && !was.Register || now.Lifecycle && !was.Lifecycle || now.Publish && !was.Publish ||
		now.Incoming && !was.Incoming || now.Streaming && !was.Streaming
}

// detach forgets a connection. What it streamed and did not publish is not said any more.
func (b *Board) detach(g *guest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.guests[g.s] != g {
		return
	}
	b.desk.Detach(g.conn)
	delete(b.guests, g.s)
	delete(b.byConn, g.conn)
	for id := range g.links {
		b.unlink(g, id, "")
	}
}

// unlink forgets a channel on a connection, with the lock held. With a reason it is remembered as one that ended.
func (b *Board) unlink(g *guest, id, reason string) {
	l := g.links[id]
	if l == nil {
		return
	}
	delete(g.links, id)
	l.waiting = nil
	b.abandon(g, l, reason)
	if reason != "" {
		g.ended = append(g.ended, past{id, reason})
		if len(g.ended) > endedMax {
			g.ended = g.ended[1:]
		}
	}
}

// Begin opens a meeting's channel on every connection of its tenant. One that is open already is described anew where
// something of it has changed.
func (b *Board) Begin(ch channel.Channel) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.desk.Has(ch.ID) {
		b.perform(b.desk.Describe(ch))
		return nil
	}
	actions, err := b.desk.Begin(ch)
	b.perform(actions)
	return err
}

// End removes a channel; the reason is what a late publish is told. With erase, messages that wait to be written are dropped: they say what people said.
func (b *Board) End(id, reason string, erase bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	actions := b.desk.End(id)
	for _, g := range b.byConn {
		if l := g.links[id]; l != nil && erase {
			l.erased.Store(true)
		}
	}
	b.perform(actions)
	for _, g := range b.byConn {
		b.unlink(g, id, reason)
	}
}

// Tell carries a message to every connection that has its channel open.
func (b *Board) Tell(m channel.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.perform(b.desk.Tell(m))
}

// Hears tells whether a connection's host gets a meeting's channel, so that it need not get the same as events.
func (b *Board) Hears(s *Session, meeting string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.guests[s]
	if g == nil {
		return false
	}
	l := g.links[channel.ID(meeting)]
	return l != nil && l.answered && g.grant.Incoming && b.desk.Hears(g.conn, l.ch.ID)
}

// Events says when a tenant's transcript events are pushed beside a channel that takes the text.
func (b *Board) Events(tenant string) channel.Events { return b.o.Meetings.Prefers(tenant).Events }

// perform does what the desk says, with the lock held: what is put into the connections' queues here leaves in this
// order.
func (b *Board) perform(actions []channel.Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case channel.Register:
			if g := b.byConn[a.Conn]; g != nil {
				b.register(g, a.Channel)
			}
		case channel.Change:
			if g := b.byConn[a.Conn]; g != nil {
				if l := g.links[a.Channel.ID]; l != nil {
					l.ch = a.Channel
				}
				b.change(g, map[string]any{"updated": []any{describe(a.Channel)}})
			}
		case channel.Remove:
			if g := b.byConn[a.Conn]; g != nil {
				b.change(g, map[string]any{"removed": []string{a.ID}})
			}
		case channel.Send:
			if g := b.byConn[a.Conn]; g != nil {
				b.send(g, a.Message)
			}
		}
	}
}

// post queues a request and lets done know, with the lock held again, what became of it. A connection that is over
// has nothing to tell.
func (b *Board) post(g *guest, use Use, method string, params any, done func(json.RawMessage, error)) bool {
	if b.closed {
		return false
	}
	use.Set = b.o.Set
	return nil == g.s.Post(use, method, params, answerWithin, func(result json.RawMessage, err error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.byConn[g.conn] == g {
			done(result, err)
		}
	})
}

func (b *Board) register(g *guest, ch channel.Channel) {
	l := &link{ch: ch, erased: new(atomic.Bool)}
	g.links[ch.ID] = l
	sent := b.post(g, Use{Path: PathRegister}, "channels/register", map[string]any{"channels": []any{describe(ch)}}, func(result json.RawMessage, err error) {
		if g.links[ch.ID] != l {
			return // it ended meanwhile
		}
		if err != nil || !tookIt(result, ch.ID, !g.s.Host().SendsPolicy()) {
			b.log.Info("a host did not take a channel", "meeting", ch.Meeting, "err", err)
			b.refused(g, l)
			return
		}
		l.answered = true
		b.desk.Registered(g.conn, ch.ID, true)
		waiting := l.waiting
		l.waiting = nil
		for _, m := range waiting {
			b.deliver(g, l, m)
		}
	})
	if !sent {
		b.refused(g, l)
	}
}

// refused forgets a channel that a host did not take, until its grant grows.
func (b *Board) refused(g *guest, l *link) {
	b.desk.Registered(g.conn, l.ch.ID, false)
	b.unlink(g, l.ch.ID, "")
}

// change tells of a channel that is gone or described anew. Old hosts know only the form without an answer.
func (b *Board) change(g *guest, params map[string]any) {
	if !g.s.Host().SendsPolicy() {
		_ = g.s.Notify(Use{Set: b.o.Set, Path: PathRegister}, "channels/changed", params) // a host that may not hear it is told nothing
		return
	}
	b.post(g, Use{Path: PathRegister}, "channels/changed", params, func(json.RawMessage, error) {}) // one that did not know it has nothing to forget
}

// send carries a message, or keeps it until the host has taken the channel.
func (b *Board) send(g *guest, m channel.Message) {
	l := g.links[m.Channel]
	switch {
	case l == nil:
	case l.answered:
		b.deliver(g, l, m)
	default:
		l.waiting = append(l.waiting, m)
		if len(l.waiting) > waitingMax {
			i := max(0, slices.IndexFunc(l.waiting, func(m channel.Message) bool { return m.Partial }))
			l.waiting = slices.Delete(l.waiting, i, i+1)
			b.stats.lost.Add(1)
		}
	}
}

func (b *Board) deliver(g *guest, l *link, m channel.Message) {
	erased := l.erased
	use := Use{Path: PathIncoming, Partial: m.Partial, Still: func() bool { return !erased.Load() }}
	sent := b.post(g, use, "channels/incoming", map[string]any{"messages": []incoming{message(m, g.s.Host())}}, func(_ json.RawMessage, err error) {
		if err != nil {
			b.stats.lost.Add(1) // the transcript still has it
		}
	})
	if !sent {
		b.stats.lost.Add(1)
		return
	}
	b.stats.incoming.Add(1)
}

// Counts are what a board did so far.
type Counts struct {
	Connections, Channels                                  int
	Published, Refused, Incoming, Lost, Chunks, ChunksLost int64
}

// Counts gives them.
func (b *Board) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := Counts{Connections: len(b.guests), Published: b.stats.published.Load(), Refused: b.stats.refused.Load(), Incoming: b.stats.incoming.Load(),
		Lost: b.stats.lost.Load(), Chunks: b.stats.chunks.Load(), ChunksLost: b.stats.chunksLost.Load()}
	for _, g := range b.guests {
		c.Channels += len(g.links)
	}
	return c
}
