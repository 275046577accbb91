package grant

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/control/wire"
)

// Grant is what an administrator published for one local agent. It holds no secret.
type Grant struct {
	ID         string    `json:"id"` // as wire.Principal's
	Name       string    `json:"name"`
	Enabled    bool      `json:"enabled"`
	Group      string    `json:"group,omitempty"` // whose limits hold as well; empty is none
	Scopes     []Scope   `json:"scopes"`          // empty grants nothing
	Hosts      []string  `json:"hosts"`           // further narrows the hosts; empty leaves the policy's
	Expires    time.Time `json:"expires"`
	Generation uint64    `json:"generation"` // raised to rotate the credential; from 1
}

// Principal is who the grant is for, in its present generation.
func (g Grant) Principal() wire.Principal {
	return wire.Principal{ID: g.ID, Generation: g.Generation}
}

// ErrGrant says that a published grant cannot be taken.
var ErrGrant = errors.New("the grant is not well-formed")

// Check refuses a grant with a wrong id, generation 0, no expiry, or a scope that is neither in the table nor known; nil
// knows no others.
func (g Grant) Check(known func(string) bool) error {
	switch {
	case !g.Principal().Valid():
		return fmt.Errorf("%w: the id takes 1 to %d of a-z 0-9 . _ -", ErrGrant, wire.MaxPrincipal)
	case g.Generation == 0:
		return fmt.Errorf("%w: %s: generations count from 1", ErrGrant, g.ID)
	case g.Expires.IsZero():
		return fmt.Errorf("%w: %s: it has no expiry", ErrGrant, g.ID)
	}
	for _, s := range g.Scopes {
		if _, ok := Lookup(string(s)); !ok && (known == nil || !known(string(s))) {
			return fmt.Errorf("%w: %s: no action %q", ErrGrant, g.ID, s)
		}
	}
	return nil
}

// Book is what is known of all grants: the published ones, and the highest generation ever seen of each id. It is a
// value: its methods return a new one. Seen must be stored and given back at the next start, or an old publication would
// bring a rotated credential back to life.
type Book struct {
	Grants map[string]Grant  `json:"grants"`
	Seen   map[string]uint64 `json:"seen"`
}

// Reconcile takes a publication in whole: what it does not name is revoked. A grant below the highest generation seen is
// remembered as it is and never live. It returns the principals whose work must be aborted, in order of id.
// A publication with one bad grant or one id twice changes nothing. known is as in Grant.Check.
func (b Book) Reconcile(published []Grant, known func(string) bool, now time.Time) (Book, []wire.Principal, error) {
	next := Book{Grants: map[string]Grant{}, Seen: maps.Clone(b.Seen)}
	if next.Seen == nil {
		next.Seen = map[string]uint64{}
	}
	for _, g := range published {
		if err := g.Check(known); err != nil {
			return b, nil, err
		}
		if _, twice := next.Grants[g.ID]; twice {
			return b, nil, fmt.Errorf("%w: %s is there twice", ErrGrant, g.ID)
		}
		g.Scopes, g.Hosts = slices.Clone(g.Scopes), slices.Clone(g.Hosts)
		next.Grants[g.ID] = g
		next.Seen[g.ID] = max(next.Seen[g.ID], g.Generation)
	}
	var dead []wire.Principal
	for _, id := range slices.Sorted(maps.Keys(b.Grants)) {
		p := b.Grants[id].Principal()
		if _, was := b.Live(p, now); !was {
			continue
		}
		if _, is := next.Live(p, now); !is {
			dead = append(dead, p)
		}
	}
	return next, dead, nil
}

// Revoke ends one grant for good: its generation counts as seen and passed, whatever is published later under it.
func (b Book) Revoke(id string) Book {
	next := Book{Grants: maps.Clone(b.Grants), Seen: maps.Clone(b.Seen)}
	if next.Seen == nil {
		next.Seen = map[string]uint64{}
	}
	if g, ok := next.Grants[id]; ok {
		delete(next.Grants, id)
		next.Seen[id] = max(next.Seen[id], g.Generation)
	}
	if next.Seen[id] < 1<<64-1 {
		next.Seen[id]++
	}
	return next
}

// Live finds the grant of a principal: enabled, unexpired, of this very generation, and no generation above it was ever
// seen.
func (b Book) Live(p wire.Principal, now time.Time) (Grant, bool) {
	g, ok := b.Grants[p.ID]
	if !ok || !g.Enabled || g.Generation != p.Generation || b.Seen[p.ID] != p.Generation || !now.Before(g.Expires) {
		return Grant{}, false
	}
	return g, true
}

// ErrIssue says that no live grant matches what a credential was asked for.
var ErrIssue = errors.New("no published, enabled, unexpired grant of this id, generation and expiry")

// Issue says whether a credential may be made: only for exactly what was published.
func (b Book) Issue(p wire.Principal, expires, now time.Time) error {
	g, ok := b.Live(p, now)
	if !ok || !g.Expires.Equal(expires) {
		return ErrIssue
	}
	return nil
}

// Next is when the next live grant expires; zero when none does.
func (b Book) Next(now time.Time) time.Time {
	var next time.Time
	for _, g := range b.Grants {
		if _, ok := b.Live(g.Principal(), now); ok && (next.IsZero() || g.Expires.Before(next)) {
			next = g.Expires
		}
	}
	return next
}
