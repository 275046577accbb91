package mcpl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Codes of JSON-RPC and MCPL errors.
const (
	CodeInvalidParams    = -32602
	CodeMethodNotFound   = -32601
	CodeInternal         = -32603
	CodeSetNotEnabled    = -32001
	CodeCapabilityDenied = -32002
	CodeUnknownSet       = -32003
	CodeUnknownChannel   = -32023
	CodeOpenFailed       = -32024
)

// Error is an error object of JSON-RPC.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error says what the other side said.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Denied is the answer to something that the grant does not cover.
func Denied(path string) *Error {
	return &Error{Code: CodeCapabilityDenied, Message: "Capability denied", Data: json.RawMessage(fmt.Sprintf(`{"capability":%q}`, path))}
}

// Errors of calls to the host that brought no answer.
var (
	// ErrNotGranted says that the host does not let us, or not any more.
	ErrNotGranted = errors.New("the host does not grant this")
	// ErrClosed says that the connection ended, with or without having carried the message.
	ErrClosed = errors.New("the connection to the host ended")
	// ErrBusy says that the host leaves too many requests unanswered.
	ErrBusy = errors.New("too many requests wait for the host's answer")
)

// IDPrefix begins the ids of our own requests, which keeps them apart from those of the MCP library.
const IDPrefix = "x-"

// fallbackAfter is how long an old host has to send a policy after all.
const fallbackAfter = 20 * time.Second

// maxPending bounds our unanswered requests to one host.
const maxPending = 256

// Outgoing is a message on its way to the host.
type Outgoing struct {
	Data []byte
	// Partial messages are the first to be dropped when the host does not keep up.
	Partial bool
	// Still tells, right before the message is written, whether it may be sent; nil: always. A grant may have
	// been narrowed while it waited.
	Still func() bool
	// Dropped is called instead of writing it; nil: nobody minds.
	Dropped func()
}

// Handler answers a host's request, or takes its notification (the result is then dropped). It runs in a
// goroutine of its own.
type Handler func(ctx context.Context, s *Session, params json.RawMessage) (any, *Error)

// Options make sessions.
type Options struct {
	Manifest Manifest
	// Handlers serve further methods, such as channels/publish, each behind its capability path.
	Handlers map[string]Method
	// NoFallback gives nothing to hosts older than 0.5, which cannot send a policy.
	NoFallback bool
	// FallbackAfter is how long an old host has to send its policy after all; zero: 20 s.
	FallbackAfter time.Duration
}

// Method is a method of a host's with what guards it.
type Method struct {
	// Path is the capability that must be granted; empty: none.
	Path   string
	Handle Handler
	// InOrder runs the handler on the reading goroutine: it must not wait for anything.
	InOrder bool
	// Set is the feature set that must be switched on as well; empty: none.
	Set string
	// Start stands in for Handle where the answer takes time and the order in which requests arrive counts: it runs
	// on the reading goroutine, must not wait, and sees to it that reply is called once, whenever that is.
	Start func(s *Session, params json.RawMessage, reply func(any, *Error))
}

// Session is MCPL on one connection. Its methods may be called from any goroutine and never wait for the
// network, Call apart.
type Session struct {
	o       Options
	enqueue func(Outgoing) error
	changed func()

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu          sync.Mutex
	host        *Host
	initialized bool
	policy      bool // the host sent a policy, in whichever form
	grant       Grant
	next        int64
	pending     map[string]func(answer) // each is called once, without the lock
	timer       *time.Timer
	closed      bool
}

type answer struct {
	result json.RawMessage
	err    error
}

// NewSession makes the session of a connection. Enqueue puts a message into the connection's queue, in
// order, and never waits. Changed is called, without locks held, after the grant changed and the receipt is
// in the queue.
func NewSession(o Options, enqueue func(Outgoing) error, changed func()) *Session {
	s := &Session{o: o, enqueue: enqueue, changed: changed, pending: map[string]func(answer){}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Offer notes what the host announced at initialize. Without it the connection is plain MCP.
func (s *Session) Offer(h Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host == nil {
		s.host = &h
	}
}

// Offered tells whether the host speaks MCPL.
func (s *Session) Offered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.host != nil
}

// Host is what it announced; the zero value before Offer.
func (s *Session) Host() Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host == nil {
		return Host{}
	}
	return *s.host
}

