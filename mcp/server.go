// Package mcp is the ways in for MCP clients: stdio, WebSocket and Streamable HTTP, and the pushing of
// events to hosts that take them. What a call does is the business of package tool.
package mcp

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/channel/mcpl"
	"parley/mcp/links"
	"parley/tenant"
	"parley/tool"
)

// Options make a Server.
type Options struct {
	// Version is what the server says of itself.
	Version string
	// Tools answers calls. The server does not close it.
	Tools *tool.Service
	// Auth tells whose a bearer token is; needed for HTTP and WebSocket.
	Auth Authenticator
	// Events is what to push; nil: nothing is pushed, and transcripts have no subscriptions.
	Events tool.Watcher
	// Answer takes what a client's person said to a question (once, always or deny) that a call was answered with;
	// nil: nobody is asked.
	Answer func(t tenant.ID, question, choice string)
	// MCPL is what hosts are offered besides tools. Without a manifest it is MCPLDefault, and with Channels what
	// those need.
	MCPL mcpl.Options
	// Channels are the meetings' channels; nil: there are none. The server does not close them.
	Channels *mcpl.Board
	// OnSession is called when a connection's MCPL session begins; the function it gives back (nil is fine)
	// is called after each change of the grant. End is closed with the connection. It must not wait.
	OnSession func(s *mcpl.Session, by tool.Caller, end <-chan struct{}) (changed func())

	// BaseURL is how clients reach us, when that is not the address they connect to.
	BaseURL string
	// Hosts and Origins are further names in Host headers and origins of pages that may connect. Addresses
	// and localhost need not be named, nor the host of BaseURL.
	Hosts, Origins []string
	// QueryToken accepts ?token= on the WebSocket handshake.
	QueryToken bool

	// Links serves the one-time links: /recording/, /download/, /upload/, /secret/. Nil: there are none.
	Links http.Handler
	// Home serves everything else, the dashboard; nil: a page that says where clients connect.
	Home http.Handler
	// Ready tells what keeps the service from working; nil: nothing.
	Ready func(context.Context) error
	// Metrics write further lines of /metrics.
	Metrics []func(io.Writer)

	// MaxConnections of one tenant, of WebSockets and of older HTTP sessions each; zero: 64. A WebSocket more is
	// refused; a session more ends the one that was not used for longest.
	MaxConnections int
	// SessionTimeout ends an HTTP session that nobody uses; zero: 30 min.
	SessionTimeout time.Duration

	// Gone hears of an owner (tool.Caller.Owner) that went away for good. It must not wait; nil: nobody listens.
	Gone func(t tenant.ID, owner string)

	// Extend adds to each tenant's server, for tests of the protocol.
	Extend func(*sdk.Server)
	Log    *slog.Logger // nil: silent
}

// Authenticator tells whose a token is; *tenant.Registry does.
type Authenticator interface {
	Authenticate(token string) (tenant.Principal, error)
}

// MCPLDefault is what a host is offered: events of meetings, and their channels.
func MCPLDefault(channels bool) mcpl.Manifest {
	m := mcpl.Manifest{Paths: []string{mcpl.PathPushEvents}}
	set := mcpl.FeatureSet{
		Description: "Meetings: what is said and written, who comes and goes, questions, objections, the end",
		Uses:        []string{mcpl.PathTools, mcpl.PathPushEvents},
		Without:     map[string]string{mcpl.PathPushEvents: "no events are pushed; meeting_listen has them"},
		TagOntology: meetingTags,
	}
	if channels {
		m.Paths = append(m.Paths, mcpl.ChannelPaths...)
		set.Description += "; each meeting as a channel to talk in"
		set.Uses = append(set.Uses, mcpl.ChannelPaths...)
		for path, lost := range map[string]string{
			mcpl.PathRegister:  "no meeting channel; what is said comes as events",
			mcpl.PathIncoming:  "no meeting channel; what is said comes as events",
			mcpl.PathLifecycle: "meeting channels are always open",
			mcpl.PathPublish:   "nothing can be said by publishing; meeting_speak does it",
			mcpl.PathStreaming: "nothing is prepared while it is written",
		} {
			set.Without[path] = lost
		}
	}
	m.FeatureSets = map[string]mcpl.FeatureSet{MeetingSet: set}
	return m
}

//go:embed instructions/*.md
var instructions embed.FS

// instructionsFor is what a client's model is told of the tools that it has.
func instructionsFor(tools []*tool.Tool) string {
	has := func(name string) bool {
		return slices.ContainsFunc(tools, func(t *tool.Tool) bool { return t.Name == name })
	}
	var parts []string
	for _, p := range []struct{ file, tool string }{{"meetings", "meeting_join"}, {"browser", "navigate"}, {"others", ""}} {
		if p.tool != "" && !has(p.tool) {
			continue
		}
		text, err := instructions.ReadFile("instructions/" + p.file + ".md")
		if err != nil {
			panic(err) // they are in the binary
		}
		parts = append(parts, string(text))
	}
	return strings.Join(parts, "\n")
}

