package keeper

import (
	"context"
	"slices"
	"sync"
	"time"

	"parley/meeting/wire"
	"parley/tenant"
)

// Bounds of what is remembered and of what waits for slow readers.
const (
	eventBound  = 1024 // events of a meeting
	chatBound   = 1000 // messages of a meeting
	toldBound   = 256  // messages of a meeting's channel whose words are kept
	listenBound = 1024 // events that wait for one watcher
)

// Event is something that happened at a meeting. Cursor numbers the events of one meeting from 1 on, without gaps,
// also when the worker died and the keeper tells the end. Partial text has no number: it is pushed, and not remembered.
type Event struct {
	Tenant   tenant.ID
	Meeting  string
	Platform string
	Cursor   int64
	Report   wire.Report
}

// Partial says whether the event is unfinished speech, the first to be lost by a slow reader.
func (e Event) Partial() bool {
	r := e.Report
	return r.Transcript != nil && !r.Transcript.Final || r.Message != nil && r.Message.Partial
}

// Message is a chat message and when it came.
type Message struct {
	At time.Time
	wire.Chat
}

// eventLog is the end of a meeting's story. Of a transcript it keeps the numbers only: the text is in the file.
type eventLog struct {
	next   int64 // cursor of the last event
	events []Event
	chat   []Message
	lost   int64 // chat messages that were pushed out
	told   int   // messages of the channel whose words are kept
	// unfinished is the last unfinished transcript, and partials how many there were: for who listens right now.
	unfinished *Event
	partials   int64
}

// bareMessages drops the words of the oldest messages over the bound.
func (l *eventLog) bareMessages() {
	for i := 0; i < len(l.events) && l.told > toldBound; i++ {
		if l.events[i].Report.Message != nil {
			l.events[i].Report.Message = nil
			l.told--
		}
	}
}

// add numbers an event and remembers it.
func (l *eventLog) add(ev *Event) {
	if ev.Partial() {
		if ev.Report.Transcript != nil {
			now := *ev
			l.unfinished, l.partials = &now, l.partials+1
		}
		return
	}
	if ev.Report.Transcript != nil {
		l.unfinished = nil // it is finished, or somebody else goes on
	}
	l.next++
	ev.Cursor = l.next
	kept := *ev
	if t := ev.Report.Transcript; t != nil {
		bare := *t
		bare.Segment.Text, bare.Segment.Words = "", nil
		kept.Report.Transcript = &bare
	}
	l.events = append(l.events, kept)
	if ev.Report.Message != nil {
		l.told++
		l.bareMessages()
	}
	if len(l.events) > eventBound {
		gone := l.events[:len(l.events)-eventBound*3/4]
		for _, e := range gone {
			if e.Report.Message != nil {
				l.told--
			}
		}
		l.events = append(l.events[:0:0], l.events[len(gone):]...)
	}
	if c := ev.Report.Chat; c != nil {
		l.chat = append(l.chat, Message{At: time.UnixMilli(ev.Report.At), Chat: *c})
		if len(l.chat) > chatBound {
			n := len(l.chat) - chatBound*3/4
			l.lost += int64(n)
			l.chat = append(l.chat[:0:0], l.chat[n:]...)
		}
	}
}

// since gives at most limit events after a cursor, and whether some before them were forgotten.
func (l *eventLog) since(cursor int64, limit int) (events []Event, missed bool) {
	first := l.next - int64(len(l.events)) + 1
	if cursor+1 < first {
		missed, cursor = true, first-1
	}
	if cursor < l.next {
		events = l.events[cursor+1-first:]
	}
	if limit > 0 && len(events) > limit {
		events = events[:limit]
	}
	return append([]Event(nil), events...), missed
}

// forgetText removes what people said from what is remembered.
func (l *eventLog) forgetText() {
	l.told, l.unfinished = 0, nil
	for i := range l.events {
		l.events[i].Report.Message = nil
		if t := l.events[i].Report.TurnExtended; t != nil {
			l.events[i].Report.TurnExtended = &wire.TurnExtended{TurnSeq: t.TurnSeq}
		}
		if s := l.events[i].Report.Interrupted; s != nil {
			bare := *s
			bare.Said, bare.Unsaid, bare.With = "", "", ""
			l.events[i].Report.Interrupted = &bare
		}
		if s := l.events[i].Report.Speech; s != nil {
			bare := *s
			bare.Said, bare.Unsaid, bare.With = "", "", ""
			l.events[i].Report.Speech = &bare
		}
	}
}

// Heard is what Listen gives.
type Heard struct {
	Events []Event
	// Next is the cursor to go on from.
	Next int64
	// Missed means that events between the cursor and the first one here are forgotten.
	Missed bool
	// Over means that there will be no more.
	Over bool
}

// Listen gives the events of a meeting after a cursor (0: from the beginning), at most limit of them (0: all). Where
// there are none it waits for one, at most for wait. The text of a transcript is in its file.
func (k *Keeper) Listen(ctx context.Context, t tenant.ID, id string, cursor int64, limit int, wait time.Duration) (Heard, error) {
	return k.listen(ctx, t, id, cursor, limit, wait, false)
}

