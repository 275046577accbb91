package browser

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"parley/browser/chromium"
	"parley/browser/display"
	"parley/internal/proc"
)

// Options make a Manager. Zero values work, but as root an Account is needed.
type Options struct {
	// Engines that sessions may ask for; the first is the default. Empty: Engines().
	Engines []Engine
	// MaxSessions at once; zero: 4.
	MaxSessions int
	// Idle is how long a session lives without a call; zero: 15 min.
	Idle time.Duration
	// Chromium starts every browser: Path, Account, NoSandbox, Dir, Language are taken from here.
	Chromium chromium.Options
	// Headless opens sessions without a display unless they ask for one.
	Headless bool
	// Profiles is the folder of named profiles, which the account must be able to enter; empty: there are none.
	Profiles string
	// Proxy gives the way out of a tenant's browsers ("http://127.0.0.1:3128"); nil or "": direct.
	Proxy func(tenant string) (string, error)
	// Log gets kinds, ids and counts, never what a page says; nil: slog.Default().
	Log *slog.Logger
}

// Manager opens sessions and ends them. It is safe for concurrent use.
type Manager struct {
	o      Options
	log    *slog.Logger
	life   context.Context
	stop   context.CancelFunc
	tasks  sync.WaitGroup
	taken  chan struct{} // one value for each session that is open or opening
	closed sync.Once

	mu       sync.Mutex
	sessions map[string]*Session
	closing  bool

	cleaning sync.Once
	janitor  *janitor
	noFolder error
	screen   screen
}

// FullError means that as many sessions are open as may be.
type FullError struct{ Max int }

func (e *FullError) Error() string {
	return fmt.Sprintf("%d sessions are open, which is the most", e.Max)
}

var (
	// ErrNoSession means that the owner has no session of that name.
	ErrNoSession = errors.New("there is no such session")
	// ErrNoProfiles means that named profiles are not kept here.
	ErrNoProfiles = errors.New("named profiles are not kept here")
	// ErrManagerClosed means that the service is shutting down.
	ErrManagerClosed = errors.New("the browser service is shutting down")
)

// NewManager makes a manager. Close ends it.
func NewManager(o Options) *Manager {
	if len(o.Engines) == 0 {
		o.Engines = Engines()
	}
	o.MaxSessions = cmp.Or(o.MaxSessions, 4)
	o.Idle = cmp.Or(o.Idle, 15*time.Minute)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	m := &Manager{o: o, log: o.Log, sessions: map[string]*Session{}, taken: make(chan struct{}, o.MaxSessions)}
	m.life, m.stop = context.WithCancel(context.Background())
	m.tasks.Go(m.reap)
	return m
}

// EngineNames are those a session may ask for, the default first.
func (m *Manager) EngineNames() []string {
	names := make([]string, len(m.o.Engines))
	for i, e := range m.o.Engines {
		names[i] = e.Name
	}
	return names
}

// Want says what session to open.
type Want struct {
	Owner Owner
	// Engine names one of the manager's; empty: that of the profile, else the first.
	Engine string
	// Profile names a persistent profile of the tenant; empty: nothing is kept.
	Profile string
	// Headful asks for a window on a display, or for none; nil: as the profile was used, else the manager's way.
	Headful *bool
	// Width and Height of the window; zero: 1280x720.
	Width, Height int
}

// Open opens a session. When the context ends before it is open there is none: what was opened is closed as soon as it
// is there.
func (m *Manager) Open(ctx context.Context, w Want) (*Session, error) {
	m.mu.Lock()
	if m.closing {
		m.mu.Unlock()
		return nil, ErrManagerClosed
	}
	m.mu.Unlock()
	select {
	case m.taken <- struct{}{}:
	default:
		return nil, &FullError{m.o.MaxSessions}
	}
	type opened struct {
		s   *Session
		err error
	}
	done := make(chan opened, 1)
	m.tasks.Go(func() {
		// Time enough to open on a machine that is overloaded, and no more: the slot is taken all the while.
		opening, cancel := context.WithTimeout(context.WithoutCancel(ctx), openLimit)
		defer cancel()
		defer context.AfterFunc(m.life, cancel)()
		s, err := m.open(opening, w)
		if err != nil {
			<-m.taken
		}
		done <- opened{s, err}
	})
	discard := func() {
		m.tasks.Go(func() {
			if o := <-done; o.s != nil {
				m.log.Info("a session that nobody waits for any more is closed", "session", o.s.id)
				o.s.Close()
			}
		})
	}
	select {
	case o := <-done:
		if o.err != nil {
			return nil, o.err
		}
		if ctx.Err() != nil {
			o.s.Close()
			return nil, context.Cause(ctx)
		}
		m.mu.Lock()
		if m.closing {
			m.mu.Unlock()
			o.s.Close()
			return nil, ErrManagerClosed
		}
		m.sessions[o.s.id] = o.s
		m.mu.Unlock()
		if o.s.life.Err() != nil { // it ended before it was listed
			m.forget(o.s)
			return nil, context.Cause(o.s.life)
		}
		return o.s, nil
	case <-ctx.Done():
		discard()
		return nil, context.Cause(ctx)
	}
}