// Server serves MCP clients. Its methods may be called from any goroutine.
type Server struct {
	o    Options
	log  *slog.Logger
	http *http.Server

	stateful, stateless http.Handler
	stats               connStats
	hub                 *hub

	mu      sync.Mutex
	tenants map[tenant.ID]*tenantServer
	conns   map[*conn]bool
	sockets map[tenant.ID]int
	closing bool
	running sync.WaitGroup
}

// connStats counts over all connections.
type connStats struct {
	opened, received, sent, refused, dropped atomic.Int64
	unauthorized, forbidden                  atomic.Int64
}

// New makes a server. Close ends it.
func New(o Options) (*Server, error) {
	if o.Tools == nil {
		return nil, errors.New("mcp: Tools is missing")
	}
	if o.MCPL.Manifest.FeatureSets == nil {
		o.MCPL.Manifest = MCPLDefault(o.Channels != nil)
	}
	if o.Channels != nil {
		handlers := o.Channels.Handlers()
		maps.Copy(handlers, o.MCPL.Handlers)
		o.MCPL.Handlers = handlers
	}
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	o.Hosts, o.Origins = lower(o.Hosts), lower(o.Origins)
	o.MaxConnections = cmp.Or(o.MaxConnections, 64)
	o.SessionTimeout = cmp.Or(o.SessionTimeout, 30*time.Minute)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, log: o.Log, tenants: map[tenant.ID]*tenantServer{}, conns: map[*conn]bool{}, sockets: map[tenant.ID]int{}}
	s.stateful, s.stateless = s.streamable()
	s.hub = newHub(s)
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnContext:       links.WithConn,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	s.hub.start(o.Events)
	return s, nil
}

func lower(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ToLower(strings.TrimSuffix(s, "/"))
	}
	return out
}

// Handler serves everything that has an address: /mcp, the links, /healthz, /readyz, /metrics, the dashboard.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Serve answers on a listener until Close. It gives nil after Close.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(newLimitListener(l, maxSockets))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ServeStdio answers one client until its input ends and what it asked was answered, ctx ends, or the server
// closes. It closes in.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.Writer, by tool.Caller) error {
	by.Transport = "stdio"
	c, err := s.open(newLines(in, out), by)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	return s.serve(ctx, c)
}

// errClosing refuses what comes while the server closes.
var errClosing = errors.New("the service is shutting down")

// open registers a connection.
func (s *Server) open(w wire, by tool.Caller) (*conn, error) {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return nil, errClosing
	}
	s.running.Add(1)
	by.Owner = newOwner()
	c := newConn(w, by, &s.stats)
	s.conns[c] = true
	s.mu.Unlock()
	s.stats.opened.Add(1)
	if by.Tenant.Policy != tenant.Ephemeral { // their connections get no pushes
		s.hub.attach(c)
	}
	return c, nil
}

// spawn runs what Close has to wait for, unless it has begun: then Close does all of it itself.
func (s *Server) spawn(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.running.Go(f)
	}
}

// serve runs a connection to its end.
func (s *Server) serve(ctx context.Context, c *conn) error {
	defer s.running.Done()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		s.hub.detach(c)
		s.gone(c.caller.Tenant.ID, c.caller.Owner)
	}()
	ss, err := s.tenant(c.caller.Tenant).sdk.Connect(context.WithValue(ctx, callerKey{}, c), c, nil)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // Wait below tells how it ended
	defer stop()
	err = ss.Wait()
	_ = c.Close() // again is fine; it waits for the writer
	if errors.Is(err, io.EOF) || errors.Is(err, mcpl.ErrClosed) || ctx.Err() != nil {
		return nil
	}
	return err
}

// Forget drops what waits to be pushed with words of a meeting's people.
func (s *Server) Forget(_ context.Context, t tenant.ID, meeting string) error {
	s.hub.forget(t, meeting)
	return nil
}

// Close refuses what is new, ends every connection and waits for all of them until ctx ends. Calls that run
// are the tool service's to end: close that first.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	var open []*conn
	for c := range s.conns {
		open = append(open, c)
	}
	var servers []*tenantServer
	for _, t := range s.tenants {
		servers = append(servers, t)
	}
	s.mu.Unlock()
	s.hub.stop()
	var ending sync.WaitGroup
	for _, c := range open {
		ending.Go(func() { _ = c.Close() })
	}
	for _, t := range servers {
		t.once.Do(t.make) // one that is being made right now
		for ss := range t.sdk.Sessions() {
			ending.Go(func() { _ = ss.Close() })
		}
	}
	done := make(chan struct{})
	go func() {
		ending.Wait()
		s.running.Wait()
		close(done)
	}()
	err := s.http.Shutdown(ctx)
	select {
	case <-done:
	case <-ctx.Done():
		err = errors.Join(err, context.Cause(ctx))
	}
	return errors.Join(err, s.http.Close())
}

// maxSockets bounds the connections of one listener.
const maxSockets = 1024

// limitListener accepts only so many connections at once.
type limitListener struct {
	net.Listener
	room   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newLimitListener(l net.Listener, max int) *limitListener {
	return &limitListener{Listener: l, room: make(chan struct{}, max), closed: make(chan struct{})}
}

func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &limitedConn{Conn: c, free: sync.OnceFunc(func() { <-l.room })}, nil
}

type limitedConn struct {
	net.Conn
	free func()
}

// NetConn is the connection itself.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }

func (c *limitedConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}
