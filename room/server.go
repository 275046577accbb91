// Package room is the built-in conference: rooms that people enter with a browser and talk in.
//
// A Server has a page, a signalling protocol (package wire) and a selective forwarding unit for sound: every
// participant sends their microphone once, and the server forwards it to the others without decoding it.
package room

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"parley/room/wire"
)

// ErrClosed is returned by Serve after Close.
var ErrClosed = errors.New("room: the server is closed")

// Server has the rooms. Its methods may be called at once from anywhere.
type Server struct {
	opts  Options
	addr  *net.TCPAddr
	split *splitter
	media *media
	mux   *http.ServeMux

	// ctx ends when the server does; every connection hangs on it.
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	halls  map[string]*hall
	conns  int
	nextID connID
	closed bool
	work   sync.WaitGroup // halls and handlers of connections
}

// New makes a server and binds its port: TCP for pages, signalling and sound, UDP for sound. It answers pages through
// Serve or as an http.Handler of another server; sound always goes by the own port. Close releases everything.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	base, err := checkBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if base != nil {
		o.Origins = append(append([]string(nil), o.Origins...), base.Host)
	}
	s := &Server{opts: o, halls: map[string]*hall{}}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if err := s.bind(); err != nil {
		return nil, err
	}
	s.routes()
	return s, nil
}

func checkBase(base string) (*url.URL, error) {
	if base == "" {
		return nil, nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("room: base URL %q: want http(s)://host[:port]", base)
	}
	return u, nil
}

// bind finds a port that is free for both TCP and UDP.
func (s *Server) bind() error {
	want, err := net.ResolveTCPAddr("tcp", s.opts.Listen)
	if err != nil {
		return fmt.Errorf("room: listen address %q: %w", s.opts.Listen, err)
	}
	if want.IP == nil {
		want.IP = net.IPv4zero
	}
	tries := 1
	if want.Port == 0 {
		tries = 20 // a free TCP port may be taken for UDP
	}
	for {
		tries--
		l, err := net.ListenTCP("tcp", want)
		if err != nil {
			return fmt.Errorf("room: %w", err)
		}
		s.addr = l.Addr().(*net.TCPAddr)
		s.split = newSplitter(l)
		s.media, err = newMedia(s.opts, s.addr, s.split.sound())
		if err == nil {
			return nil
		}
		err = errors.Join(err, s.split.Close())
		if tries == 0 {
			return err
		}
	}
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.addr }

// Link is the address of a room for people to open. The room begins when the first one enters.
func (s *Server) Link(room string) string {
	if s.opts.BaseURL != "" {
		return strings.TrimSuffix(s.opts.BaseURL, "/") + "/room/" + room
	}
	host := s.addr.String()
	if s.addr.IP.IsUnspecified() {
		host = fmt.Sprintf("%s:%d", s.outside(), s.addr.Port)
	}
	scheme := "http://"
	if s.opts.TLS != nil {
		scheme = "https://"
	}
	return scheme + host + "/room/" + room
}

// HostLink is Link for the host; it equals Link when no HostKey is set. The key is in the fragment, which browsers
// keep to themselves.
func (s *Server) HostLink(room string) string {
	if s.opts.HostKey == "" {
		return s.Link(room)
	}
	return s.Link(room) + "#host=" + url.QueryEscape(s.opts.HostKey)
}

// outside is an address of this machine that others can reach, or loopback.
func (s *Server) outside() string {
	if len(s.opts.PublicIPs) > 0 {
		return s.opts.PublicIPs[0].String()
	}
	ips, err := localIPs(true)
	if err == nil {
		for _, ip := range ips {
			if !ip.IsLoopback() {
				return ip.String()
			}
		}
	}
	return "127.0.0.1"
}

// NewID makes a room id that nobody guesses and everybody can read out: three groups of four letters and digits.
func NewID() string {
	id := strings.ToLower(base32.StdEncoding.EncodeToString(random(8))[:12])
	return id[:4] + "-" + id[4:8] + "-" + id[8:]
}

// ValidID says whether a room may have this id: 1 to 64 letters, digits, "-" and "_".
func ValidID(id string) bool {
	if id == "" || len(id) > wire.MaxID {
		return false
	}
	for _, c := range []byte(id) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

func freshSeat() (id, token string) {
	return "p" + hex.EncodeToString(random(6)), hex.EncodeToString(random(16))
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails, by its contract
	return b
}

// Serve answers pages and connections on the server's port until the context ends or Close is called, and returns
// once everything has ended: nil after the context's end, ErrClosed after Close.
func (s *Server) Serve(ctx context.Context) error {
	l := s.split.pages()
	if s.opts.TLS != nil {
		l = tls.NewListener(l, s.opts.TLS)
	}
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 32 << 10, ErrorLog: discardLog(),
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	var err error
	select {
	case <-ctx.Done():
	case <-s.ctx.Done():
		err = ErrClosed
	case err = <-ended:
		ended <- err
		if s.ctx.Err() != nil {
			err = ErrClosed
		}
	}
	err = errors.Join(err, s.Close(), h.Close())
	<-ended
	return err
}

// Close tells everybody that the meeting is over, ends all connections, and returns when nothing of the server runs
// any more.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	halls := make([]*hall, 0, len(s.halls))
	for _, h := range s.halls {
		h.refs++ // so that it takes the message
		halls = append(halls, h)
	}
	s.mu.Unlock()
	for _, h := range halls {
		h.post(shutDown{})
		s.exit(h)
	}
	// Those who are told have a moment to say goodbye.
	goodbye := time.AfterFunc(time.Second, func() { s.cancel(ErrClosed) })
	s.work.Wait()
	goodbye.Stop()
	s.cancel(ErrClosed)
	return errors.Join(s.split.Close(), s.media.close())
}