// Initialized begins the wait for the policy of an old host.
func (s *Session) Initialized() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initialized = true
	if s.host == nil || s.closed || s.timer != nil || s.o.NoFallback || s.host.SendsPolicy() {
		return
	}
	s.timer = time.AfterFunc(cmp.Or(s.o.FallbackAfter, fallbackAfter), func() {
		s.mu.Lock()
		if s.closed || s.policy {
			s.mu.Unlock()
			return
		}
		s.policy, s.grant = true, s.o.Manifest.fallback(*s.host)
		s.mu.Unlock()
		s.changed()
	})
}

// Grant is the one in force.
func (s *Session) Grant() Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grant
}

// Usable tells whether a feature set may send with a capability now.
func (s *Session) Usable(set, path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usable(set, path)
}

func (s *Session) usable(set, path string) bool {
	return !s.closed && s.initialized && s.grant.Has(path) && (set == "" || s.grant.Enabled(set))
}

// Ours tells whether a method belongs to MCPL rather than to MCP.
func Ours(method string) bool {
	branch, _, ok := strings.Cut(method, "/")
	if !ok {
		return false
	}
	switch branch {
	case "featureSets", "channels", "push", "mcpl", "inference", "context", "model", "state", "scope", "branches":
		return true
	}
	return method == "tools/lifecycle" || method == "tools/observe"
}

// Receive takes a message of the host whose method is Ours. An empty id is a notification. It does not wait.
func (s *Session) Receive(id json.RawMessage, method string, params json.RawMessage) {
	if method == "featureSets/update" {
		s.policyUpdate(id, params)
		return
	}
	m, ok := s.o.Handlers[method]
	switch {
	case !ok:
		s.answer(id, nil, &Error{Code: CodeMethodNotFound, Message: "Method not found"})
	case m.Path != "" && !s.Usable(m.Set, m.Path):
		s.answer(id, nil, Denied(m.Path))
	case m.Start != nil:
		m.Start(s, params, func(result any, e *Error) { s.answer(id, result, e) })
	case m.InOrder:
		result, e := m.Handle(s.ctx, s, params)
		s.answer(id, result, e)
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			return
		}
		s.work.Go(func() {
			result, e := m.Handle(s.ctx, s, params)
			s.answer(id, result, e)
		})
	}
}

// policyUpdate applies a policy. The receipt goes into the queue before anything can use the new grant,
// because both happen under the lock that every privileged message takes.
func (s *Session) policyUpdate(id, params json.RawMessage) {
	u, err := parseUpdate(params)
	if err != nil {
		s.answer(id, nil, &Error{Code: CodeInvalidParams, Message: err.Error()})
		return
	}
	s.mu.Lock()
	switch {
	case s.host == nil || s.closed:
		s.mu.Unlock()
		return
	case len(id) > 0:
		s.policy = true
		s.grant = u.grant()
		s.write(id, s.o.Manifest.receipt(s.grant), nil)
	case !s.host.SendsPolicy() && !s.o.NoFallback:
		// An old host has this form only. Its lists say what is on; the capabilities are what it announced.
		s.policy = true
		s.grant = s.o.Manifest.fallback(*s.host).narrow(u.disabled)
		if u.enabled != nil {
			s.grant.selected, s.grant.enabled = true, *u.enabled
		}
	default:
		s.grant = s.grant.narrow(u.disabled)
	}
	s.mu.Unlock()
	s.changed()
}

func (s *Session) answer(id json.RawMessage, result any, e *Error) {
	if len(id) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(id, result, e)
}

// write queues a response, with the lock held.
func (s *Session) write(id json.RawMessage, result any, e *Error) {
	msg := map[string]any{"jsonrpc": "2.0", "id": id}
	if e != nil {
		msg["error"] = e
	} else {
		msg["result"] = result
	}
	data, err := json.Marshal(msg)
	if err != nil {
		data, _ = json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": &Error{Code: -32603, Message: "the answer could not be written"}})
	}
	_ = s.enqueue(Outgoing{Data: data}) // it fails only when the connection is over
}

