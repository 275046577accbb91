package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/channel/mcpl"
	"parley/tool"
)

// Bounds of one connection.
const (
	maxQueue      = 512      // messages that wait to be written
	maxQueueBytes = 16 << 20 // and how large they may be together
	maxInFlight   = 128      // requests that wait for our answer
	writeTimeout  = 60 * time.Second
	drainTimeout  = 10 * time.Second
)

// wire carries whole frames. ReadFrame is used by one goroutine, WriteFrame by another; Close unblocks both.
type wire interface {
	// ReadFrame gives the next frame. errTooLarge is one that was over maxFrame and is gone.
	ReadFrame(context.Context) ([]byte, error)
	WriteFrame(context.Context, []byte) error
	// Close ends the connection; slow tells that the other side did not read.
	Close(slow bool) error
	// Drains tells that the end of what is read does not end what is written.
	Drains() bool
}

// errTooLarge says that a frame was skipped because of its size.
var errTooLarge = errors.New("the message is larger than 2 MiB")

// errSlow ends a connection whose other side does not read.
var errSlow = errors.New("the client does not read what is sent to it")

// conn is a connection as the MCP library sees it, between frames and its messages. Bad records are
// answered and do not end it; MCPL goes to its session; what is written waits in one queue, so that messages
// leave in the order in which they were queued, and a slow client blocks nobody.
type conn struct {
	wire   wire
	caller tool.Caller
	mcpl   *mcpl.Session // nil where the token gets no pushes
	stats  *connStats

	ctx    context.Context
	cancel context.CancelCauseFunc
	writer chan struct{} // closed when the writer ended

	// Of the reader alone.
	rest [][]byte

	mu      sync.Mutex
	queue   []mcpl.Outgoing
	bytes   int
	wake    chan struct{} // has one when the queue is not empty
	closing bool          // no more is queued; what is there is written
	open    map[jsonrpc.ID]bool
	idle    chan struct{} // closed when open is empty, while somebody waits for that
}

// newConn starts the writer of a connection. Close ends it.
func newConn(w wire, caller tool.Caller, stats *connStats) *conn {
	c := &conn{wire: w, caller: caller, stats: stats, writer: make(chan struct{}), wake: make(chan struct{}, 1), open: map[jsonrpc.ID]bool{}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	go c.write()
	return c
}

// Connect implements the library's Transport: this connection is its own.
func (c *conn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements the library's Connection. The connection is the session.
func (c *conn) SessionID() string { return "" }

// Read gives the library its next message.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(c.rest) == 0 {
			frame, err := c.wire.ReadFrame(c.ctx)
			switch {
			case errors.Is(err, errTooLarge):
				c.refuse(nil, jsonrpc.CodeInvalidRequest, err.Error())
				continue
			case err != nil:
				c.drain(err)
				return nil, io.EOF
			}
			c.rest = records(frame)
			continue
		}
		record := c.rest[0]
		c.rest = c.rest[1:]
		if msg := c.take(record); msg != nil {
			return msg, nil
		}
	}
}

// take makes a message for the library of a record, or deals with it and gives nil.
func (c *conn) take(record []byte) jsonrpc.Message {
	c.stats.received.Add(1)
	if err := checkRecord(record); err != nil {
		code := int64(jsonrpc.CodeInvalidRequest)
		if errors.Is(err, errNotJSON) {
			code = jsonrpc.CodeParseError
		}
		c.refuse(peekID(record), code, err.Error())
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(record)
	if err != nil {
		c.refuse(peekID(record), jsonrpc.CodeInvalidRequest, "this is no JSON-RPC message")
		return nil
	}
	switch m := msg.(type) {
	case *jsonrpc.Response:
		if id, ok := m.ID.Raw().(string); ok && c.mcpl != nil && c.mcpl.Response(id, m.Result, failure(m.Error)) {
			return nil
		}
	case *jsonrpc.Request:
		id, err := rawID(m.ID)
		if err != nil {
			c.refuse(nil, jsonrpc.CodeInvalidRequest, "the id cannot be written back")
			return nil
		}
		if c.mcpl != nil && mcpl.Ours(m.Method) && c.mcpl.Offered() {
			c.mcpl.Receive(id, m.Method, m.Params)
			return nil
		}
		c.announced(m.Method, m.Params)
		if m.IsCall() && !c.enter(m.ID) {
			c.refuse(id, -32000, "too many requests wait for their answer on this connection")
			return nil
		}
	}
	return msg
}

// rawID writes an id as it goes on the wire; empty for a notification.
func rawID(id jsonrpc.ID) (json.RawMessage, error) {
	if !id.IsValid() {
		return nil, nil
	}
	return json.Marshal(id.Raw())
}

// failure is a response's error in MCPL's form; nil where there is none.
func failure(err error) *mcpl.Error {
	if err == nil {
		return nil
	}
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return &mcpl.Error{Message: "an error that cannot be read"}
	}
	return &mcpl.Error{Code: int(wire.Code), Message: wire.Message, Data: wire.Data}
}

