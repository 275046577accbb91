// Package chrome shows a tenant's browser sessions to the control endpoint as one browser with tabs, and holds the tabs that it works to their rules.
package chrome

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
	"parley/browser/chromium"
	"parley/control/tabs"
)

// Answer is what a test serves in the place of the network.
type Answer struct {
	Status int
	Header map[string]string
	Body   string
}

// Options of a browser; zero values work.
type Options struct {
	// Permits says which hosts a tab may reach at all once the endpoint has moved it; nil is all.
	Permits func(host string) bool
	// Answer serves requests in the place of the network; nil, or a nil answer, leaves it to the network. For tests.
	Answer func(r tabs.Request) *Answer
	Log    *slog.Logger // nil: slog.Default
}

// Client is the owner of sessions that are opened here.
const Client = "control"

// Browser implements tabs.Browser over the sessions that a tenant has open, whichever of its clients opened them. The tab
// in the foreground is the current one of the session where one became current last.
type Browser struct {
	m      *browser.Manager
	tenant string
	o      Options

	mu     sync.Mutex
	views  []*view
	closed bool
	// looking holds one look at the sessions back while another is under way.
	looking chan struct{}
}

// New shows the sessions of a tenant. Nothing of them is touched before the first call. End lets them go.
func New(m *browser.Manager, tenant string, o Options) *Browser {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Browser{m: m, tenant: tenant, o: o, looking: make(chan struct{}, 1)}
}

// End takes back what was added to the tabs. The sessions stay.
func (b *Browser) End() {
	b.mu.Lock()
	views := b.views
	b.views, b.closed = nil, true
	b.mu.Unlock()
	for _, x := range views {
		x.leave()
	}
}

// Refused is how many requests were held back.
func (b *Browser) Refused() int {
	b.mu.Lock()
	views := slices.Clone(b.views)
	b.mu.Unlock()
	n := 0
	for _, x := range views {
		x.mu.Lock()
		n += x.refused
		x.mu.Unlock()
	}
	return n
}

