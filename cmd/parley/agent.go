package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/settings"
	"parley/tenant"
	"parley/tool"
)

// agent is a service of our own with an MCP client connected to it over HTTP, as the demo and the bench use it.
type agent struct {
	app     *app
	client  *sdk.ClientSession
	serving chan error
	stop    context.CancelFunc
	once    sync.Once
}

// startAgent starts both on a free port.
func startAgent(ctx context.Context, v *settings.Values, log *slog.Logger) (*agent, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	app, err := newApp(ctx, v, appOptions{log: log, level: quietLevel(v), needToken: true})
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	serving, stop := context.WithCancel(context.Background())
	a := &agent{app: app, serving: make(chan error, 1), stop: stop}
	go func() { a.serving <- app.serve(serving, l) }()
	token, err := tenant.ReadLocalToken(dataDir(v))
	if err == nil {
		client := sdk.NewClient(&sdk.Implementation{Name: "parley-demo", Version: version}, nil)
		a.client, err = client.Connect(ctx, &sdk.StreamableClientTransport{
			Endpoint: "http://" + l.Addr().String() + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)},
		}, nil)
	}
	if err != nil {
		a.close()
		return nil, fmt.Errorf("connect to our own service: %w", err)
	}
	return a, nil
}

// bearer adds the token to each request.
type bearer string

// RoundTrip sends the request with the token.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (a *agent) close() {
	a.once.Do(func() {
		if a.client != nil {
			_ = a.client.Close() // the service ends right behind it
		}
		a.app.closeWithin(politeEnd)
		a.stop()
		<-a.serving
	})
}

// call makes a tool call over MCP and decodes its structured result.
func (a *agent) call(ctx context.Context, name string, args map[string]any, result any) error {
	res, err := a.client.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if res.IsError {
		text := "it failed"
		for _, c := range res.Content {
			if t, ok := c.(*sdk.TextContent); ok {
				text = t.Text
			}
		}
		return fmt.Errorf("%s: %s", name, text)
	}
	if result == nil {
		return nil
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

// errEnough ends listen without an error.
var errEnough = errors.New("enough")

// listen follows a meeting's events from a cursor until it ends, ctx does, or f says so.
func (a *agent) listen(ctx context.Context, id string, since int64, f func(tool.Event) error) error {
	for {
		var h tool.Heard
		err := a.call(ctx, "meeting_listen", map[string]any{"meeting_id": id, "since": since, "timeout_sec": 20}, &h)
		if ctx.Err() != nil {
			return context.Canceled
		}
		if err != nil {
			return err
		}
		for _, ev := range h.Events {
			if err := f(ev); err != nil {
				if errors.Is(err, errEnough) {
					return nil
				}
				return err
			}
		}
		since = h.Next
		if h.Ended {
			return nil
		}
	}
}

// until follows a meeting's events until one fits.
func (a *agent) until(ctx context.Context, id string, within time.Duration, what string, fits func(tool.Event) bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	found := false
	err := a.listen(ctx, id, 0, func(ev tool.Event) error {
		if fits(ev) {
			found = true
			return errEnough
		}
		return nil
	})
	switch {
	case found:
		return nil
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: it did not happen within %s", what, within)
	case err != nil:
		return err
	}
	return fmt.Errorf("the meeting ended before: %s", what)
}
