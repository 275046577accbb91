package tenant

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Credential is a token and whose it is.
type Credential struct {
	Tenant ID
	Token  string
}

// ParseTokens reads "me:A,me:B,swarm:C". Several tokens may name one tenant, a token names one tenant only.
// Errors give the entry's place and tenant, never a token.
func ParseTokens(s string) ([]Credential, error) {
	var out []Credential
	owner := map[string]ID{}
	for i, entry := range entries(s) {
		name, token, ok := strings.Cut(entry, ":")
		if !ok {
			return nil, fmt.Errorf("entry %d: want tenant:token", i+1)
		}
		id := ID(strings.TrimSpace(name))
		if err := id.Check(); err != nil {
			if len(entry) > 0 && len(name) > 64 { // most likely a token in the wrong place
				return nil, fmt.Errorf("entry %d: want tenant:token", i+1)
			}
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		token = strings.TrimSpace(token)
		if err := checkToken(token); err != nil {
			return nil, fmt.Errorf("entry %d (tenant %s): %w", i+1, id, err)
		}
		if other, seen := owner[token]; seen {
			if other == id {
				return nil, fmt.Errorf("entry %d (tenant %s): the same token stands twice", i+1, id)
			}
			return nil, fmt.Errorf("entry %d: tenants %s and %s have the same token", i+1, other, id)
		}
		owner[token] = id
		out = append(out, Credential{Tenant: id, Token: token})
	}
	return out, nil
}

// ParsePolicies reads "swarm=ephemeral,me=full".
func ParsePolicies(s string) (map[ID]Policy, error) {
	out := map[ID]Policy{}
	err := pairs(s, "policy", func(id ID, value string) error {
		p := Policy(value)
		if err := p.Check(); err != nil {
			return err
		}
		if old, seen := out[id]; seen && old != p {
			return fmt.Errorf("two policies, %s and %s", old, p)
		}
		out[id] = p
		return nil
	})
	return out, err
}

// ParseGrants reads "me=meeting,announce-none;swarm=…": tenants are separated by ';' or new lines,
// the grants of one by ','.
func ParseGrants(s string) (map[ID][]Grant, error) {
	out := map[ID][]Grant{}
	for _, entry := range strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == '\n' }) {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, list, ok := strings.Cut(entry, "=")
		id := ID(strings.TrimSpace(name))
		if !ok {
			return nil, fmt.Errorf("%q: want tenant=grant,grant", entry)
		}
		if err := id.Check(); err != nil {
			return nil, err
		}
		for _, g := range entries(list) {
			grant := Grant(g)
			if !slices.Contains(grants, grant) {
				return nil, fmt.Errorf("tenant %s: %q is none of the grants %s", id, g, join(grants))
			}
			if !slices.Contains(out[id], grant) {
				out[id] = append(out[id], grant)
			}
		}
	}
	return out, nil
}

// ParseQuotas reads "me=meetings:2;swarm=meetings:1": tenants are separated by ';' or new lines, the ceilings
// of one by ','.
func ParseQuotas(s string) (map[ID]Quota, error) {
	out := map[ID]Quota{}
	for _, entry := range strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == '\n' }) {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, list, ok := strings.Cut(entry, "=")
		id := ID(strings.TrimSpace(name))
		if !ok {
			return nil, fmt.Errorf("%q: want tenant=meetings:number", entry)
		}
		if err := id.Check(); err != nil {
			return nil, err
		}
		q := out[id]
		for _, e := range entries(list) {
			what, number, _ := strings.Cut(e, ":")
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil || n < 1 || n > 1000 {
				return nil, fmt.Errorf("tenant %s: %q: want a number from 1 to 1000", id, e)
			}
			switch strings.TrimSpace(what) {
			case "meetings":
				q.Meetings = n
			default:
				return nil, fmt.Errorf("tenant %s: %q is no ceiling; there is meetings", id, what)
			}
		}
		out[id] = q
	}
	return out, nil
}

// grants are all there are.
var grants = []Grant{Meeting, AnnounceNone, AdminPolicy}

// pairs calls f for each "tenant=value" of a list.
func pairs(s, what string, f func(ID, string) error) error {
	for i, entry := range entries(s) {
		name, value, ok := strings.Cut(entry, "=")
		if !ok {
			return fmt.Errorf("entry %d: want tenant=%s", i+1, what)
		}
		id := ID(strings.TrimSpace(name))
		if err := id.Check(); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		if err := f(id, strings.TrimSpace(value)); err != nil {
			return fmt.Errorf("entry %d (tenant %s): %w", i+1, id, err)
		}
	}
	return nil
}

// entries splits at commas and new lines and leaves out what is empty.
func entries(s string) []string {
	var out []string
	for _, e := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '\n' }) {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}

func join(gs []Grant) string {
	words := make([]string, len(gs))
	for i, g := range gs {
		words[i] = string(g)
	}
	return strings.Join(words, ", ")
}
