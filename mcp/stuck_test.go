package mcp

import (
	"context"
	"io"
	"sync/atomic"
)

// stuck is a wire whose other side reads nothing.
type stuck struct {
	block chan struct{}
	slow  atomic.Bool
}

func (s *stuck) ReadFrame(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, io.EOF }
func (s *stuck) WriteFrame(ctx context.Context, _ []byte) error {
	select {
	case <-s.block:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
func (s *stuck) Close(slow bool) error {
	if slow {
		s.slow.Store(true)
	}
	return nil
}
func (s *stuck) Drains() bool { return false }
