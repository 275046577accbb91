package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tool"
)

// ways are how a client of the library reaches the world.
func ways(w *world, token string) map[string]func() sdk.Transport {
	return map[string]func() sdk.Transport{
		"http": func() sdk.Transport {
			return &sdk.StreamableClientTransport{Endpoint: w.url(), HTTPClient: &http.Client{Transport: bearer{token: token}}}
		},
		"websocket": func() sdk.Transport { return sdkSocket{w.socket(token)} },
	}
}

func TestAMeetingThroughTheLibrarysClient(t *testing.T) {
	w := newWorld(t, nil)
	for name, way := range ways(w, tokenMe) {
		for _, version := range []string{"", "2025-11-25", "2024-11-05"} {
			t.Run(name+" "+version, func(t *testing.T) {
				progress := make(chan string, 10)
				updated := make(chan string, 10)
				client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
						progress <- r.Params.Message
					},
					ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
				})
				cs, err := client.Connect(t.Context(), way(), &sdk.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer cs.Close()
				tools, err := cs.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, tl := range tools.Tools {
					names = append(names, tl.Name)
					if tl.OutputSchema == nil || tl.Annotations == nil || tl.Description == "" {
						t.Errorf("%s is not described", tl.Name)
					}
				}
				if len(names) != len(tool.Table(w.meetings, nil)) || !slices.IsSorted(names) {
					t.Errorf("tools: %v", names)
				}
				params := &sdk.CallToolParams{Name: "meeting_join", Arguments: map[string]any{"url": "http://127.0.0.1/room/" + strings.ReplaceAll(t.Name(), "/", "-")}}
				params.SetProgressToken("p1")
				r, err := cs.CallTool(t.Context(), params)
				if err != nil || r.IsError {
					t.Fatal(r, err)
				}
				var st tool.Status
				decode(t, r.StructuredContent, &st)
				if st.State != tool.Attending {
					t.Errorf("%+v", st)
				}
				for _, want := range []string{"starting", "lobby", "waiting"} {
					select {
					case got := <-progress:
						if got != want {
							t.Errorf("progress %s, want %s", got, want)
						}
					case <-time.After(10 * time.Second):
						t.Fatalf("no progress %s", want)
					}
				}
				w.meetings.Say(st.Meeting, "Ada", "Good morning.")
				uri := transcriptURI(st.Meeting)
				read, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
				if err != nil || len(read.Contents) != 2 {
					t.Fatal(read, err)
				}
				var tr tool.Transcript
				decode(t, json.RawMessage(read.Contents[0].Text), &tr)
				if len(tr.Segments) != 1 || tr.Segments[0].Text != "Good morning." || tr.Next != 1 {
					t.Errorf("%+v", tr)
				}
				if read, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri + "?since=1"}); err != nil || strings.Contains(read.Contents[0].Text, "morning") {
					t.Error(read, err)
				}
				for _, bad := range []string{"parley://meeting/m0/transcript", uri + "?since=x", uri + "/..", "file:///etc/passwd"} {
					if _, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: bad}); err == nil {
						t.Errorf("%s was read", bad)
					}
				}
				if version != "" { // the library's client does not wait for a subscription of the new era; see TestASubscriptionOfTheNewEra
					if err := cs.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
						t.Fatal(err)
					}
					if err := cs.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "parley://meeting/m0/transcript"}); err == nil {
						t.Error("a meeting that does not exist was subscribed to")
					}
					w.meetings.Say(st.Meeting, "Ada", "Let us begin.")
					select {
					case got := <-updated:
						if got != uri {
							t.Error(got)
						}
					case <-time.After(10 * time.Second):
						t.Error("no news of the transcript")
					}
				}
				r, err = cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "meeting_speak", Arguments: map[string]any{"meeting_id": st.Meeting}})
				if err != nil || !r.IsError || !strings.Contains(r.Content[0].(*sdk.TextContent).Text, "error nothing_to_say") {
					t.Error(r, err)
				}
				if _, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "no_such_tool"}); err == nil || !strings.Contains(err.Error(), "no_such_tool") {
					t.Error(err)
				}
			})
		}
	}
}

