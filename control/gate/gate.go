// Package gate decides which requests of the control endpoint are genuine, and gives every other one the same refusal.
package gate

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley/control/challenge"
	"parley/control/sign"
	"parley/control/wire"
)

// ErrRefused is the one answer to every request that is not genuine. Which check failed is not said, nor counted per
// caller: whoever could tell them apart could search.
var ErrRefused = errors.New("refused")

// Refusal is the body of that answer, and RefusalStatus its status, whatever the reason.
const (
	Refusal       = "{\"error\":\"refused\"}\n"
	RefusalStatus = http.StatusForbidden
)

// Quantum is the time class of refusals: a refusal is sent when a whole number of quanta has passed since the request
// arrived, which is one for every check there is on a machine that keeps up.
const Quantum = 25 * time.Millisecond

// RefuseAt is when the refusal of a request may be sent.
func RefuseAt(arrived, now time.Time) time.Time {
	past := now.Sub(arrived)
	if past < 0 {
		past = 0
	}
	return arrived.Add((past/Quantum + 1) * Quantum)
}

// Keys looks a capability up. It must answer for live principals alone, and is called with the gate's lock held.
type Keys interface {
	Capability(now time.Time, p wire.Principal) (*wire.Capability, bool)
}

// Limits bound a Gate; zero fields mean the defaults.
type Limits struct {
	Challenges challenge.Limits
	Seen       int // nonces remembered; 8192
	PerMinute  int // actions of one principal, and as many challenges; 60
}

// Gate is one running endpoint's door. Its methods may be called by several goroutines: the lock covers maps, never the
// expensive keys.
type Gate struct {
	identity *sign.Identity
	instance wire.Instance
	keys     Keys
	nobody   *wire.Capability // stands in for an unknown principal's, so that unknown costs what known costs

	mu       sync.Mutex
	out      *challenge.Store
	seen     *challenge.Seen
	rate     map[string]*challenge.Rate // by route
	closed   bool
	refused  int
	accepted int
}

// New makes a gate for one run. The caller wipes the identity after Close, when no request is under way.
func New(identity *sign.Identity, keys Keys, l Limits) (*Gate, error) {
	g := &Gate{identity: identity, keys: keys, nobody: new(wire.Capability), out: challenge.New(l.Challenges), seen: challenge.NewSeen(l.Seen)}
	g.rate = map[string]*challenge.Rate{wire.RouteChallenge: challenge.NewRate(l.PerMinute), wire.RouteAction: challenge.NewRate(l.PerMinute)}
	if _, err := rand.Read(g.instance[:]); err != nil {
		return nil, fmt.Errorf("name the instance: %w", err)
	}
	if _, err := rand.Read(g.nobody[:]); err != nil {
		return nil, fmt.Errorf("draw a stand-in key: %w", err)
	}
	return g, nil
}

// Instance names this run; the connection file holds it.
func (g *Gate) Instance() wire.Instance { return g.instance }

// Pins are the public keys of this run.
func (g *Gate) Pins() sign.Pins { return g.identity.Pins() }

// Headers refuses what only a browser sends: a page must get nothing from here, however it found the port.
func Headers(h http.Header) error {
	for name := range h {
		name = http.CanonicalHeaderKey(name)
		if name == "Origin" || name == "Cookie" || strings.HasPrefix(name, "Sec-Fetch-") || strings.HasPrefix(name, "Access-Control-") {
			return ErrRefused
		}
	}
	if len(h.Values(wire.ProofHeader)) != 1 {
		return ErrRefused
	}
	return nil
}

// Challenge answers a request for a challenge. now is also the arrival for the proof's window.
func (g *Gate) Challenge(now time.Time, header string, body []byte) ([]byte, error) {
	p, ok := g.genuine(now, wire.RouteChallenge, header, body)
	ask, err := wire.ParseAsk(body)
	if !ok || err != nil {
		return nil, g.refuse()
	}
	c, key, err := wire.NewChallenge(g.identity, g.instance, ask, p, now)
	if err != nil {
		return nil, g.refuse()
	}
	sent := c.Bytes()
	g.mu.Lock()
	defer g.mu.Unlock()
	h := &challenge.Held{ID: c.ID, Principal: p, Issued: c.Issued, Expires: c.Expires, Key: key, Bytes: sent}
	if g.closed || g.out.Put(now, h) != nil {
		h.Wipe()
		g.refused++
		return nil, ErrRefused
	}
	g.accepted++
	return sent, nil
}

// Opened is a genuine action: who wants what, and what seals the answer.
type Opened struct {
	Principal wire.Principal
	ID        wire.RequestID
	Request   wire.Request
	Malformed bool // the seal was right and the plaintext was not; answer with wire.CodeInvalid
	// Took are how long taking the challenge and opening the seal took, for diagnosis.
	Took   struct{ Challenge, Decrypt time.Duration }
	gate   *Gate
	sealer *wire.Sealer
}

