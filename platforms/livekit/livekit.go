// Package livekit works LiveKit's prebuilt conference (the components that most LiveKit pages are made of) as a person
// would: by what is on the screen and real input. It makes no request of LiveKit's protocol.
package livekit

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"parley/internal/queue"
	"parley/meeting"
	"parley/platforms"
	"parley/platforms/observe"
	"parley/platforms/sign"
)

//go:embed ui.json
var uiJSON []byte

//go:embed read.js
var readJS string

// ui is the page's signs and words.
var ui = func() *sign.Table {
	t, err := sign.ParseTable(uiJSON)
	if err != nil {
		panic(fmt.Sprintf("platforms/livekit/ui.json: %v", err)) // embedded: a test reads it first
	}
	return t
}()

// Platform is LiveKit, for the command's list.
func Platform() platforms.Platform {
	return platforms.Platform{
		Name: "livekit", Hold: ui.Hold(), Permissions: []string{"audioCapture"},
		Open: func(ctx context.Context, page platforms.Page, link platforms.Link, o platforms.Options) (meeting.Call, error) {
			return Open(ctx, page, link, o)
		},
	}
}

// Call is our attendance in a LiveKit meeting.
type Call struct {
	page   platforms.Page
	link   platforms.Link
	o      platforms.Options
	log    *slog.Logger
	events *queue.Queue[meeting.CallEvent]

	chatting sync.Mutex // one message at a time, so that each can be proven
	devices  sync.Mutex // one switch of a device at a time

	seen *observe.Cell[state]

	stop context.CancelFunc
	work sync.WaitGroup
	once sync.Once
}

var (
	_ meeting.Call           = (*Call)(nil)
	_ meeting.DialogAnswerer = (*Call)(nil)
)

// eventsBound is how many events wait for the meeting; the oldest goes first.
const eventsBound = 512

// Open makes a Call on a page that has not navigated yet, and begins to observe it.
func Open(ctx context.Context, page platforms.Page, link platforms.Link, o platforms.Options) (*Call, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Call{
		page: page, link: link, o: o, log: o.Log,
		events: queue.New[meeting.CallEvent](eventsBound),
		seen:   observe.NewCell(newState()),
	}
	reports, err := observe.Start(ctx, page, ui, readJS)
	if err != nil {
		return nil, fmt.Errorf("livekit: %w", err)
	}
	run, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.work.Go(func() { c.run(run, reports) })
	return c, nil
}

// Events tells what the page shows.
func (c *Call) Events() <-chan meeting.CallEvent { return c.events.C() }

// Picture is a PNG of the page.
func (c *Call) Picture(ctx context.Context) ([]byte, error) { return c.page.Picture(ctx) }

// Close lets go of the page and ends the channels. It may be called again.
func (c *Call) Close() error {
	c.once.Do(func() {
		c.stop()
		c.work.Wait()
	})
	return nil
}

// run owns the engine: reports and time go in, events go out.
func (c *Call) run(ctx context.Context, reports <-chan json.RawMessage) {
	defer c.events.Close()
	engine := sign.New(ui, c.o.Hold)
	r := reader{call: c, engine: engine}
	observe.Follow(ctx, engine, reports, c.page.Events(), c.log, observe.Reader{Take: r.take, Look: r.look, Decided: r.decided})
}
