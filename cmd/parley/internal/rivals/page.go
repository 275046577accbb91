package rivals

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sink serves the page and hears of its clicks.
type sink struct {
	rows   int
	server *http.Server
	base   string

	mu     sync.Mutex
	waits  map[int]chan time.Time
	served sync.WaitGroup
}

// newSink makes a page of about so many elements: rows with a link, a button and a field.
func newSink(nodes int) (*sink, error) {
	s := &sink{rows: max(nodes/5, 3), waits: map[int]chan time.Time{}}
	var b strings.Builder
	b.WriteString("<!doctype html><title>bench</title><h1>Rows</h1><div>")
	for i := range s.rows {
		fmt.Fprintf(&b, `<div><a href="#%d">Item %d</a> <button onclick="hit(this, %d)">Buy %d</button> <input aria-label="Amount %d"></div>`, i, i, i, i, i)
	}
	b.WriteString(`</div><script>const hit = (b, i) => { navigator.sendBeacon('/hit?' + i); b.textContent = 'Bought ' + i; }</script>`)
	page := b.String()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.base = "http://" + l.Addr().String()
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hit" {
			row, _ := strconv.Atoi(r.URL.RawQuery) // only our own page asks
			s.mu.Lock()
			if c := s.waits[row]; c != nil {
				c <- time.Now()
				delete(s.waits, row)
			}
			s.mu.Unlock()
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	})}
	s.served.Go(func() { _ = s.server.Serve(l) })
	return s, nil
}

func (s *sink) url(name string, round int) string {
	return fmt.Sprintf("%s/?%d-%s", s.base, round, strings.ReplaceAll(name, " ", "-"))
}

// expect gives the moment when the page sees the next click on a row's button.
func (s *sink) expect(row int) <-chan time.Time {
	c := make(chan time.Time, 1)
	s.mu.Lock()
	s.waits[row] = c
	s.mu.Unlock()
	return c
}

func (s *sink) close() {
	_ = s.server.Close()
	s.served.Wait()
}
