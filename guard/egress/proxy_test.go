package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/tenant"
)

// net of a test: names, their addresses, and one server behind all public ones.
type stage struct {
	t      *testing.T
	proxy  *Proxy
	names  map[string][]netip.Addr
	plain  *httptest.Server
	secure *httptest.Server
	log    *bytes.Buffer

	mu     sync.Mutex
	dialed []string
	hits   []string
	asked  map[string]int
}

var publicAddr = netip.MustParseAddr("8.8.4.4")

func newStage(t *testing.T, rules string, change func(*Options)) *stage {
	t.Helper()
	s := &stage{t: t, names: map[string][]netip.Addr{}, log: &bytes.Buffer{}, asked: map[string]int{}}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.hits = append(s.hits, r.Method+" "+r.Host+r.URL.Path)
		s.mu.Unlock()
		for _, bad := range []string{"Proxy-Authorization", "Proxy-Connection", "Upgrade"} {
			if r.Header.Get(bad) != "" {
				t.Errorf("%s went through", bad)
			}
		}
		w.Header().Set("X-Seen", r.Host)
		_, _ = io.WriteString(w, "hello")
	})
	s.plain, s.secure = httptest.NewServer(h), httptest.NewTLSServer(h)
	t.Cleanup(s.plain.Close)
	t.Cleanup(s.secure.Close)
	r, err := ParseRules(rules)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Tenant: "me", Rules: r, Log: slog.New(slog.NewTextHandler(s.log, nil)),
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked[host]++
			if a, ok := s.names[host]; ok {
				return a, nil
			}
			return nil, errors.New("no such host")
		},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			s.mu.Lock()
			s.dialed = append(s.dialed, to.String())
			s.mu.Unlock()
			behind := s.plain
			if to.Port() == 443 {
				behind = s.secure
			}
			return net.Dial("tcp", behind.Listener.Addr().String())
		}}
	if change != nil {
		change(&o)
	}
	if s.proxy, err = Listen(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.proxy.Close() })
	return s
}

func (s *stage) client(user, password string) *http.Client {
	u, err := url.Parse(s.proxy.Address())
	if err != nil {
		s.t.Fatal(err)
	}
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	tr := &http.Transport{Proxy: http.ProxyURL(u), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	s.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

// raw sends bytes as they are and gives the first line of the answer with the body.
func (s *stage) raw(request string) string {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.proxy.Address(), "http://"))
	if err != nil {
		return "closed"
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		return "closed"
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "closed"
	}
	defer r.Body.Close()
	body := ""
	if r.StatusCode != http.StatusOK || r.ContentLength >= 0 {
		b, _ := io.ReadAll(io.LimitReader(r.Body, 4096))
		body = string(b)
	}
	return fmt.Sprintf("HTTP/1.1 %d | %s", r.StatusCode, strings.TrimSpace(body))
}

func TestWhatIsOnTheListGoesThrough(t *testing.T) {
	s := newStage(t, "shop.test, *.shop.test", nil)
	s.names["shop.test"], s.names["a.shop.test"] = []netip.Addr{publicAddr}, []netip.Addr{publicAddr}
	for _, u := range []string{"http://shop.test/x", "https://shop.test/y?q=secret", "https://a.shop.test/"} {
		r, err := s.client("", "").Get(u)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if string(b) != "hello" {
			t.Errorf("%s: %s", u, b)
		}
	}
	for _, d := range s.dialed {
		if !strings.HasPrefix(d, "8.8.4.4:") {
			t.Errorf("dialed %s", d)
		}
	}
	if a, d, n := s.proxy.Stats(); a < 3 || d != 0 || n == 0 {
		t.Errorf("%d %d %d", a, d, n)
	}
}

