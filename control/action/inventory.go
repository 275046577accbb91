package action

import (
	"context"
	"sync"
	"time"

	"parley/control/tabs"
	"parley/control/vault"
	"parley/control/wire"
	"parley/store"
	"parley/tool"
)

// Sessions is the list of tabs.
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// Session is a tab in the list.
type Session struct {
	ID         string `json:"id" doc:"The tab's id, for as long as it lives."`
	Title      string `json:"title" arg:"untrusted" doc:"Empty where it must not be told."`
	Foreground bool   `json:"foreground"`
}

// SaveArgs are those of sessions:save.
type SaveArgs struct {
	Name     string   `json:"name" arg:"required,maxlen=1024"`
	Sessions []string `json:"sessionIds" arg:"required,min=1,max=128"`
	ID       string   `json:"id,omitempty" arg:"maxlen=1024"`
	Expected *int64   `json:"expectedRevision,omitempty"`
}

// Saved is what sessions:save gives.
type Saved struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"`
	TabCount int    `json:"tabCount"`
}

// Collections is what sessions:list gives.
type Collections struct {
	Revision    int64        `json:"revision"`
	Collections []Collection `json:"collections"`
}

// Collection is one set of tabs. Withheld ones hold what must not leave; their tabs are not told.
type Collection struct {
	ID       string     `json:"id"`
	Name     string     `json:"name" arg:"untrusted"`
	Revision int64      `json:"revision"`
	TabCount int        `json:"tabCount"`
	Withheld bool       `json:"withheld,omitempty"`
	Tabs     []SavedTab `json:"tabs,omitempty"`
}

// SavedTab is a tab of a collection.
type SavedTab struct {
	Title string `json:"title" arg:"untrusted"`
	URL   string `json:"url" arg:"untrusted"`
	Group string `json:"group,omitempty" arg:"untrusted"`
}

// RestoreArgs are those of sessions:restore.
type RestoreArgs struct {
	ID   string `json:"id,omitempty" arg:"maxlen=1024"`
	Plan string `json:"planId,omitempty" arg:"maxlen=1024"`
}

// Restored is a plan, or what was done by one.
type Restored struct {
	Plan     string   `json:"planId,omitempty"`
	TabCount int      `json:"tabCount"`
	Sessions []string `json:"sessionIds,omitempty"`
}

// State is what application:state gives.
type State struct {
	Ready  bool   `json:"ready"`
	Policy int64  `json:"policyVersion"`
	Active string `json:"activeTabId,omitempty"`
	Tabs   int    `json:"tabCount"`
}

// CreateArgs are those of tabs:create.
type CreateArgs struct {
	Group string `json:"group,omitempty" arg:"maxlen=1024"`
	URL   string `json:"url,omitempty" arg:"maxlen=8192"`
}

// GroupArgs are those of tabs:group.
type GroupArgs struct {
	Session string `json:"sessionId" arg:"required,maxlen=36"`
	Group   string `json:"group" arg:"required,maxlen=1024"`
}

