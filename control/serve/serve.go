// Package serve puts the control endpoint's gate behind HTTP on a loopback address.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"parley/control/gate"
	"parley/control/span"
	"parley/control/wire"
)

// Answer is what came of an action.
type Answer struct {
	Reply wire.Reply
	// Release is asked right before the sealed answer leaves, and once more after the seal; nil always lets it go. It
	// must not wait for long.
	Release func() bool
}

// Handle does one action of a genuine caller and says what came of it. It must return soon after ctx ends; a result that
// comes later is dropped. It may be called by several goroutines at once.
type Handle func(ctx context.Context, p wire.Principal, r wire.Request) Answer

// Options of a server; zero fields mean the defaults.
type Options struct {
	Timeout time.Duration    // for one action; wire.ActionTimeout
	Conns   int              // connections at once; 64. One more closes the oldest that never was genuine
	Refused int              // refusals in a minute before a connection is closed; 30
	Running int              // actions of one principal at once, those counted that do not end; 16
	Now     func() time.Time // for proofs, challenges and grants; time.Now
	Log     *slog.Logger     // counts and kinds only; slog.Default
	Spans   *span.Recorder   // nil records nothing
}

// Server is a running endpoint. Its owner calls Close.
type Server struct {
	gate    *gate.Gate
	handle  Handle
	opt     Options
	http    *http.Server
	address string
	done    chan error // what Serve returned

	conns conns
	work  sync.WaitGroup // actions, also those whose caller was answered without them

	mu      sync.Mutex
	running map[*context.CancelCauseFunc]wire.Principal
	closed  bool
	late    int
}

// Causes of an action's end before its time.
var (
	ErrRevoked = errors.New("the grant of this action ended")
	ErrClosed  = errors.New("the endpoint closes")
)

// Start listens on a free port of 127.0.0.1 and serves until Close.
func Start(g *gate.Gate, h Handle, o Options) (*Server, error) {
	if o.Timeout <= 0 {
		o.Timeout = wire.ActionTimeout
	}
	if o.Conns <= 0 {
		o.Conns = 64
	}
	if o.Refused <= 0 {
		o.Refused = 30
	}
	if o.Running <= 0 {
		o.Running = 16
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the control endpoint: %w", err)
	}
	s := &Server{gate: g, handle: h, opt: o, address: l.Addr().String(), done: make(chan error, 1), running: map[*context.CancelCauseFunc]wire.Principal{}}
	s.conns.limit = o.Conns
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), DisableGeneralOptionsHandler: true, ReadHeaderTimeout: 2 * time.Second, ReadTimeout: 5 * time.Second, IdleTimeout: 10 * time.Second,
		WriteTimeout: o.Timeout + 10*time.Second, MaxHeaderBytes: 8 << 10, ConnState: s.conns.state, ConnContext: s.conns.context,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // it would log what strangers sent
	}
	go func() { s.done <- s.http.Serve(l); close(s.done) }()
	return s, nil
}

// Address is host and port, for the connection file.
func (s *Server) Address() string { return s.address }

// Late is how many actions ended after their caller was answered without them.
func (s *Server) Late() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late
}

