package browse_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/browser"
	"parley/browser/browsertest"
	"parley/guard/fence"
	"parley/tenant"
	"parley/tool"
	"parley/tool/browse"
)

// client calls tools as one connection of a tenant does.
type client struct {
	t     testing.TB
	tools *tool.Service
	by    tool.Caller
}

func newClient(t testing.TB, f func(*browser.Options)) *client {
	t.Helper()
	m := browsertest.Manager(t, f)
	tools, err := tool.NewService(tool.Options{Tools: browse.Tools(m), Fence: fence.Fence{}, Limits: tool.Limits{PerMinute: 100000, Burst: 100000}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tools.Close(context.Background()) })
	return &client{t, tools, tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full}}, Owner: "connection a"}}
}

func (c *client) call(name string, args map[string]any) tool.Answer {
	c.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.tools.Invoke(context.Background(), tool.Call{Tool: name, Args: raw, Caller: c.by})
}

// must calls and fails the test when that fails.
func (c *client) must(name string, args map[string]any) tool.Answer {
	c.t.Helper()
	a := c.call(name, args)
	if a.Err != nil {
		c.t.Fatalf("%s: %s", name, a.Text)
	}
	return a
}

// open opens a session.
func (c *client) open(url string) (session string) {
	c.t.Helper()
	args := map[string]any{}
	if url != "" {
		args["url"] = url
	}
	return field[string](c.t, c.must("session_open", args), "session")
}

func field[T any](t testing.TB, a tool.Answer, name string) (v T) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(a.Structured, &members); err != nil {
		t.Fatal(err)
	}
	if raw, ok := members[name]; ok {
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func TestASessionIsItsOwnersOnly(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": "<title>One</title>one"})
	c := newClient(t, nil)
	s := c.open(at)
	if a := c.must("sessions", nil); !strings.Contains(a.Text, at) {
		t.Errorf("sessions: %s", a.Text)
	}
	other := *c
	other.by.Owner = "connection b"
	for name, args := range map[string]map[string]any{"navigate": {"session": s, "url": at}, "session_close": {"session": s}, "tabs": {"session": s}} {
		if a := other.call(name, args); a.Err == nil || a.Err.Code != tool.CodeSessionNotFound {
			t.Errorf("%s of another connection: %s", name, a.Text)
		}
	}
	if a := other.must("sessions", nil); strings.Contains(a.Text, s) {
		t.Errorf("another connection sees it: %s", a.Text)
	}
	c.must("session_close", map[string]any{"session": s})
	if a := c.call("navigate", map[string]any{"session": s, "url": at}); a.Err == nil || a.Err.Code != tool.CodeSessionNotFound {
		t.Errorf("a closed session: %s", a.Text)
	}
}

func TestTheOnlySessionNeedsNoName(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": "<title>One</title><button>Go</button>"})
	c := newClient(t, nil)
	if a := c.call("read", nil); a.Err == nil || a.Err.Code != tool.CodeSessionNeeded {
		t.Errorf("without a session: %s", a.Text)
	}
	one := c.open(at)
	c.must("click", map[string]any{"text": "Go"})
	other := *c
	other.by.Owner = "connection b"
	if a := other.call("read", nil); a.Err == nil || a.Err.Code != tool.CodeSessionNeeded {
		t.Errorf("another connection's session was taken: %s", a.Text)
	}
	two := c.open("")
	if a := c.call("read", nil); a.Err == nil || a.Err.Code != tool.CodeSessionNeeded || !strings.Contains(a.Text, "has 2") {
		t.Errorf("with two sessions: %s", a.Text)
	}
	c.must("session_close", map[string]any{"session": two})
	if a := c.must("session_close", nil); !strings.Contains(a.Text, one) {
		t.Errorf("closed: %s", a.Text)
	}
}

// The policy has to judge the page that a call works, also where the call does not say whose it is.
func TestThePolicySeesTheSessionThatIsMeant(t *testing.T) {
	m := browsertest.Manager(t, nil)
	var seen []string
	tools, err := tool.NewService(tool.Options{Tools: browse.Tools(m), Decide: func(_ context.Context, r tool.Request) tool.Decision {
		raw, err := json.Marshal(r.Args)
		if err != nil {
			t.Error(err)
		}
		seen = append(seen, string(raw))
		return tool.Decision{}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tools.Close(context.Background()) })
	c := &client{t, tools, tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full}}, Owner: "a"}}
	s := c.open("")
	for _, tl := range browse.Tools(m) {
		if tl.Name == "session_open" || tl.Name == "sessions" || tl.Name == "session_close" {
			continue
		}
		args := map[string]any{}
		for name, v := range map[string]any{"url": "http://127.0.0.1:1/", "text": "x", "key": "a", "fields": []any{map[string]any{"field": "x", "value": "y"}}} {
			for _, f := range tl.Input.Fields {
				if f.Name == name && f.Required {
					args[name] = v
				}
			}
		}
		if tl.Name != "pdf" && tl.Name != "screenshot" {
			args["timeoutMs"] = 1
			if tl.Name != "wait_for" {
				delete(args, "timeoutMs")
			}
		}
		if slices.Contains([]string{"click", "type", "select", "hover", "drag"}, tl.Name) {
			args["ref"] = "e999"
		}
		seen = nil
		c.call(tl.Name, args)
		if len(seen) != 1 || !strings.Contains(seen[0], `"session":"`+s+`"`) {
			t.Errorf("%s: the policy saw %q", tl.Name, seen)
		}
	}
}