// openLimit bounds the opening of a session, whoever still waits for it.
const openLimit = 60 * time.Second

// folder makes the folder of everything temporary, with the first session.
func (m *Manager) folder() (string, error) {
	m.cleaning.Do(func() {
		if m.janitor, m.noFolder = newJanitor(m.o.Chromium.Dir, m.o.Chromium.Account); m.noFolder == nil {
			m.screen.account, m.screen.dir, m.screen.started = m.o.Chromium.Account, m.janitor.dir, m.janitor.shown
		}
	})
	if m.noFolder != nil {
		return "", m.noFolder
	}
	return m.janitor.dir, nil
}

func (m *Manager) open(ctx context.Context, w Want) (_ *Session, err error) {
	dir, err := m.folder()
	if err != nil {
		return nil, err
	}
	secret := make([]byte, 16)
	rand.Read(secret) // never fails
	s := &Session{
		id: "s" + hex.EncodeToString(secret[:4]), owner: w.Owner, marker: "kit" + hex.EncodeToString(secret), log: m.log,
		refs: newRefs(), turn: make(chan struct{}, 1), closed: make(chan struct{}), changed: make(chan struct{}),
		opened: time.Now(), used: time.Now(), profile: w.Profile,
	}
	o := m.o.Chromium
	o.Log, o.Width, o.Height, o.Dir = m.log, w.Width, w.Height, dir
	var undo []func()
	defer func() {
		if err != nil {
			for _, f := range slices.Backward(undo) {
				f()
			}
		}
	}()

	var profile *Profile
	headful := w.Headful
	if w.Profile != "" {
		if m.o.Profiles == "" {
			return nil, ErrNoProfiles
		}
		h := Holder{Session: s.id, PID: os.Getpid(), Since: time.Now().UTC(), What: "session"}
		if profile, err = takeProfile(m.o.Profiles, w.Owner.Tenant, w.Profile, h, o.Account); err != nil {
			return nil, err
		}
		undo = append(undo, profile.Release)
		if !profile.New && w.Engine == "" {
			w.Engine = profile.Meta.Engine
		}
		o.Profile = profile.Data()
	}
	i := 0
	if w.Engine != "" {
		i = slices.IndexFunc(m.o.Engines, func(e Engine) bool { return e.Name == w.Engine })
		if i < 0 {
			return nil, &EngineError{Engine: w.Engine, Have: m.EngineNames()}
		}
	}
	s.engine = m.o.Engines[i]
	if profile != nil {
		if err := profile.fits(s.engine, headful); err != nil {
			return nil, err
		}
		if headful == nil && !profile.New {
			headful = &profile.Meta.Headful
		}
	}
	s.headful = !m.o.Headless
	if headful != nil {
		s.headful = *headful
	}
	if m.o.Proxy != nil {
		if o.Proxy, err = m.o.Proxy(w.Owner.Tenant); err != nil {
			return nil, err
		}
	}
	o.Headless = !s.headful
	if s.headful {
		env, letGo, err := m.screen.take(ctx)
		if err != nil {
			return nil, err
		}
		undo = append(undo, letGo)
		o.Env = append(slices.Clone(o.Env), env...)
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	if s.browser, err = s.engine.Start(ctx, o); err != nil {
		return nil, err
	}
	undo = append(undo, func() { _ = s.browser.Close() }) // the error of the opening is what counts
	if err := s.start(ctx); err != nil {
		s.end(err)
		return nil, err
	}
	if profile != nil {
		profile.Meta.Engine, profile.Meta.Family, profile.Meta.Headful = s.engine.Name, s.engine.Family, s.headful
		if err := profile.save(time.Now().UTC()); err != nil {
			s.end(err)
			return nil, err
		}
	}
	before := undo[:len(undo)-1] // the session closes its browser itself
	s.release = func() {
		for _, f := range slices.Backward(before) {
			f()
		}
		m.forget(s)
		<-m.taken
	}
	m.log.Info("session opened", "session", s.id, "engine", s.engine.Name, "headful", s.headful, "persistent", profile != nil)
	return s, nil
}

func (m *Manager) forget(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, s.id)
}

// Get finds an owner's session. Of another owner's it says what it says of one that never was.
func (m *Manager) Get(by Owner, id string) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil || s.owner != by || s.life.Err() != nil {
		return nil, fmt.Errorf("%s: %w", clip(id, 40), ErrNoSession)
	}
	return s, nil
}

