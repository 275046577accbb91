package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"
)

// Frame is one document of a page as it was when Frames looked. A frame that shows another document is another Frame.
type Frame struct {
	ID     proto.PageFrameID
	Parent *Frame // nil for the page's own document
	URL    string
	Name   string
	Origin string
	Loader proto.NetworkLoaderID
	// Session is whose calls reach it: the page's own, or that of an out-of-process frame.
	Session proto.TargetSessionID
	// Err says why it cannot be looked into; nil when it can.
	Err error

	page     *Page
	children []*Frame
	named    bool // its document knows which elements hold its frames
	// owner is the element of Parent that holds it; zero when the frame has no element that can be found.
	owner proto.DOMBackendNodeID
}

// Page is whose frame it is.
func (f *Frame) Page() *Page { return f.page }

// Children are the frames in it, in page order.
func (f *Frame) Children() []*Frame { return f.children }

// Owner is the element of Parent that holds it; zero for the page's own document.
func (f *Frame) Owner() proto.DOMBackendNodeID { return f.owner }

// Remote tells that it runs in another process than its parent.
func (f *Frame) Remote() bool { return f.Parent != nil && f.Parent.Session != f.Session }

// Client binds calls of the frame's session to a context, to the page's life, and to a limit where there is none.
func (f *Frame) Client(ctx context.Context) proto.Client { return f.page.client(ctx, f.Session) }

// frameLimit is how long one out-of-process frame may take to say what is in it, while the others are there.
const frameLimit = 1500 * time.Millisecond

// Frames are the page's documents in page order, its own first. Those that do not answer have an Err.
func (p *Page) Frames(ctx context.Context) ([]*Frame, error) {
	for range 3 {
		p.mu.Lock()
		version, cached := p.version, p.frames
		p.mu.Unlock()
		if cached != nil {
			return cached, nil
		}
		frames, err := p.lookFrames(ctx)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		fresh := p.version == version
		if fresh && !slices.ContainsFunc(frames, func(f *Frame) bool { return f.Err != nil }) {
			p.frames = frames
		}
		p.mu.Unlock()
		if fresh {
			return frames, nil
		}
	}
	return p.lookFrames(ctx) // frames come and go all the time: as they were a moment ago
}

// Main is the page's own document.
func (p *Page) Main(ctx context.Context) (*Frame, error) {
	frames, err := p.Frames(ctx)
	if err != nil {
		return nil, err
	}
	return frames[0], nil
}

func (p *Page) lookFrames(ctx context.Context) ([]*Frame, error) {
	p.mu.Lock()
	subs := make([]*sub, 0, len(p.subs))
	for _, s := range p.subs {
		subs = append(subs, s)
	}
	p.mu.Unlock()
	// In the order in which they came, so that equal looks give equal lists.
	slices.SortFunc(subs, func(a, b *sub) int { return a.number - b.number })

	trees := make([]*proto.PageFrameTree, len(subs))
	errs := make([]error, len(subs))
	var looking sync.WaitGroup
	for i, s := range subs {
		looking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, frameLimit)
			defer cancel()
			got, err := proto.PageGetFrameTree{}.Call(p.client(ctx, s.session))
			if err != nil {
				errs[i] = err
				return
			}
			trees[i] = got.FrameTree
		})
	}
	main, err := proto.PageGetFrameTree{}.Call(p.client(ctx, p.session))
	looking.Wait()
	if err != nil {
		return nil, err
	}
	byID := map[proto.PageFrameID]*Frame{}
	var all []*Frame
	var add func(t *proto.PageFrameTree, parent *Frame, session proto.TargetSessionID)
	add = func(t *proto.PageFrameTree, parent *Frame, session proto.TargetSessionID) {
		f := &Frame{ID: t.Frame.ID, Parent: parent, URL: t.Frame.URL + t.Frame.URLFragment, Name: t.Frame.Name, Origin: t.Frame.SecurityOrigin,
			Loader: t.Frame.LoaderID, Session: session, page: p}
		byID[f.ID] = f
		all = append(all, f)
		for _, c := range t.ChildFrames {
			add(c, f, session)
		}
	}
	add(main.FrameTree, nil, p.session)
	// A frame's parent may be of a session that comes later, hence the rounds.
	placed := make([]bool, len(subs))
	for range subs {
		for i, s := range subs {
			if placed[i] {
				continue
			}
			parentID := s.parent
			if trees[i] != nil && trees[i].Frame.ParentID != "" {
				parentID = trees[i].Frame.ParentID
			}
			parent := byID[parentID]
			if parent == nil {
				continue
			}
			placed[i] = true
			if trees[i] != nil {
				add(trees[i], parent, s.session)
				continue
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if errors.Is(errs[i], errNoSession) {
				continue // it went away meanwhile
			}
			f := &Frame{ID: proto.PageFrameID(s.target), Parent: parent, URL: s.url, Session: s.session, page: p, Err: fmt.Errorf("it does not answer: %w", errs[i])}
			byID[f.ID] = f
			all = append(all, f)
		}
	}
	p.findOwners(ctx, all[1:])
	for _, f := range all[1:] {
		f.Parent.children = append(f.Parent.children, f)
	}
	return p.inPageOrder(ctx, all), nil
}

