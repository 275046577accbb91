// Package attendtest is a page without a browser, for tests of what a module does with one.
package attendtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"parley/platforms"
)

// Page answers as it is told and remembers what was done to it.
type Page struct {
	// Found looks for an element; nil finds nothing.
	Found func(platforms.Target) platforms.Found
	// OnClick, OnPress and OnRun act; nil does nothing. OnRun gives the result of a script.
	OnClick func(platforms.Target) error
	OnPress func(chord string)
	OnRun   func(script string, arg json.RawMessage) any

	mu      sync.Mutex
	did     []string
	reports chan json.RawMessage
	events  chan platforms.PageEvent
}

// New makes a page.
func New() *Page {
	return &Page{reports: make(chan json.RawMessage, 64), events: make(chan platforms.PageEvent, 8)}
}

// Report is what the observer would say.
func (p *Page) Report(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	p.reports <- raw
}

// Did is everything that was done, in order.
func (p *Page) Did() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.did...)
}

func (p *Page) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.did = append(p.did, fmt.Sprintf(format, args...))
}

// Navigate notes it.
func (p *Page) Navigate(context.Context, string) error { p.note("navigate"); return nil }

// Run gives what OnRun says.
func (p *Page) Run(_ context.Context, script string, arg, result any) error {
	raw, err := json.Marshal(arg)
	if err != nil {
		return err
	}
	if p.OnRun == nil {
		return nil
	}
	out, err := json.Marshal(p.OnRun(script, raw))
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(out, result)
}

// Listen gives the reports.
func (p *Page) Listen(context.Context, string) (<-chan json.RawMessage, error) { return p.reports, nil }

// Observe does nothing.
func (p *Page) Observe(context.Context, string) error { return nil }

// Find asks Found.
func (p *Page) Find(_ context.Context, t platforms.Target) (platforms.Found, error) {
	if p.Found == nil {
		return platforms.Found{}, nil
	}
	return p.Found(t), nil
}

// Click notes it and asks OnClick.
func (p *Page) Click(_ context.Context, t platforms.Target) error {
	p.note("click %s", Name(t))
	if p.OnClick == nil {
		return nil
	}
	return p.OnClick(t)
}

// Type notes it.
func (p *Page) Type(_ context.Context, t platforms.Target, _ string) error {
	p.note("type into %s", Name(t))
	return nil
}

// Press notes it and tells OnPress.
func (p *Page) Press(_ context.Context, chord string) error {
	p.note("press %s", chord)
	if p.OnPress != nil {
		p.OnPress(chord)
	}
	return nil
}

// MoveMouse notes it.
func (p *Page) MoveMouse(context.Context, float64, float64) error {
	p.note("move the pointer")
	return nil
}

// Picture is none.
func (p *Page) Picture(context.Context) ([]byte, error) { return nil, nil }

// URL is none.
func (p *Page) URL(context.Context) (string, error) { return "", nil }

// Events gives the page's.
func (p *Page) Events() <-chan platforms.PageEvent { return p.events }

// Name says in short which element is meant.
func Name(t platforms.Target) string {
	if len(t.Names) > 0 {
		return strings.ToLower(t.Names[0])
	}
	return t.Selector + t.Role
}

var _ platforms.Page = (*Page)(nil)
