package platformtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/meeting"
)

// patience is how long the suite waits for what must come. It is generous: machines under test are busy.
const patience = time.Minute

// Watch keeps the events of a Call.
type Watch struct {
	mu   sync.Mutex
	all  []meeting.CallEvent
	news chan struct{} // closed and replaced with every event
	done chan struct{}
}

// NewWatch takes the events from now on.
func NewWatch(events <-chan meeting.CallEvent) *Watch {
	w := &Watch{news: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for e := range events {
			w.mu.Lock()
			w.all = append(w.all, e)
			close(w.news)
			w.news = make(chan struct{})
			w.mu.Unlock()
		}
	}()
	return w
}

// end waits for the end of the events, which is the Call's to bring about.
func (w *Watch) end() { <-w.done }

// String lists what was seen, without what people wrote.
func (w *Watch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, e := range w.all {
		switch e := e.(type) {
		case meeting.SeenPlace:
			fmt.Fprintf(&b, "\n  place %s %s %v", e.Place, e.Reason, e.Signs)
		case meeting.SeenPeople:
			fmt.Fprintf(&b, "\n  people %d", e.Count)
		default:
			fmt.Fprintf(&b, "\n  %T", e)
		}
	}
	return b.String()
}

// Mark is how many events there were so far.
func (w *Watch) Mark() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// After gives the events from a mark on.
func (w *Watch) After(mark int) []meeting.CallEvent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]meeting.CallEvent(nil), w.all[min(mark, len(w.all)):]...)
}

// await waits for an event of a type for which ok is true, from a mark on.
func await[E meeting.CallEvent](t *testing.T, w *Watch, mark int, what string, ok func(E) bool) E {
	t.Helper()
	limit := time.After(patience)
	for {
		w.mu.Lock()
		news := w.news
		for _, e := range w.all[min(mark, len(w.all)):] {
			if v, is := e.(E); is && ok(v) {
				w.mu.Unlock()
				return v
			}
		}
		w.mu.Unlock()
		select {
		case <-news:
		case <-w.done:
			t.Fatalf("the events ended before: %s", what)
		case <-limit:
			t.Fatalf("never came: %s", what)
		}
	}
}

// Place waits until the page says that we are there.
func (w *Watch) Place(t *testing.T, mark int, place meeting.Place) meeting.SeenPlace {
	t.Helper()
	return await(t, w, mark, "place "+string(place), func(e meeting.SeenPlace) bool { return e.Place == place })
}

// Never fails the test if an event of this place is among those after the mark.
func (w *Watch) Never(t *testing.T, mark int, place meeting.Place) {
	t.Helper()
	for _, e := range w.After(mark) {
		if p, ok := e.(meeting.SeenPlace); ok && p.Place == place {
			t.Errorf("was seen, and must not be: %s %s", p.Place, p.Reason)
		}
	}
}
