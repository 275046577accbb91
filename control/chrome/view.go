package chrome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
	"parley/browser/chromium"
	"parley/control/page"
	"parley/control/tabs"
	"parley/control/vault"
)

// view is the endpoint's own look at one session's browser: CDP sessions beside those the session works its calls with.
//
// A tab is let alone until the endpoint works it. From then on each of its requests passes here before it goes on; in a
// browser where a grant once worked a tab, service and shared workers, whose requests belong to no tab, never run again,
// and dedicated workers run only in tabs that no grant is bound to. Each page that a page opens is held until its rules are
// in place.
type view struct {
	s    *browser.Session
	b    *chromium.Browser
	root proto.TargetSessionID // sees the browser's targets, beside the session's own
	stop func()
	o    Options

	mu        sync.Mutex
	tabs      []*tab
	frames    map[proto.TargetSessionID]*tab // sessions of pages and of their out-of-process frames
	loose     []proto.TargetTargetID         // service and shared workers
	contained bool                           // those are ended
	changed   chan struct{}                  // closed and made anew at every change
	refused   int
}

type tab struct {
	tabs.Tab
	target  proto.TargetTargetID
	session proto.TargetSessionID
	stops   []func()
	workers []proto.TargetSessionID
	world   map[string]proto.RuntimeExecutionContextID // by document
	limit   *tabs.Restriction
	judge   tabs.Judge
	pending string                         // the document that is being loaded
	status  map[proto.NetworkRequestID]int // of answers that redirect
	going   map[proto.FetchRequestID]bool  // requests the judge let go
	ready   chan struct{}                  // closed when its rules are in place: nothing is asked of it before
	held    bool                           // its requests pass here
	free    context.Context                // ends with cause tabs.ErrCovered while a dialog stands open
	cover   context.CancelCauseFunc
}

func (t *tab) uncover() { t.free, t.cover = context.WithCancelCause(context.Background()) }

