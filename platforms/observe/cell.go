package observe

import (
	"context"
	"fmt"
	"sync"
)

// Cell holds what a page showed last: one goroutine changes it, any may look at it or wait on it.
type Cell[S any] struct {
	mu      sync.Mutex
	state   S
	changed chan struct{} // closed and replaced whenever the state changes
}

// NewCell makes a cell with its first state.
func NewCell[S any](first S) *Cell[S] { return &Cell[S]{state: first, changed: make(chan struct{})} }

// Update changes the state and wakes who waits.
func (c *Cell[S]) Update(f func(*S)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.state)
	close(c.changed)
	c.changed = make(chan struct{})
}

// Look looks at the state. The channel is closed at the next change after it.
func (c *Cell[S]) Look(f func(*S)) (changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.state)
	return c.changed
}

// Until waits until the state is as wanted. It returns the context's cause when that ends first.
func (c *Cell[S]) Until(ctx context.Context, ok func(*S) bool) error {
	for {
		done := false
		changed := c.Look(func(s *S) { done = ok(s) })
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for the page: %w", context.Cause(ctx))
		}
	}
}
