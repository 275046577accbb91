package tenant

import (
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrToken says that no tenant has the token that was shown.
var ErrToken = errors.New("this token is not known here")

// Principal is a tenant together with the token it showed.
type Principal struct {
	Tenant Tenant
	Token  TokenID
}

// Config is what a registry is made of.
type Config struct {
	// Tokens are those of the settings and of the token file.
	Tokens []Credential
	// Policies and Grants name tenants of Tokens; a tenant that is not named is full, with the grant Meeting.
	Policies map[ID]Policy
	Grants   map[ID][]Grant
	Quotas   map[ID]Quota
}

// Registry knows every tenant and keeps the hashes of their tokens. It is safe for concurrent use.
type Registry struct {
	tenants map[ID]Tenant
	tokens  []known
	weak    []ID
}

type known struct {
	hash   Hash
	tenant ID
}

// NewRegistry checks the configuration and forgets the tokens themselves.
func NewRegistry(c Config) (*Registry, error) {
	r := &Registry{tenants: map[ID]Tenant{}}
	seen := map[Hash]ID{}
	for _, cred := range c.Tokens {
		if err := errors.Join(cred.Tenant.Check(), checkToken(cred.Token)); err != nil {
			return nil, fmt.Errorf("tenant %s: %w", cred.Tenant, err)
		}
		h := HashOf(cred.Token)
		if other, dup := seen[h]; dup {
			if other == cred.Tenant {
				continue
			}
			return nil, fmt.Errorf("tenants %s and %s have the same token", other, cred.Tenant)
		}
		seen[h] = cred.Tenant
		r.tokens = append(r.tokens, known{h, cred.Tenant})
		if len(cred.Token) < MinToken && !slices.Contains(r.weak, cred.Tenant) {
			r.weak = append(r.weak, cred.Tenant)
		}
		policy := cmp.Or(c.Policies[cred.Tenant], Full)
		t := Tenant{ID: cred.Tenant, Policy: policy, Quota: c.Quotas[cred.Tenant], Grants: slices.Clone(c.Grants[cred.Tenant])}
		if policy == Full && !t.Can(Meeting) {
			t.Grants = append([]Grant{Meeting}, t.Grants...)
		}
		if policy == Ephemeral && len(t.Grants) > 0 {
			return nil, fmt.Errorf("tenant %s: an ephemeral tenant cannot have the grants %s", t.ID, join(t.Grants))
		}
		r.tenants[t.ID] = t
	}
	for _, id := range slices.Sorted(maps.Keys(c.Policies)) {
		if _, ok := r.tenants[id]; !ok {
			return nil, fmt.Errorf("a policy names tenant %s, which has no token", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Quotas)) {
		if _, ok := r.tenants[id]; !ok {
			return nil, fmt.Errorf("quotas name tenant %s, which has no token", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Grants)) {
		if _, ok := r.tenants[id]; !ok {
			return nil, fmt.Errorf("grants name tenant %s, which has no token", id)
		}
	}
	return r, nil
}

// Authenticate finds whose token this is, or gives ErrToken. Its time does not depend on the token.
func (r *Registry) Authenticate(token string) (Principal, error) {
	if len(token) > maxToken {
		return Principal{}, ErrToken
	}
	h := HashOf(token)
	found := -1
	for i := range r.tokens {
		if subtle.ConstantTimeCompare(r.tokens[i].hash[:], h[:]) == 1 {
			found = i
		}
	}
	if token == "" || found < 0 {
		return Principal{}, ErrToken
	}
	return Principal{Tenant: r.tenants[r.tokens[found].tenant], Token: h.ID()}, nil
}

// Get finds a tenant.
func (r *Registry) Get(id ID) (Tenant, bool) {
	t, ok := r.tenants[id]
	return t, ok
}

// Tenants lists all, by name.
func (r *Registry) Tenants() []Tenant {
	out := make([]Tenant, 0, len(r.tenants))
	for _, id := range slices.Sorted(maps.Keys(r.tenants)) {
		out = append(out, r.tenants[id])
	}
	return out
}

// Weak lists tenants that have a token shorter than 32 characters, for a warning at start.
func (r *Registry) Weak() []ID { return slices.Clone(r.weak) }

// Local is the tenant that commands on this machine act for: the wanted one where it is given, else the only
// one there is, else "me". A tenant without a token is as good here as one with: the caller is the operator.
func (r *Registry) Local(wanted ID) (Tenant, error) {
	id := wanted
	switch {
	case id != "":
		if err := id.Check(); err != nil {
			return Tenant{}, err
		}
	case len(r.tenants) == 1:
		for only := range r.tenants {
			id = only
		}
	default:
		id = DefaultID
	}
	if t, ok := r.tenants[id]; ok {
		return t, nil
	}
	return Tenant{ID: id, Policy: Full, Grants: []Grant{Meeting}}, nil
}