// look attaches to a session's browser.
func look(ctx context.Context, s *browser.Session, o Options) (_ *view, err error) {
	b := s.Chromium()
	at, err := proto.TargetAttachToBrowserTarget{}.Call(b.With(ctx))
	if err != nil {
		return nil, fmt.Errorf("look at a session's browser: %w", err)
	}
	x := &view{s: s, b: b, root: at.SessionID, o: o, frames: map[proto.TargetSessionID]*tab{}, changed: make(chan struct{})}
	x.stop = b.Listen(x.root, x.handle)
	defer func() {
		if err != nil {
			x.leave()
		}
	}()
	all := proto.TargetTargetFilter{{Type: "page"}, {Type: "service_worker"}, {Type: "shared_worker"}, {Exclude: true}}
	if err := (proto.TargetSetDiscoverTargets{Discover: true, Filter: proto.TargetTargetFilter{{Type: "page"}, {Exclude: true}}}).Call(b.Bind(ctx, x.root)); err != nil {
		return nil, fmt.Errorf("look at a session's tabs: %w", err)
	}
	if err := (proto.TargetSetAutoAttach{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: true, Filter: all}).Call(b.Bind(ctx, x.root)); err != nil {
		return nil, fmt.Errorf("hold a session's new tabs: %w", err)
	}
	now, err := proto.TargetGetTargets{Filter: proto.TargetTargetFilter{{Type: "page"}, {Exclude: true}}}.Call(b.Bind(ctx, x.root))
	if err != nil {
		return nil, fmt.Errorf("list a session's tabs: %w", err)
	}
	for _, i := range now.TargetInfos {
		if _, err := x.take(ctx, i.TargetID); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// take waits until a tab is attached and its rules are in place.
func (x *view) take(ctx context.Context, target proto.TargetTargetID) (*tab, error) {
	for {
		x.mu.Lock()
		t, changed := x.byTarget(target), x.changed
		x.mu.Unlock()
		wait := changed
		if t != nil {
			wait = t.ready
		}
		select {
		case <-wait:
			if t != nil {
				return t, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-x.s.Done():
			return nil, tabs.ErrNoTab
		}
	}
}

// leave lets the session's browser go, with everything that was added to its tabs.
func (x *view) leave() {
	x.stop()
	x.mu.Lock()
	var stops []func()
	for _, t := range x.tabs {
		stops = append(stops, t.stops...)
	}
	x.tabs, x.frames = nil, map[proto.TargetSessionID]*tab{}
	x.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	x.post("", proto.TargetDetachFromTarget{SessionID: x.root})
}

func (x *view) post(s proto.TargetSessionID, r proto.Request) {
	_ = x.b.Post(s, r) // it fails with the browser, and then every call does
}

func (x *view) change() {
	close(x.changed)
	x.changed = make(chan struct{})
}

func read[T any](e *cdp.Event) *T {
	v := new(T)
	if json.Unmarshal(e.Params, v) != nil {
		return nil
	}
	return v
}

// handle takes the browser's own events. It must not wait.
func (x *view) handle(e *cdp.Event) {
	switch e.Method {
	case "Target.attachedToTarget":
		if a := read[proto.TargetAttachedToTarget](e); a != nil {
			x.attached(a)
		}
	case "Target.targetInfoChanged":
		if i := read[proto.TargetTargetInfoChanged](e); i != nil {
			x.mu.Lock()
			if t := x.byTarget(i.TargetInfo.TargetID); t != nil {
				t.Title, t.URL = i.TargetInfo.Title, i.TargetInfo.URL
				x.change()
			}
			x.mu.Unlock()
		}
	case "Target.targetDestroyed":
		if d := read[proto.TargetTargetDestroyed](e); d != nil {
			x.ended(d.TargetID)
		}
	}
}

func (x *view) byTarget(id proto.TargetTargetID) *tab {
	for _, t := range x.tabs {
		if t.target == id {
			return t
		}
	}
	return nil
}

func (x *view) byID(id string) *tab {
	for _, t := range x.tabs {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// attached takes a page in, or a worker that is nobody's.
func (x *view) attached(a *proto.TargetAttachedToTarget) {
	i := a.TargetInfo
	if i.Type != "page" {
		x.worker(a)
		return
	}
	x.mu.Lock()
	t := &tab{target: i.TargetID, session: a.SessionID, world: map[string]proto.RuntimeExecutionContextID{}, status: map[proto.NetworkRequestID]int{}, going: map[proto.FetchRequestID]bool{}, ready: make(chan struct{})}
	t.uncover()
	t.ID, t.URL, t.Title, t.Document = vault.UUID(), i.URL, i.Title, "start-"+string(i.TargetID)
	if opener := x.byTarget(i.OpenerID); opener != nil { // what a page opens is held to what the page is
		t.limit, t.Restricted, t.Group, t.held = opener.limit, opener.Restricted, opener.Group, opener.held
	}
	t.held = t.held || x.o.Answer != nil
	x.tabs = append(x.tabs, t)
	x.frames[t.session] = t
	held, bound := t.held, t.limit != nil
	t.stops = append(t.stops, x.b.Listen(t.session, func(e *cdp.Event) { x.page(t, t.session, e) })) // it takes no lock of ours
	x.change()
	x.mu.Unlock()
	x.setup(t.session, held, bound)
	close(t.ready)
}

// worker lets a service or shared worker run as long as no grant has worked this browser.
func (x *view) worker(a *proto.TargetAttachedToTarget) {
	x.mu.Lock()
	contained := x.contained
	if contained {
		x.refused++
	} else {
		x.loose = append(x.loose, a.TargetInfo.TargetID)
	}
	x.mu.Unlock()
	if contained {
		x.post(x.root, proto.TargetCloseTarget{TargetID: a.TargetInfo.TargetID})
		return
	}
	x.post(a.SessionID, proto.RuntimeRunIfWaitingForDebugger{})
}

// contain ends the workers whose requests belong to no tab, for good. The lock is held.
func (x *view) contain() {
	x.contained = true
	for _, id := range x.loose {
		x.post(x.root, proto.TargetCloseTarget{TargetID: id})
	}
	x.loose = nil
}

// setup puts the rules of a page or frame in place, in a row, while it waits.
func (x *view) setup(s proto.TargetSessionID, held, bound bool) {
	x.post(s, proto.PageEnable{})
	if held {
		x.gate(s, bound)
	}
	x.post(s, proto.TargetSetAutoAttach{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: true,
		Filter: proto.TargetTargetFilter{{Type: "iframe"}, {Type: "worker"}, {Exclude: true}}})
	x.post(s, proto.RuntimeRunIfWaitingForDebugger{})
}

// gate makes the requests of a page or frame pass here from now on.
func (x *view) gate(s proto.TargetSessionID, bound bool) {
	zero := 0
	x.post(s, proto.FetchEnable{Patterns: []*proto.FetchRequestPattern{{URLPattern: "*"}}})
	x.post(s, proto.NetworkEnable{MaxTotalBufferSize: &zero, MaxResourceBufferSize: &zero})
	x.sockets(s, bound)
	x.post(s, proto.NetworkSetBypassServiceWorker{Bypass: true})
}

// hold makes the requests of a tab pass here. The lock is held.
func (x *view) hold(t *tab) {
	if t.held {
		return
	}
	t.held = true
	for s, o := range x.frames {
		if o == t {
			x.gate(s, t.limit != nil || t.judge != nil)
		}
	}
}

// sockets closes what does not pass the inspection of requests, in tabs that are bound. The browser's list of blocked
// addresses (Network.setBlockedURLs) is asked about no WebSocket; the network's conditions are.
func (x *view) sockets(s proto.TargetSessionID, bound bool) {
	c := conditions{Rules: []condition{}}
	if bound {
		c.Rules = []condition{
			{Pattern: "ws://*:*/*", Download: -1, Upload: -1, Offline: true}, {Pattern: "wss://*:*/*", Download: -1, Upload: -1, Offline: true},
		}
	}
	x.post(s, c)
}

// conditions is Network.emulateNetworkConditionsByRule, which the protocol's package does not know yet.
type conditions struct {
	Rules []condition `json:"matchedNetworkConditions"`
}

type condition struct {
	Pattern  string  `json:"urlPattern"`
	Latency  float64 `json:"latency"`
	Download float64 `json:"downloadThroughput"` // -1 is unbounded
	Upload   float64 `json:"uploadThroughput"`
	Offline  bool    `json:"offline,omitempty"`
}

// ProtoReq names the method.
func (conditions) ProtoReq() string { return "Network.emulateNetworkConditionsByRule" }

func (x *view) ended(id proto.TargetTargetID) {
	x.mu.Lock()
	t := x.byTarget(id)
	if t == nil {
		x.mu.Unlock()
		return
	}
	x.tabs = slices.DeleteFunc(x.tabs, func(o *tab) bool { return o == t })
	for s, o := range x.frames {
		if o == t {
			delete(x.frames, s)
		}
	}
	stops := t.stops
	x.change()
	x.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// page takes the events of a page and of its out-of-process frames. It must not wait.
func (x *view) page(t *tab, s proto.TargetSessionID, e *cdp.Event) {
	own := s == t.session
	switch e.Method {
	case "Fetch.requestPaused":
		if p := read[proto.FetchRequestPaused](e); p != nil {
			x.paused(t, s, p)
		}
	case "Target.attachedToTarget":
		if a := read[proto.TargetAttachedToTarget](e); a != nil {
			x.inside(t, a)
		}
	case "Page.frameStartedNavigating":
		// The browser's own process says this one. The page's renderer, which says frameNavigated, sometimes does not.
		n := read[struct {
			FrameID  string `json:"frameId"`
			LoaderID string `json:"loaderId"`
			Type     string `json:"navigationType"`
		}](e)
		if own && n != nil && n.FrameID == string(t.target) && !strings.Contains(strings.ToLower(n.Type), "samedocument") {
			x.mu.Lock()
			t.pending, t.Loading = n.LoaderID, true // nothing is begun on a tab that loads
			x.change()
			x.mu.Unlock()
		}
	case "Page.frameNavigated":
		if n := read[proto.PageFrameNavigated](e); own && n != nil && n.Frame.ParentID == "" {
			x.mu.Lock()
			t.URL = n.Frame.URL + n.Frame.URLFragment
			x.shows(t, string(n.Frame.LoaderID))
			x.change()
			x.mu.Unlock()
		}
	case "Page.navigatedWithinDocument":
		if n := read[proto.PageNavigatedWithinDocument](e); own && n != nil && string(n.FrameID) == string(t.target) {
			x.mu.Lock()
			t.URL = n.URL
			x.change()
			x.mu.Unlock()
		}
	case "Page.frameStartedLoading", "Page.frameStoppedLoading":
		if n := read[proto.PageFrameStartedLoading](e); own && n != nil && string(n.FrameID) == string(t.target) {
			x.mu.Lock()
			t.Loading = e.Method == "Page.frameStartedLoading"
			if !t.Loading && t.pending != "" {
				x.shows(t, t.pending) // also where it came to nothing: a capture too many ends, none too few
			}
			x.change()
			x.mu.Unlock()
		}
	case "Page.javascriptDialogOpening": // whoever works the session answers it
		x.mu.Lock()
		t.cover(tabs.ErrCovered)
		x.change()
		x.mu.Unlock()
	case "Page.javascriptDialogClosed":
		x.mu.Lock()
		t.uncover()
		x.change()
		x.mu.Unlock()
	}
}

// shows notes that a tab shows another document. The lock is held.
func (x *view) shows(t *tab, document string) {
	t.Document, t.pending = document, ""
	clear(t.world)
}

// inside takes in a frame of another process, or a worker of the page.
func (x *view) inside(t *tab, a *proto.TargetAttachedToTarget) {
	x.mu.Lock()
	held, bound := t.held, t.limit != nil || t.judge != nil
	if a.TargetInfo.Type == "worker" {
		if !bound {
			t.workers = append(t.workers, a.SessionID)
		} else {
			x.refused++
		}
		x.mu.Unlock()
		if bound { // it should wait for good, and does not always
			x.sockets(a.SessionID, true)
			x.post(a.SessionID, endWorker)
			return
		}
		x.post(a.SessionID, proto.RuntimeRunIfWaitingForDebugger{})
		return
	}
	x.frames[a.SessionID] = t
	x.mu.Unlock()
	stop := x.b.Listen(a.SessionID, func(e *cdp.Event) { x.page(t, a.SessionID, e) })
	x.mu.Lock()
	t.stops = append(t.stops, stop)
	x.mu.Unlock()
	x.setup(a.SessionID, held, bound)
}

// kinds of requests, by the browser's word for what is loaded.
var kinds = map[proto.NetworkResourceType]tabs.Kind{
	proto.NetworkResourceTypeDocument: tabs.Navigation, proto.NetworkResourceTypeXHR: tabs.Scripted, proto.NetworkResourceTypeFetch: tabs.Scripted,
	proto.NetworkResourceTypeEventSource: tabs.Scripted, proto.NetworkResourceTypePing: tabs.Scripted, proto.NetworkResourceTypeWebSocket: tabs.Scripted,
	proto.NetworkResourceTypeOther: tabs.Scripted, proto.NetworkResourceTypeCSPViolationReport: tabs.Scripted,
}

// paused decides about a request on its way out, or about the answer to one that a judge let go.
func (x *view) paused(t *tab, s proto.TargetSessionID, p *proto.FetchRequestPaused) {
	stop := func() {
		x.mu.Lock()
		x.refused++
		x.mu.Unlock()
		x.post(s, proto.FetchFailRequest{RequestID: p.RequestID, ErrorReason: proto.NetworkErrorReasonBlockedByClient})
	}
	x.mu.Lock()
	judge, limit := t.judge, t.limit
	going := t.going[p.RequestID]
	delete(t.going, p.RequestID)
	main := s == t.session && string(p.FrameID) == string(t.target)
	r := tabs.Request{Tab: t.ID, Document: t.Document, Main: main, Kind: tabs.Resource, Method: p.Request.Method, URL: p.Request.URL + p.Request.URLFragment,
		Header: map[string]string{}, Body: []byte(p.Request.PostData), BodyWhole: !p.Request.HasPostData || p.Request.PostData != "", From: t.status[p.NetworkID]}
	delete(t.status, p.NetworkID)
	x.mu.Unlock()
	if k, ok := kinds[p.ResourceType]; ok {
		r.Kind = k
	}
	for name, value := range p.Request.Headers {
		r.Header[name] = value.Str()
		if strings.EqualFold(name, "Origin") {
			r.Origin = value.Str()
		}
	}
	if p.ResponseStatusCode != nil || p.ResponseErrorReason != "" {
		status, location := 0, ""
		if p.ResponseStatusCode != nil {
			status = *p.ResponseStatusCode
		}
		for _, h := range p.ResponseHeaders {
			if strings.EqualFold(h.Name, "Location") {
				location = h.Value
			}
		}
		if going && judge != nil && !x.answered(t, judge, p.NetworkID, r, status, location) {
			stop()
			return
		}
		x.post(s, proto.FetchContinueRequest{RequestID: p.RequestID})
		return
	}
	host := tabs.HostOf(r.URL)
	if host != "" && (x.o.Permits != nil && !x.o.Permits(host) || limit != nil && limit.Permits != nil && !limit.Permits(host)) {
		stop()
		return
	}
	verdict := tabs.Ignore
	if judge != nil {
		if verdict = judge.Judge(r); verdict == tabs.Refuse {
			stop()
			return
		}
	}
	if x.o.Answer != nil {
		if a := x.o.Answer(r); a != nil {
			if verdict == tabs.Allow && !x.answered(t, judge, p.NetworkID, r, a.Status, a.Header["Location"]) {
				stop()
				return
			}
			f := proto.FetchFulfillRequest{RequestID: p.RequestID, ResponseCode: a.Status, Body: []byte(a.Body)}
			for name, value := range a.Header {
				f.ResponseHeaders = append(f.ResponseHeaders, &proto.FetchHeaderEntry{Name: name, Value: value})
			}
			x.post(s, f)
			return
		}
	}
	c := proto.FetchContinueRequest{RequestID: p.RequestID}
	if verdict == tabs.Allow {
		x.mu.Lock()
		t.going[p.RequestID] = true
		x.mu.Unlock()
		c.InterceptResponse = true
	}
	x.post(s, c)
}

// answered tells the judge of an answer; false: it leads on where the request must not go.
func (x *view) answered(t *tab, judge tabs.Judge, id proto.NetworkRequestID, r tabs.Request, status int, location string) bool {
	if status >= 300 && status < 400 && location != "" {
		method := "GET"
		if status == 307 || status == 308 {
			method = r.Method
		}
		x.mu.Lock()
		t.status[id] = status
		x.mu.Unlock()
		if !judge.Redirect(status, method, location) {
			return false
		}
	}
	judge.Done(status)
	return true
}

// now is how a tab is, with what the session says of it. The lock is held.
func (x *view) now(t *tab) tabs.Tab {
	out := t.Tab
	if st, ok := x.s.Stand(t.target); ok {
		out.Activation, out.Covered = st.Front, out.Covered || st.Held
	}
	return out
}

// open opens a tab behind the others and gives it when its rules are in place.
func (x *view) open(ctx context.Context) (*tab, error) {
	target, err := x.s.OpenBehind(ctx)
	if errors.Is(err, browser.ErrTooManyTabs) {
		return nil, tabs.ErrFull
	}
	if err != nil {
		return nil, err
	}
	return x.take(ctx, target)
}

// close closes a tab without asking its page.
func (x *view) close(ctx context.Context, id string) error {
	var target proto.TargetTargetID
	if err := x.with(id, "", func(t *tab) { target = t.target }); err != nil {
		return err
	}
	if _, err := (proto.TargetCloseTarget{TargetID: target}).Call(x.b.Bind(ctx, x.root)); err != nil {
		return fmt.Errorf("close a tab: %w", err)
	}
	x.ended(target)
	return nil
}

func (x *view) with(id, document string, f func(*tab)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.byID(id)
	switch {
	case t == nil:
		return tabs.ErrNoTab
	case document != "" && t.Document != document:
		return tabs.ErrDocument
	}
	f(t)
	return nil
}

// endWorker makes a worker end itself.
var endWorker = proto.RuntimeEvaluate{Expression: "self.close()"}

// bind ends what would go by the rules of a tab that is bound from now on.
func (x *view) bind(t *tab) {
	x.hold(t)
	for s, o := range x.frames {
		if o == t {
			x.sockets(s, true)
		}
	}
	for _, w := range t.workers {
		x.post(w, endWorker)
	}
	t.workers = nil
}

// settle waits until the tab shows a document that is not the named one, read to its end.
func (x *view) settle(ctx context.Context, id, not string) (tabs.Tab, error) {
	for {
		x.mu.Lock()
		t, changed := x.byID(id), x.changed
		if t == nil {
			x.mu.Unlock()
			return tabs.Tab{}, tabs.ErrNoTab
		}
		now, covered := x.now(t), t.free.Err() != nil
		x.mu.Unlock()
		if covered {
			return now, tabs.ErrCovered
		}
		if now.Document != not && !now.Loading {
			return now, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, context.Cause(ctx)
		case <-x.s.Done():
			return now, tabs.ErrNoTab
		}
	}
}

// work takes a tab for one operation: its turn among the session's calls, and a context that ends when a dialog opens.
func (x *view) work(ctx context.Context, id, document string, f func(t *tab)) (_ context.Context, done func(), err error) {
	var free context.Context
	if err := x.with(id, document, func(t *tab) { free = t.free }); err != nil {
		return nil, nil, err
	}
	release, err := x.s.Hold(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(free, func() { cancel(tabs.ErrCovered) })
	done = func() { unhook(); cancel(nil); release() }
	if err := x.with(id, document, func(t *tab) { // again: it may have waited
		if x.now(t).Covered {
			cancel(tabs.ErrCovered)
			return
		}
		f(t)
	}); err != nil {
		done()
		return nil, nil, err
	}
	if ctx.Err() != nil {
		err := context.Cause(ctx)
		done()
		return nil, nil, err
	}
	return ctx, done, nil
}

func (x *view) move(ctx context.Context, id, document string, m tabs.Move) (tabs.Tab, error) {
	var session proto.TargetSessionID
	ctx, done, err := x.work(ctx, id, document, func(t *tab) {
		session = t.session
		if x.o.Permits != nil {
			x.hold(t)
		}
	})
	if err != nil {
		return tabs.Tab{}, err
	}
	defer done()
	c := x.b.Bind(ctx, session)
	switch {
	case m.Reload:
		if err := (proto.PageReload{}).Call(c); err != nil {
			return tabs.Tab{}, fmt.Errorf("reload: %w", err)
		}
	case m.Delta != 0:
		e, err := x.entry(ctx, session, m.Delta)
		if err != nil {
			return tabs.Tab{}, err
		}
		if err := (proto.PageNavigateToHistoryEntry{EntryID: e.ID}).Call(c); err != nil {
			return tabs.Tab{}, fmt.Errorf("go through history: %w", err)
		}
	default:
		r, err := proto.PageNavigate{URL: m.URL}.Call(c)
		if err != nil {
			return tabs.Tab{}, fmt.Errorf("navigate: %w", err)
		}
		if r.ErrorText != "" {
			return tabs.Tab{}, tabs.ErrBlocked
		}
	}
	return x.settle(ctx, id, document)
}

func (x *view) entry(ctx context.Context, s proto.TargetSessionID, delta int) (*proto.PageNavigationEntry, error) {
	h, err := proto.PageGetNavigationHistory{}.Call(x.b.Bind(ctx, s))
	if err != nil {
		return nil, fmt.Errorf("read a tab's history: %w", err)
	}
	at := h.CurrentIndex + delta
	if at < 0 || at >= len(h.Entries) {
		return nil, tabs.ErrNoEntry
	}
	return h.Entries[at], nil
}

func (x *view) back(ctx context.Context, id string, delta int) (string, error) {
	var session proto.TargetSessionID
	if err := x.with(id, "", func(t *tab) { session = t.session }); err != nil {
		return "", err
	}
	e, err := x.entry(ctx, session, delta)
	if err != nil {
		return "", err
	}
	return e.URL, nil
}

// worldName is that of the isolated world of our scripts.
const worldName = "parley-control"

func (x *view) run(ctx context.Context, id, document string, s tabs.Script, arg, result any) error {
	var session proto.TargetSessionID
	var world proto.RuntimeExecutionContextID
	var at, frame string
	ctx, done, err := x.work(ctx, id, document, func(t *tab) {
		session, world, at, frame = t.session, t.world[document], t.URL, string(t.target)
	})
	if err != nil {
		return err
	}
	defer done()
	c := x.b.Bind(ctx, session)
	if world == 0 {
		w, err := proto.PageCreateIsolatedWorld{FrameID: proto.PageFrameID(frame), WorldName: worldName}.Call(c)
		if err != nil {
			return x.lost(id, document, err)
		}
		world = w.ExecutionContextID
		if err := x.with(id, document, func(t *tab) { t.world[document] = world }); err != nil {
			return err
		}
	}
	call, err := page.Call(s, at, arg)
	if err != nil {
		return err
	}
	r, err := proto.RuntimeEvaluate{Expression: call, ContextID: world, ReturnByValue: true}.Call(c)
	if err != nil {
		return x.lost(id, document, err)
	}
	if r.ExceptionDetails != nil {
		return fmt.Errorf("the script %s failed", s) // what it says may quote the page
	}
	if result == nil {
		return nil
	}
	raw, err := r.Result.Value.MarshalJSON()
	if err != nil {
		return fmt.Errorf("the script %s: %w", s, err)
	}
	return json.Unmarshal(raw, result)
}

// lost says whether a call failed because the document went.
func (x *view) lost(id, document string, err error) error {
	if e := x.with(id, document, func(t *tab) { clear(t.world) }); e != nil {
		return e
	}
	var said *cdp.Error
	if errors.As(err, &said) {
		return fmt.Errorf("the page did not run a script: %s", said.Message)
	}
	return err
}

func (x *view) picture(ctx context.Context, id, document string) ([]byte, error) {
	var session proto.TargetSessionID
	ctx, done, err := x.work(ctx, id, document, func(t *tab) { session = t.session })
	if err != nil {
		return nil, err
	}
	defer done()
	r, err := proto.PageCaptureScreenshot{Format: proto.PageCaptureScreenshotFormatPng}.Call(x.b.Bind(ctx, session))
	if err != nil {
		return nil, x.lost(id, document, err)
	}
	return r.Data, x.with(id, document, func(*tab) {})
}

func (x *view) structure(ctx context.Context, id, document string) (tabs.Structure, error) {
	var session proto.TargetSessionID
	var at, frame string
	ctx, done, err := x.work(ctx, id, document, func(t *tab) { session, at, frame = t.session, t.URL, string(t.target) })
	if err != nil {
		return tabs.Structure{}, err
	}
	defer done()
	c := x.b.Bind(ctx, session)
	deep := -1
	d, err := proto.DOMGetDocument{Depth: &deep, Pierce: true}.Call(c)
	if err != nil {
		return tabs.Structure{}, x.lost(id, document, err)
	}
	var s tabs.Structure
	count(d.Root, &s)
	at, _, _ = strings.Cut(at, "#")
	source, err := proto.PageGetResourceContent{FrameID: proto.PageFrameID(frame), URL: at}.Call(c)
	if err != nil { // unread is not looked through
		s.Declarative++
	} else if strings.Contains(strings.ToLower(source.Content), "shadowrootmode") {
		s.Declarative++
	}
	return s, x.with(id, document, func(*tab) {})
}

func count(n *proto.DOMNode, s *tabs.Structure) {
	if n == nil {
		return
	}
	switch strings.ToLower(n.NodeName) {
	case "iframe", "frame", "object", "embed", "fencedframe", "portal":
		s.Frames++
	}
	for _, r := range n.ShadowRoots {
		if r.ShadowRootType == proto.DOMShadowRootTypeClosed {
			s.Closed++
		}
		if r.ShadowRootType != proto.DOMShadowRootTypeUserAgent {
			count(r, s)
		}
	}
	for _, c := range n.Children {
		count(c, s)
	}
	count(n.ContentDocument, s)
}
