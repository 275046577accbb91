package browser

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-rod/rod/lib/proto"
)

// Outcome is what came of a call that acted.
type Outcome struct {
	Tab       string     `json:"tab" doc:"The current tab."`
	URL       string     `json:"url" arg:"untrusted" doc:"Its address."`
	Title     string     `json:"title,omitempty" arg:"untrusted" doc:"Its title."`
	Navigated bool       `json:"navigated,omitempty" doc:"Another document took the place of the page."`
	Status    int        `json:"status,omitempty" doc:"What the server answered, when another document came."`
	Loading   bool       `json:"loading,omitempty" doc:"The document is still being loaded; it can be read all the same."`
	NoContent bool       `json:"no_content,omitempty" doc:"The server answered without content (204 or 205); the page stays as it was."`
	Dialog    *Dialog    `json:"dialog,omitempty" doc:"A script dialog stands open and holds up the page: answer it with dialog."`
	Downloads []Download `json:"downloads,omitempty" doc:"Files that the page offered."`
	Notes     []string   `json:"notes,omitempty" doc:"What else happened: tabs that came and went, crashes."`
	Errors    int        `json:"page_errors,omitempty" doc:"New errors of the page's scripts (console has them)."`
	Wall      *Wall      `json:"bot_wall,omitempty" doc:"The page asks whether a person is there, or refuses access."`
	Changes   *Changes   `json:"changes,omitempty" doc:"What the page shows differently."`
}

// ActOptions say how an act is done and told.
type ActOptions struct {
	// Changes asks for what the page shows differently afterwards.
	Changes bool
	// Anew says that the call loads a document in any case, so that a crashed page is no hindrance.
	Anew bool
}

// Act is Do for what gives input or navigates: it waits until the page is quiet again, and tells what came of it. f calls
// Page.Sent before its first input; a dialog, another document or the tab's end after that is an outcome, not an error.
func (s *Session) Act(ctx context.Context, o ActOptions, f func(ctx context.Context, p *Page) error) (Outcome, error) {
	var (
		out    Outcome
		seen   Outcome // what f's goroutine saw: looked at only where that has ended, since one that was cut off still writes
		acted  *Page
		before mark
		old    *Snapshot
	)
	err := s.do(ctx, o.Anew, func(ctx context.Context, p *Page) error {
		acted = p
		if o.Changes {
			var err error
			if old, err = p.Snapshot(ctx, ReadOptions{}); err != nil {
				return err
			}
		}
		before = p.mark()
		if err := f(ctx, p); err != nil && !(p.hasSent() && (errors.Is(err, ErrNavigated) || errors.Is(err, ErrFrameGone))) {
			return err
		}
		p.settle(ctx, before)
		p = s.follow(ctx, p, before)
		if o.Changes && p == acted && p.life.Err() == nil {
			if now, err := p.Snapshot(ctx, ReadOptions{}); err == nil { // else what was done is done, and what it changed is not known
				seen.Changes = Diff(old, now)
			}
		}
		seen.Wall = p.wall(ctx)
		return nil
	})
	var met *DialogError
	switch {
	case err == nil:
		out.Changes, out.Wall = seen.Changes, seen.Wall
	case errors.As(err, &met) && !met.Before && acted != nil && (acted.hasSent() || o.Anew):
		out.Dialog = &met.Dialog
	case acted != nil && acted.hasSent() && (errors.Is(err, ErrTabClosed) || errors.Is(err, ErrCrashed)) && s.life.Err() == nil:
		// It took the tab with it: the notes say so.
	default:
		return Outcome{}, err
	}
	s.tell(ctx, acted, before, &out)
	return out, nil
}

// tell fills in what happened since the mark.
func (s *Session) tell(ctx context.Context, acted *Page, before mark, out *Outcome) {
	p := s.Current()
	if p == nil {
		out.Notes = s.takeNotes()
		out.Notes = append(out.Notes, "no tab is left; the next call opens one")
		return
	}
	out.Tab, out.URL = p.id, p.URL()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if address, title, err := p.info(ctx); err == nil {
		out.URL, out.Title = address, clip(title, 200)
	}
	out.URL = clip(out.URL, 2000)
	p.mu.Lock()
	if p == acted {
		out.Navigated = p.nav.commits > before.commits
	}
	if out.Navigated || p != acted {
		out.Status = p.nav.answered[p.nav.loader].Status
		out.Loading = p.nav.frame != "" && !p.isRead(p.nav.loader) && p.url != "about:blank"
	}
	for loader, a := range p.nav.answered {
		if (a.Status == 204 || a.Status == 205) && loader != p.nav.loader && !before.answered[loader] {
			out.NoContent = true
		}
	}
	p.mu.Unlock()
	out.Downloads = s.takeDownloads()
	out.Errors = p.newErrors()
	out.Notes = append(out.Notes, s.takeNotes()...)
}

