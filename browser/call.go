package browser

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-rod/rod/lib/proto"
)

// Limits of a call that touches a page.
const (
	// defaultLimit is for a context without a deadline.
	defaultLimit = 60 * time.Second
	// reserve is how long before its deadline a call is cut off, so that the page can be looked after and the answer
	// be in time; a third of a deadline that is short.
	reserve = 8 * time.Second
	// probeLimit is how long a page has to answer after a call was cut off.
	probeLimit = 3 * time.Second
	// replaceLimit is how long a new tab may take.
	replaceLimit = 15 * time.Second
	// lingerLimit is how long what was cut off may go on before its tab is replaced to stop it, and abandonLimit how long
	// after that before the session is closed.
	lingerLimit  = 20 * time.Second
	abandonLimit = 3 * time.Second
	// answerMargin is kept back at the very end, for the answer to get out.
	answerMargin = 250 * time.Millisecond
)

// budget is how a call's time is divided.
type budget struct {
	began, cut, deadline time.Time
	least                time.Duration // what must be left before the cut for a call to be begun
	probe                time.Duration
}

func divide(now, deadline time.Time) budget {
	total := max(deadline.Sub(now), 0)
	kept := reserve
	if total < 3*reserve {
		kept = total / 3
	}
	return budget{
		began: now, cut: deadline.Add(-kept), deadline: deadline,
		least: min(2*time.Second, (total-kept)/4),
		probe: min(probeLimit, kept*3/8),
	}
}

// Do works the current tab: it waits for its turn among the session's calls, then runs f with the tab. It always returns
// before the context's deadline (60 s where there is none), whatever page or f do:
//
//   - *DialogError when a script dialog stands open before, or opens meanwhile: f's context then ends with it.
//   - *CutError when f's time was over; it says what became of the page. ErrBusy when f was not begun for want of time.
//   - ErrTabClosed, ErrCrashed, ErrSessionClosed.
//
// f must do everything with the context it is given; when that ends it has to return soon. Two calls never work a
// session's pages at once: the next waits until f has returned and the page is fit for use.
func (s *Session) Do(ctx context.Context, f func(ctx context.Context, p *Page) error) error {
	return s.do(ctx, false, f)
}

func (s *Session) do(ctx context.Context, anew bool, f func(ctx context.Context, p *Page) error) error {
	now := time.Now()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = now.Add(defaultLimit)
	}
	b := divide(now, deadline)
	if err := s.takeTurn(ctx, b); err != nil {
		return err
	}
	p, err := s.ready(ctx, b, anew)
	if err != nil {
		<-s.turn
		return err
	}
	p.mu.Lock()
	p.sent = false
	p.mu.Unlock()

	working, cancel := context.WithCancelCause(ctx)
	working, stop := context.WithDeadlineCause(working, b.cut, errCut)
	done := make(chan error, 1)
	s.working.Go(func() {
		defer func() {
			if x := recover(); x != nil {
				s.log.Error("a call panicked", "session", s.id, "stack", string(debug.Stack()))
				done <- fmt.Errorf("panic in a call: %T", x)
			}
		}()
		done <- f(working, p)
	})
	finish := func() {
		stop()
		cancel(nil)
		p.letGo()
	}
	why, err := s.watch(ctx, b, p, done)
	if why == nil {
		finish()
		s.touch(-1)
		<-s.turn
		return err
	}
	cancel(why)
	// It has to return now. Whoever does not is waited for, and stopped by taking its tab away.
	answered := make(chan error, 1)
	s.working.Go(func() {
		answered <- s.aftermath(b, p, why, done)
		finish()
		s.touch(-1)
		<-s.turn
	})
	if errors.Is(why, context.Canceled) && ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return why // the caller went away; what remains is done behind its back
	}
	select {
	case err := <-answered:
		return err
	case <-time.After(max(time.Until(b.deadline)-answerMargin, 0)):
		if errors.Is(why, errCut) {
			return &CutError{After: time.Since(b.began), Page: Replacing}
		}
		return why
	}
}

var errCut = errors.New("the call's time is over")

// takeTurn waits for the session's pages.
func (s *Session) takeTurn(ctx context.Context, b budget) error {
	s.touch(+1)
	giveUp := time.NewTimer(max(time.Until(b.cut.Add(-b.least)), 0))
	defer giveUp.Stop()
	var err error
	select {
	case s.turn <- struct{}{}:
		if s.life.Err() == nil {
			return nil
		}
		<-s.turn
		err = context.Cause(s.life)
	default:
		select {
		case s.turn <- struct{}{}:
			if s.life.Err() == nil {
				return nil
			}
			<-s.turn
			err = context.Cause(s.life)
		case <-giveUp.C:
			err = ErrBusy
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-s.life.Done():
			err = context.Cause(s.life)
		}
	}
	s.touch(-1)
	return err
}

// touch notes that the session is used; in counts calls in and out.
func (s *Session) touch(in int) {
	s.mu.Lock()
	s.inCall += in
	s.used = time.Now()
	s.mu.Unlock()
}

