package mcpl

import (
	"slices"
	"sync"
)

// OutboxSize is how many events of a tenant wait for a host.
const OutboxSize = 20

// Outbox keeps a tenant's events while no host takes them. It is safe for concurrent use.
type Outbox struct {
	mu      sync.Mutex
	events  []Waiting
	dropped int64
}

// Waiting is an event that waits.
type Waiting struct {
	Event
	// Meeting is whose it is; Words tells that it says what people wrote or said.
	Meeting string
	Words   bool
}

// Add puts an event at the end; when the outbox is full the oldest is dropped and counted.
func (o *Outbox) Add(w Waiting) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.ContainsFunc(o.events, func(x Waiting) bool { return x.ID == w.ID }) {
		return
	}
	o.events = append(o.events, w)
	// An event that comes back was there before the others.
	slices.SortStableFunc(o.events, func(a, b Waiting) int { return a.At.Compare(b.At) })
	if over := len(o.events) - OutboxSize; over > 0 {
		o.events = slices.Delete(o.events, 0, over)
		o.dropped += int64(over)
	}
}

// Take empties the outbox of the events whose feature set is wanted.
func (o *Outbox) Take(want func(set string) bool) []Waiting {
	o.mu.Lock()
	defer o.mu.Unlock()
	var taken []Waiting
	o.events = slices.DeleteFunc(o.events, func(w Waiting) bool {
		if want(w.FeatureSet) {
			taken = append(taken, w)
			return true
		}
		return false
	})
	return taken
}

// Forget drops what says what people of a meeting wrote or said.
func (o *Outbox) Forget(meeting string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = slices.DeleteFunc(o.events, func(w Waiting) bool { return w.Meeting == meeting && w.Words })
}

// Counts tells how many wait and how many were dropped.
func (o *Outbox) Counts() (waiting int, dropped int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.events), o.dropped
}
