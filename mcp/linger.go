package mcp

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// lingerAbove is the size of a body up to which net/http itself reads what a refusal left unread.
	lingerAbove = 256 << 10
	// lingerTime is how long the rest of a refused body is read at most, lingerPause how long without a byte.
	lingerTime  = 30 * time.Second
	lingerPause = 5 * time.Second
)

// lingering lets senders read why they are refused. Most clients send a body to its end before they look at the answer, and a
// connection that is closed while they send is reset: the answer is lost. So it goes out at once, and what still comes is
// read and thrown away for a while.
func lingering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 || r.ContentLength >= 0 && r.ContentLength <= lingerAbove {
			next.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		if control.EnableFullDuplex() != nil { // a writer of a test
			next.ServeHTTP(w, r)
			return
		}
		body := &sent{ReadCloser: r.Body}
		r.Body = body
		// Whoever looks early need not send the rest; net/http would say so too, but not while both sides talk.
		w.Header().Set("Connection", "close")
		body.ended = func() { w.Header().Del("Connection") }
		next.ServeHTTP(w, r)
		if body.whole || control.Flush() != nil {
			return
		}
		body.ended = nil
		buf := make([]byte, 32<<10)
		for until := time.Now().Add(lingerTime); time.Now().Before(until); {
			if control.SetReadDeadline(time.Now().Add(lingerPause)) != nil {
				return
			}
			if _, err := body.ReadCloser.Read(buf); err != nil {
				return
			}
		}
	})
}

// sent is a body that knows whether it was read to its end.
type sent struct {
	io.ReadCloser
	whole bool
	ended func()
}

// Read implements io.Reader.
func (s *sent) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) && !s.whole {
		s.whole = true
		if s.ended != nil {
			s.ended()
		}
	}
	return n, err
}
