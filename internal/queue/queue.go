// Package queue is a channel whose writer never waits: when it is full the oldest value goes, and is counted.
package queue

import (
	"sync"
	"sync/atomic"
)

// Queue holds values for one reader. Make it with New.
type Queue[T any] struct {
	mu      sync.Mutex
	ch      chan T
	closed  bool
	dropped atomic.Int64
}

// New makes a queue that holds up to bound values.
func New[T any](bound int) *Queue[T] { return &Queue[T]{ch: make(chan T, bound)} }

// Put adds a value; after Close it does nothing.
func (q *Queue[T]) Put(v T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed {
		select {
		case q.ch <- v:
			return
		default:
		}
		select {
		case <-q.ch:
			q.dropped.Add(1)
		default: // the reader was faster
		}
	}
}

// C is where the reader takes the values. It is closed by Close, after what is in it.
func (q *Queue[T]) C() <-chan T { return q.ch }

// Dropped is how many values went because nobody took them in time.
func (q *Queue[T]) Dropped() int64 { return q.dropped.Load() }

// Close ends the queue. It may be called again.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.ch)
	}
}
