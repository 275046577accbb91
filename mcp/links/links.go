// Package links makes and serves one-time links: addresses that carry their own right, work once, and end
// by themselves.
package links

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/store"
	"parley/tenant"
	"parley/tool"
)

// DefaultTTL is how long a link is good.
const DefaultTTL = 15 * time.Minute

// Kind is what a link leads to. Its name is the first part of the path.
type Kind struct {
	Name string
	// Method is the one that uses the link up. With GET, HEAD is answered too and uses nothing up.
	Method string
	// Ephemeral tells that a token of policy ephemeral may stand in for a link.
	Ephemeral bool
	// Serve answers a request that was let in. It tells whether the link is used up by it. Where there is
	// nothing to serve it calls NotFound, so that nobody can tell apart what never was from what is gone.
	Serve func(w http.ResponseWriter, r *http.Request, a Access) (usedUp bool)
}

// Access is a request that was let in.
type Access struct {
	Tenant tenant.ID
	Target string
	// Link is the link it came by; nil: the tenant's own token.
	Link *store.Link
}

// Store keeps links; *store.Store has one.
type Store interface {
	Add(context.Context, store.Link) error
	Find(ctx context.Context, secret tenant.Hash, kind, target string, now time.Time) (store.Link, error)
	Use(ctx context.Context, secret tenant.Hash, now time.Time) error
	Revoke(ctx context.Context, t tenant.ID, kind, target string) error
	Sweep(ctx context.Context, now time.Time) (int64, error)
}

// Authenticator tells whose a token is; *tenant.Registry does.
type Authenticator interface {
	Authenticate(token string) (tenant.Principal, error)
}

// Options make a Service.
type Options struct {
	Store Store
	Auth  Authenticator // nil: only links let in
	// BaseURL is where the handler is reached by callers that did not connect over the network.
	BaseURL string
	TTL     time.Duration // zero: DefaultTTL
	// PerTenant is how many transfers of a tenant may run at once; zero: 4.
	PerTenant int
	Kinds     []Kind
	Now       func() time.Time // nil: time.Now
	Log       *slog.Logger     // nil: silent
}

// Service makes links and serves them. It is safe for concurrent use.
type Service struct {
	o     Options
	kinds map[string]Kind

	mu    sync.Mutex
	busy  map[tenant.ID]int
	swept time.Time
}

// New makes a service.
func New(o Options) *Service {
	o.TTL = cmp.Or(o.TTL, DefaultTTL)
	o.PerTenant = cmp.Or(o.PerTenant, 4)
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o, kinds: map[string]Kind{}, busy: map[tenant.ID]int{}}
	for _, k := range o.Kinds {
		s.kinds[k.Name] = k
	}
	return s
}

// Mint makes a link for a caller and gives its address. Only that address has the secret.
func (s *Service) Mint(ctx context.Context, by tool.Caller, kind, target, name string) (string, error) {
	return s.mint(ctx, by, kind, target, name, s.o.TTL)
}

func (s *Service) mint(ctx context.Context, by tool.Caller, kind, target, name string, ttl time.Duration) (string, error) {
	base := cmp.Or(by.BaseURL, s.o.BaseURL)
	if base == "" {
		return "", tool.Fail(tool.CodeNoLinks)
	}
	var b [32]byte
	rand.Read(b[:]) // never fails
	secret := base64.RawURLEncoding.EncodeToString(b[:])
	now := s.o.Now()
	s.sweep(ctx, now)
	err := s.o.Store.Add(ctx, store.Link{Secret: tenant.HashOf(secret), Kind: kind, Tenant: by.Tenant.ID, Target: target, Name: name, Created: now, Expires: now.Add(ttl)})
	if err != nil {
		return "", tool.Fail(tool.CodeStore).Because(err)
	}
	return base + "/" + kind + "/" + url.PathEscape(target) + "?t=" + secret, nil
}

