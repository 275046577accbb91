package guest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/webrtc/v4"

	"parley/room/rtc"
	"parley/room/wire"
)

// How a guest keeps its connection.
const (
	dialWithin = 10 * time.Second
	pingEvery  = 4 * time.Second
	pongWithin = 6 * time.Second
	retryFirst = 250 * time.Millisecond
	retryLast  = 2 * time.Second
)

// attend works the connection, and makes it anew when it is lost, until the guest is out. It gives the reason.
func (g *Guest) attend() wire.Reason {
	var lostAt time.Time
	pause := retryFirst
	for {
		reason, worked := g.connection()
		switch {
		case reason != "":
			return reason
		case g.isLeaving():
			return wire.ReasonLeft
		case g.token == "":
			return wire.ReasonUnreachable
		}
		if worked || lostAt.IsZero() {
			lostAt, pause = time.Now(), retryFirst
			g.tell(Event{Kind: Lost})
		}
		if time.Since(lostAt) > g.hold {
			return wire.ReasonLost
		}
		select {
		case <-g.ctx.Done():
			return g.because()
		case <-time.After(pause):
			pause = min(2*pause, retryLast)
		}
	}
}

func (g *Guest) isLeaving() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leaving
}

// because is why the guest's context ended.
func (g *Guest) because() wire.Reason {
	if out, ok := errors.AsType[*Out](context.Cause(g.ctx)); ok {
		return out.Reason
	}
	return wire.ReasonLeft
}

// connection works one connection to its end. The reason is empty when it was lost; worked says that it had a seat.
func (g *Guest) connection() (reason wire.Reason, worked bool) {
	ctx, cancel := context.WithCancel(g.ctx)
	defer cancel()
	dial, stop := context.WithTimeout(ctx, dialWithin)
	conn, _, err := websocket.Dial(dial, g.where.String(), nil)
	stop()
	if err != nil {
		return "", false
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20) // a welcome with all the chat is larger than what a participant may send
	g.mu.Lock()
	join := wire.Join{Name: g.opts.Name, Muted: g.muted, Key: g.key, Token: g.token, Seen: g.seen}
	g.mu.Unlock()
	if send(ctx, conn, join) != nil {
		return "", false
	}
	g.mu.Lock()
	g.conn = conn
	leaving := g.leaving
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.conn = nil
		g.mu.Unlock()
	}()
	if leaving { // said while there was no connection
		_ = send(ctx, conn, wire.Leave{})
	}
	watched := make(chan struct{})
	go func() { defer close(watched); watch(ctx, conn) }()
	defer func() { cancel(); <-watched }()
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			if g.ctx.Err() != nil {
				return g.because(), worked
			}
			return "", worked
		}
		n, err := wire.ParseNotice(data)
		if err != nil {
			return wire.ReasonProtocol, worked
		}
		if reason := g.heed(n); reason != "" {
			return reason, worked
		}
		worked = worked || g.token != ""
	}
}

// watch pings, and cuts the connection when no answer comes.
func watch(ctx context.Context, conn *websocket.Conn) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		pong, cancel := context.WithTimeout(ctx, pongWithin)
		err := conn.Ping(pong)
		cancel()
		if err != nil {
			_ = conn.CloseNow()
			return
		}
	}
}

// heed does what a notice asks for and tells of it. The reason is set when the guest is out.
func (g *Guest) heed(n wire.Notice) wire.Reason {
	switch n := n.(type) {
	case wire.Waiting:
		g.token, g.hold = n.Token, time.Duration(n.Hold)*time.Millisecond
		g.tell(Event{Kind: Waiting, Room: n.Room})
	case wire.Welcome:
		g.welcome(n)
	case wire.Refused:
		return n.Reason
	case wire.Ended:
		return n.Reason
	case wire.Offer:
		if err := g.accept(n); err != nil {
			g.opts.Log.Debug("a media offer was not accepted", "media", n.Media)
			_ = g.ask(wire.Restart{Media: n.Media}) // a lost connection shows where it is read
		}
	case wire.Here:
		g.show(n.Person)
	case wire.Gone:
		g.tell(Event{Kind: Left, ID: n.ID, Name: g.name(n.ID), Reason: n.Reason})
		g.drop(n.ID)
	case wire.Speaking:
		g.mu.Lock()
		p := g.people[n.ID]
		p.Speaking = n.On
		if p.ID != "" {
			g.people[n.ID] = p
		}
		g.mu.Unlock()
		g.tell(Event{Kind: Speaking, ID: n.ID, Name: p.Name, On: &n.On})
	case wire.Knock:
		g.tell(Event{Kind: Knock, ID: n.Waiter.ID, Name: n.Waiter.Name})
	case wire.Chat:
		g.chat(n)
	case wire.Problem:
		g.tell(Event{Kind: Problem, Reason: n.Code})
	}
	return ""
}