// announced tells the MCPL session about the handshake that passes by.
func (c *conn) announced(method string, params json.RawMessage) {
	if c.mcpl == nil {
		return
	}
	switch method {
	case "initialize":
		var p struct {
			Capabilities struct {
				Experimental struct {
					MCPL json.RawMessage `json:"mcpl"`
				} `json:"experimental"`
			} `json:"capabilities"`
		}
		if json.Unmarshal(params, &p) != nil {
			return
		}
		if host, ok := mcpl.ParseHost(p.Capabilities.Experimental.MCPL); ok {
			c.mcpl.Offer(host)
		}
	case "notifications/initialized":
		c.mcpl.Initialized()
	}
}

// refuse answers a record that is no good message. One without an id gets null, as JSON-RPC wants it.
func (c *conn) refuse(id json.RawMessage, code int64, text string) {
	c.stats.refused.Add(1)
	if id == nil {
		id = json.RawMessage("null")
	}
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
	if err != nil {
		return // only our own text and a valid id come here
	}
	_ = c.enqueue(mcpl.Outgoing{Data: data}) // it fails only when the connection is over
}

// Write queues a message of the library.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	if resp, ok := msg.(*jsonrpc.Response); ok {
		defer c.leave(resp.ID)
	}
	return c.enqueue(mcpl.Outgoing{Data: data})
}

// enqueue puts a message at the end of the queue, and never waits. When the queue is full, unfinished speech
// is dropped; where there is none, the connection ends.
func (c *conn) enqueue(m mcpl.Outgoing) error {
	c.mu.Lock()
	if c.closing {
		c.mu.Unlock()
		return mcpl.ErrClosed
	}
	var lost []mcpl.Outgoing
	for len(c.queue) >= maxQueue || c.bytes+len(m.Data) > maxQueueBytes && len(c.queue) > 0 {
		i := 0
		for i < len(c.queue) && !c.queue[i].Partial {
			i++
		}
		if i == len(c.queue) {
			c.mu.Unlock()
			c.end(errSlow)
			return mcpl.ErrClosed
		}
		lost = append(lost, c.queue[i])
		c.bytes -= len(c.queue[i].Data)
		c.queue = append(c.queue[:i], c.queue[i+1:]...)
	}
	c.queue = append(c.queue, m)
	c.bytes += len(m.Data)
	select {
	case c.wake <- struct{}{}:
	default:
	}
	c.mu.Unlock()
	for _, l := range lost {
		c.stats.dropped.Add(1)
		if l.Dropped != nil {
			l.Dropped()
		}
	}
	return nil
}

// write is the writer: the one goroutine that puts frames on the wire.
func (c *conn) write() {
	defer close(c.writer)
	for {
		c.mu.Lock()
		if len(c.queue) == 0 {
			over := c.closing
			c.mu.Unlock()
			if over {
				return
			}
			select {
			case <-c.wake:
			case <-c.ctx.Done():
				return
			}
			continue
		}
		m := c.queue[0]
		c.queue = c.queue[1:]
		c.bytes -= len(m.Data)
		c.mu.Unlock()
		// What waited may have lost its grant meanwhile. No lock is held: the check takes the session's.
		if m.Still != nil && !m.Still() {
			if m.Dropped != nil {
				m.Dropped()
			}
			continue
		}
		ctx, cancel := context.WithTimeout(c.ctx, writeTimeout)
		err := c.wire.WriteFrame(ctx, m.Data)
		cancel()
		if err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				err = errSlow
			}
			c.end(err)
			return
		}
		c.stats.sent.Add(1)
	}
}

// enter notes a request that waits for our answer.
func (c *conn) enter(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= maxInFlight {
		return false
	}
	c.open[id] = true
	return true
}

func (c *conn) leave(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
	if len(c.open) == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// drain lets requests that were read be answered after the end of input, where the wire can: a program that
// writes its requests, closes its end and reads the answers must get them.
func (c *conn) drain(err error) {
	if !c.wire.Drains() || !errors.Is(err, io.EOF) {
		return
	}
	c.mu.Lock()
	if len(c.open) == 0 {
		c.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	c.idle = idle
	c.mu.Unlock()
	timeout := time.NewTimer(drainTimeout)
	defer timeout.Stop()
	select {
	case <-idle:
	case <-timeout.C:
	case <-c.ctx.Done():
	}
}

// end breaks the connection.
func (c *conn) end(cause error) {
	c.cancel(cause)
	_ = c.wire.Close(errors.Is(cause, errSlow)) // it is broken already
}

// Close writes what waits, for a moment, and ends the connection. The library calls it when a read or
// write failed; more often is fine.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closing = true
	select {
	case c.wake <- struct{}{}:
	default:
	}
	c.mu.Unlock()
	timeout := time.NewTimer(2 * time.Second)
	defer timeout.Stop()
	select {
	case <-c.writer:
	case <-timeout.C:
	case <-c.ctx.Done():
	}
	c.cancel(mcpl.ErrClosed)
	err := c.wire.Close(false)
	<-c.writer
	c.mu.Lock()
	lost := c.queue
	c.queue = nil
	c.mu.Unlock()
	for _, l := range lost {
		if l.Dropped != nil {
			l.Dropped()
		}
	}
	return err
}
