package server

import (
	"net"
	"sync"
	"time"

	"parley/speech"
	"parley/speech/wire"
)

// client is a connection. One goroutine reads; several may send.
type client struct {
	conn  net.Conn
	r     *wire.Reader
	label string
	mu    sync.Mutex
	buf   []byte
}

// sendTimeout ends a client that does not read: its own queue is long, so it hangs.
const sendTimeout = 30 * time.Second

// send writes one JSON frame.
func (c *client) send(t wire.Type, v any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf = wire.AppendJSON(c.buf[:0], t, v)
	return c.flush()
}

// sign writes a frame without a body.
func (c *client) sign(t wire.Type) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf = wire.Append(c.buf[:0], t, nil)
	return c.flush()
}

// piece writes a piece of speech.
func (c *client) piece(text string, pcm []int16) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf = wire.AppendPiece(c.buf[:0], text, pcm)
	return c.flush()
}

func (c *client) flush() error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	_, err := c.conn.Write(c.buf)
	if cap(c.buf) > 1<<16 {
		c.buf = nil
	}
	return err
}

// fault tells the client why its connection is over. It may be gone already.
func (c *client) fault(kind speech.Kind, text string) {
	_ = c.send(wire.TypeFault, wire.Fault{Kind: kind, Text: text, Fatal: true})
}