// TestVectors are ways round a list of hosts, from public reports: each must be refused, with nothing dialled.
func TestVectors(t *testing.T) {
	s := newStage(t, "shop.test, rebind.test, inside.test, mixed.test, *", nil) // the star: only what is private or badly written is refused
	s.names["inside.test"] = []netip.Addr{netip.MustParseAddr("10.0.0.5")}
	s.names["rebind.test"] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	for _, host := range []string{"localhost", "foo.localhost", "localhost.", "localhost6", "localhost.localdomain"} {
		s.names[strings.TrimSuffix(host, ".")] = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}
	}
	vectors := []string{
		"127.0.0.1", "127.0.0.2", "127.1", "2130706433", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "%31%32%37.0.0.1", "１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "127.0.0.1.",
		"localhost", "foo.localhost", "localhost.", "localhost6", "localhost.localdomain",
		"[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "0.0.0.0", "0", "[::]", "[::ffff:0.0.0.0]",
		"10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "[fd00:ec2::254]", "[fe80::1%25eth0]", "[fe80::1]", "[fd00::1]", "224.0.0.1", "255.255.255.255", "198.18.0.1", "240.0.0.1",
		"inside.test", "rebind.test", "user@shop.test", "shop.test@evil.test", "shop..test", "-", "shop.test%00.evil.test", "a b", "",
	}
	for _, v := range vectors {
		for _, form := range []string{"CONNECT " + v + ":443 HTTP/1.1\r\nHost: " + v + ":443\r\n\r\n", "GET http://" + v + "/ HTTP/1.1\r\nHost: " + v + "\r\nConnection: close\r\n\r\n",
			"CONNECT " + v + ":80 HTTP/1.1\r\nHost: x\r\n\r\n"} {
			a := s.raw(form)
			if strings.Contains(a, " 200 |") || strings.Contains(a, "hello") {
				t.Errorf("%q went through: %s", v, a)
			}
		}
	}
	for name, form := range map[string]string{
		"https in the clear": "GET https://shop.test/ HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n", "ftp": "GET ftp://shop.test/ HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n",
		"file": "GET file:///etc/passwd HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n", "no address": "GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n",
		"a tunnel with a path": "CONNECT shop.test:443/x HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n", "a tunnel without a port": "CONNECT shop.test HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n",
		"another port": "CONNECT shop.test:22 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "mail": "CONNECT shop.test:25 HTTP/1.1\r\nHost: x\r\n\r\n", "port 0": "CONNECT shop.test:0 HTTP/1.1\r\nHost: x\r\n\r\n",
		"port signed": "CONNECT shop.test:+443 HTTP/1.1\r\nHost: x\r\n\r\n", "user": "GET http://allowed@evil.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n",
		"a long header": "GET http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n",
		"two lengths":   "POST http://inside.test/ HTTP/1.1\r\nHost: inside.test\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
	} {
		if a := s.raw(form); strings.Contains(a, " 200 |") || strings.Contains(a, "| hello") {
			t.Errorf("%s went through: %s", name, a)
		}
	}
	if len(s.dialed) > 0 || len(s.hits) > 0 {
		t.Errorf("dialled %v, hits %v", s.dialed, s.hits)
	}
	if log := s.log.String(); strings.Count(log, "target=127.0.0.1:443") != 1 {
		t.Errorf("a target is not logged once: %d", strings.Count(log, "target=127.0.0.1:443"))
	}
}

func TestANameThatTurnsAfterwardsIsNotAskedAgain(t *testing.T) {
	s := newStage(t, "rebind.test", nil)
	turns := 0
	s.proxy.o.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		turns++
		if turns > 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{publicAddr}, nil
	}
	if _, err := s.client("", "").Get("http://rebind.test/"); err != nil {
		t.Fatal(err)
	}
	if turns != 1 || len(s.dialed) != 1 || s.dialed[0] != "8.8.4.4:80" {
		t.Errorf("asked %d times, dialled %v", turns, s.dialed)
	}
}

