package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"parley/speech"
	"parley/speech/segment"
	"parley/speech/wire"
)

// Options of a server. Listener and Load are needed.
type Options struct {
	// Listener accepts the clients; the server closes it.
	Listener net.Listener
	// Load gives the models to hear with. An error that is Deaf leaves the process to its voice, and Load is called
	// again when somebody wants to be heard later; any other error of the first call ends the process.
	Load func(ctx context.Context) (*Models, error)
	// LoadVoice gives the voice when somebody first needs it; nil means that there is none.
	LoadVoice func(ctx context.Context) (Voice, error)
	// Voices lists the voices without loading anything.
	Voices func() []speech.Voice
	// Sounds keeps the sound of common clauses; nil means: in memory only.
	Sounds *Sounds
	// IdleAfter ends the process this long after its last client; zero means 5 s.
	IdleAfter time.Duration
	// MaxStreams and MaxClips bound what runs at once; zero means 64 and 32.
	MaxStreams, MaxClips int
	// MaxRSS ends the process when it holds more memory, in bytes: clients start a new one and lose nothing. Zero
	// means that it may take what it likes.
	MaxRSS int64
	// Stuck is called when a model does not answer for minutes; nil means that nothing happens.
	Stuck func(what string)
	Log   *slog.Logger
}

// Server is the process. Run it once.
type Server struct {
	o     Options
	log   *slog.Logger
	began time.Time
	lane  *lane
	voice *voice
	judge sync.Mutex // the end-of-turn model, one at a time

	mu      sync.Mutex
	loaded  chan struct{} // closed when the models, or the last try to load them, are there
	loadErr error         // valid after loaded
	tried   time.Time     // when the last try ended
	again   chan struct{} // another try is wanted

	clients, streams, clips atomic.Int64
	coming                  atomic.Int64  // connections that have not said yet what they want
	said                    chan struct{} // one of them has
	change                  chan struct{} // a client came or went
	lag, worst              atomic.Int64  // ms
	skipped                 atomic.Int64  // partials not even asked for
	conns                   sync.WaitGroup
}

// New makes a server.
func New(o Options) *Server {
	if o.IdleAfter == 0 {
		o.IdleAfter = 5 * time.Second
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = 64
	}
	if o.MaxClips == 0 {
		o.MaxClips = 32
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Stuck == nil {
		o.Stuck = func(string) {}
	}
	if o.Sounds == nil {
		o.Sounds = NewSounds("")
	}
	s := &Server{o: o, log: o.Log, began: time.Now(), loaded: make(chan struct{}), again: make(chan struct{}, 1), change: make(chan struct{}, 1), said: make(chan struct{}, 1)}
	s.voice = newVoice(o)
	return s
}

// Run serves until nobody has needed the process for a while (nil), ctx ends (nil), or the models cannot be loaded.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.conns.Wait()
	defer cancel()
	defer s.o.Listener.Close()

	loaded := s.loaded
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	workers.Go(func() {
		for !s.load(ctx) {
			select {
			case <-s.again:
			case <-ctx.Done():
				return
			}
		}
		s.lane.run(ctx)
	})
	workers.Go(func() { s.voice.run(ctx) })
	accepted := make(chan error, 1)
	workers.Go(func() { accepted <- s.accept(ctx) })
	defer s.o.Listener.Close()

	idle := time.NewTimer(s.o.IdleAfter)
	defer idle.Stop()
	weigh := time.NewTicker(weighEvery)
	defer weigh.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-accepted:
			if err == nil {
				return nil
			}
			return fmt.Errorf("speech: accept: %w", err)
		case <-loaded:
			loaded = nil
			s.mu.Lock()
			err := s.loadErr
			s.mu.Unlock()
			if err == nil {
				continue
			}
			if deaf := (Deaf{}); errors.As(err, &deaf) {
				s.log.Warn("it speaks and does not hear", "err", err)
				continue
			}
			s.o.Listener.Close()
			s.lastWords(ctx)
			return err
		case <-s.change:
			idle.Reset(s.o.IdleAfter)
		case <-weigh.C:
			if held := rss(); s.o.MaxRSS > 0 && held > s.o.MaxRSS {
				return fmt.Errorf("%w: %d MiB", ErrMemory, held>>20)
			}
		case <-idle.C:
			if s.clients.Load() == 0 {
				s.log.Info("nobody left")
				return nil
			}
			// A client that came meanwhile has signalled a change.
		}
	}
}

// ErrMemory ends a process that grew beyond its bound.
var ErrMemory = errors.New("speech: the process holds too much memory and is started anew")

