package act

import (
	"context"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
	"parley/browser/locate"
)

// DragOptions say where a drag ends.
type DragOptions struct {
	// To is the element to drop on; with By it may be empty.
	To locate.Locator
	// By is how far from where it began instead, in CSS pixels.
	By []float64
	// FromAt and ToAt are points in the elements, from their upper left corners; nil is wherever they can be hit.
	FromAt, ToAt []float64
	// Wait is how long to find both; zero means DefaultWait.
	Wait time.Duration
}

// dragLimit is how long the browser may take to hand over what the page wants dragged, once it said that it does.
const dragLimit = time.Second

// dragSteps is how many moves a drag makes on its way, since pages look at the way.
const dragSteps = 12

// Drag drags an element to another, or by a distance, and drops it: with the page's own drag and drop where it has that
// (HTML5), with the mouse alone elsewhere (sliders, sortable lists).
func Drag(ctx context.Context, p *browser.Page, l locate.Locator, o DragOptions) (Done, error) {
	from, err := seek(ctx, p, l, o.Wait)
	if err != nil {
		return Done{}, err
	}
	if o.By != nil && len(o.By) != 2 {
		return Done{}, &locate.Error{Argument: "by", Why: "is two numbers: right and down"}
	}
	var to *seeker
	if o.By == nil {
		if to, err = seek(ctx, p, o.To, o.Wait); err != nil {
			return Done{}, err
		}
		// Found first, so that what is missing is known before the button is down.
		e, err := to.find(ctx)
		if err != nil {
			return Done{}, err
		}
		held := *to
		held.at, held.q = &e, nil
		to = &held
	}
	a, err := from.aim(ctx, aimOptions{at: o.FromAt, ready: "draggable"})
	if err != nil {
		return Done{}, err
	}
	if a.native {
		return Done{}, unfit("%s is an option of a native list: use select", a.Brief)
	}
	p.Sent()
	if err := p.InterceptDrags(ctx, true); err != nil {
		return Done{}, err
	}
	defer func() {
		off, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = p.InterceptDrags(off, false) // the next drag sets it anew
	}()
	p.Post(mouse(proto.InputDispatchMouseEventTypeMouseMoved, a.x, a.y))
	down := mouse(proto.InputDispatchMouseEventTypeMousePressed, a.x, a.y)
	down.Button, down.ClickCount = proto.InputMouseButtonLeft, 1
	p.Post(down)
	up := func(x, y float64) {
		e := mouse(proto.InputDispatchMouseEventTypeMouseReleased, x, y)
		e.Button, e.ClickCount = proto.InputMouseButtonLeft, 1
		p.Post(e)
	}
	var r received
	if err := a.run(ctx, "([id, ms], k) => k.pressed(id, ms)", []any{a.id, hearLimit.Milliseconds()}, &r); err != nil {
		up(a.x, a.y)
		return Done{}, err
	}
	if r.blocked() {
		up(a.x, a.y)
		disarm(ctx, a)
		return Done{}, problem{Problem: "covered", By: r.Other}.explain("draggable", from.limit())
	}
	move := func(x, y float64) {
		e := mouse(proto.InputDispatchMouseEventTypeMouseMoved, x, y)
		e.Button, e.Buttons = proto.InputMouseButtonLeft, &leftHeld
		p.Post(e)
	}
	// A first short way makes a drag of it.
	move(a.x+4, a.y+2)
	move(a.x+8, a.y+4)
	var begun struct {
		Drag string `json:"drag"`
	}
	if err := a.run(ctx, "async (id, k) => { await k.frame(); await k.frame(); const r = await k.moves(id, 50); k.disarm(id); return r; }", a.id, &begun); err != nil {
		up(a.x, a.y)
		return Done{}, err
	}
	var data *proto.InputDragData
	if begun.Drag != "" {
		waiting, cancel := context.WithTimeout(ctx, dragLimit)
		data = p.Dragged(waiting)
		cancel()
	}
	x, y, end, err := from.dropPoint(ctx, a, to, o)
	if err != nil {
		up(a.x, a.y)
		return Done{}, err
	}
	if data != nil {
		return dropped(ctx, p, data, a, end, x, y, up)
	}
	for i := 1; i <= dragSteps; i++ {
		f := float64(i) / dragSteps
		move(a.x+8+(x-a.x-8)*f, a.y+4+(y-a.y-4)*f)
		if i%4 == 0 { // pages follow at their own pace
			if err := a.run(ctx, "(_, k) => k.frame()", nil, nil); err != nil && !passing(err) {
				up(x, y)
				return Done{}, err
			}
		}
	}
	move(x, y)
	if err := a.run(ctx, "(_, k) => k.frame()", nil, nil); err != nil && !passing(err) {
		up(x, y)
		return Done{}, err
	}
	up(x, y)
	if !r.Down {
		return Done{Uncertain: "the page did not tell that the element received the press"}, nil
	}
	d := Done{}
	var moved bool
	if err := a.run(ctx, "async ([id, x, y], k) => { await k.frame(); await k.frame(); return k.wentFrom(id, x, y); }", []any{a.id, a.x, a.y}, &moved); err == nil && !moved {
		d.Note = "the mouse dragged; the element stands where it stood, so look at what it did"
	}
	return d, nil
}