// Only is the session of an owner who has one; nil when there is none or several.
func (m *Manager) Only(by Owner) *Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	var only *Session
	for _, s := range m.sessions {
		switch {
		case s.owner != by || s.life.Err() != nil:
		case only != nil:
			return nil
		default:
			only = s
		}
	}
	return only
}

// Info is what is known of a session.
type Info struct {
	ID      string
	Engine  string
	Profile string
	Headful bool
	Opened  time.Time
	// Expires is when it will be closed if nobody uses it.
	Expires time.Time
	Tabs    int
	URL     string
}

// Info tells how the session is, without asking its browser.
func (s *Session) Info(idle time.Duration) Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := Info{ID: s.id, Engine: s.engine.Name, Profile: s.profile, Headful: s.headful, Opened: s.opened, Expires: s.used.Add(idle), Tabs: len(s.tabs)}
	if s.current != nil {
		i.URL = s.current.URL()
	}
	return i
}

// List gives an owner's sessions, oldest first.
func (m *Manager) List(by Owner) []Info {
	m.mu.Lock()
	var mine []*Session
	for _, s := range m.sessions {
		if s.owner == by && s.life.Err() == nil {
			mine = append(mine, s)
		}
	}
	m.mu.Unlock()
	slices.SortFunc(mine, func(a, b *Session) int { return a.opened.Compare(b.opened) })
	out := make([]Info, len(mine))
	for i, s := range mine {
		out[i] = s.Info(m.o.Idle)
	}
	return out
}

// Count is how many sessions are open, whosever they are.
func (m *Manager) Count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sessions)
}

// Sight is what is known of the page that a session's calls work, without asking it.
type Sight struct {
	URL      string
	Document string // new with every document
	Tab      string // its name
	Tabs     int
}

// Peek tells what a tenant's session shows, whoever of the tenant owns it.
func (m *Manager) Peek(tenant, id string) (Sight, bool) {
	m.mu.Lock()
	s := m.sessions[id]
	m.mu.Unlock()
	if s == nil || s.owner.Tenant != tenant {
		return Sight{}, false
	}
	p := s.Current()
	if p == nil {
		return Sight{}, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return Sight{URL: p.url, Document: string(p.nav.loader), Tab: p.id, Tabs: len(s.Tabs())}, true
}

// Idle is how long a session lives without a call.
func (m *Manager) Idle() time.Duration { return m.o.Idle }

// Gone closes what an owner that went away leaves behind, and does not wait for it.
func (m *Manager) Gone(by Owner) {
	m.closeWhere("its client went away", func(s *Session) bool { return s.owner == by })
}

// closeWhere closes sessions in the background.
func (m *Manager) closeWhere(why string, which func(*Session) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing {
		return
	}
	for _, s := range m.sessions {
		if which(s) {
			m.log.Info("session closes", "session", s.id, "why", why)
			m.tasks.Go(s.Close)
		}
	}
}

// reap closes sessions that nobody uses.
func (m *Manager) reap() {
	every := time.NewTicker(min(max(m.o.Idle/10, 100*time.Millisecond), 30*time.Second))
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-m.life.Done():
			return
		}
		m.closeWhere("it was not used", func(s *Session) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.inCall == 0 && time.Since(s.used) > m.o.Idle
		})
	}
}

// Close ends every session and waits for it.
func (m *Manager) Close() {
	m.closed.Do(func() {
		m.mu.Lock()
		m.closing = true
		open := make([]*Session, 0, len(m.sessions))
		for _, s := range m.sessions {
			open = append(open, s)
		}
		m.mu.Unlock()
		m.stop()
		var ending sync.WaitGroup
		for _, s := range open {
			ending.Go(s.Close)
		}
		ending.Wait()
		m.tasks.Wait()
		m.cleaning.Do(func() { m.noFolder = ErrManagerClosed })
		if m.janitor != nil {
			if err := m.janitor.close(); err != nil {
				m.log.Error("temporary files are left", "err", err)
			}
		}
	})
}

// screen is the display that all headful sessions share, while there are any.
type screen struct {
	account *proc.Account
	dir     string
	started func(*display.Display)

	mu    sync.Mutex
	d     *display.Display
	users int
}

// take gives the environment of a client of the display, starting it for the first.
func (s *screen) take(ctx context.Context) (env []string, letGo func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.d != nil {
		select {
		case <-s.d.Done(): // it died; its clients are about to
			_ = s.d.Close()
			s.d, s.users = nil, 0
		default:
		}
	}
	if s.d == nil {
		if s.d, err = display.Start(ctx, display.Options{Account: s.account, Dir: s.dir, Width: 1600, Height: 1000}); err != nil {
			return nil, nil, err
		}
		s.started(s.d)
	}
	s.users++
	d := s.d
	return d.Env(), sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.d != d {
			return
		}
		if s.users--; s.users == 0 {
			_ = d.Close() // its folder lies in a temporary one
			s.d = nil
		}
	}), nil
}
