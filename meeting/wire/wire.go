// Package wire is what a service and the process of one of its meetings say to each other: values in frames.
//
// A frame is four bytes of length (big endian) and one JSON object {v, id, kind, body}. The service sends start (once,
// first), command and cancel; the process sends answer (one for each command) and report. Times on the wire are
// remaining milliseconds, because two machines need not agree on the clock; the time of a report is Unix milliseconds
// and only for people. Unknown kinds and unknown members are ignored, so that two versions can work together.
package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Version is the version of the protocol. A peer with another one is refused at the start message.
const Version = 1

// MaxFrame is the longest frame, in bytes of JSON.
const MaxFrame = 1 << 20

// Kind is what a message is for.
type Kind string

// The kinds.
const (
	KindStart   Kind = "start"   // body Start; service → process, first
	KindCommand Kind = "command" // body Command, id chosen by the service
	KindCancel  Kind = "cancel"  // no body, id of the command
	KindAnswer  Kind = "answer"  // body Answer, id of the command
	KindReport  Kind = "report"  // body Report
)

// Message is one frame.
type Message struct {
	V    int             `json:"v"`
	ID   string          `json:"id,omitempty"`
	Kind Kind            `json:"kind"`
	Body json.RawMessage `json:"body,omitempty"`
}

// Errors of reading.
var (
	// ErrTooLong means a frame over MaxFrame: the stream cannot be trusted any more.
	ErrTooLong = errors.New("frame is longer than a message may be")
	// ErrEmpty means a frame of no bytes.
	ErrEmpty = errors.New("empty frame")
	// ErrVersion means that the peer speaks another version.
	ErrVersion = errors.New("the other side speaks another version of the worker protocol; use the same build for both")
)

// Reader reads messages from one goroutine.
type Reader struct{ r *bufio.Reader }

// NewReader reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, 32<<10)} }

// Read gives the next message. io.EOF is a clean end between frames; io.ErrUnexpectedEOF an end within one. After
// any error the stream is over. The kind may be one this side does not know: ignore it.
func (r *Reader) Read() (Message, error) {
	var head [4]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return Message{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	switch {
	case n == 0:
		return Message{}, ErrEmpty
	case n > MaxFrame:
		return Message{}, fmt.Errorf("%w: %d bytes", ErrTooLong, n)
	}
	// Grow with what really comes, not with what the length promises.
	var buf bytes.Buffer
	if _, err := io.CopyN(&buf, r.r, int64(n)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Message{}, err
	}
	var m Message
	if err := json.Unmarshal(buf.Bytes(), &m); err != nil {
		return Message{}, fmt.Errorf("worker message: %w", err)
	}
	if m.V != Version {
		return Message{}, fmt.Errorf("%w (theirs %d, ours %d)", ErrVersion, m.V, Version)
	}
	return m, nil
}

// Writer writes messages; it is safe for concurrent use. A frame goes out in one Write.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write sends a message with a body (nil: none). ErrTooLong leaves the stream as it was.
func (w *Writer) Write(kind Kind, id string, body any) error {
	frame, err := Frame(kind, id, body)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.w.Write(frame)
	return err
}

// Frame makes the bytes of one message.
func Frame(kind Kind, id string, body any) ([]byte, error) {
	m := Message{V: Version, ID: id, Kind: kind}
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("worker message %s: %w", kind, err)
		}
		m.Body = raw
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("worker message %s: %w", kind, err)
	}
	if len(raw) > MaxFrame {
		return nil, fmt.Errorf("%w: %s of %d bytes", ErrTooLong, kind, len(raw))
	}
	frame := make([]byte, 4+len(raw))
	binary.BigEndian.PutUint32(frame, uint32(len(raw)))
	copy(frame[4:], raw)
	return frame, nil
}

// Decode reads a body.
func Decode[T any](m Message) (T, error) {
	var v T
	if len(m.Body) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(m.Body, &v); err != nil {
		return v, fmt.Errorf("worker message %s: %w", m.Kind, err)
	}
	return v, nil
}
