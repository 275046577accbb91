// Package outbox stands between an engine and the reader of a stream's events, so that a slow reader costs little and
// loses no final.
package outbox

import (
	"context"
	"sync"

	"parley/speech"
)

// Box queues events. When the reader is slow, a newer partial replaces the one that waits, activity and turn ends
// lose their oldest, and finals and faults make the engine wait. It is safe for concurrent use.
type Box struct {
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

// Limit is how many events may wait.
const Limit = 256

// New makes an empty box.
func New() *Box {
	return &Box{ch: make(chan speech.Event, 16), room: make(chan struct{}, 1), some: make(chan struct{}, 1)}
}

// Events is what the reader reads.
func (o *Box) Events() <-chan speech.Event { return o.ch }

// Dropped counts the events that made room for others.
func (o *Box) Dropped() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}

// Push queues an event. It waits only for finals and faults, and for those until ctx ends.
func (o *Box) Push(ctx context.Context, ev speech.Event) {
	for !o.tryPush(item{ev: ev}) {
		select {
		case <-o.room:
		case <-ctx.Done():
			return
		}
	}
}

// Mark closes done once everything pushed before was delivered.
func (o *Box) Mark(done chan<- struct{}) {
	o.mu.Lock()
	o.queue = append(o.queue, item{mark: done}) // bounded by the calls of Flush that wait for it
	o.mu.Unlock()
	signal(o.some)
}

// TryPush queues an event if that needs no waiting.
func (o *Box) TryPush(ev speech.Event) bool { return o.tryPush(item{ev: ev}) }

func (o *Box) tryPush(it item) bool {
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
	if len(o.queue) >= Limit && !o.makeRoom() {
		return false
	}
	o.queue = append(o.queue, it)
	signal(o.some)
	return true
}

// makeRoom drops the oldest event that may be dropped.
func (o *Box) makeRoom() bool {
	for i, q := range o.queue {
		switch q.ev.(type) {
		case speech.Partial, speech.Activity, speech.TurnEnd:
			o.remove(i)
			return true
		}
	}
	return false
}

func (o *Box) remove(i int) {
	o.dropped++
	o.queue = append(o.queue[:i], o.queue[i+1:]...)
}

// Deliver hands events to the reader until ctx ends, or until last is closed and the queue is empty; then it closes
// the channel.
func (o *Box) Deliver(ctx context.Context, last <-chan struct{}) {
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

func (o *Box) empty() bool {
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
