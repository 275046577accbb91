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

// grace is how long a stranger keeps its place at the least: long enough for one request. Who opens connections faster than
// that waits for its turn to be accepted, and cannot push an honest client out between its connection and its first word.
const grace = 100 * time.Millisecond

type conn struct {
	net     net.Conn
	at      time.Time
	genuine bool // a request on it was
	busy    bool // a request is under way on it
	since   time.Time
	refused int // since then
}

// worth orders what may be closed to make room: strangers first, then who only keeps a connection, then work under way.
func (c *conn) worth() int {
	switch {
	case !c.genuine:
		return 0
	case !c.busy:
		return 1
	}
	return 2
}

type connKey struct{}

// context is the server's ConnContext: it counts a new connection in, at the cost of the oldest of least worth. It is called
// by the loop that accepts, which waits with it.
func (c *conns) context(ctx context.Context, n net.Conn) context.Context {
	o := &conn{net: n}
	for {
		wait := c.admit(o)
		if wait <= 0 {
			return context.WithValue(ctx, connKey{}, o)
		}
		time.Sleep(wait)
	}
}

// admit counts a connection in, or says after which time there is room for it.
func (c *conns) admit(o *conn) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.at = time.Now()
	if len(c.open) >= c.limit {
		out := c.open[0]
		for _, old := range c.open {
			if old.worth() < out.worth() {
				out = old
			}
		}
		if wait := grace - o.at.Sub(out.at); !out.genuine && wait > 0 {
			return wait
		}
		_ = out.net.Close() // its own end reports to state
		c.remove(out.net)
	}
	c.open = append(c.open, o)
	return 0
}

// state is the server's ConnState.
func (c *conns) state(n net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s == http.StateClosed || s == http.StateHijacked {
		c.remove(n)
		return
	}
	for _, o := range c.open {
		if o.net == n {
			o.busy = s == http.StateActive
		}
	}
}

func (c *conns) remove(n net.Conn) {
	for i, o := range c.open {
		if o.net == n {
			c.open = append(c.open[:i], c.open[i+1:]...)
			return
		}
	}
}

// closeStrangers closes the connections on which nothing genuine came: the end does not wait for them.
func (c *conns) closeStrangers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.open {
		if !o.genuine {
			_ = o.net.Close()
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
