package endpoint_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"parley/control/action"
	"parley/control/connection"
	"parley/control/dial"
	"parley/control/endpoint"
	"parley/control/gate"
	"parley/control/grant"
	"parley/control/keys"
	"parley/control/publish"
	"parley/control/tabs/fake"
	"parley/control/vault"
	"parley/control/wire"
	"parley/guard/audit"
	"parley/guard/fence"
	"parley/guard/seal"
	"parley/store"
	"parley/tenant"
	"parley/tool"
)

// rig is an endpoint with a browser that is none, a real store, and an audit log in memory.
type rig struct {
	t       testing.TB
	dir     string
	opt     endpoint.Options
	e       *endpoint.Endpoint
	store   *store.Store
	browser *fake.Browser
	desk    *action.Desk

	mu      sync.Mutex
	records []audit.Record
	fail    error // of the audit
	reasons []endpoint.Reason
	version uint64

	onRecord func(stage string)
}

// everything is every scope of the table.
func everything() []grant.Scope {
	var out []grant.Scope
	for _, a := range grant.Actions() {
		out = append(out, a.Scope)
	}
	return out
}

func newRig(t testing.TB, change ...func(*rig)) *rig {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{t: t, dir: dir, store: s, browser: new(fake.Browser)}
	r.desk = &action.Desk{Tenant: "me", Browser: r.browser, Store: s, Vault: vault.New(s.Credentials, "me", vault.Options{Iterations: 10}), Now: time.Now}
	sealer := seal.NewSealer("parley")
	r.opt = endpoint.Options{
		Data: dir, Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full, Grants: []tenant.Grant{tenant.Meeting}}, Desk: r.desk,
		Guard: func(o *tool.Options) { o.Seal, o.Fence = sealer.Seal, fence.Fence{} }, Log: slog.New(slog.DiscardHandler), Limits: gate.Limits{PerMinute: 1 << 20, Seen: 1 << 21},
		Audit: func(a audit.Record) error {
			r.mu.Lock()
			f := r.onRecord
			r.mu.Unlock()
			if f != nil {
				f(a.Stage)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.fail == nil {
				r.records = append(r.records, a)
			}
			return r.fail
		},
		OnError: func(x endpoint.Reason) { r.mu.Lock(); defer r.mu.Unlock(); r.reasons = append(r.reasons, x) },
	}
	for _, f := range change {
		f(r)
	}
	r.start()
	return r
}

func (r *rig) start() {
	r.t.Helper()
	e, err := endpoint.Start(r.t.Context(), r.opt)
	if err != nil {
		r.t.Fatal(err)
	}
	r.e = e
	r.t.Cleanup(func() { r.stop(e) })
}

func (r *rig) stop(e *endpoint.Endpoint) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		r.t.Error(err)
	}
}

// publish publishes a policy of the next version.
func (r *rig) publish(p publish.Policy) {
	r.t.Helper()
	if err := r.tryPublish(p); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) tryPublish(p publish.Policy) error {
	r.version++
	p.Version = r.version
	if p.Mode == "" {
		p.Mode = publish.Legacy
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return r.e.Publish(raw)
}

// open is a policy that permits everything to the shared pairing.
func open(change ...func(*publish.Policy)) publish.Policy {
	p := publish.Policy{Enabled: true, Mode: publish.Legacy, Scopes: everything()}
	for _, f := range change {
		f(&p)
	}
	return p
}

func (r *rig) client(file string) *dial.Client {
	r.t.Helper()
	address, end, err := connection.Read(keys.At(r.dir), filepath.Base(file))
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := dial.New(address, end)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// do does an action by the shared pairing.
func (r *rig) do(name string, args any) wire.Reply {
	r.t.Helper()
	reply, err := r.try(r.client(connection.Name), name, args)
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	return reply
}

func (r *rig) try(c *dial.Client, name string, args any) (wire.Reply, error) {
	r.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		r.t.Fatal(err)
	}
	if args == nil {
		raw = []byte("{}")
	}
	return c.Do(r.t.Context(), wire.Request{Action: name, Args: raw})
}

// got does an action that must succeed, and gives its result.
func got[T any](r *rig, name string, args any) (out T) {
	r.t.Helper()
	reply := r.do(name, args)
	if !reply.OK() {
		r.t.Fatalf("%s: %s", name, reply.Code)
	}
	if err := json.Unmarshal(reply.Result, &out); err != nil {
		r.t.Fatalf("%s: %s: %v", name, reply.Result, err)
	}
	return out
}

// no does an action that must fail with a code.
func (r *rig) no(code wire.Code, name string, args any) {
	r.t.Helper()
	if reply := r.do(name, args); reply.Code != code {
		r.t.Errorf("%s: %q %s, want %s", name, reply.Code, reply.Result, code)
	}
}

// tale is what the audit log has of an action, as stage/outcome.
func (r *rig) tale(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, a := range r.records {
		if a.Agent != nil && a.Agent.Action == name {
			out = append(out, a.Stage+"/"+a.Agent.Outcome)
		}
	}
	return out
}

type m = map[string]any

type storeBookmark = store.Bookmark

// hook is called with the stage of every record, before it is written.
func (r *rig) hook(f func(stage string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onRecord = f
}

func (r *rig) tabs() []string {
	all, err := r.browser.Tabs(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	var ids []string
	for _, t := range all {
		ids = append(ids, t.ID)
	}
	return ids
}

func decode(t testing.TB, reply wire.Reply, into any) {
	t.Helper()
	if err := json.Unmarshal(reply.Result, into); err != nil {
		t.Fatalf("%s: %v", reply.Result, err)
	}
}

// toolOf makes a tool meeting_echo.
func toolOf[A, R any](f func(A) R) tool.Tool {
	return tool.New(tool.Spec[A, R]{Tool: tool.Tool{Name: "meeting_echo", Title: "Echo", Doc: "Says it again."},
		Run: func(_ context.Context, _ tool.Caller, a A) (R, error) { return f(a), nil }})
}
