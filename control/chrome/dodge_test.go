package chrome

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/browser/browsertest"
	"parley/control/tabs"
)

// dodges are a page's ways to a server that do not look like requests of the page, by the path that each of them asks for.
// They run as soon as the page is parsed.
const dodges = `<!doctype html><title>t</title><body>
<iframe sandbox="allow-scripts" srcdoc="<img src='http://OTHER/sandbox'><script>fetch('http://OTHER/sandbox-fetch', {mode: 'no-cors'}); new WebSocket('ws://OTHER/sandbox-socket')</script>"></iframe>
<iframe srcdoc="<img src='http://OTHER/srcdoc'><script>new WebSocket('ws://OTHER/srcdoc-socket')</script>"></iframe>
<script>
const own = text => URL.createObjectURL(new Blob([text]));
for (const f of [
  () => new WebSocket("ws://OTHER/socket"),
  () => new WebSocket("ws://2130706433:PORT/decimal-socket"),
  () => new Worker(own("fetch('http://OTHER/worker', {mode: 'no-cors'})")),
  () => new Worker(own("new WebSocket('ws://OTHER/worker-socket')")),
  () => new SharedWorker(own("fetch('http://OTHER/shared', {mode: 'no-cors'})")),
  () => new EventSource("http://OTHER/events"),
  () => navigator.sendBeacon("http://OTHER/beacon", "x"),
  () => { const l = document.createElement("link"); l.rel = "prefetch"; l.href = "http://OTHER/prefetch"; document.head.append(l) },
  () => { const w = window.open("about:blank"); w && new w.WebSocket("ws://OTHER/opened-socket") },
]) { try { f() } catch (e) {} }
addEventListener("load", () => setTimeout(() => fetch("/done"), 500));
</script>`

// TestWhatDoesNotLookLikeARequest: what a tab may not reach it reaches by no other way either: sockets, workers, frames in a
// sandbox. The same page reaches all of it where no grant is in force.
func TestWhatDoesNotLookLikeARequest(t *testing.T) {
	paths := []string{"sandbox", "sandbox-fetch", "sandbox-socket", "srcdoc", "srcdoc-socket", "socket", "decimal-socket", "worker", "worker-socket", "shared", "events", "beacon"}
	for _, bound := range []bool{false, true} {
		t.Run(fmt.Sprint("bound ", bound), func(t *testing.T) {
			var mu sync.Mutex
			hits := map[string]bool{}
			other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				hits[strings.TrimPrefix(q.URL.Path, "/")] = true
			}))
			defer other.Close()
			at := other.Listener.Addr().String()
			_, port, err := net.SplitHostPort(at)
			if err != nil {
				t.Fatal(err)
			}
			// Another address of the same machine: the browser itself lets a public page reach neither.
			home := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if q.URL.Path == "/done" {
					mu.Lock()
					defer mu.Unlock()
					hits["done"] = true
					return
				}
				w.Header().Set("Content-Type", "text/html")
				if q.URL.Path == "/" {
					fmt.Fprint(w, "<!doctype html><title>t</title>home")
					return
				}
				fmt.Fprint(w, strings.NewReplacer("OTHER", at, "PORT", port).Replace(dodges))
			}))
			if err := home.Listener.Close(); err != nil {
				t.Fatal(err)
			}
			if home.Listener, err = net.Listen("tcp", "127.0.0.2:0"); err != nil {
				t.Fatal(err)
			}
			home.Start()
			defer home.Close()
			r := start(t)
			r.b.End()
			r.b = New(r.m, browsertest.Me.Tenant, Options{Log: browsertest.Log(t)})
			t.Cleanup(func() { r.b.End() })
			ctx, cancel := context.WithTimeout(r.ctx, 90*time.Second)
			defer cancel()
			id, err := r.person(ctx, home.URL+"/")
			if err != nil {
				t.Fatal(err)
			}
			if bound {
				if err := r.b.Restrict(ctx, id, tabs.Restriction{Principal: "a", Generation: 1, Hosts: []string{"127.0.0.2"}, Permits: permits("127.0.0.2")}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.b.Go(ctx, id, r.tab(id).Document, tabs.Move{URL: home.URL + "/page"}); err != nil {
				t.Fatal(err)
			}
			r.eventually("the page to run", func() bool { mu.Lock(); defer mu.Unlock(); return hits["done"] })
			if !bound {
				for _, p := range paths {
					r.eventually(p, func() bool { mu.Lock(); defer mu.Unlock(); return hits[p] })
				}
				return
			}
			settle := time.NewTimer(2 * time.Second) // for what would arrive late: its absence is the point
			defer settle.Stop()
			<-settle.C
			mu.Lock()
			defer mu.Unlock()
			delete(hits, "done")
			if len(hits) > 0 {
				t.Errorf("the tab is bound to another host, and reached: %v", hits)
			}
		})
	}
}
