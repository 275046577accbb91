// Package attend works a meeting's page by its table of signs, for platforms whose pages need many steps: what every such
// Call does the same way is here, what differs is a Module's steps and its script that reads the page.
package attend

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	_ "embed"

	"parley/internal/queue"
	"parley/meeting"
	"parley/platforms"
	"parley/platforms/observe"
	"parley/platforms/sign"
)

//go:embed common.js
var commonJS string

// Module is what a platform adds to a Call. Its steps run one at a time each, bounded by their contexts.
type Module struct {
	Table *sign.Table
	// Read is a function expression (kit, words, common) that gives a function, which gives a Shown as JSON.
	Read string
	// ChatLength is the longest message in characters; longer ones go out in numbered parts.
	ChatLength int
	// Chord switches the microphone, the last thing that is tried ("Alt+A").
	Chord string
	// Toolbar is where a hidden control may be looked for.
	Toolbar string

	// Join walks from the link to having asked.
	Join func(ctx context.Context, c *Call, r meeting.JoinRequest) error
	// Settle comes once after admission, before anybody switches a device. May be nil.
	Settle func(ctx context.Context, c *Call) error
	// Tend comes every few seconds while we are waiting or in, for what the page needs from time to time. May be nil.
	Tend func(ctx context.Context, c *Call)
	// Uncover takes away what may lie over the page before the call, when a field there could not be reached. May be nil.
	Uncover func(ctx context.Context, c *Call)
	// Receiver addresses the next message, and says to whom it will go. Nil: there is only everyone.
	Receiver func(ctx context.Context, c *Call, to meeting.Audience) (meeting.ChatReceipt, error)
}

// Call is our attendance in one meeting.
type Call struct {
	Page platforms.Page
	Link platforms.Link
	O    platforms.Options
	Log  *slog.Logger

	m      Module
	events *queue.Queue[meeting.CallEvent]
	engine *sign.Engine // the run loop's

	lookedUp time.Time  // when the list of people was opened last; of whoever holds chatting
	opening  sync.Mutex // of the chat's panel
	chatting sync.Mutex // one message at a time, so that each can be proven
	devices  sync.Mutex // one switch of a device at a time

	seen *observe.Cell[State]

	pressing chan press    // dialogs that wait for an answer by rule
	settled  chan struct{} // closed when Settle is over
	asked    chan struct{} // closed when we asked to join

	settleOnce, askOnce, closeOnce sync.Once

	stop context.CancelFunc
	work sync.WaitGroup
}

var (
	_ meeting.Call           = (*Call)(nil)
	_ meeting.DialogAnswerer = (*Call)(nil)
	_ meeting.HandRaiser     = (*Call)(nil)
	_ meeting.Witness        = (*Call)(nil)
)

// eventsBound is how many events wait for the meeting; the oldest goes first.
const eventsBound = 512

// Open makes a Call on a page that has not navigated yet, and begins to observe it.
func Open(ctx context.Context, m Module, page platforms.Page, link platforms.Link, o platforms.Options) (*Call, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Call{
		Page: page, Link: link, O: o, Log: o.Log, m: m,
		events:   queue.New[meeting.CallEvent](eventsBound),
		seen:     observe.NewCell(newState()),
		pressing: make(chan press, 8), settled: make(chan struct{}), asked: make(chan struct{}),
	}
	read := "(kit, words, spec) => (" + m.Read + ")(kit, words, (" + commonJS + ")(kit, words, spec))"
	reports, err := observe.Start(ctx, page, m.Table, read)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Table.Platform, err)
	}
	run, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.work.Go(func() { c.run(run, reports) })
	c.work.Go(func() { c.tend(run) })
	return c, nil
}

// Events tells what the page shows.
func (c *Call) Events() <-chan meeting.CallEvent { return c.events.C() }

// Close lets go of the page and ends the channels. It may be called again.
func (c *Call) Close() error {
	c.closeOnce.Do(func() {
		c.stop()
		c.work.Wait()
	})
	return nil
}

// Join walks from the link to having asked to join.
func (c *Call) Join(ctx context.Context, r meeting.JoinRequest) error {
	c.update(func(s *State) { s.name = r.Name })
	err := c.m.Join(ctx, c, r)
	if err == nil && r.DryRun {
		return c.sawLobby(ctx)
	}
	if err == nil {
		c.askOnce.Do(func() { close(c.asked) })
	}
	return err
}

// Knocked says that the button was pressed: from now on a page that shows its form again has put us out.
func (c *Call) Knocked() { c.update(func(s *State) { s.knocked = true }) }

