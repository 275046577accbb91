// Package chrome is the browser of the control endpoint: every page, frame and request of one Chromium passes it before it goes on.
package chrome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"

	"parley/browser/chromium"
	"parley/control/page"
	"parley/control/tabs"
	"parley/control/vault"
)

// Answer is what a test serves in the place of the network.
type Answer struct {
	Status int
	Header map[string]string
	Body   string
}

// Options of a browser; zero values work.
type Options struct {
	// Permits says which hosts any tab may reach at all; nil is all.
	Permits func(host string) bool
	// Answer serves requests in the place of the network; nil, or a nil answer, leaves it to the network. For tests.
	Answer func(r tabs.Request) *Answer
	Log    *slog.Logger // nil: slog.Default
}

// MaxTabs bounds the tabs. What a page opens beyond is closed at once.
const MaxTabs = 40

// Browser implements tabs.Browser over a Chromium that is this one's alone. Its owner closes the Chromium itself.
//
// Service and shared workers, whose requests belong to no tab, never run. Dedicated workers run only in tabs that no grant
// is bound to. Each page, also one that a page opens, is held until its rules are in place.
type Browser struct {
	b *chromium.Browser
	o Options

	mu      sync.Mutex
	tabs    []*tab
	frames  map[proto.TargetSessionID]*tab // sessions of pages and of their out-of-process frames
	counter uint64
	changed chan struct{} // closed and made anew at every change
	refused int
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
}

// New takes a Chromium over that has just been started.
func New(ctx context.Context, b *chromium.Browser, o Options) (*Browser, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	x := &Browser{b: b, o: o, frames: map[proto.TargetSessionID]*tab{}, changed: make(chan struct{})}
	b.Listen("", x.handle)
	all := proto.TargetTargetFilter{{Type: "page"}, {Type: "service_worker"}, {Type: "shared_worker"}, {Exclude: true}}
	if err := (proto.TargetSetDiscoverTargets{Discover: true, Filter: proto.TargetTargetFilter{{Type: "page"}, {Exclude: true}}}).Call(b.With(ctx)); err != nil {
		return nil, fmt.Errorf("look at the browser's targets: %w", err)
	}
	if err := (proto.TargetSetAutoAttach{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: true, Filter: all}).Call(b.With(ctx)); err != nil {
		return nil, fmt.Errorf("hold the browser's targets: %w", err)
	}
	return x, nil
}

// Refused is how many requests were held back.
func (x *Browser) Refused() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.refused
}

func (x *Browser) post(s proto.TargetSessionID, r proto.Request) {
	_ = x.b.Post(s, r) // it fails with the browser, and then every call does
}

