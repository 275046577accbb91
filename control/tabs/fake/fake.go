// Package fake is a browser for tests: tabs with history, documents and a foreground, whose scripts answer what a test says.
package fake

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"parley/control/tabs"
)

// Browser implements tabs.Browser. It keeps the rules a real one keeps: ids live as long as tabs, each navigation makes a
// new document, each activation counts. Its zero value has no tabs.
type Browser struct {
	mu    sync.Mutex
	tabs  []*tab
	next  uint64
	calls []string

	// Hook, where set, is called at the start of every call with its name, outside the lock: a test changes things there.
	Hook func(call, id string)
	// Answers are what scripts give, by script and then by the document's address; "" is for any address.
	Answers map[tabs.Script]map[string]any
	// Redirects maps an address to where it leads.
	Redirects map[string]string
	// Fails maps an address to the error of loading it.
	Fails map[string]error
	// Shots are what Picture gives, by address.
	Shots map[string][]byte
	// Made are what Structure gives, by address.
	Made map[string]tabs.Structure
	// SameDocument makes a reload do nothing, as when the page cancels it.
	SameDocument bool
}

type tab struct {
	tabs.Tab
	history []string
	at      int
	limit   tabs.Restriction
	judge   tabs.Judge
}

func (b *Browser) enter(ctx context.Context, call, id string) error {
	if b.Hook != nil {
		b.Hook(call, id)
	}
	b.mu.Lock()
	b.calls = append(b.calls, call)
	b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Calls are the calls so far.
func (b *Browser) Calls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// UUID makes ids that look like a browser's.
func UUID(n uint64) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) }

// Open puts a tab with a page in front and gives its id. It is what a person does.
func (b *Browser) Open(address, title string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.make(address, title)
	b.front(t)
	return t.ID
}

func (b *Browser) make(address, title string) *tab {
	b.next++
	t := &tab{Tab: tabs.Tab{ID: UUID(b.next), Title: title, URL: address}, history: []string{address}}
	t.Document = b.document()
	b.tabs = append(b.tabs, t)
	return t
}

func (b *Browser) document() string { b.next++; return fmt.Sprint("document-", b.next) }

func (b *Browser) front(t *tab) {
	for _, o := range b.tabs {
		o.Foreground = false
	}
	b.next++
	t.Foreground, t.Activation = true, b.next
}

// Change changes a tab as a page or a person would.
func (b *Browser) Change(id string, f func(*tabs.Tab)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.find(id); t != nil {
		f(&t.Tab)
	}
}

// Enter is a person who types an address: it lifts what a grant added to the tab.
func (b *Browser) Enter(id, address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.find(id); t != nil {
		t.limit, t.Restricted = tabs.Restriction{}, nil
		b.load(t, address)
		t.history, t.at = append(t.history[:t.at+1], address), t.at+1
	}
}

// Front brings a tab to the front, as a person would.
func (b *Browser) Front(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.find(id); t != nil {
		b.front(t)
	}
}

// Again loads the same address anew, as a page or a person would.
func (b *Browser) Again(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.find(id); t != nil {
		t.Document = b.document()
	}
}

// Drop closes a tab, as a person would.
func (b *Browser) Drop(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tabs = slices.DeleteFunc(b.tabs, func(t *tab) bool { return t.ID == id })
}

// Judge is who looks at a tab's requests.
func (b *Browser) Judge(id string) tabs.Judge {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.find(id); t != nil {
		return t.judge
	}
	return nil
}

// Limit is what a grant added to a tab.
func (b *Browser) Limit(id string) tabs.Restriction {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.find(id); t != nil {
		return t.limit
	}
	return tabs.Restriction{}
}

func (b *Browser) find(id string) *tab {
	for _, t := range b.tabs {
		if t.ID == id {
			return t
		}
	}
	return nil
}

func (b *Browser) load(t *tab, address string) {
	t.URL, t.Title, t.Document = address, "", b.document()
}

// Tabs implements tabs.Browser.
func (b *Browser) Tabs(ctx context.Context) ([]tabs.Tab, error) {
	if err := b.enter(ctx, "Tabs", ""); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []tabs.Tab
	for _, t := range b.tabs {
		out = append(out, t.Tab)
	}
	return out, nil
}

// with runs f on a tab under the lock.
func (b *Browser) with(ctx context.Context, call, id, document string, f func(*tab) error) error {
	if err := b.enter(ctx, call, id); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.find(id)
	switch {
	case t == nil:
		return tabs.ErrNoTab
	case document != "" && t.Document != document:
		return tabs.ErrDocument
	}
	return f(t)
}

