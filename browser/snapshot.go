package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/proto"
)

//go:embed outline.js
var outlineJS string

// outlineKit writes documents as text and keeps the numbers of their elements.
var outlineKit = &Kit{Name: "outline", Source: outlineJS}

// Snapshot is a page as text, at one moment. What it says is the page's, not ours.
type Snapshot struct {
	Tab   string
	URL   string
	Title string
	// Lines are what the page shows, in page order, indented by what they stand in, with refs to what can be worked.
	Lines []string
	// Matches counts the lines that say what was looked for; -1 when nothing was.
	Matches int
	// Notes are our own words: what could not be read, and why; where only a part is there.
	Notes []string
}

// ReadOptions say what of a page to read. The zero value is all of it.
type ReadOptions struct {
	// From reads only what is in an element.
	From *Object
	// Find gives only lines that say a text (whatever its case), below those that they stand in.
	Find string
	// Depth ends the nesting of lists, tables, dialogs and landmarks there; zero: never.
	Depth int
	// Links shows where links lead.
	Links bool
}

// outlined is what outline.js gives.
type outlined struct {
	Text     string `json:"text"`
	Title    string `json:"title"`
	First    int    `json:"first"`
	Next     int    `json:"next"`
	Nodes    int    `json:"nodes"`
	Cut      string `json:"cut"`
	Deep     bool   `json:"deep"`
	Long     int    `json:"long"`
	Canvases int    `json:"canvases"`
	Matches  int    `json:"matches"`
	PDF      bool   `json:"pdf"`
	Virtual  []struct {
		Ref   string `json:"ref"`
		Shown int    `json:"shown"`
		Of    int    `json:"of"`
	} `json:"virtual"`
}

// remoteLimit is how long a frame of another process may take, while the rest of the page is there.
const remoteLimit = 3 * time.Second

// Snapshot reads the page with all its frames.
func (p *Page) Snapshot(ctx context.Context, o ReadOptions) (*Snapshot, error) {
	for try := 0; ; try++ {
		s, err := p.snapshot(ctx, o)
		// A page that moves on while it is read is read again, as it is then.
		if try < 3 && o.From == nil && (errors.Is(err, ErrNavigated) || errors.Is(err, ErrFrameGone)) {
			continue
		}
		return s, err
	}
}

func (p *Page) snapshot(ctx context.Context, o ReadOptions) (*Snapshot, error) {
	w := &writer{p: p, o: o, s: &Snapshot{Tab: p.id, URL: p.URL(), Matches: -1}, placed: map[*Frame]bool{}}
	if o.Find != "" {
		w.s.Matches = 0
	}
	frames, err := p.Frames(ctx)
	if err != nil {
		return nil, err
	}
	top := frames[0]
	if o.From != nil {
		top = o.From.Frame
		if current := sameFrame(frames, top); current != nil {
			top = current
		}
	}
	got, err := w.read(ctx, top, o.From)
	if err != nil {
		return nil, err
	}
	w.s.Title = got.Title
	w.write(ctx, top, got, 0)
	if o.From == nil {
		w.unplaced(ctx, frames)
	}
	w.conclude()
	return w.s, nil
}

func sameFrame(frames []*Frame, f *Frame) *Frame {
	for _, x := range frames {
		if x.document() == f.document() {
			return x
		}
	}
	return nil
}

// writer puts the outlines of frames together.
type writer struct {
	p      *Page
	o      ReadOptions
	s      *Snapshot
	placed map[*Frame]bool
	size   int

	canvases, long int
	hidden         int
}

// maxFramesRead and maxSize bound one snapshot.
const (
	maxFramesRead = 100
	maxSize       = 6 << 20
)

// read gets a frame's outline.
func (w *writer) read(ctx context.Context, f *Frame, from *Object) (*outlined, error) {
	w.placed[f] = true
	if f.Err != nil {
		return nil, f.Err
	}
	if f.Parent != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, remoteLimit)
		defer cancel()
	}
	if err := f.openClosed(ctx); err != nil {
		return nil, err
	}
	f.nameFrames(ctx)
	r := w.p.s.refs
	first := r.free()
	arg := map[string]any{"from": first, "depth": w.o.Depth, "links": w.o.Links, "find": w.o.Find}
	var got outlined
	var err error
	if from != nil {
		err = from.Call(ctx, outlineKit, "(el, arg, kit) => kit.outline({ ...arg, start: el })", arg, &got)
	} else {
		err = f.Run(ctx, outlineKit, "(arg, kit) => kit.outline(arg)", arg, &got)
	}
	if err != nil {
		r.lost(f.document(), first)
		return nil, err
	}
	r.gave(f.document(), got.First, got.Next)
	return &got, nil
}

// nameFrames tells the document which of its elements holds which frame.
func (f *Frame) nameFrames(ctx context.Context) {
	f.page.mu.Lock()
	named := f.named
	f.page.mu.Unlock()
	if named {
		return
	}
	whole := true
	for _, c := range f.children {
		if c.owner == 0 {
			continue
		}
		o, err := f.Object(ctx, c.owner)
		if err == nil {
			err = o.Call(ctx, outlineKit, "(el, id, kit) => kit.frame(el, id)", string(c.ID), nil)
		}
		whole = whole && err == nil
	}
	f.page.mu.Lock()
	f.named = whole
	f.page.mu.Unlock()
}