// Response takes a response to a request of ours. It tells whether the id is ours.
func (s *Session) Response(id string, result json.RawMessage, e *Error) bool {
	if !strings.HasPrefix(id, IDPrefix) {
		return false
	}
	a := answer{result: result}
	if e != nil {
		a.err = e
	}
	s.settle(id, a)
	return true
}

func (s *Session) settle(id string, a answer) {
	s.mu.Lock()
	done := s.pending[id]
	delete(s.pending, id)
	s.mu.Unlock()
	if done != nil {
		done(a)
	}
}

// Use says what a message of ours exercises.
type Use struct {
	Set     string // feature set; empty: none
	Path    string // capability
	Partial bool   // unfinished speech: dropped first
	// Still, asked right before the message is written, may withdraw it; nil: nobody does. It takes no lock.
	Still func() bool
}

// Call sends a request and waits for the answer. An *Error is the host's own; ErrNotGranted, ErrBusy and
// ErrClosed are ours.
func (s *Session) Call(ctx context.Context, use Use, method string, params any) (json.RawMessage, error) {
	wait, err := s.Begin(use, method, params)
	if err != nil {
		return nil, err
	}
	return wait(ctx)
}

// Begin queues a request without waiting, so that a caller can keep its messages in order, and gives a
// function that waits for the answer. It has to be called.
func (s *Session) Begin(use Use, method string, params any) (wait func(context.Context) (json.RawMessage, error), err error) {
	reply := make(chan answer, 1)
	id, err := s.send(use, method, params, func(a answer) { reply <- a })
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (json.RawMessage, error) {
		select {
		case a := <-reply:
			return a.result, a.err
		case <-ctx.Done():
			s.settle(id, answer{err: ctx.Err()})
			return nil, ctx.Err()
		}
	}, nil
}

// Post queues a request whose answer is given to then: by the goroutine that reads, before it reads on, or with an
// error of ours when the time is over or the connection is. Then may not wait for anything.
func (s *Session) Post(use Use, method string, params any, within time.Duration, then func(json.RawMessage, error)) error {
	over := make(chan *time.Timer, 1)
	id, err := s.send(use, method, params, func(a answer) {
		(<-over).Stop()
		then(a.result, a.err)
	})
	if err != nil {
		return err
	}
	over <- time.AfterFunc(within, func() { s.settle(id, answer{err: context.DeadlineExceeded}) })
	return nil
}

// Notify sends a notification.
func (s *Session) Notify(use Use, method string, params any) error {
	_, err := s.send(use, method, params, nil)
	return err
}

// send queues a message: a request where done wants its answer.
func (s *Session) send(use Use, method string, params any, done func(answer)) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", ErrClosed
	}
	if !s.usable(use.Set, use.Path) {
		return "", ErrNotGranted
	}
	msg := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	out := Outgoing{Partial: use.Partial, Still: func() bool {
		return s.Usable(use.Set, use.Path) && (use.Still == nil || use.Still())
	}}
	if done != nil {
		if len(s.pending) >= maxPending || use.Partial && len(s.pending) >= maxPending/2 { // what is finished has the other half
			return "", ErrBusy
		}
		s.next++
		id = IDPrefix + strconv.FormatInt(s.next, 10)
		msg["id"] = id
		// Not from within enqueue, which runs under this lock.
		out.Dropped = func() { go s.settle(id, answer{err: ErrNotGranted}) }
	}
	if out.Data, err = json.Marshal(msg); err != nil {
		return "", fmt.Errorf("writing %s: %w", method, err)
	}
	if done != nil {
		s.pending[id] = done
	}
	if err := s.enqueue(out); err != nil {
		delete(s.pending, id)
		return "", ErrClosed
	}
	return id, nil
}

// Close ends the session: waiting calls get ErrClosed, handlers are cancelled and waited for.
func (s *Session) Close() {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	pending := s.pending
	s.pending = map[string]func(answer){}
	s.mu.Unlock()
	for _, done := range pending {
		done(answer{err: ErrClosed})
	}
	s.cancel()
	s.work.Wait()
}
