// Package mcpl is the wire of MCP Live, version 0.5: what we offer a host, what it grants us, and the events
// that we push to it.
package mcpl

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Version is the version of MCPL that we speak.
const Version = "0.5"

// Capability paths that we use.
const (
	PathTools      = "tools"
	PathPushEvents = "pushEvents"
	PathRegister   = "channels.register"
	PathLifecycle  = "channels.lifecycle"
	PathPublish    = "channels.publish"
	PathIncoming   = "channels.incoming"
	PathStreaming  = "channels.streaming"
)

// ChannelPaths are those that a Board serves.
var ChannelPaths = []string{PathRegister, PathLifecycle, PathPublish, PathIncoming, PathStreaming}

// leaves are all capability paths there are. Whatever a host announces beside them means nothing.
var leaves = []string{
	"pushEvents", "tools", "modelInfo", "inferenceRequest", "inferenceRequest.streaming", "inferenceLifecycle",
	"contextHooks.beforeInference.observe", "contextHooks.beforeInference.inject.system",
	"contextHooks.beforeInference.inject.beforeUser", "contextHooks.beforeInference.inject.afterUser",
	"channels.register", "channels.lifecycle", "channels.publish", "channels.incoming", "channels.streaming",
	"channels.acknowledge", "channels.typing",
}

// Manifest is what we offer: capability paths with a handler behind each, and feature sets that use them.
type Manifest struct {
	Paths       []string
	FeatureSets map[string]FeatureSet
}

// FeatureSet is a bundle that a person can switch on or off.
type FeatureSet struct {
	Description string `json:"description"`
	// Uses lists every capability path that the set exercises.
	Uses        []string        `json:"uses"`
	TagOntology json.RawMessage `json:"tagOntology,omitempty"`
	// Without says what is lost where a capability is not granted, for the receipt, by capability path.
	Without map[string]string `json:"-"`
}

// MarshalJSON writes the member "mcpl" of experimental capabilities: leaves rather than "true" for whole
// branches, so that a host can deny one of them.
func (m Manifest) MarshalJSON() ([]byte, error) {
	out := map[string]any{"version": Version, "featureSets": m.FeatureSets}
	for _, p := range m.Paths {
		if p == PathTools {
			continue // tools are told by MCP itself
		}
		branch := out
		parts := strings.Split(p, ".")
		for _, part := range parts[:len(parts)-1] {
			next, ok := branch[part].(map[string]any)
			if !ok {
				next = map[string]any{}
				branch[part] = next
			}
			branch = next
		}
		branch[parts[len(parts)-1]] = true
	}
	return json.Marshal(out)
}

// Host is what a host announced in its initialize request.
type Host struct {
	// Version as announced, such as "0.5".
	Version string
	// Announced are the capability leaves it says it supports.
	Announced []string
	// CoalescesPushes and CoalescesIncoming tell that an unread event or channel message may be replaced by a later
	// one (RFC-006).
	CoalescesPushes, CoalescesIncoming bool
	// Speculative is the host's word that everything it streams to a channel that asks for it may be said before it
	// is published.
	Speculative bool
}

// ParseHost reads the member "mcpl" of a client's experimental capabilities. Unknown members are ignored.
func ParseHost(raw json.RawMessage) (Host, bool) {
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return Host{}, false
	}
	h := Host{}
	h.Version, _ = members["version"].(string)
	for _, leaf := range leaves {
		if announces(members, strings.Split(leaf, ".")) {
			h.Announced = append(h.Announced, leaf)
		}
	}
	switch c := members["eventCoalescing"].(type) {
	case bool:
		h.CoalescesPushes, h.CoalescesIncoming = c, c
	case map[string]any:
		h.CoalescesPushes, _ = c["pushEvents"].(bool)
		h.CoalescesIncoming, _ = c["channelsIncoming"].(bool)
	}
	if s, ok := members["streaming"].(map[string]any); ok {
		h.Speculative, _ = s["speculative"].(bool)
	}
	return h, true
}

// announces follows a path; true at any level covers everything below.
func announces(v any, path []string) bool {
	if yes, ok := v.(bool); ok {
		return yes
	}
	branch, ok := v.(map[string]any)
	if !ok {
		return false
	}
	if len(path) == 0 {
		return true // an object where a leaf is wanted: it names its details
	}
	if next, ok := branch[path[0]]; ok {
		return announces(next, path[1:])
	}
	// Hosts of 0.4 call it observe.
	if len(path) == 1 && path[0] == "incoming" {
		return announces(branch["observe"], nil)
	}
	return false
}

// SendsPolicy tells whether a host of this version sends its policy as a request. A version that cannot be
// read counts as new: without a policy it then grants nothing.
func (h Host) SendsPolicy() bool {
	major, rest, _ := strings.Cut(h.Version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err1 != nil || err2 != nil {
		return true
	}
	return a > 0 || b >= 5
}

// fallback is the grant of a host that sends no policy: what we offer and it announced.
func (m Manifest) fallback(h Host) Grant {
	g := Grant{}
	for _, p := range m.Paths {
		if slices.Contains(h.Announced, p) {
			g.paths = append(g.paths, p)
		}
	}
	return g
}
