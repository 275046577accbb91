package worker

import (
	"errors"
	"os"
	"sync"
	"time"

	"parley/meeting"
	"parley/meeting/wire"
)

// Bounds of the outbox.
const (
	outboxSoft = 512  // from here on reports that may be lost are
	outboxHard = 8192 // a service that leaves this many unread is gone
)

var errUnread = errors.New("the service does not read its reports")

// outbox is the queue of what the service is to hear, and the one writer of the pipe. Status reports replace each
// other; partials and rosters go first when the reader is slow; answers and events are never dropped: when even those
// pile up, the service is taken for dead.
type outbox struct {
	mu      sync.Mutex
	cond    *sync.Cond
	frames  []frame
	closed  bool
	err     error
	dropped int
	gone    func(error)
	ended   chan struct{}
	file    *os.File
}

type frame struct {
	kind   wire.Kind
	id     string
	body   any
	status bool
}

func newOutbox(f *os.File, gone func(error)) *outbox {
	o := &outbox{gone: gone, ended: make(chan struct{}), file: f}
	o.cond = sync.NewCond(&o.mu)
	go o.write(wire.NewWriter(f))
	return o
}

// Report queues a report. It never waits.
func (o *outbox) Report(r wire.Report) {
	o.put(frame{kind: wire.KindReport, body: r, status: r.Status != nil}, r.Droppable())
}

// Answer queues an answer. It never waits.
func (o *outbox) Answer(id string, a wire.Answer) {
	o.put(frame{kind: wire.KindAnswer, id: id, body: a}, false)
}

func (o *outbox) put(f frame, droppable bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.closed {
		return
	}
	if f.status {
		for i := range o.frames {
			if o.frames[i].status { // the newest takes its place at the end
				o.frames = append(o.frames[:i], o.frames[i+1:]...)
				break
			}
		}
	} else if droppable && len(o.frames) >= outboxSoft {
		o.dropped++
		return
	}
	if len(o.frames) >= outboxHard {
		o.fail(errUnread)
		return
	}
	o.frames = append(o.frames, f)
	o.cond.Broadcast()
}

// fail needs the lock.
func (o *outbox) fail(err error) {
	if o.err == nil {
		o.err = err
		o.frames = nil
		o.cond.Broadcast()
		go o.gone(err)
	}
}

func (o *outbox) write(w *wire.Writer) {
	defer close(o.ended)
	for {
		o.mu.Lock()
		for len(o.frames) == 0 && !o.closed && o.err == nil {
			o.cond.Wait()
		}
		if len(o.frames) == 0 {
			o.mu.Unlock()
			return
		}
		f := o.frames[0]
		o.frames = o.frames[1:]
		o.mu.Unlock()
		err := w.Write(f.kind, f.id, f.body)
		if errors.Is(err, wire.ErrTooLong) && f.kind == wire.KindAnswer {
			err = w.Write(f.kind, f.id, wire.Answer{Error: &wire.Error{Code: wire.CodeFailed, Text: "the answer is longer than a message may be"}})
		}
		if err != nil && !errors.Is(err, wire.ErrTooLong) {
			o.mu.Lock()
			o.fail(err)
			o.mu.Unlock()
			return
		}
	}
}

// flush waits until everything was written.
func (o *outbox) flush(limit time.Duration) error {
	o.mu.Lock()
	o.closed = true
	o.cond.Broadcast()
	o.mu.Unlock()
	_ = o.file.SetWriteDeadline(time.Now().Add(limit))
	select {
	case <-o.ended:
	case <-time.After(limit + time.Second):
		return errUnread
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *outbox) close() { _ = o.file.Close() }

var _ meeting.Outlet = (*outbox)(nil)
