// Package action does what the control endpoint's actions say: each is a tool, run through the one choke point like every other.
package action

import (
	"context"
	"errors"
	"slices"
	"sync"

	"parley/control/grant"
	"parley/control/inspect"
	"parley/control/publish"
	"parley/control/span"
	"parley/control/tabs"
	"parley/control/wire"
	"parley/store"
	"parley/tool"
)

// Call is one action of a genuine caller, on its way. Handlers find it in their context. Its exported members do not
// change while it runs.
type Call struct {
	Principal wire.Principal
	// Authority is what policy, group and grant permit.
	Authority grant.Authority
	// Policy is the publication the call began under.
	Policy *publish.Policy
	// Current says whether that publication and the grant still hold.
	Current func() bool
	// Session is the tab the caller named; empty where it named none.
	Session string
	// Restrict tells that what the call does to a tab binds the tab to the grant.
	Restrict bool
	// Trace gets times; nil records nothing.
	Trace *span.Trace
	// Tell gets what became of a prepared submission, also long after the call.
	Tell func(phase string)

	mu     sync.Mutex
	guards []func() bool
	blob   string
}

type callKey struct{}

// With puts a call into a context.
func With(ctx context.Context, c *Call) context.Context { return context.WithValue(ctx, callKey{}, c) }

// From is the context's call; nil where there is none.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// guard adds a condition under which the result may leave.
func (c *Call) guard(f func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guards = append(c.guards, f)
}

// Release says whether the result may leave now. It is asked right before the answer is sent.
func (c *Call) Release() bool {
	if !c.Current() {
		return false
	}
	c.mu.Lock()
	guards := slices.Clone(c.guards)
	c.mu.Unlock()
	for _, ok := range guards { // outside the lock: they look at the call
		if !ok() {
			return false
		}
	}
	return true
}

// Blob is what goes into the member data of the result: a picture that is no text, and is not treated as one on its way.
func (c *Call) Blob() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blob
}

func (c *Call) permits(host string) bool { return c.Authority.PermitsHost(host) }

func (c *Call) limits() tabs.Limits { return tabs.Limits{Permits: c.permits, Current: c.Current} }

// fail is an error with a code of the wire. why is for the log and the record, and holds nothing of a page.
func fail(code wire.Code, why string) error {
	return &tool.Error{Code: tool.Code(code), Text: why}
}

// explain turns what can go wrong here into codes of the wire. What it does not know stays as it is, and counts as a
// failure: nobody invents a denial.
func explain(err error) error {
	var done *tool.Error
	switch {
	case err == nil, errors.As(err, &done):
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, tabs.ErrNoTab), errors.Is(err, tabs.ErrNotReady), errors.Is(err, tabs.ErrBackground), errors.Is(err, tabs.ErrCovered),
		errors.Is(err, tabs.ErrDestination), errors.Is(err, tabs.ErrBlank), errors.Is(err, tabs.ErrNoEntry), errors.Is(err, tabs.ErrBlocked), errors.Is(err, tabs.ErrFull):
		return fail(wire.CodeDenied, err.Error())
	case errors.Is(err, tabs.ErrStale), errors.Is(err, tabs.ErrDocument), errors.Is(err, store.ErrStale):
		return fail(wire.CodeConflict, err.Error())
	case errors.Is(err, store.ErrTooMany), errors.Is(err, store.ErrNotFound):
		return fail(wire.CodeDenied, err.Error())
	case store.KindOf(err) == store.Locked:
		return fail(wire.CodeBusy, "another process writes")
	}
	return err
}

// clean says whether texts may leave to this caller.
func (c *Call) clean(texts ...string) bool {
	for _, t := range texts {
		if c.Policy.Refuses(inspect.Text(t)) {
			return false
		}
	}
	return true
}
