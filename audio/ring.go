package audio

import (
	"context"
	"io"
	"sync"
	"time"
)

// Ring is a bounded queue of samples between a writer that must not wait and a reader that may be slow.
// When it is full the oldest samples make room and are counted; the reader sees the hole as a jump of Pos.
//
// One goroutine reads, any number may write (Sink), none of them waits. Close ends the reader with io.EOF, Fail with
// an error; both let it read what is left first.
type Ring struct {
	mu    sync.Mutex
	buf   []int16
	head  int   // index of the oldest sample
	n     int   // samples held
	runs  []run // what they are, oldest first; lengths add up to n
	lost  int64
	err   error
	ready chan struct{} // has a token when there may be something to read
	out   []int16       // the reader's buffer, valid until its next read
}

// run is a stretch of samples without a gap.
type run struct {
	pos int64
	n   int
	at  time.Time
}

// maxRun bounds what one read gives, so that a reader that fell behind catches up in steps.
const maxRun = 4096

// NewRing makes a ring for that many samples.
func NewRing(samples int) *Ring {
	return &Ring{buf: make([]int16, max(samples, 1)), ready: make(chan struct{}, 1)}
}

// Write puts a frame in. It never waits; after Close or Fail it returns that end's error.
func (r *Ring) Write(f Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	pcm, pos := f.PCM, f.Pos
	if len(pcm) == 0 {
		return nil
	}
	if over := len(pcm) - len(r.buf); over > 0 { // a frame larger than the ring: keep its end
		r.lost += int64(over)
		pcm, pos = pcm[over:], pos+int64(over)
	}
	if over := r.n + len(pcm) - len(r.buf); over > 0 {
		r.drop(over)
		r.lost += int64(over)
	}
	tail := (r.head + r.n) % len(r.buf)
	k := copy(r.buf[tail:], pcm)
	copy(r.buf, pcm[k:])
	r.n += len(pcm)
	r.join(run{pos, len(pcm), f.At})
	r.wake()
	return nil
}

// join adds a run, to the last one where it continues it: the ring stays small for many tiny frames.
func (r *Ring) join(add run) {
	if k := len(r.runs); k > 0 {
		last := &r.runs[k-1]
		if last.pos+int64(last.n) == add.pos && last.n+add.n <= maxRun {
			last.n += add.n
			last.at = add.at
			return
		}
	}
	r.runs = append(r.runs, add)
}

func (r *Ring) drop(n int) {
	r.head = (r.head + n) % len(r.buf)
	r.n -= n
	for n > 0 {
		first := &r.runs[0]
		k := min(n, first.n)
		first.pos += int64(k)
		first.n -= k
		n -= k
		if first.n == 0 {
			r.runs = r.runs[1:]
		}
	}
}

func (r *Ring) wake() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// Ready has a token when there may be something to read: for readers that wait for other things too.
func (r *Ring) Ready() <-chan struct{} { return r.ready }

// TryRead gives the oldest samples that follow one another (at most 4096), or false when there are none now.
// The error is set once the ring has ended and is empty.
func (r *Ring) TryRead() (Frame, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.runs) == 0 {
		return Frame{}, false, r.err
	}
	first := r.runs[0]
	n := min(first.n, maxRun)
	if cap(r.out) < n {
		r.out = make([]int16, maxRun)
	}
	out := r.out[:n]
	k := copy(out, r.buf[r.head:min(r.head+n, len(r.buf))])
	copy(out[k:], r.buf)
	r.drop(n)
	if r.n > 0 || r.err != nil {
		r.wake()
	}
	return Frame{Pos: first.pos, PCM: out, At: first.at}, true, nil
}

// Read waits for samples. It is TryRead for readers that wait for nothing else.
func (r *Ring) Read(ctx context.Context) (Frame, error) {
	for {
		f, ok, err := r.TryRead()
		if ok || err != nil {
			return f, err
		}
		select {
		case <-r.ready:
		case <-ctx.Done():
			return Frame{}, context.Cause(ctx)
		}
	}
}

// Close ends the ring: the reader gets what is left, then io.EOF.
func (r *Ring) Close() { r.Fail(io.EOF) }

// Fail ends the ring with an error. The first end counts.
func (r *Ring) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.wake()
}

// Lost is how many samples were overwritten before anybody read them.
func (r *Ring) Lost() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// Len is how many samples wait to be read.
func (r *Ring) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}
