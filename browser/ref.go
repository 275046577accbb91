package browser

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/go-rod/rod/lib/proto"
)

// Ref points to one element of a page ("e12"). It is the same in every read while the element lives.
type Ref string

// node is what a ref stands for: an element of a document of a frame.
type node struct {
	session proto.TargetSessionID
	frame   proto.PageFrameID
	loader  proto.NetworkLoaderID
	backend proto.DOMBackendNodeID
}

// refs gives numbers to nodes, across the tabs of a session, so that one of another tab cannot be taken for this one's.
type refs struct {
	mu     sync.Mutex
	last   int
	byNode map[node]int
	nodes  map[int]node
}

// maxRefs bounds how many refs are remembered. The oldest are forgotten: their elements get new ones.
const maxRefs = 200_000

func newRefs() *refs { return &refs{byNode: map[node]int{}, nodes: map[int]node{}} }

func (r *refs) of(n node) Ref {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ok := r.byNode[n]
	if !ok {
		r.last++
		id = r.last
		r.byNode[n], r.nodes[id] = id, n
		if old := id - maxRefs; old > 0 {
			delete(r.byNode, r.nodes[old])
			delete(r.nodes, old)
		}
	}
	return Ref("e" + strconv.Itoa(id))
}

var refShape = regexp.MustCompile(`^\[?(?:ref=)?e([1-9][0-9]{0,8})\]?$`)

func (r *refs) node(ref Ref) (node, bool) {
	m := refShape.FindStringSubmatch(string(ref))
	if m == nil {
		return node{}, false
	}
	id, _ := strconv.Atoi(m[1]) // the shape says that it is a number
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.nodes[id]
	return n, ok
}

// RefOf gives the ref of an element.
func (f *Frame) RefOf(backend proto.DOMBackendNodeID) Ref {
	return f.page.s.refs.of(node{f.Session, f.ID, f.Loader, backend})
}

// Element is a ref's element as it is now.
type Element struct {
	Object
	Ref     Ref
	Backend proto.DOMBackendNodeID
}

// Resolve finds a ref's element. ErrUnknownRef and ErrStale say why it cannot; it never gives another element.
func (p *Page) Resolve(ctx context.Context, ref Ref) (Element, error) {
	n, ok := p.s.refs.node(ref)
	if !ok {
		return Element{}, fmt.Errorf("%s: %w", clip(string(ref), 20), ErrUnknownRef)
	}
	if tab := p.s.tabOf(n.session); tab != nil && tab != p {
		return Element{}, &OtherTabError{Ref: ref, Tab: tab.ID()}
	}
	frames, err := p.Frames(ctx)
	if err != nil {
		return Element{}, err
	}
	for _, f := range frames {
		if f.ID != n.frame || f.Loader != n.loader || f.Session != n.session {
			continue
		}
		o, err := f.Object(ctx, n.backend)
		if err != nil {
			return Element{}, err
		}
		var alive bool
		if err := o.Call(ctx, nil, "(el) => el.isConnected", nil, &alive); err != nil {
			return Element{}, err
		}
		if !alive {
			return Element{}, fmt.Errorf("%s: %w", ref, ErrStale)
		}
		return Element{Object: o, Ref: ref, Backend: n.backend}, nil
	}
	return Element{}, fmt.Errorf("%s: %w", ref, ErrStale)
}

// Object gets hold of an element of the frame.
func (f *Frame) Object(ctx context.Context, backend proto.DOMBackendNodeID) (Object, error) {
	for try := 0; ; try++ {
		world, err := f.world(ctx)
		if err != nil {
			return Object{}, err
		}
		got, err := proto.DOMResolveNode{BackendNodeID: backend, ExecutionContextID: world, ObjectGroup: objectGroup}.Call(f.Client(ctx))
		e := said(err)
		switch {
		case err == nil && got.Object.ObjectID != "":
			return Object{Frame: f, ID: got.Object.ObjectID}, nil
		case e != nil && try == 0 && neverBegan(e):
			f.forgetWorld()
		case err == nil, e != nil:
			return Object{}, ErrStale
		default:
			return Object{}, err
		}
	}
}

// OtherTabError means that a ref belongs to another tab than the current one.
type OtherTabError struct {
	Ref Ref
	Tab string
}

func (e *OtherTabError) Error() string {
	return fmt.Sprintf("%s belongs to tab %s, which is not the current one", e.Ref, e.Tab)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
