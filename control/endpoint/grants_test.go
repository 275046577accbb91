package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/control/client"
	"parley/control/connection"
	"parley/control/dial"
	"parley/control/endpoint"
	"parley/control/grant"
	"parley/control/keys"
	"parley/control/publish"
	"parley/control/tabs"
	"parley/control/tabs/fake"
	"parley/control/wire"
)

// granted is a policy with individual grants.
func granted(grants ...grant.Grant) publish.Policy {
	return publish.Policy{Enabled: true, Mode: publish.Individual, Scopes: everything(), Grants: grants}
}

// expiry is that of all grants, so that two of one generation are the same.
var expiry = time.Now().Add(time.Hour).Truncate(time.Second)

func builder(generation uint64, change ...func(*grant.Grant)) grant.Grant {
	g := grant.Grant{ID: "builder", Name: "Builder", Enabled: true, Scopes: everything(), Expires: expiry, Generation: generation}
	for _, f := range change {
		f(&g)
	}
	return g
}

func named(id string) func(*grant.Grant) { return func(g *grant.Grant) { g.ID, g.Name = id, id } }

func (r *rig) issue(g grant.Grant) *dial.Client {
	r.t.Helper()
	path, err := r.e.Issue(g.ID, g.Generation, g.Expires)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.client(path)
}

func (r *rig) must(c *dial.Client, code wire.Code, name string, args any) wire.Reply {
	r.t.Helper()
	reply, err := r.try(c, name, args)
	if err != nil || reply.Code != code {
		r.t.Errorf("%s: %q %s, %v; want %q", name, reply.Code, reply.Result, err, code)
	}
	return reply
}

