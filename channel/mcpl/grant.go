package mcpl

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Grant is what a host lets us do on one connection. The zero value is nothing.
type Grant struct {
	paths    []string // capability paths, possibly with * for one segment
	selected bool     // enabled was sent: sets that it does not name are off
	enabled  []string
	disabled []string
}

// Has tells whether a capability path is granted.
func (g Grant) Has(path string) bool {
	return slices.ContainsFunc(g.paths, func(pattern string) bool { return covers(pattern, path) })
}

// Enabled tells whether a feature set is switched on, whatever its capabilities.
func (g Grant) Enabled(set string) bool {
	match := func(pattern string) bool { return covers(pattern, set) }
	if slices.ContainsFunc(g.disabled, match) {
		return false
	}
	return !g.selected || slices.ContainsFunc(g.enabled, match)
}

// covers matches dot-separated names; * stands for exactly one segment.
func covers(pattern, name string) bool {
	p, n := strings.Split(pattern, "."), strings.Split(name, ".")
	if len(p) != len(n) {
		return false
	}
	for i := range p {
		if p[i] != "*" && p[i] != n[i] {
			return false
		}
	}
	return true
}

// update is the parameters of featureSets/update.
type update struct {
	effective, denied, disabled []string
	enabled                     *[]string
}

// maxNames bounds each list of a policy; a manifest has far fewer.
const maxNames = 512

// parseUpdate takes members by their exact names: what grants must not depend on how a reader treats case.
func parseUpdate(params json.RawMessage) (update, error) {
	var u update
	if len(params) == 0 {
		return u, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(params, &members); err != nil {
		return u, errors.New("featureSets/update: its parameters are no object")
	}
	n := 0
	list := func(name string) (names *[]string, err error) {
		raw, ok := members[name]
		if !ok {
			return nil, nil
		}
		if err := json.Unmarshal(raw, &names); err != nil {
			return nil, fmt.Errorf("featureSets/update: %s is no list of names", name)
		}
		if names != nil {
			n += len(*names)
		}
		return names, nil
	}
	for name, into := range map[string]*[]string{"effectiveCapabilities": &u.effective, "deniedCapabilities": &u.denied, "disabled": &u.disabled} {
		names, err := list(name)
		if err != nil {
			return update{}, err
		}
		if names != nil {
			*into = *names
		}
	}
	var err error
	if u.enabled, err = list("enabled"); err != nil {
		return update{}, err
	}
	if n > maxNames {
		return update{}, fmt.Errorf("featureSets/update: more than %d names", maxNames)
	}
	for _, p := range u.effective {
		if slices.Contains(u.denied, p) {
			return update{}, errors.New("featureSets/update: a capability is both granted and denied")
		}
	}
	return u, nil
}

// grant is what the request form says. A missing list of capabilities grants nothing.
func (u update) grant() Grant {
	g := Grant{paths: u.effective, disabled: u.disabled}
	if u.enabled != nil {
		g.selected, g.enabled = true, *u.enabled
	}
	return g
}

// narrow takes away what is disabled, which is all that the notification form may do.
func (g Grant) narrow(disabled []string) Grant {
	g.disabled = slices.Concat(g.disabled, disabled)
	if len(g.disabled) > maxNames {
		g.disabled = g.disabled[len(g.disabled)-maxNames:]
	}
	return g
}

// Receipt is our answer to a policy: what we will do with it.
type Receipt struct {
	Accepted    bool          `json:"accepted"`
	Mode        string        `json:"mode,omitempty"` // "degraded" when something is missing
	Unavailable []Unavailable `json:"unavailableFeatures,omitempty"`
}

// Unavailable is a feature set that lacks capabilities.
type Unavailable struct {
	FeatureSet string   `json:"featureSet"`
	Missing    []string `json:"missingCapabilities"`
	Effect     string   `json:"effect"`
}

// receipt tells a host what its grant leaves out. We never refuse a policy: we do less.
func (m Manifest) receipt(g Grant) Receipt {
	r := Receipt{Accepted: true}
	for _, name := range slices.Sorted(maps.Keys(m.FeatureSets)) {
		set := m.FeatureSets[name]
		if !g.Enabled(name) {
			continue // switched off on purpose: nothing is missing
		}
		var missing, effects []string
		for _, p := range set.Uses {
			// Tools are MCP's own: a host that does not list them here still calls them.
			if p != PathTools && !g.Has(p) {
				missing = append(missing, p)
				if lost := cmp.Or(set.Without[p], "what needs "+p+" is left out"); !slices.Contains(effects, lost) {
					effects = append(effects, lost)
				}
			}
		}
		if len(missing) > 0 {
			r.Mode = "degraded"
			r.Unavailable = append(r.Unavailable, Unavailable{FeatureSet: name, Missing: missing, Effect: strings.Join(effects, "; ")})
		}
	}
	return r
}
