// Package mapping is the gate of runs that only look at one site: a closed set of actions, one origin, one tab, budgets.
package mapping

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"parley/guard/egress"
	"parley/guard/policy"
)

// Ceilings are compiled in: a configuration goes below them, never above.
const (
	MaxPages   = 200
	MaxShots   = 60
	MaxMinutes = 60
)

// Limits of one run. Zero fields are the defaults.
type Limits struct {
	Pages, Shots, Minutes int
	// Clicks lets the run click; Research lets it search the web.
	Clicks, Research bool
}

// Clamp gives limits within the ceilings, and names what was cut, for the log.
func (l Limits) Clamp() (Limits, []string) {
	var cut []string
	for _, v := range []struct {
		name     string
		n        *int
		def, max int
	}{{"pages", &l.Pages, 50, MaxPages}, {"screenshots", &l.Shots, 20, MaxShots}, {"minutes", &l.Minutes, 20, MaxMinutes}} {
		switch {
		case *v.n <= 0:
			*v.n = v.def
		case *v.n > v.max:
			cut = append(cut, fmt.Sprintf("%s: %d is above the ceiling of %d", v.name, *v.n, v.max))
			*v.n = v.max
		}
	}
	return l, cut
}

// Codes of a refusal.
const (
	ReadOnly   = "MAPPING_READ_ONLY"
	OffSite    = "MAPPING_OFF_SITE"
	Budget     = "MAPPING_BUDGET"
	TabChanged = "MAPPING_TAB_CHANGED"
)

// Error is a call that a mapping run may not make.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Code + ": " + e.Text }

// actions are all that a mapping run may do; clicking joins them where the limits let it.
var actions = []string{"navigate", "reload", "read", "find", "screenshot", "scroll", "wait_for", "hover", "tabs", "console", "network", "sessions", "pdf"}

// research are tools of the agent's own program that a run may have with research on.
var research = []string{"web_search", "web_fetch", "WebSearch", "WebFetch", "webfetch", "websearch"}

// Call is one the run wants to make.
type Call struct {
	Action, URL, Tab string
	// Op is the tabs tool's: only listing is looking.
	Op string
}

// Run is one mapping run. It is not safe for concurrent use: its session makes one call after another.
type Run struct {
	origin  string
	limits  Limits
	tab     string
	visited []string
	shots   int
	off     string // the host the page drifted to
}

// New begins a run on the origin of an address, in a tab.
func New(start, tab string, l Limits) (*Run, error) {
	origin, _, ok := originOf(start)
	if !ok {
		return nil, fmt.Errorf("a mapping run needs an http or https address to begin with")
	}
	l, _ = l.Clamp()
	return &Run{origin: origin, limits: l, tab: tab}, nil
}

// Gate decides a call before anything is done.
func (r *Run) Gate(c Call) error {
	if slices.Contains(research, c.Action) {
		if r.limits.Research {
			return nil
		}
		return &Error{ReadOnly, "searching the web is for runs with research on"}
	}
	allowed := slices.Contains(actions, c.Action) || c.Action == "click" && r.limits.Clicks
	if !allowed || c.Action == "tabs" && c.Op != "" && c.Op != "list" {
		return &Error{ReadOnly, "a mapping run only looks: write down what you see and go on"}
	}
	if c.Tab != "" && c.Tab != r.tab {
		return &Error{TabChanged, "the run belongs to one tab"}
	}
	if r.off != "" && c.Action != "navigate" {
		return &Error{OffSite, "the page went to " + r.off + ": navigate back to " + r.origin + " first"}
	}
	switch c.Action {
	case "navigate":
		origin, path, ok := originOf(c.URL)
		if !ok || origin != r.origin {
			return &Error{OffSite, "only full addresses on " + r.origin + " can be opened"}
		}
		if len(r.visited) >= r.limits.Pages && !slices.Contains(r.visited, path) {
			return &Error{Budget, fmt.Sprintf("%d pages were visited, which is the limit", len(r.visited))}
		}
	case "screenshot":
		if r.shots >= r.limits.Shots {
			return &Error{Budget, fmt.Sprintf("%d screenshots were taken, which is the limit", r.shots)}
		}
	}
	return nil
}

// Note tells the run where the page is after a call that succeeded, and in which tab. Where it is not the run's own any
// more, nothing is read before it is back.
func (r *Run) Note(action, address, tab string) error {
	if action == "screenshot" {
		r.shots++
	}
	if tab != "" && tab != r.tab {
		return &Error{TabChanged, "somebody moved to another tab"}
	}
	if address == "" {
		return nil
	}
	origin, path, ok := originOf(address)
	if !ok || origin != r.origin {
		_, host, _ := policy.HostPort(address)
		r.off = host
		if r.off == "" {
			r.off = "another place"
		}
		return nil
	}
	r.off = ""
	if !slices.Contains(r.visited, path) {
		r.visited = append(r.visited, path)
	}
	return nil
}

// originOf takes a full address apart.
func originOf(address string) (origin, path string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return "", "", false
	}
	host, err := egress.Host(u.Hostname())
	if strings.Contains(u.Hostname(), ":") {
		host, err = egress.Host("[" + u.Hostname() + "]")
	}
	if err != nil {
		return "", "", false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + host + ":" + port, u.EscapedPath(), true
}

// Stored is a task that somebody stored: a macro, a keepalive, a planned join. It acts for whoever stored it, whatever
// sets it off.
type Stored struct {
	Tenant string
	// Attended tells whether a person could be asked when it was stored; nobody is there when it runs.
	Attended bool
}

// Caller is who the task's calls are made as: never with somebody to ask, since whoever stored it is not there now and
// whoever sets it off did not store it.
func (Stored) Caller() policy.Caller { return policy.Unattended }
