package act

import (
	"context"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
	"parley/browser/locate"
)

// The ways to give files to a page.
const (
	ByInput   = "input"   // the element is a file input, or the label of one
	ByChooser = "chooser" // it opens a file chooser when it is clicked
	ByDrop    = "drop"    // files can be dropped on it
)

// chooserLimit is how long a click may take to open a chooser.
const chooserLimit = 5 * time.Second

// UploadOptions say how to give files to a page.
type UploadOptions struct {
	// Method is one of the ways; empty takes the first that works, in their order.
	Method string
	// Wait is how long to find the element; zero means DefaultWait.
	Wait time.Duration
}

// Uploaded is what came of it.
type Uploaded struct {
	Done
	Method string
	// Names are the files that the input holds afterwards, as the page sees them; of a drop nobody can tell.
	Names []string
	// Accepted is false when files were dropped and nothing on the page took them.
	Accepted bool
}

// Upload gives files, by their paths, to a page: to an input, to the chooser that an element opens, or by dropping them.
func Upload(ctx context.Context, p *browser.Page, l locate.Locator, files []string, o UploadOptions) (Uploaded, error) {
	s, e, input, err := seekFor(ctx, p, l, o.Wait)
	if err != nil {
		return Uploaded{}, err
	}
	switch {
	case input.id != 0 && (o.Method == "" || o.Method == ByInput):
		return intoInput(ctx, input, files)
	case o.Method == ByInput:
		return Uploaded{}, unfit("the element is no file input, nor the label of one")
	case o.Method == ByDrop:
		return s.dropFiles(ctx, e, files)
	}
	u, opened, err := s.chooseFiles(ctx, e, files)
	if err != nil || opened {
		return u, err
	}
	if o.Method == ByChooser {
		return Uploaded{}, unfit("no file chooser opened within %s of the click", seconds(chooserLimit))
	}
	return s.dropFiles(ctx, e, files)
}

// glance is how long a visible match is preferred to a hidden file input.
const glance = 200 * time.Millisecond

// seekFor finds the element, and the file input that it stands for, if it does. Pages hide their inputs behind nicer
// buttons, so that a hidden one is as good as a visible one.
func seekFor(ctx context.Context, p *browser.Page, l locate.Locator, wait time.Duration) (s *seeker, e, input element, err error) {
	if wait <= 0 {
		wait = DefaultWait
	}
	for _, limit := range []time.Duration{min(glance, wait), wait} {
		if s, err = seek(ctx, p, l, limit); err != nil {
			return nil, e, input, err
		}
		s.hidden = true
		if e, err = s.find(ctx); err != nil {
			continue
		}
		if input, err = inputOf(ctx, e); input.id != 0 {
			break
		}
	}
	return s, e, input, err
}

// inputOf is the file input that an element is, or is the label of, or the only one in it; none has id 0.
func inputOf(ctx context.Context, e element) (element, error) {
	in := element{frame: e.frame}
	err := e.run(ctx, `(id, k) => {
		const is = (x) => !!x && x.tagName === 'INPUT' && x.type === 'file';
		const el = k.get(id), label = el && el.closest('label');
		const found = is(el) ? el : is(el && el.control) ? el.control : is(label && label.control) ? label.control : null;
		return found ? k.hold(found) : 0;
	}`, e.id, &in.id)
	return in, err
}

func intoInput(ctx context.Context, e element, files []string) (Uploaded, error) {
	var about about
	if err := e.run(ctx, "(id, k) => k.describe(id)", e.id, &about); err != nil {
		return Uploaded{}, err
	}
	var disabled bool
	if err := e.run(ctx, "(id, k) => k.get(id).matches(':disabled')", e.id, &disabled); err != nil {
		return Uploaded{}, err
	}
	switch {
	case disabled:
		return Uploaded{}, problem{Problem: "disabled"}.explain("ready for files", 0)
	case len(files) > 1 && !about.Multiple:
		return Uploaded{}, unfit("%s takes one file only", about.Brief)
	}
	objects, err := e.frame.Objects(ctx, kit, "(id, k) => [k.get(id)]", e.id)
	if err != nil {
		return Uploaded{}, err
	}
	if len(objects) != 1 {
		return Uploaded{}, problem{Problem: "gone"}.explain("ready for files", 0)
	}
	e.frame.Page().Sent()
	if err := objects[0].SetFiles(ctx, files); err != nil {
		return Uploaded{}, err
	}
	u := Uploaded{Method: ByInput, Accepted: true}
	err = e.run(ctx, "(id, k) => { const el = k.get(id); return el ? [...el.files].map((f) => f.name) : []; }", e.id, &u.Names)
	if passing(err) { // the page took them and went on
		err = nil
	}
	return u, err
}

