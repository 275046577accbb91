package act

import (
	"context"
	"strconv"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
	"parley/browser/locate"
)

// ScrollOptions say how to scroll; exactly one of Down/Right, To and IntoView is meant.
type ScrollOptions struct {
	// Down and Right are how far, in CSS pixels; negative is up and left. Pages counts in views instead.
	Down, Right float64
	Pages       float64
	// To is "top" or "bottom" of what scrolls.
	To string
	// IntoView brings the located element into view, and nothing more.
	IntoView bool
	// Wait is how long to find the element; zero means DefaultWait.
	Wait time.Duration
}

// Scrolled is what came of it.
type Scrolled struct {
	Done
	// What names what scrolled by tag, id and classes, or says "the page".
	What string
	// Top and Left are where it is now, Height and Width how large what is in it is, View how much of it shows.
	Top, Left, Height, Width, View int
	// Moved tells that it is elsewhere than before; AtEnd that there is nothing further that way.
	Moved, AtEnd bool
	// Grew tells that the page added to it meanwhile: a list without an end.
	Grew bool
	// Rows and Total are the rows that are there and that the page says there are; Total is 0 where it does not say.
	Rows, Total int
}

type bar struct {
	ID     int     `json:"id"`
	Top    int     `json:"top"`
	Left   int     `json:"left"`
	Height int     `json:"height"`
	Width  int     `json:"width"`
	View   int     `json:"view"`
	ViewW  int     `json:"viewWidth"`
	Brief  string  `json:"brief"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	InView bool    `json:"inView"`
	Gone   bool    `json:"gone"`
}

// settleLimit is how long what was scrolled may take to stand still, and growLimit how long a list at its end may take to
// grow.
const (
	settleLimit = 1200 * time.Millisecond
	growLimit   = 1500 * time.Millisecond
)

// Scroll turns the wheel over an element, or over the page with an empty locator, and tells where that led.
func Scroll(ctx context.Context, p *browser.Page, l locate.Locator, o ScrollOptions) (Scrolled, error) {
	var e element
	switch whole := l == (locate.Locator{}); {
	case !whole:
		s, err := seek(ctx, p, l, o.Wait)
		if err != nil {
			return Scrolled{}, err
		}
		if e, err = s.find(ctx); err != nil {
			return Scrolled{}, err
		}
		if o.IntoView {
			return intoView(ctx, p, s, e)
		}
	case o.IntoView:
		return Scrolled{}, &locate.Error{Argument: "element", Why: "say what to bring into view"}
	default:
		main, err := p.Main(ctx)
		if err != nil {
			return Scrolled{}, err
		}
		e = element{frame: main}
	}
	axis := "y"
	if o.Right != 0 && o.Down == 0 {
		axis = "x"
	}
	var b bar
	if err := e.run(ctx, "([id, axis], k) => k.scroller(id, axis)", []any{e.id, axis}, &b); err != nil {
		return Scrolled{}, err
	}
	if b.ID == 0 {
		return Scrolled{AtEnd: true, What: "nothing", Done: Done{Note: "nothing here scrolls that way: all of it shows already"}}, nil
	}
	box := element{e.frame, b.ID}
	dx, dy := o.Right, o.Down+o.Pages*float64(b.View)*0.9
	p.Sent()
	now := b
	where := func() any {
		return []any{box.id, strconv.Itoa(b.Top) + "," + strconv.Itoa(b.Left), settleLimit.Milliseconds()}
	}
	const settle = "([id, from, ms], k) => k.settled(id, from, ms)"
	if o.To != "" {
		if err := box.run(ctx, "([id, to], k) => k.scrollEnd(id, to)", []any{box.id, o.To}, nil); err != nil {
			return Scrolled{}, err
		}
	} else {
		x, y, way, err := outward(ctx, e.frame, b.X, b.Y)
		wheeled := err == nil && way.Problem == "" && b.InView
		if wheeled {
			w := mouse(proto.InputDispatchMouseEventTypeMouseWheel, x, y)
			w.DeltaX, w.DeltaY = dx, dy
			p.Post(mouse(proto.InputDispatchMouseEventTypeMouseMoved, x, y))
			p.Post(w)
			if err := box.run(ctx, settle, where(), &now); err != nil {
				return Scrolled{}, err
			}
		}
		if !wheeled || (now.Top == b.Top && now.Left == b.Left) { // something else took the wheel, or nothing did
			if err := box.run(ctx, "([id, x, y], k) => k.scrollBy(id, x, y)", []any{box.id, dx, dy}, nil); err != nil {
				return Scrolled{}, err
			}
		}
	}
	if err := box.run(ctx, settle, where(), &now); err != nil {
		return Scrolled{}, err
	}
	end := func() bool {
		switch {
		case dy > 0 || o.To == "bottom":
			return now.Top+now.View >= now.Height-2
		case dy < 0 || o.To == "top":
			return now.Top <= 0
		case dx > 0:
			return now.Left+now.ViewW >= now.Width-2
		}
		return now.Left <= 0
	}
	grew := now.Height > b.Height
	if (dy > 0 || o.To == "bottom") && end() && !grew {
		var g bool
		if err := box.run(ctx, "([id, h, ms], k) => k.grows(id, h, ms)", []any{box.id, now.Height, growLimit.Milliseconds()}, &g); err != nil {
			return Scrolled{}, err
		}
		if g {
			p.Quiet(ctx)
			if err := box.run(ctx, settle, where(), &now); err != nil {
				return Scrolled{}, err
			}
			grew = true
		}
	}
	var rows struct {
		Total int `json:"total"`
		Shown int `json:"shown"`
	}
	if err := box.run(ctx, "(id, k) => k.rows(id)", box.id, &rows); err != nil {
		return Scrolled{}, err
	}
	return Scrolled{
		What: now.Brief, Top: now.Top, Left: now.Left, Height: now.Height, Width: now.Width, View: now.View,
		Moved: now.Top != b.Top || now.Left != b.Left, AtEnd: end() && !grew, Grew: grew, Rows: rows.Shown, Total: rows.Total,
	}, nil
}

// intoView brings an element into view.
func intoView(ctx context.Context, p *browser.Page, s *seeker, e element) (Scrolled, error) {
	p.Sent()
	var got struct {
		problem
		OK bool `json:"ok"`
	}
	if err := e.run(ctx, "(id, k) => k.intoView(id)", e.id, &got); err != nil {
		return Scrolled{}, err
	}
	if got.Problem != "" {
		return Scrolled{}, got.problem.explain("visible", s.limit())
	}
	var b bar
	if err := e.run(ctx, "(id, k) => k.scroller(id, 'y')", e.id, &b); err != nil {
		return Scrolled{}, err
	}
	d := Scrolled{What: b.Brief, Top: b.Top, Left: b.Left, Height: b.Height, Width: b.Width, View: b.View, Moved: true}
	if !got.OK {
		d.Uncertain = "the element is still out of view: nothing around it scrolls that far"
	}
	return d, nil
}
