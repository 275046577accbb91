package egress_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/chromium"
	"parley/guard/egress"
	"parley/internal/proc"
	"parley/tenant"
	"parley/testkit/need"
)

// page tries what pages try: pictures, styles, fetches, sockets, frames, workers, beacons, links ahead.
const page = `<!doctype html><link rel=preconnect href="http://OTHER"><link rel=prefetch href="http://OTHER/prefetch"><link rel=stylesheet href="http://OTHER/style">
<img src="http://OTHER/img"><img src="http://localhost:OPORT/localhost"><img src="http://2130706433:OPORT/decimal"><iframe src="http://OTHER/frame"></iframe><audio src="http://OTHER/audio" autoplay></audio>
<object data="http://OTHER/object"></object>
<script>
for (const f of [() => fetch('http://OTHER/fetch'), () => new WebSocket('ws://OTHER/ws'), () => new EventSource('http://OTHER/events'), () => navigator.sendBeacon('http://OTHER/beacon', 'x'),
  () => new Worker(URL.createObjectURL(new Blob(["fetch('http://OTHER/worker')"]))), () => window.open('http://OTHER/open'),
  () => { const p = new RTCPeerConnection({iceServers: [{urls: 'stun:OTHER'}]}); p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)) }]) { try { f() } catch (e) {} }
fetch('/done');
</script>`

// TestABrowserHasNoOtherWayOut loads a page that tries to reach a second server, with the proxy and without.
func TestABrowserHasNoOtherWayOut(t *testing.T) {
	need.Browser(t)
	var account *proc.Account
	if os.Geteuid() == 0 {
		var err error
		if account, err = proc.Lookup("parley"); err != nil {
			t.Fatal(err)
		}
	}
	for _, confined := range []bool{true, false} {
		t.Run(fmt.Sprint("confined ", confined), func(t *testing.T) {
			var hits atomic.Int64
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
			defer other.Close()
			udp, err := net.ListenPacket("udp", other.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer udp.Close()
			go func() {
				b := make([]byte, 1500)
				for {
					if _, _, err := udp.ReadFrom(b); err != nil {
						return
					}
					hits.Add(1)
				}
			}()
			at := other.Listener.Addr().String()
			_, port, _ := net.SplitHostPort(at)
			done := make(chan struct{}, 8)
			home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/done" {
					done <- struct{}{}
					return
				}
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, strings.NewReplacer("OTHER", at, "OPORT", port).Replace(page))
			}))
			defer home.Close()
			rules, err := egress.ParseRules(home.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			set := &egress.Set{Rules: map[tenant.ID]egress.Rules{"me": rules}}
			defer set.Close()
			o := browser.Options{Headless: true, Chromium: chromium.Options{Account: account}}
			if confined {
				o.Proxy = set.Proxy
			}
			m := browser.NewManager(o)
			defer m.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			s, err := m.Open(ctx, browser.Want{Owner: browser.Owner{Tenant: "me"}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Navigate(ctx, home.URL+"/", browser.ActOptions{}); err != nil {
				t.Fatal(err)
			}
			select {
			case <-done:
			case <-ctx.Done():
				t.Fatal("the page did not run")
			}
			settle := time.NewTimer(3 * time.Second) // for what would arrive late: its absence is the point
			defer settle.Stop()
			<-settle.C
			if n := hits.Load(); confined && n != 0 || !confined && n < 5 {
				t.Errorf("%d times the other server was reached", n)
			}
		})
	}
}
