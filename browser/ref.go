package browser

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/go-rod/rod/lib/proto"
)

// Ref points to one element of a page ("e12"). It is the same in every read while the element lives.
//
// The document itself keeps the numbers of its elements, in our world; we know which document gave out which numbers.
// Numbers are a session's, so that a ref of another tab or frame cannot be taken for one of this.
type Ref string

// document names one document of a frame.
type document struct {
	session proto.TargetSessionID
	frame   proto.PageFrameID
	loader  proto.NetworkLoaderID
}

func (f *Frame) document() document { return document{f.Session, f.ID, f.Loader} }

// span are numbers that a document gave out: from and following, before to.
type span struct {
	from, to int
	of       document
}

// refs knows whose the numbers are.
type refs struct {
	mu    sync.Mutex
	last  int // the next number is free
	spans []span
}

// maxSpans bounds how many are remembered. The oldest are forgotten: reads give their elements new refs.
const maxSpans = 10_000

func newRefs() *refs { return &refs{last: 1} }

// free is the first number that nobody has.
func (r *refs) free() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// gave notes that a document gave out numbers.
func (r *refs) gave(d document, from, to int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to <= from {
		return
	}
	r.last = max(r.last, to)
	if n := len(r.spans); n > 0 && r.spans[n-1].of == d && r.spans[n-1].to == from {
		r.spans[n-1].to = to
		return
	}
	r.spans = append(r.spans, span{from, to, d})
	if len(r.spans) > maxSpans {
		r.spans = slices.Delete(r.spans, 0, maxSpans/10)
	}
}

// lost notes that a document may have given out numbers that it could not tell.
func (r *refs) lost(d document, from int) { r.gave(d, from, from+20_000) }

var refShape = regexp.MustCompile(`^\[?(?:ref=)?e([1-9][0-9]{0,8})\]?$`)

// of tells whose a ref is, and its number.
func (r *refs) of(ref Ref) (document, int, bool) {
	m := refShape.FindStringSubmatch(string(ref))
	if m == nil {
		return document{}, 0, false
	}
	n, _ := strconv.Atoi(m[1]) // the shape says that it is a number
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range slices.Backward(r.spans) {
		if s.from <= n && n < s.to {
			return s.of, n, true
		}
	}
	return document{}, 0, false
}

// Ref gives the element's ref.
func (o Object) Ref(ctx context.Context) (Ref, error) {
	r := o.Frame.page.s.refs
	from := r.free()
	var got struct {
		First int    `json:"first"`
		Ref   string `json:"ref"`
		Next  int    `json:"next"`
	}
	if err := o.Call(ctx, outlineKit, "(el, from, kit) => kit.ref(el, from)", from, &got); err != nil {
		r.lost(o.Frame.document(), from)
		return "", err
	}
	r.gave(o.Frame.document(), got.First, got.Next)
	return Ref(got.Ref), nil
}

// Element is a ref's element as it is now.
type Element struct {
	Object
	Ref Ref
}

// Resolve finds a ref's element. ErrUnknownRef and ErrStale say why it cannot; it never gives another element.
func (p *Page) Resolve(ctx context.Context, ref Ref) (Element, error) {
	d, n, ok := p.s.refs.of(ref)
	if !ok {
		return Element{}, fmt.Errorf("%s: %w", clip(string(ref), 20), ErrUnknownRef)
	}
	if tab := p.s.tabOf(d.session); tab != nil && tab != p {
		return Element{}, &OtherTabError{Ref: ref, Tab: tab.ID()}
	}
	frames, err := p.Frames(ctx)
	if err != nil {
		return Element{}, err
	}
	for _, f := range frames {
		if f.document() != d {
			continue
		}
		found, err := f.Objects(ctx, outlineKit, "(n, kit) => { const el = kit.byRef(n); return el && el.isConnected ? [el] : []; }", n)
		if err != nil {
			return Element{}, err
		}
		if len(found) == 1 {
			return Element{Object: found[0], Ref: ref}, nil
		}
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
	if len(s) <= n { // no rune is shorter than a byte
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