// weighEvery is how often the memory is looked at.
const weighEvery = 20 * time.Second

// lastWords waits until the clients that want something, or have only come to say what, have heard why they do not get it.
func (s *Server) lastWords(ctx context.Context) {
	most := time.NewTimer(time.Second)
	defer most.Stop()
	for s.clients.Load()+s.coming.Load() > 0 {
		select {
		case <-s.said:
		case <-s.change:
		case <-most.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Streams is how many streams it hears.
func (s *Server) Streams() int { return int(s.streams.Load()) }

// Deaf is an error of Load with which the voice still works.
type Deaf struct{ Err error }

func (d Deaf) Error() string { return d.Err.Error() }
func (d Deaf) Unwrap() error { return d.Err }

// load tries once, and tells whether there are models now.
func (s *Server) load(ctx context.Context) bool {
	began := time.Now()
	m, err := s.o.Load(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(s.loaded)
	s.loadErr, s.tried = err, time.Now()
	if err != nil {
		return false
	}
	s.lane = newLane(m, func() { s.o.Stuck("the recogniser") })
	s.log.Info("models loaded", "after", time.Since(began).Round(time.Millisecond))
	return true
}

// retryLoad spaces the tries to load models that were missing: each may have to read them all.
const retryLoad = 2 * time.Second

// ready waits for the models, which may have been repaired since the last look at them.
func (s *Server) ready(ctx context.Context) error {
	s.mu.Lock()
	if deaf := (Deaf{}); errors.As(s.loadErr, &deaf) && time.Since(s.tried) >= retryLoad {
		s.loaded, s.loadErr = make(chan struct{}), nil
		signal(s.again)
	}
	loaded := s.loaded
	s.mu.Unlock()
	select {
	case <-loaded:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loadErr != nil {
		return &speech.Error{Kind: speech.KindUnavailable, Op: "load", Err: s.loadErr}
	}
	return nil
}

func (s *Server) accept(ctx context.Context) error {
	for {
		conn, err := s.o.Listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		s.coming.Add(1)
		s.conns.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			s.serve(ctx, &client{conn: conn, r: wire.NewReader(conn)})
		})
	}
}

// helloTimeout is how long a connection may say nothing before it says what it wants.
const helloTimeout = 10 * time.Second

// serve is one connection.
func (s *Server) serve(ctx context.Context, c *client) {
	known := sync.OnceFunc(func() {
		s.coming.Add(-1)
		select {
		case s.said <- struct{}{}:
		default:
		}
	})
	defer known()
	if err := c.conn.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
		return
	}
	typ, body, err := c.r.Next()
	if err != nil {
		return
	}
	hello, err := wire.Parse[wire.Hello](body)
	if typ != wire.TypeHello || err != nil {
		c.fault(speech.KindInternal, "this is the speech process, and the first frame was no greeting")
		return
	}
	c.label = hello.Label
	if err := c.send(wire.TypeReady, wire.Ready{Version: wire.Version, PID: os.Getpid()}); err != nil {
		return
	}
	for {
		typ, body, err := c.r.Next()
		if err != nil {
			return
		}
		switch typ {
		case wire.TypeAsk:
			known() // it looks, and may stay for long
			if err := c.conn.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
				return
			}
			if err := c.send(wire.TypeState, s.state()); err != nil {
				return
			}
		case wire.TypeListen:
			listen, err := wire.Parse[wire.Listen](body)
			if err != nil {
				c.fault(speech.KindInternal, err.Error())
				return
			}
			s.enter(c, known, &s.streams, s.o.MaxStreams, errTooMany, func() error { return s.listen(ctx, c, listen) })
			return
		case wire.TypeSay:
			say, err := wire.Parse[wire.Say](body)
			if err != nil {
				c.fault(speech.KindInternal, err.Error())
				return
			}
			s.enter(c, known, &s.clips, s.o.MaxClips, errors.New("too many texts at once"), func() error { return s.say(ctx, c, say) })
			return
		}
	}
}

// enter counts a client while it is served, and tells it the error with which that ends.
func (s *Server) enter(c *client, known func(), count *atomic.Int64, most int, tooMany error, serve func() error) {
	s.clients.Add(1)
	known()
	s.changed()
	defer s.changed()
	defer s.clients.Add(-1)
	defer count.Add(-1)
	if count.Add(1) > int64(most) {
		c.fault(speech.KindBusy, tooMany.Error())
		return
	}
	if c.conn.SetReadDeadline(time.Time{}) != nil {
		return
	}
	err := serve()
	var typed *speech.Error
	switch {
	case errors.As(err, &typed):
		c.fault(typed.Kind, typed.Err.Error())
	case err != nil && !over(err):
		s.log.Warn("client ended", "stream", c.label, "err", err)
	}
}

// over tells the ordinary ends of a connection.
func over(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

func (s *Server) changed() {
	select {
	case s.change <- struct{}{}:
	default:
	}
}

// listen serves a stream.
func (s *Server) listen(ctx context.Context, c *client, o wire.Listen) error {
	if o.From < 0 {
		return &speech.Error{Kind: speech.KindInput, Op: "listen", Err: fmt.Errorf("position %d", o.From)}
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	m := s.lane.models
	o.Lang = primary(o.Lang)
	if o.Lang != "" && m.Knows != nil && !m.Knows(o.Lang) {
		what := "the recogniser on this machine does not know the language %q: leave it out to have it detected"
		if m.Large == nil {
			what = "the recogniser on this machine knows English only, not %q: it runs with its small model"
		}
		return &speech.Error{Kind: speech.KindInput, Op: "listen", Err: fmt.Errorf(what, o.Lang)}
	}
	if err := c.sign(wire.TypeAccepted); err != nil {
		return err
	}
	st := newStream(s, c, o, m)
	ctx, cancel := context.WithCancelCause(ctx)
	var reader sync.WaitGroup
	reader.Go(func() { cancel(st.read(ctx, c)) })
	err := st.run(ctx)
	cancel(err)
	// The reader waits for the client: it ends when the client has heard why, or with the connection.
	var typed *speech.Error
	if errors.As(err, &typed) {
		c.fault(typed.Kind, typed.Err.Error())
		err = nil
	}
	c.conn.Close()
	reader.Wait()
	return err
}

// primary is the first part of a language tag: "en" of "en-GB".
func primary(tag string) string {
	tag, _, _ = strings.Cut(strings.ToLower(tag), "-")
	tag, _, _ = strings.Cut(tag, "_")
	return tag
}

// read feeds the stream until the client is gone.
func (st *stream) read(ctx context.Context, c *client) error {
	for {
		typ, body, err := c.r.Next()
		if err != nil {
			return err
		}
		var x input
		switch typ {
		case wire.TypeAudio:
			if x.pos, x.pcm, err = wire.ParseAudio(body); err != nil {
				return err
			}
		case wire.TypeFlush:
			f, err := wire.Parse[wire.Flush](body)
			if err != nil {
				return err
			}
			x.flush = &f
		default:
			continue
		}
		select {
		case st.in <- x:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// noteLag remembers how long finals take.
func (s *Server) noteLag(lag time.Duration) {
	v := lag.Milliseconds()
	s.lag.Store(v)
	for {
		worst := s.worst.Load()
		if v <= worst || s.worst.CompareAndSwap(worst, v) {
			return
		}
	}
}

// state says how the process fares.
func (s *Server) state() wire.State {
	st := wire.State{
		Version: wire.Version, PID: os.Getpid(), UptimeMS: time.Since(s.began).Milliseconds(),
		Hear: wire.Load{State: "loading"}, RSS: rss(), CPUMillis: cpu().Milliseconds(),
		Clients: int(s.clients.Load()), Streams: int(s.streams.Load()), Clips: int(s.clips.Load()),
		LagMS: s.lag.Load(), WorstMS: s.worst.Load(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.loaded:
		if s.loadErr != nil {
			st.Hear = wire.Load{State: "failed", Text: s.loadErr.Error()}
			break
		}
		st.Hear = wire.Load{State: "ready"}
		st.Weak = s.lane.models.Large == nil
		st.Notes = append(st.Notes, s.lane.models.Notes...)
		waiting, ran, dropped := s.lane.counts()
		st.Queued, st.Done, st.Dropped = counts(waiting), counts(ran), counts(dropped)
		spent := s.lane.used()
		st.SpentMS = wire.Counts{
			Partials: spent[segment.Partial].Milliseconds(), Drafts: spent[segment.Draft].Milliseconds(), Finals: spent[segment.Final].Milliseconds(),
		}
		st.Dropped.Partials += s.skipped.Load()
	default:
	}
	s.voice.describe(&st)
	return st
}

func counts(n [segment.Final + 1]int64) wire.Counts {
	return wire.Counts{Partials: n[segment.Partial], Drafts: n[segment.Draft], Finals: n[segment.Final]}
}
