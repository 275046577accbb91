package mcp

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func (w *world) newSession() string {
	w.t.Helper()
	r, err := http.NewRequest(http.MethodPost, w.url(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + tokenMe}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		w.t.Fatal(resp.Status)
	}
	return resp.Header.Get(sessionHeader)
}

// ask uses a session and gives the status.
func (w *world) ask(session string) int {
	w.t.Helper()
	status, _ := w.post(tokenMe, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`, map[string]string{sessionHeader: session, "Mcp-Protocol-Version": "2025-06-18"})
	return status
}

func TestASessionMoreEndsTheOneUnusedForLongest(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxConnections = 3 })
	a, b, c := w.newSession(), w.newSession(), w.newSession()
	if w.ask(a) != 200 { // so b is the oldest
		t.Error("a is gone")
	}
	d := w.newSession()
	gone := 0
	for range 200 { // it ends in its own time
		if gone = w.ask(b); gone == 404 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if gone != 404 || w.ask(a) != 200 || w.ask(c) != 200 || w.ask(d) != 200 {
		t.Errorf("a %d, b %d, c %d, d %d", w.ask(a), gone, w.ask(c), w.ask(d))
	}
}