func (g *Guest) welcome(n wire.Welcome) {
	back := false
	g.token, g.hold = n.Token, time.Duration(n.Hold)*time.Millisecond
	g.mu.Lock()
	g.self = n.Self
	clear(g.people)
	g.order = g.order[:0]
	for _, p := range n.People {
		g.people[p.ID] = p
		g.order = append(g.order, p.ID)
	}
	people := g.peopleLocked()
	select {
	case <-g.admitted:
		back = true
	default:
		close(g.admitted)
	}
	g.mu.Unlock()
	kind := Joined
	if back {
		kind = Back
	}
	g.tell(Event{Kind: kind, ID: n.Self, Room: n.Room})
	g.tell(Event{Kind: People, People: people})
	for _, w := range n.Waiters {
		g.tell(Event{Kind: Knock, ID: w.ID, Name: w.Name})
	}
	for _, c := range n.Chat {
		g.chat(c)
	}
}

func (g *Guest) chat(c wire.Chat) {
	if c.Seq <= g.seen {
		return
	}
	g.seen = c.Seq
	g.tell(Event{Kind: Chat, Seq: c.Seq, ID: c.From, Name: c.Name, Text: c.Text, Own: c.From == g.Self(), At: c.Time()})
}

// accept answers an offer, with a new connection if the room has begun one.
func (g *Guest) accept(n wire.Offer) error {
	if n.Media != g.media || g.link == nil {
		g.closeMedia()
		if err := g.openMedia(n.Media); err != nil {
			return err
		}
	}
	pc := g.link.pc
	if err := pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: n.SDP}); err != nil {
		return err
	}
	a, err := pc.CreateAnswer(nil)
	if err != nil {
		return err
	}
	if err := pc.SetLocalDescription(a); err != nil {
		return err
	}
	for _, s := range pc.GetSenders() {
		if s.Track() != nil {
			g.mouth.extension(rtc.LevelID(s.GetParameters().RTPParameters))
		}
	}
	// The room reaches us where our connectivity checks come from, so the answer needs no addresses.
	return g.ask(wire.Answer{Media: n.Media, N: n.N, SDP: a.SDP})
}

// link is one media connection. Its readers end with it.
type link struct {
	pc *webrtc.PeerConnection

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// run starts a reader, unless the link is closed.
func (l *link) run(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.work.Go(f)
	}
}

func (g *Guest) openMedia(number int) error {
	pc, err := g.api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return err
	}
	sender, err := pc.AddTrack(g.mouth.track)
	if err != nil {
		return errors.Join(err, pc.Close())
	}
	l := &link{pc: pc}
	l.run(func() { // reading makes requests for lost packets heard
		buf := make([]byte, 1500)
		for {
			if _, _, err := sender.Read(buf); err != nil {
				return
			}
		}
	})
	pc.OnTrack(func(t *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		l.run(func() {
			(&ear{track: t, heard: g.hear, deaf: g.rec == nil && g.opts.OnAudio == nil}).listen()
			if g.rec != nil {
				g.rec.forget(t.StreamID())
			}
		})
	})
	pc.OnConnectionStateChange(func(s webrtc.PeerConnectionState) {
		switch s {
		case webrtc.PeerConnectionStateConnected:
			g.mouth.connected(true)
			g.connectedOnce.Do(func() { close(g.connected) })
		case webrtc.PeerConnectionStateFailed:
			_ = g.ask(wire.Restart{Media: number}) // a lost connection shows where it is read
		}
	})
	g.link, g.media = l, number
	return nil
}

func (g *Guest) closeMedia() {
	if g.link == nil {
		return
	}
	g.link.mu.Lock()
	g.link.closed = true
	g.link.mu.Unlock()
	g.mouth.connected(false)
	_ = g.link.pc.GracefulClose() // given up either way
	g.link.work.Wait()
	g.link = nil
}

func (g *Guest) hear(s Sound) {
	g.mu.Lock()
	first := !g.heard[s.Participant]
	g.heard[s.Participant] = true
	name := g.people[s.Participant].Name
	g.mu.Unlock()
	if g.rec != nil {
		g.rec.add(s.Participant, s.Pos, s.PCM, s.At)
	}
	if g.opts.OnAudio != nil {
		g.opts.OnAudio(s)
	}
	if first {
		g.tell(Event{Kind: Heard, ID: s.Participant, Name: name})
	}
}
