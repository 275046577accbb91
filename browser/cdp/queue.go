package cdp

import (
	"sync"
	"sync/atomic"
)

// queue is a channel whose writer never waits: when it is full the oldest value goes and is counted.
type queue[T any] struct {
	mu      sync.Mutex
	ch      chan T
	closed  bool
	dropped atomic.Int64
}

func newQueue[T any](bound int) *queue[T] { return &queue[T]{ch: make(chan T, bound)} }

func (q *queue[T]) put(v T) {
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
		default:
		}
	}
}

func (q *queue[T]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.ch)
	}
}
