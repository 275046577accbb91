package room

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"parley/room/wire"
)

// hallEvent is something that happened to a room: one of the types below.
type hallEvent interface{ hallEvent() }

type (
	// joined is the first message of a connection.
	joined struct {
		socket *socket
		join   wire.Join
	}
	// asked is a later message.
	asked struct {
		conn    connID
		request wire.Request
	}
	// unplugged is the end of a connection.
	unplugged struct{ conn connID }
	// mediaFailed is a media connection that does not work.
	mediaFailed struct {
		seat  string
		media int
	}
	// loudPacket is a sign that somebody speaks.
	loudPacket struct{ seat string }
	// counted asks how many people are in.
	counted struct{ reply chan<- int }
	// nothing makes the hall look whether it is still needed.
	nothing struct{}
	// shutDown ends the room, since the server goes away.
	shutDown struct{}
)

func (joined) hallEvent()      {}
func (asked) hallEvent()       {}
func (unplugged) hallEvent()   {}
func (mediaFailed) hallEvent() {}
func (loudPacket) hallEvent()  {}
func (counted) hallEvent()     {}
func (nothing) hallEvent()     {}
func (shutDown) hallEvent()    {}

// hall is where a meeting takes place: it owns the meeting's state, its connections and its media.
//
// One goroutine, run's, owns everything but refs. A hall lives while somebody holds it (see Server.enter) or its
// meeting has seats.
type hall struct {
	id    string
	media *media
	log   *slog.Logger

	in chan hallEvent
	// done is closed when run has returned; whoever holds the hall never sees that.
	done chan struct{}

	// refs is guarded by the server's lock.
	refs int

	meeting meeting
	sockets map[connID]*socket
	sources map[string]*source
	peers   map[string]*peer
	work    sync.WaitGroup
}

func newHall(id string, o Options, m *media) *hall {
	return &hall{
		id: id, media: m, log: o.Log,
		in: make(chan hallEvent, 256), done: make(chan struct{}),
		meeting: meeting{room: id, rules: o, fresh: freshSeat},
		sockets: map[connID]*socket{}, sources: map[string]*source{}, peers: map[string]*peer{},
	}
}

// post hands an event over and waits for room in the queue. Only who holds the hall may call it.
func (h *hall) post(e hallEvent) { h.in <- e }

// report hands over an event of the media. It waits for nobody: a loud packet that finds the queue full is followed
// by another, and so is the sign of a dead connection, from its participant.
func (h *hall) report(e hallEvent) {
	select {
	case h.in <- e:
	default:
	}
}

// run is the hall's life. retire is asked when the meeting is empty; when it says yes the hall is gone from the
// server and nobody holds it.
func (h *hall) run(retire func() bool) {
	defer close(h.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if h.meeting.empty() && len(h.sockets) == 0 && retire() {
			break
		}
		wait := time.Hour
		if d := h.meeting.deadline(); !d.IsZero() {
			wait = max(0, time.Until(d))
		}
		timer.Reset(wait)
		select {
		case e := <-h.in:
			h.perform(h.step(time.Now(), e))
		case <-timer.C:
		}
		h.perform(h.meeting.tick(time.Now()))
	}
	h.work.Wait()
}

func (h *hall) step(now time.Time, e hallEvent) []effect {
	switch e := e.(type) {
	case joined:
		h.sockets[e.socket.id] = e.socket
		return h.meeting.join(now, e.socket.id, e.join)
	case asked:
		return h.meeting.request(now, e.conn, e.request)
	case unplugged:
		delete(h.sockets, e.conn)
		return h.meeting.lost(now, e.conn)
	case mediaFailed:
		return h.meeting.mediaFailed(now, e.seat, e.media)
	case loudPacket:
		return h.meeting.loud(now, e.seat)
	case counted:
		e.reply <- h.meeting.count(true)
	case shutDown:
		return h.meeting.end(wire.ReasonShutdown)
	}
	return nil
}

// perform does what the meeting decided. Nothing here waits.
func (h *hall) perform(effects []effect) {
	rewire := false
	for _, e := range effects {
		switch e := e.(type) {
		case tell:
			if s := h.sockets[e.conn]; s != nil {
				s.send(e.notice)
			}
		case hang:
			if s := h.sockets[e.conn]; s != nil {
				s.hang(e.reason)
			}
		case hush:
			if s := h.source(e.seat); s != nil {
				s.hush(e.muted)
			}
		case answer:
			if p := h.peers[e.seat]; p != nil {
				p.take(e.Answer)
			}
		case openMedia:
			h.open(e)
			rewire = true
		case closeMedia:
			if p := h.peers[e.seat]; p != nil {
				p.close()
				delete(h.peers, e.seat)
			}
			if e.forget {
				delete(h.sources, e.seat)
				rewire = true
			}
			h.log.Debug("media closed", "seat", e.seat)
		}
	}
	if rewire {
		wants := maps.Clone(h.sources)
		for _, p := range h.peers {
			p.want(wants)
		}
	}
}

// source is the sound of a seat, made when it is first needed.
func (h *hall) source(seat string) *source {
	if s := h.sources[seat]; s != nil {
		return s
	}
	s, err := newSource(seat)
	if err != nil {
		h.log.Error("a seat has no sound", "seat", seat, "err", err)
		return nil
	}
	h.sources[seat] = s
	return s
}

func (h *hall) open(e openMedia) {
	if old := h.peers[e.seat]; old != nil {
		old.close()
		delete(h.peers, e.seat)
	}
	own := h.source(e.seat)
	s := h.sockets[e.conn]
	if own == nil || s == nil {
		return
	}
	p, err := newPeer(h.media, e.seat, e.media, own)
	if err != nil {
		h.log.Error("no media connection", "seat", e.seat, "err", err)
		s.send(wire.Problem{Code: wire.ReasonMedia})
		return
	}
	p.tell, p.report = s.send, h.report
	h.peers[e.seat] = p
	h.work.Go(p.run)
	h.log.Debug("media opened", "seat", e.seat, "media", e.media)
}

// count asks how many are in. Only who holds the hall may call it.
func (h *hall) count(ctx context.Context) int {
	reply := make(chan int, 1)
	h.post(counted{reply})
	select {
	case n := <-reply:
		return n
	case <-ctx.Done():
		return 0
	}
}
