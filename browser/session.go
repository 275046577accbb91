package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"

	"parley/browser/chromium"
)

// Owner is whose session it is: nobody else can see, use or close it.
type Owner struct {
	Tenant string
	// Client is the connection, the HTTP session or the token.
	Client string
}

// Session is one browser with its tabs, its owner's until it is closed. It is safe for concurrent use; calls that touch
// pages go through Do or Act, one at a time.
type Session struct {
	id      string
	owner   Owner
	engine  Engine
	profile string
	headful bool
	opened  time.Time
	marker  string // the global name of our kit: not to be guessed by a page
	log     *slog.Logger
	browser *chromium.Browser
	refs    *refs

	turn chan struct{} // held by the one call that works the pages

	life    context.Context
	end     context.CancelCauseFunc
	closing sync.Once
	closed  chan struct{} // everything of the session is gone
	release func()        // what the manager takes back when it has ended
	working sync.WaitGroup

	mu        sync.Mutex
	tabs      []*Page
	current   *Page
	fronted   *Page  // the current tab as front was counted for it
	front     uint64 // see Stand
	lastTab   int
	used      time.Time
	inCall    int
	changed   chan struct{} // closed and replaced when tabs, dialogs or documents change
	notes     []Note
	dropped   int // notes that were not kept
	refused   int // tabs that were closed at once because there were too many
	downloads []Download
}

// ID names the session ("s1f3…").
func (s *Session) ID() string { return s.id }

// Owner is whose it is.
func (s *Session) Owner() Owner { return s.owner }

// Done is closed when the session begins to end.
func (s *Session) Done() <-chan struct{} { return s.life.Done() }

// MaxTabs bounds the tabs of a session. What a page opens beyond is closed at once and counted.
const MaxTabs = 20

