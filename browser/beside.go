package browser

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser/chromium"
)

// This file is for an adapter that works a session's tabs beside its calls: the control endpoint.

// fronts numbers the changes of which tab is current, over all sessions, so that the largest is the newest.
var fronts atomic.Uint64

// frontLocked notes that another tab is current. The caller holds the lock; whoever changes the current tab wakes after it.
func (s *Session) frontLocked() {
	if s.current != s.fronted {
		s.fronted, s.front = s.current, fronts.Add(1)
	}
}

// Stand is how a tab stands among its session's.
type Stand struct {
	// Front numbers the moment at which it became the one that calls work; zero where it is not. Numbers grow over all
	// sessions, so the largest is the tab that came to the front last.
	Front uint64
	// Held tells that a script dialog stands open in it, or that it crashed.
	Held bool
}

// Stand tells how the tab of a target stands; false where the session has none.
func (s *Session) Stand(target proto.TargetTargetID) (Stand, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.tabs, func(p *Page) bool { return p.target == target })
	if i < 0 {
		return Stand{}, false
	}
	s.frontLocked()
	p := s.tabs[i]
	var st Stand
	if p == s.current {
		st.Front = s.front
	}
	p.mu.Lock()
	st.Held = p.dialog != nil || p.crashed
	p.mu.Unlock()
	return st, true
}

// Show makes the tab of a target the one that calls work.
func (s *Session) Show(target proto.TargetTargetID) error {
	s.mu.Lock()
	i := slices.IndexFunc(s.tabs, func(p *Page) bool { return p.target == target })
	if i < 0 {
		s.mu.Unlock()
		return ErrTabClosed
	}
	p := s.tabs[i]
	s.current = p
	s.fronted, s.front = p, fronts.Add(1) // also where it was before: another session's may have been shown since
	s.wakeLocked()
	s.mu.Unlock()
	p.post(p.session, proto.PageBringToFront{})
	return nil
}

// OpenBehind opens a blank tab and leaves the current one where it is.
func (s *Session) OpenBehind(ctx context.Context) (proto.TargetTargetID, error) {
	s.mu.Lock()
	n := len(s.tabs)
	s.mu.Unlock()
	if n >= MaxTabs {
		return "", ErrTooManyTabs
	}
	p, err := s.openTab(ctx)
	if err != nil {
		return "", err
	}
	return p.target, nil
}

// Hold waits for the session's pages as a call does, and has them until release is called: whoever works them beside Do
// must hold them. It counts as use.
func (s *Session) Hold(ctx context.Context) (release func(), err error) {
	s.touch(+1)
	select {
	case s.turn <- struct{}{}:
		return sync.OnceFunc(func() { s.touch(-1); <-s.turn }), nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.life.Done():
		err = context.Cause(s.life)
	}
	s.touch(-1)
	return nil, err
}

// Chromium is the session's browser, for an adapter that attaches to it with sessions of its own. It stays the session's:
// nobody else closes it.
func (s *Session) Chromium() *chromium.Browser { return s.browser }

// Of gives a tenant's sessions, whoever of the tenant owns them, oldest first.
func (m *Manager) Of(tenant string) []*Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*Session
	for _, s := range m.sessions {
		if s.owner.Tenant == tenant && s.life.Err() == nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *Session) int { return a.opened.Compare(b.opened) })
	return out
}