func decode(t testing.TB, from, into any) {
	t.Helper()
	raw, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func TestEveryVersionOverEveryWay(t *testing.T) {
	w := newWorld(t, nil)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		r := w.socket(tokenMe).initialize(version, nil)
		if r["protocolVersion"] != version {
			t.Errorf("WebSocket %s: %v", version, r["protocolVersion"])
		}
		caps := r["capabilities"].(map[string]any)
		if caps["logging"] != nil || caps["experimental"] != nil || caps["tools"] == nil || caps["resources"] == nil {
			t.Errorf("capabilities: %v", caps)
		}
		if !strings.Contains(r["instructions"].(string), "meeting_join") {
			t.Error("no instructions")
		}
		if strings.Contains(r["instructions"].(string), "session_open") {
			t.Error("instructions for tools that are not there")
		}
	}
	// The era without sessions, by raw requests.
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	status, body := w.post(tokenMe, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"meeting_list","arguments":{},`+meta+`}}`,
		map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "meeting_list"})
	if status != 200 || !strings.Contains(body, `"meetings":[]`) {
		t.Error(status, body)
	}
	// Headers that say something else than the body.
	status, body = w.post(tokenMe, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"meeting_list","arguments":{},`+meta+`}}`,
		map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "meeting_join"})
	if status != 400 || !strings.Contains(body, "-32020") {
		t.Error(status, body)
	}
	if status, body := w.post(tokenMe, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`,
		map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}); status != 200 || !strings.Contains(body, "2026-07-28") {
		t.Error(status, body)
	}
}

func TestStdio(t *testing.T) {
	w := newWorld(t, nil)
	p, in, done := w.stdio()
	p.initialize("2024-11-05", nil)
	if got := p.tool("meeting_join", map[string]any{"url": "http://127.0.0.1/room/s"}); got["state"] != "attending" {
		t.Error(got)
	}
	in.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWhatWasAskedBeforeTheEndOfInputIsAnswered(t *testing.T) {
	w := newWorld(t, nil)
	w.meetings.Lobby = true
	p, in, done := w.stdio()
	p.initialize("2025-11-25", nil)
	id := p.tool("meeting_join", map[string]any{"url": "http://127.0.0.1/room/s"})["meeting_id"].(string)
	next := p.tool("meeting_status", map[string]any{"meeting_id": id})["next"]
	p.request("late", "tools/call", map[string]any{"name": "meeting_listen", "arguments": map[string]any{"meeting_id": id, "since": next}})
	in.Close()
	time.AfterFunc(300*time.Millisecond, func() { w.meetings.Admit(id) })
	if r := p.answer("late"); !strings.Contains(text(r), "state: admitted") {
		t.Error(r)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// text is a tool answer's text.
func text(r map[string]any) string {
	result, ok := r["result"].(map[string]any)
	if !ok {
		return ""
	}
	return result["content"].([]any)[0].(map[string]any)["text"].(string)
}

func TestCancelling(t *testing.T) {
	w := newWorld(t, nil)
	p := w.socket(tokenMe)
	p.initialize("2025-11-25", nil)
	id := p.tool("meeting_join", map[string]any{"url": "http://127.0.0.1/room/c"})["meeting_id"]
	next := p.tool("meeting_status", map[string]any{"meeting_id": id})["next"]
	p.request("c", "tools/call", map[string]any{"name": "meeting_listen", "arguments": map[string]any{"meeting_id": id, "since": next, "timeout_sec": 50}})
	p.request(nil, "notifications/cancelled", map[string]any{"requestId": "c"})
	began := time.Now()
	p.answer("c")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("after %v", took)
	}
	if got := p.tool("meeting_list", nil); got["meetings"] == nil {
		t.Error(got)
	}
}

func TestHostileRecordsDoNotEndASession(t *testing.T) {
	w := newWorld(t, nil)
	sock := w.socket(tokenMe)
	std, in, done := w.stdio()
	defer func() {
		in.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	for name, p := range map[string]*peer{"websocket": sock, "stdio": std} {
		t.Run(name, func(t *testing.T) {
			p.initialize("2025-06-18", nil)
			for in, want := range map[string]struct {
				id   any
				code float64
			}{
				`GET / HTTP/1.1`: {nil, -32700},
				`{"jsonrpc":"2.0","id":7,"method":"ping"`:    {nil, -32700},
				`[{"jsonrpc":"2.0","id":8,"method":"ping"}]`: {nil, -32600},
				`[]`:     {nil, -32600},
				`{}`:     {nil, -32600},
				`"ping"`: {nil, -32600},
				`{"jsonrpc":"1.0","id":9,"method":"ping"}`:            {9.0, -32600},
				`{"jsonrpc":"2.0","id":"x","id":"y","method":"ping"}`: {"y", -32600},
				`{"jsonrpc":"2.0","id":10,"method":5}`:                {10.0, -32600},
				`{"jsonrpc":"2.0","id":{},"method":"ping"}`:           {nil, -32600},
				`{"jsonrpc":"2.0","id":11,"method":"ping","params":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}`: {11.0, -32600},
				`{"jsonrpc":"2.0","id":12,"method":"no/such"}`:                                                                 {12.0, -32601},
				`{"jsonrpc":"2.0","id":13,"method":"channels/publish","params":{}}`:                                            {13.0, -32601},
				`{"jsonrpc":"2.0","id":14,"method":"tools/call","params":"x"}`:                                                 {14.0, 0},
				`{"jsonrpc":"2.0","id":15,"method":"tools/call","params":{"name":"nope"}}`:                                     {15.0, -32602},
				`{"jsonrpc":"2.0","id":16,"method":"initialize","params":{}}`:                                                  {16.0, 0},
				`{"jsonrpc":"2.0","id":17,"method":"notifications/initialized"}`:                                               {17.0, -32600},
				`{"a":"` + strings.Repeat("x", maxFrame) + `"}`:                                                                {nil, -32600},
			} {
				p.send(in)
				m := p.read()
				e, ok := m["error"].(map[string]any)
				if !ok || m["id"] != want.id || want.code != 0 && e["code"] != want.code {
					t.Errorf("%.70s: %v", in, m)
				}
				if ok && strings.Contains(e["message"].(string), "xxxx") {
					t.Error("the answer quotes the record")
				}
			}
			// What needs no answer gets none.
			for _, in := range []string{`{"jsonrpc":"2.0","method":"no/such"}`, `{"jsonrpc":"2.0","method":"channels/typing","params":{}}`,
				`{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":"x-1","result":{}}`, "", " \r"} {
				p.send(in)
			}
			// Several messages in one frame, and an id of zero.
			p.send(`{"jsonrpc":"2.0","id":0,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":"zwei","method":"ping"}` + "\r\n")
			p.answer(0)
			p.answer("zwei")
		})
	}
}

