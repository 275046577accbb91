package links

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/store"
	"parley/tenant"
	"parley/testkit/need"
	"parley/tool"
)

const (
	tokenMe    = "token-of-me-0123456789abcdefghijklm"
	tokenYou   = "token-of-you-0123456789abcdefghijkl"
	tokenSwarm = "token-of-swarm-0123456789abcdefghij"
)

// recordings are files by tenant and meeting.
type recordings map[string]tool.RecordingFile

func (r recordings) Recording(_ context.Context, t tenant.ID, meeting string) (tool.RecordingFile, error) {
	f, ok := r[string(t)+"/"+meeting]
	if !ok {
		return f, tool.Fail(tool.CodeNoRecording, "meeting_id", meeting)
	}
	return f, nil
}

type world struct {
	*testing.T
	s    *Service
	st   *store.Store
	url  string
	body string
	now  func(time.Duration)
	file string
}

func newWorld(t *testing.T, size int) *world {
	t.Helper()
	st, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	reg, err := tenant.NewRegistry(tenant.Config{
		Tokens:   []tenant.Credential{{Tenant: "me", Token: tokenMe}, {Tenant: "you", Token: tokenYou}, {Tenant: "swarm", Token: tokenSwarm}},
		Policies: map[tenant.ID]tenant.Policy{"swarm": tenant.Ephemeral},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, st: st, body: strings.Repeat("0123456789abcdef", size/16), file: filepath.Join(t.TempDir(), "m1.ogg")}
	if err := os.WriteFile(w.file, []byte(w.body), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var later time.Duration
	w.now = func(d time.Duration) { mu.Lock(); defer mu.Unlock(); later += d }
	file := tool.RecordingFile{Path: w.file, Bytes: int64(len(w.body)), Seconds: 12, Name: "it's m1.ogg", MIME: "audio/ogg"}
	w.s = New(Options{Store: st.Links, Auth: reg, Kinds: []Kind{Recordings(recordings{"me/m1": file, "swarm/m1": file}, nil)},
		Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return time.Now().Add(later) }})
	srv := httptest.NewUnstartedServer(w.s)
	srv.Config.ConnContext = WithConn
	srv.Start()
	w.url = srv.URL
	t.Cleanup(func() {
		srv.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) link() tool.RecordingLink {
	w.Helper()
	f, err := os.Stat(w.file)
	if err != nil {
		w.Fatal(err)
	}
	l, err := w.s.Recording(w.Context(), tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me"}}, BaseURL: w.url}, "m1",
		tool.RecordingFile{Path: w.file, Bytes: f.Size(), Seconds: 12, Name: "it's m1.ogg"})
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// do makes a request and gives status and body.
func (w *world) do(method, url string, header ...string) (int, string, http.Header) {
	w.Helper()
	return ask(w.T, method, url, "", header...)
}

func ask(t *testing.T, method, url, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// gone waits until a link is used up: that happens right after its last byte arrived.
func (w *world) gone(url string) {
	w.Helper()
	for range 500 {
		if code, _, _ := w.do(http.MethodHead, url); code == 404 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.Error("the link is still good")
}

func (w *world) good(url string) {
	w.Helper()
	if code, _, _ := w.do(http.MethodHead, url); code != 200 {
		w.Errorf("the link is not good any more: %d", code)
	}
}

func TestALinkWorksOnce(t *testing.T) {
	w := newWorld(t, 64<<10)
	l := w.link()
	if l.ValidMin != 15 || l.Size != int64(len(w.body)) || l.Seconds != 12 || !strings.HasPrefix(l.URL, w.url+"/recording/m1?t=") {
		t.Errorf("%+v", l)
	}
	for range 3 {
		code, body, h := w.do(http.MethodHead, l.URL)
		if code != 200 || body != "" || h.Get("Content-Length") != "65536" {
			t.Error(code, h)
		}
	}
	code, body, h := w.do(http.MethodGet, l.URL)
	if code != 200 || body != w.body || h.Get("Content-Type") != "audio/ogg" || h.Get("Cache-Control") != "no-store" ||
		h.Get("Referrer-Policy") != "no-referrer" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d, %d bytes, %v", code, len(body), h)
	}
	w.gone(l.URL)
	if code, _, _ := w.do(http.MethodGet, l.URL); code != 404 {
		t.Error(code)
	}
	if _, err := os.Stat(w.file); err != nil {
		t.Error("the file went with the link:", err)
	}
}

func TestTheCurlLineWorks(t *testing.T) {
	need.Program(t, "curl")
	w := newWorld(t, 64<<10)
	l := w.link()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", l.Curl)
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(cmd.Dir, "it's m1.ogg"))
	if err != nil || string(got) != w.body {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	w.gone(l.URL)
}

func TestABrokenGetUsesNothingUp(t *testing.T) {
	w := newWorld(t, 64<<20) // more than the system's buffers hold
	l := w.link()
	for _, read := range []int64{0, 100, 5 << 20} {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, resp.Body, read); err != nil {
			t.Fatal(err)
		}
		cancel()
		resp.Body.Close()
		w.good(l.URL)
	}
	code, body, _ := w.do(http.MethodGet, l.URL)
	if code != 200 || len(body) != len(w.body) {
		t.Error(code, len(body))
	}
	w.gone(l.URL)
}

func TestAClientThatGoesWithoutReadingASmallFileUsesNothingUp(t *testing.T) {
	w := newWorld(t, 32<<10) // little enough to wait in the sending system as a whole
	l := w.link()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET "+strings.TrimPrefix(l.URL, w.url)+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1024)
	if _, err := io.ReadFull(conn, b); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil { // with bytes unread: the other side gets a reset
		t.Fatal(err)
	}
	w.good(l.URL)
	w.good(l.URL)
}

func TestRanges(t *testing.T) {
	w := newWorld(t, 64<<10)
	l := w.link()
	code, body, h := w.do(http.MethodGet, l.URL, "Range", "bytes=16-31")
	if code != 206 || body != w.body[16:32] || h.Get("Content-Range") != "bytes 16-31/65536" {
		t.Error(code, body, h)
	}
	if code, body, _ := w.do(http.MethodGet, l.URL, "Range", "bytes=100-"); code != 206 || len(body) != len(w.body)-100 {
		t.Error(code, len(body))
	}
	if code, _, _ := w.do(http.MethodGet, l.URL, "Range", "bytes=0-9,20-29"); code != 206 {
		t.Error(code)
	}
	if code, _, _ := w.do(http.MethodGet, l.URL, "Range", "bytes=70000-"); code != 416 {
		t.Error(code)
	}
	w.good(l.URL)
	// A download that broke off and was resumed is whole.
	if code, _, _ := w.do(http.MethodGet, l.URL, "Range", "bytes=0-40000"); code != 206 {
		t.Error(code)
	}
	w.good(l.URL)
	if code, _, _ := w.do(http.MethodGet, l.URL, "Range", "bytes=40001-"); code != 206 {
		t.Error(code)
	}
	w.gone(l.URL)
}

func TestNobodyCanTellWhatNeverWasFromWhatIsGone(t *testing.T) {
	w := newWorld(t, 1<<10)
	used := w.link()
	w.do(http.MethodGet, used.URL)
	w.gone(used.URL)
	revoked := w.link()
	if err := w.s.Revoke(t.Context(), "me", "m1"); err != nil {
		t.Fatal(err)
	}
	ended := w.link()
	w.now(DefaultTTL)
	live := w.link()
	_, secret, _ := strings.Cut(live.URL, "?t=")
	want := ""
	for name, url := range map[string]string{
		"used": used.URL, "revoked": revoked.URL, "ended": ended.URL, "no secret": w.url + "/recording/m1", "a wrong secret": w.url + "/recording/m1?t=x",
		"another meeting": w.url + "/recording/m2?t=" + secret, "another kind": w.url + "/upload/m1?t=" + secret,
		"a path": w.url + "/recording/m1/x?t=" + secret, "no target": w.url + "/recording/?t=" + secret, "dots": w.url + "/recording/..%2fm1?t=" + secret,
	} {
		code, body, _ := w.do(http.MethodGet, url)
		if want == "" {
			want = body
		}
		if code != 404 || body != want || strings.Contains(body, secret) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	if code, _, h := w.do(http.MethodPost, live.URL); code != 405 || h.Get("Allow") != "GET" {
		t.Error(code, h)
	}
	w.good(live.URL)
	// The file is gone: the same answer again.
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	if code, body, _ := w.do(http.MethodGet, live.URL); code != 404 || body != want {
		t.Error(code, body)
	}
}

func TestTheTenantsOwnToken(t *testing.T) {
	w := newWorld(t, 1<<10)
	url := w.url + "/recording/m1"
	for token, want := range map[string]int{tokenMe: 200, tokenSwarm: 200, tokenYou: 404, "wrong": 404, "": 404} {
		for range 2 { // a token is not used up
			if code, _, _ := w.do(http.MethodGet, url, "Authorization", "Bearer "+token); code != want {
				t.Errorf("%.14s: %d", token, code)
			}
		}
	}
}

func TestLinksOutliveARestart(t *testing.T) {
	w := newWorld(t, 1<<10)
	l := w.link()
	again := New(Options{Store: w.st.Links, Kinds: []Kind{Recordings(recordings{"me/m1": {Path: w.file}}, nil)}})
	srv := httptest.NewServer(again)
	defer srv.Close()
	if code, body, _ := w.do(http.MethodGet, srv.URL+strings.TrimPrefix(l.URL, w.url)); code != 200 || body != w.body {
		t.Error(code)
	}
	w.gone(l.URL)
}

func TestOnlySoManyTransfersAtOnce(t *testing.T) {
	w := newWorld(t, 64<<20)
	var open []*http.Response
	for range 4 {
		resp, err := http.Get(w.link().URL)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, resp)
	}
	l := w.link()
	if code, _, h := w.do(http.MethodGet, l.URL); code != 429 || h.Get("Retry-After") == "" {
		t.Error(code)
	}
	for _, resp := range open {
		resp.Body.Close()
	}
	for range 500 { // the server notices in its own time
		if code, _, _ := w.do(http.MethodHead, l.URL); code == 200 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the places are not free again")
}

func TestWithoutAnAddressThereAreNoLinks(t *testing.T) {
	w := newWorld(t, 16)
	by := tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me"}}}
	var e *tool.Error
	if _, err := w.s.Mint(t.Context(), by, RecordingKind, "m1", "x"); !errors.As(err, &e) || e.Code != tool.CodeNoLinks {
		t.Error(err)
	}
	local := New(Options{Store: w.st.Links, BaseURL: "http://127.0.0.1:7360/"})
	if url, err := local.Mint(t.Context(), by, RecordingKind, "m1", "x"); err != nil || !strings.HasPrefix(url, "http://127.0.0.1:7360/recording/m1?t=") {
		t.Error(url, err)
	}
}
