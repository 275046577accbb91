package egress

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a proxy.
const (
	maxHeader   = 16 << 10
	headerTime  = 10 * time.Second
	connectTime = 10 * time.Second
	idleTime    = 5 * time.Minute
	maxTunnels  = 256
	maxTold     = 1024 // targets that are told apart in the log
	maxHello    = 20 << 10
)

// Options make a proxy. Rules are needed: a proxy without any lets nothing through.
type Options struct {
	// Tenant is whose it is, for the log.
	Tenant string
	Rules  Rules
	// Password makes the proxy ask for one that is drawn at its start; see Credentials.
	Password bool
	// UID is the only user whose processes may connect; nil: everybody's on this machine.
	UID *int
	// Own are ports of this machine that are never reached, whatever the rules say: the service's own. The proxy's is
	// one without being named.
	Own []int
	// Resolve looks a name up; nil: the system's resolver. Dial connects to an address; nil: plain TCP.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	Log     *slog.Logger // nil: silent
}

// Proxy is a tenant's way out. When it ends there is none.
type Proxy struct {
	o        Options
	l        net.Listener
	port     int
	user     string
	password string
	http     *http.Server
	out      *http.Transport
	done     chan struct{}
	tunnels  chan struct{}
	life     context.Context
	end      context.CancelFunc
	running  sync.WaitGroup

	allowed, denied, bytes atomic.Int64

	mu   sync.Mutex
	told map[string]int
}

// Listen starts a proxy on a free port of this machine. Close ends it.
func Listen(o Options) (*Proxy, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if o.Dial == nil {
		d := &net.Dialer{Timeout: connectTime}
		o.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", to.String())
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("a tenant's proxy: %w", err)
	}
	p := &Proxy{o: o, l: l, port: l.Addr().(*net.TCPAddr).Port, done: make(chan struct{}), tunnels: make(chan struct{}, maxTunnels), told: map[string]int{}}
	p.life, p.end = context.WithCancel(context.Background())
	if o.Password {
		var b [24]byte
		rand.Read(b[:]) // never fails
		p.user, p.password = hex.EncodeToString(b[:4]), hex.EncodeToString(b[4:])
	}
	p.out = &http.Transport{
		Proxy: nil, DisableCompression: true, ForceAttemptHTTP2: false, ResponseHeaderTimeout: idleTime, IdleConnTimeout: idleTime, MaxIdleConnsPerHost: 8, MaxResponseHeaderBytes: 256 << 10,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return p.connect(ctx, address) },
	}
	p.http = &http.Server{
		Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(p.done)
		_ = p.http.Serve(l) // it ends with Close
	}()
	return p, nil
}

// Address is what a browser takes as its proxy.
func (p *Proxy) Address() string { return "http://" + p.l.Addr().String() }

// Credentials are what the proxy wants to be shown; empty where it wants none.
func (p *Proxy) Credentials() (user, password string) { return p.user, p.password }

// Stats are counts: requests and tunnels let through, refused, and bytes carried by tunnels.
func (p *Proxy) Stats() (allowed, denied, bytes int64) {
	return p.allowed.Load(), p.denied.Load(), p.bytes.Load()
}

// Close ends every connection and waits.
func (p *Proxy) Close() error {
	p.end()
	err := p.http.Close()
	p.out.CloseIdleConnections()
	<-p.done
	p.running.Wait()
	return err
}

// refusal is a connection that is not made.
type refusal struct {
	target string // host:port; empty where it cannot be read
	why    string
}

