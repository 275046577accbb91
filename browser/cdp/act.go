package cdp

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/platforms"
)

// defaultWait is how long input waits for its element when the target does not say.
const defaultWait = 5 * time.Second

// Find looks for the first visible element, without waiting.
func (p *Page) Find(ctx context.Context, t platforms.Target) (platforms.Found, error) {
	var f platforms.Found
	err := p.evaluate(ctx, "(target, kit) => kit.describe(kit.find(target))", t, &f, true)
	return f, err
}

// aimed is where an element would get a click, or why it would not.
type aimed struct {
	ID      int     `json:"id"`
	X       float64 `json:"x"`
	Y       float64 `json:"y"`
	Problem string  `json:"problem"`
	By      string  `json:"by"`
}

var problems = map[string]error{
	"missing": ErrMissing, "disabled": ErrDisabled, "covered": ErrCovered,
	"moving": errors.New("the element does not stand still"), "outside": errors.New("the element lies outside the page"),
}

// aim waits for the element until it can be clicked and gives the point where.
func (p *Page) aim(ctx context.Context, t platforms.Target) (aimed, error) {
	wait := t.Wait
	if wait == 0 {
		wait = defaultWait
	}
	// The page's own clock ends the wait, so that its reason comes back; a page that stands still has the context's.
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, max(time.Until(deadline)-200*time.Millisecond, 0))
	}
	var a aimed
	began := time.Now()
	arg := func() any {
		return map[string]any{"target": t, "ms": max(wait-time.Since(began), 0).Milliseconds()}
	}
	const script = "({target, ms}, kit) => kit.aim(target, ms)"
	err := p.evaluate(ctx, script, arg(), &a, true)
	if err != nil {
		return a, err
	}
	if a.Problem != "" {
		why := problems[a.Problem]
		if why == nil {
			why = errors.New(a.Problem)
		}
		return a, &ElementError{Target: name(t), Err: why, By: a.By}
	}
	return a, nil
}

// Click clicks with real input and makes sure that the element received it.
func (p *Page) Click(ctx context.Context, t platforms.Target) error {
	release, err := p.act(ctx)
	if err != nil {
		return err
	}
	defer release()
	_, err = p.click(ctx, t)
	return err
}

func (p *Page) click(ctx context.Context, t platforms.Target) (aimed, error) {
	a, err := p.aim(ctx, t)
	if err != nil {
		return a, err
	}
	if err := p.press(ctx, a.X, a.Y); err != nil {
		return a, err
	}
	var landed struct {
		Known     bool `json:"known"`
		Down      bool `json:"down"`
		Other     bool `json:"other"`
		Connected bool `json:"connected"`
	}
	err = p.evaluate(ctx, "(id, kit) => kit.landed(id)", a.ID, &landed, false)
	switch {
	case errors.Is(err, ErrNavigated), errors.Is(err, ErrClosed), err == nil && !landed.Known:
		return a, nil // the click took the page elsewhere: somebody received it
	case err != nil:
		return a, err
	case !landed.Down:
		return a, &ElementError{Target: name(t), Err: ErrUncertain}
	}
	return a, nil
}

// shown waits until the page takes input.
func (p *Page) shown(ctx context.Context) error {
	return p.evaluate(ctx, "(arg, kit) => kit.shown()", nil, nil, true)
}

// press moves the mouse to a point and clicks there.
func (p *Page) press(ctx context.Context, x, y float64) error {
	return p.call(ctx, func(c proto.Client) error {
		if err := (proto.InputDispatchMouseEvent{Type: proto.InputDispatchMouseEventTypeMouseMoved, X: x, Y: y}).Call(c); err != nil {
			return err
		}
		down := proto.InputDispatchMouseEvent{Type: proto.InputDispatchMouseEventTypeMousePressed, X: x, Y: y, Button: proto.InputMouseButtonLeft, ClickCount: 1}
		if err := down.Call(c); err != nil {
			return err
		}
		up := down
		up.Type = proto.InputDispatchMouseEventTypeMouseReleased
		return up.Call(c)
	})
}

// MoveMouse moves the pointer, in pixels of the viewport.
func (p *Page) MoveMouse(ctx context.Context, x, y float64) error {
	release, err := p.act(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := p.shown(ctx); err != nil {
		return err
	}
	return p.call(ctx, proto.InputDispatchMouseEvent{Type: proto.InputDispatchMouseEventTypeMouseMoved, X: x, Y: y}.Call)
}

// name says in an error which element was meant: the caller's words, never the page's.
func name(t platforms.Target) string {
	var parts []string
	if t.Role != "" {
		parts = append(parts, "role "+t.Role)
	}
	if len(t.Names) > 0 {
		parts = append(parts, `named "`+t.Names[0]+`"`)
	}
	if t.Selector != "" {
		parts = append(parts, "selector "+t.Selector)
	}
	if len(t.Texts) > 0 {
		parts = append(parts, `text "`+t.Texts[0]+`"`)
	}
	if t.Within != "" {
		parts = append(parts, "within "+t.Within)
	}
	return strings.Join(parts, " ")
}