func (x *Browser) change() {
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
func (x *Browser) handle(e *cdp.Event) {
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

func (x *Browser) byTarget(id proto.TargetTargetID) *tab {
	for _, t := range x.tabs {
		if t.target == id {
			return t
		}
	}
	return nil
}

func (x *Browser) byID(id string) *tab {
	for _, t := range x.tabs {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// attached takes a page in, or leaves a worker that is nobody's where it waits.
func (x *Browser) attached(a *proto.TargetAttachedToTarget) {
	i := a.TargetInfo
	if i.Type != "page" {
		x.post("", proto.TargetCloseTarget{TargetID: i.TargetID})
		x.mu.Lock()
		x.refused++
		x.mu.Unlock()
		return
	}
	x.mu.Lock()
	if len(x.tabs) >= MaxTabs {
		x.mu.Unlock()
		x.post("", proto.TargetCloseTarget{TargetID: i.TargetID})
		return
	}
	t := &tab{target: i.TargetID, session: a.SessionID, world: map[string]proto.RuntimeExecutionContextID{}, status: map[proto.NetworkRequestID]int{}, going: map[proto.FetchRequestID]bool{}, ready: make(chan struct{})}
	t.ID, t.URL, t.Document = vault.UUID(), i.URL, "start-"+string(i.TargetID)
	if opener := x.byTarget(i.OpenerID); opener != nil { // what a page opens is held to what the page is
		t.limit, t.Restricted, t.Group = opener.limit, opener.Restricted, opener.Group
	}
	x.tabs = append(x.tabs, t)
	x.frames[t.session] = t
	if len(x.tabs) == 1 {
		x.front(t)
	}
	x.change()
	x.mu.Unlock()
	t.stops = append(t.stops, x.b.Listen(t.session, func(e *cdp.Event) { x.page(t, t.session, e) }))
	x.setup(t.session, t.limit != nil)
	close(t.ready)
}

// setup puts the rules of a page or frame in place, in a row, while it waits.
func (x *Browser) setup(s proto.TargetSessionID, bound bool) {
	zero := 0
	x.post(s, proto.PageEnable{})
	x.post(s, proto.FetchEnable{Patterns: []*proto.FetchRequestPattern{{URLPattern: "*"}}})
	x.post(s, proto.NetworkEnable{MaxTotalBufferSize: &zero, MaxResourceBufferSize: &zero})
	x.sockets(s, bound)
	x.post(s, proto.NetworkSetBypassServiceWorker{Bypass: true})
	x.post(s, proto.TargetSetAutoAttach{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: true,
		Filter: proto.TargetTargetFilter{{Type: "iframe"}, {Type: "worker"}, {Exclude: true}}})
	x.post(s, proto.RuntimeRunIfWaitingForDebugger{})
}

// sockets closes what does not pass the inspection of requests, in tabs that are bound.
func (x *Browser) sockets(s proto.TargetSessionID, bound bool) {
	urls := []string{}
	if bound {
		urls = []string{"ws://*", "wss://*"}
	}
	x.post(s, proto.NetworkSetBlockedURLs{Urls: urls})
}

func (x *Browser) front(t *tab) {
	for _, o := range x.tabs {
		o.Foreground = false
	}
	x.counter++
	t.Foreground, t.Activation = true, x.counter
}

func (x *Browser) ended(id proto.TargetTargetID) {
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
	x.change()
	x.mu.Unlock()
	for _, stop := range t.stops {
		stop()
	}
}

// page takes the events of a page and of its out-of-process frames. It must not wait.
func (x *Browser) page(t *tab, s proto.TargetSessionID, e *cdp.Event) {
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
	case "Page.javascriptDialogOpening":
		x.post(s, proto.PageHandleJavaScriptDialog{Accept: false})
	}
}

// shows notes that a tab shows another document. The lock is held.
func (x *Browser) shows(t *tab, document string) {
	t.Document, t.pending = document, ""
	clear(t.world)
}

// inside takes in a frame of another process, or a worker of the page.
func (x *Browser) inside(t *tab, a *proto.TargetAttachedToTarget) {
	x.mu.Lock()
	bound := t.limit != nil || t.judge != nil
	if a.TargetInfo.Type == "worker" {
		if !bound {
			t.workers = append(t.workers, a.SessionID)
		} else {
			x.refused++
		}
		x.mu.Unlock()
		if !bound { // else it waits for good
			x.post(a.SessionID, proto.RuntimeRunIfWaitingForDebugger{})
		}
		return
	}
	x.frames[a.SessionID] = t
	x.mu.Unlock()
	stop := x.b.Listen(a.SessionID, func(e *cdp.Event) { x.page(t, a.SessionID, e) })
	x.mu.Lock()
	t.stops = append(t.stops, stop)
	x.mu.Unlock()
	x.setup(a.SessionID, bound)
}

// kinds of requests, by the browser's word for what is loaded.
var kinds = map[proto.NetworkResourceType]tabs.Kind{
	proto.NetworkResourceTypeDocument: tabs.Navigation, proto.NetworkResourceTypeXHR: tabs.Scripted, proto.NetworkResourceTypeFetch: tabs.Scripted,
	proto.NetworkResourceTypeEventSource: tabs.Scripted, proto.NetworkResourceTypePing: tabs.Scripted, proto.NetworkResourceTypeWebSocket: tabs.Scripted,
	proto.NetworkResourceTypeOther: tabs.Scripted, proto.NetworkResourceTypeCSPViolationReport: tabs.Scripted,
}

// paused decides about a request on its way out, or about the answer to one that a judge let go.
func (x *Browser) paused(t *tab, s proto.TargetSessionID, p *proto.FetchRequestPaused) {
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
func (x *Browser) answered(t *tab, judge tabs.Judge, id proto.NetworkRequestID, r tabs.Request, status int, location string) bool {
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

// Tabs implements tabs.Browser.
func (x *Browser) Tabs(ctx context.Context) ([]tabs.Tab, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := []tabs.Tab{}
	for _, t := range x.tabs {
		out = append(out, t.Tab)
	}
	return out, context.Cause(ctx)
}

// Tab implements tabs.Browser.
func (x *Browser) Tab(ctx context.Context, id string) (tabs.Tab, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.byID(id)
	if t == nil {
		return tabs.Tab{}, tabs.ErrNoTab
	}
	return t.Tab, context.Cause(ctx)
}

// Create implements tabs.Browser.
func (x *Browser) Create(ctx context.Context, group string) (tabs.Tab, error) {
	t, err := x.create(ctx)
	if err != nil {
		return tabs.Tab{}, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	t.Group = group
	return t.Tab, nil
}

func (x *Browser) create(ctx context.Context) (*tab, error) {
	made, err := proto.TargetCreateTarget{URL: "about:blank", NewWindow: true}.Call(x.b.With(ctx))
	if err != nil {
		return nil, fmt.Errorf("open a tab: %w", err)
	}
	for {
		x.mu.Lock()
		t, changed := x.byTarget(made.TargetID), x.changed
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
		}
	}
}

// Open is a person who opens an address in a new tab in front.
func (x *Browser) Open(ctx context.Context, address string) (string, error) {
	t, err := x.create(ctx)
	if err != nil {
		return "", err
	}
	if _, err := x.Activate(ctx, t.ID); err != nil {
		return "", err
	}
	return t.ID, x.Enter(ctx, t.ID, address)
}

// Enter is a person who types an address: what a grant added to the tab is lifted.
func (x *Browser) Enter(ctx context.Context, id, address string) error {
	x.mu.Lock()
	t := x.byID(id)
	if t == nil {
		x.mu.Unlock()
		return tabs.ErrNoTab
	}
	t.limit, t.Restricted = nil, nil
	document, session := t.Document, t.session
	x.mu.Unlock()
	x.sockets(session, false)
	_, err := x.Go(ctx, id, document, tabs.Move{URL: address})
	return err
}

// Activate implements tabs.Browser.
func (x *Browser) Activate(ctx context.Context, id string) (tabs.Tab, error) {
	x.mu.Lock()
	t := x.byID(id)
	x.mu.Unlock()
	if t == nil {
		return tabs.Tab{}, tabs.ErrNoTab
	}
	if err := (proto.TargetActivateTarget{TargetID: t.target}).Call(x.b.With(ctx)); err != nil {
		return tabs.Tab{}, fmt.Errorf("bring a tab to the front: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.front(t)
	return t.Tab, nil
}

// Close implements tabs.Browser.
func (x *Browser) Close(ctx context.Context, id string) error {
	x.mu.Lock()
	t := x.byID(id)
	x.mu.Unlock()
	if t == nil {
		return tabs.ErrNoTab
	}
	if _, err := (proto.TargetCloseTarget{TargetID: t.target}).Call(x.b.With(ctx)); err != nil {
		return fmt.Errorf("close a tab: %w", err)
	}
	x.ended(t.target)
	return nil
}

// Group implements tabs.Browser.
func (x *Browser) Group(_ context.Context, id, group string) error {
	return x.with(id, "", func(t *tab) { t.Group = group })
}

func (x *Browser) with(id, document string, f func(*tab)) error {
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

// Restrict implements tabs.Browser.
func (x *Browser) Restrict(_ context.Context, id string, r tabs.Restriction) error {
	return x.with(id, "", func(t *tab) { t.limit, t.Restricted = &r, r.Hosts; x.bind(t) })
}

// Watch implements tabs.Browser.
func (x *Browser) Watch(_ context.Context, id string, j tabs.Judge) error {
	return x.with(id, "", func(t *tab) {
		if t.judge = j; j != nil {
			x.bind(t)
		}
	})
}

// bind ends what would go by the rules of a tab that is bound from now on.
func (x *Browser) bind(t *tab) {
	for s, o := range x.frames {
		if o == t {
			x.sockets(s, true)
		}
	}
	for _, w := range t.workers {
		x.post(w, proto.RuntimeEvaluate{Expression: "self.close()"})
	}
	t.workers = nil
}

// settle waits until the tab shows a document that is not the named one, read to its end.
func (x *Browser) settle(ctx context.Context, id, not string) (tabs.Tab, error) {
	for {
		x.mu.Lock()
		t, changed := x.byID(id), x.changed
		if t == nil {
			x.mu.Unlock()
			return tabs.Tab{}, tabs.ErrNoTab
		}
		now := t.Tab
		x.mu.Unlock()
		if now.Document != not && !now.Loading {
			return now, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, context.Cause(ctx)
		}
	}
}

// Go implements tabs.Browser.
func (x *Browser) Go(ctx context.Context, id, document string, m tabs.Move) (tabs.Tab, error) {
	var session proto.TargetSessionID
	if err := x.with(id, document, func(t *tab) { session = t.session }); err != nil {
		return tabs.Tab{}, err
	}
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

func (x *Browser) entry(ctx context.Context, s proto.TargetSessionID, delta int) (*proto.PageNavigationEntry, error) {
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

// Entry implements tabs.Browser.
func (x *Browser) Entry(ctx context.Context, id string, delta int) (string, error) {
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

// Run implements tabs.Browser.
func (x *Browser) Run(ctx context.Context, id, document string, s tabs.Script, arg, result any) error {
	var session proto.TargetSessionID
	var world proto.RuntimeExecutionContextID
	var at, frame string
	if err := x.with(id, document, func(t *tab) {
		session, world, at, frame = t.session, t.world[document], t.URL, string(t.target)
	}); err != nil {
		return err
	}
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
func (x *Browser) lost(id, document string, err error) error {
	if e := x.with(id, document, func(t *tab) { clear(t.world) }); e != nil {
		return e
	}
	var said *cdp.Error
	if errors.As(err, &said) {
		return fmt.Errorf("the page did not run a script: %s", said.Message)
	}
	return err
}

// Picture implements tabs.Browser.
func (x *Browser) Picture(ctx context.Context, id, document string) ([]byte, error) {
	var session proto.TargetSessionID
	front := false
	if err := x.with(id, document, func(t *tab) { session, front = t.session, t.Foreground }); err != nil {
		return nil, err
	}
	if !front {
		return nil, tabs.ErrBackground
	}
	r, err := proto.PageCaptureScreenshot{Format: proto.PageCaptureScreenshotFormatPng}.Call(x.b.Bind(ctx, session))
	if err != nil {
		return nil, x.lost(id, document, err)
	}
	return r.Data, x.with(id, document, func(*tab) {})
}

// Structure implements tabs.Browser.
func (x *Browser) Structure(ctx context.Context, id, document string) (tabs.Structure, error) {
	var session proto.TargetSessionID
	var at, frame string
	if err := x.with(id, document, func(t *tab) { session, at, frame = t.session, t.URL, string(t.target) }); err != nil {
		return tabs.Structure{}, err
	}
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