// ListenLive does the same and gives an unfinished transcript, too, where one comes while it waits: the newest, behind
// the other events, and without a cursor of its own.
func (k *Keeper) ListenLive(ctx context.Context, t tenant.ID, id string, cursor int64, limit int, wait time.Duration) (Heard, error) {
	return k.listen(ctx, t, id, cursor, limit, wait, true)
}

func (k *Keeper) listen(ctx context.Context, t tenant.ID, id string, cursor int64, limit int, wait time.Duration, live bool) (Heard, error) {
	a := k.find(t, id)
	if a == nil {
		s, err := k.Status(ctx, t, id)
		if err != nil {
			return Heard{}, err
		}
		if s.Elsewhere {
			return Heard{}, ErrElsewhere
		}
		return Heard{Next: cursor, Missed: true, Over: true}, nil
	}
	var h Heard
	seen := int64(-1)
	look := func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		if seen < 0 {
			seen = a.log.partials
		}
		h.Events, h.Missed = a.log.since(cursor, limit)
		h.Next = cursor
		if n := len(h.Events); n > 0 {
			h.Next = h.Events[n-1].Cursor
		}
		h.Over = a.gone && h.Next >= a.log.next
		if live && a.log.unfinished != nil && a.log.partials > seen && !h.Over {
			h.Events = append(h.Events, *a.log.unfinished)
		}
		return len(h.Events) > 0 || h.Over
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	a.until(ctx, look)
	return h, nil
}

// Chat gives the messages after the n-th, ours included, and how many were forgotten before them.
func (k *Keeper) Chat(ctx context.Context, t tenant.ID, id string, since int64, limit int) (messages []Message, missed bool, err error) {
	a := k.find(t, id)
	if a == nil {
		switch s, err := k.Status(ctx, t, id); {
		case err != nil:
			return nil, false, err
		case s.Elsewhere:
			return nil, false, ErrElsewhere
		}
		return nil, true, nil // it ended long ago
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.log.chat {
		if m.N > since && (limit <= 0 || len(messages) < limit) {
			messages = append(messages, m)
		}
	}
	return messages, since < a.log.lost, nil
}

// Watch gives the events of all meetings from now on, until ctx ends or the keeper is shut down; then the channel is
// closed. The first watcher also gets what was told before it came. Its queue holds 1024: a reader that does not keep up loses partials first, then the oldest; Lost counts them.
func (k *Keeper) Watch(ctx context.Context) <-chan Event { return k.hub.watch(ctx, true) }

// Converse is Watch for whoever carries conversations: what was told before it came waits for a Watch.
func (k *Keeper) Converse(ctx context.Context) <-chan Event { return k.hub.watch(ctx, false) }

// Lost is how many events watchers did not get because they were too slow.
func (k *Keeper) Lost() int64 {
	k.hub.mu.Lock()
	defer k.hub.mu.Unlock()
	return k.hub.lost
}

// hub passes events on to watchers.
type hub struct {
	mu       sync.Mutex
	watchers map[*watcher]bool
	closed   bool
	lost     int64
	early    []Event // until the first watcher comes: the ends of interrupted meetings are told at the start
	begun    bool
}

type watcher struct {
	queue []Event
	ready chan struct{}
	quit  bool
}

func (h *hub) watch(ctx context.Context, early bool) <-chan Event {
	out := make(chan Event)
	w := &watcher{ready: make(chan struct{}, 1)}
	h.mu.Lock()
	if h.watchers == nil {
		h.watchers = map[*watcher]bool{}
	}
	w.quit = h.closed
	if early && !h.begun {
		h.begun, w.queue, h.early = true, h.early, nil
	}
	h.watchers[w] = true
	h.mu.Unlock()
	go func() {
		defer close(out)
		defer func() {
			h.mu.Lock()
			delete(h.watchers, w)
			h.mu.Unlock()
		}()
		for {
			ev, ok, quit := h.take(w)
			if !ok {
				if quit {
					return
				}
				select {
				case <-w.ready:
					continue
				case <-ctx.Done():
					return
				}
			}
			select {
			case out <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func (h *hub) take(w *watcher) (ev Event, ok, quit bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(w.queue) == 0 {
		return Event{}, false, w.quit
	}
	ev = w.queue[0]
	w.queue = w.queue[1:]
	return ev, true, false
}

// publish never waits.
func (h *hub) publish(ev Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun && !ev.Partial() && len(h.early) < listenBound {
		h.early = append(h.early, ev)
	}
	for w := range h.watchers {
		if len(w.queue) >= listenBound {
			h.lost++
			if ev.Partial() {
				continue
			}
			w.makeRoom()
		}
		w.queue = append(w.queue, ev)
		w.wake()
	}
}

// makeRoom drops the oldest partial, else the oldest event that neither begins nor ends a conversation.
func (w *watcher) makeRoom() {
	i := slices.IndexFunc(w.queue, Event.Partial)
	if i < 0 {
		i = slices.IndexFunc(w.queue, func(e Event) bool { return e.Report.Channel == nil })
	}
	i = max(i, 0)
	w.queue = append(w.queue[:i:i], w.queue[i+1:]...)
}

func (w *watcher) wake() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for w := range h.watchers {
		w.quit = true
		w.wake()
	}
}
