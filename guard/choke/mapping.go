package choke

import (
	"sync"
	"time"

	"parley/guard/mapping"
	"parley/guard/policy"
	"parley/tenant"
	"parley/tool"
)

// controlTransport is the control endpoint's name among the transports.
const controlTransport = "control"

// surveys are the mapping runs of tenants whose sessions only look at one site, one for each session.
type surveys struct {
	mu   sync.Mutex
	runs map[survey]*surveyed
}

type survey struct {
	tenant  tenant.ID
	session string
}

type surveyed struct {
	run   *mapping.Run
	until time.Time
}

// survey asks the gate of a tenant whose sessions only look at one site. It comes before the policy, which may still refuse
// what the gate lets pass.
func (g *Guard) survey(r tool.Request, at target, args policy.Args) (tool.Decision, bool) {
	who := r.Caller.Tenant.ID
	task, ok := g.o.Mapping[who]
	if !ok || policy.Safety(r.Tool.Name) {
		return tool.Decision{}, false
	}
	var err error
	if r.Caller.Transport == controlTransport { // its actions name tabs of all sessions, of which no run is kept
		err = &mapping.Error{Code: mapping.ReadOnly, Text: "whoever only looks at one site has no actions of the control endpoint"}
	} else {
		err = g.surveyed(who, task, r.Tool.Name, at, args)
	}
	if err == nil {
		return tool.Decision{}, false
	}
	return tool.Decision{Effect: tool.Deny, Rules: []string{"mapping"}, Title: "Does more than look at one site", Reason: err.Error()}, true
}

func (g *Guard) surveyed(who tenant.ID, task mapping.Task, action string, at target, args policy.Args) error {
	call := mapping.Call{Action: action, URL: at.URL, Tab: args.Tab, Op: args.Op}
	switch {
	case action == "session_close":
		return nil
	case action == "session_open":
		if args.Profile != "" {
			return &mapping.Error{Code: mapping.ReadOnly, Text: "a mapping run keeps nothing: open it without a profile"}
		}
		return nil
	}
	var page Page
	alive := false
	if g.o.Pages != nil && at.Session != "" {
		page, alive = g.o.Pages.Page(who, at.Session, "")
	}
	if !alive { // whatever it is, it must be one of those that look, on the site; that there is no session is the tool's to say
		run, err := mapping.New(task.Start, call.Tab, task.Limits)
		if err != nil {
			return err
		}
		return run.Gate(call)
	}
	g.surveys.mu.Lock()
	defer g.surveys.mu.Unlock()
	now := g.o.Now()
	key := survey{who, at.Session}
	s := g.surveys.runs[key]
	if s == nil {
		run, err := mapping.New(task.Start, page.Tab, task.Limits)
		if err != nil {
			return err
		}
		for old := range g.surveys.runs {
			if _, alive := g.o.Pages.Page(old.tenant, old.session, ""); !alive {
				delete(g.surveys.runs, old)
			}
		}
		s = &surveyed{run, now.Add(time.Duration(task.Limits.Minutes) * time.Minute)}
		if g.surveys.runs == nil {
			g.surveys.runs = map[survey]*surveyed{}
		}
		g.surveys.runs[key] = s
	}
	if !now.Before(s.until) {
		return &mapping.Error{Code: mapping.Budget, Text: "the run's time is over"}
	}
	if err := s.run.Note("", page.URL, page.Tab); err != nil {
		return err
	}
	if err := s.run.Gate(call); err != nil {
		return err
	}
	if action == "screenshot" {
		return s.run.Note(action, "", "") // counted when it is let pass: one that fails is one all the same
	}
	return nil
}