// chooseFiles clicks the element and answers the chooser that it opens, if it does.
func (s *seeker) chooseFiles(ctx context.Context, e element, files []string) (u Uploaded, opened bool, err error) {
	if err := s.p.InterceptChoosers(ctx, true); err != nil {
		return Uploaded{}, false, err
	}
	defer func() {
		off, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = s.p.InterceptChoosers(off, false) // the tab is gone, or the next upload sets it anew
	}()
	click := *s
	click.hidden, click.at, click.q = false, &e, nil
	done, err := click.click(ctx, ClickOptions{}, 0)
	if err != nil {
		return Uploaded{}, false, err
	}
	waiting, cancel := context.WithTimeout(ctx, chooserLimit)
	defer cancel()
	c := s.p.Chooser(waiting)
	switch {
	case c == nil && ctx.Err() != nil:
		return Uploaded{}, false, context.Cause(ctx)
	case c == nil:
		return Uploaded{Done: done}, false, nil
	case len(files) > 1 && !c.Multiple:
		return Uploaded{}, true, unfit("the file chooser takes one file only")
	}
	if err := s.p.Choose(ctx, c, files); err != nil {
		return Uploaded{}, true, err
	}
	return Uploaded{Method: ByChooser, Accepted: true}, true, nil
}

// dropFiles drops the files on the element.
func (s *seeker) dropFiles(ctx context.Context, e element, files []string) (Uploaded, error) {
	a, err := s.aimHeld(ctx, e, aimOptions{anyway: true, unwatched: true, ready: "a place to drop on"})
	if err != nil {
		return Uploaded{}, err
	}
	s.p.Sent()
	data := &proto.InputDragData{Items: []*proto.InputDragDataItem{}, Files: files, DragOperationsMask: 1}
	event := func(kind proto.InputDispatchDragEventType) error {
		return proto.InputDispatchDragEvent{Type: kind, X: a.x, Y: a.y, Data: data}.Call(s.p.Client(ctx))
	}
	felt, err := a.feels(ctx, 100*time.Millisecond, func() error {
		err := event(proto.InputDispatchDragEventTypeDragEnter)
		for n := 0; n < 2 && err == nil; n++ {
			err = event(proto.InputDispatchDragEventTypeDragOver)
		}
		return err
	})
	u := Uploaded{Method: ByDrop}
	switch {
	case err != nil:
		return u, err
	case !felt.Taken:
		// A file that is let go where nothing takes it would be opened by the browser itself.
		u.Uncertain = "nothing on the page takes files that are dropped there: name its file input or its upload button instead"
		return u, event(proto.InputDispatchDragEventTypeDragCancel)
	}
	felt, err = a.feels(ctx, hearLimit, func() error { return event(proto.InputDispatchDragEventTypeDrop) })
	if passing(err) {
		u.Accepted = true // what took them went on to another document
		return u, nil
	}
	if u.Accepted = felt.Drop; err == nil && !felt.Drop {
		u.Uncertain = "the page did not tell that anything took the files"
	}
	return u, err
}

// felt is what an element has seen of a drag.
type felt struct {
	Over  bool `json:"over"`
	Drop  bool `json:"drop"`
	Taken bool `json:"taken"`
}

// feels drags, and tells what the element felt of it within the time.
func (a aimed) feels(ctx context.Context, within time.Duration, drag func() error) (f felt, err error) {
	if err := a.run(ctx, "(id, k) => k.watchDrop(id)", a.id, nil); err != nil {
		return f, err
	}
	if err := drag(); err != nil {
		return f, err
	}
	err = a.run(ctx, "([id, ms], k) => k.wasDropped(id, ms)", []any{a.id, within.Milliseconds()}, &f)
	return f, err
}
