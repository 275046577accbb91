package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/proto"
)

// ErrBadURL means that an address cannot be opened.
var ErrBadURL = errors.New("only http:// and https:// addresses can be opened")

// CheckURL gives an address as it will be opened. Only http and https pass: no file, data, javascript, about, chrome,
// view-source, blob, ftp. One without a scheme is refused as well: whose guess would it be.
func CheckURL(address string) (string, error) {
	address = strings.TrimSpace(address)
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || len(address) > 8000 {
		return "", ErrBadURL
	}
	return u.String(), nil
}

// Navigate loads an address in the current tab and returns when its document has been read. An answer that is a
// download, or has no content, is a success that says so.
func (s *Session) Navigate(ctx context.Context, address string, o ActOptions) (Outcome, error) {
	address, err := CheckURL(address)
	if err != nil {
		return Outcome{}, err
	}
	o.Anew = true
	return s.Act(ctx, o, func(ctx context.Context, p *Page) error { return p.load(ctx, address) })
}

// loadTries is how often an address is asked for again when the page in the tab moved elsewhere by itself meanwhile.
const loadTries = 5

// load loads an address. Its errors are *NavigateError and those of Do.
func (p *Page) load(ctx context.Context, address string) error {
	before := p.mark()
	for range loadTries {
		loader, err := p.ask(ctx, address, before)
		if err != nil || loader == "" {
			return err
		}
		p.mu.Lock()
		asked := p.nav.commits
		p.mu.Unlock()
		reading, done := context.WithTimeout(ctx, readLimit)
		ousted, arrived := false, -1
		_ = p.wait(reading, func() bool { // a document that is read slowly is there all the same, and said to be loading
			if arrived < 0 && slices.Contains(p.nav.came, loader) {
				arrived = p.nav.commits
			}
			if arrived >= 0 {
				ousted = p.restless(arrived) && !p.isRead(loader) // it came, and went before anybody could read it
				return p.crashed || p.isRead(p.nav.loader) || ousted
			}
			// One document may have been on its way already. With the second, the page went over what we asked for.
			ousted = p.nav.commits > asked+1
			return p.crashed || ousted
		})
		done()
		if !ousted {
			return nil
		}
		p.stopLoading()
	}
	return &NavigateError{Code: "the page in the tab keeps moving on by itself; close the tab and open another"}
}

// ask begins a navigation and waits until the server has answered. The loader is the document's to come; without one
// there is nothing to wait for.
func (p *Page) ask(ctx context.Context, address string, before mark) (loader proto.NetworkLoaderID, err error) {
	// What is still under way when the time is over must not take the page's place later.
	loading, cancel := context.WithDeadlineCause(ctx, soft(ctx), errSlow)
	defer cancel()
	started, err := proto.PageNavigate{URL: address}.Call(p.Client(loading))
	if errors.Is(err, errSlow) || errors.Is(context.Cause(loading), errSlow) {
		p.stopLoading()
		return "", &NavigateError{Code: "no answer in time"}
	}
	if err != nil {
		var met *DialogError
		if loading.Err() != nil && !errors.As(context.Cause(ctx), &met) { // a page that asks before it is left goes on with the answer
			p.stopLoading()
		}
		return "", err
	}
	if started.ErrorText != "" {
		if p.aborted(ctx, started, before) {
			return "", nil
		}
		return "", &NavigateError{Code: started.ErrorText}
	}
	return started.LoaderID, nil // none: the same document, another place in it
}

var errSlow = errors.New("the server did not answer in time")

// soft is when a navigation is given up: a little before the call is cut off.
func soft(ctx context.Context) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Now().Add(callLimit)
	}
	return deadline.Add(-min(time.Second, time.Until(deadline)/8))
}

