package room

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coder/websocket"

	"parley/room/wire"
)

// socket is one signalling connection. Its handler's goroutine reads, one more writes.
type socket struct {
	id   connID
	conn *websocket.Conn
	// out holds messages to be written. Who lets it fill up is cut off.
	out chan []byte

	mu     sync.Mutex
	reason wire.Reason   // why the connection ends, "" while it does not
	ending chan struct{} // closed when reason is set
}

func newSocket(id connID, conn *websocket.Conn) *socket {
	return &socket{id: id, conn: conn, out: make(chan []byte, outboxSize), ending: make(chan struct{})}
}

// send queues a notice. It never waits.
func (s *socket) send(n wire.Notice) {
	data, err := wire.Encode(n)
	if err != nil {
		s.hang(wire.ReasonProtocol)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != "" {
		return
	}
	select {
	case s.out <- data:
	default:
		s.hangLocked(wire.ReasonSlow)
	}
}

// hang ends the connection once what was sent before is written.
func (s *socket) hang(reason wire.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangLocked(reason)
}

func (s *socket) hangLocked(reason wire.Reason) {
	if s.reason == "" {
		s.reason = reason
		close(s.ending)
	}
}

// write writes the queue until the connection ends, then says goodbye.
func (s *socket) write(ctx context.Context) {
	for {
		select {
		case data := <-s.out:
			if s.put(ctx, data) != nil {
				_ = s.conn.CloseNow()
				return
			}
		case <-s.ending:
			s.flush(ctx)
			return
		case <-ctx.Done():
			_ = s.conn.CloseNow()
			return
		}
	}
}

func (s *socket) flush(ctx context.Context) {
	s.mu.Lock()
	reason := s.reason
	s.mu.Unlock()
	for reason != wire.ReasonSlow {
		select {
		case data := <-s.out:
			if s.put(ctx, data) != nil {
				_ = s.conn.CloseNow()
				return
			}
			continue
		default:
		}
		break
	}
	code := websocket.StatusNormalClosure
	switch reason {
	case wire.ReasonProtocol, wire.ReasonSlow, wire.ReasonTooFast:
		code = websocket.StatusPolicyViolation
	case wire.ReasonShutdown:
		code = websocket.StatusGoingAway
	}
	_ = s.conn.Close(code, string(reason)) // the other side may be gone already
}

func (s *socket) put(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, data)
}

// read waits for the next message.
func (s *socket) read(ctx context.Context) (wire.Request, error) {
	kind, data, err := s.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageText {
		return nil, wire.ErrMessage
	}
	return wire.ParseRequest(data)
}

// pump posts what the participant asks for until the connection ends. A message that makes no sense, or too many of
// them, end it. It says whether the participant went on purpose.
func (s *socket) pump(ctx context.Context, h *hall) (onPurpose bool) {
	var rate bucket
	for {
		r, err := s.read(ctx)
		switch {
		case errors.Is(err, wire.ErrMessage):
			s.hang(wire.ReasonProtocol)
			return false
		case err != nil:
			// A browser that goes to another page says so.
			return websocket.CloseStatus(err) == websocket.StatusGoingAway
		}
		if !rate.take(time.Now(), requestBurst, requestEvery) {
			s.hang(wire.ReasonTooFast)
			return false
		}
		h.post(asked{s.id, r})
	}
}

// watch pings until the context ends, and cuts the connection when no answer comes.
func (s *socket) watch(ctx context.Context) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		pong, cancel := context.WithTimeout(ctx, pongWithin)
		err := s.conn.Ping(pong)
		cancel()
		if err != nil {
			_ = s.conn.CloseNow()
			return
		}
	}
}
