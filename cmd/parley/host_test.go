package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/tenant"
)

// host is an MCPL host of the newest kind, as plain as one can be: it takes every channel and notes what comes.
type host struct {
	t     *testing.T
	write func([]byte) error

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when something came
	next    int
	answers map[string]wireMessage
	opened  []string // channels that are there
	gone    []string
	heard   []incoming
	ended   error
}

type wireMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error,omitempty"`
}

// incoming is a message of a channel.
type incoming struct {
	Channel  string   `json:"channelId"`
	ID       string   `json:"messageId"`
	Thread   string   `json:"threadId"`
	Tags     []string `json:"tags"`
	Metadata struct {
		Seq     int64 `json:"seq"`
		TurnSeq int64 `json:"turn_seq"`
		Final   *bool `json:"final"`
		Echo    bool  `json:"echo_suspected"`
	} `json:"metadata"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
}

func (m incoming) partial() bool { return slices.Contains(m.Tags, "parley:partial") }

// turn tells whether a message is somebody's whole turn.
func (m incoming) turn() bool {
	return slices.Contains(m.Tags, "parley:meeting-transcript") && !m.partial() && !m.Metadata.Echo
}

func newHost(t *testing.T, write func([]byte) error) *host {
	return &host{t: t, write: write, changed: make(chan struct{}), answers: map[string]wireMessage{}}
}

// overWebSocket connects a host to the service of a house.
func (h *house) overWebSocket() *host {
	h.t.Helper()
	token, err := tenant.ReadLocalToken(h.data)
	if err != nil {
		h.t.Fatal(err)
	}
	ws, _, err := websocket.Dial(h.ctx, "ws"+strings.TrimPrefix(h.c.address, "http"), &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		h.t.Fatal(err)
	}
	ws.SetReadLimit(4 << 20)
	host := newHost(h.t, func(b []byte) error { return ws.Write(h.ctx, websocket.MessageText, b) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			_, b, err := ws.Read(h.ctx)
			if err != nil {
				host.end(err)
				return
			}
			host.read(b)
		}
	}()
	h.t.Cleanup(func() { _ = ws.CloseNow(); <-done })
	host.handshake(h.ctx)
	return host
}

// overStdio starts a program of ours and connects a host to its standard input and output.
func (h *house) overStdio(command string, env ...string) *host {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(self, command)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	host := newHost(h.t, func(b []byte) error { _, err := in.Write(append(b, '\n')); return err })
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			host.read(lines.Bytes())
		}
		host.end(fmt.Errorf("the program said no more: %w", lines.Err()))
	}()
	h.t.Cleanup(func() {
		_ = in.Close() // that ends it
		late := time.AfterFunc(40*time.Second, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		<-done
		if err := cmd.Wait(); err != nil {
			h.t.Errorf("%s: %v", command, err)
		}
	})
	host.handshake(h.ctx)
	return host
}

func (h *host) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = err
	h.wake()
}

func (h *host) wake() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// read takes a message of the service and answers it.
func (h *host) read(b []byte) {
	var m wireMessage
	if json.Unmarshal(b, &m) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.wake()
	if m.Method == "" {
		h.answers[string(m.ID)] = m
		return
	}
	var p struct {
		Channels []struct {
			ID string `json:"id"`
		} `json:"channels"`
		Removed  []string   `json:"removed"`
		Messages []incoming `json:"messages"`
	}
	_ = json.Unmarshal(m.Params, &p) // what it does not hold is not ours to check
	var results []map[string]any
	for _, c := range p.Channels {
		h.opened = append(h.opened, c.ID)
		results = append(results, map[string]any{"id": c.ID, "accepted": true})
	}
	for _, id := range p.Removed {
		h.gone = append(h.gone, id)
		results = append(results, map[string]any{"id": id, "accepted": true})
	}
	for _, in := range p.Messages {
		h.heard = append(h.heard, in)
		results = append(results, map[string]any{"messageId": in.ID, "accepted": true})
	}
	if m.ID == nil {
		return
	}
	raw, err := json.Marshal(map[string]any{"accepted": true, "results": results})
	if err == nil {
		raw, err = json.Marshal(wireMessage{Version: "2.0", ID: m.ID, Result: raw})
	}
	if err == nil {
		err = h.write(raw)
	}
	if err != nil {
		h.ended = err
	}
}

// until waits until something is so; it is asked under the lock.
func (h *host) until(ctx context.Context, what string, yes func() bool) {
	h.t.Helper()
	limit := time.NewTimer(90 * time.Second)
	defer limit.Stop()
	for {
		h.mu.Lock()
		ok, changed, ended := yes(), h.changed, h.ended
		h.mu.Unlock()
		switch {
		case ok:
			return
		case ended != nil:
			h.t.Fatalf("%s: the connection ended: %v", what, ended)
		}
		select {
		case <-changed:
		case <-limit.C:
			h.t.Fatalf("%s: not within 90 s", what)
		case <-ctx.Done():
			h.t.Fatalf("%s: %v", what, ctx.Err())
		}
	}
}

// call sends a request and gives its answer.
func (h *host) call(ctx context.Context, method string, params any) wireMessage {
	h.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	id := fmt.Sprint(h.next)
	h.next++
	raw, err = json.Marshal(wireMessage{Version: "2.0", ID: json.RawMessage(id), Method: method, Params: raw})
	if err == nil {
		err = h.write(raw)
	}
	h.mu.Unlock()
	if err != nil {
		h.t.Fatal(err)
	}
	var m wireMessage
	h.until(ctx, "the answer to "+method, func() bool {
		var ok bool
		m, ok = h.answers[id]
		return ok
	})
	return m
}

func (h *host) handshake(ctx context.Context) {
	h.t.Helper()
	leaves := map[string]any{"register": true, "lifecycle": true, "publish": true, "incoming": true, "streaming": true}
	m := h.call(ctx, "initialize", map[string]any{"protocolVersion": "2024-11-05", "clientInfo": map[string]any{"name": "host", "version": "1"},
		"capabilities": map[string]any{"experimental": map[string]any{"mcpl": map[string]any{"version": "0.5", "pushEvents": true, "featureSets": true, "channels": leaves}}}})
	if !strings.Contains(string(m.Result), `"mcpl"`) {
		h.t.Fatalf("no MCPL: %s", m.Result)
	}
	h.mu.Lock()
	err := h.write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	h.mu.Unlock()
	if err != nil {
		h.t.Fatal(err)
	}
	m = h.call(ctx, "featureSets/update", map[string]any{"enabled": []string{"parley.meeting"}, "effectiveCapabilities": []string{"tools", "pushEvents",
		"channels.register", "channels.lifecycle", "channels.publish", "channels.incoming", "channels.streaming"}})
	if !strings.Contains(string(m.Result), `"accepted":true`) {
		h.t.Fatalf("the policy: %s", m.Result)
	}
}

// tool calls a tool.
func (h *host) tool(ctx context.Context, name string, args map[string]any, result any) {
	h.t.Helper()
	m := h.call(ctx, "tools/call", map[string]any{"name": name, "arguments": args})
	var r struct {
		IsError    bool            `json:"isError"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil || r.IsError {
		h.t.Fatalf("%s: %s %v", name, m.Result, err)
	}
	if result != nil {
		if err := json.Unmarshal(r.Structured, result); err != nil {
			h.t.Fatal(err)
		}
	}
}

// publish says something in a channel.
func (h *host) publish(ctx context.Context, channel, text string, turn int64) (r struct {
	Delivered bool   `json:"delivered"`
	MessageID string `json:"messageId"`
	Reason    string `json:"reason"`
}) {
	h.t.Helper()
	m := h.call(ctx, "channels/publish", map[string]any{"channelId": channel, "content": []any{map[string]any{"type": "text", "text": text}}, "turn_seq": turn})
	if m.Error != nil {
		h.t.Fatalf("publish: %+v", m.Error)
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		h.t.Fatal(err)
	}
	return r
}