func (r *refusal) Error() string { return r.why }

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if !p.ours(r.RemoteAddr) {
		p.refuse(w, &refusal{"", "another user's process"})
		return
	}
	if !p.authorised(r) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="parley"`)
		http.Error(w, "say who you are", http.StatusProxyAuthRequired)
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	p.forward(w, r)
}

// authorised checks the password, in a time that does not depend on it.
func (p *Proxy) authorised(r *http.Request) bool {
	if p.password == "" {
		return true
	}
	given, ok := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	raw, err := base64.StdEncoding.DecodeString(given)
	return ok && err == nil && len(r.Header.Values("Proxy-Authorization")) == 1 && subtle.ConstantTimeCompare(raw, []byte(p.user+":"+p.password)) == 1
}

func (p *Proxy) refuse(w http.ResponseWriter, r *refusal) {
	p.denied.Add(1)
	p.tell(r)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusForbidden)
	if r.target == "" {
		fmt.Fprintf(w, "refused: %s\n", r.why)
		return
	}
	fmt.Fprintf(w, "refused: host allowlist: %s: %s\n", r.target, r.why)
}

// tell logs each target once, and counts it from then on. A path or query is never in it.
func (p *Proxy) tell(r *refusal) {
	p.mu.Lock()
	n, seen := p.told[r.target]
	if seen || len(p.told) < maxTold {
		p.told[r.target] = n + 1
	}
	p.mu.Unlock()
	if !seen {
		p.o.Log.Warn("a tenant's browser was refused a connection", "tenant", p.o.Tenant, "target", r.target, "reason", r.why)
	}
}

// Refused counts refusals by host:port.
func (p *Proxy) Refused() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]int, len(p.told))
	for k, n := range p.told {
		out[k] = n
	}
	return out
}

// target reads an authority strictly.
func target(authority string, port int) (string, int, *refusal) {
	host := authority
	if h, s, err := net.SplitHostPort(authority); err == nil {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 65535 || strings.Trim(s, "0123456789") != "" {
			return "", 0, &refusal{"", "this is no port"}
		}
		host, port = h, n
		if strings.HasPrefix(authority, "[") {
			host = "[" + h + "]"
		}
	}
	if port == 0 {
		return "", 0, &refusal{"", "a tunnel needs a port"}
	}
	h, err := Host(host)
	if err != nil {
		return "", 0, &refusal{"", "this is no host: " + err.Error()}
	}
	return h, port, nil
}

// connect resolves a name once and dials the address that the decision was made about.
func (p *Proxy) connect(ctx context.Context, authority string) (net.Conn, error) {
	host, port, bad := target(authority, 0)
	if bad != nil {
		return nil, bad
	}
	at := net.JoinHostPort(host, strconv.Itoa(port))
	if !p.o.Rules.Allows(host, port) {
		return nil, &refusal{at, "it is not on the list"}
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	var found []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{a}
	} else if found, err = p.o.Resolve(ctx, host); err != nil {
		return nil, fmt.Errorf("%s has no address: %w", host, err)
	}
	private := false
	var last error
	for _, a := range found {
		if a.Is4In6() && !isLiteral(host) {
			a = a.Unmap() // how the resolver writes IPv4
		}
		if !Public(a) && !p.o.Rules.Names(a, port) {
			private = true
			continue
		}
		if (a.IsLoopback() || a.IsUnspecified() || local(a)) && (port == p.port || slices.Contains(p.o.Own, port)) {
			return nil, &refusal{at, "it is a port of this service"}
		}
		c, err := p.o.Dial(ctx, netip.AddrPortFrom(a, uint16(port)))
		if err == nil {
			return c, nil
		}
		last = err
	}
	switch {
	case last != nil:
		return nil, last
	case private:
		return nil, &refusal{at, "it leads into a private network"}
	}
	return nil, fmt.Errorf("%s has no address", host)
}

func isLiteral(host string) bool { _, err := netip.ParseAddr(host); return err == nil }

// local tells whether an address is one of this machine's own.
func local(a netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true // unknown is ours
	}
	for _, i := range all {
		if n, ok := i.(*net.IPNet); ok {
			if b, ok := netip.AddrFromSlice(n.IP); ok && b.Unmap() == a {
				return true
			}
		}
	}
	return false
}

// tunnel serves CONNECT.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	if r.URL.Host == "" || r.URL.Path != "" || r.URL.User != nil || r.ContentLength > 0 {
		p.refuse(w, &refusal{"", "this is no tunnel"})
		return
	}
	host, port, bad := target(r.URL.Host, 0)
	if bad != nil {
		p.refuse(w, bad)
		return
	}
	select {
	case p.tunnels <- struct{}{}:
		defer func() { <-p.tunnels }()
	default:
		http.Error(w, "too many tunnels", http.StatusServiceUnavailable)
		return
	}
	out, err := p.connect(r.Context(), r.URL.Host)
	if err != nil {
		p.failed(w, err)
		return
	}
	defer out.Close()
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "no tunnel", http.StatusInternalServerError)
		return
	}
	defer in.Close()
	p.running.Add(1)
	defer p.running.Done()
	stop := context.AfterFunc(p.life, func() { in.Close(); out.Close() })
	defer stop()
	p.allowed.Add(1)
	_ = in.SetDeadline(time.Now().Add(headerTime))
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	first, err := p.greeting(buffered.Reader, host, port)
	if err != nil {
		p.denied.Add(1)
		p.tell(&refusal{net.JoinHostPort(host, strconv.Itoa(port)), err.Error()})
		return
	}
	if _, err := out.Write(first); err != nil {
		return
	}
	p.bytes.Add(int64(len(first)))
	p.pipe(in, buffered.Reader, out)
}

// greeting reads what the browser begins with. On the port of the secure web that has to be a TLS hello for the host
// the tunnel was made to: nothing else is carried there.
func (p *Proxy) greeting(b *bufio.Reader, host string, port int) ([]byte, error) {
	if port != 443 {
		return nil, nil
	}
	var first []byte
	chunk := make([]byte, 4096)
	for {
		n, err := b.Read(chunk)
		first = append(first, chunk[:n]...)
		name, need, bad := helloName(first)
		switch {
		case bad != nil:
			return nil, bad
		case !need && (strings.EqualFold(strings.TrimSuffix(name, "."), host) || name == "" && isLiteral(host)):
			return first, nil
		case !need:
			return nil, errors.New("its hello is for another host")
		case err != nil, len(first) > maxHello:
			return nil, errNotTLS
		}
	}
}

// pipe copies both ways until one side ends or is silent for too long.
func (p *Proxy) pipe(in net.Conn, reader io.Reader, out net.Conn) {
	var both sync.WaitGroup
	var last atomic.Int64
	last.Store(time.Now().UnixNano())
	copyTo := func(to net.Conn, from io.Reader, side net.Conn) {
		b := make([]byte, 32<<10)
		for {
			_ = side.SetReadDeadline(time.Now().Add(idleTime))
			n, err := from.Read(b)
			if n > 0 {
				p.bytes.Add(int64(n))
				last.Store(time.Now().UnixNano())
				_ = to.SetWriteDeadline(time.Now().Add(idleTime))
				if _, werr := to.Write(b[:n]); werr != nil {
					break
				}
			}
			if err != nil {
				var late net.Error
				if errors.As(err, &late) && late.Timeout() && time.Since(time.Unix(0, last.Load())) < idleTime {
					continue // the other direction is busy
				}
				break
			}
		}
		if c, ok := to.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite() // half a connection may go on
		} else {
			_ = to.Close()
		}
	}
	both.Go(func() { copyTo(out, reader, in) })
	both.Go(func() { copyTo(in, out, out) })
	both.Wait()
}

// hop are headers of one connection; they go no further.
var hop = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// forward serves a plain request.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	u := r.URL
	switch {
	case u.Scheme != "http" || u.Host == "" || u.Opaque != "":
		p.refuse(w, &refusal{"", "only http addresses in full are carried"})
		return
	case u.User != nil:
		p.refuse(w, &refusal{"", "an address with a user in it"})
		return
	case r.Host != u.Host:
		p.refuse(w, &refusal{"", "the host header names another host"})
		return
	}
	if _, _, bad := target(u.Host, 80); bad != nil {
		p.refuse(w, bad)
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI = ""
	for _, named := range strings.Split(r.Header.Get("Connection"), ",") {
		out.Header.Del(strings.TrimSpace(named))
	}
	for _, h := range hop {
		out.Header.Del(h)
	}
	resp, err := p.out.RoundTrip(out)
	if err != nil {
		p.failed(w, err)
		return
	}
	defer resp.Body.Close()
	p.allowed.Add(1)
	for _, h := range hop {
		resp.Header.Del(h)
	}
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(w)
	b := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(b)
		if n > 0 {
			p.bytes.Add(int64(n))
			if _, err := w.Write(b[:n]); err != nil {
				return
			}
			_ = flush.Flush() // events are streams
		}
		if err != nil {
			return
		}
	}
}

// failed answers a connection that was not made, or could not be.
func (p *Proxy) failed(w http.ResponseWriter, err error) {
	var no *refusal
	if errors.As(err, &no) {
		p.refuse(w, no)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = io.WriteString(w, "the host cannot be reached\n")
}
