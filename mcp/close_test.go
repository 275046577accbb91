package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/tenant"
	"parley/tool"
)

func TestClosingAnswersWhatRunsAndEndsEverything(t *testing.T) {
	w := newWorld(t, nil)
	p := w.socket(tokenMe)
	p.initialize("2025-11-25", nil)
	id := p.tool("meeting_join", map[string]any{"url": "http://127.0.0.1/room/c"})["meeting_id"]
	next := p.tool("meeting_status", map[string]any{"meeting_id": id})["next"]
	p.request("l", "tools/call", map[string]any{"name": "meeting_listen", "arguments": map[string]any{"meeting_id": id, "since": next, "timeout_sec": 50}})
	p.call("ping", map[string]any{}) // the call has been read
	// A client of the older HTTP era with its stream open.
	r, err := http.NewRequest(http.MethodPost, w.url(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + tokenMe}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	stream, err := http.NewRequest(http.MethodGet, w.url(), nil)
	if err != nil {
		t.Fatal(err)
	}
	stream.Header = http.Header{"Accept": {"text/event-stream"}, "Authorization": {"Bearer " + tokenMe}, "Mcp-Session-Id": {resp.Header.Get("Mcp-Session-Id")}}
	open, err := http.DefaultClient.Do(stream)
	if err != nil || open.StatusCode != 200 {
		t.Fatal(open, err)
	}
	defer open.Body.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	began := time.Now()
	if err := w.tools.Close(ctx); err != nil {
		t.Error(err)
	}
	if r := p.answer("l"); !strings.Contains(text(r), "shutting_down") {
		t.Error(r)
	}
	if err := w.server.Close(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, err := p.recv(); err == nil {
		t.Error("the WebSocket is still there")
	}
	if _, err := io.ReadAll(open.Body); err != nil && !strings.Contains(err.Error(), "EOF") {
		t.Log(err) // cut off is as good as ended
	}
	if _, _, err := w.dial(tokenMe, nil); err == nil {
		t.Error("it takes connections")
	}
}

func TestASubscriptionOfTheNewEra(t *testing.T) {
	w := newWorld(t, nil)
	me, err := w.server.o.Auth.Authenticate(tokenMe)
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.meetings.Join(t.Context(), tool.Caller{Principal: me}, tool.JoinArgs{URL: "http://127.0.0.1/room/n", Announce: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[%q]},%s}}`, transcriptURI(s.Meeting), meta)
	p := w.socket(tokenMe)
	p.send(body)
	p.await("acknowledgement", func(m map[string]any) bool { return m["method"] == "notifications/subscriptions/acknowledged" })
	w.meetings.Say(s.Meeting, "Ada", "Good morning.")
	p.await("news", func(m map[string]any) bool { return m["method"] == "notifications/resources/updated" })

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + tokenMe},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said := false
	sc := bufio.NewScanner(resp.Body)
	for sc.Scan() {
		switch line := sc.Text(); {
		case strings.Contains(line, "subscriptions/acknowledged"):
			w.meetings.Say(s.Meeting, "Ada", "Hello.")
			said = true
		case strings.Contains(line, "resources/updated"):
			if !said || !strings.Contains(line, transcriptURI(s.Meeting)) {
				t.Error(line)
			}
			return
		}
	}
	t.Errorf("no news (acknowledged: %v): %v", said, sc.Err())
}

func TestASlowBodyIsCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("waits half a minute; run without -short")
	}
	w := newWorld(t, nil)
	slow, stop := io.Pipe()
	defer stop.Close()
	r, err := http.NewRequest(http.MethodPost, w.url(), slow)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + tokenMe}}
	began := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode != 400 {
			t.Error(resp.Status)
		}
	}
	if took := time.Since(began); took < bodyTimeout-time.Second || took > bodyTimeout+20*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}

// TestATenantsServerServesNobodyElse connects one tenant to another's server, as a defect of ours would.
func TestATenantsServerServesNobodyElse(t *testing.T) {
	w := newWorld(t, nil)
	me, err := w.server.o.Auth.Authenticate(tokenMe)
	if err != nil {
		t.Fatal(err)
	}
	you, err := w.server.o.Auth.Authenticate(tokenYou)
	if err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c, err := w.server.open(newLines(inR, outW), tool.Caller{Principal: tenant.Principal{Tenant: you.Tenant}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		defer w.server.running.Done()
		ss, err := w.server.tenant(me.Tenant).sdk.Connect(context.WithValue(t.Context(), callerKey{}, c), c, nil)
		if err == nil {
			err = ss.Wait()
		}
		_ = c.Close()
		w.server.hub.detach(c)
		done <- err
	}()
	go func() {
		fmt.Fprintln(inW, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	}()
	line, err := bufio.NewReader(outR).ReadString('\n')
	if err != nil || !strings.Contains(line, "the caller is not known") {
		t.Error(line, err)
	}
	inW.Close()
	<-done
}