func TestHostileBodiesOverHTTP(t *testing.T) {
	w := newWorld(t, nil)
	for in, want := range map[string]int{
		`GET`:                     400,
		`{"jsonrpc":"2.0","id":1`: 400,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`:                     400,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","method":"ping"}`: 400,
		`{"a":"` + strings.Repeat("x", maxBody) + `"}`:                   413,
		``: 400,
	} {
		if got, body := w.post(tokenMe, in, nil); got != want {
			t.Errorf("%.60s: %d %s", in, got, body)
		}
	}
	// A good message after all of that.
	if got, body := w.post(tokenMe, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil); got != 200 || !strings.Contains(body, "serverInfo") {
		t.Error(got, body)
	}
}

func TestTokens(t *testing.T) {
	w := newWorld(t, nil)
	const init = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for _, token := range []string{"", "wrong", tokenMe + "x", "me:" + tokenMe} {
		status, body := w.post(token, init, nil)
		if status != 401 || !strings.Contains(body, "token") || token != "" && strings.Contains(body, token) {
			t.Errorf("%q: %d %s", token, status, body)
		}
		if _, resp, err := w.dial(token, nil); err == nil || resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%q: %v", token, err)
		}
	}
	if status, _ := w.post("", init, map[string]string{"Authorization": "Basic bWU6eA=="}); status != 401 {
		t.Error(status)
	}
	// The query is refused, and the refusal says what to do.
	_, resp, err := w.dial("", map[string]string{"query": "token=" + tokenMe})
	if err == nil {
		t.Fatal("the token in the address was taken")
	}
	if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), "PARLEY_WS_QUERY_TOKEN=1") || strings.Contains(string(body), tokenMe) {
		t.Error(string(body))
	}
	allowed := newWorld(t, func(o *Options) { o.QueryToken = true })
	p, _, err := allowed.dial("", map[string]string{"query": "token=" + tokenMe})
	if err != nil {
		t.Fatal(err)
	}
	p.initialize("2024-11-05", nil)
	r, err := http.Post("http://"+allowed.addr+"/mcp?token="+tokenMe, "application/json", strings.NewReader(init))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if body, _ := io.ReadAll(r.Body); r.StatusCode != 401 || !strings.Contains(string(body), "WebSocket handshake only") {
		t.Error(r.StatusCode, string(body))
	}
}

