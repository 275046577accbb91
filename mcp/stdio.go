package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
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
		frame, err := readRecord(r, maxFrame)
		if err == nil || errors.Is(err, errTooLarge) {
			if err != nil {
				frame = nil
			}
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

// readRecord reads up to the next LF. A longer record than max is skipped as a whole, without being held.
// A last record without LF counts.
func readRecord(r *bufio.Reader, max int) ([]byte, error) {
	record := []byte{}
	large := false
	for {
		part, err := r.ReadSlice('\n')
		if !large && len(record)+len(part) > max+2 { // room for CR and LF
			large, record = true, nil
		}
		if !large {
			record = append(record, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case large && (err == nil || errors.Is(err, io.EOF)):
			return nil, errTooLarge
		case errors.Is(err, io.EOF) && len(record) > 0:
			return record, nil
		case err != nil:
			return nil, err
		}
		return record, nil
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
