package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Times of a WebSocket.
const (
	pingEvery   = 30 * time.Second
	pongTimeout = 30 * time.Second
	skipAtMost  = 64 << 20 // of a frame that is too large, before the connection ends
)

// socket is a wire of text frames.
type socket struct {
	ws     *websocket.Conn
	ctx    context.Context // until Close
	cancel context.CancelFunc
	ping   sync.WaitGroup
}

// accept upgrades a request whose origin and token were checked before.
func accept(w http.ResponseWriter, r *http.Request) (*socket, error) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{"mcp"},
		InsecureSkipVerify: true, // the origin was checked with that of every request
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1) // ReadFrame has its own, which does not end the connection
	s := &socket{ws: ws}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.ping.Go(s.keepAlive)
	return s, nil
}

// keepAlive finds out when the other side is gone without a word.
func (s *socket) keepAlive() {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-t.C:
		}
		ctx, cancel := context.WithTimeout(s.ctx, pongTimeout)
		err := s.ws.Ping(ctx)
		cancel()
		if err != nil {
			s.ws.CloseNow()
			return
		}
	}
}

// ReadFrame skips binary frames, which are reserved.
func (s *socket) ReadFrame(ctx context.Context) ([]byte, error) {
	for {
		kind, r, err := s.ws.Reader(ctx)
		if err != nil {
			return nil, eof(err)
		}
		frame, err := io.ReadAll(io.LimitReader(r, maxFrame+1))
		if err != nil {
			return nil, eof(err)
		}
		if len(frame) > maxFrame {
			n, err := io.Copy(io.Discard, io.LimitReader(r, skipAtMost))
			if err != nil {
				return nil, eof(err)
			}
			if n == skipAtMost {
				return nil, errors.New("a message without end")
			}
			return nil, errTooLarge
		}
		if kind == websocket.MessageText {
			return frame, nil
		}
	}
}

// eof makes the many ends of a WebSocket one.
func eof(err error) error {
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		return io.EOF
	}
	return err
}

func (s *socket) WriteFrame(ctx context.Context, frame []byte) error {
	return s.ws.Write(ctx, websocket.MessageText, frame)
}

// Close may be called again; a slow one breaks off what a gentle one waits for.
func (s *socket) Close(slow bool) error {
	s.cancel()
	if slow {
		_ = s.ws.CloseNow() // it is broken
	} else {
		_ = s.ws.Close(websocket.StatusGoingAway, "") // waits a moment for the other side to agree
	}
	s.ping.Wait()
	return nil
}

func (s *socket) Drains() bool { return false }
