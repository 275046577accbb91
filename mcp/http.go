package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tool"
)

// statelessSince is the first protocol version without sessions.
const statelessSince = "2026-07-28"

// maxBody bounds a request to /mcp.
const maxBody = 4 << 20

// bodyTimeout is how long a client may take to send one.
const bodyTimeout = 30 * time.Second

// sessionHeader names the session in the era that has them.
const sessionHeader = "Mcp-Session-Id"

// callerExtra is where the caller of a request stands in the library's token information.
const callerExtra = "caller"

// streamable makes the library's two handlers.
func (s *Server) streamable() (stateful, stateless http.Handler) {
	server := func(r *http.Request) *sdk.Server {
		info := auth.TokenInfoFromContext(r.Context())
		if info == nil {
			return nil
		}
		by, ok := info.Extra[callerExtra].(tool.Caller)
		if !ok {
			return nil
		}
		return s.tenant(by.Tenant).sdk
	}
	// The host was checked with that of every request, more strictly.
	stateful = sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{
		SessionTimeout: s.o.SessionTimeout, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true,
	})
	stateless = sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true,
	})
	return stateful, stateless
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.page(http.HandlerFunc(s.serveMCP)))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, map[string]any{"ok": true}) })
	mux.HandleFunc("/readyz", s.serveReady)
	mux.HandleFunc("/metrics", s.serveMetrics)
	for _, p := range []string{"/recording/", "/download/", "/upload/", "/secret/"} {
		if s.o.Links != nil {
			mux.Handle(p, s.o.Links)
		}
	}
	if s.o.Home == nil {
		mux.HandleFunc("/", s.home)
	} else {
		mux.Handle("/", s.page(s.o.Home))
	}
	return lingering(s.hostChecked(mux))
}

// hostChecked refuses requests under a name that is not ours: a page elsewhere whose name was turned to this
// address (DNS rebinding) comes that way.
func (s *Server) hostChecked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// An earlier request on this connection may have left its own behind.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		if !s.ourHost(r.Host) {
			s.stats.forbidden.Add(1)
			problem(w, http.StatusForbidden, "this service does not go by the name in the Host header; the operator adds it with PARLEY_BASE_URL or PARLEY_ALLOWED_HOSTS")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ourHost takes addresses (a name can be rebound, an address cannot), localhost, and the names we were given.
func (s *Server) ourHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	if name == "localhost" || slices.Contains(s.o.Hosts, name) || slices.Contains(s.o.Hosts, strings.ToLower(host)) {
		return true
	}
	base, err := url.Parse(s.o.BaseURL)
	return err == nil && base.Hostname() != "" && strings.EqualFold(base.Hostname(), name)
}

