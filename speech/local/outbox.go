package local

import (
	"context"
	"sync"

	"parley/speech"
)

// outbox stands between a connection and the reader of a stream's events. When the reader is slow, a newer partial
// replaces the one that waits, activity and turn ends lose their oldest, and finals make the connection wait.
type outbox struct {
	ch chan speech.Event

	mu      sync.Mutex
	queue   []item
	dropped int           // events that made room
	room    chan struct{} // has a token when the queue became shorter
	some    chan struct{} // has a token when the queue became longer
}

// item is an event, or the mark that everything before it was delivered.
type item struct {
	ev   speech.Event
	mark chan<- struct{}
}

// outboxLimit is how many events may wait.
const outboxLimit = 256

func newOutbox() *outbox {
	return &outbox{ch: make(chan speech.Event, 16), room: make(chan struct{}, 1), some: make(chan struct{}, 1)}
}

// push queues an event. It waits only for finals and faults, and for those until ctx ends.
func (o *outbox) push(ctx context.Context, ev speech.Event) {
	for !o.tryPush(item{ev: ev}) {
		select {
		case <-o.room:
		case <-ctx.Done():
			return
		}
	}
}

// mark closes done once everything pushed before was delivered.
func (o *outbox) mark(done chan<- struct{}) {
	o.mu.Lock()
	o.queue = append(o.queue, item{mark: done}) // bounded by the calls of Flush that wait for it
	o.mu.Unlock()
	signal(o.some)
}

func (o *outbox) tryPush(it item) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, partial := it.ev.(speech.Partial); partial {
		for i, q := range o.queue {
			if _, waiting := q.ev.(speech.Partial); waiting {
				o.remove(i)
				break
			}
		}
	}
	if len(o.queue) >= outboxLimit && !o.makeRoom() {
		return false
	}
	o.queue = append(o.queue, it)
	signal(o.some)
	return true
}

// makeRoom drops the oldest event that may be dropped.
func (o *outbox) makeRoom() bool {
	for i, q := range o.queue {
		switch q.ev.(type) {
		case speech.Partial, speech.Activity, speech.TurnEnd:
			o.remove(i)
			return true
		}
	}
	return false
}

func (o *outbox) remove(i int) {
	o.dropped++
	o.queue = append(o.queue[:i], o.queue[i+1:]...)
}

// deliver hands events to the reader until ctx ends, or until last is closed and the queue is empty; then it closes
// the channel.
func (o *outbox) deliver(ctx context.Context, last <-chan struct{}) {
	defer close(o.ch)
	for {
		o.mu.Lock()
		var it item
		if len(o.queue) > 0 {
			it = o.queue[0]
			o.queue[0] = item{}
			o.queue = o.queue[1:]
		}
		o.mu.Unlock()
		switch {
		case it.mark != nil:
			close(it.mark)
		case it.ev != nil:
			signal(o.room)
			select {
			case o.ch <- it.ev:
			case <-ctx.Done():
				return
			}
		default:
			select {
			case <-o.some:
			case <-ctx.Done():
				return
			case <-last:
				if o.empty() {
					return
				}
			}
		}
	}
}

func (o *outbox) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue) == 0
}

// signal leaves a token, if none is there.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