func TestHostAndOrigin(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.BaseURL, o.Hosts, o.Origins = "https://parley.example.org/", []string{"Box"}, []string{"https://App.example.org/"}
	})
	const ping = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"", "", 200},
		{"localhost:7360", "", 200},
		{"LOCALHOST", "", 200},
		{"[::1]:7360", "", 200},
		{"192.168.1.2", "", 200},
		{"parley.example.org", "", 200},
		{"box:7360", "", 200},
		{"evil.example.org", "", 403},
		{"localhost.evil.example.org", "", 403},
		{"127.0.0.1.evil.example.org", "", 403},
		{"localhost:7360", "http://localhost:7360", 200},
		{"localhost:7360", "http://localhost:7361", 403},
		{"parley.example.org", "https://parley.example.org", 200},
		{"127.0.0.1:7360", "https://parley.example.org", 200},
		{"127.0.0.1:7360", "https://app.example.org", 200},
		{"127.0.0.1:7360", "http://app.example.org", 403},
		{"127.0.0.1:7360", "https://app.example.org.evil.example", 403},
		{"127.0.0.1:7360", "null", 403},
		{"127.0.0.1:7360", "file://", 403},
		{"evil.example.org", "http://evil.example.org", 403},
	} {
		header := map[string]string{}
		if c.host != "" {
			header["Host"] = c.host
		}
		if c.origin != "" {
			header["Origin"] = c.origin
		}
		if got, body := w.post(tokenMe, ping, header); got != c.want {
			t.Errorf("%+v: %d %s", c, got, body)
		}
		_, resp, err := w.dial(tokenMe, header)
		if (err == nil) != (c.want == 200) {
			t.Errorf("WebSocket %+v: %v %v", c, resp, err)
		}
	}
	// Before the token is looked at: a page learns nothing.
	if got, _ := w.post("wrong", ping, map[string]string{"Origin": "https://evil.example"}); got != 403 {
		t.Error(got)
	}
}

