package chromium

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/testkit/need"
)

// A browser that shows an empty page asks nobody anything. Whom it calls is seen by a proxy.
func TestTheBrowserCallsNobodyByItself(t *testing.T) {
	need.Browser(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	called := make(chan string, 100)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				select {
				case called <- r.Method + " " + r.Host:
				default:
				}
			}
			c.Close()
		}
	}()
	defer func() { l.Close(); <-served }()
	o := options(t)
	o.Proxy = "http://" + l.Addr().String()
	b := start(t, o)
	if _, err := (proto.TargetCreateTarget{URL: "about:blank"}).Call(b.With(t.Context())); err != nil {
		t.Fatal(err)
	}
	// Nothing announces that nothing will come: what the switches hold back came within two seconds without them.
	end := time.After(12 * time.Second)
	for {
		select {
		case who := <-called:
			if !strings.Contains(nowhere, who[strings.IndexByte(who, ' ')+1:]) {
				t.Errorf("called: %s", who)
			}
		case <-end:
			return
		}
	}
}