// look gives a view of each session there is now.
func (b *Browser) look(ctx context.Context) ([]*view, error) {
	select {
	case b.looking <- struct{}{}:
		defer func() { <-b.looking }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	sessions := b.m.Of(b.tenant)
	b.mu.Lock()
	known := b.views
	closed := b.closed
	b.mu.Unlock()
	if closed {
		return nil, errors.New("the endpoint's look at the sessions has ended")
	}
	var views []*view
	for _, s := range sessions {
		if i := slices.IndexFunc(known, func(x *view) bool { return x.s == s }); i >= 0 {
			views = append(views, known[i])
			continue
		}
		x, err := look(ctx, s, b.o)
		select {
		case <-s.Done(): // it ended meanwhile
			continue
		default:
		}
		if errors.Is(err, chromium.ErrGone) { // its browser did, and it is about to
			continue
		}
		if err != nil {
			return nil, err
		}
		views = append(views, x)
	}
	b.mu.Lock()
	b.views = views
	closed = b.closed
	b.mu.Unlock()
	for _, x := range known {
		if !slices.Contains(views, x) {
			x.leave()
		}
	}
	if closed { // while we looked
		b.End()
	}
	return slices.Clone(views), nil
}

// of is the view that has a tab.
func (b *Browser) of(ctx context.Context, id string) (*view, error) {
	views, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	for _, x := range views {
		x.mu.Lock()
		t := x.byID(id)
		x.mu.Unlock()
		if t != nil {
			return x, nil
		}
	}
	return nil, tabs.ErrNoTab
}

// Tabs implements tabs.Browser.
func (b *Browser) Tabs(ctx context.Context) ([]tabs.Tab, error) {
	views, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	return front(views), nil
}

// front lists the tabs of all sessions, and marks the one in the foreground.
func front(views []*view) []tabs.Tab {
	out, at := []tabs.Tab{}, -1
	for _, x := range views {
		x.mu.Lock()
		for _, t := range x.tabs {
			now := x.now(t)
			if now.Activation > 0 && (at < 0 || now.Activation > out[at].Activation) {
				at = len(out)
			}
			out = append(out, now)
		}
		x.mu.Unlock()
	}
	if at >= 0 {
		out[at].Foreground = true
	}
	return out
}

// Tab implements tabs.Browser.
func (b *Browser) Tab(ctx context.Context, id string) (tabs.Tab, error) {
	all, err := b.Tabs(ctx)
	if err != nil {
		return tabs.Tab{}, err
	}
	for _, t := range all {
		if t.ID == id {
			return t, nil
		}
	}
	return tabs.Tab{}, tabs.ErrNoTab
}

// Create implements tabs.Browser. Without a session it opens one; else the tab is one of the session in front.
func (b *Browser) Create(ctx context.Context, group string) (tabs.Tab, error) {
	x, t, err := b.create(ctx)
	if err != nil {
		return tabs.Tab{}, err
	}
	x.mu.Lock()
	t.Group = group
	x.mu.Unlock()
	return b.Tab(ctx, t.ID)
}

func (b *Browser) create(ctx context.Context) (*view, *tab, error) {
	views, err := b.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, now := range front(views) {
		if !now.Foreground {
			continue
		}
		x, err := b.of(ctx, now.ID)
		if err != nil {
			return nil, nil, err
		}
		t, err := x.open(ctx)
		return x, t, err
	}
	if len(views) > 0 { // sessions whose last tab closed itself
		t, err := views[0].open(ctx)
		return views[0], t, err
	}
	s, err := b.m.Open(ctx, browser.Want{Owner: browser.Owner{Tenant: b.tenant, Client: Client}})
	if err != nil {
		var full *browser.FullError
		if errors.As(err, &full) {
			return nil, nil, tabs.ErrFull
		}
		return nil, nil, err
	}
	if views, err = b.look(ctx); err != nil {
		return nil, nil, err
	}
	for _, x := range views { // its first tab is the one
		if x.s != s {
			continue
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if len(x.tabs) > 0 {
			return x, x.tabs[0], nil
		}
	}
	return nil, nil, tabs.ErrNoTab
}

// Enter is a person who types an address: what a grant added to the tab is lifted.
func (b *Browser) Enter(ctx context.Context, id, address string) error {
	x, err := b.of(ctx, id)
	if err != nil {
		return err
	}
	var session proto.TargetSessionID
	var document string
	if err := x.with(id, "", func(t *tab) {
		t.limit, t.Restricted = nil, nil
		document, session = t.Document, t.session
	}); err != nil {
		return err
	}
	x.sockets(session, false)
	_, err = b.Go(ctx, id, document, tabs.Move{URL: address})
	return err
}

// Activate implements tabs.Browser.
func (b *Browser) Activate(ctx context.Context, id string) (tabs.Tab, error) {
	x, err := b.of(ctx, id)
	if err != nil {
		return tabs.Tab{}, err
	}
	var target proto.TargetTargetID
	if err := x.with(id, "", func(t *tab) { target = t.target }); err != nil {
		return tabs.Tab{}, err
	}
	if x.s.Show(target) != nil {
		return tabs.Tab{}, tabs.ErrNoTab
	}
	return b.Tab(ctx, id)
}

// Close implements tabs.Browser.
func (b *Browser) Close(ctx context.Context, id string) error {
	x, err := b.of(ctx, id)
	if err != nil {
		return err
	}
	return x.close(ctx, id)
}

// Group implements tabs.Browser.
func (b *Browser) Group(ctx context.Context, id, group string) error {
	return b.change(ctx, id, func(_ *view, t *tab) { t.Group = group })
}

// Restrict implements tabs.Browser.
func (b *Browser) Restrict(ctx context.Context, id string, r tabs.Restriction) error {
	return b.change(ctx, id, func(x *view, t *tab) {
		t.limit, t.Restricted = &r, r.Hosts
		x.contain()
		x.bind(t)
	})
}

// Watch implements tabs.Browser.
func (b *Browser) Watch(ctx context.Context, id string, j tabs.Judge) error {
	return b.change(ctx, id, func(x *view, t *tab) {
		if t.judge = j; j != nil {
			x.contain()
			x.bind(t)
		}
	})
}

func (b *Browser) change(ctx context.Context, id string, f func(*view, *tab)) error {
	x, err := b.of(ctx, id)
	if err != nil {
		return err
	}
	return x.with(id, "", func(t *tab) { f(x, t) })
}

// Go implements tabs.Browser.
func (b *Browser) Go(ctx context.Context, id, document string, m tabs.Move) (tabs.Tab, error) {
	x, err := b.of(ctx, id)
	if err != nil {
		return tabs.Tab{}, err
	}
	if m.URL != "" && b.o.Permits != nil && !b.o.Permits(tabs.HostOf(m.URL)) {
		return tabs.Tab{}, tabs.ErrBlocked
	}
	if _, err := x.move(ctx, id, document, m); err != nil {
		return tabs.Tab{}, err
	}
	return b.Tab(ctx, id)
}

// Entry implements tabs.Browser.
func (b *Browser) Entry(ctx context.Context, id string, delta int) (string, error) {
	x, err := b.of(ctx, id)
	if err != nil {
		return "", err
	}
	return x.back(ctx, id, delta)
}

// Run implements tabs.Browser.
func (b *Browser) Run(ctx context.Context, id, document string, s tabs.Script, arg, result any) error {
	x, err := b.of(ctx, id)
	if err != nil {
		return err
	}
	return x.run(ctx, id, document, s, arg, result)
}

// Picture implements tabs.Browser.
func (b *Browser) Picture(ctx context.Context, id, document string) ([]byte, error) {
	x, err := b.of(ctx, id)
	if err != nil {
		return nil, err
	}
	if now, err := b.Tab(ctx, id); err != nil {
		return nil, err
	} else if !now.Foreground {
		return nil, tabs.ErrBackground
	}
	return x.picture(ctx, id, document)
}

// Structure implements tabs.Browser.
func (b *Browser) Structure(ctx context.Context, id, document string) (tabs.Structure, error) {
	x, err := b.of(ctx, id)
	if err != nil {
		return tabs.Structure{}, err
	}
	return x.structure(ctx, id, document)
}