func TestOnlyHTTPAndHTTPSAreOpened(t *testing.T) {
	c := newClient(t, nil)
	s := c.open("")
	for _, url := range []string{"file:///etc/hostname", "data:text/html,x", "javascript:alert(1)", "about:blank", "chrome://version", "view-source:http://127.0.0.1", "blob:http://x/y", "ftp://x", "example.com", "//x", "http://", " "} {
		if a := c.call("navigate", map[string]any{"session": s, "url": url}); a.Err == nil || a.Err.Code != tool.CodeBadURL {
			t.Errorf("%q: %s", url, a.Text)
		}
	}
}

func TestTheSchemaListsExactlyTheEngines(t *testing.T) {
	for _, want := range [][]string{{"chromium", "quiet"}, {"quiet"}} {
		engines, err := browser.PickEngines(browser.Engines(), want)
		if err != nil {
			t.Fatal(err)
		}
		m := browser.NewManager(browser.Options{Engines: engines})
		for _, tl := range browse.Tools(m) {
			if tl.Name != "session_open" {
				continue
			}
			raw, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(tl.Input.Input()), `"enum":`+string(raw)) {
				t.Errorf("want %s in %s", raw, tl.Input.Input())
			}
		}
		m.Close()
	}
	if _, err := browser.PickEngines(browser.Engines(), []string{"camoufox"}); err == nil || !strings.Contains(err.Error(), "chromium, quiet") {
		t.Errorf("an unknown engine: %v", err)
	}
}

func TestReadSaysHowToGetTheRest(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": strings.Repeat("<p>some words in a line</p>", 3000)})
	c := newClient(t, nil)
	s := c.open(at)
	a := c.must("read", map[string]any{"session": s})
	if len(a.Text) > 21_000 || !strings.Contains(a.Text, "of 3000 are cut off: offset: ") || !strings.Contains(a.Text, "find:") {
		t.Errorf("%d characters, …%s", len(a.Text), a.Text[len(a.Text)-300:])
	}
	next := field[int](t, a, "next_offset")
	if b := c.must("read", map[string]any{"session": s, "offset": next, "max_chars": 400000}); strings.Contains(b.Text, "cut off") || field[int](t, b, "lines") != 3000 {
		t.Errorf("the rest is cut: %.300s", b.Text)
	}
	if b := c.must("read", map[string]any{"session": s, "offset": 3000}); !strings.Contains(b.Text, "there are 3000 lines only") {
		t.Errorf("%s", b.Text)
	}
}

func TestAnswersOfActsAreShort(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": "<button>Go</button>" + strings.Repeat("<p>some words in a line</p>", 3000)})
	c := newClient(t, nil)
	s := c.open("")
	for _, call := range []struct {
		name string
		args map[string]any
	}{
		{"navigate", map[string]any{"url": at}}, {"click", map[string]any{"text": "Go"}}, {"wait_for", map[string]any{"text": "Go"}},
		{"tabs", map[string]any{}}, {"reload", map[string]any{}}, {"navigate", map[string]any{"url": at + "/?b", "changes": true}},
	} {
		call.args["session"] = s
		if a := c.must(call.name, call.args); len(a.Text) > 1200 {
			t.Errorf("%s: %d characters: %.400s", call.name, len(a.Text), a.Text)
		}
	}
}

func TestBodiesAreNeverRead(t *testing.T) {
	c := newClient(t, nil)
	if a := c.call("network", map[string]any{"session": c.open(""), "body": true}); a.Err == nil || a.Err.Code != tool.CodeDenied {
		t.Errorf("%s", a.Text)
	}
}