// page refuses requests that pages of other origins make.
func (s *Server) page(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origins := r.Header.Values("Origin"); len(origins) > 0 && (len(origins) > 1 || !s.ourOrigin(origins[0], r)) {
			s.stats.forbidden.Add(1)
			problem(w, http.StatusForbidden, "pages of this origin may not connect; the operator adds it with PARLEY_ALLOWED_ORIGINS")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ourOrigin takes the address that was asked itself, and the origins we were given.
func (s *Server) ourOrigin(origin string, r *http.Request) bool {
	if slices.Contains(s.o.Origins, strings.ToLower(strings.TrimSuffix(origin, "/"))) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false
	}
	if strings.EqualFold(u.Host, r.Host) {
		return true
	}
	base, err := url.Parse(s.o.BaseURL)
	return err == nil && base.Host != "" && base.Scheme == u.Scheme && strings.EqualFold(base.Host, u.Host)
}

// serveMCP is the one address of all HTTP clients.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	closing := s.closing
	s.mu.Unlock()
	if closing {
		w.Header().Set("Retry-After", "5")
		problem(w, http.StatusServiceUnavailable, errClosing.Error())
		return
	}
	upgrade := r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
	by, refusal := s.authenticate(r, upgrade)
	if refusal != "" {
		s.stats.unauthorized.Add(1)
		w.Header().Set("WWW-Authenticate", `Bearer realm="parley"`)
		problem(w, http.StatusUnauthorized, refusal)
		return
	}
	if upgrade {
		s.serveSocket(w, r, by)
		return
	}
	if !s.readBody(w, r) {
		return
	}
	by.Transport = "http"
	out := &patient{ResponseWriter: w, c: http.NewResponseController(w), begins: func() {}}
	handler := s.stateful
	if r.Header.Get("Mcp-Protocol-Version") >= statelessSince {
		handler = s.stateless
	} else if id := r.Header.Get(sessionHeader); id != "" {
		s.tenant(by.Tenant).used(id)
	} else if r.Method == http.MethodPost {
		s.tenant(by.Tenant).makeRoom(s.o.MaxConnections)
		out.begins = func() { s.tenant(by.Tenant).used(w.Header().Get(sessionHeader)) }
	}
	// The library ties a session to this user id: a session id of another token is refused.
	info := &auth.TokenInfo{UserID: string(by.Tenant.ID) + "/" + string(by.Token), Extra: map[string]any{callerExtra: by}}
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) { return info, nil }
	handler = auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(handler)
	handler.ServeHTTP(out, r)
}

// used notes that an HTTP session was used.
func (ts *tenantServer) used(session string) {
	if session == "" {
		return
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.lastUse[session] = time.Now()
}

// makeRoom ends HTTP sessions until there is room for one more, the one that was not used for longest first.
// Many clients go without ending theirs; one that comes back to an ended session begins a new one.
func (ts *tenantServer) makeRoom(max int) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var open []*sdk.ServerSession
	last := map[string]time.Time{}
	for ss := range ts.sdk.Sessions() {
		if id := ss.ID(); id != "" {
			open = append(open, ss)
			last[id] = time.Now() // one that is not noted yet has just begun
			if t, ok := ts.lastUse[id]; ok {
				last[id] = t
			}
		}
	}
	ts.lastUse = last
	slices.SortFunc(open, func(a, b *sdk.ServerSession) int { return last[a.ID()].Compare(last[b.ID()]) })
	for len(open) >= max {
		ss := open[0]
		open = open[1:]
		delete(ts.lastUse, ss.ID())
		ts.s.spawn(func() { _ = ss.Close() }) // it waits for calls that run in the session
	}
}

// authenticate tells who asks, or why they are refused. The token never appears in it.
func (s *Server) authenticate(r *http.Request, upgrade bool) (tool.Caller, string) {
	if s.o.Auth == nil {
		return tool.Caller{}, "this service takes no tokens"
	}
	query := r.URL.Query()
	token := query.Get("token")
	if query.Has("token") {
		// What follows must not see it, in logs of errors least of all.
		query.Del("token")
		r.URL.RawQuery = query.Encode()
		r.RequestURI = r.URL.RequestURI()
	}
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, value, _ := strings.Cut(h, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return tool.Caller{}, "send the token as \"Authorization: Bearer <token>\""
		}
		token = strings.TrimSpace(value)
	} else if token != "" {
		switch {
		case !upgrade:
			return tool.Caller{}, "?token= is taken on the WebSocket handshake only: send the token as \"Authorization: Bearer <token>\""
		case !s.o.QueryToken:
			return tool.Caller{}, "?token= is switched off, because addresses end up in logs: send the token as \"Authorization: Bearer <token>\", or set PARLEY_WS_QUERY_TOKEN=1 for a client that cannot"
		}
	}
	if token == "" {
		return tool.Caller{}, "send the token as \"Authorization: Bearer <token>\"; the first one stands in the file token of the data folder"
	}
	p, err := s.o.Auth.Authenticate(token)
	if err != nil {
		return tool.Caller{}, "this token is not known here"
	}
	r.Header.Set("Authorization", "Bearer checked") // nobody behind this needs it
	return tool.Caller{Principal: p, BaseURL: s.baseURL(r)}, ""
}

