package cdp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"

	"parley/browser/chromium"
	"parley/platforms"
)

// handle takes the tab's events, in order, on the goroutine that reads from the browser: it never waits.
func (p *Page) handle(e *cdp.Event) {
	switch e.Method {
	case "Runtime.bindingCalled":
		var called proto.RuntimeBindingCalled
		if p.read(e, &called) {
			p.report(called.Name, called.Payload)
		}
	case "Page.lifecycleEvent":
		var l proto.PageLifecycleEvent
		if p.read(e, &l) && l.Name == "DOMContentLoaded" {
			p.documentRead(l.FrameID, l.LoaderID)
		}
	case "Page.frameNavigated":
		var n proto.PageFrameNavigated
		if p.read(e, &n) && n.Frame.ParentID == "" {
			p.documentReplaced(n.Frame.ID, n.Frame.LoaderID)
			p.events.Put(platforms.PageEvent{Kind: "navigated", Text: n.Frame.URL + n.Frame.URLFragment, At: time.Now()})
		}
	case "Page.navigatedWithinDocument":
		var n proto.PageNavigatedWithinDocument
		if p.read(e, &n) && p.isMain(n.FrameID) {
			p.events.Put(platforms.PageEvent{Kind: "navigated", Text: n.URL, At: time.Now()})
		}
	case "Page.javascriptDialogOpening":
		var d proto.PageJavascriptDialogOpening
		if p.read(e, &d) {
			p.dialogs.Add(1)
			select {
			case p.opened <- &d:
			default: // more than can be open: the answers under way free them
			}
			p.events.Put(platforms.PageEvent{Kind: "dialog", Text: d.Message, At: time.Now()})
		}
	case "Runtime.exceptionThrown":
		p.consoleError()
	case "Runtime.consoleAPICalled":
		var c struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(e.Params, &c) == nil && c.Type == "error" {
			p.consoleError()
		}
	case "Inspector.targetCrashed":
		p.crash()
	case "Inspector.detached":
		p.vanish(ErrClosed)
	}
}

func (p *Page) read(e *cdp.Event, into any) bool {
	if err := json.Unmarshal(e.Params, into); err != nil {
		p.log.Warn("unreadable browser event", "method", e.Method)
		return false
	}
	return true
}

// consoleError counts, and tells of the first of a run only: a page can throw thousands a second, which must not push
// a crash out of the queue.
func (p *Page) consoleError() {
	if p.consoleErrors.Add(1)%100 == 1 {
		p.events.Put(platforms.PageEvent{Kind: "console-error", At: time.Now()})
	}
}

// report passes on what a script of ours says.
func (p *Page) report(name, payload string) {
	p.mu.Lock()
	l := p.listeners[name]
	p.mu.Unlock()
	if l == nil || !json.Valid([]byte(payload)) {
		p.badReports.Add(1)
		return
	}
	l.Put(json.RawMessage(payload))
}

func (p *Page) isMain(id proto.PageFrameID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mainFrame == id
}

func (p *Page) documentReplaced(frame proto.PageFrameID, loader proto.NetworkLoaderID) {
	p.navigations.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mainFrame, p.document, p.contextID = frame, loader, 0
	p.wake()
}

func (p *Page) documentRead(frame proto.PageFrameID, loader proto.NetworkLoaderID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if frame != p.mainFrame {
		return
	}
	p.loaded = append(p.loaded, loader)
	if len(p.loaded) > 8 {
		p.loaded = p.loaded[1:]
	}
	p.wake()
}

// wake tells who waits that the document changed. The caller holds the lock.
func (p *Page) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Page) crash() {
	p.crashes.Add(1)
	p.mu.Lock()
	p.contextID = 0
	end := p.end
	p.mu.Unlock()
	end(ErrCrashed)
	p.log.Warn("the page crashed")
	p.events.Put(platforms.PageEvent{Kind: "crashed", At: time.Now()})
}

// watchBrowser ends the tab with its browser.
func (p *Page) watchBrowser(ctx context.Context) {
	select {
	case <-p.tab.Browser().Done():
		p.vanish(chromium.ErrGone)
	case <-ctx.Done():
	}
}

// answerDialogs answers script dialogs. While one is open nothing else of the page can be asked, so that no call may
// be what answers it.
func (p *Page) answerDialogs(ctx context.Context) {
	for {
		select {
		case d := <-p.opened:
			if err := p.answer(ctx, d); err != nil && ctx.Err() == nil {
				p.log.Warn("a script dialog could not be answered", "kind", d.Type, "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (p *Page) answer(ctx context.Context, d *proto.PageJavascriptDialogOpening) error {
	accept := false
	switch d.Type {
	case proto.PageDialogTypeAlert, proto.PageDialogTypeBeforeunload:
		accept = true
	case proto.PageDialogTypeConfirm:
		accept = p.o.Dialogs.AcceptConfirm
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := p.call(ctx, proto.PageHandleJavaScriptDialog{Accept: accept}.Call)
	var said *cdp.Error
	if errors.As(err, &said) { // "No dialog is showing": it went by itself
		return nil
	}
	return err
}

// The watchdog's limits: how long a page may take for a sign of life, and how many it may miss before its scripts are
// ended.
const (
	probeLimit  = 5 * time.Second
	probeMisses = 3
)

// watchdog asks the page for a sign of life. One that gives none for long has its running script ended, which revives
// the same tab; one that stays mute is reported as "hung" once, and as "answers" when it comes back.
func (p *Page) watchdog(ctx context.Context) {
	tick := time.NewTicker(p.o.ProbeEvery)
	defer tick.Stop()
	misses, hung := 0, false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		switch err := p.probe(ctx); {
		case err == nil:
			if hung {
				p.events.Put(platforms.PageEvent{Kind: "answers", At: time.Now()})
			}
			misses, hung = 0, false
		case errors.Is(err, context.DeadlineExceeded):
			misses++
			p.log.Warn("the page gives no sign of life", "misses", misses)
			if misses == probeMisses {
				p.interrupt(ctx)
			}
			if misses > probeMisses && !hung {
				hung = true
				p.events.Put(platforms.PageEvent{Kind: "hung", At: time.Now()})
			}
		}
	}
}

// probe asks the page to evaluate 1.
func (p *Page) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(probeLimit, max(p.o.ProbeEvery, time.Second)))
	defer cancel()
	return p.call(ctx, func(c proto.Client) error {
		_, err := proto.RuntimeEvaluate{Expression: "1"}.Call(c)
		return err
	})
}

// interrupt ends whatever script runs in the page.
func (p *Page) interrupt(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	if err := p.call(ctx, proto.RuntimeTerminateExecution{}.Call); err != nil && ctx.Err() == nil {
		p.log.Warn("the page's script could not be ended", "error", err)
	}
}