// findOwners asks for the elements that hold frames. One that cannot be found stays zero.
func (p *Page) findOwners(ctx context.Context, frames []*Frame) {
	const atOnce = 32
	room := make(chan struct{}, atOnce)
	var asking sync.WaitGroup
	for _, f := range frames {
		room <- struct{}{}
		asking.Go(func() {
			defer func() { <-room }()
			got, err := proto.DOMGetFrameOwner{FrameID: f.ID}.Call(f.Parent.Client(ctx))
			if err == nil {
				f.owner = got.BackendNodeID
			}
		})
	}
	asking.Wait()
}

// inPageOrder sorts frames that stand in one document by where their elements stand in it.
func (p *Page) inPageOrder(ctx context.Context, all []*Frame) []*Frame {
	for _, f := range all {
		if len(f.children) > 1 && len(f.children) <= 200 {
			p.sortChildren(ctx, f)
		}
	}
	sorted := make([]*Frame, 0, len(all))
	var walk func(f *Frame)
	walk = func(f *Frame) {
		sorted = append(sorted, f)
		for _, c := range f.children {
			walk(c)
		}
	}
	walk(all[0])
	return sorted
}

// orderJS gives the order of elements in the page, through open shadow roots.
const orderJS = `function(...els) {
	const path = (n) => { const up = []; for (; n; n = n.parentNode || n.host) up.unshift(n); return up; };
	const paths = els.map(path);
	const before = (a, b) => {
		const x = paths[a], y = paths[b];
		let i = 0;
		while (i < x.length && i < y.length && x[i] === y[i]) i++;
		if (i >= x.length || i >= y.length) return x.length - y.length;
		if (x[i].nodeType === 11) return -1;
		if (y[i].nodeType === 11) return 1;
		return x[i].compareDocumentPosition(y[i]) & 4 ? -1 : 1;
	};
	return els.map((_, i) => i).sort(before);
}`

func (p *Page) sortChildren(ctx context.Context, f *Frame) {
	world, err := f.world(ctx)
	if err != nil {
		return // as the browser lists them
	}
	objects := make([]any, 0, len(f.children))
	for _, c := range f.children {
		if c.owner == 0 {
			return
		}
		got, err := proto.DOMResolveNode{BackendNodeID: c.owner, ExecutionContextID: world, ObjectGroup: objectGroup}.Call(f.Client(ctx))
		if err != nil {
			return
		}
		objects = append(objects, map[string]any{"objectId": got.Object.ObjectID})
	}
	var answer struct {
		Result struct {
			Value []int `json:"value"`
		} `json:"result"`
	}
	err = ask(f.Client(ctx), "Runtime.callFunctionOn", map[string]any{
		"functionDeclaration": orderJS, "executionContextId": world, "arguments": objects, "returnByValue": true, "silent": true,
	}, &answer)
	if err != nil || len(answer.Result.Value) != len(f.children) {
		return
	}
	sorted := make([]*Frame, len(f.children))
	for i, from := range answer.Result.Value {
		if from < 0 || from >= len(f.children) || slices.Contains(sorted[:i], f.children[from]) {
			return
		}
		sorted[i] = f.children[from]
	}
	f.children = sorted
}

// Corner is where the frame's session has its origin in the page's viewport, in CSS pixels: what to add to coordinates
// that the frame's session gives, so that input for the page's session lands there. Frames of one process share it.
func (f *Frame) Corner(ctx context.Context) (x, y float64, err error) {
	for at := f; at.Parent != nil; at = at.Parent {
		if !at.Remote() {
			continue
		}
		if at.owner == 0 {
			return 0, 0, ErrFrameGone
		}
		box, err := proto.DOMGetBoxModel{BackendNodeID: at.owner}.Call(at.Parent.Client(ctx))
		if err != nil {
			return 0, 0, fmt.Errorf("where the frame is: %w", err)
		}
		if len(box.Model.Content) < 2 {
			return 0, 0, ErrFrameGone
		}
		x += box.Model.Content[0]
		y += box.Model.Content[1]
	}
	return x, y, nil
}

// said gives the browser's own error, if it is one.
func said(err error) *cdp.Error {
	var e *cdp.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