// Action opens a sealed action. Its challenge is used up, whether it opens or not.
func (g *Gate) Action(now time.Time, header string, body []byte) (*Opened, error) {
	p, ok := g.genuine(now, wire.RouteAction, header, body)
	a, err := wire.ParseAction(body)
	if !ok || err != nil {
		return nil, g.refuse()
	}
	begin := time.Now()
	g.mu.Lock()
	h, ok := g.out.Take(now, a.Challenge, p)
	g.mu.Unlock()
	taken := time.Now()
	if !ok {
		return nil, g.refuse()
	}
	defer h.Wipe()
	plain, sealer, err := wire.OpenAction(g.Pins(), h.Key, h.Bytes, p, a)
	if err != nil {
		return nil, g.refuse()
	}
	defer clear(plain)
	o := &Opened{Principal: p, ID: a.Request, gate: g, sealer: sealer}
	o.Took.Challenge, o.Took.Decrypt = taken.Sub(begin), time.Since(taken)
	if o.Request, err = wire.ParseRequest(plain); err != nil {
		o.Malformed = true
	}
	// The parts of Request point into plain, which is about to be overwritten.
	o.Request.Args = append([]byte(nil), o.Request.Args...)
	g.mu.Lock()
	g.accepted++
	g.mu.Unlock()
	return o, nil
}

// Reply seals the answer, unless the principal died in the meantime: then nothing of it leaves, and neither does
// anything if it dies while the seal is made. now is the time after the work. release, where there is one, guards the
// answer: when it says no before the seal is made, the caller is told of a conflict instead; when it says no
// afterwards, nothing leaves.
func (o *Opened) Reply(now func() time.Time, r wire.Reply, release func() bool) ([]byte, error) {
	if release != nil && r.OK() && !release() {
		r, release = wire.Reply{Code: wire.CodeConflict}, nil
	}
	plain, err := r.Bytes()
	if err != nil {
		o.sealer.Drop()
		return nil, fmt.Errorf("write the reply: %w", err)
	}
	defer clear(plain)
	if !o.gate.live(now(), o.Principal) {
		o.sealer.Drop()
		return nil, o.gate.refuse()
	}
	if len(plain) > wire.MaxReply {
		if plain, err = (wire.Reply{Code: wire.CodeTooLarge}).Bytes(); err != nil {
			return nil, fmt.Errorf("write the reply: %w", err)
		}
	}
	sealed, err := o.sealer.Seal(plain)
	if err != nil {
		return nil, fmt.Errorf("seal the reply: %w", err)
	}
	if !o.gate.live(now(), o.Principal) || release != nil && r.OK() && !release() {
		clear(sealed)
		return nil, o.gate.refuse()
	}
	return sealed, nil
}

func (g *Gate) live(now time.Time, p wire.Principal) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	_, ok := g.keys.Capability(now, p)
	return ok
}

// genuine goes through the same steps for every request: read the proof, find a key or the stand-in, hash the body,
// compare. Only what is genuine so far touches the replay memory and the budget.
func (g *Gate) genuine(now time.Time, route, header string, body []byte) (wire.Principal, bool) {
	proof, err := wire.ParseProof(header)
	ok := err == nil && len(body) <= wire.MaxBody
	if len(body) > wire.MaxBody {
		body = body[:wire.MaxBody]
	}
	g.mu.Lock()
	key, known := g.keys.Capability(now, proof.Principal)
	if !known || g.closed {
		key, ok = g.nobody, false
	}
	held := *key // a copy: the owner may wipe it while we hash
	g.mu.Unlock()
	defer clear(held[:])
	right := proof.Verify(&held, g.instance, route, body)
	if !ok || !right {
		return wire.Principal{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// A replay is refused before it is charged: an eavesdropper must not spend the holder's budget.
	if !g.seen.Fresh(now, proof) || !g.rate[route].Allow(now, proof.Principal) || !g.seen.Remember(now, proof) {
		return wire.Principal{}, false
	}
	return proof.Principal, true
}

func (g *Gate) refuse() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused++
	return ErrRefused
}

// Reconcile forgets the challenges of principals that are not live any more.
func (g *Gate) Reconcile(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.out.Revoke(func(p wire.Principal) bool { _, ok := g.keys.Capability(now, p); return ok })
}

// Counts are how many requests were accepted and refused.
func (g *Gate) Counts() (accepted, refused int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accepted, g.refused
}

// Close refuses everything from now on, for good. The identity is not wiped while a challenge may be signed with it:
// the owner wipes it once its handlers have returned.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.out.Revoke(func(wire.Principal) bool { return false })
}