// Tab implements tabs.Browser.
func (b *Browser) Tab(ctx context.Context, id string) (out tabs.Tab, err error) {
	err = b.with(ctx, "Tab", id, "", func(t *tab) error { out = t.Tab; return nil })
	return out, err
}

// Create implements tabs.Browser.
func (b *Browser) Create(ctx context.Context, group string) (tabs.Tab, error) {
	if err := b.enter(ctx, "Create", ""); err != nil {
		return tabs.Tab{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.make("about:blank", "")
	t.Group = group
	return t.Tab, nil
}

// Activate implements tabs.Browser.
func (b *Browser) Activate(ctx context.Context, id string) (out tabs.Tab, err error) {
	err = b.with(ctx, "Activate", id, "", func(t *tab) error { b.front(t); out = t.Tab; return nil })
	return out, err
}

// Close implements tabs.Browser.
func (b *Browser) Close(ctx context.Context, id string) error {
	return b.with(ctx, "Close", id, "", func(t *tab) error {
		b.tabs = slices.DeleteFunc(b.tabs, func(o *tab) bool { return o == t })
		return nil
	})
}

// Group implements tabs.Browser.
func (b *Browser) Group(ctx context.Context, id, group string) error {
	return b.with(ctx, "Group", id, "", func(t *tab) error { t.Group = group; return nil })
}

// Restrict implements tabs.Browser.
func (b *Browser) Restrict(ctx context.Context, id string, r tabs.Restriction) error {
	return b.with(ctx, "Restrict", id, "", func(t *tab) error { t.limit, t.Restricted = r, r.Hosts; return nil })
}

// Go implements tabs.Browser.
func (b *Browser) Go(ctx context.Context, id, document string, m tabs.Move) (out tabs.Tab, err error) {
	err = b.with(ctx, "Go", id, document, func(t *tab) error {
		to := m.URL
		switch {
		case m.Reload:
			to = t.URL
		case m.Delta != 0:
			at := t.at + m.Delta
			if at < 0 || at >= len(t.history) {
				return tabs.ErrNoEntry
			}
			to = t.history[at]
		}
		if e := b.Fails[to]; e != nil {
			return e
		}
		if r := b.Redirects[to]; r != "" {
			to = r
		}
		if t.limit.Permits != nil && !t.limit.Permits(tabs.HostOf(to)) {
			return tabs.ErrBlocked
		}
		if m.Reload && b.SameDocument {
			out = t.Tab
			return nil
		}
		b.load(t, to)
		switch {
		case m.Delta != 0:
			t.at += m.Delta
		case !m.Reload:
			t.history, t.at = append(t.history[:t.at+1], to), t.at+1
		}
		out = t.Tab
		return nil
	})
	return out, err
}

// Entry implements tabs.Browser.
func (b *Browser) Entry(ctx context.Context, id string, delta int) (out string, err error) {
	err = b.with(ctx, "Entry", id, "", func(t *tab) error {
		at := t.at + delta
		if at < 0 || at >= len(t.history) {
			return tabs.ErrNoEntry
		}
		out = t.history[at]
		return nil
	})
	return out, err
}

// Run implements tabs.Browser: a func(arg json.RawMessage) any among the answers is called, anything else is the answer.
func (b *Browser) Run(ctx context.Context, id, document string, s tabs.Script, arg, result any) error {
	return b.with(ctx, "Run "+string(s), id, document, func(t *tab) error {
		given := maps.Clone(b.Answers[s])
		a, ok := given[t.URL]
		if !ok {
			if a, ok = given[""]; !ok {
				return fmt.Errorf("the fake has no answer for %s", s)
			}
		}
		if f, ok := a.(func(json.RawMessage) any); ok {
			raw, err := json.Marshal(arg)
			if err != nil {
				return err
			}
			a = f(raw)
		}
		if e, ok := a.(error); ok {
			return e
		}
		raw, err := json.Marshal(a)
		if err != nil || result == nil {
			return err
		}
		return json.Unmarshal(raw, result)
	})
}

// Picture implements tabs.Browser.
func (b *Browser) Picture(ctx context.Context, id, document string) (out []byte, err error) {
	err = b.with(ctx, "Picture", id, document, func(t *tab) error { out = slices.Clone(b.Shots[t.URL]); return nil })
	return out, err
}

// Structure implements tabs.Browser.
func (b *Browser) Structure(ctx context.Context, id, document string) (out tabs.Structure, err error) {
	err = b.with(ctx, "Structure", id, document, func(t *tab) error { out = b.Made[t.URL]; return nil })
	return out, err
}

// Watch implements tabs.Browser.
func (b *Browser) Watch(ctx context.Context, id string, j tabs.Judge) error {
	return b.with(ctx, "Watch", id, "", func(t *tab) error { t.judge = j; return nil })
}