// enter holds the hall of a room, which it makes if there is none. The error is the reason why it cannot.
func (s *Server) enter(room string) (*hall, wire.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, wire.ReasonShutdown
	}
	h := s.halls[room]
	if h == nil {
		if len(s.halls) >= s.opts.MaxRooms {
			return nil, wire.ReasonBusy
		}
		h = newHall(room, s.opts, s.media)
		s.halls[room] = h
		s.work.Go(func() { h.run(func() bool { return s.retire(h) }) })
		s.opts.Log.Info("room opened", "rooms", len(s.halls))
	}
	h.refs++
	return h, ""
}

// exit lets go of a hall.
func (s *Server) exit(h *hall) {
	s.mu.Lock()
	h.refs--
	last := h.refs == 0
	s.mu.Unlock()
	if last {
		h.report(nothing{}) // so that it looks whether it is still needed
	}
}

// retire takes a hall away unless somebody holds it.
func (s *Server) retire(h *hall) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.refs > 0 {
		return false
	}
	delete(s.halls, h.id)
	s.opts.Log.Info("room closed", "rooms", len(s.halls))
	return true
}

// People says how many are in a room now; a room that does not exist has none.
func (s *Server) People(ctx context.Context, room string) int {
	s.mu.Lock()
	h := s.halls[room]
	if h != nil {
		h.refs++
	}
	s.mu.Unlock()
	if h == nil {
		return 0
	}
	defer s.exit(h)
	return h.count(ctx)
}

// connect counts a connection in, or says that there are too many.
func (s *Server) connect() (connID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.conns >= s.opts.MaxConns {
		return 0, false
	}
	s.conns++
	s.nextID++
	s.work.Add(1)
	return s.nextID, true
}

func (s *Server) disconnect() {
	s.mu.Lock()
	s.conns--
	s.mu.Unlock()
	s.work.Done()
}

// signal is the handler of a room's WebSocket.
func (s *Server) signal(w http.ResponseWriter, r *http.Request) {
	room := r.PathValue("room")
	if !ValidID(room) {
		http.NotFound(w, r)
		return
	}
	id, ok := s.connect()
	if !ok {
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	defer s.disconnect()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{OriginPatterns: s.opts.Origins, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // answered already
	}
	conn.SetReadLimit(wire.MaxMessage)
	ctx, cancel := context.WithCancel(s.ctx)
	var own sync.WaitGroup
	defer own.Wait()
	defer cancel()
	sock := newSocket(id, conn)
	s.attend(ctx, &own, sock, room)
	sock.hang(wire.ReasonLeft)
}

func (s *Server) attend(ctx context.Context, own *sync.WaitGroup, sock *socket, room string) {
	written := make(chan struct{})
	own.Go(func() { defer close(written); sock.write(ctx) })
	defer func() { <-written }()
	defer sock.hang(wire.ReasonLeft)
	first, cancel := context.WithTimeout(ctx, joinWithin)
	request, err := sock.read(first)
	cancel()
	join, ok := request.(wire.Join)
	if err != nil || !ok {
		sock.hang(wire.ReasonProtocol)
		return
	}
	h, refusal := s.enter(room)
	if refusal != "" {
		sock.send(wire.Refused{Reason: refusal})
		sock.hang(refusal)
		return
	}
	defer s.exit(h)
	h.post(joined{sock, join})
	watching, stop := context.WithCancel(ctx)
	own.Go(func() { sock.watch(watching) })
	onPurpose := sock.pump(ctx, h)
	stop()
	if onPurpose {
		h.post(asked{sock.id, wire.Leave{}})
	}
	h.post(unplugged{sock.id})
}

// ServeHTTP answers the pages and the signalling. Requests by a host name that is not the server's are refused, so
// that a foreign page cannot make itself look like one of ours by changing what its name points to.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.knows(r.Host) {
		http.Error(w, "This server does not go by that name. Set its base URL or its origins.", http.StatusMisdirectedRequest)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) knows(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.IsValid() // an address is nobody's name to change
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	for _, o := range s.opts.Origins {
		for _, n := range []string{host, name} {
			if ok, err := path.Match(strings.ToLower(o), strings.ToLower(n)); err == nil && ok {
				return true
			}
		}
	}
	return !s.addr.IP.IsLoopback() && len(s.opts.Origins) == 0
}
