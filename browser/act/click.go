package act

import (
	"context"
	"errors"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
	"parley/browser/keys"
	"parley/browser/locate"
)

// Done is what came of an act on an element.
type Done struct {
	// Uncertain says why it is not known that the element received it; empty means that it did.
	Uncertain string
	// Value is what a field or list holds afterwards, where that is not simply what was asked for. It is the page's.
	Value string
	// Options are what a native list offers, where it was clicked rather than selected from.
	Options []string
	// Note is a fact of ours to tell.
	Note string
}

// ClickOptions say how to click; the zero value is one left click.
type ClickOptions struct {
	// Button is left, right or middle; empty means left.
	Button string
	// Count is 1, 2 or 3 clicks in a row; zero means 1.
	Count int
	// Modifiers are held meanwhile ("Control", "Shift").
	Modifiers []string
	// At is a point in the element, in CSS pixels from its upper left corner; nil is wherever it can be hit.
	At []float64
	// Wait is how long to find the element and for it to be clickable; zero means DefaultWait.
	Wait time.Duration
}

// Limits of confirming.
const (
	// hearLimit is how long the page may take to tell that it received a press; a page that is busy has longer, since
	// the question waits behind what keeps it busy.
	hearLimit = 1500 * time.Millisecond
	// blockedTries is how often a press that would have met something else is tried again.
	blockedTries = 6
)

var buttons = map[string]proto.InputMouseButton{"": proto.InputMouseButtonLeft, "left": proto.InputMouseButtonLeft, "right": proto.InputMouseButtonRight, "middle": proto.InputMouseButtonMiddle}

// Click clicks an element and confirms that it received the click.
func Click(ctx context.Context, p *browser.Page, l locate.Locator, o ClickOptions) (Done, error) {
	s, err := seek(ctx, p, l, o.Wait)
	if err != nil {
		return Done{}, err
	}
	s.options = true
	if _, ok := buttons[o.Button]; !ok {
		return Done{}, &locate.Error{Argument: "button", Why: "is left, right or middle"}
	}
	mods := 0
	for _, m := range o.Modifiers {
		bit, err := keys.Modifier(m)
		if err != nil {
			return Done{}, &locate.Error{Argument: "modifiers", Why: err.Error()}
		}
		mods |= bit
	}
	return s.click(ctx, o, mods)
}

func (s *seeker) click(ctx context.Context, o ClickOptions, mods int) (Done, error) {
	for try := 0; ; try++ {
		a, err := s.aim(ctx, aimOptions{at: o.At})
		if err != nil {
			return Done{}, err
		}
		switch {
		case a.native:
			return s.clickOption(ctx, a)
		case a.Kind == "select" && o.At == nil && o.Button == "" && !a.Multiple:
			return s.clickList(ctx, a)
		}
		r, err := strike(ctx, s.p, a, o, mods)
		if err != nil {
			return Done{}, err
		}
		if r.blocked() && try < blockedTries && s.left() > 0 {
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return Done{}, err
			}
			continue
		}
		if r.blocked() {
			return Done{}, problem{Problem: "covered", By: r.Other}.explain("clickable", s.limit())
		}
		return Done{Uncertain: r.doubt()}, nil
	}
}

// received is what the page says of a press.
type received struct {
	Gone      bool   `json:"gone"` // the document that watched is gone
	Down      bool   `json:"down"`
	Click     bool   `json:"click"`
	Over      bool   `json:"over"`
	Drag      string `json:"drag"`
	Other     string `json:"other"`
	Blocked   bool   `json:"blocked"`
	Connected bool   `json:"connected"`
}

// blocked tells that the press would have met something else, and was kept from it.
func (r received) blocked() bool { return r.Blocked && !r.Down }

func (r received) doubt() string {
	switch {
	case !r.Down && r.Gone:
		return "the page moved to another document before it told whether the element received the click"
	case !r.Down:
		return "the page did not tell that the element received the press; look at the page before going on"
	case r.Gone, r.Click: // what took the press away afterwards is what the press led to
		return ""
	case !r.Connected:
		return "the press took the element away, so that no click could follow; look whether the press alone did what was meant"
	}
	return "the element received the press, but no click followed: the page may have changed between press and release"
}