// ready gives the tab to work: the current one, without a dialog in the way. Where no tab is left, or anew says that the
// call will load a document in it anyway, one is made.
func (s *Session) ready(ctx context.Context, b budget, anew bool) (*Page, error) {
	if d := s.OpenDialog(); d != nil {
		s.touch(-1)
		return nil, &DialogError{Dialog: *d, Before: true}
	}
	p := s.Current()
	if p == nil {
		// The last tab closed itself: a blank one keeps the session usable.
		opening, cancel := context.WithDeadline(ctx, b.cut)
		defer cancel()
		fresh, err := s.openTab(opening)
		if err != nil {
			s.touch(-1)
			return nil, err
		}
		s.mu.Lock()
		s.current = fresh
		s.mu.Unlock()
		s.note(fresh, noteCurrent)
		p = fresh
	}
	p.mu.Lock()
	crashed := p.crashed
	p.mu.Unlock()
	if crashed && !anew {
		s.touch(-1)
		return nil, ErrCrashed
	}
	return p, nil
}

// watch waits until f has returned (why is nil then), or for what ends it before.
func (s *Session) watch(ctx context.Context, b budget, p *Page, done <-chan error) (why, err error) {
	cut := time.NewTimer(max(time.Until(b.cut), 0))
	defer cut.Stop()
	for {
		s.mu.Lock()
		d, changed := s.openDialogLocked(), s.changed
		s.mu.Unlock()
		select {
		case err := <-done:
			return nil, err
		default:
		}
		if d != nil {
			return &DialogError{Dialog: *d}, nil
		}
		select {
		case err := <-done:
			return nil, err
		case <-changed:
		case <-cut.C:
			return errCut, nil
		case <-p.life.Done():
			return context.Cause(p.life), nil
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				return errCut, nil
			}
			return fmt.Errorf("%w: %w", context.Canceled, context.Cause(ctx)), nil
		}
		p.mu.Lock()
		crashed := p.crashed
		p.mu.Unlock()
		if crashed {
			// Calls of a dead renderer are never answered.
			return ErrCrashed, nil
		}
	}
}

// aftermath waits for what was cut off and looks after the page, and gives the call's error.
func (s *Session) aftermath(b budget, p *Page, why error, done <-chan error) error {
	stopped := waitFor(done, 2*time.Second)
	switch {
	case !errors.Is(why, errCut) && stopped:
		return why
	case s.life.Err() != nil:
		waitFor(done, abandonLimit)
		return why
	}
	state := StillAnswers
	if errors.Is(why, errCut) && p.life.Err() == nil {
		state = s.recover(b, p)
	}
	if !stopped && state != Replaced && state != Wedged && !waitFor(done, lingerLimit) {
		state = s.replace(p) // that stops it
	}
	if !stopped && !waitFor(done, abandonLimit) {
		s.log.Error("a call could not be stopped; its session is closed", "session", s.id)
		s.fail(errors.New("a call could not be stopped"))
		state = Wedged
	}
	if errors.Is(why, errCut) {
		return &CutError{After: time.Since(b.began), Page: state}
	}
	return why
}

func waitFor(done <-chan error, limit time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// recover finds out whether the page still responds; one that does not has its scripts ended, and is replaced when that
// does not help.
func (s *Session) recover(b budget, p *Page) PageState {
	if p.Dialog() != nil || p.probe(b.probe) {
		return StillAnswers
	}
	p.terminate(b.probe / 4)
	if p.probe(b.probe / 2) {
		s.log.Info("a page's script was stopped", "session", s.id, "tab", p.id)
		return Interrupted
	}
	return s.replace(p)
}

// probe asks the page to evaluate 1.
func (p *Page) probe(limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := proto.RuntimeEvaluate{Expression: "1"}.Call(p.Client(ctx))
	return err == nil
}

// terminate ends whatever scripts run in the page and its frames.
func (p *Page) terminate(limit time.Duration) {
	p.mu.Lock()
	for session := range p.subs {
		p.post(session, proto.RuntimeTerminateExecution{})
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_ = proto.RuntimeTerminateExecution{}.Call(p.Client(ctx)) // whether it helped, the probe tells
}

// replace puts a new tab of the same session in the place of one that does not respond.
func (s *Session) replace(p *Page) PageState {
	ctx, cancel := context.WithTimeout(context.Background(), replaceLimit)
	defer cancel()
	fresh, err := s.openTab(ctx)
	if err == nil {
		s.mu.Lock()
		s.current = fresh
		s.wakeLocked()
		s.mu.Unlock()
		_, err = proto.TargetCloseTarget{TargetID: p.target}.Call(s.browser.Bind(ctx, ""))
		if err == nil || said(err) != nil {
			select {
			case <-p.life.Done():
				err = nil
			case <-ctx.Done():
				err = errors.New("the stuck tab does not close")
			}
		}
	}
	if err == nil && !slices.Contains(s.Tabs(), fresh) {
		err = errors.New("the new tab went away")
	}
	if err != nil {
		s.log.Warn("a page that hangs could not be replaced; its session is closed", "session", s.id, "err", err)
		s.fail(errors.New("page-wedged"))
		return Wedged
	}
	s.log.Info("a page that hung was replaced", "session", s.id, "tab", fresh.id)
	s.note(fresh, noteReplaced)
	return Replaced
}

// letGo releases what the call held in the page.
func (p *Page) letGo() {
	if p.life.Err() != nil {
		return
	}
	p.post(p.session, proto.RuntimeReleaseObjectGroup{ObjectGroup: objectGroup})
	p.mu.Lock()
	defer p.mu.Unlock()
	for session := range p.subs {
		p.post(session, proto.RuntimeReleaseObjectGroup{ObjectGroup: objectGroup})
	}
}

// Tabs are the session's tabs, oldest first.
func (s *Session) Tabs() []*Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tabs)
}