// sweep forgets links that have ended, at most once a minute.
func (s *Service) sweep(ctx context.Context, now time.Time) {
	s.mu.Lock()
	due := now.Sub(s.swept) >= time.Minute
	if due {
		s.swept = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	if _, err := s.o.Store.Sweep(ctx, now); err != nil {
		s.o.Log.Warn("links that ended could not be forgotten", "err", err)
	}
}

// RecordingKind is the kind of links to recordings.
const RecordingKind = "recording"

// Recording implements tool.Linker.
func (s *Service) Recording(ctx context.Context, by tool.Caller, meeting string, f tool.RecordingFile) (tool.RecordingLink, error) {
	address, err := s.Mint(ctx, by, RecordingKind, meeting, f.Name)
	if err != nil {
		return tool.RecordingLink{}, err
	}
	return tool.RecordingLink{
		Meeting: meeting, URL: address, Size: f.Bytes, Seconds: f.Seconds, ValidMin: int(s.o.TTL.Minutes()),
		Curl: fmt.Sprintf("curl -sS --fail-with-body -o %s %s", quote(f.Name), quote(address)),
	}, nil
}

// Revoke implements tool.Linker.
func (s *Service) Revoke(ctx context.Context, t tenant.ID, meeting string) error {
	return s.o.Store.Revoke(ctx, t, RecordingKind, meeting)
}

// quote writes a word for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// ServeHTTP serves /kind/target.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	kindName, target, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	kind, ok := s.kinds[kindName]
	if !ok || target == "" || strings.Contains(target, "/") {
		NotFound(w)
		return
	}
	if r.Method != kind.Method && !(r.Method == http.MethodHead && kind.Method == http.MethodGet) {
		h.Set("Allow", kind.Method)
		say(w, http.StatusMethodNotAllowed, "this address takes "+kind.Method+" only")
		return
	}
	a, ok := s.admit(r, kind, target)
	if !ok {
		NotFound(w)
		return
	}
	if !s.enter(a.Tenant) {
		h.Set("Retry-After", "10")
		say(w, http.StatusTooManyRequests, "too many transfers run at once: the link stays good, try again when one has ended")
		return
	}
	defer s.leave(a.Tenant)
	usedUp := kind.Serve(w, r, a)
	if !usedUp || a.Link == nil || r.Method == http.MethodHead {
		return
	}
	// The client may be gone by now, and the link is used all the same.
	err := s.o.Store.Use(context.WithoutCancel(r.Context()), a.Link.Secret, s.o.Now())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		s.o.Log.Error("a link could not be marked as used", "kind", kind.Name, "err", err)
	}
}

// admit finds out whether a request may pass: by the secret of a link, or else by the tenant's own token.
func (s *Service) admit(r *http.Request, kind Kind, target string) (Access, bool) {
	query := r.URL.Query()
	secret := query.Get("t")
	if query.Has("t") {
		query.Del("t") // nothing behind this must see it
		r.URL.RawQuery = query.Encode()
		r.RequestURI = r.URL.RequestURI()
	}
	if secret != "" {
		link, err := s.o.Store.Find(r.Context(), tenant.HashOf(secret), kind.Name, target, s.o.Now())
		if err != nil {
			if !errors.Is(err, store.ErrNotFound) {
				s.o.Log.Error("a link could not be looked up", "kind", kind.Name, "err", err)
			}
			return Access{}, false
		}
		if s.others(r, kind, link.Tenant) {
			return Access{}, false
		}
		return Access{Tenant: link.Tenant, Target: target, Link: &link}, true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if s.o.Auth == nil || !strings.EqualFold(scheme, "Bearer") {
		return Access{}, false
	}
	p, err := s.o.Auth.Authenticate(strings.TrimSpace(token))
	if err != nil || p.Tenant.Policy == tenant.Ephemeral && !kind.Ephemeral {
		return Access{}, false
	}
	return Access{Tenant: p.Tenant.ID, Target: target}, true
}

// others tells whether a request that has a link's secret also shows a token that may not use it: another tenant's, or a
// read-only one. Either is refused, whatever else it has.
func (s *Service) others(r *http.Request, kind Kind, t tenant.ID) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if s.o.Auth == nil || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	p, err := s.o.Auth.Authenticate(strings.TrimSpace(token))
	return err == nil && (p.Tenant.ID != t || p.Tenant.Policy == tenant.Ephemeral && !kind.Ephemeral)
}

func (s *Service) enter(t tenant.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[t] >= s.o.PerTenant {
		return false
	}
	s.busy[t]++
	return true
}

func (s *Service) leave(t tenant.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[t]--; s.busy[t] == 0 {
		delete(s.busy, t)
	}
}

// NotFound is the one answer to everything that is not, is no more, or is somebody else's.
func NotFound(w http.ResponseWriter) {
	say(w, http.StatusNotFound, "there is nothing here: the link was never made, was used up, or has ended; ask for a new one")
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1)) // it is whole before what is left of a request was read
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}
