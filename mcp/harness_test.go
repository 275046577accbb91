package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/mcp/bridge"
	"parley/store"
	"parley/tenant"
	"parley/tool"
	"parley/tool/toolfake"
)

// world is a server with simulated meetings on a free port.
type world struct {
	t        testing.TB
	meetings *toolfake.Meetings
	tools    *tool.Service
	server   *Server
	addr     string
}

// Tokens of the world: me and you are full, swarm is ephemeral.
const (
	tokenMe    = "token-of-me-0123456789abcdefghijklm"
	tokenMe2   = "second-token-of-me-0123456789abcdef"
	tokenYou   = "token-of-you-0123456789abcdefghijkl"
	tokenSwarm = "token-of-swarm-0123456789abcdefghij"
)

func newWorld(t testing.TB, change func(*Options)) *world {
	t.Helper()
	return newWorldOf(t, nil, change)
}

// newWorldOf lets a test change the tools as well.
func newWorldOf(t testing.TB, tools func(*tool.Options), change func(*Options)) *world {
	t.Helper()
	reg, err := tenant.NewRegistry(tenant.Config{
		Tokens:   []tenant.Credential{{Tenant: "me", Token: tokenMe}, {Tenant: "me", Token: tokenMe2}, {Tenant: "you", Token: tokenYou}, {Tenant: "swarm", Token: tokenSwarm}},
		Policies: map[tenant.ID]tenant.Policy{"swarm": tenant.Ephemeral},
	})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, meetings: &toolfake.Meetings{Dir: t.TempDir()}}
	options := tool.Options{Tools: tool.Table(w.meetings, nil), Idempotency: st.Idempotency, Owner: "test",
		Limits: tool.Limits{PerMinute: 1e6, Burst: 1e6, Running: 1000}}
	if tools != nil {
		tools(&options)
	}
	w.tools, err = tool.NewService(options)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Version: "test", Tools: w.tools, Auth: reg, Events: w.meetings}
	if change != nil {
		change(&o)
	}
	w.server, err = New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := errors.Join(w.tools.Close(ctx), w.server.Close(ctx), <-served, st.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) url() string { return "http://" + w.addr + "/mcp" }

