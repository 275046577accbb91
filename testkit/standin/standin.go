// Package standin plays a meeting platform for tests and development: its pages with every state they can be in, people
// with real sound, a script, and mutations of the page.
package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"parley/room"
)

// Options say how a stand-in behaves. The zero value is one on a free loopback port with nobody in it.
type Options struct {
	// Listen is host and port of the pages; empty means 127.0.0.1:0. Only loopback hosts are taken.
	Listen string
	// Scenario is what happens; the zero value is a lobby that nobody opens.
	Scenario Scenario
	// Lang is the page's language whatever is asked for, unless the scenario has one.
	Lang string
	// Mutation changes the page; the zero value leaves it as it is.
	Mutation Mutation
	// Log takes what happens, without names and texts. Nil means slog.Default.
	Log *slog.Logger
}

// ErrClosed is returned by calls to a stand-in that was closed.
var ErrClosed = errors.New("stand-in: closed")

// Server is one stand-in with one meeting. Its methods may be called at once from anywhere.
type Server struct {
	kind Kind
	opts Options
	l    net.Listener
	http *http.Server
	room *room.Server
	cast *cast

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	// inbox takes what happens: 256 may wait. A page that does not get in waits; the cast's reports wait as well.
	inbox chan message

	mu    sync.Mutex
	state State
	pages map[int]*page
	next  int
	news  chan struct{} // closed and replaced with every change
}

// message is an event and who wants to know what came of it.
type message struct {
	event event
	reply chan error
}

// New starts a stand-in. Close ends it.
func New(k Kind, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Scenario.Lang == "" {
		o.Scenario.Lang = o.Lang
	}
	if o.Mutation.Lang != "" {
		o.Scenario.Lang = o.Mutation.Lang
	}
	if err := o.Scenario.check(k); err != nil {
		return nil, fmt.Errorf("scenario %q:\n%w", o.Scenario.Name, err)
	}
	addr, err := net.ResolveTCPAddr("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("stand-in: listen address %q: %w", o.Listen, err)
	}
	if !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("stand-in: %q is not on a loopback address: a copy of somebody's page is for this machine alone", o.Listen)
	}
	s := &Server{kind: k, opts: o, inbox: make(chan message, 256), pages: map[int]*page{}, news: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if s.l, err = net.ListenTCP("tcp", addr); err != nil {
		s.cancel()
		return nil, fmt.Errorf("stand-in: %w", err)
	}
	if s.room, err = room.New(room.Options{Listen: "127.0.0.1:0", Log: o.Log}); err != nil {
		s.cancel()
		return nil, errors.Join(err, s.l.Close())
	}
	// People enter by the room's own port, pages by ours: the room answers on both.
	s.work.Go(func() { _ = s.room.Serve(s.ctx) })
	if s.cast, err = newCast(s.ctx, s.room.Link(roomID), s.post, o.Log); err != nil {
		s.cancel()
		s.work.Wait()
		return nil, errors.Join(err, s.l.Close())
	}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 32 << 10}
	s.work.Go(func() { _ = s.http.Serve(s.l) })
	s.work.Go(s.loop)
	return s, nil
}

// Origin is what PARLEY_PLATFORM_ORIGINS names.
func (s *Server) Origin() string { return "http://" + s.l.Addr().String() }

// Link is the meeting's address.
func (s *Server) Link() string { return s.Origin() + or(s.opts.Scenario.Link, s.kind.Link) }

// Setting is the value of PARLEY_PLATFORM_ORIGINS that makes the platform's module work here.
func (s *Server) Setting() string { return s.kind.Name + "=" + s.Origin() }

// Close ends everything and waits for it.
func (s *Server) Close() error {
	s.cancel()
	err := s.http.Close()
	s.work.Wait()
	s.cast.close()
	return err
}

// Serve waits until the context ends, then closes.
func (s *Server) Serve(ctx context.Context) error {
	<-ctx.Done()
	return s.Close()
}