// start makes the browser tell of every tab, and opens the first.
func (s *Session) start(ctx context.Context) error {
	s.browser.Listen("", s.handle)
	c := s.browser.Bind(ctx, "")
	err := proto.BrowserSetDownloadBehavior{Behavior: proto.BrowserSetDownloadBehaviorBehaviorDeny, EventsEnabled: true}.Call(c)
	if err != nil {
		return err
	}
	err = proto.TargetSetAutoAttach{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: true,
		Filter: proto.TargetTargetFilter{{Type: "page"}, {Exclude: true}}}.Call(c)
	if err != nil {
		return err
	}
	p, err := s.openTab(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.current = p
	s.mu.Unlock()
	go s.watchBrowser()
	return nil
}

// watchBrowser ends the session with its browser.
func (s *Session) watchBrowser() {
	select {
	case <-s.browser.Done():
		s.fail(chromium.ErrGone)
	case <-s.life.Done():
	}
}

// openTab opens a blank tab and waits until it can be worked.
func (s *Session) openTab(ctx context.Context) (*Page, error) {
	made, err := proto.TargetCreateTarget{URL: "about:blank", NewWindow: s.headful}.Call(s.browser.Bind(ctx, ""))
	if err != nil {
		return nil, fmt.Errorf("open a tab: %w", err)
	}
	var p *Page
	err = s.wait(ctx, func() bool {
		i := slices.IndexFunc(s.tabs, func(p *Page) bool { return p.target == made.TargetID })
		if i >= 0 {
			p = s.tabs[i]
		}
		return i >= 0
	})
	if err != nil {
		return nil, fmt.Errorf("open a tab: %w", err)
	}
	tree, err := proto.PageGetFrameTree{}.Call(p.Client(ctx))
	if err != nil {
		return nil, fmt.Errorf("open a tab: %w", err)
	}
	p.update(func() {
		if p.nav.frame == "" {
			p.nav.frame, p.nav.loader = tree.FrameTree.Frame.ID, tree.FrameTree.Frame.LoaderID
			p.url = tree.FrameTree.Frame.URL
		}
	})
	return p, nil
}

// handle takes the browser's own events, on the goroutine that reads from it.
func (s *Session) handle(e *cdp.Event) {
	switch e.Method {
	case "Target.attachedToTarget":
		var a proto.TargetAttachedToTarget
		if decode(e.Params, &a) == nil && a.TargetInfo.Type == "page" { // not another look at the browser itself
			s.tabAttached(&a)
		}
	case "Target.detachedFromTarget":
		var d proto.TargetDetachedFromTarget
		if decode(e.Params, &d) == nil {
			s.tabDetached(d.SessionID)
		}
	case "Browser.downloadWillBegin", "Browser.downloadProgress":
		s.downloading(e)
	}
}

func (s *Session) tabAttached(a *proto.TargetAttachedToTarget) {
	s.mu.Lock()
	if len(s.tabs) >= MaxTabs || s.life.Err() != nil {
		s.refused++
		s.mu.Unlock()
		_ = s.browser.Post(a.SessionID, proto.RuntimeRunIfWaitingForDebugger{})
		_ = s.browser.Post("", proto.TargetCloseTarget{TargetID: a.TargetInfo.TargetID})
		return
	}
	s.lastTab++
	p := &Page{
		s: s, id: "t" + strconv.Itoa(s.lastTab), target: a.TargetInfo.TargetID, session: a.SessionID, url: a.TargetInfo.URL,
		subs: map[proto.TargetSessionID]*sub{}, worlds: map[worldKey]proto.RuntimeExecutionContextID{},
		changed: make(chan struct{}),
	}
	// A page target's main frame carries the target's id.
	p.nav.frame = proto.PageFrameID(a.TargetInfo.TargetID)
	p.nav.answered = map[proto.NetworkLoaderID]answer{}
	p.life, p.end = context.WithCancelCause(s.life)
	for _, t := range s.tabs {
		if t.target == a.TargetInfo.OpenerID {
			p.opener = t
		}
	}
	s.tabs = append(s.tabs, p)
	s.wakeLocked()
	s.mu.Unlock()
	p.stop = s.browser.Listen(p.session, func(e *cdp.Event) { p.handle(p.session, e) })
	p.setup(p.session, true)
	if p.opener != nil {
		s.note(p, noteOpened)
	}
}

func (s *Session) tabDetached(session proto.TargetSessionID) {
	s.mu.Lock()
	i := slices.IndexFunc(s.tabs, func(p *Page) bool { return p.session == session })
	if i < 0 {
		s.mu.Unlock()
		return
	}
	p := s.tabs[i]
	s.tabs = slices.Delete(s.tabs, i, i+1)
	wasCurrent := s.current == p
	if wasCurrent {
		s.current = s.successor(p)
	}
	next := s.current
	s.wakeLocked()
	s.mu.Unlock()
	p.vanish(ErrTabClosed)
	if s.life.Err() == nil {
		s.note(p, noteClosed)
		if wasCurrent && next != nil {
			s.note(next, noteCurrent)
		}
	}
}

// successor is the tab that becomes current when the current one is gone: the one that opened it, else the newest. The
// caller holds the lock.
func (s *Session) successor(gone *Page) *Page {
	if gone.opener != nil && slices.Contains(s.tabs, gone.opener) {
		return gone.opener
	}
	if len(s.tabs) > 0 {
		return s.tabs[len(s.tabs)-1]
	}
	return nil
}

// tabOf is the tab that a session belongs to, its frames' sessions included.
func (s *Session) tabOf(session proto.TargetSessionID) *Page {
	s.mu.Lock()
	tabs := slices.Clone(s.tabs)
	s.mu.Unlock()
	for _, p := range tabs {
		if p.session == session {
			return p
		}
		p.mu.Lock()
		_, ok := p.subs[session]
		p.mu.Unlock()
		if ok {
			return p
		}
	}
	return nil
}

// Current is the tab that calls work; nil when there is none.
func (s *Session) Current() *Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// wakeLocked tells who waits that something changed. The caller holds the lock.
func (s *Session) wakeLocked() {
	s.frontLocked()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Session) notify() {
	s.mu.Lock()
	s.wakeLocked()
	s.mu.Unlock()
}

// wait waits until ready says yes; it is asked under the lock, again after each change.
func (s *Session) wait(ctx context.Context, ready func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := ready(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.life.Done():
			return context.Cause(s.life)
		}
	}
}

// fail ends the session for a cause that nobody asked for.
func (s *Session) fail(cause error) {
	s.end(errors.Join(ErrSessionClosed, cause))
	go s.Close()
}

// Close ends the session: its calls, its browser, its lock, its folder. It may be called again and waits for the end.
func (s *Session) Close() {
	s.closing.Do(func() {
		s.end(ErrSessionClosed)
		s.mu.Lock()
		tabs := slices.Clone(s.tabs)
		s.wakeLocked()
		s.mu.Unlock()
		for _, p := range tabs {
			p.vanish(ErrSessionClosed)
		}
		if err := s.browser.Close(); err != nil {
			s.log.Warn("a browser did not end cleanly", "session", s.id, "err", err)
		}
		s.working.Wait()
		if s.release != nil {
			s.release()
		}
		close(s.closed)
	})
	<-s.closed
}

func decode(raw json.RawMessage, into any) error { return json.Unmarshal(raw, into) }

// PID is the session's browser process, which leads its group.
func (s *Session) PID() int { return s.browser.PID() }
