package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/control/client"
	"parley/control/dial"
	"parley/control/gate"
	"parley/control/serve"
	"parley/control/sign"
	"parley/control/span"
	"parley/control/wire"
)

var agent = wire.Principal{ID: "agent", Generation: 1}
var peer = wire.Principal{ID: "peer", Generation: 1}

// keyring is changed by tests while the server reads it.
type keyring struct {
	mu   sync.Mutex
	keys map[wire.Principal]*wire.Capability
}

func (k *keyring) Capability(_ time.Time, p wire.Principal) (*wire.Capability, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.keys[p]
	return c, ok
}

func (k *keyring) live(p wire.Principal) bool { _, ok := k.Capability(time.Time{}, p); return ok }

func (k *keyring) revoke(p wire.Principal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.keys, p)
}

type rig struct {
	server *serve.Server
	keys   *keyring
	gate   *gate.Gate
}

func start(t testing.TB, h serve.Handle, o serve.Options) *rig {
	t.Helper()
	id, err := sign.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{keys: &keyring{keys: map[wire.Principal]*wire.Capability{agent: {1}, peer: {2}}}}
	if r.gate, err = gate.New(id, r.keys, gate.Limits{PerMinute: 1 << 20, Seen: 1 << 21}); err != nil {
		t.Fatal(err)
	}
	o.Log = slog.New(slog.DiscardHandler)
	if r.server, err = serve.Start(r.gate, h, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := r.server.Close(ctx); err != nil {
			t.Error(err)
		}
		id.Wipe()
	})
	return r
}