// baseURL is how this client reaches us.
func (s *Server) baseURL(r *http.Request) string {
	if s.o.BaseURL != "" {
		return s.o.BaseURL
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request, by tool.Caller) {
	if !s.enterSocket(by) {
		w.Header().Set("Retry-After", "60")
		problem(w, http.StatusTooManyRequests, "this tenant has too many open connections")
		return
	}
	defer s.leaveSocket(by)
	ws, err := accept(w, r)
	if err != nil {
		s.log.Debug("a WebSocket handshake failed", "err", err)
		return // it has been answered
	}
	by.Transport = "websocket"
	c, err := s.open(ws, by)
	if err != nil {
		_ = ws.Close(true) // the service is shutting down
		return
	}
	// The connection outlives the request's context, which the library would otherwise be bound to.
	if err := s.serve(context.WithoutCancel(r.Context()), c); err != nil {
		s.log.Debug("a connection broke", "tenant", by.Tenant.ID, "err", err)
	}
}

func (s *Server) enterSocket(by tool.Caller) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sockets[by.Tenant.ID] >= s.o.MaxConnections {
		return false
	}
	s.sockets[by.Tenant.ID]++
	return true
}

func (s *Server) leaveSocket(by tool.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets[by.Tenant.ID]--
}

// readBody reads a request's body within its bound and refuses what is no single good message, with an
// answer in JSON-RPC's form.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost {
		return true
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a reader without deadlines is one of a test
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{})
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			problem(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the message is larger than %d MiB", maxBody>>20))
		} else {
			problem(w, http.StatusBadRequest, "the message could not be read")
		}
		return false
	}
	body = bytes.TrimSpace(body)
	if len(body) > 0 {
		if err := checkRecord(body); err != nil {
			code := -32600
			if errors.Is(err, errNotJSON) {
				code = -32700
			}
			s.stats.refused.Add(1)
			id := peekID(body)
			if id == nil {
				id = json.RawMessage("null")
			}
			answer(w, http.StatusBadRequest, map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": err.Error()}})
			return false
		}
	}
	s.stats.received.Add(1)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return true
}

func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	closing := s.closing
	s.mu.Unlock()
	if closing {
		answer(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "reason": errClosing.Error()})
		return
	}
	if s.o.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		if err := s.o.Ready(ctx); err != nil {
			s.log.Warn("not ready", "err", err)
			answer(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "reason": "see the service's log or parley doctor"})
			return
		}
	}
	answer(w, http.StatusOK, map[string]any{"ready": true})
}

// problem answers with a sentence.
func problem(w http.ResponseWriter, status int, text string) {
	answer(w, status, map[string]any{"error": text})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	raw, err := json.Marshal(body)
	if err != nil {
		status, raw = http.StatusInternalServerError, []byte(`{"error":"the answer could not be written"}`)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)+1)) // it is whole before what is left of a request was read
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n')) // the client is gone, or it is not
}

// patient gives each write of a stream its own time: a reader that takes nothing for a minute is cut off,
// one that listens for hours is not.
type patient struct {
	http.ResponseWriter
	c      *http.ResponseController
	begins func() // called before the client can know that there is an answer
	begun  bool
}

func (p *patient) begin() {
	if !p.begun {
		p.begun = true
		p.begins()
	}
}

func (p *patient) WriteHeader(status int) {
	p.begin()
	p.ResponseWriter.WriteHeader(status)
}

func (p *patient) Write(b []byte) (int, error) {
	p.begin()
	_ = p.c.SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer without deadlines is one of a test
	n, err := p.ResponseWriter.Write(b)
	return n, err
}

func (p *patient) Flush() { _ = p.FlushError() }

func (p *patient) FlushError() error {
	err := p.c.Flush()
	_ = p.c.SetWriteDeadline(time.Time{})
	return err
}

func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
