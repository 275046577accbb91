package mcpl

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"parley/channel"
)

// Bounds of a lane.
const (
	laneOps = 64
	// laneDelta is how many bytes of one stream wait at most.
	laneDelta = 24 << 10
	// laneStreams is how many streams are known to a lane.
	laneStreams = 64
	// publishWithin is how long a meeting may take over a publish before nobody knows what became of it.
	publishWithin = 10 * time.Second
)

// op is one thing that a host did to a channel; one of the three is set.
type op struct {
	publish  *channel.Publication
	chunk    *channel.Chunk
	complete *channel.Completion
	reply    func(channel.Receipt, *Error) // of a publish
}

// lane keeps what one host does to one channel in order while the meeting deals with it. All of it is the board's,
// under its lock; one goroutine empties it and ends when it is empty.
type lane struct {
	ops     []op
	running bool
	open    map[string]bool // streams that were handed on and are not complete
	// cut are streams of which a piece was lost: nothing after it makes sense. The publish that follows has it all.
	cut map[string]bool
}

// put adds an op, with the board's lock held. It tells whether there was room.
func (b *Board) put(g *guest, l *link, o op) bool {
	if b.closed {
		return false
	}
	q := &l.lane
	if o.chunk != nil {
		if !q.takes(o.chunk) {
			b.stats.chunksLost.Add(1)
			return false
		}
		if n := len(q.ops); n > 0 && q.ops[n-1].joins(o.chunk) {
			return true
		}
	}
	if len(q.ops) >= laneOps && o.complete == nil {
		if o.chunk != nil {
			q.lose(o.chunk.Stream)
			b.stats.chunksLost.Add(1)
		}
		return false
	}
	if o.complete != nil {
		delete(q.cut, o.complete.Stream)
		if len(q.ops) >= 2*laneOps { // a host that ends a hundred streams at once has begun none of them
			return false
		}
	}
	q.ops = append(q.ops, o)
	if !q.running {
		q.running = true
		b.work.Go(func() { b.run(g, l) })
	}
	return true
}

// takes tells whether a chunk can be of use, and notes its stream.
func (q *lane) takes(c *channel.Chunk) bool {
	if q.cut[c.Stream] || len(q.cut) >= laneStreams {
		return false
	}
	if q.open == nil {
		q.open = map[string]bool{}
	}
	if len(c.Delta) > laneDelta || !q.open[c.Stream] && len(q.open) >= laneStreams {
		q.lose(c.Stream)
		return false
	}
	q.open[c.Stream] = true
	return true
}

func (q *lane) lose(stream string) {
	if q.cut == nil {
		q.cut = map[string]bool{}
	}
	q.cut[stream] = true
}

// joins adds a chunk to the one before it, if they follow each other in one stream: what comes faster than the
// meeting takes it is taken at once.
func (o op) joins(c *channel.Chunk) bool {
	p := o.chunk
	if p == nil || p.Stream != c.Stream || p.Turn != c.Turn || p.Speculative != c.Speculative || len(p.Delta)+len(c.Delta) > laneDelta {
		return false
	}
	if c.Index > p.Index { // what does not grow is a repetition
		p.Delta += c.Delta
		p.Index = c.Index
	}
	return true
}

// run hands the lane's ops to the meeting, one after the other, until there are none.
func (b *Board) run(g *guest, l *link) {
	for {
		b.mu.Lock()
		if len(l.lane.ops) == 0 {
			l.lane.running = false
			b.mu.Unlock()
			return
		}
		o := l.lane.ops[0]
		l.lane.ops = l.lane.ops[1:]
		ch := l.ch
		b.mu.Unlock()
		b.hand(ch, o)
	}
}

func (b *Board) hand(ch channel.Channel, o op) {
	ctx, cancel := context.WithTimeout(b.life, publishWithin)
	defer cancel()
	var err error
	switch {
	case o.publish != nil:
		var r channel.Receipt
		r, err = b.o.Meetings.Publish(ctx, ch.Tenant, ch.Meeting, *o.publish)
		if errors.Is(err, channel.ErrNoMeeting) {
			r, err = channel.Ended(), nil
		}
		if err != nil {
			o.reply(r, &Error{Code: CodeInternal, Message: "the meeting did not answer: whether this will be said is not known"})
			break
		}
		o.reply(r, nil)
	case o.chunk != nil:
		b.stats.chunks.Add(1)
		err = b.o.Meetings.Chunk(ctx, ch.Tenant, ch.Meeting, *o.chunk)
	case o.complete != nil:
		err = b.o.Meetings.Complete(ctx, ch.Tenant, ch.Meeting, *o.complete)
	}
	if err != nil && b.life.Err() == nil && !errors.Is(err, channel.ErrNoMeeting) {
		b.log.Warn("a meeting did not take what a host sent", "meeting", ch.Meeting, "err", err)
	}
}

// abandon answers what waits in a lane whose channel is gone, and ends the streams that are open: nobody will
// publish them. With the board's lock held.
func (b *Board) abandon(g *guest, l *link, reason string) {
	q := &l.lane
	ops := q.ops
	q.ops = nil
	for _, o := range ops {
		if o.publish != nil {
			if reason == "" {
				reason = channel.ReasonClosed
			}
			o.reply(channel.Receipt{Reason: reason}, nil)
		}
	}
	if reason == channel.ReasonEnded {
		return // there is no meeting to tell
	}
	for s := range q.open {
		q.ops = append(q.ops, op{complete: &channel.Completion{Stream: s, Cancelled: true}})
	}
	q.open = nil
	if len(q.ops) > 0 && !q.running && !b.closed {
		q.running = true
		b.work.Go(func() { b.run(g, l) })
	}
}

// tooLong tells whether a text is more than one publish may have.
func tooLong(text string) bool {
	return len(text) > publishChars && utf8.RuneCountInString(text) > publishChars
}
