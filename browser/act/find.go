package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/browser"
	"parley/browser/locate"
)

// DefaultWait is how long finding an element and waiting for it to be fit share.
const DefaultWait = 15 * time.Second

// answerTime is kept back from a context's deadline, so that the reason comes out instead of a bare time-out.
const answerTime = 300 * time.Millisecond

// element is one that the kit of a frame holds.
type element struct {
	frame *browser.Frame
	id    int
}

func (e element) run(ctx context.Context, fn string, arg, result any) error {
	return e.frame.Run(ctx, kit, fn, arg, result)
}

// seeker looks for one element.
type seeker struct {
	p     *browser.Page
	l     locate.Locator
	q     *locate.Query // nil for a ref
	began time.Time
	until time.Time
	// hidden takes a hidden match where none is visible; options takes options of closed native lists likewise; field
	// takes the field that a label or a box around it stands for.
	hidden, options, field bool
	within                 func(address string) bool // where the page may be; nil is everywhere
	only                   func(origin string) bool  // documents that may get the value; nil is all
	at                     *element                  // the element itself, where it is held already
	lookedClosed           bool
}

func seek(ctx context.Context, p *browser.Page, l locate.Locator, wait time.Duration) (*seeker, error) {
	q, err := l.Compile()
	if err != nil {
		return nil, err
	}
	if wait <= 0 {
		wait = DefaultWait
	}
	s := &seeker{p: p, l: l, q: q, began: time.Now()}
	s.within, _ = ctx.Value(withinKey{}).(func(string) bool)
	s.until = s.began.Add(wait)
	if d, ok := ctx.Deadline(); ok && d.Add(-answerTime).Before(s.until) {
		s.until = d.Add(-answerTime)
	}
	return s, nil
}

type withinKey struct{}

// Within makes acts under a context work elements only while the page's own address is one that ok takes: the page can go
// elsewhere while an element is waited for. Nil takes all.
func Within(ctx context.Context, ok func(address string) bool) context.Context {
	if ok == nil {
		return ctx
	}
	return context.WithValue(ctx, withinKey{}, ok)
}

// Here says whether acts under the context may work the page where it is now.
func Here(ctx context.Context, p *browser.Page) error {
	within, _ := ctx.Value(withinKey{}).(func(string) bool)
	return (&seeker{p: p, within: within}).here()
}

func (s *seeker) here() error {
	if s.within == nil || s.within(s.p.URL()) {
		return nil
	}
	return &Error{Err: ErrAway, Text: "the page went to another site, outside this run's sites, before it was done"}
}

// permitted says whether the document of an element may get the value. The document itself is asked: a look at the frames
// may be older than it.
func (s *seeker) permitted(ctx context.Context, e element) error {
	if s.only == nil {
		return nil
	}
	origin := ""
	if err := e.run(ctx, "() => self.origin", nil, &origin); err != nil {
		return err
	}
	if !s.only(origin) {
		return &Error{Err: ErrElsewhere, Text: "the field belongs to another site than the one where this may be typed"}
	}
	return nil
}

// limit is how long the element is waited for, as errors tell it.
func (s *seeker) limit() time.Duration { return s.until.Sub(s.began) }

func (s *seeker) left() time.Duration { return max(time.Until(s.until), 0) }

// frames are the page's documents that can be looked into.
func (s *seeker) frames(ctx context.Context) ([]*browser.Frame, error) {
	all, err := s.p.Frames(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(f *browser.Frame) bool { return f.Err != nil }), nil
}

// slice is how long a document is left to wait for an element by itself before the others are asked again.
const slice = time.Second

// found is what the kit answers to a question for an element.
type found struct {
	ID   int         `json:"id"`
	Miss locate.Miss `json:"miss"`
}

// query is how the kit gets a query: counted says that the very element that was counted is meant from then on.
func (s *seeker) query() any {
	return struct {
		*locate.Query
		Counted bool `json:"counted"`
	}{s.q, s.q.Counted()}
}

// find waits for the element. The page's own document goes first, then its frames in page order; nth counts on through
// them, after and before stay in the document that shows their text.
func (s *seeker) find(ctx context.Context) (element, error) {
	switch {
	case s.at != nil:
		return *s.at, nil
	case s.q == nil:
		return s.resolve(ctx)
	}
	var miss locate.Miss
	for {
		frames, err := s.frames(ctx)
		if err != nil {
			return element{}, err
		}
		last := s.left() == 0
		wait := time.Duration(0)
		if len(frames) == 1 && !last {
			wait = min(s.left(), slice)
			if !s.lookedClosed {
				wait = min(wait, closedAfter)
			}
		}
		e, m, err := s.look(ctx, frames, wait, last)
		switch {
		case err == nil && e.id != 0:
			return e, s.here()
		case err == nil:
			miss = m
		case passing(err) && !last:
		default:
			return element{}, s.scriptError(err)
		}
		if e, ok := s.closed(ctx, frames, last); ok {
			return e, s.here()
		}
		if last {
			return element{}, &Error{Err: ErrMissing, Text: s.q.Explain(miss, s.limit())}
		}
		if wait == 0 {
			if err := pause(ctx, min(120*time.Millisecond, s.left())); err != nil {
				return element{}, err
			}
		}
	}
}