var leftHeld = 1

// dropPoint is where the drag ends; end is the element there, if one was named.
func (s *seeker) dropPoint(ctx context.Context, a aimed, to *seeker, o DragOptions) (x, y float64, end *aimed, err error) {
	if to == nil {
		return a.x + o.By[0], a.y + o.By[1], nil, nil
	}
	t, err := to.aim(ctx, aimOptions{at: o.ToAt, ready: "a place to drop on", disabled: true, unwatched: true, anyway: true})
	if err != nil {
		return 0, 0, nil, err
	}
	return t.x, t.y, &t, nil
}

// dropped carries what the page wants dragged to its goal and lets it go there.
func dropped(ctx context.Context, p *browser.Page, data *proto.InputDragData, a aimed, end *aimed, x, y float64, up func(x, y float64)) (Done, error) {
	if end != nil {
		if err := end.run(ctx, "(id, k) => k.watchDrop(id)", end.id, nil); err != nil && !passing(err) {
			up(x, y)
			return Done{}, err
		}
	}
	event := func(kind proto.InputDispatchDragEventType, x, y float64) error {
		return proto.InputDispatchDragEvent{Type: kind, X: x, Y: y, Data: data}.Call(p.Client(ctx))
	}
	var err error
	for _, step := range []struct {
		kind proto.InputDispatchDragEventType
		x, y float64
	}{
		{proto.InputDispatchDragEventTypeDragEnter, a.x + 8, a.y + 4},
		{proto.InputDispatchDragEventTypeDragOver, (a.x + x) / 2, (a.y + y) / 2},
		{proto.InputDispatchDragEventTypeDragOver, x, y},
		{proto.InputDispatchDragEventTypeDragOver, x, y},
		{proto.InputDispatchDragEventTypeDrop, x, y},
	} {
		if err = event(step.kind, step.x, step.y); err != nil {
			break
		}
	}
	up(x, y)
	if err != nil {
		return Done{}, err
	}
	if end == nil {
		return Done{}, nil
	}
	var got struct {
		Over  bool `json:"over"`
		Drop  bool `json:"drop"`
		Taken bool `json:"taken"`
	}
	if err := end.run(ctx, "([id, ms], k) => k.wasDropped(id, ms)", []any{end.id, hearLimit.Milliseconds()}, &got); err != nil {
		if passing(err) {
			return Done{}, nil
		}
		return Done{}, err
	}
	switch {
	case got.Drop:
		return Done{}, nil
	case got.Over && !got.Taken:
		return Done{Uncertain: "the goal felt the drag and did not take it: it is no place to drop this"}, nil
	}
	return Done{Uncertain: "the goal did not tell that anything was dropped on it"}, nil
}
