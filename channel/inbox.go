package channel

import "slices"

// inboxSize is how many messages wait for a reader who comes by himself.
const inboxSize = 256

// Inbox keeps a meeting's messages for readers with a cursor (clients without channels). A newer partial takes
// the place of the one before; when it is full partials go first, then the oldest. It is not safe for
// concurrent use.
type Inbox struct {
	list   []numbered
	last   int64
	missed int64 // cursor of the last message that was dropped
}

type numbered struct {
	n int64
	m Message
}

// Put adds a message and returns its cursor.
func (b *Inbox) Put(m Message) int64 {
	// A message about a segment replaces what was unfinished of it.
	if m.Metadata.Seq != 0 {
		b.list = slices.DeleteFunc(b.list, func(x numbered) bool {
			return x.m.Partial && (x.m.Metadata.Seq == m.Metadata.Seq || slices.Contains(m.Metadata.MergedSeqs, x.m.Metadata.Seq))
		})
	}
	b.last++
	b.list = append(b.list, numbered{b.last, m})
	if len(b.list) > inboxSize {
		i := slices.IndexFunc(b.list, func(x numbered) bool { return x.m.Partial })
		if i < 0 {
			i = 0
			b.missed = b.list[0].n
		}
		b.list = slices.Delete(b.list, i, i+1)
	}
	return b.last
}

// After gives what came after a cursor, at most limit (0: all), the cursor to go on from, and whether messages
// in between were lost. A cursor from the future reads as the latest.
func (b *Inbox) After(cursor int64, limit int) (list []Message, next int64, lost bool) {
	next = min(max(cursor, 0), b.last)
	lost = next < b.missed
	for _, x := range b.list {
		if x.n <= next {
			continue
		}
		if limit > 0 && len(list) == limit {
			return list, next, lost
		}
		list = append(list, x.m)
		next = x.n
	}
	return list, b.last, lost
}

// Forget drops all messages: they say what people said.
func (b *Inbox) Forget() { b.list = nil }
