package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// conns bounds the connections: strangers must not keep the honest client out by holding all of them.
type conns struct {
	limit int
	mu    sync.Mutex
	open  []*conn // in order of arrival
}

type conn struct {
	net     net.Conn
	genuine bool
	since   time.Time // of the refusals counted
	refused int
}

type connKey struct{}

func (c *conns) context(ctx context.Context, n net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.open {
		if o.net == n {
			return context.WithValue(ctx, connKey{}, o)
		}
	}
	o := &conn{net: n}
	var out *conn
	if len(c.open) >= c.limit {
		out = c.open[0]
		for _, old := range c.open {
			if !old.genuine {
				out = old
				break
			}
		}
	}
	c.open = append(c.open, o)
	if out != nil {
		_ = out.net.Close() // its own end reports to state
	}
	return context.WithValue(ctx, connKey{}, o)
}

func (c *conns) state(n net.Conn, s http.ConnState) {
	if s != http.StateClosed && s != http.StateHijacked {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, o := range c.open {
		if o.net == n {
			c.open = append(c.open[:i], c.open[i+1:]...)
			return
		}
	}
}

func (c *conns) genuine(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := ctx.Value(connKey{}).(*conn); ok {
		o.genuine = true
	}
}

// refused counts a refusal and says how many there were in this minute.
func (c *conns) refused(ctx context.Context, now time.Time) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return 0
	}
	if now.Sub(o.since) >= time.Minute {
		o.since, o.refused = now, 0
	}
	o.refused++
	return o.refused
}