// run owns the engine: reports and time go in, events go out.
func (c *Call) run(ctx context.Context, reports <-chan json.RawMessage) {
	defer c.events.Close()
	c.engine = sign.New(c.m.Table, c.O.Hold)
	r := reader{call: c, engine: c.engine, heard: map[string]bool{}, dialogs: map[string]*standing{}, captions: map[string]string{}}
	observe.Follow(ctx, c.engine, reports, c.Page.Events(), c.Log, observe.Reader{Take: r.take, Look: r.look, Decided: r.decided})
}

// Target is an element of the table, the best way to find it first.
func (c *Call) targets(name string) []platforms.Target {
	w, ok := c.m.Table.Targets[name]
	if !ok {
		panic("platforms/" + c.m.Table.Platform + "/ui.json has no target " + name) // a test asks for each
	}
	return observe.Targets(w)
}

// Has says whether the table knows an element.
func (c *Call) Has(name string) bool { _, ok := c.m.Table.Targets[name]; return ok }

// Find looks for an element in all ways that the table knows, without waiting. It gives the way that found it.
func (c *Call) Find(ctx context.Context, name string) (platforms.Found, platforms.Target, error) {
	for _, t := range c.targets(name) {
		f, err := c.Page.Find(ctx, t)
		if err != nil {
			return f, t, fmt.Errorf("%s: %w", name, err)
		}
		if f.OK {
			return f, t, nil
		}
	}
	return platforms.Found{}, platforms.Target{}, nil
}

// Await waits for an element for at most a time. What does not come is no error: the Found says so.
func (c *Call) Await(ctx context.Context, name string, limit time.Duration) (platforms.Found, platforms.Target, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for n := 1; ; n++ {
		if n%4 == 0 && c.Place() == meeting.PlaceIn { // toolbars hide while one waits
			if err := c.Nudge(ctx); err != nil && ctx.Err() == nil {
				return platforms.Found{}, platforms.Target{}, err
			}
		}
		f, t, err := c.Find(ctx, name)
		if err != nil || f.OK {
			if ctx.Err() != nil {
				return platforms.Found{}, t, nil
			}
			return f, t, err
		}
		if !pause(ctx, 150*time.Millisecond) {
			return f, t, nil
		}
	}
}

// Click clicks an element that is there, in the first way that finds it. ok is false when there is none.
func (c *Call) Click(ctx context.Context, name string) (ok bool, err error) {
	f, t, err := c.Find(ctx, name)
	if err != nil || !f.OK {
		return false, err
	}
	t.Wait = 3 * time.Second
	if err := c.Page.Click(ctx, t); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// Nudge moves the pointer over the toolbar, so that one which hides itself comes back.
func (c *Call) Nudge(ctx context.Context) error {
	n := 0
	c.update(func(s *State) { s.nudges++; n = s.nudges })
	return c.Page.MoveMouse(ctx, float64(600+n%7*6), float64(500+n%5*6)) // inside the smallest viewport that we have
}

// pause waits; it is false when the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Permit has the browser refuse the page every device, or give them back. It is false where the browser cannot.
func (c *Call) Permit(ctx context.Context, devices bool) bool {
	p, ok := c.Page.(platforms.Permitter)
	if !ok {
		return false
	}
	if err := p.Permit(ctx, devices); err != nil {
		c.Log.Warn("what the page may use cannot be changed", "devices", devices, "error", err)
		return false
	}
	c.update(func(s *State) { s.withheld = !devices })
	return true
}

// Withheld says whether the page is refused its devices.
func (c *Call) Withheld() (yes bool) {
	c.Look(func(s *State) { yes = s.withheld })
	return yes
}

// Cookie keeps a cookie before the first page, where the browser can; a page that is not asked so is asked in other ways.
func (c *Call) Cookie(ctx context.Context, host, name, value string) {
	k, ok := c.Page.(platforms.CookieKeeper)
	if !ok {
		return
	}
	if err := k.SetCookie(ctx, host, name, value, strings.HasPrefix(c.Link.URL, "https:")); err != nil {
		c.Log.Debug("a cookie was not kept", "cookie", name, "error", err)
	}
}

// Name is the name that we join with.
func (c *Call) Name() (name string) {
	c.Look(func(s *State) { name = s.name })
	return name
}

// HasKnocked says whether the button was pressed. Nobody is asked twice.
func (c *Call) HasKnocked() (yes bool) {
	c.Look(func(s *State) { yes = s.knocked })
	return yes
}

// Fold makes texts comparable: fields and logs treat white space in their own ways.
func Fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// Clip cuts a text to so many letters.
func Clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