// post hands an event to the loop and waits for room in its queue, not for what comes of it.
func (s *Server) post(e event) {
	select {
	case s.inbox <- message{event: e}:
	case <-s.ctx.Done():
	}
}

// ask hands an event over and waits for what came of it.
func (s *Server) ask(ctx context.Context, e event) error {
	m := message{e, make(chan error, 1)}
	select {
	case s.inbox <- m:
	case <-s.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-m.reply:
		return err
	case <-s.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Do has something happen. The error says what is wrong with the action, or why it cannot be done now.
func (s *Server) Do(ctx context.Context, a Action) error {
	if err := a.check(s.kind, nil); err != nil {
		return err
	}
	return s.ask(ctx, did{a})
}

// State is the truth now.
func (s *Server) State() State {
	s.mu.Lock()
	st := s.state
	st.Visitors = slices.Clone(st.Visitors)
	s.mu.Unlock()
	for i := range st.Visitors {
		v := &st.Visitors[i]
		v.Heard, v.PeakDB = s.cast.of(fmt.Sprintf("v%d", v.ID))
	}
	return st
}

// Await waits until the truth is as ok wants it. It looks after every change, and every 200 ms for what is heard.
func (s *Server) Await(ctx context.Context, ok func(State) bool) (State, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		news := s.news
		s.mu.Unlock()
		if st := s.State(); ok(st) {
			return st, nil
		}
		select {
		case <-news:
		case <-tick.C:
		case <-ctx.Done():
			return s.State(), context.Cause(ctx)
		case <-s.ctx.Done():
			return s.State(), ErrClosed
		}
	}
}

// Sound is the last two minutes of what was heard of a visitor, 48 kHz mono; zero is the newest.
func (s *Server) Sound(visitor int) []int16 {
	if visitor == 0 {
		v, ok := s.State().Newest()
		if !ok {
			return nil
		}
		visitor = v.ID
	}
	return s.cast.sound(fmt.Sprintf("v%d", visitor))
}

// loop owns the play.
func (s *Server) loop() {
	p := newPlay(s.kind, s.opts.Scenario)
	s.perform(p.begin())
	s.show(p)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := time.Hour
		if d := p.deadline(); !d.IsZero() {
			wait = max(0, time.Until(d))
		}
		timer.Reset(wait)
		var out []effect
		var err error
		var reply chan error
		select {
		case m := <-s.inbox:
			out, err = p.step(time.Now(), m.event)
			reply = m.reply
		case <-timer.C:
			out, err = p.tick(time.Now())
		case <-s.ctx.Done():
			return
		}
		if err != nil && reply == nil {
			s.opts.Log.Warn("a step of the scenario was not possible", "err", err)
		}
		s.perform(out)
		s.show(p)
		if reply != nil {
			reply <- err
		}
	}
}

func (s *Server) perform(effects []effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case enter:
			s.cast.enter(e)
		case exit:
			s.cast.exit(e)
		case hush:
			s.cast.hush(e)
		case speak:
			s.cast.speak(e)
		case command:
			s.mu.Lock()
			pg := s.pages[e.visitor]
			s.mu.Unlock()
			if pg != nil {
				pg.send(map[string]any{"type": e.do, "ms": e.ms})
			}
		}
	}
}

// show tells every page what it shows now, if that changed, and everybody else that something did.
func (s *Server) show(p *play) {
	st := p.state()
	s.mu.Lock()
	s.state = st
	close(s.news)
	s.news = make(chan struct{})
	pages := make(map[int]*page, len(s.pages))
	for id, pg := range s.pages {
		pages[id] = pg
	}
	s.mu.Unlock()
	for _, v := range p.visitors {
		pg := pages[v.id]
		if pg == nil {
			continue
		}
		raw, err := json.Marshal(p.view(v))
		if err != nil {
			s.opts.Log.Error("a view cannot be written", "err", err)
			continue
		}
		pg.show(raw)
	}
}
