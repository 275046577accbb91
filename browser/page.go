package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"
)

// Page is one tab of a session.
type Page struct {
	s       *Session
	id      string
	target  proto.TargetTargetID
	session proto.TargetSessionID
	opener  *Page // whose script or link opened it; nil when we did
	stop    func()

	life context.Context // ends with the tab; cause ErrTabClosed or the session's end
	end  context.CancelCauseFunc

	mu      sync.Mutex
	subs    map[proto.TargetSessionID]*sub
	worlds  map[worldKey]proto.RuntimeExecutionContextID
	version int      // grows when a frame comes, goes or shows another document
	frames  []*Frame // as of version; nil when not known
	nav     navigation
	changed chan struct{} // closed and replaced when something that waits look at has changed
	dialog  *Dialog
	// dismissing dismisses dialogs as they open; dismissed counts them.
	dismissing bool
	dismissed  int
	crashed    bool
	closed     bool
	url        string // of the main frame, as last committed
	network    network
	console    console
	sent       bool                 // the call that runs has given input
	drag       *proto.InputDragData // what the page wants dragged, while drags are ours
	chooser    *Chooser             // what the page opened to choose files, while choosers are ours

	number int // of subs that came
}

// sub is an out-of-process frame's session.
type sub struct {
	number  int
	session proto.TargetSessionID
	target  proto.TargetTargetID
	parent  proto.PageFrameID
	url     string
	stop    func()
}

// navigation is what is known of the main frame's documents.
type navigation struct {
	frame    proto.PageFrameID
	loader   proto.NetworkLoaderID   // of the document that shows
	started  int                     // navigations that began
	commits  int                     // documents that took their place
	came     []proto.NetworkLoaderID // the newest of them, the newest last
	pending  bool                    // one has begun and neither took its place nor stopped
	read     []proto.NetworkLoaderID // documents that have been read to their end, the newest last
	loaded   []proto.NetworkLoaderID // documents that have loaded with all that is in them
	inPage   int                     // moves within a document
	answered map[proto.NetworkLoaderID]answer
	reloads  []time.Time // when documents of the same address took each other's place
}

// answer is what a server said to a navigation.
type answer struct {
	Status int
	MIME   string
}

// ID names the tab ("t1").
func (p *Page) ID() string { return p.id }

// Session is whose tab it is.
func (p *Page) Session() *Session { return p.s }

// Done is closed when the tab is gone.
func (p *Page) Done() <-chan struct{} { return p.life.Done() }

// Sent notes that the call that runs has given its first input: what cuts it off from now on (a dialog, another
// document, the tab's end) is what came of it, not a failure to do it.
func (p *Page) Sent() {
	p.mu.Lock()
	p.sent = true
	p.mu.Unlock()
}

func (p *Page) hasSent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// Client binds calls of the page's own session to a context and to the tab's life. Input goes through it, in coordinates
// of the viewport, for frames of other processes too.
func (p *Page) Client(ctx context.Context) proto.Client { return p.client(ctx, p.session) }

func (p *Page) client(ctx context.Context, session proto.TargetSessionID) proto.Client {
	return pageCaller{p: p, ctx: ctx, session: session}
}

// pageCaller is a session of a page bound to one call's context.
type pageCaller struct {
	p       *Page
	ctx     context.Context
	session proto.TargetSessionID
}

func (c pageCaller) GetSessionID() proto.TargetSessionID { return c.session }
func (c pageCaller) GetContext() context.Context         { return c.ctx }

// errNoSession means that the browser knows no such session any more.
var errNoSession = errors.New("the frame's session has ended")

// callLimit bounds a call whose context has no deadline.
const callLimit = 30 * time.Second

func (c pageCaller) Call(ctx context.Context, session, method string, params any) ([]byte, error) {
	if c.p.life.Err() != nil {
		return nil, context.Cause(c.p.life)
	}
	if _, ok := ctx.Deadline(); !ok {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, callLimit)
		defer done()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.p.life, func() { cancel(context.Cause(c.p.life)) })()
	raw, err := c.p.s.browser.Call(ctx, session, method, params)
	if e := said(err); e != nil && e.Code == -32001 {
		return nil, fmt.Errorf("%s: %w", method, errNoSession)
	}
	return raw, err
}

// Post gives input to the page's session and does not wait for its answer, which is lost: for rows of input. What is asked
// of the page afterwards is answered after it.
func (p *Page) Post(r proto.Request) { p.post(p.session, r) }

// InterceptDrags makes drags that the page begins ours: the browser hands over what would be dragged instead of dragging.
func (p *Page) InterceptDrags(ctx context.Context, on bool) error {
	p.mu.Lock()
	p.drag = nil
	p.mu.Unlock()
	return proto.InputSetInterceptDrags{Enabled: on}.Call(p.Client(ctx))
}

// Dragged waits for what the page wants dragged; nil when the context ends before.
func (p *Page) Dragged(ctx context.Context) *proto.InputDragData {
	var drag *proto.InputDragData
	_ = p.wait(ctx, func() bool { drag = p.drag; return drag != nil }) // none is an answer
	return drag
}

