// Package cdp works one tab of the browser the way a person would: by names and real input, from a world of ours that
// the page cannot see.
package cdp

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser/chromium"
	"parley/internal/queue"
	"parley/platforms"
)

//go:embed kit.js
var kitJS string

// world is the name of our isolated world: one per document, with the page's DOM and none of its scripts.
const world = "parley"

// Options say how a tab is worked.
type Options struct {
	// Origin may use Permissions without asking ("audioCapture"); empty grants nothing.
	Origin      string
	Permissions []string
	// Dialogs answers the page's script dialogs; the zero value accepts what only tells or lets us leave, and
	// declines the rest.
	Dialogs DialogPolicy
	// ProbeEvery is how often the watchdog asks the page for a sign of life; zero means 5 s, negative never.
	ProbeEvery time.Duration
	// Log gets kinds and counts, never what a page says; nil means slog.Default().
	Log *slog.Logger
}

// DialogPolicy says how alert, confirm, prompt and "leave this page?" are answered: at once, since an open one blocks
// every other call.
type DialogPolicy struct {
	// AcceptConfirm presses OK in confirm(); the default is Cancel.
	AcceptConfirm bool
}

// Counts are what went by. They only grow.
type Counts struct {
	ConsoleErrors  int64 // console.error and uncaught exceptions of the page
	Dialogs        int64
	Navigations    int64
	Crashes        int64
	DroppedEvents  int64 // page events that nobody took in time
	DroppedReports int64 // reports of our own scripts that nobody took in time, or that were not JSON
}

// Page is a tab. It implements platforms.Page.
type Page struct {
	tab    *chromium.Tab
	o      Options
	log    *slog.Logger
	marker string // the global name of our kit in our world: not to be guessed by a page

	events *queue.Queue[platforms.PageEvent]
	acting chan struct{} // held by the one call that gives input

	mu        sync.Mutex
	life      context.Context // ends with a crash or with the tab
	end       context.CancelCauseFunc
	mainFrame proto.PageFrameID
	document  proto.NetworkLoaderID // of the main frame
	loaded    []proto.NetworkLoaderID
	changed   chan struct{} // closed and replaced when one of the two above changes
	contextID int           // of our world in the document, 0 when not known
	listeners map[string]*queue.Queue[json.RawMessage]
	gone      bool

	opened     chan *proto.PageJavascriptDialogOpening // at most one is open at a time
	background sync.WaitGroup                          // who answers dialogs, the watchdog
	stop       context.CancelFunc
	closing    sync.Once
	closed     error

	consoleErrors, dialogs, navigations, crashes, badReports atomic.Int64
}

var (
	_ platforms.Page         = (*Page)(nil)
	_ platforms.Permitter    = (*Page)(nil)
	_ platforms.CookieKeeper = (*Page)(nil)
)

