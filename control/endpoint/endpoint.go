// Package endpoint is the running control endpoint of one tenant: identity, grants, connection files and the way of an action through the choke point.
package endpoint

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"parley/control/action"
	"parley/control/client"
	"parley/control/connection"
	"parley/control/gate"
	"parley/control/grant"
	"parley/control/keys"
	"parley/control/publish"
	"parley/control/serve"
	"parley/control/sign"
	"parley/control/span"
	"parley/control/wire"
	"parley/guard/audit"
	"parley/tenant"
	"parley/tool"
)

// Reason is one of the few things OnError is told. None of them holds anything that was said.
type Reason string

// The reasons.
const (
	ReasonAudit      Reason = "an audit record could not be written"
	ReasonState      Reason = "the endpoint's state could not be kept"
	ReasonDescriptor Reason = "a connection file could not be written or removed"
	ReasonLate       Reason = "an action ended after its deadline"
)

// Reasons is the closed list.
func Reasons() []Reason { return []Reason{ReasonAudit, ReasonState, ReasonDescriptor, ReasonLate} }

// Authorize answers for one action, after the grant permitted it.
type Authorize func(ctx context.Context, a Asked) grant.Decision

// Asked is what an authorizer gets to see.
type Asked struct {
	Action    grant.Action
	Args      []byte
	Session   string
	Principal wire.Principal
	Policy    *publish.Policy
}

// Options of an endpoint. Data, Desk and Audit are needed; other zero fields mean what they say.
type Options struct {
	// Data is the tenant's data folder, of mode 0700: the connection file goes there, and two folders for keys and state.
	Data string
	// Keyring puts the pairing key into the kernel's keyring where there is one; false uses protected files.
	Keyring bool
	Tenant  tenant.Tenant
	Desk    *action.Desk
	// Tools is the service's own table, whose tools may be published as scopes; nil offers none.
	Tools *tool.Service
	// Guard puts policy, approvals, sealing and fence in their places of the choke point, as for every other transport;
	// nil: nothing is decided there. The audit is the endpoint's own.
	Guard func(*tool.Options)
	// Authorize has a last say; nil honours what the grant permits.
	Authorize Authorize
	// Audit writes a record, or the action is not done.
	Audit func(audit.Record) error
	// OnError is told reasons out of a closed list; nil tells nobody.
	OnError func(Reason)
	Spans   *span.Recorder
	Log     *slog.Logger // nil: slog.Default
	Now     func() time.Time
	Timeout time.Duration // of an action; wire.ActionTimeout
	Limits  gate.Limits
}

// Endpoint is running from Start to Close. It is safe for concurrent use.
type Endpoint struct {
	o        Options
	data     *keys.Files
	state    *keys.Files
	marks    keys.Ring // beside the keys, apart from the state
	stateKey *keys.Key
	pairing  *keys.Key
	place    keys.Place
	identity *sign.Identity
	gate     *gate.Gate
	server   *serve.Server
	tools    *tool.Service

	lock *os.File
	wake chan struct{}
	done chan struct{}
	stop context.CancelFunc

	publishing sync.Mutex // one publication, issue or end at a time
	mu         sync.RWMutex
	policy     *publish.Policy
	raw        []byte // the publication as it came; nil is the default
	book       grant.Book
	caps       map[wire.Principal]*wire.Capability
	files      map[wire.Principal]string // names of connection files
	revoked    bool
}

// Folders below the data folder.
const (
	keysDir  = "control-keys"
	stateDir = "control-state"
)

// ErrRevoked says that the endpoint was revoked for good.
var ErrRevoked = errors.New("this endpoint was revoked: start it anew")

