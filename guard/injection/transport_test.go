package injection

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/guard/choke"
	"parley/mcp"
	"parley/tenant"
	"parley/tool"
)

const token = "token-of-the-suite-0123456789abcdef"

// dial gives the model its way to the tools, as its host would: over one of the transports.
func dial(t *testing.T, transport string, s *tool.Service, g *choke.Guard) func(string, map[string]any) string {
	t.Helper()
	reg, err := tenant.NewRegistry(tenant.Config{Tokens: []tenant.Credential{{Tenant: "me", Token: token}}})
	if err != nil {
		t.Fatal(err)
	}
	o := mcp.Options{Version: "test", Tools: s, Auth: reg}
	if g != nil {
		o.Answer = g.Answer
	}
	server, err := mcp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var send func(string) error
	var recv func() (string, error)
	switch transport {
	case "http":
		web := httptest.NewServer(server.Handler())
		t.Cleanup(web.Close)
		return func(name string, args map[string]any) string { return post(t, web, name, args) }
	case "websocket":
		web := httptest.NewServer(server.Handler())
		t.Cleanup(web.Close)
		ws, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http")+"/mcp", &websocket.DialOptions{HTTPHeader: map[string][]string{"Authorization": {"Bearer " + token}}})
		if err != nil {
			t.Fatal(err)
		}
		ws.SetReadLimit(8 << 20)
		t.Cleanup(func() { ws.CloseNow() })
		send = func(m string) error { return ws.Write(t.Context(), websocket.MessageText, []byte(m)) }
		recv = func() (string, error) { _, b, err := ws.Read(t.Context()); return string(b), err }
	case "stdio":
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		me, err := reg.Local("me")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			done <- server.ServeStdio(context.Background(), inR, outW, tool.Caller{Principal: tenant.Principal{Tenant: me}})
			outW.Close()
		}()
		sc := bufio.NewScanner(outR)
		sc.Buffer(nil, 8<<20)
		t.Cleanup(func() { inW.Close(); outR.Close(); <-done })
		send = func(m string) error { _, err := io.WriteString(inW, m+"\n"); return err }
		recv = func() (string, error) {
			if sc.Scan() {
				return sc.Text(), nil
			}
			return "", errors.Join(io.EOF, sc.Err())
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = s.Close(ctx)
		_ = server.Close(ctx)
	})
	n := 0
	ask := func(method string, params any) string {
		n++
		b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": n, "method": method, "params": params})
		if err := send(string(b)); err != nil {
			t.Fatal(err)
		}
		for {
			text, err := recv()
			if err != nil {
				t.Fatal(err)
			}
			var m struct{ ID any }
			if json.Unmarshal([]byte(text), &m) == nil && fmt.Sprint(m.ID) == fmt.Sprint(n) {
				return text
			}
		}
	}
	ask("initialize", map[string]any{"protocolVersion": "2025-11-25", "clientInfo": map[string]any{"name": "model", "version": "1"}, "capabilities": map[string]any{}})
	if err := send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		t.Fatal(err)
	}
	return func(name string, args map[string]any) string {
		return words(ask("tools/call", map[string]any{"name": name, "arguments": args}))
	}
}

func post(t *testing.T, web *httptest.Server, name string, args map[string]any) string {
	t.Helper()
	meta := map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": map[string]any{"name": "model", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": args, "_meta": meta}})
	r := httptest.NewRequestWithContext(t.Context(), "POST", web.URL+"/mcp", strings.NewReader(string(b)))
	r.RequestURI = ""
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name} {
		r.Header.Set(k, v)
	}
	resp, err := web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := string(body)
	if i := strings.Index(text, "data: "); i >= 0 {
		text = text[i+len("data: "):]
	}
	return words(text)
}

// words is everything a model may read of an answer: its text and its structured form.
func words(answer string) string {
	var m struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
		}
		Error json.RawMessage
	}
	if json.NewDecoder(strings.NewReader(answer)).Decode(&m) != nil {
		return answer
	}
	out := string(m.Error)
	for _, c := range m.Result.Content {
		out += c.Text + "\n"
	}
	var flat any
	if json.Unmarshal(m.Result.StructuredContent, &flat) == nil {
		out += spell(flat)
	}
	return out
}

func spell(v any) string {
	switch v := v.(type) {
	case string:
		return v + "\n"
	case []any:
		out := ""
		for _, x := range v {
			out += spell(x)
		}
		return out
	case map[string]any:
		out := ""
		for _, x := range v {
			out += spell(x)
		}
		return out
	}
	return ""
}
