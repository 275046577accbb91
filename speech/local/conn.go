package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"parley/speech"
	"parley/speech/wire"
)

// conn is a connection to the process after the greeting. One goroutine reads; writes may come from several.
type conn struct {
	net  *net.UnixConn
	r    *wire.Reader
	mu   sync.Mutex // writes
	once sync.Once
	pid  int // who greeted
}

// writeTimeout ends a connection whose process does not read: it hangs, and a new one can be given the audio.
const writeTimeout = 30 * time.Second

func (c *conn) write(frames []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.net.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := c.net.Write(frames)
	return err
}

func (c *conn) close() { c.once.Do(func() { c.net.Close() }) }

// dial connects to the process that runs, if any does.
func dial(ctx context.Context, runDir, label string) (*conn, error) {
	d := net.Dialer{}
	nc, err := d.DialContext(ctx, "unix", wire.SocketPath(runDir))
	if err != nil {
		return nil, err
	}
	c := &conn{net: nc.(*net.UnixConn), r: wire.NewReader(nc)}
	stop := context.AfterFunc(ctx, c.close)
	defer stop()
	if err := c.greet(label); err != nil {
		c.close()
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, err
	}
	return c, nil
}

func (c *conn) greet(label string) error {
	if err := c.write(wire.AppendJSON(nil, wire.TypeHello, wire.Hello{Version: wire.Version, Label: label})); err != nil {
		return err
	}
	body, err := c.expect(wire.TypeReady)
	if err != nil {
		return err
	}
	ready, err := wire.Parse[wire.Ready](body)
	if err != nil {
		return err
	}
	if ready.Version != wire.Version {
		return &speech.Error{Kind: speech.KindUnavailable, Op: "connect", Err: fmt.Errorf("the running speech process speaks version %d, this program version %d: wait until it ends or stop it", ready.Version, wire.Version)}
	}
	c.pid = ready.PID
	return nil
}

// expect reads until a frame of type want; a fault becomes an error.
func (c *conn) expect(want wire.Type) ([]byte, error) {
	for {
		typ, body, err := c.r.Next()
		if err != nil {
			return nil, err
		}
		switch typ {
		case want:
			return body, nil
		case wire.TypeFault:
			return nil, faultError(body)
		}
	}
}

// faultError makes an error of the process's words.
func faultError(body []byte) error {
	f, err := wire.Parse[wire.Fault](body)
	if err != nil {
		return err
	}
	return &speech.Error{Kind: f.Kind, Op: "speech process", Err: errors.New(f.Text)}
}

// errNoAnswer is not fatal for a stream that was open before: the process may be busy or about to be restarted.
var errNoAnswer = fmt.Errorf("the speech process did not answer in time: %w", errSeeLog)

// lockPause is how often a client looks whether the one that holds the lock has got its process up.
const lockPause = 50 * time.Millisecond

// connect gives a connection to the process, and starts the process when there is none.
func (e *Engine) connect(ctx context.Context, label string) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.o.StartTimeout, errNoAnswer)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	for {
		c, err := dial(ctx, e.o.RunDir, label)
		switch {
		case err == nil:
			e.greeted.Store(int64(c.pid))
			return c, nil
		case context.Cause(ctx) != nil:
			return nil, e.gaveUp(ctx)
		case kindOf(err, "") != "" || errors.Is(err, wire.ErrFrame):
			return nil, err
		}
		// The one we started says best why it is not there.
		if err := e.obituary(ctx); err != nil {
			return nil, err
		}
		switch err := e.start(ctx); {
		case err == nil:
		case errors.Is(err, wire.ErrClaimed):
			if sleep(ctx, lockPause) != nil {
				return nil, e.gaveUp(ctx)
			}
		case context.Cause(ctx) != nil:
			return nil, e.gaveUp(ctx)
		default:
			return nil, err
		}
	}
}

// gaveUp is cause, and keeps the log for whoever is pointed to it.
func (e *Engine) gaveUp(ctx context.Context) error {
	err := e.cause(ctx)
	if errors.Is(err, errNoAnswer) {
		e.keepLog()
	}
	return err
}

// cause says why a connect was given up.
func (e *Engine) cause(ctx context.Context) error {
	if e.ctx.Err() != nil {
		return unavailable("%w", errClosed)
	}
	return context.Cause(ctx)
}

// obituary waits for the exit status of a child whose socket has just failed, and gives its reason once, when starting
// it again would not help.
func (e *Engine) obituary(ctx context.Context) error {
	e.mu.Lock()
	c := e.child
	e.mu.Unlock()
	if c == nil {
		return nil
	}
	select {
	case <-c.done:
	case <-time.After(time.Second):
		return nil // it lives, or something else is reaping for us
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	e.mu.Lock()
	if e.child == c {
		e.child = nil
	}
	e.mu.Unlock()
	if kindOf(c.err, "") == speech.KindUnavailable {
		return c.err
	}
	return nil
}

// signal leaves a token, if none is there.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
