package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func start(t *testing.T, o Options) *Server {
	t.Helper()
	o.Log = quiet
	s, err := New(testKind(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pageOf is a page without a browser.
type pageOf struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
}

func openPage(t *testing.T, s *Server, at string) *pageOf {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	conn, _, err := websocket.Dial(ctx, strings.Replace(s.Origin(), "http", "ws", 1)+"/_standin/page?at="+url.QueryEscape(at),
		&websocket.DialOptions{HTTPHeader: http.Header{"Accept-Language": {"fr-FR,de;q=0.8"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &pageOf{t, ctx, conn}
}

func (p *pageOf) tell(a Act) {
	p.t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.conn.Write(p.ctx, websocket.MessageText, raw); err != nil {
		p.t.Fatal(err)
	}
}

// until reads until a view is as ok wants it.
func (p *pageOf) until(ok func(View) bool) View {
	p.t.Helper()
	for {
		_, raw, err := p.conn.Read(p.ctx)
		if err != nil {
			p.t.Fatal(err)
		}
		var m struct {
			Type string
			View View
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			p.t.Fatal(err)
		}
		if m.Type == "view" && ok(m.View) {
			return m.View
		}
	}
}

func post(t *testing.T, s *Server, body string) (int, string) {
	t.Helper()
	r, err := http.Post(s.Origin()+"/_standin/do", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(raw)
}

func TestAPageAndAScript(t *testing.T) {
	s := start(t, Options{})
	p := openPage(t, s, "/meeting?pwd=x")
	if v := p.until(func(v View) bool { return v.Screen == "prejoin" }); v.Lang != "de" { // the first that the page speaks
		t.Errorf("language %q", v.Lang)
	}
	p.tell(Act{Do: "join", Name: "Me"})
	p.until(func(v View) bool { return v.Screen == "waiting" })
	if code, body := post(t, s, `{"do": "come", "who": "Bo", "kind": "extra"} {"do": "admit"}`); code != http.StatusOK || !strings.Contains(body, `"screen":"in"`) {
		t.Errorf("%d %s", code, body)
	}
	p.until(func(v View) bool { return v.Screen == "in" && len(v.People) == 2 && v.Media == "v1" })
	for body, want := range map[string]string{
		`{"do": "dance"}`:                `action 1: do "dance"`,
		`{"do": "mute"} {"do": "admit"}`: `action 2: admit: the visitor does not wait`,
		`{"do": "say", "wno": "Bo"}`:     `unknown field`,
		`[]`:                             `action 1:`,
	} {
		if code, got := post(t, s, body); code != http.StatusUnprocessableEntity || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", body, code, got)
		}
	}
	if err := p.conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if st, err := s.Await(ctx, func(st State) bool { v, _ := st.Newest(); return !v.Connected }); err != nil {
		t.Errorf("%v %+v", err, st)
	}
}

func TestStrangersAreNotAnswered(t *testing.T) {
	s := start(t, Options{})
	ask := func(change func(*http.Request)) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Origin()+"/_standin/do", bytes.NewReader(nil))
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if got := ask(func(r *http.Request) { r.Host = "evil.example" }); got != http.StatusMisdirectedRequest {
		t.Errorf("another name: %d", got)
	}
	if got := ask(func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }); got != http.StatusForbidden {
		t.Errorf("another page: %d", got)
	}
	if got := ask(func(*http.Request) {}); got != http.StatusOK {
		t.Errorf("a test: %d", got)
	}
	if _, err := New(testKind(), Options{Listen: "0.0.0.0:0", Log: quiet}); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("every network: %v", err)
	}
}

func TestAClosedStandInSaysSo(t *testing.T) {
	s, err := New(testKind(), Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Do(t.Context(), Action{Do: "flag", Kind: "loud"}); err != ErrClosed {
		t.Errorf("%v", err)
	}
}
