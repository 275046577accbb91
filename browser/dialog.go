package browser

import (
	"context"
	"errors"
	"time"

	"github.com/go-rod/rod/lib/proto"
)

func (p *Page) dialogOpened(d *Dialog) {
	p.mu.Lock()
	dismissing := p.dismissing
	if dismissing {
		p.dismissed++
	}
	p.mu.Unlock()
	if dismissing {
		p.post(p.session, proto.PageHandleJavaScriptDialog{})
		return
	}
	p.update(func() { p.dialog = d })
	p.s.notify()
}

func (p *Page) dialogClosed() {
	p.update(func() { p.dialog = nil })
	p.s.notify()
}

// Dialog is the script dialog that stands open in the tab, if there is one.
func (p *Page) Dialog() *Dialog {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialog
}

// OpenDialog is a script dialog that stands open in any tab of the session, the current one's first. It holds up calls:
// tabs that opened each other share a process, which stands still.
func (s *Session) OpenDialog() *Dialog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openDialogLocked()
}

func (s *Session) openDialogLocked() *Dialog {
	if s.current != nil {
		if d := s.current.Dialog(); d != nil {
			return d
		}
	}
	for _, p := range s.tabs {
		if d := p.Dialog(); d != nil {
			return d
		}
	}
	return nil
}

// ErrNoDialog means that no script dialog is open.
var ErrNoDialog = errors.New("no dialog is open")

// Answer answers the script dialog that stands open, in the tab of that name or in any. It passes by the queue of calls, since they
// wait for it. With stop the script that opened it is ended as well, so that a page cannot open one after the other.
func (s *Session) Answer(ctx context.Context, tab string, accept bool, text string, stop bool) (Dialog, error) {
	d := s.OpenDialog()
	if tab != "" {
		p, err := s.Tab(tab)
		if err != nil {
			return Dialog{}, err
		}
		d = p.Dialog()
	}
	if d == nil {
		return Dialog{}, ErrNoDialog
	}
	p, err := s.Tab(d.Tab)
	if err != nil {
		return Dialog{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if stop {
		p.mu.Lock()
		p.dismissing, p.dismissed = true, 0
		p.mu.Unlock()
	}
	err = proto.PageHandleJavaScriptDialog{Accept: accept, PromptText: text}.Call(p.Client(ctx))
	if stop {
		s.stopDialogs(ctx, p)
	}
	switch e := said(err); {
	case e != nil: // it went by itself
	case err != nil:
		return *d, err
	}
	p.mu.Lock()
	if p.dialog == d {
		p.dialog = nil
	}
	p.mu.Unlock()
	return *d, nil
}

// stopDialogs ends a page that opens one dialog after the other: each is dismissed the moment it opens, while the script
// is ended; one that cannot be ended loses its tab.
func (s *Session) stopDialogs(ctx context.Context, p *Page) {
	defer func() {
		p.mu.Lock()
		p.dismissing = false
		p.mu.Unlock()
	}()
	for last, try := -1, 0; try < 10; try++ {
		p.post(p.session, proto.RuntimeTerminateExecution{})
		select {
		case <-time.After(150 * time.Millisecond):
		case <-ctx.Done():
			return
		case <-p.life.Done():
			return
		}
		p.mu.Lock()
		n := p.dismissed
		p.mu.Unlock()
		if n == last && p.probe(probeLimit/2) {
			return
		}
		last = n
	}
	s.replace(p)
}

// AnswerAndSee answers like Answer and tells what came of it: the call that met the dialog goes on in the page, and the
// next dialog may open at once.
func (s *Session) AnswerAndSee(ctx context.Context, tab string, accept bool, text string, stop bool) (Outcome, error) {
	p := s.Current()
	var before mark
	if p != nil {
		before = p.mark()
	}
	d, err := s.Answer(ctx, tab, accept, text, stop)
	if err != nil {
		return Outcome{}, err
	}
	answered, err := s.Tab(d.Tab)
	if err == nil {
		// What the script does next, it does soon; a dialog that comes ends the wait.
		seeing, cancel := context.WithCancel(ctx)
		watching := make(chan struct{})
		go func() {
			defer close(watching)
			_ = answered.wait(seeing, func() bool { return answered.dialog != nil })
			cancel()
		}()
		answered.settle(seeing, before)
		cancel()
		<-watching
	}
	var out Outcome
	s.tell(ctx, p, before, &out)
	out.Dialog = s.OpenDialog()
	return out, nil
}

// TabInfo is what is known of a tab.
type TabInfo struct {
	ID, URL, Title, Opener string
	Current, Crashed       bool
	Dialog                 *Dialog
}

// TabList tells of the session's tabs. It asks no page, so that one that hangs does not matter.
func (s *Session) TabList(ctx context.Context) []TabInfo {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	current := s.Current()
	var out []TabInfo
	for _, p := range s.Tabs() {
		i := TabInfo{ID: p.id, URL: p.URL(), Current: p == current, Dialog: p.Dialog()}
		if address, title, err := p.info(ctx); err == nil {
			i.URL, i.Title = address, clip(title, 200)
		}
		i.URL = clip(i.URL, 2000)
		if p.opener != nil {
			i.Opener = p.opener.id
		}
		p.mu.Lock()
		i.Crashed = p.crashed
		p.mu.Unlock()
		out = append(out, i)
	}
	return out
}

// TakeNotes gives what happened beside calls and has not been told yet.
func (s *Session) TakeNotes() []string { return s.takeNotes() }
