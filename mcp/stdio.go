package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"

	"parley/internal/ndjson"
)

// lines is a wire of records that end with LF, as on stdin and stdout.
type lines struct {
	in  io.ReadCloser
	out io.Writer

	frames chan []byte
	errs   chan error
	closed chan struct{}
	once   sync.Once
}

// newLines starts reading in; the reader ends with in, which Close closes.
func newLines(in io.ReadCloser, out io.Writer) *lines {
	l := &lines{in: in, out: out, frames: make(chan []byte), errs: make(chan error, 1), closed: make(chan struct{})}
	go l.read()
	return l
}

func (l *lines) read() {
	r := bufio.NewReaderSize(l.in, 64<<10)
	for {
		frame, err := ndjson.Read(r, maxFrame)
		if err == nil || errors.Is(err, ndjson.ErrTooLarge) {
			select {
			case l.frames <- frame: // nil: one that was too large
				continue
			case <-l.closed:
				return
			}
		}
		l.errs <- err
		return
	}
}

func (l *lines) ReadFrame(ctx context.Context) ([]byte, error) {
	select {
	case f := <-l.frames:
		if f == nil {
			return nil, errTooLarge
		}
		return f, nil
	case err := <-l.errs:
		l.errs <- err // it stays that way
		return nil, err
	case <-l.closed:
		return nil, io.ErrClosedPipe
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// WriteFrame blocks as long as the client does not read: a pipe has no deadline, and a client that does not
// read its own answers has only itself to wait for.
func (l *lines) WriteFrame(_ context.Context, frame []byte) error {
	_, err := l.out.Write(append(frame, '\n'))
	return err
}

func (l *lines) Close(bool) error {
	var err error
	l.once.Do(func() {
		close(l.closed)
		err = l.in.Close()
	})
	return err
}

func (l *lines) Drains() bool { return true }