// Reconcile aborts the work of principals that are not live any more. Call it after each change of grants, and when the
// next one expires. The work of others goes on. live must not call the server.
func (s *Server) Reconcile(live func(wire.Principal) bool) {
	s.gate.Reconcile(s.opt.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	for cancel, p := range s.running {
		if !live(p) {
			(*cancel)(ErrRevoked)
		}
	}
}

// Close refuses everything from now on, aborts what runs, and waits for all of it until ctx ends.
func (s *Server) Close(ctx context.Context) error {
	s.gate.Close()
	s.mu.Lock()
	s.closed = true
	for cancel := range s.running {
		(*cancel)(ErrClosed)
	}
	s.mu.Unlock()
	s.conns.closeStrangers()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	if e := <-s.done; e != nil && !errors.Is(e, http.ErrServerClosed) { // nil: closed before
		err = errors.Join(err, e)
	}
	gone := make(chan struct{})
	go func() { s.work.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-ctx.Done():
		err = errors.Join(err, fmt.Errorf("an action does not end: %w", ctx.Err()))
	}
	return err
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, ok := s.read(w, r)
	if !ok {
		s.refuse(w, r, arrived)
		return
	}
	header := r.Header.Get(wire.ProofHeader)
	switch r.URL.Path {
	case wire.RouteChallenge:
		answer, err := s.gate.Challenge(s.opt.Now(), header, body)
		if err != nil {
			s.refuse(w, r, arrived)
			return
		}
		s.conns.genuine(r.Context())
		s.write(w, answer)
	case wire.RouteAction:
		o, err := s.gate.Action(s.opt.Now(), header, body)
		if err != nil {
			s.refuse(w, r, arrived)
			return
		}
		s.conns.genuine(r.Context())
		trace := s.opt.Spans.Begin()
		trace.Did(span.Challenge, o.Took.Challenge, false)
		trace.Did(span.Decrypt, o.Took.Decrypt, false)
		a := s.act(span.With(r.Context(), trace), o)
		end := trace.Start(span.Encryption)
		answer, err := o.Reply(s.opt.Now, a.Reply, a.Release)
		end(err != nil)
		trace.End(err != nil || !a.Reply.OK())
		if err != nil {
			s.refuse(w, r, arrived)
			return
		}
		s.write(w, answer)
	}
}

// longest is how long the body of a genuine request can be. A longer one is read and thrown away, so that strangers
// cannot make us hold what cannot be genuine.
func longest(route string) int64 {
	if route == wire.RouteChallenge {
		return wire.AskSize
	}
	return wire.MaxAction
}

// read takes the body of what could be a request of ours. Of one that cannot be, nothing is kept.
func (s *Server) read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	from := http.MaxBytesReader(w, r.Body, wire.MaxBody)
	ok := r.Method == http.MethodPost && r.Host == s.address && r.URL.RawQuery == "" &&
		(r.URL.Path == wire.RouteChallenge || r.URL.Path == wire.RouteAction) && gate.Headers(r.Header) == nil
	var body []byte
	var err error
	if ok {
		most := longest(r.URL.Path)
		body, err = io.ReadAll(io.LimitReader(from, most+1))
		ok = err == nil && int64(len(body)) <= most
	}
	if !ok {
		_, _ = io.Copy(io.Discard, from) // too long and cut off are as good as wrong
		return nil, false
	}
	return body, true
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, arrived time.Time) {
	// Also for whoever seems to be gone: a handler that only returned would have answered 200.
	wait := time.NewTimer(time.Until(gate.RefuseAt(arrived, time.Now())))
	defer wait.Stop()
	<-wait.C
	if s.conns.refused(r.Context(), arrived) > s.opt.Refused {
		w.Header().Set("Connection", "close")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(gate.RefusalStatus)
	_, _ = io.WriteString(w, gate.Refusal) // whoever is gone does not need it
}

func (s *Server) write(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(body) // a caller that is gone asks again
}

// act does the action, and answers without it when its time is over.
func (s *Server) act(ctx context.Context, o *gate.Opened) Answer {
	failed := func(c wire.Code) Answer { return Answer{Reply: wire.Reply{Code: c}} }
	if o.Malformed {
		return failed(wire.CodeInvalid)
	}
	ctx, stop := context.WithTimeout(ctx, s.opt.Timeout)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	mine := 0
	for _, p := range s.running {
		if p == o.Principal {
			mine++
		}
	}
	switch {
	case s.closed:
		s.mu.Unlock()
		return failed(wire.CodeFailed)
	case mine >= s.opt.Running:
		s.mu.Unlock()
		return failed(wire.CodeRateLimit)
	}
	s.running[&cancel] = o.Principal
	s.work.Add(1)
	s.mu.Unlock()
	result := make(chan Answer, 1)
	go func() {
		defer s.work.Done()
		a := s.safely(ctx, o)
		s.mu.Lock()
		delete(s.running, &cancel)
		late := ctx.Err() != nil
		if late {
			s.late++
		}
		s.mu.Unlock()
		if late {
			s.opt.Log.Warn("control: an action ended after its caller was answered; its result is dropped", "trace", span.From(ctx).ID())
		}
		result <- a
	}()
	select {
	case a := <-result:
		return a
	case <-ctx.Done():
		return failed(wire.CodeTimeout)
	}
}

// safely does the action; one that panics has failed, and takes nobody else along.
func (s *Server) safely(ctx context.Context, o *gate.Opened) (a Answer) {
	defer func() {
		if recover() != nil { // what it panicked with could hold what a page said
			s.opt.Log.Error("control: an action panicked", "trace", span.From(ctx).ID())
			a = Answer{Reply: wire.Reply{Code: wire.CodeFailed}}
		}
	}()
	return s.handle(ctx, o.Principal, o.Request)
}