// Start makes a fresh identity, reads what was published last, listens on a free loopback port, and writes the connection
// file of the shared pairing where the policy has one.
func Start(ctx context.Context, o Options) (_ *Endpoint, err error) {
	if o.Desk == nil || o.Audit == nil {
		return nil, errors.New("the control endpoint needs a desk and an audit log")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Spans == nil {
		o.Spans = new(span.Recorder)
	}
	e := &Endpoint{o: o, wake: make(chan struct{}, 1), done: make(chan struct{}), caps: map[wire.Principal]*wire.Capability{}, files: map[wire.Principal]string{}}
	defer func() {
		if err != nil {
			e.wipe()
		}
	}()
	if e.data, err = keys.OpenFiles(o.Data); err != nil {
		return nil, fmt.Errorf("the data folder: %w", err)
	}
	if e.state, err = keys.OpenFiles(filepath.Join(o.Data, stateDir)); err != nil {
		return nil, err
	}
	if e.lock, err = lockState(filepath.Join(o.Data, stateDir)); err != nil {
		return nil, err
	}
	fileRing, filePlace, err := keys.Protected(filepath.Join(o.Data, keysDir), connection.PairingKey)
	if err != nil {
		return nil, err
	}
	for _, f := range []*keys.Files{e.data, e.state, keys.At(filepath.Join(o.Data, keysDir))} { // ours alone, by the lock
		if err = f.Tidy(); err != nil {
			return nil, err
		}
	}
	e.marks = fileRing
	if e.stateKey, err = keys.LoadOrDraw(fileRing, "control-state"); err != nil {
		return nil, err
	}
	ring := fileRing
	e.place = filePlace
	if o.Keyring {
		if ring, e.place, err = keys.Best(filepath.Join(o.Data, keysDir), connection.PairingKey); err != nil {
			return nil, err
		}
	}
	if e.pairing, err = keys.LoadOrDraw(ring, connection.PairingKey); err != nil {
		return nil, err
	}
	if err := e.load(); err != nil {
		return nil, err
	}
	if e.identity, err = sign.NewIdentity(); err != nil {
		return nil, err
	}
	if e.gate, err = gate.New(e.identity, book{e}, o.Limits); err != nil {
		return nil, err
	}
	if err := e.openTools(); err != nil {
		return nil, err
	}
	e.server, err = serve.Start(e.gate, e.handle, serve.Options{Timeout: o.Timeout, Now: o.Now, Log: o.Log, Spans: o.Spans})
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.sweep()
	if e.policy.Mode == publish.Legacy && e.policy.Enabled {
		if _, err = e.describe(shared); err != nil {
			stop()
			close(e.done)
			return nil, errors.Join(err, e.Close(ctx))
		}
	}
	go e.loop(life)
	return e, nil
}

// ErrRunning says that another process runs the control endpoint of this data folder.
var ErrRunning = errors.New("another process runs the control endpoint of this data folder")

func lockState(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the control endpoint: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // it was not ours
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrRunning
		}
		return nil, fmt.Errorf("lock the control endpoint: %w", err)
	}
	return f, nil
}

// openTools makes the choke point of the endpoint's own actions.
func (e *Endpoint) openTools() (err error) {
	o := tool.Options{Tools: e.o.Desk.Tools(), Deadline: action.Deadline, Now: e.o.Now, Log: e.o.Log,
		Limits: tool.Limits{PerMinute: 6000, Burst: 6000}} // the gate has the budget
	if e.o.Guard != nil {
		e.o.Guard(&o)
	}
	o.Audit, o.Alive = e.record, nil // who calls was told by the gate, which asks again before anything leaves
	e.tools, err = tool.NewService(o)
	return err
}

func (e *Endpoint) wipe() {
	if e.lock != nil {
		_ = e.lock.Close() // frees the lock
	}
	for _, k := range []*keys.Key{e.stateKey, e.pairing} {
		if k != nil {
			k.Wipe()
		}
	}
	if e.identity != nil {
		e.identity.Wipe()
	}
	for _, c := range e.caps {
		clear(c[:])
	}
}

// Address is host and port.
func (e *Endpoint) Address() string { return e.server.Address() }

// Policy is the publication that holds.
func (e *Endpoint) Policy() *publish.Policy {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.policy
}