// mark is how a page was before an act.
type mark struct {
	commits, started, inPage int
	request                  int
	downloads                int
	answered                 map[proto.NetworkLoaderID]bool
	tabs                     []*Page
}

func (p *Page) mark() mark {
	m := mark{downloads: p.s.untoldDownloads(), tabs: p.s.Tabs(), answered: map[proto.NetworkLoaderID]bool{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	m.commits, m.started, m.inPage, m.request = p.nav.commits, p.nav.started, p.nav.inPage, p.network.last
	for loader := range p.nav.answered {
		m.answered[loader] = true
	}
	return m
}

// Limits of waiting for quiet. Nothing here is an error when it runs out: the answer then says that it is still loading.
const (
	// calm is how long nothing may change in the page for it to count as quiet, and calmLimit how long that is waited for.
	calm      = 20 * time.Millisecond
	calmLimit = 250 * time.Millisecond
	// fetchLimit is how long requests that the act set off are waited for.
	fetchLimit = 2 * time.Second
	// commitLimit is how long a navigation that the act set off may take to come, and readLimit how long its document may
	// take to be read.
	commitLimit = 15 * time.Second
	readLimit   = 8 * time.Second
)

// settle waits until the page is quiet after an act: drawn, without changes, without requests that the act set off, and
// with the document read that it led to.
func (p *Page) settle(ctx context.Context, before mark) {
	p.mu.Lock()
	since := p.nav.commits
	p.mu.Unlock()
	for range 4 {
		if !p.quiet(ctx, calm, calmLimit) && ctx.Err() != nil {
			return
		}
		moved := p.settleNavigation(ctx, before, since)
		asked := p.settleRequests(ctx, before)
		p.mu.Lock()
		restless := p.restless(since)
		p.mu.Unlock()
		if !moved && !asked || restless {
			return
		}
		p.mu.Lock()
		before.commits, before.started, before.request = p.nav.commits, p.nav.started, p.network.last
		p.mu.Unlock()
	}
}

// settleNavigation waits for a navigation that began, and tells whether there was one.
func (p *Page) settleNavigation(ctx context.Context, before mark, since int) bool {
	p.mu.Lock()
	began := p.nav.pending || p.nav.commits > before.commits
	p.mu.Unlock()
	if !began {
		return false
	}
	committing, cancel := context.WithTimeout(ctx, commitLimit)
	defer cancel()
	_ = p.wait(committing, func() bool { return !p.nav.pending || p.crashed }) // what it is like then is told
	reading, done := context.WithTimeout(ctx, readLimit)
	defer done()
	_ = p.wait(reading, func() bool {
		return p.nav.commits == before.commits || p.isRead(p.nav.loader) || p.crashed || p.restless(since)
	})
	return true
}

// restlessAfter is how many documents may take each other's place in one act before nobody waits for the last.
const restlessAfter = 10

// restless tells that the page moves on and on since it had committed so many documents. The caller holds the lock.
func (p *Page) restless(since int) bool { return p.nav.commits >= since+restlessAfter }

// settleRequests waits for requests that began since, and tells whether there were any.
func (p *Page) settleRequests(ctx context.Context, before mark) bool {
	p.mu.Lock()
	waits := p.awaited(before.request) > 0
	p.mu.Unlock()
	if !waits {
		return false
	}
	fetching, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	_ = p.wait(fetching, func() bool { return p.awaited(before.request) == 0 || p.nav.pending || p.crashed })
	return true
}

// quiet waits until the page has drawn and changed nothing for a moment, and tells whether it could be asked.
func (p *Page) quiet(ctx context.Context, calm, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit+500*time.Millisecond)
	defer cancel()
	main, err := p.Main(ctx)
	if err != nil {
		return false
	}
	return main.Run(ctx, nil, "(arg, kit) => kit.quiet(arg)", map[string]any{"calm": calm.Milliseconds(), "max": limit.Milliseconds()}, nil) == nil
}

// Quiet waits until the page is quiet, as after an act. It is for acts that consist of several.
func (p *Page) Quiet(ctx context.Context) { p.settle(ctx, p.mark()) }

// follow makes a tab current that the act opened: the newest of those the acted tab opened since. Tabs that come at
// another time are named and stay in the background.
func (s *Session) follow(ctx context.Context, p *Page, before mark) *Page {
	s.mu.Lock()
	var newest *Page
	for _, t := range s.tabs {
		if t.opener == p && !slices.Contains(before.tabs, t) {
			newest = t
		}
	}
	if newest == nil {
		c := s.current
		s.mu.Unlock()
		if c != nil {
			return c
		}
		return p
	}
	s.current = newest
	s.wakeLocked()
	s.mu.Unlock()
	s.note(newest, noteCurrent)
	newest.settle(ctx, mark{})
	return newest
}