func TestAPrivateAnswerBesideAPublicOneIsLeftOut(t *testing.T) {
	s := newStage(t, "mixed.test", nil)
	s.names["mixed.test"] = []netip.Addr{netip.MustParseAddr("10.0.0.1"), publicAddr}
	if _, err := s.client("", "").Get("http://mixed.test/"); err != nil || len(s.dialed) != 1 || s.dialed[0] != "8.8.4.4:80" {
		t.Errorf("%v %v", err, s.dialed)
	}
}

func TestAPrivateAddressHasToBeNamed(t *testing.T) {
	s := newStage(t, "127.0.0.1:4848, inside.test:4848", nil)
	s.names["inside.test"] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	for u, want := range map[string]int{"http://127.0.0.1:4848/": 200, "http://inside.test:4848/": 200, "http://127.0.0.1:4849/": 403, "http://127.0.0.2:4848/": 403} {
		r, err := s.client("", "").Get(u)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: %d", u, r.StatusCode)
		}
	}
}

func TestTheServicesOwnPortsAreNeverReached(t *testing.T) {
	s := newStage(t, "127.0.0.1:7360", func(o *Options) { o.Own = []int{7360} })
	r, err := s.client("", "").Get("http://127.0.0.1:7360/")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if r.StatusCode != 403 || !strings.Contains(string(b), "of this service") {
		t.Errorf("%d %s", r.StatusCode, b)
	}
	s.proxy.o.Rules = append(s.proxy.o.Rules, Rule{host: "127.0.0.1", port: s.proxy.port})
	if a := s.raw(fmt.Sprintf("CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n", s.proxy.port)); !strings.Contains(a, "403") {
		t.Errorf("itself: %s", a)
	}
	if len(s.dialed) > 0 {
		t.Error(s.dialed)
	}
}

func TestATunnelCarriesTLSForItsHostOnly(t *testing.T) {
	s := newStage(t, "shop.test, evil.test", nil)
	s.names["shop.test"], s.names["evil.test"] = []netip.Addr{publicAddr}, []netip.Addr{publicAddr}
	open := func() net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.proxy.Address(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprintf(c, "CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test:443\r\n\r\n")
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || r.StatusCode != 200 {
			t.Fatalf("%v %v", r, err)
		}
		return c
	}
	for name, want := range map[string]bool{"shop.test": true, "SHOP.test": true, "evil.test": false} {
		c := open()
		tc := tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		err := tc.HandshakeContext(t.Context())
		if (err == nil) != want {
			t.Errorf("a hello for %s: %v", name, err)
		}
		c.Close()
	}
	// With an encrypted hello inside, the name outside counts: a front for another host is refused.
	for front, want := range map[string]bool{"shop.test": true, "front.test": false} {
		c := open()
		tc := tls.Client(c, &tls.Config{ServerName: "shop.test", MinVersion: tls.VersionTLS13, EncryptedClientHelloConfigList: echConfig(t, front)})
		err := tc.HandshakeContext(t.Context())
		var answered *tls.CertificateVerificationError // the server got the hello; its certificate is another's
		if got := errors.As(err, &answered); got != want {
			t.Errorf("an encrypted hello behind %s: %v", front, err)
		}
		c.Close()
	}
	c := open()
	fmt.Fprintf(c, "SSH-2.0-x\r\n")
	if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
		t.Errorf("something else than TLS was answered: %q %v", b, err)
	}
	c.Close()
}

// echConfig is a list with one key for encrypted hellos (RFC 9849, 4), whose name outside is front.
func echConfig(t *testing.T, front string) []byte {
	t.Helper()
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sized := func(width int, b []byte) []byte {
		out := binary.BigEndian.AppendUint16(nil, uint16(len(b)))
		return append(out[2-width:], b...)
	}
	config := []byte{1, 0, 0x20} // an id; DHKEM(X25519, HKDF-SHA256)
	config = append(config, sized(2, key.PublicKey().Bytes())...)
	config = append(config, sized(2, []byte{0, 1, 0, 1})...) // HKDF-SHA256, AES-128-GCM
	config = append(config, 0)
	config = append(config, sized(1, []byte(front))...)
	config = append(config, 0, 0)
	return sized(2, append([]byte{0xfe, 0x0d}, sized(2, config)...))
}

