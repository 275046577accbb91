// Package tenant is who may use the service: tenants, their tokens, and what each of them may do.
package tenant

import (
	"fmt"
	"slices"
	"strings"
)

// ID names a tenant: lower case letters, digits, '.', '_' and '-', at most 64, starting with a letter or digit.
type ID string

// DefaultID is the tenant that local commands act for when nothing names another.
const DefaultID ID = "me"

// Policy says how much of the service a tenant's tokens reach.
type Policy string

// The policies.
const (
	// Full is everything the tenant was granted.
	Full Policy = "full"
	// Ephemeral is a browser that leaves nothing behind: no profiles, no joining, no writing outside a session,
	// no pushed events.
	Ephemeral Policy = "ephemeral"
)

// Grant is a permission that goes beyond what every tool call has.
type Grant string

// The grants.
const (
	// Meeting is attending meetings. Tokens of policy Full have it without being told.
	Meeting Grant = "meeting"
	// AnnounceNone is recording without an announcement.
	AnnounceNone Grant = "announce-none"
	// AdminPolicy is administering the policy: changing its rules, and switching the fence off for oneself.
	AdminPolicy Grant = "policy"
)

// Quota holds a tenant's ceilings besides the service's own. Zero is no ceiling.
type Quota struct {
	Meetings int // at once
}

// Tenant is one owner of meetings, files and settings. It does not change while the service runs.
type Tenant struct {
	ID     ID
	Policy Policy
	Grants []Grant
	Quota  Quota
}

// Can tells whether the tenant has a grant.
func (t Tenant) Can(g Grant) bool { return slices.Contains(t.Grants, g) }

// Check tells what is wrong with an id.
func (id ID) Check() error {
	if id == "" {
		return fmt.Errorf("a tenant needs a name")
	}
	if len(id) > 64 {
		return fmt.Errorf("tenant %.20q… is longer than 64 characters", string(id))
	}
	for i, r := range string(id) {
		alnum := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("._-", r)) {
			return fmt.Errorf("tenant %q: use lower case letters, digits, '.', '_', '-', starting with a letter or digit", string(id))
		}
	}
	return nil
}

// Check tells what is wrong with a policy.
func (p Policy) Check() error {
	if p == Full || p == Ephemeral {
		return nil
	}
	return fmt.Errorf("policy %q is none of full, ephemeral", string(p))
}