func TestAnEphemeralTokenSeesAndDoesLittle(t *testing.T) {
	w := newWorld(t, nil)
	p := w.socket(tokenSwarm)
	r := p.initialize("2024-11-05", map[string]any{"mcpl": map[string]any{"version": "0.5", "pushEvents": true}})
	if caps := r["capabilities"].(map[string]any); caps["experimental"] != nil || caps["resources"] != nil {
		t.Errorf("capabilities: %v", caps)
	}
	list := p.call("tools/list", map[string]any{})["result"].(map[string]any)["tools"].([]any)
	if len(list) != 2 || list[0].(map[string]any)["name"] != "recording_get" || list[1].(map[string]any)["name"] != "speech_settings_get" {
		t.Errorf("tools: %v", list)
	}
	for _, args := range []map[string]any{{"url": "http://127.0.0.1/room/x"}, {"nonsense": 1}, nil} {
		r := p.call("tools/call", map[string]any{"name": "meeting_join", "arguments": args})
		if !strings.Contains(text(r), "not allowed for this token") {
			t.Errorf("%v: %v", args, r)
		}
	}
}

func TestAnHTTPSessionBelongsToItsToken(t *testing.T) {
	w := newWorld(t, nil)
	const init = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	r, err := http.NewRequest(http.MethodPost, w.url(), strings.NewReader(init))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + tokenMe}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	session := resp.Header.Get("Mcp-Session-Id")
	if len(session) < 20 {
		t.Fatalf("session %q", session)
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
	header := map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
	for token, ok := range map[string]bool{tokenMe: true, tokenMe2: false, tokenYou: false, tokenSwarm: false} {
		status, body := w.post(token, list, header)
		if (status == 200) != ok {
			t.Errorf("%.12s: %d %s", token, status, body)
		}
	}
	if status, _ := w.post(tokenMe, list, map[string]string{"Mcp-Session-Id": "nonsense"}); status != 404 {
		t.Error(status)
	}
}

func TestOnlySoManyConnections(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxConnections = 2 })
	w.socket(tokenMe)
	w.socket(tokenMe)
	_, resp, err := w.dial(tokenMe, nil)
	if err == nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
		t.Error(resp, err)
	}
	w.socket(tokenYou)
}

func TestOnlySoManyRequestsWaitOnOneConnection(t *testing.T) {
	w := newWorld(t, nil)
	p := w.socket(tokenMe)
	p.initialize("2025-11-25", nil)
	id := p.tool("meeting_join", map[string]any{"url": "http://127.0.0.1/room/q"})["meeting_id"]
	next := p.tool("meeting_status", map[string]any{"meeting_id": id})["next"]
	for i := range maxInFlight + 1 {
		p.request(1000+i, "tools/call", map[string]any{"name": "meeting_listen", "arguments": map[string]any{"meeting_id": id, "since": next, "timeout_sec": 20}})
	}
	p.await("refusal", func(m map[string]any) bool {
		e, ok := m["error"].(map[string]any)
		return ok && strings.Contains(e["message"].(string), "too many requests")
	})
	w.meetings.End(id.(string), "test")
}

func TestHealth(t *testing.T) {
	ready := true
	w := newWorld(t, func(o *Options) {
		o.Ready = func(context.Context) error {
			if ready {
				return nil
			}
			return context.DeadlineExceeded
		}
	})
	p := w.socket(tokenMe)
	p.initialize("2025-11-25", nil)
	p.tool("meeting_leave", map[string]any{"meeting_id": "m0"})
	get := func(path string) (int, string) {
		t.Helper()
		r, err := http.Get("http://" + w.addr + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(b)
	}
	if code, _ := get("/healthz"); code != 200 {
		t.Error(code)
	}
	if code, _ := get("/readyz"); code != 200 {
		t.Error(code)
	}
	ready = false
	if code, body := get("/readyz"); code != 503 || strings.Contains(body, "deadline") {
		t.Error(code, body)
	}
	code, body := get("/metrics")
	for _, line := range []string{"parley_connections 1", `parley_tool_calls_total{tool="meeting_leave",code="meeting_not_found"} 1`, "# TYPE parley_heap_bytes gauge"} {
		if code != 200 || !strings.Contains(body, line) {
			t.Errorf("no %s in\n%s", line, body)
		}
	}
	if code, _ := get("/nothing"); code != 404 {
		t.Error(code)
	}
}