// strike presses and releases at a point, and says what received it.
func strike(ctx context.Context, p *browser.Page, a aimed, o ClickOptions, mods int) (r received, err error) {
	button := buttons[o.Button]
	p.Sent()
	move := mouse(proto.InputDispatchMouseEventTypeMouseMoved, a.x, a.y)
	move.Modifiers = mods
	p.Post(move)
	if a.frame.Parent != nil {
		if err := reach(ctx, p, a, move); err != nil {
			return settled(r, err)
		}
	}
	for n := 1; n <= max(o.Count, 1) && err == nil && !r.blocked(); n++ {
		down := mouse(proto.InputDispatchMouseEventTypeMousePressed, a.x, a.y)
		down.Button, down.ClickCount, down.Modifiers = button, n, mods
		up := down
		up.Type = proto.InputDispatchMouseEventTypeMouseReleased
		p.Post(down)
		if n == 1 { // before the release, since what follows a click may be another document
			err = a.run(ctx, "([id, ms], k) => k.pressed(id, ms)", []any{a.id, hearLimit.Milliseconds()}, &r)
		}
		p.Post(up) // whatever became of the press, the button must not stay down
	}
	if err != nil {
		return settled(r, err)
	}
	first := r
	var last received
	if err = a.run(ctx, "([id, ms], k) => k.released(id, ms)", []any{a.id, hearLimit.Milliseconds()}, &last); err != nil {
		return settled(first, err)
	}
	last.Down = last.Down || first.Down
	if last.Gone {
		last.Blocked, last.Other = first.Blocked, first.Other
	}
	return last, nil
}

// reachLimit is how long the mouse may take to reach a frame: what was drawn last decides whose it is.
const reachLimit = 2 * time.Second

// reach moves the mouse until the frame feels it. A press before that would go to the document around it.
func reach(ctx context.Context, p *browser.Page, a aimed, move proto.InputDispatchMouseEvent) error {
	for end := time.Now().Add(reachLimit); time.Now().Before(end); {
		var r received
		if err := a.run(ctx, "([id, ms], k) => k.moves(id, ms)", []any{a.id, 150}, &r); err != nil || r.Over || r.Gone {
			return err
		}
		move.X += 0.5
		p.Post(move)
		move.X -= 0.5
		p.Post(move)
	}
	return nil // the press will tell
}

// settled turns a document that went away while we asked it into what that means.
func settled(r received, err error) (received, error) {
	if passing(err) {
		r.Gone = true
		return r, nil
	}
	return r, err
}

// clickOption selects an option of a native list: no click of a mouse would reach it there.
func (s *seeker) clickOption(ctx context.Context, a aimed) (Done, error) {
	var at struct {
		List  int `json:"list"`
		Index int `json:"index"`
	}
	if err := a.run(ctx, "(id, k) => { const o = k.get(id), l = o.closest('select'); return { list: l ? k.hold(l) : 0, index: o.index ?? 0 }; }", a.id, &at); err != nil {
		return Done{}, err
	}
	if at.List == 0 {
		return Done{}, unfit("%s is in no list", a.Brief)
	}
	d, err := s.setOptions(ctx, element{a.frame, at.List}, nil, &at.Index)
	d.Note = "an option of a native list: selected"
	return d, err
}

// clickList gives a native list the focus and says what it offers. Its popup belongs to the browser, not to the page: it
// would only stand in the way.
func (s *seeker) clickList(ctx context.Context, a aimed) (Done, error) {
	d := Done{Note: "a native list: it has the focus now; choose with select and one of its options"}
	s.p.Sent()
	err := a.run(ctx, "(id, k) => { k.disarm(id); k.get(id).focus(); return k.options(id); }", a.id, &d.Options)
	if errors.Is(err, browser.ErrNavigated) {
		err = nil
	}
	return d, err
}

// Hover rests the mouse on an element and confirms that the element felt it.
func Hover(ctx context.Context, p *browser.Page, l locate.Locator, wait time.Duration) (Done, error) {
	s, err := seek(ctx, p, l, wait)
	if err != nil {
		return Done{}, err
	}
	a, err := s.aim(ctx, aimOptions{disabled: true, ready: "reachable for the mouse"})
	if err != nil {
		return Done{}, err
	}
	p.Sent()
	// From outside into it, as a hand comes: menus look at the way.
	p.Post(mouse(proto.InputDispatchMouseEventTypeMouseMoved, a.x-1, a.y-1))
	p.Post(mouse(proto.InputDispatchMouseEventTypeMouseMoved, a.x, a.y))
	var r received
	if err := a.run(ctx, "async ([id, ms], k) => { const r = await k.moves(id, ms); k.disarm(id); return r; }", []any{a.id, hearLimit.Milliseconds()}, &r); err != nil {
		if !passing(err) {
			return Done{}, err
		}
		return Done{}, nil
	}
	if !r.Over {
		return Done{Uncertain: "the page did not tell that the element felt the mouse"}, nil
	}
	return Done{}, nil
}