// bearer adds a token and other headers to every request.
type bearer struct {
	token  string
	header map[string]string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	for k, v := range b.header {
		r.Header.Set(k, v)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// post sends one body and gives status and answer.
func (w *world) post(token, body string, header map[string]string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url(), strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for k, v := range header {
		if k == "Host" {
			r.Host = v
		}
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// peer is a client that speaks raw frames.
type peer struct {
	t    testing.TB
	send func(string)
	recv func() (string, error)
	hang func() // ends the connection
	next int
	mu   sync.Mutex
	kept []map[string]any // messages that were read while another was awaited
}

// dial opens a WebSocket.
func (w *world) dial(token string, header map[string]string) (*peer, *http.Response, error) {
	h := http.Header{}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	o := &websocket.DialOptions{HTTPHeader: h, Subprotocols: []string{"mcp"}}
	url := "ws://" + w.addr + "/mcp"
	for k, v := range header {
		switch k {
		case "Host":
			o.Host = v
		case "query":
			url += "?" + v
		default:
			h.Set(k, v)
		}
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, url, o)
	if err != nil {
		return nil, resp, err
	}
	ws.SetReadLimit(32 << 20)
	w.t.Cleanup(func() { ws.CloseNow() })
	return &peer{t: w.t,
		send: func(s string) {
			if err := ws.Write(w.t.Context(), websocket.MessageText, []byte(s)); err != nil {
				w.t.Error(err)
			}
		},
		recv: func() (string, error) {
			ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
			defer cancel()
			_, b, err := ws.Read(ctx)
			return string(b), err
		},
		hang: func() { ws.CloseNow() }}, resp, nil
}

func (w *world) socket(token string) *peer {
	w.t.Helper()
	p, _, err := w.dial(token, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// stdio runs ServeStdio; closing the writer ends the input.
func (w *world) stdio() (*peer, io.Closer, <-chan error) {
	reg := w.server.o.Auth.(*tenant.Registry)
	me, _ := reg.Get("me")
	return w.piped(func(in io.ReadCloser, out io.Writer) error {
		return w.server.ServeStdio(w.t.Context(), in, out, tool.Caller{Principal: tenant.Principal{Tenant: me}})
	})
}

// bridge runs the bridge to the service; closing the writer ends its input.
func (w *world) bridge() (*peer, io.Closer, <-chan error) {
	return w.piped(func(in io.ReadCloser, out io.Writer) error {
		if code := bridge.Run(w.t.Context(), bridge.Config{URL: "ws://" + w.addr + "/mcp", Token: tokenMe}, in, out, io.Discard); code != 0 {
			return fmt.Errorf("the bridge ends with %d", code)
		}
		return nil
	})
}

// piped is a peer of something that reads and writes lines.
func (w *world) piped(run func(in io.ReadCloser, out io.Writer) error) (*peer, io.Closer, <-chan error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(inR, outW)
		outW.Close()
		done <- err
	}()
	sc := bufio.NewScanner(outR)
	sc.Buffer(nil, 32<<20)
	return &peer{t: w.t,
		send: func(s string) {
			if _, err := io.WriteString(inW, s+"\n"); err != nil {
				w.t.Error(err)
			}
		},
		recv: func() (string, error) {
			if sc.Scan() {
				return sc.Text(), nil
			}
			return "", io.EOF
		}}, inW, done
}

// read gives the next message.
func (p *peer) read() map[string]any {
	p.t.Helper()
	text, err := p.recv()
	if err != nil {
		p.t.Fatalf("reading: %v", err)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		p.t.Fatalf("%q: %v", text, err)
	}
	return m
}

// await gives the first message that fits; others are kept.
func (p *peer) await(what string, fits func(map[string]any) bool) map[string]any {
	p.t.Helper()
	for i, m := range p.kept {
		if fits(m) {
			p.kept = append(p.kept[:i], p.kept[i+1:]...)
			return m
		}
	}
	for range 1000 {
		m := p.read()
		if fits(m) {
			return m
		}
		p.kept = append(p.kept, m)
	}
	p.t.Fatalf("no %s", what)
	return nil
}

// call sends a request and gives its answer.
func (p *peer) call(method string, params any) map[string]any {
	p.t.Helper()
	p.next++
	id := p.next
	p.request(id, method, params)
	return p.answer(id)
}

func (p *peer) request(id any, method string, params any) {
	p.t.Helper()
	m := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		m["id"] = id
	}
	b, err := json.Marshal(m)
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(string(b))
}

func (p *peer) answer(id any) map[string]any {
	p.t.Helper()
	return p.await(fmt.Sprintf("answer to %v", id), func(m map[string]any) bool {
		_, isRequest := m["method"]
		return !isRequest && fmt.Sprint(m["id"]) == fmt.Sprint(id)
	})
}

// initialize does the old handshake.
func (p *peer) initialize(version string, experimental map[string]any) map[string]any {
	p.t.Helper()
	p.request(0, "initialize", map[string]any{"protocolVersion": version, "clientInfo": map[string]any{"name": "host", "version": "1"},
		"capabilities": map[string]any{"experimental": experimental}})
	r := p.answer(0)
	result, ok := r["result"].(map[string]any)
	if !ok {
		p.t.Fatalf("initialize: %v", r)
	}
	p.request(nil, "notifications/initialized", map[string]any{})
	return result
}

// tool calls a tool and gives its structured result.
func (p *peer) tool(name string, args map[string]any) map[string]any {
	p.t.Helper()
	r := p.call("tools/call", map[string]any{"name": name, "arguments": args})
	result, ok := r["result"].(map[string]any)
	if !ok {
		p.t.Fatalf("%s: %v", name, r)
	}
	if result["isError"] == true {
		return map[string]any{"error": result["_meta"].(map[string]any)[errorMeta].(map[string]any)["code"]}
	}
	return result["structuredContent"].(map[string]any)
}

// sdkSocket lets the library's client use a WebSocket.
type sdkSocket struct{ p *peer }

func (s sdkSocket) Connect(context.Context) (sdk.Connection, error) { return s, nil }
func (s sdkSocket) SessionID() string                               { return "" }
func (s sdkSocket) Close() error                                    { s.p.hang(); return nil }
func (s sdkSocket) Read(context.Context) (jsonrpc.Message, error) {
	text, err := s.p.recv()
	if err != nil {
		return nil, io.EOF
	}
	return jsonrpc.DecodeMessage([]byte(text))
}
func (s sdkSocket) Write(_ context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.send(string(b))
	return nil
}