// write puts down a frame's outline, with its frames in their places.
func (w *writer) write(ctx context.Context, f *Frame, got *outlined, level int) {
	w.canvases += got.Canvases
	w.long += got.Long
	if w.s.Matches >= 0 {
		w.s.Matches += got.Matches
	}
	for _, v := range got.Virtual {
		w.s.Notes = append(w.s.Notes, fmt.Sprintf("%s shows %d of about %d rows: it makes rows only while they are in view; scroll it for others", v.Ref, v.Shown, v.Of))
	}
	switch got.Cut {
	case "time":
		w.s.Notes = append(w.s.Notes, "the document is so large that reading it was ended after 3 s: read parts of it by ref or selector, or search with find")
	case "nodes", "text":
		w.s.Notes = append(w.s.Notes, "the document is too large to be read as a whole, so that its end is missing: read parts of it by ref or selector, or search with find")
	}
	if got.PDF {
		w.s.Notes = append(w.s.Notes, "this is a PDF in the browser's own viewer, which cannot be read as text: screenshot shows what is in view")
	}
	if got.Deep {
		w.s.Notes = append(w.s.Notes, "what is nested more than 400 deep is left out")
	}
	if got.Text == "" {
		return
	}
	for l := range strings.SplitSeq(got.Text, "\n") {
		at := strings.IndexByte(l, 1)
		if at < 0 {
			w.line(level, l)
			continue
		}
		inner := level + at // the mark stands where the line's indentation ends
		id, head, _ := strings.Cut(l[at+1:], "\x01")
		w.frame(ctx, f, proto.PageFrameID(id), head, inner)
	}
}

// frame puts down a frame at its place in its parent's outline.
func (w *writer) frame(ctx context.Context, parent *Frame, id proto.PageFrameID, head string, level int) {
	var f *Frame
	for _, c := range parent.children {
		if c.ID == id {
			f = c
		}
	}
	searching := w.s.Matches >= 0
	if f == nil {
		if !searching {
			w.line(level, head+" (not loaded)")
		}
		return
	}
	if address := bareURL(f.URL); address != "" && address != "about:blank" && !strings.HasPrefix(address, "about:") {
		head += " " + address
	}
	if len(w.placed) >= maxFramesRead {
		w.placed[f] = true
		w.line(level, head+" (not read: the page has too many frames)")
		return
	}
	got, err := w.read(ctx, f, nil)
	if err != nil {
		w.line(level, head+" (could not be read: "+whyNot(err)+")")
		return
	}
	if searching {
		if got.Matches > 0 {
			w.line(level, head)
		}
	} else {
		w.line(level, head)
	}
	w.write(ctx, f, got, level+1)
}

// whyNot says in a few words why a frame could not be read.
func whyNot(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "it does not answer"
	case errors.Is(err, ErrNavigated), errors.Is(err, ErrFrameGone), errors.Is(err, errNoSession):
		return "it is loading another page: read again"
	}
	return "it cannot be looked into"
}

// unplaced puts down frames whose element was not come by: hidden ones are only counted.
func (w *writer) unplaced(ctx context.Context, frames []*Frame) {
	for _, f := range frames[1:] {
		if w.placed[f] || !w.placed[f.Parent] {
			continue
		}
		if f.owner != 0 {
			w.hidden++
			continue
		}
		if w.s.Matches < 0 {
			w.line(0, "iframe "+bareURL(f.URL)+" (its place in the page is not known)")
		}
		if got, err := w.read(ctx, f, nil); err == nil {
			w.write(ctx, f, got, 1)
		} else if w.s.Matches < 0 {
			w.line(1, "(could not be read: "+whyNot(err)+")")
		}
	}
}

func (w *writer) line(level int, text string) {
	if w.size > maxSize {
		return
	}
	if level > 0 {
		text = strings.Repeat(" ", min(level, 60)) + text
	}
	w.s.Lines = append(w.s.Lines, text)
	w.size += len(text) + 1
}

// conclude says what is not in the lines.
func (w *writer) conclude() {
	if w.hidden > 0 {
		w.s.Notes = append(w.s.Notes, fmt.Sprintf("%d hidden frames are left out", w.hidden))
	}
	if w.canvases > 0 {
		w.s.Notes = append(w.s.Notes, fmt.Sprintf("%d canvases draw what cannot be read as text: take a screenshot of them by ref", w.canvases))
	}
	if w.long > 0 {
		w.s.Notes = append(w.s.Notes, fmt.Sprintf("long texts were shortened by %d characters: search them with find", w.long))
	}
	if len(w.s.Lines) == 0 && w.s.Matches < 0 && w.o.From == nil && w.p.URL() != "about:blank" {
		w.s.Notes = append(w.s.Notes, "the page shows no text: it may be empty, still loading, or draw everything as a picture (screenshot)")
	}
	if w.size > maxSize {
		w.s.Notes = append(w.s.Notes, "the page is too large to be read as a whole, so that its end is missing")
	}
}

// Window is a part of a snapshot that fits a budget.
type Window struct {
	Text string
	// From is the number of its first line, Next that of the first line that does not fit; Next is 0 when nothing follows.
	From, Next, Total int
}

// Window cuts out the lines from the one of number offset on that fit into max characters; at least one.
func (s *Snapshot) Window(offset, max int) Window {
	w := Window{From: min(offset, len(s.Lines)), Total: len(s.Lines)}
	var b strings.Builder
	at := w.From
	for ; at < len(s.Lines); at++ {
		l := s.Lines[at]
		if b.Len() > 0 && b.Len()+len(l)+1 > max {
			break
		}
		if len(l) > max { // one line that is too long by itself
			l = clipBytes(l, max)
		}
		b.WriteString(l)
		b.WriteByte('\n')
	}
	if at < len(s.Lines) {
		w.Next = at
	}
	w.Text = strings.TrimSuffix(b.String(), "\n")
	return w
}