func (d *Desk) inventory() []tool.Tool {
	return []tool.Tool{
		define("sessions", "Lists the tabs.", true, func(ctx context.Context, c *Call, _ Empty) (Sessions, error) {
			b, err := d.browser()
			if err != nil {
				return Sessions{}, err
			}
			all, err := b.Tabs(ctx)
			if err != nil {
				return Sessions{}, err
			}
			out := Sessions{Sessions: []Session{}}
			for _, t := range all {
				s := Session{ID: t.ID, Foreground: t.Foreground}
				if (tabs.Blank(t.URL) || c.permits(t.Host())) && c.clean(t.Title) {
					s.Title = t.Title
				}
				out.Sessions = append(out.Sessions, s)
			}
			return out, nil
		}),
		define("application:state", "Tells how the browser is.", true, func(ctx context.Context, c *Call, _ Empty) (State, error) {
			s := State{Policy: int64(c.Policy.Version)}
			if d.Browser == nil {
				return s, nil
			}
			all, err := d.Browser.Tabs(ctx)
			if err != nil {
				return State{}, err
			}
			s.Ready, s.Tabs = true, len(all)
			for _, t := range all {
				if t.Foreground {
					s.Active = t.ID
				}
			}
			return s, nil
		}),
		define("tabs:create", "Opens a tab in the background.", false, d.create),
		define("tabs:activate", "Brings a tab to the front.", false, func(ctx context.Context, c *Call, a Target) (Done, error) {
			t, err := d.take(ctx, c, a.Session, tabs.Need{})
			if err != nil {
				return Done{}, err
			}
			if _, err := d.Browser.Activate(ctx, t.Tab().ID); err != nil {
				return Done{}, err
			}
			return Done{true, t.Tab().ID}, nil
		}),
		define("tabs:close", "Closes a tab.", false, func(ctx context.Context, c *Call, a Target) (Done, error) {
			t, err := d.take(ctx, c, a.Session, tabs.Need{})
			if err != nil {
				return Done{}, err
			}
			d.forget(t.Tab().ID)
			if err := d.Browser.Close(ctx, t.Tab().ID); err != nil {
				return Done{}, err
			}
			return Done{Completed: true}, nil
		}),
		define("tabs:group", "Puts a tab into a group; an empty group takes it out.", false, func(ctx context.Context, c *Call, a GroupArgs) (Done, error) {
			t, err := d.take(ctx, c, a.Session, tabs.Need{})
			if err != nil {
				return Done{}, err
			}
			if err := d.Browser.Group(ctx, t.Tab().ID, a.Group); err != nil {
				return Done{}, err
			}
			return Done{true, t.Tab().ID}, nil
		}),
		define("sessions:save", "Keeps the addresses of tabs as a named set.", false, d.save),
		define("sessions:list", "Lists your sets of tabs.", true, d.collections),
		define("sessions:restore", "Makes a plan to open a set of tabs (id), or carries a plan out, once (planId).", false, d.restore),
	}
}

func (d *Desk) create(ctx context.Context, c *Call, a CreateArgs) (Done, error) {
	b, err := d.browser()
	if err != nil {
		return Done{}, err
	}
	if a.URL != "" && !c.permits(tabs.HostOf(a.URL)) {
		return Done{}, tabs.ErrDestination
	}
	if !c.Current() {
		return Done{}, tabs.ErrStale
	}
	id, err := d.open(ctx, c, b, a.URL, a.Group)
	if err != nil {
		return Done{}, err
	}
	return Done{true, id}, nil
}

// open opens a tab at an address whose host is permitted, or none: one that did not get there is closed again.
func (d *Desk) open(ctx context.Context, c *Call, b tabs.Browser, address, group string) (string, error) {
	t, err := b.Create(ctx, group)
	if err != nil {
		return "", err
	}
	if address == "" {
		return t.ID, nil
	}
	err = d.bind(ctx, c, t.ID)
	if err == nil {
		var capture *tabs.Capture
		if capture, err = tabs.Take(ctx, b, t.ID, tabs.Need{}, c.limits()); err == nil {
			_, err = capture.Go(ctx, tabs.Move{URL: address})
		}
	}
	if err != nil {
		d.undo(b, t.ID)
		return "", err
	}
	return t.ID, nil
}

// undo closes a tab of ours that is of no use. The action has failed already; its own error says so.
func (d *Desk) undo(b tabs.Browser, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = b.Close(ctx, id)
}

func (d *Desk) save(ctx context.Context, c *Call, a SaveArgs) (Saved, error) {
	b, err := d.browser()
	if err != nil {
		return Saved{}, err
	}
	expected := int64(0)
	switch {
	case a.ID == "" && a.Expected != nil && *a.Expected != 0:
		return Saved{}, fail(wire.CodeInvalid, "a new set has no revision")
	case a.ID != "" && a.Expected == nil:
		return Saved{}, fail(wire.CodeInvalid, "a set that is there is changed for a revision")
	case a.ID != "":
		expected = *a.Expected
	}
	set := store.TabSet{ID: a.ID, Name: a.Name, Saved: d.Now()}
	if set.ID == "" {
		set.ID = vault.UUID()
	} else if _, err := d.Store.TabSets.Get(ctx, d.Tenant, c.Principal.ID, a.ID); err != nil {
		return Saved{}, err // ids are ours to give
	}
	// All of them are looked at before anything is kept: one that may not be is enough to keep none.
	for _, id := range a.Sessions {
		t, err := tabs.Take(ctx, b, id, tabs.Need{Website: true}, c.limits())
		if err != nil {
			return Saved{}, err
		}
		now := t.Tab()
		if !c.clean(a.Name, now.Title, now.URL, now.Group) {
			return Saved{}, fail(wire.CodeDenied, "a tab holds what must not be kept")
		}
		set.Tabs = append(set.Tabs, store.SavedTab{URL: now.URL, Title: now.Title, Group: now.Group})
	}
	if !c.Current() {
		return Saved{}, tabs.ErrStale
	}
	rev, err := d.Store.TabSets.Save(ctx, d.Tenant, c.Principal.ID, set, expected)
	if err != nil {
		return Saved{}, err
	}
	return Saved{set.ID, rev, len(set.Tabs)}, nil
}

