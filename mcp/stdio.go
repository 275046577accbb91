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
	writes chan []byte
	wrote  chan error
	closed chan struct{}
	once   sync.Once
}

// newLines starts a reader and a writer. Neither a read of stdin nor a write to a stdout that nobody reads can
// be broken off, so both run on their own, and Close does not wait for them: one that hangs ends with the process.
func newLines(in io.ReadCloser, out io.Writer) *lines {
	l := &lines{in: in, out: out, frames: make(chan []byte), errs: make(chan error, 1),
		writes: make(chan []byte), wrote: make(chan error, 1), closed: make(chan struct{})}
	go l.read()
	go l.write()
	return l
}

func (l *lines) write() {
	for {
		select {
		case b := <-l.writes:
			_, err := l.out.Write(b)
			l.wrote <- err // has room: one write at a time
		case <-l.closed:
			return
		}
	}
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

func (l *lines) WriteFrame(ctx context.Context, frame []byte) error {
	select {
	case l.writes <- append(frame, '\n'):
	case <-l.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-l.wrote:
		return err
	case <-ctx.Done():
		return ctx.Err() // the write goes on; nothing is written after it, because the connection ends now
	}
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
