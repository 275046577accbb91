package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"

	"parley/internal/ndjson"
)

// Exit codes.
const (
	ExitDone      = 0 // the client is gone, or nothing happened for long
	ExitLost      = 1 // the connection failed or was lost
	ExitConfig    = 2 // bad configuration
	ExitForbidden = 3 // the token was refused
)

// Bounds.
const (
	maxRecord        = 2 << 20  // from the client
	maxFrame         = 32 << 20 // from the service
	handshakeTimeout = 15 * time.Second
	writeTimeout     = 60 * time.Second
	drainTimeout     = 10 * time.Second // for answers after the end of stdin
	lookEvery        = time.Second      // at whether the client is still there
	maxWaiting       = 4096             // requests whose answers are remembered
)

// Reasons to end.
var (
	errInputEnded  = errors.New("stdin ended")
	errOutputEnded = errors.New("nobody reads stdout")
	errParentEnded = errors.New("the parent process ended")
	errIdle        = errors.New("nothing happened for long")
)

// bridge is one run.
type bridge struct {
	c    Config
	in   io.Reader
	out  io.Writer
	log  func(format string, args ...any)
	ws   *websocket.Conn
	stop context.CancelCauseFunc

	mu      sync.Mutex
	last    time.Time       // of a message either way
	asked   map[string]bool // ids of the client's requests that wait for the service
	asking  map[string]bool // ids of the service's that wait for the client
	writing bool
	idle    chan struct{} // closed when asked is empty, while somebody waits for that
}

// Run carries records until one of the reasons to end. It gives the exit code. in and out are stdin and
// stdout; messages for a person go to stderr, records and tokens never do.
func Run(ctx context.Context, c Config, in io.ReadCloser, out io.Writer, stderr io.Writer) int {
	log := func(format string, args ...any) { fmt.Fprintf(stderr, "parley bridge: "+format+"\n", args...) }
	ws, status, err := dial(ctx, c)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		log("the service refused the token (%d)", status)
		return ExitForbidden
	case err != nil:
		log("no connection to %s: %v", c.URL, err)
		return ExitLost
	}
	ws.SetReadLimit(maxFrame)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	b := &bridge{c: c, in: in, out: out, log: log, ws: ws, stop: stop, last: time.Now(), asked: map[string]bool{}, asking: map[string]bool{}}
	var work sync.WaitGroup
	work.Go(func() { b.fromService(ctx) })
	work.Go(func() { b.watch(ctx) })
	go b.fromClient(ctx) // a read of stdin may never return; the process ends with it
	<-ctx.Done()
	cause := context.Cause(ctx)
	if errors.Is(cause, errInputEnded) {
		b.drain()
	}
	_ = ws.CloseNow() // either side is gone
	_ = in.Close()
	// A write to a stdout that nobody reads may hang as well; a moment is enough for one that is read.
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
	}
	switch {
	case errors.Is(cause, errInputEnded), errors.Is(cause, errOutputEnded), errors.Is(cause, errParentEnded), errors.Is(cause, errIdle),
		errors.Is(cause, context.Canceled):
		return ExitDone
	}
	log("the connection was lost: %v", cause)
	return ExitLost
}

// dial opens the WebSocket. Status is that of the answer, when there was one.
func dial(ctx context.Context, c Config) (*websocket.Conn, int, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, c.URL, &websocket.DialOptions{
		HTTPHeader:      http.Header{"Authorization": {"Bearer " + c.Token}},
		Subprotocols:    []string{"mcp"},
		CompressionMode: websocket.CompressionDisabled,
	})
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	if err != nil {
		if status != 0 && status != http.StatusSwitchingProtocols {
			err = fmt.Errorf("it answers %d", status)
		}
		return nil, status, err
	}
	return ws, status, nil
}

// fromClient carries stdin to the service.
func (b *bridge) fromClient(ctx context.Context) {
	r := bufio.NewReaderSize(b.in, 64<<10)
	for {
		record, err := ndjson.Read(r, maxRecord)
		switch {
		case errors.Is(err, ndjson.ErrTooLarge):
			b.log("dropped a record over 2 MiB")
			continue
		case err != nil:
			b.stop(errInputEnded)
			return
		}
		if record = bytes.TrimSpace(record); len(record) == 0 {
			continue
		}
		if !json.Valid(record) {
			b.log("dropped a record that is not JSON")
			continue
		}
		b.seen(record, b.asked, b.asking)
		wctx, cancel := context.WithTimeout(ctx, writeTimeout)
		err = b.ws.Write(wctx, websocket.MessageText, record)
		cancel()
		if err != nil {
			b.stop(fmt.Errorf("writing to the service: %w", err))
			return
		}
	}
}

// fromService carries frames to stdout, each on one line.
func (b *bridge) fromService(ctx context.Context) {
	for {
		kind, frame, err := b.ws.Read(context.WithoutCancel(ctx)) // until CloseNow: answers are still read while draining
		if err != nil {
			b.stop(err)
			return
		}
		if kind != websocket.MessageText {
			continue
		}
		var line bytes.Buffer
		if json.Compact(&line, frame) != nil {
			b.log("dropped a message of the service that is not JSON")
			continue
		}
		line.WriteByte('\n')
		b.write(true)
		_, err = b.out.Write(line.Bytes())
		b.write(false)
		if err != nil {
			b.stop(errOutputEnded)
			return
		}
		b.seen(line.Bytes(), b.asking, b.asked)
	}
}

func (b *bridge) write(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writing = on
}

// seen keeps account of what waits: a request joins those of its sender, an answer ends one of the other side's.
func (b *bridge) seen(record []byte, own, others map[string]bool) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
	}
	known := json.Unmarshal(record, &m) == nil && len(m.ID) > 0 && string(m.ID) != "null"
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = time.Now()
	if !known {
		return
	}
	if m.Method != nil {
		if len(own) < maxWaiting {
			own[string(m.ID)] = true
		}
		return
	}
	delete(others, string(m.ID))
	if len(b.asked) == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// drain waits for answers to what was asked before stdin ended, while somebody reads them.
func (b *bridge) drain() {
	b.mu.Lock()
	if len(b.asked) == 0 {
		b.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	b.idle = idle
	b.mu.Unlock()
	timeout := time.NewTimer(drainTimeout)
	defer timeout.Stop()
	look := time.NewTicker(lookEvery / 10)
	defer look.Stop()
	for {
		select {
		case <-idle:
			return
		case <-timeout.C:
			return
		case <-look.C:
			if unread(b.out) {
				return
			}
		}
	}
}

// watch finds out what no read tells: that nobody reads stdout, that the parent ended, that nothing happens.
func (b *bridge) watch(ctx context.Context) {
	parent := os.Getppid()
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		switch {
		case os.Getppid() != parent:
			b.stop(errParentEnded)
		case unread(b.out):
			b.stop(errOutputEnded)
		case b.isIdle(time.Now()):
			b.stop(errIdle)
		}
	}
}

func (b *bridge) isIdle(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.c.IdleExit > 0 && len(b.asked)+len(b.asking) == 0 && !b.writing && now.Sub(b.last) >= b.c.IdleExit
}