// Open opens a blank tab.
func Open(ctx context.Context, b *chromium.Browser, o Options) (_ *Page, err error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.ProbeEvery == 0 {
		o.ProbeEvery = 5 * time.Second
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	p := &Page{
		o: o, log: o.Log, marker: "kit" + hex.EncodeToString(secret),
		events: queue.New[platforms.PageEvent](64), acting: make(chan struct{}, 1),
		changed: make(chan struct{}), opened: make(chan *proto.PageJavascriptDialogOpening, 8), listeners: map[string]*queue.Queue[json.RawMessage]{},
	}
	p.life, p.end = context.WithCancelCause(context.Background())
	if p.tab, err = b.OpenTab(ctx, p.handle); err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.background.Go(func() { p.watchBrowser(background) })
	p.background.Go(func() { p.answerDialogs(background) })
	if err := p.prepare(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if o.Origin != "" { // after the first tab: before it the browser has no profile to note it in, and never answers
		if err := b.Grant(ctx, o.Origin, o.Permissions...); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	if o.ProbeEvery > 0 {
		p.background.Go(func() { p.watchdog(background) })
	}
	return p, nil
}

// prepare switches on what we hear of the page, and puts the kit into every document to come.
func (p *Page) prepare(ctx context.Context) error {
	c := p.tab.With(ctx)
	tree, err := proto.PageGetFrameTree{}.Call(c)
	if err != nil {
		return fmt.Errorf("open a tab: %w", err)
	}
	p.mu.Lock()
	p.mainFrame, p.document = tree.FrameTree.Frame.ID, tree.FrameTree.Frame.LoaderID
	p.mu.Unlock()
	for _, call := range []func(proto.Client) error{
		proto.PageEnable{}.Call,
		proto.InspectorEnable{}.Call,
		func(c proto.Client) error { return proto.RuntimeEnable{}.Call(c) },
		proto.PageSetLifecycleEventsEnabled{Enabled: true}.Call,
		// There is no window manager on our display, so that no window would ever have the focus.
		proto.EmulationSetFocusEmulationEnabled{Enabled: true}.Call,
		proto.PageBringToFront{}.Call,
		func(c proto.Client) error {
			_, err := proto.PageAddScriptToEvaluateOnNewDocument{Source: "(" + kitJS + ")(" + quote(p.marker) + ")", WorldName: world, RunImmediately: true}.Call(c)
			return err
		},
	} {
		if err := call(c); err != nil {
			return fmt.Errorf("open a tab: %w", err)
		}
	}
	return nil
}

// call runs f with a client that is bound to the context, to the page's life, and to a limit where the caller set none.
func (p *Page) call(ctx context.Context, f func(proto.Client) error) error {
	p.mu.Lock()
	life := p.life
	p.mu.Unlock()
	if life.Err() != nil {
		return context.Cause(life)
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })()
	return f(p.tab.With(ctx))
}

// act waits for our turn to give input.
func (p *Page) act(ctx context.Context) (release func(), err error) {
	select {
	case p.acting <- struct{}{}:
		return func() { <-p.acting }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the page: %w", context.Cause(ctx))
	}
}

// Navigate loads a URL and returns when its document is there.
func (p *Page) Navigate(ctx context.Context, address string) error {
	if u, err := url.Parse(address); err != nil || (u.Scheme != "http" && u.Scheme != "https" && address != "about:blank") {
		return errors.New("only http and https addresses can be opened")
	}
	release, err := p.act(ctx)
	if err != nil {
		return err
	}
	defer release()
	p.revive()
	defer func() {
		if ctx.Err() != nil {
			p.stopLoading()
		}
	}()
	var started *proto.PageNavigateResult
	if err := p.call(ctx, func(c proto.Client) (err error) {
		started, err = proto.PageNavigate{URL: address}.Call(c)
		return err
	}); err != nil {
		return err
	}
	if started.ErrorText != "" {
		return &NavigateError{Code: started.ErrorText}
	}
	if started.LoaderID == "" {
		return nil // the same document, another place in it
	}
	return p.awaitDocument(ctx, started.LoaderID)
}

// awaitDocument waits until a document, or one that took its place by itself, has been read.
func (p *Page) awaitDocument(ctx context.Context, want proto.NetworkLoaderID) error {
	committed := false
	for {
		p.mu.Lock()
		has := func(id proto.NetworkLoaderID) bool {
			for _, l := range p.loaded {
				if l == id {
					return true
				}
			}
			return false
		}
		committed = committed || p.document == want
		done := has(want) || (committed && p.document != want && has(p.document))
		changed, life := p.changed, p.life
		p.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for the document: %w", context.Cause(ctx))
		case <-life.Done():
			return context.Cause(life)
		}
	}
}

// stopLoading ends a navigation that was given up, so that it cannot replace the page later.
func (p *Page) stopLoading() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := p.call(ctx, proto.PageStopLoading{}.Call); err != nil {
		p.log.Warn("a navigation could not be stopped", "error", err)
	}
}