func (r *rig) client(t testing.TB, p wire.Principal) *dial.Client {
	t.Helper()
	key, _ := r.keys.Capability(time.Time{}, p)
	c, err := dial.New(r.server.Address(), client.Endpoint{Pins: r.gate.Pins(), Instance: r.gate.Instance(), Principal: p, Capability: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func said(r wire.Reply) serve.Answer { return serve.Answer{Reply: r} }

func echo(_ context.Context, p wire.Principal, r wire.Request) serve.Answer {
	b, err := json.Marshal(p.ID + " " + r.Action)
	if err != nil {
		return said(wire.Reply{Code: wire.CodeFailed})
	}
	return said(wire.Reply{Result: b})
}

func TestOverTheNetwork(t *testing.T) {
	r := start(t, echo, serve.Options{})
	if !strings.HasPrefix(r.server.Address(), "127.0.0.1:") {
		t.Errorf("listens on %s", r.server.Address())
	}
	for _, p := range []wire.Principal{agent, peer} {
		got, err := r.client(t, p).Do(t.Context(), wire.Request{Action: "sessions"})
		if err != nil || string(got.Result) != `"`+p.ID+` sessions"` {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestStrangersGetOneAnswer: whatever is sent, the answer has the same status, headers and body, and comes no sooner than its time.
func TestStrangersGetOneAnswer(t *testing.T) {
	r := start(t, echo, serve.Options{Refused: 1000})
	base := "http://" + r.server.Address()
	page := http.Header{"Origin": {"http://" + r.server.Address()}, "Sec-Fetch-Mode": {"cors"}}
	var first http.Header
	for what, c := range map[string]struct {
		method, path string
		header       http.Header
		body         int
		host         string
	}{
		"nothing":      {"POST", wire.RouteChallenge, nil, 0, ""},
		"get":          {"GET", wire.RouteChallenge, nil, 0, ""},
		"options":      {"OPTIONS", wire.RouteAction, page, 0, ""},
		"page":         {"POST", wire.RouteAction, page, 100, ""},
		"another path": {"POST", "/json/version", nil, 0, ""},
		"query":        {"POST", wire.RouteAction + "?a=b", nil, 0, ""},
		"long":         {"POST", wire.RouteAction, nil, wire.MaxBody, ""},
		"another host": {"POST", wire.RouteAction, nil, 0, "evil.example"},
		"false proof":  {"POST", wire.RouteAction, http.Header{wire.ProofHeader: {wire.Proof{Principal: agent, At: time.Now()}.Header()}}, 10, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, base+c.path, bytes.NewReader(make([]byte, c.body)))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range c.header {
			req.Header[k] = v
		}
		if c.host != "" {
			req.Host = c.host
		}
		begin := time.Now()
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		took := time.Since(begin)
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		resp.Header.Del("Date")
		if first == nil {
			first = resp.Header
		}
		if resp.StatusCode != gate.RefusalStatus || string(body) != gate.Refusal || took < gate.Quantum || len(resp.Header) != len(first) {
			t.Errorf("%s: %d %q after %v, %v", what, resp.StatusCode, body, took, resp.Header)
		}
		for name := range resp.Header {
			if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" {
				t.Errorf("%s: header %s", what, name)
			}
		}
	}
}

// TestHalfARequestIsRefused: what never becomes a request of ours, and what is no request of anybody's, is told nothing else.
func TestHalfARequestIsRefused(t *testing.T) {
	r := start(t, echo, serve.Options{})
	head := "POST " + wire.RouteAction + " HTTP/1.1\r\nHost: " + r.server.Address() + "\r\n" + wire.ProofHeader + ": AAAA\r\n"
	for what, text := range map[string]string{
		"half a body, and then silence": head + "Content-Length: 33\r\n\r\nhalf",
		"the server itself":             "OPTIONS * HTTP/1.1\r\nHost: " + r.server.Address() + "\r\n\r\n",
	} {
		c, err := net.Dial("tcp", r.server.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != gate.RefusalStatus || string(body) != gate.Refusal {
			t.Errorf("%s: %d %q, %v", what, resp.StatusCode, body, err)
		}
	}
}

func TestALateResultIsDropped(t *testing.T) {
	release := make(chan struct{})
	r := start(t, func(_ context.Context, _ wire.Principal, r wire.Request) serve.Answer {
		if r.Action == "stubborn" {
			<-release
		}
		return serve.Answer{}
	}, serve.Options{Timeout: 50 * time.Millisecond})
	got, err := r.client(t, agent).Do(t.Context(), wire.Request{Action: "stubborn"})
	if err != nil || got.Code != wire.CodeTimeout {
		t.Errorf("%+v, %v", got, err)
	}
	close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := r.server.Close(ctx); err != nil { // waits for the stubborn one
		t.Error(err)
	}
	if r.server.Late() != 1 {
		t.Errorf("%d late results", r.server.Late())
	}
}

func TestRevocationAbortsItsOwnWorkAlone(t *testing.T) {
	started, free := make(chan string, 2), make(chan struct{})
	r := start(t, func(ctx context.Context, p wire.Principal, _ wire.Request) serve.Answer {
		started <- p.ID
		select {
		case <-ctx.Done():
			if context.Cause(ctx) != serve.ErrRevoked {
				return said(wire.Reply{Code: wire.CodeFailed})
			}
		case <-free:
		}
		return said(wire.Reply{Result: json.RawMessage(`"secret"`)})
	}, serve.Options{})
	type outcome struct {
		who   string
		reply wire.Reply
		err   error
	}
	ends := make(chan outcome, 2)
	for _, p := range []wire.Principal{agent, peer} {
		c := r.client(t, p)
		go func() {
			reply, err := c.Do(t.Context(), wire.Request{Action: "read"})
			ends <- outcome{p.ID, reply, err}
		}()
	}
	<-started
	<-started
	r.keys.revoke(agent)
	r.server.Reconcile(r.keys.live)
	if o := <-ends; o.who != "agent" || !errors.Is(o.err, client.ErrNoReply) || o.reply.Result != nil {
		t.Errorf("revoked: %+v", o)
	}
	close(free)
	if o := <-ends; o.who != "peer" || o.err != nil || !o.reply.OK() {
		t.Errorf("peer: %+v", o)
	}
}

func TestAPanicAndAMalformedActionFail(t *testing.T) {
	r := start(t, func(context.Context, wire.Principal, wire.Request) serve.Answer { panic("x") }, serve.Options{})
	if got, err := r.client(t, agent).Do(t.Context(), wire.Request{Action: "read"}); err != nil || got.Code != wire.CodeFailed {
		t.Errorf("panic: %+v, %v", got, err)
	}
	if got, err := r.client(t, agent).Do(t.Context(), wire.Request{Action: "read", Args: json.RawMessage("[]")}); err != nil || got.Code != wire.CodeInvalid {
		t.Errorf("malformed: %+v, %v", got, err)
	}
}

func TestOnlyBusyIsTriedAgain(t *testing.T) {
	for code, want := range map[wire.Code]int{wire.CodeBusy: 4, wire.CodeConflict: 1, wire.CodeFailed: 1, wire.CodeDenied: 1} {
		var n int
		r := start(t, func(context.Context, wire.Principal, wire.Request) serve.Answer {
			n++
			return said(wire.Reply{Code: code})
		}, serve.Options{})
		got, err := r.client(t, agent).Do(t.Context(), wire.Request{Action: "bookmarks:mutate"})
		if err != nil || got.Code != code || n != want {
			t.Errorf("%s: %d tries, %+v, %v", code, n, got, err)
		}
	}
}

// TestStrangersDoNotKeepTheHonestOut: more connections than there may be, all held open by strangers.
func TestStrangersDoNotKeepTheHonestOut(t *testing.T) {
	r := start(t, echo, serve.Options{Conns: 4})
	for range 12 {
		tr := &http.Transport{}
		t.Cleanup(tr.CloseIdleConnections)
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+r.server.Address()+wire.RouteAction, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.client(t, agent).Do(t.Context(), wire.Request{Action: "sessions"}); err != nil || !got.OK() {
		t.Errorf("%+v, %v", got, err)
	}
}

func BenchmarkOverTheNetwork(b *testing.B) {
	r := start(b, echo, serve.Options{})
	c := r.client(b, agent)
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		if _, err := c.Do(b.Context(), wire.Request{Action: "sessions"}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// TestWorkThatDoesNotEndIsBounded: an action that ignores its deadline holds one of its principal's places until it ends.
func TestWorkThatDoesNotEndIsBounded(t *testing.T) {
	release := make(chan struct{})
	r := start(t, func(_ context.Context, p wire.Principal, _ wire.Request) serve.Answer {
		if p == agent {
			<-release
		}
		return serve.Answer{}
	}, serve.Options{Timeout: 20 * time.Millisecond, Running: 2})
	defer close(release)
	c := r.client(t, agent)
	for i, want := range []wire.Code{wire.CodeTimeout, wire.CodeTimeout, wire.CodeRateLimit} {
		if got, err := c.Do(t.Context(), wire.Request{Action: "read"}); err != nil || got.Code != want {
			t.Errorf("%d: %+v, %v", i, got, err)
		}
	}
	if got, err := r.client(t, peer).Do(t.Context(), wire.Request{Action: "read"}); err != nil || !got.OK() {
		t.Errorf("the peer: %+v, %v", got, err)
	}
}

// TestTheEndDoesNotWaitForStrangers who hold a connection open and say nothing.
func TestTheEndDoesNotWaitForStrangers(t *testing.T) {
	r := start(t, echo, serve.Options{})
	for _, say := range []string{"", "POST /control/v1/action HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"} {
		n, err := net.Dial("tcp4", r.server.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close() })
		if _, err := io.WriteString(n, say); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.client(t, agent).Do(t.Context(), wire.Request{Action: "read"}); err != nil || !got.OK() { // both are accepted by now
		t.Fatalf("%+v, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	begin := time.Now()
	if err := r.server.Close(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestThePhasesOfAnAction(t *testing.T) {
	var mu sync.Mutex
	var got []span.Span
	spans := new(span.Recorder)
	spans.To(func(s span.Span) { mu.Lock(); defer mu.Unlock(); got = append(got, s) })
	spans.Switch(true)
	r := start(t, echo, serve.Options{Spans: spans})
	if _, err := r.client(t, agent).Do(t.Context(), wire.Request{Action: "read"}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	var names []span.Name
	for _, s := range got {
		names = append(names, s.Name)
		if s.Trace != got[0].Trace || s.Failed || (s.Name == span.Request) != (s.Parent == "") {
			t.Errorf("%+v", s)
		}
	}
	if want := []span.Name{span.Challenge, span.Decrypt, span.Encryption, span.Request}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}
