package serve

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestAStrangerHasTimeForOneRequest: a flood of connections waits to be accepted instead of pushing out who just came, and
// whoever was genuine is pushed out last.
func TestAStrangerHasTimeForOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &conns{limit: 2}
		come := func() (net.Conn, context.Context, time.Duration) {
			ours, theirs := net.Pipe()
			t.Cleanup(func() { _ = ours.Close(); _ = theirs.Close() })
			begin := time.Now()
			ctx := c.context(context.Background(), ours)
			return ours, ctx, time.Since(begin)
		}
		gone := func(n net.Conn) bool {
			_ = n.SetReadDeadline(time.Now().Add(-time.Second))
			_, err := n.Read(make([]byte, 1))
			e, ok := err.(net.Error)
			return !ok || !e.Timeout()
		}
		first, ctx, wait := come()
		if wait != 0 {
			t.Errorf("the first waits %v", wait)
		}
		c.genuine(ctx)
		time.Sleep(grace / 4)
		second, _, _ := come()
		third, _, wait := come()
		if wait != grace || !gone(second) || gone(first) {
			t.Errorf("the third waits %v; the second is gone: %v, the genuine one: %v", wait, gone(second), gone(first))
		}
		time.Sleep(grace)
		if _, _, wait := come(); wait != 0 || !gone(third) || gone(first) {
			t.Errorf("later one waits %v", wait)
		}
	})
}
