// Package room works the page of the built-in conference as a person would, like any other platform's: by names of
// what is on the screen and real input. It has no back door into the server.
package room

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
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

//go:embed taps.js
var tapsJS string

// ui is the page's signs and words.
var ui = func() *sign.Table {
	t, err := sign.ParseTable(uiJSON)
	if err != nil {
		panic(fmt.Sprintf("platforms/room/ui.json: %v", err)) // embedded: a test reads it first
	}
	return t
}()

// Platform is the built-in room, for the command's list.
func Platform() platforms.Platform {
	return platforms.Platform{
		Name: "room", Hold: ui.Hold(), Permissions: []string{"audioCapture"},
		Open: func(ctx context.Context, page platforms.Page, link platforms.Link, o platforms.Options) (meeting.Call, error) {
			return Open(ctx, page, link, o)
		},
	}
}

// Call is our attendance in a room.
type Call struct {
	page   platforms.Page
	link   platforms.Link
	o      platforms.Options
	log    *slog.Logger
	events *queue.Queue[meeting.CallEvent]
	tracks *queue.Queue[meeting.TrackFrame]

	chatting sync.Mutex // one message at a time, so that each can be proven
	devices  sync.Mutex // one switch of a device or hand at a time

	seen *observe.Cell[state]

	stop context.CancelFunc
	work sync.WaitGroup
	once sync.Once
}

var (
	_ meeting.Call           = (*Call)(nil)
	_ meeting.HandRaiser     = (*Call)(nil)
	_ meeting.TrackTapper    = (*Call)(nil)
	_ meeting.DialogAnswerer = (*Call)(nil)
)

// The bounds of what waits for its reader.
const (
	eventsBound = 512 // events for the meeting
	tracksBound = 256 // batches of 40 ms: 10 s of one track
)

// Open makes a Call on a page that has not navigated yet, and begins to observe it.
func Open(ctx context.Context, page platforms.Page, link platforms.Link, o platforms.Options) (*Call, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Language == "" {
		o.Language = "en"
	}
	c := &Call{
		page: page, link: link, o: o, log: o.Log,
		events: queue.New[meeting.CallEvent](eventsBound), tracks: queue.New[meeting.TrackFrame](tracksBound),
		seen: observe.NewCell(newState()),
	}
	taps, err := page.Listen(ctx, "parleyTap")
	if err != nil {
		return nil, fmt.Errorf("room: %w", err)
	}
	reports, err := observe.Start(ctx, page, ui, readJS)
	if err != nil {
		return nil, fmt.Errorf("room: %w", err)
	}
	if err := page.Observe(ctx, tapsJS); err != nil {
		return nil, fmt.Errorf("room: %w", err)
	}
	run, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.work.Go(func() { c.run(run, reports) })
	c.work.Go(func() { c.hear(run, taps) })
	return c, nil
}

// Events tells what the page shows.
func (c *Call) Events() <-chan meeting.CallEvent { return c.events.C() }

// Tracks are the participants' sound, one by one. Batches that nobody takes in time are dropped, the oldest first.
func (c *Call) Tracks() <-chan meeting.TrackFrame { return c.tracks.C() }

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

// address asks for the language, and keeps the host's key where it is.
func address(link, language string) (string, error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", fmt.Errorf("room link: %w", err)
	}
	q := u.Query()
	q.Set("lang", language)
	u.RawQuery = q.Encode()
	return u.String(), nil
}
