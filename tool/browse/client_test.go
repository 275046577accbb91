package browse_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/browser"
	"parley/browser/browsertest"
	"parley/guard/fence"
	"parley/mcp"
	"parley/tenant"
	"parley/tool"
	"parley/tool/browse"
)

const shop = `<title>Shop</title><h1>Shop</h1><a href=/about>About</a>
<label>Name <input id=n></label><label>Colour <select><option>Red<option>Blue</select></label><label><input type=checkbox>Agree</label>
<button onclick="out.textContent = 'Hello ' + n.value">Greet</button><p id=out></p>
<button onclick="out.textContent = confirm('Sure?') ? 'yes' : 'no'">Ask</button>
<button onclick="setTimeout(() => out.textContent = 'late', 300)">Later</button>
<button onclick="window.open('/about')">Popup</button>
<button onclick="const until = Date.now() + 3000; while (Date.now() < until);">Hang</button>`

// serve is the service as clients reach it.
func serve(t *testing.T) (server *mcp.Server, token string, m *browser.Manager) {
	t.Helper()
	m = browsertest.Manager(t, nil)
	tools, err := tool.NewService(tool.Options{Tools: browse.Tools(m), Fence: fence.Fence{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tools.Close(context.Background()) })
	token = strings.Repeat("t", 40)
	registry, err := tenant.NewRegistry(tenant.Config{Tokens: []tenant.Credential{{Tenant: "me", Token: token}}})
	if err != nil {
		t.Fatal(err)
	}
	server, err = mcp.New(mcp.Options{Version: "test", Tools: tools, Auth: registry, Gone: func(id tenant.ID, owner string) { m.Gone(browser.Owner{Tenant: string(id), Client: owner}) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Close(ctx)
	})
	return server, token, m
}

// serveHTTP is where a server is reached.
func serveHTTP(t *testing.T) (endpoint, token string, m *browser.Manager) {
	t.Helper()
	server, token, m := serve(t)
	web := httptest.NewServer(server.Handler())
	t.Cleanup(web.Close)
	return web.URL, token, m
}

// connect is a client of the library's over each transport.
func connect(t *testing.T, transport string) (*sdk.ClientSession, *browser.Manager) {
	t.Helper()
	var m *browser.Manager
	_, version, _ := strings.Cut(transport, " ")
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	var way sdk.Transport
	if transport == "stdio" {
		server, _, of := serve(t)
		m = of
		who := tenant.Tenant{ID: "me", Policy: tenant.Full}
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		go func() {
			_ = server.ServeStdio(context.Background(), inR, outW, tool.Caller{Principal: tenant.Principal{Tenant: who}})
			_ = outW.Close()
		}()
		way = &sdk.IOTransport{Reader: outR, Writer: inW}
	} else {
		endpoint, token, of := serveHTTP(t)
		m = of
		way = &sdk.StreamableClientTransport{Endpoint: endpoint + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}}
	}
	cs, err := client.Connect(context.Background(), way, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return cs, m
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func TestTwentyStepsOfACommonClient(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": shop, "/about": "<title>About</title><p>About us</p><a href=/>Shop</a>"})
	for _, transport := range []string{"stdio", "http", "http 2025-11-25"} {
		t.Run(transport, func(t *testing.T) {
			cs, m := connect(t, transport)
			text := func(r *sdk.CallToolResult) string {
				var b strings.Builder
				for _, c := range r.Content {
					if c, ok := c.(*sdk.TextContent); ok {
						b.WriteString(c.Text)
					}
				}
				return b.String()
			}
			session := ""
			step := 0
			do := func(name, want string, args map[string]any) *sdk.CallToolResult {
				t.Helper()
				step++
				if args == nil {
					args = map[string]any{}
				}
				if session != "" {
					args["session"] = session
				}
				ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
				defer cancel()
				r, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
				if err != nil {
					t.Fatalf("step %d, %s: %v", step, name, err)
				}
				if r.IsError || !strings.Contains(text(r), want) {
					t.Fatalf("step %d, %s: want %q in\n%s", step, name, want, text(r))
				}
				return r
			}
			opened := do("session_open", "Shop", map[string]any{"url": at})
			session = opened.StructuredContent.(map[string]any)["session"].(string)
			do("read", `button Greet`, nil)
			do("type", "", map[string]any{"role": "textbox", "name": "Name", "value": "Ada"})
			do("click", "Hello Ada", map[string]any{"role": "button", "name": "Greet", "changes": true})
			do("select", "", map[string]any{"role": "combobox", "name": "Colour", "option": "Blue"})
			do("read", `= "Blue"`, nil)
			do("click", "", map[string]any{"role": "checkbox", "name": "Agree"})
			do("find", "checked", map[string]any{"text": "agree"})
			do("click", "dialog", map[string]any{"text": "Ask"})
			do("dialog", "", map[string]any{"accept": true})
			do("find", "yes", map[string]any{"text": "yes"})
			do("click", "", map[string]any{"text": "Later"})
			do("wait_for", "", map[string]any{"text": "late"})
			do("click", "About", map[string]any{"text": "Popup"})
			do("tabs", "t2", nil)
			do("tabs", "", map[string]any{"action": "close", "tab": "t2"})
			do("navigate", "About", map[string]any{"url": at + "/about"})
			do("back", "Shop", nil)
			shot := do("screenshot", "x", map[string]any{"format": "png"})
			pictures := 0
			for _, c := range shot.Content {
				if i, ok := c.(*sdk.ImageContent); ok && i.MIMEType == "image/png" && len(i.Data) > 1000 {
					pictures++
				}
			}
			if pictures != 1 {
				t.Errorf("%d pictures", pictures)
			}
			do("network", "/about", nil)

			// A call that is cancelled leaves the session usable.
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			_, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "wait_for", Arguments: map[string]any{"session": session, "text": "never there", "timeoutMs": 60000}})
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("cancelled: %v", err)
			}
			began := time.Now()
			do("read", `button Greet`, nil)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("the next call waited %v for the cancelled one", took)
			}
			if step < 20 {
				t.Errorf("only %d steps", step)
			}
			// The session ends with its connection, where there is one.
			_ = cs.Close()
			if transport == "http" {
				return
			}
			deadline := time.Now().Add(30 * time.Second)
			for m.Count() > 0 {
				if time.Now().After(deadline) {
					t.Fatal("the session outlives its connection")
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
}