func TestWhoMayConnect(t *testing.T) {
	s := newStage(t, "shop.test", func(o *Options) { o.Password = true })
	s.names["shop.test"] = []netip.Addr{publicAddr}
	user, password := s.proxy.Credentials()
	for _, c := range []struct {
		user, password string
		want           int
	}{{"", "", 407}, {user, "wrong", 407}, {"x", password, 407}, {user, password, 200}} {
		r, err := s.client(c.user, c.password).Get("http://shop.test/")
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != c.want {
			t.Errorf("%s: %d", c.user, r.StatusCode)
		}
	}
	// Without them there is no tunnel either, and two are none.
	good := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	for _, h := range []string{"", "Proxy-Authorization: Basic x\r\n", "Proxy-Authorization: Basic " + good + "\r\nProxy-Authorization: Basic " + good + "\r\n"} {
		if a := s.raw("CONNECT shop.test:80 HTTP/1.1\r\nHost: x\r\n" + h + "Connection: close\r\n\r\n"); !strings.Contains(a, "407") {
			t.Errorf("%q: %s", h, a)
		}
	}
	me, other := os.Geteuid(), os.Geteuid()+1
	for uid, want := range map[*int]int{&me: 200, &other: 403} {
		s := newStage(t, "shop.test", func(o *Options) { o.UID = uid })
		s.names["shop.test"] = []netip.Addr{publicAddr}
		r, err := s.client("", "").Get("http://shop.test/")
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("user %d: %d", *uid, r.StatusCode)
		}
	}
}

func TestWhatIsRefusedSaysSoInALine(t *testing.T) {
	s := newStage(t, "shop.test", nil)
	for range 3 {
		r, err := s.client("", "").Get("http://evil.test/path?secret=canary")
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 403 || string(b) != "refused: host allowlist: evil.test:80: it is not on the list\n" {
			t.Errorf("%d %q", r.StatusCode, b)
		}
	}
	if log := s.log.String(); strings.Count(log, "evil.test:80") != 1 || strings.Contains(log, "canary") || strings.Contains(log, "path") {
		t.Error(log)
	}
	if n := s.proxy.Refused()["evil.test:80"]; n != 3 {
		t.Errorf("counted %d", n)
	}
}

func TestAProxyThatEndedIsNoWayOut(t *testing.T) {
	rules, _ := ParseRules("shop.test")
	set := &Set{Rules: map[tenant.ID]Rules{"me": rules}}
	if a, err := set.Proxy("you"); a != "" || err != nil {
		t.Errorf("a tenant without a list: %q %v", a, err)
	}
	a, err := set.Proxy("me")
	if err != nil || a == "" {
		t.Fatal(err)
	}
	if again, _ := set.Proxy("me"); again != a {
		t.Error("two proxies for one tenant")
	}
	if err := set.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(a, "http://")); err == nil {
		t.Error("it still answers")
	}
	if a, err := set.Proxy("me"); err == nil {
		t.Errorf("a closed set gives a direct way: %q", a)
	}
}

func FuzzHello(f *testing.F) {
	client, server := net.Pipe()
	go func() {
		_ = tls.Client(client, &tls.Config{ServerName: "shop.test", InsecureSkipVerify: true}).Handshake()
	}()
	b := make([]byte, 16<<10)
	n, err := server.Read(b)
	client.Close()
	if err != nil {
		f.Fatal(err)
	}
	if name, need, err := helloName(b[:n]); name != "shop.test" || need || err != nil {
		f.Fatalf("%q %v %v", name, need, err)
	}
	f.Add(b[:n])
	f.Fuzz(func(t *testing.T, b []byte) { helloName(b) })
}
