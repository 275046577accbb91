package links

import (
	"context"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

type connKey struct{}

// WithConn notes a request's connection in its context, so that a link is used up by what arrived rather
// than by what was handed to the system. It is for http.Server.ConnContext.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// arrived waits until the other side's system acknowledged everything that was written. Without a
// connection to ask, everything counts as arrived.
func arrived(ctx context.Context, within time.Duration) bool {
	c, _ := ctx.Value(connKey{}).(net.Conn)
	for {
		under, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = under.NetConn()
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	deadline := time.Now().Add(within)
	for last := false; ; {
		waiting := 0
		var queueErr error
		if err := raw.Control(func(fd uintptr) { waiting, queueErr = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) }); err != nil {
			return false // closed meanwhile
		}
		if queueErr != nil || waiting == 0 {
			return true
		}
		if last || time.Now().After(deadline) {
			return false
		}
		// The system has no event for this; it is over in a moment, or the client is gone. One that has everything may
		// hang up before we look again.
		select {
		case <-ctx.Done():
			last = true
		case <-time.After(2 * time.Millisecond):
		}
	}
}
