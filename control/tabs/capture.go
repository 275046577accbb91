package tabs

import (
	"context"
	"errors"
	"fmt"
)

// Reasons why a target cannot be worked, or cannot be worked any more. Their texts name no page.
var (
	// ErrStale says that the tab, its document, its place in the foreground or the policy changed since the capture.
	ErrStale = errors.New("the tab changed meanwhile")
	// ErrNotReady says that the tab is loading.
	ErrNotReady = errors.New("the tab is loading")
	// ErrBackground says that the action needs the tab in the foreground.
	ErrBackground = errors.New("the tab is not in the foreground")
	// ErrCovered says that something of the browser's lies over the page.
	ErrCovered = errors.New("the page is covered")
	// ErrDestination says that the tab's host is not among those permitted.
	ErrDestination = errors.New("the tab's host is not permitted")
	// ErrBlank says that the action needs a website.
	ErrBlank = errors.New("the tab shows no website")
)

// Need is what an action needs of its target.
type Need struct {
	Foreground  bool // the tab a person sees
	Interactive bool // with nothing over the page
	Website     bool // no start page
}

// Limits are what a capture holds its target to. Current is asked before and after everything that takes time.
type Limits struct {
	// Permits says whether a host is permitted to this caller now.
	Permits func(host string) bool
	// Current says whether policy and grant are still those of the start.
	Current func() bool
}

// Capture is a tab as it was when an operation began. It belongs to one operation.
type Capture struct {
	b       Browser
	limits  Limits
	need    Need
	tab     Tab
	pinned  bool // to the foreground: the caller named no tab, or needs that one
	retired error
}

// Take captures the named tab, or with an empty id the one in the foreground at this moment.
func Take(ctx context.Context, b Browser, id string, need Need, l Limits) (*Capture, error) {
	c := &Capture{b: b, limits: l, need: need, pinned: id == "" || need.Foreground}
	if !l.Current() {
		return nil, ErrStale
	}
	var err error
	if id == "" {
		c.tab, err = foreground(ctx, b)
	} else {
		c.tab, err = b.Tab(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	return c, c.fit(c.tab)
}

func foreground(ctx context.Context, b Browser) (Tab, error) {
	all, err := b.Tabs(ctx)
	if err != nil {
		return Tab{}, err
	}
	for _, t := range all {
		if t.Foreground {
			return t, nil
		}
	}
	return Tab{}, ErrNoTab
}

// fit says whether a tab is what the action needs.
func (c *Capture) fit(t Tab) error {
	switch {
	case t.Loading:
		return ErrNotReady
	case c.pinned && !t.Foreground:
		return ErrBackground
	case c.need.Interactive && t.Covered:
		return ErrCovered
	case Blank(t.URL) && c.need.Website:
		return ErrBlank
	case Blank(t.URL):
		return nil
	case !c.limits.Permits(t.Host()):
		return ErrDestination
	}
	return nil
}

// Tab is the tab as it was captured.
func (c *Capture) Tab() Tab { return c.tab }

// Check says whether the capture still holds; it never does again once it did not.
func (c *Capture) Check(ctx context.Context) error {
	if c.retired != nil {
		return c.retired
	}
	err := c.check(ctx)
	if err != nil && ctx.Err() == nil {
		c.retired = err
	}
	return err
}

func (c *Capture) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	now, err := c.b.Tab(ctx, c.tab.ID)
	if err != nil {
		return err
	}
	if !c.limits.Current() || now.Document != c.tab.Document || c.pinned && (!now.Foreground || now.Activation != c.tab.Activation) {
		return ErrStale
	}
	return c.fit(now)
}

// Run calls a fixed script in the captured document, with a check on either side.
func (c *Capture) Run(ctx context.Context, s Script, arg, result any) error {
	if err := c.Check(ctx); err != nil {
		return err
	}
	if err := c.b.Run(ctx, c.tab.ID, c.tab.Document, s, arg, result); err != nil {
		return err
	}
	return c.Check(ctx)
}

// Picture takes a picture of the captured document, with a check on either side.
func (c *Capture) Picture(ctx context.Context) ([]byte, error) {
	if err := c.Check(ctx); err != nil {
		return nil, err
	}
	png, err := c.b.Picture(ctx, c.tab.ID, c.tab.Document)
	if err != nil {
		return nil, err
	}
	return png, c.Check(ctx)
}

// Structure looks at the captured document, with a check on either side.
func (c *Capture) Structure(ctx context.Context) (Structure, error) {
	if err := c.Check(ctx); err != nil {
		return Structure{}, err
	}
	s, err := c.b.Structure(ctx, c.tab.ID, c.tab.Document)
	if err != nil {
		return Structure{}, err
	}
	return s, c.Check(ctx)
}

// Go moves the tab and gives a fresh capture of it. What the old one was good for ends; the tab's place in the
// foreground is kept. to is the host that the caller may reach: a redirect elsewhere is refused after the fact, and
// said so.
func (c *Capture) Go(ctx context.Context, m Move) (*Capture, error) {
	if err := c.Check(ctx); err != nil {
		return nil, err
	}
	if m.Delta != 0 {
		address, err := c.b.Entry(ctx, c.tab.ID, m.Delta)
		if err != nil {
			return nil, err
		}
		if !Blank(address) && !c.limits.Permits(HostOf(address)) {
			return nil, ErrDestination
		}
		if err := c.Check(ctx); err != nil {
			return nil, err
		}
	}
	was := c.tab
	after, err := c.b.Go(ctx, was.ID, was.Document, m)
	c.retired = ErrStale
	if err != nil {
		return nil, err
	}
	next := &Capture{b: c.b, limits: c.limits, need: c.need, tab: after, pinned: c.pinned}
	switch {
	case after.Document == was.Document:
		return nil, fmt.Errorf("no navigation was seen: %w", ErrStale)
	case c.pinned && after.Activation != was.Activation:
		return nil, ErrStale
	}
	return next, next.Check(ctx)
}