// Late is how many actions ended after their caller was answered.
func (e *Endpoint) Late() int { return e.server.Late() }

// shared is the one principal of the shared pairing.
var shared = wire.Principal{ID: publish.Shared, Generation: 1}

// book answers the gate.
type book struct{ e *Endpoint }

func (b book) Capability(now time.Time, p wire.Principal) (*wire.Capability, bool) {
	b.e.mu.RLock()
	defer b.e.mu.RUnlock()
	c, ok := b.e.caps[p]
	if !ok || !b.e.live(now, p) {
		return nil, false
	}
	held := *c // a copy: the gate reads it when our lock is gone
	return &held, true
}

// live says whether a principal may do anything at all. The lock is held.
func (e *Endpoint) live(now time.Time, p wire.Principal) bool {
	if e.revoked || !e.policy.Enabled {
		return false
	}
	if e.policy.Mode == publish.Legacy {
		return p == shared
	}
	_, ok := e.book.Live(p, now)
	return ok
}

// Live says whether a principal may do anything at all now.
func (e *Endpoint) Live(p wire.Principal) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.live(e.o.Now(), p)
}

// loop reconciles when a grant expires or something was published, and tells of strangers.
func (e *Endpoint) loop(life context.Context) {
	defer close(e.done)
	const often = 30 * time.Second
	refused := 0
	for {
		e.mu.RLock()
		next := e.book.Next(e.o.Now())
		e.mu.RUnlock()
		wait := often
		if !next.IsZero() {
			wait = min(wait, max(next.Sub(e.o.Now()), time.Millisecond))
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-e.wake:
			timer.Stop()
		case <-life.Done():
			timer.Stop()
			e.strangers(&refused)
			return
		}
		e.server.Reconcile(e.Live)
		e.publishing.Lock() // a file that is just being issued is not swept
		e.sweep()
		e.publishing.Unlock()
		e.strangers(&refused)
	}
}

// strangers records that requests were refused. Whose they claimed to be is not told: nobody knows.
func (e *Endpoint) strangers(before *int) {
	_, now := e.gate.Counts()
	if now == *before {
		return
	}
	*before = now
	if err := e.o.Audit(audit.Record{At: e.o.Now(), Stage: string(tool.Refused), Transport: transport, Code: "unauthenticated"}); err != nil {
		e.fault(ReasonAudit, err)
	}
}

func (e *Endpoint) fault(r Reason, err error) {
	e.o.Log.Error("control: "+string(r), "err", err)
	if e.o.OnError != nil {
		e.o.OnError(r)
	}
}

// Publish takes a publication in whole: what it leaves out is revoked, its work aborted, and others are untouched.
func (e *Endpoint) Publish(raw []byte) error {
	p, err := publish.Parse(raw, e.known)
	if err != nil {
		return err
	}
	e.publishing.Lock()
	defer e.publishing.Unlock()
	e.mu.RLock()
	was, old, gone := e.policy, e.book, e.revoked
	e.mu.RUnlock()
	switch {
	case gone:
		return ErrRevoked
	case p.Version <= was.Version && e.raw != nil:
		return fmt.Errorf("%w: version %d was published already; a new one is higher", publish.ErrPolicy, was.Version)
	}
	next, _, err := old.Reconcile(p.Grants, e.known, e.o.Now())
	if err != nil {
		return err
	}
	// First the disk: what was seen must not be forgotten by a crash.
	if err := e.save(raw, next); err != nil {
		e.fault(ReasonState, err)
		return err
	}
	if err := e.mark(p.Version); err != nil { // it is kept: the next start makes the mark
		e.fault(ReasonState, err)
	}
	e.mu.Lock()
	e.policy, e.raw, e.book = p, raw, next
	e.mu.Unlock()
	e.server.Reconcile(e.Live)
	e.sweep()
	e.mu.RLock()
	paired := e.caps[shared] != nil
	e.mu.RUnlock()
	if p.Mode == publish.Legacy && p.Enabled && !paired {
		if _, err := e.describe(shared); err != nil {
			return err
		}
	}
	e.poke()
	return nil
}