// aborted tells whether a navigation that came to nothing was a download or had no content.
func (p *Page) aborted(ctx context.Context, n *proto.PageNavigateResult, before mark) bool {
	if !strings.Contains(n.ErrorText, "ERR_ABORTED") {
		return false
	}
	// The facts may come a moment after the answer.
	waiting, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	found := false
	_ = p.s.wait(waiting, func() bool {
		downloads := 0
		for i := range p.s.downloads {
			if !p.s.downloads[i].told {
				downloads++
			}
		}
		a := p.answerOf(n.LoaderID)
		found = downloads > before.downloads || a.Status == 204 || a.Status == 205
		return found
	})
	return found
}

func (p *Page) answerOf(loader proto.NetworkLoaderID) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nav.answered[loader]
}

// stopLoading ends a navigation that was given up.
func (p *Page) stopLoading() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = proto.PageStopLoading{}.Call(p.Client(ctx)) // the page may hang, which is found out next
}

// ErrNoHistory means that there is no page to go back or forward to.
var ErrNoHistory = errors.New("there is no page in that direction")

// History goes back (-1) or forward (+1) in the current tab.
func (s *Session) History(ctx context.Context, by int, o ActOptions) (Outcome, error) {
	o.Anew = true
	return s.Act(ctx, o, func(ctx context.Context, p *Page) error {
		h, err := proto.PageGetNavigationHistory{}.Call(p.Client(ctx))
		if err != nil {
			return err
		}
		to := h.CurrentIndex + by
		if to < 0 || to >= len(h.Entries) || (by < 0 && h.Entries[to].URL == "about:blank" && to == 0) {
			return ErrNoHistory
		}
		before := p.mark()
		p.Sent()
		if err := (proto.PageNavigateToHistoryEntry{EntryID: h.Entries[to].ID}).Call(p.Client(ctx)); err != nil {
			return err
		}
		return p.arrive(ctx, before)
	})
}

// Reload loads the current tab's page again.
func (s *Session) Reload(ctx context.Context, o ActOptions) (Outcome, error) {
	o.Anew = true
	return s.Act(ctx, o, func(ctx context.Context, p *Page) error {
		if address := p.URL(); address == "" || address == "about:blank" {
			return fmt.Errorf("nothing is loaded yet: %w", ErrNoHistory)
		}
		before := p.mark()
		p.Sent()
		if err := (proto.PageReload{}).Call(p.Client(ctx)); err != nil {
			return err
		}
		return p.arrive(ctx, before)
	})
}

// arrive waits until the document has come that was asked for. One that takes long is told as loading.
func (p *Page) arrive(ctx context.Context, before mark) error {
	coming, cancel := context.WithTimeout(ctx, commitLimit)
	defer cancel()
	_ = p.wait(coming, func() bool {
		return p.nav.commits > before.commits || p.nav.inPage > before.inPage || (p.nav.started > before.started && !p.nav.pending) || p.crashed
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Select makes a tab current.
func (s *Session) Select(id string) error {
	p, err := s.Tab(id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.current = p
	s.wakeLocked()
	s.mu.Unlock()
	p.post(p.session, proto.PageBringToFront{})
	return nil
}

// CloseTab closes a tab without asking its page, also one that hangs. The session stays, with a blank tab if it was the
// last.
func (s *Session) CloseTab(ctx context.Context, id string) error {
	p, err := s.Tab(id)
	if err != nil {
		return err
	}
	if _, err := (proto.TargetCloseTarget{TargetID: p.target}).Call(s.browser.Bind(ctx, "")); err != nil && said(err) == nil {
		return err
	}
	select {
	case <-p.life.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// NewTab opens a blank tab and makes it current.
func (s *Session) NewTab(ctx context.Context) (*Page, error) {
	s.mu.Lock()
	n := len(s.tabs)
	s.mu.Unlock()
	if n >= MaxTabs {
		return nil, ErrTooManyTabs
	}
	p, err := s.openTab(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.current = p
	s.wakeLocked()
	s.mu.Unlock()
	return p, nil
}

// ErrTooManyTabs means that a session has as many tabs as it may have.
var ErrTooManyTabs = fmt.Errorf("a session has at most %d tabs: close one", MaxTabs)
