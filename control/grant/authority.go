package grant

import (
	"slices"
	"strings"
)

// Authority is what somebody may do: some scopes, on some hosts. The zero Authority may do nothing.
type Authority struct {
	Scopes []Scope
	// Hosts are lists of exact host names, or "*.example.org" for everything below it. A host must be in every list.
	Hosts [][]string
}

// Policy is one party's limits: the global policy, a group's or a profile's.
type Policy struct {
	Enabled bool     `json:"enabled"`
	Scopes  []Scope  `json:"scopes"`
	Hosts   []string `json:"allowedHosts,omitempty"` // empty inherits the browser's destinations
}

// Authority is what the policy alone permits.
func (p Policy) Authority() Authority {
	if !p.Enabled {
		return Authority{}
	}
	return Authority{Scopes: slices.Clone(p.Scopes)}.on(p.Hosts)
}

// Authority is what the grant alone permits. Whether it is live is Book's to say.
func (g Grant) Authority() Authority {
	return Authority{Scopes: slices.Clone(g.Scopes)}.on(g.Hosts)
}

func (a Authority) on(hosts []string) Authority {
	if len(hosts) > 0 {
		a.Hosts = append(slices.Clone(a.Hosts), slices.Clone(hosts))
	}
	return a
}

// Intersect is what all of them permit. It never exceeds any of them; of none it is nothing.
func Intersect(all ...Authority) Authority {
	var out Authority
	for i, a := range all {
		if i == 0 {
			out.Scopes = slices.Clone(a.Scopes)
		} else {
			out.Scopes = slices.DeleteFunc(out.Scopes, func(s Scope) bool { return !slices.Contains(a.Scopes, s) })
		}
		out.Hosts = append(out.Hosts, a.Hosts...)
	}
	return out
}

// Permits says whether the action may be done at all.
func (a Authority) Permits(act Action) bool { return slices.Contains(a.Scopes, act.Scope) }

// PermitsHost says whether a host (no port, lower case) lies within every list of hosts.
func (a Authority) PermitsHost(host string) bool {
	for _, list := range a.Hosts {
		if !slices.ContainsFunc(list, func(pattern string) bool { return matches(pattern, host) }) {
			return false
		}
	}
	return host != ""
}

func matches(pattern, host string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "*."); ok {
		return suffix != "" && strings.HasSuffix(host, "."+suffix) && len(host) > len(suffix)+1
	}
	return pattern == host
}

// Decision is what an authorizer answers: the role, and exactly the internal scope the action needs.
type Decision struct {
	Allowed bool
	Role    Role
	Scopes  []Internal
}

// Role is whom the authorizer took the caller for.
type Role string

// The two roles there are.
const (
	RoleAgent Role = "agent"
	RoleAdmin Role = "admin"
)

// Honour says whether a decision lets the action run: allowed, a known role, and the one required internal scope, no
// more and no fewer. A decision that says too much comes from somewhere confused, and is not honoured.
func (d Decision) Honour(a Action) bool {
	return d.Allowed && (d.Role == RoleAgent || d.Role == RoleAdmin) && len(d.Scopes) == 1 && d.Scopes[0] == a.Internal
}