func (d *Desk) collections(ctx context.Context, c *Call, _ Empty) (Collections, error) {
	list, rev, err := d.Store.TabSets.List(ctx, d.Tenant, c.Principal.ID)
	if err != nil {
		return Collections{}, err
	}
	out := Collections{Revision: rev, Collections: []Collection{}}
	for _, s := range list {
		o := Collection{ID: s.ID, Name: s.Name, Revision: s.Revision, TabCount: len(s.Tabs)}
		if !d.fits(c, s) {
			o.Name, o.Withheld = "", true
		} else {
			for _, t := range s.Tabs {
				o.Tabs = append(o.Tabs, SavedTab{t.Title, t.URL, t.Group})
			}
		}
		out.Collections = append(out.Collections, o)
	}
	return out, nil
}

// fits says whether every tab of a set is permitted and may be told.
func (d *Desk) fits(c *Call, s store.TabSet) bool {
	if !c.clean(s.Name) {
		return false
	}
	for _, t := range s.Tabs {
		if !c.permits(tabs.HostOf(t.URL)) || !c.clean(t.Title, t.URL, t.Group) {
			return false
		}
	}
	return true
}

// planLife is how long a plan waits to be carried out.
const planLife = 60 * time.Second

const maxPlans = 64

type plan struct {
	principal wire.Principal
	policy    uint64
	set       store.TabSet
	until     time.Time
}

// plans holds plans until they are used, once.
type plans struct {
	mu  sync.Mutex
	all map[string]plan
}

func (p *plans) put(now time.Time, x plan) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]plan{}
	}
	for id, o := range p.all {
		if !now.Before(o.until) || len(p.all) >= maxPlans {
			delete(p.all, id)
		}
	}
	id := vault.UUID()
	p.all[id] = x
	return id
}

func (p *plans) take(now time.Time, id string, c *Call) (plan, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x, ok := p.all[id]
	if !ok || x.principal != c.Principal { // another's plan cannot be used up
		return plan{}, false
	}
	delete(p.all, id)
	return x, now.Before(x.until) && x.policy == c.Policy.Version
}

func (d *Desk) restore(ctx context.Context, c *Call, a RestoreArgs) (Restored, error) {
	b, err := d.browser()
	if err != nil {
		return Restored{}, err
	}
	if a.ID != "" {
		set, err := d.Store.TabSets.Get(ctx, d.Tenant, c.Principal.ID, a.ID)
		if err != nil {
			return Restored{}, err
		}
		if !d.fits(c, set) {
			return Restored{}, tabs.ErrDestination
		}
		return Restored{Plan: d.plans.put(d.Now(), plan{c.Principal, c.Policy.Version, set, d.Now().Add(planLife)}), TabCount: len(set.Tabs)}, nil
	}
	p, ok := d.plans.take(d.Now(), a.Plan, c)
	if !ok {
		return Restored{}, fail(wire.CodeConflict, "the plan is used, old, or made under another policy")
	}
	if now, err := d.Store.TabSets.Get(ctx, d.Tenant, c.Principal.ID, p.set.ID); err != nil || now.Revision != p.set.Revision {
		return Restored{}, store.ErrStale
	}
	if !d.fits(c, p.set) {
		return Restored{}, tabs.ErrDestination
	}
	out := Restored{TabCount: len(p.set.Tabs), Sessions: []string{}}
	for _, t := range p.set.Tabs {
		if !c.Current() {
			return Restored{}, d.undoAll(b, out.Sessions, tabs.ErrStale)
		}
		id, err := d.open(ctx, c, b, t.URL, t.Group)
		if err != nil {
			return Restored{}, d.undoAll(b, out.Sessions, err)
		}
		out.Sessions = append(out.Sessions, id)
	}
	return out, nil
}

func (d *Desk) undoAll(b tabs.Browser, ids []string, why error) error {
	for _, id := range ids {
		d.undo(b, id)
	}
	return why
}
