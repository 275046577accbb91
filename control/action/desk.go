package action

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"parley/control/grant"
	"parley/control/shot"
	"parley/control/span"
	"parley/control/tabs"
	"parley/control/vault"
	"parley/control/wire"
	"parley/store"
	"parley/tenant"
	"parley/tool"
)

// Asker answers questions about a page; *gateway.Gateway is one.
type Asker interface {
	Ask(ctx context.Context, prompt, page string) (string, error)
}

// Desk is what actions work on, for one tenant. What is nil is denied.
type Desk struct {
	Tenant  tenant.ID
	Browser tabs.Browser
	Store   *store.Store
	Vault   *vault.Vault
	AI      Asker
	Reader  shot.Reader // of pictures
	Now     func() time.Time

	managing sync.Mutex // one change of bookmarks at a time: whoever comes meanwhile is told that it is busy
	refs     vault.Refs
	plans    plans

	mu     sync.Mutex
	leases map[string]*vault.Lease // by tab
}

// Manage keeps bookmarks for whoever calls it until the returned function is called; actions that come meanwhile are told
// that it is busy.
func (d *Desk) Manage() (release func()) {
	d.managing.Lock()
	return d.managing.Unlock
}

// Deadline of every action.
const Deadline = wire.ActionTimeout

// Tools is the table of actions as tools, in the table's order.
func (d *Desk) Tools() []tool.Tool {
	byName := map[string]tool.Tool{}
	for _, group := range [][]tool.Tool{d.inventory(), d.pages(), d.library(), d.vaultTools(), d.visual(), d.application()} {
		for _, t := range group {
			byName[t.Name] = t
		}
	}
	var out []tool.Tool
	for _, a := range grant.Actions() {
		if t, ok := byName[a.Name]; ok {
			out = append(out, t)
		}
	}
	return out
}

// define makes a tool of an action.
func define[A, R any](name, doc string, readOnly bool, run func(ctx context.Context, c *Call, a A) (R, error)) tool.Tool {
	return tool.New(tool.Spec[A, R]{
		Tool: tool.Tool{Name: name, Title: name, Doc: doc, ReadOnly: readOnly, OpenWorld: true, Deadline: Deadline},
		Run: func(ctx context.Context, _ tool.Caller, a A) (R, error) {
			var none R
			c := From(ctx)
			if c == nil {
				return none, fail(wire.CodeDenied, "no call of the control endpoint")
			}
			end := c.Trace.Start(span.Dispatch)
			r, err := run(ctx, c, a)
			end(err != nil)
			if err != nil {
				return none, explain(err)
			}
			return r, nil
		},
	})
}

// Close forgets what was put into pages.
func (d *Desk) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.leases {
		l.End()
	}
	d.leases = nil
}

func (d *Desk) browser() (tabs.Browser, error) {
	if d.Browser == nil {
		return nil, fail(wire.CodeDenied, "there is no browser")
	}
	return d.Browser, nil
}

// take captures a target, and lets the result leave only while the capture holds.
func (d *Desk) take(ctx context.Context, c *Call, id string, need tabs.Need) (*tabs.Capture, error) {
	b, err := d.browser()
	if err != nil {
		return nil, err
	}
	return tabs.Take(ctx, b, id, need, c.limits())
}

// holds lets the result leave only while the capture holds.
func holds(c *Call, capture *tabs.Capture) {
	c.guard(func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		return capture.Check(ctx) == nil
	})
}

// bind restricts a tab to the hosts of the grant that acts on it.
func (d *Desk) bind(ctx context.Context, c *Call, id string) error {
	if !c.Restrict {
		return nil
	}
	var patterns []string
	for _, list := range c.Authority.Hosts {
		patterns = append(patterns, list...)
	}
	return d.Browser.Restrict(ctx, id, tabs.Restriction{Principal: c.Principal.ID, Generation: c.Principal.Generation, Hosts: patterns, Permits: c.permits})
}

// gone ends a tab's lease: the document that had the login is no more.
func (d *Desk) gone(ctx context.Context, tab string) error {
	d.mu.Lock()
	l := d.leases[tab]
	delete(d.leases, tab)
	d.mu.Unlock()
	if l == nil {
		return nil
	}
	l.End()
	return d.Browser.Watch(ctx, tab, nil)
}

// Empty is an action without arguments.
type Empty struct{}

// Target is an action on a tab.
type Target struct {
	Session string `json:"sessionId,omitempty" arg:"maxlen=36" doc:"The tab; without it the one in the foreground."`
}

// Done is the result of an action that gives nothing.
type Done struct {
	Completed bool   `json:"completed" doc:"It was done."`
	Session   string `json:"sessionId,omitempty" doc:"The tab."`
}

// Project makes the result of an action out of what the choke point gave: exactly the members the wire promises.
func Project(name string, c *Call, structured json.RawMessage) (json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(structured, &m); err != nil {
		return nil, err
	}
	delete(m, "untrusted") // on this wire every text of a page is
	if name == "sessions" {
		if m["sessions"] == nil {
			return json.RawMessage("[]"), nil
		}
		return m["sessions"], nil
	}
	if name == "screenshot" {
		data, err := json.Marshal(c.Blob())
		if err != nil {
			return nil, err
		}
		m["data"] = data
	}
	return json.Marshal(m)
}
