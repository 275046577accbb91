package room

import (
	"errors"
	"net"
	"sync"
	"time"
)

// splitter parts one TCP port in two: connections that carry sound, and all others. Sound over TCP begins with the
// length of its first packet, a short one, so the first byte is zero; no request of HTTP or TLS begins so.
type splitter struct {
	l     *net.TCPListener
	done  chan struct{}
	once  sync.Once
	work  sync.WaitGroup
	parts [2]chan net.Conn
}

// sniffers is how many connections may be undecided at once; more are closed.
const sniffers = 256

func newSplitter(l *net.TCPListener) *splitter {
	s := &splitter{l: l, done: make(chan struct{}), parts: [2]chan net.Conn{make(chan net.Conn, 64), make(chan net.Conn, 64)}}
	s.work.Go(s.accept)
	return s
}

func (s *splitter) pages() net.Listener {
	return &part{s: s, in: s.parts[0], done: make(chan struct{})}
}
func (s *splitter) sound() net.Listener {
	return &part{s: s, in: s.parts[1], done: make(chan struct{})}
}

// Close closes the port and everything that nobody has taken over yet, and waits for its goroutines.
func (s *splitter) Close() error {
	var err error
	s.once.Do(func() {
		close(s.done)
		err = s.l.Close()
	})
	s.work.Wait()
	for _, p := range s.parts {
		for {
			select {
			case c := <-p:
				_ = c.Close()
				continue
			default:
			}
			break
		}
	}
	return err
}

func (s *splitter) accept() {
	slots := make(chan struct{}, sniffers)
	for {
		c, err := s.l.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, most likely: wait for some to come free
			select {
			case <-s.done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		select {
		case slots <- struct{}{}:
			s.work.Go(func() {
				defer func() { <-slots }()
				s.sniff(c)
			})
		default:
			_ = c.Close()
		}
	}
}

func (s *splitter) sniff(c *net.TCPConn) {
	stop := make(chan struct{})
	defer close(stop)
	s.work.Go(func() {
		select {
		case <-s.done:
			_ = c.SetReadDeadline(time.Now())
		case <-stop:
		}
	})
	var first [1]byte
	_ = c.SetReadDeadline(time.Now().Add(joinWithin))
	if n, err := c.Read(first[:]); n != 1 || err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	to := s.parts[0]
	if first[0] == 0 {
		to = s.parts[1]
	}
	select {
	case to <- &peeked{Conn: c, first: first[:]}:
	case <-s.done:
		_ = c.Close()
	case <-time.After(joinWithin): // nobody takes them: no page is served on this port
		_ = c.Close()
	}
}

// peeked is a connection whose first byte was read already. It has net.Conn's methods alone: the further ones of a
// TCP connection would read past the byte.
type peeked struct {
	net.Conn
	first []byte
}

// Read gives the first byte, then the rest.
func (p *peeked) Read(b []byte) (int, error) {
	if len(p.first) > 0 && len(b) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// part is one side of a splitter.
type part struct {
	s    *splitter
	in   chan net.Conn
	once sync.Once
	done chan struct{}
}

// Accept waits for the next connection of this kind.
func (p *part) Accept() (net.Conn, error) {
	select {
	case c := <-p.in:
		return c, nil
	case <-p.done:
	case <-p.s.done:
	}
	return nil, net.ErrClosed
}

// Close ends Accept. The port stays open for the other side.
func (p *part) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr is the port's address.
func (p *part) Addr() net.Addr { return p.s.l.Addr() }