// post sends a request and does not wait.
func (p *Page) post(session proto.TargetSessionID, r proto.Request) {
	_ = p.s.browser.Post(session, r) // it fails with the browser, whose end is seen elsewhere
}

// setup switches on what we hear of a session and puts the kit into every document to come. It is posted in a row, while
// the new target waits for us, so that no document is without the kit.
func (p *Page) setup(session proto.TargetSessionID, own bool) {
	zero := 0
	p.post(session, proto.PageEnable{})
	p.post(session, proto.PageSetLifecycleEventsEnabled{Enabled: true})
	p.post(session, proto.TargetSetAutoAttach{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: true,
		Filter: proto.TargetTargetFilter{{Type: "iframe"}, {Exclude: true}}})
	p.post(session, proto.PageAddScriptToEvaluateOnNewDocument{Source: "(" + kitJS + ")(" + quote(p.s.marker) + ")", WorldName: worldName, RunImmediately: true})
	if p.s.engine.Quiet {
		p.post(session, proto.LogEnable{})
	} else {
		p.post(session, proto.RuntimeEnable{})
	}
	p.post(session, proto.NetworkEnable{MaxTotalBufferSize: &zero, MaxResourceBufferSize: &zero, MaxPostDataSize: &zero})
	if own {
		p.post(session, proto.InspectorEnable{})
		p.post(session, proto.EmulationSetFocusEmulationEnabled{Enabled: true})
	}
	p.post(session, proto.RuntimeRunIfWaitingForDebugger{})
}

// handle takes the events of the page's session and its frames', in order, on the goroutine that reads from the browser.
func (p *Page) handle(session proto.TargetSessionID, e *cdp.Event) {
	switch e.Method {
	case "Target.attachedToTarget":
		var a attachedFrame
		if p.read(e, &a) {
			p.frameAttached(session, &a)
		}
	case "Target.detachedFromTarget":
		var d proto.TargetDetachedFromTarget
		if p.read(e, &d) {
			p.frameDetached(d.SessionID)
		}
	case "Page.frameAttached", "Page.frameDetached":
		p.update(func() { p.framesChanged() })
	case "Page.frameNavigated":
		var n proto.PageFrameNavigated
		if p.read(e, &n) {
			p.committed(session, n.Frame)
		}
	case "Page.navigatedWithinDocument":
		var n proto.PageNavigatedWithinDocument
		if p.read(e, &n) {
			p.update(func() {
				if n.FrameID == p.nav.frame {
					p.url = n.URL
					p.nav.inPage++
				}
			})
		}
	case "Page.frameStartedNavigating", "Page.frameRequestedNavigation":
		var n struct {
			FrameID        proto.PageFrameID `json:"frameId"`
			NavigationType string            `json:"navigationType"`
		}
		if p.read(e, &n) && session == p.session && !strings.Contains(n.NavigationType, "ameDocument") {
			p.update(func() {
				if n.FrameID == p.nav.frame {
					p.nav.started++
					p.nav.pending = true
				}
			})
		}
	case "Page.frameStoppedLoading", "Page.frameClearedScheduledNavigation":
		var n struct {
			FrameID proto.PageFrameID `json:"frameId"`
		}
		if p.read(e, &n) {
			p.update(func() {
				if n.FrameID == p.nav.frame && e.Method == "Page.frameStoppedLoading" {
					p.nav.pending = false
				}
			})
		}
	case "Page.lifecycleEvent":
		var l struct {
			FrameID  proto.PageFrameID     `json:"frameId"`
			LoaderID proto.NetworkLoaderID `json:"loaderId"`
			Name     string                `json:"name"`
		}
		if p.read(e, &l) && (l.Name == "DOMContentLoaded" || l.Name == "load") {
			p.update(func() {
				if l.FrameID != p.nav.frame {
					return
				}
				if l.Name == "load" {
					p.nav.loaded = appendLast(p.nav.loaded, l.LoaderID)
				} else {
					p.nav.read = appendLast(p.nav.read, l.LoaderID)
				}
			})
		}
	case "Page.javascriptDialogOpening":
		var d proto.PageJavascriptDialogOpening
		if p.read(e, &d) {
			p.dialogOpened(&Dialog{Kind: string(d.Type), Message: clip(d.Message, 2000), Default: clip(d.DefaultPrompt, 500), Tab: p.id})
		}
	case "Page.javascriptDialogClosed":
		p.dialogClosed()
	case "Input.dragIntercepted":
		var d proto.InputDragIntercepted
		if p.read(e, &d) {
			p.update(func() { p.drag = d.Data })
		}
	case "Page.fileChooserOpened":
		var c proto.PageFileChooserOpened
		if p.read(e, &c) {
			p.chooserOpened(session, &c)
		}
	case "Inspector.targetCrashed":
		if session == p.session {
			p.crash()
		}
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		p.hear(e)
	case "Network.requestWillBeSent", "Network.responseReceived", "Network.loadingFinished", "Network.loadingFailed", "Network.requestServedFromCache":
		p.traffic(session, e)
	}
}

