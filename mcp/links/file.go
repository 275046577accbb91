package links

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"parley/tenant"
	"parley/tool"
)

// Bounds of a download.
const (
	stallTimeout    = 60 * time.Second // a client that reads nothing
	transferTimeout = time.Hour
	ackTimeout      = 10 * time.Second // for the last bytes to arrive
)

// Recordings is the kind of finished recordings.
func Recordings(m interface {
	Recording(ctx context.Context, t tenant.ID, meeting string) (tool.RecordingFile, error)
}, log *slog.Logger) Kind {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &coverage{upTo: map[tenant.Hash]int64{}}
	return Kind{Name: RecordingKind, Method: http.MethodGet, Ephemeral: true,
		Serve: func(w http.ResponseWriter, r *http.Request, a Access) bool {
			f, err := m.Recording(r.Context(), a.Tenant, a.Target)
			if err != nil {
				NotFound(w)
				return false
			}
			usedUp, err := c.send(w, r, a, f.Path, f.Name, f.MIME)
			if err != nil {
				log.Warn("a recording was not sent", "meeting", a.Target, "err", err)
			}
			return usedUp
		}}
}

// coverage remembers how far each link's file was sent, so that a download that was resumed is whole too.
type coverage struct {
	mu   sync.Mutex
	upTo map[tenant.Hash]int64
}

// maxCovered bounds it; a link that is forgotten can only be used longer, until it ends by itself.
const maxCovered = 1024

// reach notes that bytes from..to were sent, and tells how far the file is covered from its beginning.
func (c *coverage) reach(link tenant.Hash, from, to int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from > c.upTo[link] {
		return c.upTo[link]
	}
	if len(c.upTo) >= maxCovered {
		clear(c.upTo)
	}
	c.upTo[link] = max(c.upTo[link], to)
	return c.upTo[link]
}

func (c *coverage) forget(link tenant.Hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.upTo, link)
}

// send sends a file, whole or a range of it, and tells whether the client has all of it by now.
func (c *coverage) send(w http.ResponseWriter, r *http.Request, a Access, path, name, kind string) (whole bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		NotFound(w)
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		NotFound(w)
		return false, errors.Join(err, fmt.Errorf("%s is no file", path))
	}
	ctx, cancel := context.WithTimeout(r.Context(), transferTimeout)
	defer cancel()
	if kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	sent := &counter{ResponseWriter: w, control: http.NewResponseController(w), ctx: ctx}
	http.ServeContent(sent, r, "", info.ModTime(), f)
	if r.Method == http.MethodHead || a.Link == nil || sent.err != nil || sent.status != http.StatusOK && sent.status != http.StatusPartialContent {
		return false, sent.err
	}
	if err := sent.control.Flush(); err != nil {
		return false, err
	}
	from, ok := sent.from()
	if !ok || !arrived(r.Context(), ackTimeout) {
		return false, nil
	}
	if c.reach(a.Link.Secret, from, from+sent.n) < info.Size() {
		return false, nil
	}
	c.forget(a.Link.Secret)
	return true, nil
}

// counter counts what a client took, and gives up on one that takes nothing.
type counter struct {
	http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context
	status  int
	n       int64
	err     error
}

func (c *counter) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counter) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if err := c.ctx.Err(); err != nil {
		c.err = err
		return 0, err
	}
	_ = c.control.SetWriteDeadline(time.Now().Add(stallTimeout)) // a writer without deadlines is one of a test
	n, err := c.ResponseWriter.Write(b)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// from is where in the file the body began. Several ranges at once have no one beginning.
func (c *counter) from() (int64, bool) {
	if c.status == http.StatusOK {
		return 0, true
	}
	var from, to, size int64
	text, ok := strings.CutPrefix(c.Header().Get("Content-Range"), "bytes ")
	if !ok {
		return 0, false
	}
	if _, err := fmt.Sscanf(text, "%d-%d/%d", &from, &to, &size); err != nil {
		return 0, false
	}
	return from, true
}

var _ io.Writer = (*counter)(nil)