// TestDisabledPermitsNothing: not the actions, not even a challenge.
func TestDisabledPermitsNothing(t *testing.T) {
	r := newRig(t)
	c := r.client(connection.Name)
	r.publish(open())
	r.must(c, "", "sessions", nil)
	r.publish(publish.Policy{Enabled: false, Mode: publish.Legacy, Scopes: everything()})
	if reply, err := r.try(c, "sessions", nil); !errors.Is(err, dial.ErrRefused) {
		t.Errorf("%+v, %v", reply, err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, connection.Name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the connection file stays: %v", err)
	}
}

// TestEachActionNeedsItsScope: with no scope every action is denied, and with one of them only that one is not.
func TestEachActionNeedsItsScope(t *testing.T) {
	r := newRig(t)
	for _, a := range grant.Actions() {
		p := open()
		p.Scopes = []grant.Scope{a.Scope}
		r.publish(p)
		c := r.client(connection.Name)
		for _, other := range grant.Actions() {
			if other.Scope != a.Scope && (other.Internal == a.Internal || other.Name == "sessions") { // the nearest neighbours, and one far off
				r.must(c, wire.CodeDenied, other.Name, arguments(other))
			}
		}
		if reply, err := r.try(c, a.Name, arguments(a)); err != nil || reply.Code == wire.CodeInvalid {
			t.Errorf("%s with its scope: %+v, %v", a.Name, reply, err)
		}
	}
	p := open()
	p.Scopes = nil
	r.publish(p)
	for _, a := range grant.Actions() {
		r.no(wire.CodeDenied, a.Name, arguments(a))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.records {
		if rec.Agent != nil && rec.Agent.Scope != rec.Agent.Action {
			t.Errorf("%+v: the scope does not match the action", rec.Agent)
		}
	}
}

// arguments are some that fit an action's table.
func arguments(a grant.Action) m {
	out := m{}
	for _, arg := range a.Args {
		if arg.Optional {
			continue
		}
		switch arg.Type {
		case grant.Session:
			out[arg.Name] = fake.UUID(1)
		case grant.Sessions:
			out[arg.Name] = []string{fake.UUID(1)}
		case grant.Text, grant.AnyText:
			out[arg.Name] = "a"
		case grant.Integer:
			out[arg.Name] = 1
		case grant.Boolean:
			out[arg.Name] = true
		case grant.URL:
			out[arg.Name] = "https://a.example/"
		case grant.Appearance:
			out[arg.Name] = m{"mode": "dark"}
		}
	}
	switch a.Name {
	case "sessions:restore":
		out["id"] = "x"
	case "bookmarks:mutate":
		out["action"], out["id"] = "remove", "x"
	}
	return out
}

// TestIndividualHasNoMaster: the shared file goes, its holder is refused, and no other shared credential is made.
func TestIndividualHasNoMaster(t *testing.T) {
	r := newRig(t)
	old := r.client(connection.Name)
	r.must(old, "", "sessions", nil)
	g := builder(1)
	r.publish(granted(g))
	if _, err := os.Stat(filepath.Join(r.dir, connection.Name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the shared file stays: %v", err)
	}
	if reply, err := r.try(old, "sessions", nil); !errors.Is(err, dial.ErrRefused) {
		t.Errorf("the shared credential: %+v, %v", reply, err)
	}
	path, err := r.e.Issue(g.ID, 1, g.Expires)
	if err != nil || strings.Contains(path, "builder") || !strings.HasPrefix(filepath.Base(path), "control-") {
		t.Fatalf("%s, %v", path, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	r.must(r.client(path), "", "sessions", nil)
	for what, f := range map[string]func() (string, error){
		"another generation": func() (string, error) { return r.e.Issue("builder", 2, g.Expires) },
		"another expiry":     func() (string, error) { return r.e.Issue("builder", 1, g.Expires.Add(time.Second)) },
		"unknown":            func() (string, error) { return r.e.Issue("nobody", 1, g.Expires) },
		"the shared id":      func() (string, error) { return r.e.Issue(publish.Shared, 1, g.Expires) },
	} {
		if path, err := f(); !errors.Is(err, grant.ErrIssue) {
			t.Errorf("%s: %s, %v", what, path, err)
		}
	}
	r.publish(open())
	r.must(r.client(connection.Name), "", "sessions", nil)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the individual file stays: %v", err)
	}
	if _, err := r.e.Issue("builder", 1, g.Expires); !errors.Is(err, grant.ErrIssue) {
		t.Errorf("individual credentials under a shared pairing: %v", err)
	}
}

// TestGenerationsAcrossARestart: a rotated credential does not come back with an older publication, also after a restart,
// and a file of the run before is of no use.
func TestGenerationsAcrossARestart(t *testing.T) {
	r := newRig(t)
	r.publish(granted(builder(5)))
	c := r.issue(builder(5))
	r.must(c, "", "sessions", nil)
	raw, err := os.ReadFile(filepath.Join(r.dir, endpoint.FileName(wire.Principal{ID: "builder", Generation: 5})))
	if err != nil {
		t.Fatal(err)
	}
	r.stop(r.e)
	r.start()
	if got := r.e.Policy(); got.Version != 1 || len(got.Grants) != 1 {
		t.Errorf("what was published is gone: %+v", got)
	}
	if reply, err := r.try(c, "sessions", nil); err == nil {
		t.Errorf("a client of the run before: %+v", reply)
	}
	// A crash would have left the file; its port is another's now, or nobody's.
	stale := "control-0123456789abcdef.json"
	if err := keys.At(r.dir).Set(stale, raw); err != nil {
		t.Fatal(err)
	}
	address, end, err := connection.Read(keys.At(r.dir), stale)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := dial.New(r.e.Address(), end); err != nil {
		t.Fatal(err)
	} else if reply, err := r.try(d, "sessions", nil); !errors.Is(err, dial.ErrRefused) || !strings.Contains(err.Error(), "pair anew") || address == "" {
		t.Errorf("the old file at the new port: %+v, %v", reply, err)
	}
	r.publish(granted(builder(4)))
	if path, err := r.e.Issue("builder", 4, builder(4).Expires); !errors.Is(err, grant.ErrIssue) {
		t.Errorf("generation 4 after 5: %s, %v", path, err)
	}
	r.publish(granted(builder(6)))
	r.must(r.issue(builder(6)), "", "sessions", nil)
	// A version that was published already is not taken again, by whoever kept a copy.
	r.version--
	if err := r.tryPublish(granted(builder(6))); !errors.Is(err, publish.ErrPolicy) {
		t.Errorf("the same version again: %v", err)
	}
	r.stop(r.e)
	// And a state that was tampered with stops the start instead of beginning anew.
	path := filepath.Join(r.dir, "control-state", "published")
	sealed, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(sealed), "builder") {
		t.Fatalf("the state is in the clear: %v", err)
	}
	sealed[len(sealed)-1] ^= 1
	if err := os.WriteFile(path, sealed, 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := endpoint.Start(t.Context(), r.opt); err == nil {
		t.Error("it starts with a state that was changed")
		r.stop(e)
	}
}

// TestAStateThatIsGoneBringsNothingBack: where something was published, a start without the state, or with an older copy of it,
// fails. It would bring the shared pairing or a passed generation back. A crash between the state and its mark does no harm.
func TestAStateThatIsGoneBringsNothingBack(t *testing.T) {
	r := newRig(t)
	path := filepath.Join(r.dir, "control-state", "published")
	mark := filepath.Join(r.dir, "control-keys", "control-version")
	get := func(p string) []byte {
		t.Helper()
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	put := func(p string, b []byte) {
		t.Helper()
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.publish(granted(builder(1)))
	old, oldMark := get(path), get(mark)
	r.publish(granted(builder(2)))
	now, nowMark := get(path), get(mark)
	r.stop(r.e)
	fails := func(what string) {
		t.Helper()
		if e, err := endpoint.Start(t.Context(), r.opt); err == nil {
			t.Errorf("it starts with %s, under %+v", what, e.Policy())
			r.stop(e)
		}
	}
	put(path, old)
	fails("an older state")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	fails("no state")
	put(path, now)
	put(mark, nowMark[:len(nowMark)-1])
	fails("half a mark")
	put(mark, oldMark) // as a crash leaves it
	r.start()
	if got := r.e.Policy(); got.Version != 2 {
		t.Errorf("%+v", got)
	}
	if string(get(mark)) != string(nowMark) {
		t.Error("the mark stays behind")
	}
	r.stop(r.e)
	for _, dir := range []string{"control-state", "control-keys"} {
		if err := os.RemoveAll(filepath.Join(r.dir, dir)); err != nil {
			t.Fatal(err)
		}
	}
	r.start()
	if got := r.e.Policy(); got.Version != 1 || len(got.Grants) != 0 {
		t.Errorf("without both folders it does not begin anew: %+v", got)
	}
}

// TestAGrantIsTheLeastOfAll: policy, group and grant.
func TestAGrantIsTheLeastOfAll(t *testing.T) {
	r := newRig(t)
	g := builder(1, func(g *grant.Grant) {
		g.Group, g.Scopes, g.Hosts = "readers", []grant.Scope{"sessions", "read", "click", "navigate"}, []string{"*.a.example", "b.example"}
	})
	p := granted(g)
	p.Scopes = []grant.Scope{"sessions", "read", "navigate", "application:state"}
	p.Hosts = []string{"x.a.example", "y.a.example", "c.example"}
	p.Groups = map[string]grant.Policy{"readers": {Enabled: true, Scopes: []grant.Scope{"sessions", "read", "click", "navigate"}, Hosts: []string{"x.a.example", "b.example"}}}
	r.publish(p)
	c := r.issue(g)
	r.must(c, "", "sessions", nil)
	r.must(c, wire.CodeDenied, "click", m{"selector": "a"}) // the policy does not have it
	r.must(c, wire.CodeDenied, "application:state", nil)    // the grant does not
	r.must(c, wire.CodeDenied, "bookmarks:list", nil)       // nobody does
	r.browser.Open("about:blank", "")
	for host, want := range map[string]wire.Code{"x.a.example": "", "y.a.example": wire.CodeDenied, "b.example": wire.CodeDenied, "c.example": wire.CodeDenied} {
		r.must(c, want, "navigate", m{"url": "https://" + host + "/"})
	}
	empty := builder(1, named("empty"), func(g *grant.Grant) { g.Scopes = nil })
	p.Grants = append(p.Grants, empty)
	r.publish(p)
	r.must(r.issue(empty), wire.CodeDenied, "sessions", nil)
}

// TestRevocationDuringWork: the owner's work is aborted and nothing of it leaves; a peer's goes on.
func TestRevocationDuringWork(t *testing.T) {
	r := newRig(t)
	peer := builder(1, named("peer"))
	r.publish(granted(builder(1), peer))
	a, b := r.issue(builder(1)), r.issue(peer)
	r.browser.Open("https://a.example/", "")
	inside, goOn := make(chan string, 2), make(chan struct{})
	r.browser.Answers = map[tabs.Script]map[string]any{tabs.Read: {"": func(json.RawMessage) any { return m{"text": "words", "complete": true} }}}
	r.browser.Hook = func(call, id string) {
		if call == "Run read" {
			inside <- id
			<-goOn
		}
	}
	type outcome struct {
		who   string
		reply wire.Reply
		err   error
	}
	ends := make(chan outcome, 2)
	for who, c := range map[string]*dial.Client{"builder": a, "peer": b} {
		go func() {
			reply, err := c.Do(t.Context(), wire.Request{Action: "read"})
			ends <- outcome{who, reply, err}
		}()
	}
	<-inside
	<-inside
	r.publish(granted(peer))
	first := <-ends // aborted while the browser still works
	if first.who != "builder" || !errors.Is(first.err, client.ErrNoReply) || first.reply.Result != nil {
		t.Errorf("the revoked: %+v", first)
	}
	close(goOn)
	// The publication changed while the peer's work was under way: that it was done is told, its result is not.
	if o := <-ends; o.who != "peer" || o.err != nil || o.reply.Code != wire.CodeConflict {
		t.Errorf("the peer: %+v", o)
	}
	r.browser.Hook = nil
	r.must(b, "", "read", nil)
	if reply, err := r.try(a, "read", nil); !errors.Is(err, dial.ErrRefused) {
		t.Errorf("the revoked asks again: %+v, %v", reply, err)
	}
}

func TestAGrantExpires(t *testing.T) {
	r := newRig(t)
	g := builder(1, func(g *grant.Grant) { g.Expires = time.Now().Add(1500 * time.Millisecond) })
	r.publish(granted(g))
	path, err := r.e.Issue(g.ID, 1, g.Expires)
	if err != nil {
		t.Fatal(err)
	}
	c := r.client(path)
	r.must(c, "", "sessions", nil)
	deadline := time.After(20 * time.Second)
	for {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			break
		}
		select {
		case <-deadline:
			t.Fatal("the file of an expired grant stays")
		case <-time.After(50 * time.Millisecond):
		}
	}
	if reply, err := r.try(c, "sessions", nil); !errors.Is(err, dial.ErrRefused) {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestRevokedForGood: after revoke every call fails and nothing published brings it back; a new run works.
func TestRevokedForGood(t *testing.T) {
	r := newRig(t)
	c := r.client(connection.Name)
	r.must(c, "", "sessions", nil)
	r.e.Revoke()
	if reply, err := r.try(c, "sessions", nil); !errors.Is(err, dial.ErrRefused) {
		t.Errorf("%+v, %v", reply, err)
	}
	if err := r.tryPublish(open()); !errors.Is(err, endpoint.ErrRevoked) {
		t.Errorf("%v", err)
	}
	if _, err := r.e.Issue("x", 1, time.Now()); !errors.Is(err, endpoint.ErrRevoked) {
		t.Errorf("%v", err)
	}
	r.stop(r.e)
	r.start()
	r.must(r.client(connection.Name), "", "sessions", nil)
}

// TestAnAuthorizerSaysExactlyTheScope, or the action is not done.
func TestAnAuthorizerSaysExactlyTheScope(t *testing.T) {
	var d grant.Decision
	var asked endpoint.Asked
	r := newRig(t, func(r *rig) {
		r.opt.Authorize = func(_ context.Context, a endpoint.Asked) grant.Decision { asked = a; return d }
	})
	for _, c := range []struct {
		d    grant.Decision
		want wire.Code
	}{
		{grant.Decision{Allowed: true, Role: grant.RoleAgent, Scopes: []grant.Internal{"sessions:list"}}, ""},
		{grant.Decision{Allowed: true, Role: grant.RoleAdmin, Scopes: []grant.Internal{"sessions:list"}}, ""},
		{grant.Decision{Allowed: false, Role: grant.RoleAgent, Scopes: []grant.Internal{"sessions:list"}}, wire.CodeDenied},
		{grant.Decision{Allowed: true, Role: "root", Scopes: []grant.Internal{"sessions:list"}}, wire.CodeDenied},
		{grant.Decision{Allowed: true, Role: grant.RoleAgent}, wire.CodeDenied},
		{grant.Decision{Allowed: true, Role: grant.RoleAgent, Scopes: []grant.Internal{"sessions:list", "browser:read"}}, wire.CodeDenied},
		{grant.Decision{Allowed: true, Role: grant.RoleAgent, Scopes: []grant.Internal{"browser:read"}}, wire.CodeDenied},
	} {
		d = c.d
		r.no(c.want, "sessions", nil)
	}
	if asked.Action.Name != "sessions" || asked.Policy == nil || asked.Principal.ID != publish.Shared {
		t.Errorf("%+v", asked)
	}
}

// TestASecondEndpointOfAFolder does not start: the first one's file and socket stay its own.
func TestASecondEndpointOfAFolder(t *testing.T) {
	r := newRig(t)
	if e, err := endpoint.Start(t.Context(), r.opt); !errors.Is(err, endpoint.ErrRunning) {
		t.Errorf("%v", err)
		if err == nil {
			r.stop(e)
		}
	}
	r.must(r.client(connection.Name), "", "sessions", nil)
}

// TestAnOpenDataFolderIsNotUsed: others could read the connection file.
func TestAnOpenDataFolderIsNotUsed(t *testing.T) {
	r := newRig(t)
	r.stop(r.e)
	if err := os.Chmod(r.dir, 0o750); err != nil {
		t.Fatal(err)
	}
	var unsafe *keys.UnsafeError
	if _, err := endpoint.Start(t.Context(), r.opt); !errors.As(err, &unsafe) {
		t.Errorf("%v", err)
	}
	if err := os.Chmod(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.start()
}
