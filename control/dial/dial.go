// Package dial carries a client's calls to a control endpoint over HTTP, and does no more than the connection file says.
package dial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"parley/control/client"
	"parley/control/connection"
	"parley/control/wire"
)

// ErrRefused says that the endpoint, or whatever listens there now, refused.
var ErrRefused = errors.New("the endpoint refused: the grant ended, the budget is spent, or it was started anew; pair anew if it goes on")

// Client calls one endpoint. It may be used by several goroutines.
type Client struct {
	address string
	end     client.Endpoint
	http    *http.Client
	now     func() time.Time
	wait    func(context.Context, time.Duration) error
}

// New makes a client for a literal loopback address. Close ends it.
func New(address string, e client.Endpoint) (*Client, error) {
	if err := connection.CheckAddress(address); err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 2 * time.Second}
	return &Client{address: address, end: e, now: time.Now, wait: wait, http: &http.Client{
		// No proxy out of the environment, no redirect, no cookie.
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableCompression: true, MaxResponseHeaderBytes: 8 << 10, MaxIdleConns: 2, IdleConnTimeout: 5 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do does one action and returns its authenticated reply, which may be a failure. An error means that there was none. ctx must
// have a deadline; without one Do gives each try 5 s more than the endpoint gives an action. Only an authenticated busy is
// tried again.
func (c *Client) Do(ctx context.Context, r wire.Request) (wire.Reply, error) {
	for try := 0; ; try++ {
		reply, err := c.once(ctx, r)
		if err != nil || !reply.Retry() || try == len(client.Waits) {
			return reply, err
		}
		if err := c.wait(ctx, client.Waits[try]); err != nil {
			return wire.Reply{}, err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Client) once(ctx context.Context, r wire.Request) (wire.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, wire.ActionTimeout+5*time.Second)
	defer cancel()
	call, err := client.New(c.end)
	if err != nil {
		return wire.Reply{}, err
	}
	m, err := call.Ask(c.now())
	if err != nil {
		return wire.Reply{}, err
	}
	answer, status, err := c.post(ctx, m)
	if err != nil {
		return wire.Reply{}, fmt.Errorf("ask for a challenge: %w", err)
	}
	m, err = call.Act(c.now(), answer, r)
	if err != nil {
		if status == http.StatusForbidden && errors.Is(err, client.ErrUntrusted) {
			return wire.Reply{}, ErrRefused
		}
		return wire.Reply{}, err
	}
	answer, _, err = c.post(ctx, m)
	if err != nil {
		return wire.Reply{}, fmt.Errorf("%w: %w", client.ErrNoReply, err)
	}
	return call.Read(answer)
}

// post sends one message. The status is for the wording of an error alone.
func (c *Client) post(ctx context.Context, m client.Message) (_ []byte, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.address+m.Route, bytes.NewReader(m.Body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set(wire.ProofHeader, m.Proof)
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, wire.MaxAnswer+1))
	return body, resp.StatusCode, err
}