// revive gives a crashed page a new life: the next document gets a new renderer.
func (p *Page) revive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone && p.life.Err() != nil {
		p.life, p.end = context.WithCancelCause(context.Background())
	}
}

// Permit lets the origin that the tab was opened for use its devices, or none at all. What a document has taken already
// stays with it.
func (p *Page) Permit(ctx context.Context, devices bool) error {
	if p.o.Origin == "" {
		return errors.New("the tab was opened for no origin")
	}
	var granted []string
	if devices {
		granted = p.o.Permissions
	}
	return p.tab.Browser().Grant(ctx, p.o.Origin, granted...)
}

// SetCookie keeps a cookie for a host and those below it.
func (p *Page) SetCookie(ctx context.Context, host, name, value string, secure bool) error {
	return p.call(ctx, func(c proto.Client) error {
		k := proto.NetworkSetCookie{Name: name, Value: value, URL: "http://" + host + "/", Path: "/", Secure: secure}
		if secure {
			k.URL = "https://" + host + "/"
		}
		if net.ParseIP(host) == nil { // an address has no hosts below it
			k.Domain = host
		}
		_, err := k.Call(c)
		if err != nil {
			return fmt.Errorf("set a cookie: %w", err)
		}
		return nil
	})
}

// Picture is a PNG of the viewport.
func (p *Page) Picture(ctx context.Context) (png []byte, err error) {
	err = p.call(ctx, func(c proto.Client) error {
		shot, err := proto.PageCaptureScreenshot{Format: proto.PageCaptureScreenshotFormatPng}.Call(c)
		if err == nil {
			png = shot.Data
		}
		return err
	})
	return png, err
}

// URL is the tab's address, also while the page hangs.
func (p *Page) URL(ctx context.Context) (address string, err error) {
	err = p.call(ctx, func(proto.Client) error {
		address, err = p.tab.URL(ctx)
		return err
	})
	return address, err
}

// Events tells of crashes, dialogs and navigations. It holds 64; the oldest goes first. Closed when the tab is gone.
func (p *Page) Events() <-chan platforms.PageEvent { return p.events.C() }

// Counts are what went by so far.
func (p *Page) Counts() Counts {
	c := Counts{
		ConsoleErrors: p.consoleErrors.Load(), Dialogs: p.dialogs.Load(), Navigations: p.navigations.Load(),
		Crashes: p.crashes.Load(), DroppedEvents: p.events.Dropped(), DroppedReports: p.badReports.Load(),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.listeners {
		c.DroppedReports += l.Dropped()
	}
	return c
}

// Close leaves the page first, so that a meeting's server learns of it at once, then closes the tab. It may be called
// again.
func (p *Page) Close() error {
	p.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = p.call(ctx, func(c proto.Client) error { // best effort: closing does it too, a little later
			_, err := proto.PageNavigate{URL: "about:blank"}.Call(c)
			return err
		})
		p.stop()
		closing, done := context.WithTimeout(context.Background(), 3*time.Second)
		defer done()
		p.closed = p.tab.Close(closing)
		p.vanish(ErrClosed)
		p.background.Wait()
	})
	return p.closed
}

// vanish ends everything when the tab is gone, for whatever cause.
func (p *Page) vanish(cause error) {
	p.mu.Lock()
	first := !p.gone
	p.gone = true
	end := p.end
	listeners := p.listeners
	p.mu.Unlock()
	end(cause)
	if !first {
		return
	}
	p.events.Put(platforms.PageEvent{Kind: "closed", At: time.Now()})
	p.events.Close()
	for _, l := range listeners {
		l.Close()
	}
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return string(raw)
}

// Crash makes the page's renderer crash, for tests of what must happen then. It returns when the page has.
func (p *Page) Crash(ctx context.Context) {
	p.mu.Lock()
	life := p.life
	p.mu.Unlock()
	go func() { _ = p.call(ctx, proto.PageCrash{}.Call) }() // never answered: the crash ends it
	select {
	case <-life.Done():
	case <-ctx.Done():
	}
}
