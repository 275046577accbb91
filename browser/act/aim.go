package act

import (
	"context"
	"errors"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
)

// about is what the kit tells of an element.
type about struct {
	Kind      string `json:"kind"` // text, editable, select, check, combobox, slider, file, button, date …, none
	Tag       string `json:"tag"`
	Type      string `json:"type"`
	Role      string `json:"role"`
	Brief     string `json:"brief"`
	Secret    bool   `json:"secret"`
	ReadOnly  bool   `json:"readonly"`
	Multiline bool   `json:"multiline"`
	Multiple  bool   `json:"multiple"`
	Connected bool   `json:"connected"`
}

// aimed is an element and the point of the page's viewport where it would get a click, watched from now on.
type aimed struct {
	element
	about
	x, y float64
	// cover names what lies over the point, where that is allowed.
	cover string
	// native tells that it is an option of a native list, which no click reaches.
	native bool
}

// aimOptions say what kind of point is wanted.
type aimOptions struct {
	// at is a point in the element, from its corner; nil is wherever it can be hit.
	at []float64
	// disabled takes disabled elements too: the mouse can rest on them.
	disabled bool
	// unwatched leaves the watch that another element has.
	unwatched bool
	// anyway takes a point that something else covers: what is dragged may cover its goal, and an outline is hit on its
	// line only.
	anyway bool
	ready  string // what the element has to become, for errors; empty means "clickable"
}

// aim waits until the element can be hit.
func (s *seeker) aim(ctx context.Context, o aimOptions) (aimed, error) {
	if o.ready == "" {
		o.ready = "clickable"
	}
	var e element
	for {
		if e.id == 0 {
			frames, err := s.frames(ctx)
			if err != nil {
				return aimed{}, err
			}
			// On a page of one document finding and aiming are one step.
			if s.q != nil && len(frames) == 1 {
				e = element{frame: frames[0]}
			} else if e, err = s.find(ctx); err != nil {
				return aimed{}, err
			} else if s.field {
				if err := e.run(ctx, "(id, k) => k.retarget(id)", e.id, &e.id); err != nil {
					return aimed{}, err
				}
			}
		}
		got, err := s.aimOnce(ctx, e, o)
		switch {
		case err == nil && got.Problem == "" && got.Miss.Why == "":
			a := aimed{element: element{e.frame, got.ID}, about: got.about, x: got.X, y: got.Y, cover: got.Cover, native: got.Native}
			if err := s.here(); err != nil {
				disarm(ctx, a)
				return aimed{}, err
			}
			if a.native {
				return a, nil
			}
			var way problem
			if a.x, a.y, way, err = outward(ctx, e.frame, a.x, a.y); err == nil && way.Problem == "" {
				return a, nil
			}
			if err == nil && s.left() == 0 {
				return aimed{}, way.explain(o.ready, s.limit())
			}
		case err == nil && got.Miss.Why != "":
			if s.left() == 0 || len(s.q.Parts) == 1 { // find tells the rest: other frames, closed roots, the reason
				found, err := s.find(ctx)
				if err != nil {
					return aimed{}, err
				}
				e = found
				if s.field {
					if err := e.run(ctx, "(id, k) => k.retarget(id)", e.id, &e.id); err != nil {
						return aimed{}, err
					}
				}
				continue
			}
		case err == nil && got.Problem == "gone" && s.q != nil && !s.q.Counted() && s.left() > 0:
			e = element{}
		case err == nil && got.Problem == "gone" || s.left() == 0 && err == nil:
			return aimed{}, got.problem.explain(o.ready, s.limit())
		}
		if err != nil {
			if !passing(err) || s.q == nil || s.left() == 0 {
				return aimed{}, s.scriptError(err)
			}
			e = element{}
		}
		if err := pause(ctx, min(60*time.Millisecond, s.left())); err != nil {
			return aimed{}, err
		}
	}
}

// aimHeld is aim for an element that is held already, and no other.
func (s *seeker) aimHeld(ctx context.Context, e element, o aimOptions) (aimed, error) {
	held := *s
	held.q, held.at = nil, &e
	return held.aim(ctx, o)
}

type aimAnswer struct {
	about
	found
	problem
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Native bool    `json:"native"`
	Cover  string  `json:"cover"`
}

func (s *seeker) aimOnce(ctx context.Context, e element, o aimOptions) (got aimAnswer, err error) {
	arg := map[string]any{"id": e.id, "ms": min(s.left(), slice).Milliseconds(), "disabledToo": o.disabled, "watch": !o.unwatched, "anyway": o.anyway, "field": s.field, "options": s.options}
	if e.id == 0 {
		arg["q"] = s.query()
	} else {
		arg["ms"] = s.left().Milliseconds()
		if s.q != nil && !s.q.Counted() {
			arg["ms"] = min(s.left(), slice).Milliseconds() // another match may become visible meanwhile
		}
	}
	if o.at != nil {
		arg["at"] = o.at
	}
	err = e.run(ctx, "(a, k) => k.aim(a)", arg, &got)
	return got, err
}

// outward takes a point of a frame's viewport to the page's, through the elements that hold the frames.
func outward(ctx context.Context, f *browser.Frame, x, y float64) (float64, float64, problem, error) {
	for ; f.Parent != nil; f = f.Parent {
		if f.Owner() == 0 {
			return 0, 0, problem{}, browser.ErrFrameGone
		}
		o, err := f.Parent.Object(ctx, f.Owner())
		if errors.Is(err, browser.ErrStale) {
			err = browser.ErrFrameGone
		}
		if err != nil {
			return 0, 0, problem{}, err
		}
		var got struct {
			problem
			X float64 `json:"x"`
			Y float64 `json:"y"`
		}
		if err := o.Call(ctx, kit, "(el, [x, y, remote], k) => k.through(el, x, y, remote)", []any{x, y, f.Remote()}, &got); err != nil {
			return 0, 0, problem{}, err
		}
		if got.Problem != "" {
			return 0, 0, got.problem, nil
		}
		x, y = got.X, got.Y
	}
	return x, y, problem{}, nil
}

// mouse is an event of the mouse at a point of the page's viewport.
func mouse(kind proto.InputDispatchMouseEventType, x, y float64) proto.InputDispatchMouseEvent {
	return proto.InputDispatchMouseEvent{Type: kind, X: x, Y: y}
}