// look asks each document once.
func (s *seeker) look(ctx context.Context, frames []*browser.Frame, wait time.Duration, last bool) (element, locate.Miss, error) {
	if s.q.Nth != nil && *s.q.Nth < 0 {
		frames = slices.Clone(frames)
		slices.Reverse(frames)
	}
	var miss locate.Miss
	skip := 0
	for i, f := range frames {
		var got found
		err := f.Run(ctx, kit, "(a, k) => k.locate(a)", map[string]any{
			"q": s.query(), "skip": skip, "ms": wait.Milliseconds(), "hidden": s.hidden && last, "options": s.options,
		}, &got)
		if err != nil {
			if i > 0 && passing(err) {
				continue // a frame that goes away is no longer part of the page
			}
			return element{}, miss, err
		}
		if got.ID != 0 {
			return element{f, got.ID}, miss, nil
		}
		miss = miss.Add(got.Miss)
		skip += got.Miss.Visible
	}
	return element{}, miss, nil
}

// resolve gets hold of a ref's element.
func (s *seeker) resolve(ctx context.Context) (element, error) {
	el, err := s.p.Resolve(ctx, browser.Ref(s.l.Ref))
	if err != nil {
		return element{}, err
	}
	return hold(ctx, el.Object)
}

// hold puts an element into its document's kit.
func hold(ctx context.Context, o browser.Object) (element, error) {
	var id int
	if err := o.Call(ctx, kit, "(el, _, k) => k.hold(el)", nil, &id); err != nil {
		return element{}, err
	}
	return element{o.Frame, id}, nil
}

// passing tells errors that come of a document on its way out: looking again is right.
func passing(err error) bool {
	return errors.Is(err, browser.ErrNavigated) || errors.Is(err, browser.ErrFrameGone)
}

// scriptError tells a selector that the browser does not take from faults of ours.
func (s *seeker) scriptError(err error) error {
	var x *browser.ScriptError
	if errors.As(err, &x) && s.l.Selector != "" {
		switch x.Class {
		case "BadSelector", "Error":
			return &locate.Error{Argument: "selector", Why: "the browser does not understand it"}
		case "SyntaxError":
			return &locate.Error{Argument: "selector", Why: "its regular expression is not one"}
		}
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// FindOptions say how an element is looked for.
type FindOptions struct {
	// Wait is how long; zero means DefaultWait, negative not at all.
	Wait time.Duration
	// Hidden takes a hidden match where none is visible.
	Hidden bool
}

// Find gives the element that a locator means: the first visible match, as for acting. It is let go with the call.
func Find(ctx context.Context, p *browser.Page, l locate.Locator, o FindOptions) (browser.Object, error) {
	wait := o.Wait
	if wait < 0 {
		wait = time.Nanosecond
	}
	s, err := seek(ctx, p, l, wait)
	if err != nil {
		return browser.Object{}, err
	}
	s.hidden = o.Hidden
	e, err := s.find(ctx)
	if err != nil {
		return browser.Object{}, err
	}
	return object(ctx, e)
}

func object(ctx context.Context, e element) (browser.Object, error) {
	got, err := e.frame.Objects(ctx, kit, "(id, k) => { const el = k.get(id); return el ? [el] : []; }", e.id)
	if err != nil {
		return browser.Object{}, err
	}
	if len(got) != 1 {
		return browser.Object{}, &Error{Err: ErrGone, Text: "the element is gone from the page"}
	}
	return got[0], nil
}

// Wanted is what Wait waits for.
type Wanted string

// What an element may be waited to be.
const (
	Visible Wanted = "visible"
	Hidden  Wanted = "hidden" // nothing visible matches (any more)
)

// Wait waits until the page shows what a locator means, or shows it no longer. It returns how long it took.
func Wait(ctx context.Context, p *browser.Page, l locate.Locator, w Wanted, limit time.Duration) (time.Duration, error) {
	s, err := seek(ctx, p, l, limit)
	if err != nil {
		return 0, err
	}
	if w != Hidden {
		_, err := s.find(ctx)
		return time.Since(s.began), err
	}
	for {
		shown, err := s.shows(ctx)
		switch {
		case err == nil && !shown:
			return time.Since(s.began), nil
		case err != nil && !passing(err):
			return 0, s.scriptError(err)
		case s.left() == 0:
			return 0, &Error{Err: ErrNotReady, Text: fmt.Sprintf("%s is still visible after %s", l, seconds(time.Since(s.began)))}
		}
		if err := pause(ctx, min(100*time.Millisecond, s.left())); err != nil {
			return 0, err
		}
	}
}

// shows tells whether something visible matches now.
func (s *seeker) shows(ctx context.Context) (bool, error) {
	if s.q == nil {
		el, err := s.p.Resolve(ctx, browser.Ref(s.l.Ref))
		if errors.Is(err, browser.ErrStale) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		var visible bool
		err = el.Call(ctx, kit, "(el, _, k) => k.visible(el)", nil, &visible)
		return visible, err
	}
	frames, err := s.frames(ctx)
	if err != nil {
		return false, err
	}
	e, _, err := s.look(ctx, frames, 0, false)
	return e.id != 0, err
}

// WaitURL waits until the page's address has a part, or with gone no longer has it.
func WaitURL(ctx context.Context, p *browser.Page, part string, gone bool, limit time.Duration) error {
	until := time.Now().Add(limit)
	for strings.Contains(p.URL(), part) == gone {
		if time.Now().After(until) {
			return &Error{Err: ErrNotReady, Text: "the address did not change to that within " + seconds(limit)}
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