func appendLast(list []proto.NetworkLoaderID, id proto.NetworkLoaderID) []proto.NetworkLoaderID {
	if len(list) >= 8 {
		list = list[1:]
	}
	return append(list, id)
}

func (p *Page) read(e *cdp.Event, into any) bool {
	if err := decode(e.Params, into); err != nil {
		p.s.log.Warn("unreadable browser event", "method", e.Method)
		return false
	}
	return true
}

// update changes what is known and tells who waits.
func (p *Page) update(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait waits until ready says yes; it is asked under the lock, again after each change.
func (p *Page) wait(ctx context.Context, ready func() bool) error {
	for {
		p.mu.Lock()
		ok, changed := ready(), p.changed
		p.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.life.Done():
			return context.Cause(p.life)
		}
	}
}

// framesChanged makes the next Frames look anew. The caller holds the lock.
func (p *Page) framesChanged() {
	p.version++
	p.frames = nil
}

// maxFrames bounds the out-of-process frames that are listened to. Those beyond run, and are told as unread.
const maxFrames = 200

// attachedFrame is an event of a new frame's session, with the member that the protocol package does not know.
type attachedFrame struct {
	SessionID  proto.TargetSessionID `json:"sessionId"`
	TargetInfo struct {
		TargetID      proto.TargetTargetID `json:"targetId"`
		URL           string               `json:"url"`
		ParentFrameID proto.PageFrameID    `json:"parentFrameId"`
	} `json:"targetInfo"`
}

func (p *Page) frameAttached(from proto.TargetSessionID, a *attachedFrame) {
	session := a.SessionID
	p.mu.Lock()
	if len(p.subs) >= maxFrames || p.closed {
		p.mu.Unlock()
		p.post(session, proto.RuntimeRunIfWaitingForDebugger{})
		_ = p.s.browser.Post(from, proto.TargetDetachFromTarget{SessionID: session})
		return
	}
	p.number++
	s := &sub{number: p.number, session: session, target: a.TargetInfo.TargetID, parent: a.TargetInfo.ParentFrameID, url: a.TargetInfo.URL}
	p.subs[session] = s
	p.framesChanged()
	p.mu.Unlock()
	s.stop = p.s.browser.Listen(session, func(e *cdp.Event) { p.handle(session, e) })
	p.setup(session, false)
}

func (p *Page) frameDetached(session proto.TargetSessionID) {
	p.mu.Lock()
	s := p.subs[session]
	delete(p.subs, session)
	p.framesChanged()
	p.mu.Unlock()
	if s != nil && s.stop != nil {
		s.stop()
	}
}

// committed notes that a frame shows another document.
func (p *Page) committed(session proto.TargetSessionID, f *proto.PageFrame) {
	p.update(func() {
		p.framesChanged()
		if session != p.session || f.ParentID != "" {
			return
		}
		again := p.url == f.URL
		p.nav.frame, p.nav.loader = f.ID, f.LoaderID
		p.nav.commits++
		p.nav.came = appendLast(p.nav.came, f.LoaderID)
		p.nav.pending = false
		p.url = f.URL
		p.crashed = false
		if !again {
			p.nav.reloads = p.nav.reloads[:0]
		}
		p.nav.reloads = append(p.nav.reloads, time.Now())
		if len(p.nav.reloads) > 20 {
			p.nav.reloads = p.nav.reloads[1:]
		}
	})
	if session == p.session && f.ParentID == "" {
		p.s.notify()
	}
}

func (p *Page) crash() {
	p.update(func() {
		p.crashed = true
		p.dialog = nil
		p.worlds = map[worldKey]proto.RuntimeExecutionContextID{}
		p.framesChanged()
	})
	p.s.note(p, noteCrashed)
	p.s.notify()
}

// vanish ends what waits on the tab when it is gone.
func (p *Page) vanish(cause error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	p.dialog = nil
	subs := p.subs
	p.subs = map[proto.TargetSessionID]*sub{}
	p.mu.Unlock()
	p.end(cause)
	if p.stop != nil {
		p.stop()
	}
	for _, s := range subs {
		if s.stop != nil {
			s.stop()
		}
	}
}

// URL is the address that shows, as last committed. It asks nobody.
func (p *Page) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.url
}

// info asks the browser, not the page, so that a page that hangs does not matter.
func (p *Page) info(ctx context.Context) (address, title string, err error) {
	got, err := proto.TargetGetTargetInfo{TargetID: p.target}.Call(p.s.browser.Bind(ctx, ""))
	if err != nil {
		return "", "", err
	}
	return got.TargetInfo.URL, got.TargetInfo.Title, nil
}

func (p *Page) isRead(loader proto.NetworkLoaderID) bool { return slices.Contains(p.nav.read, loader) }