func (e *Endpoint) poke() {
	select {
	case e.wake <- struct{}{}:
	default: // it is awake
	}
}

// known says whether a scope names one of the service's own tools.
func (e *Endpoint) known(name string) bool { return e.o.Tools != nil && e.o.Tools.Known(name) }

// Issue makes the credential of a published grant, writes its connection file, and gives the file's path. It matches the
// grant exactly or is refused; an earlier credential of the same generation ends.
func (e *Endpoint) Issue(id string, generation uint64, expires time.Time) (string, error) {
	e.publishing.Lock()
	defer e.publishing.Unlock()
	p := wire.Principal{ID: id, Generation: generation}
	e.mu.RLock()
	gone, individual := e.revoked, e.policy.Mode == publish.Individual
	err := e.book.Issue(p, expires, e.o.Now())
	e.mu.RUnlock()
	switch {
	case gone:
		return "", ErrRevoked
	case !individual:
		return "", fmt.Errorf("%w: the policy has a shared pairing", grant.ErrIssue)
	case err != nil:
		return "", err
	}
	return e.describe(p)
}

// FileName is that of a principal's connection file. The id is hashed: it is none of a folder listing's business.
func FileName(p wire.Principal) string {
	if p == shared {
		return connection.Name
	}
	sum := sha256.Sum256([]byte(p.ID))
	return "control-" + hex.EncodeToString(sum[:8]) + ".json"
}

// describe draws a capability and writes the connection file. The capability counts from when its file is there.
func (e *Endpoint) describe(p wire.Principal) (string, error) {
	c := new(wire.Capability)
	if _, err := rand.Read(c[:]); err != nil {
		return "", fmt.Errorf("draw a capability: %w", err)
	}
	name := FileName(p)
	end := client.Endpoint{Pins: e.gate.Pins(), Instance: e.gate.Instance(), Principal: p, Capability: c}
	if err := connection.Write(e.data, name, e.server.Address(), end, e.place, e.pairing); err != nil {
		e.fault(ReasonDescriptor, err)
		return "", err
	}
	e.mu.Lock()
	e.caps[p], e.files[p] = c, name
	e.mu.Unlock()
	return filepath.Join(e.o.Data, name), nil
}

// sweep, which its caller holds publishing for, removes the connection files of principals that are not live, and those an earlier run left.
func (e *Endpoint) sweep() {
	e.mu.Lock()
	now := e.o.Now()
	keep := map[string]bool{}
	for p, c := range e.caps {
		if e.live(now, p) {
			keep[e.files[p]] = true
			continue
		}
		clear(c[:])
		delete(e.caps, p)
		delete(e.files, p)
	}
	e.mu.Unlock()
	found, err := filepath.Glob(filepath.Join(e.o.Data, "control-????????????????.json"))
	if err != nil {
		return // the pattern is ours
	}
	for _, path := range append(found, filepath.Join(e.o.Data, connection.Name)) {
		if name := filepath.Base(path); !keep[name] {
			if err := e.remove(name); err != nil {
				e.fault(ReasonDescriptor, err)
			}
		}
	}
}

func (e *Endpoint) remove(name string) error {
	if _, err := os.Lstat(filepath.Join(e.o.Data, name)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return connection.Remove(e.data, name)
}

// Revoke ends the endpoint for good: every call fails from now on, whatever is published later.
func (e *Endpoint) Revoke() {
	e.publishing.Lock()
	defer e.publishing.Unlock()
	e.mu.Lock()
	e.revoked = true
	e.mu.Unlock()
	e.server.Reconcile(e.Live)
	e.sweep()
}

// Close refuses everything, ends what runs, and removes the connection files.
func (e *Endpoint) Close(ctx context.Context) error {
	e.Revoke()
	err := e.server.Close(ctx)
	e.stop()
	<-e.done
	err = errors.Join(err, e.tools.Close(ctx))
	e.o.Desk.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wipe()
	return err
}
