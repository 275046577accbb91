package chrome

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/browsertest"
	"parley/control/tabs"
)

func (r *rig) session(by browser.Owner) *browser.Session {
	r.t.Helper()
	s, err := r.m.Open(r.ctx, browser.Want{Owner: by})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// at is the tab whose address begins so.
func (r *rig) at(address string) tabs.Tab {
	r.t.Helper()
	all, err := r.b.Tabs(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, t := range all {
		if t.URL == address {
			return t
		}
	}
	return tabs.Tab{}
}

// TestTheTabsAreTheTenantsSessions: what a client of the tenant opened and does is what the endpoint sees, and the other
// way round; another tenant's is nobody's here.
func TestTheTabsAreTheTenantsSessions(t *testing.T) {
	r := start(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>t</title><body>" + q.URL.Path)) // the page tells when it is missing
	}))
	defer site.Close()
	if all, err := r.b.Tabs(r.ctx); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	foreign := r.session(browser.Owner{Tenant: "other", Client: "x"})
	s := r.session(browsertest.Me)
	if _, err := s.Navigate(r.ctx, site.URL+"/one", browser.ActOptions{}); err != nil {
		t.Fatal(err)
	}
	all, err := r.b.Tabs(r.ctx)
	if err != nil || len(all) != 1 || !all[0].Foreground || all[0].URL != site.URL+"/one" {
		t.Fatalf("%+v, %v", all, err)
	}
	one := all[0]
	var got struct{ Text string }
	if err := r.b.Run(r.ctx, one.ID, one.Document, tabs.Read, map[string]any{"max": 100}, &got); err != nil || got.Text != "/one" {
		t.Fatalf("%+v, %v", got, err)
	}
	// The endpoint moves it; the client sees that.
	after, err := r.b.Go(r.ctx, one.ID, one.Document, tabs.Move{URL: site.URL + "/two"})
	if err != nil || after.Activation != one.Activation {
		t.Fatalf("%+v, %v", after, err)
	}
	if u := s.Current().URL(); u != site.URL+"/two" {
		t.Errorf("the client sees %s", u)
	}
	// The client moves it: the document is another.
	if _, err := s.Navigate(r.ctx, site.URL+"/three", browser.ActOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.b.Run(r.ctx, one.ID, after.Document, tabs.Read, nil, nil); !errors.Is(err, tabs.ErrDocument) {
		t.Errorf("a script in a document that is gone: %v", err)
	}
	// The client opens a tab and comes back: the foreground went and came, and its number is another.
	if _, err := s.NewTab(r.ctx); err != nil {
		t.Fatal(err)
	}
	if r.at(site.URL + "/three").Foreground {
		t.Error("two tabs are in front")
	}
	if err := s.Select("t1"); err != nil {
		t.Fatal(err)
	}
	if back := r.at(site.URL + "/three"); !back.Foreground || back.Activation == one.Activation || back.ID != one.ID {
		t.Errorf("%+v, before %+v", back, one)
	}
	// A session that was opened later is in front until one of the first is shown again.
	second := r.session(browser.Owner{Tenant: browsertest.Me.Tenant, Client: "another"})
	if r.at(site.URL + "/three").Foreground {
		t.Error("the newer session is not in front")
	}
	if now, err := r.b.Activate(r.ctx, one.ID); err != nil || !now.Foreground {
		t.Errorf("%+v, %v", now, err)
	}
	behind, err := r.b.Create(r.ctx, "")
	if err != nil || behind.Foreground || len(s.Tabs()) != 3 || len(second.Tabs()) != 1 || s.Current().URL() != site.URL+"/three" {
		t.Errorf("%+v, %v; %d and %d tabs", behind, err, len(s.Tabs()), len(second.Tabs()))
	}
	if err := r.b.Close(r.ctx, behind.ID); err != nil {
		t.Fatal(err)
	}
	r.eventually("the tab is gone for the client too", func() bool { return len(s.Tabs()) == 2 })
	foreign.Close()
	s.Close()
	if _, err := r.b.Tab(r.ctx, one.ID); !errors.Is(err, tabs.ErrNoTab) {
		t.Errorf("a tab of a session that ended: %v", err)
	}
}

// TestADialogLiesOverThePage: it is the client's to answer, and until then nothing is done to the page.
func TestADialogLiesOverThePage(t *testing.T) {
	r := start(t)
	id := r.open("<body>words")
	r.eval(id, `setTimeout(() => alert("hello"), 50); "x"`)
	r.eventually("the dialog", func() bool { return r.tab(id).Covered })
	if err := r.b.Run(r.ctx, id, r.tab(id).Document, tabs.Read, nil, nil); !errors.Is(err, tabs.ErrCovered) {
		t.Errorf("%v", err)
	}
	if _, err := r.b.Go(r.ctx, id, r.tab(id).Document, tabs.Move{Reload: true}); !errors.Is(err, tabs.ErrCovered) {
		t.Errorf("%v", err)
	}
	if _, err := r.view(id).s.Answer(r.ctx, "", true, "", false); err != nil {
		t.Fatal(err)
	}
	r.eventually("the page is free", func() bool { return !r.tab(id).Covered })
	if got := r.run(id, tabs.Read, map[string]any{"max": 100}); got["text"] != "words" {
		t.Errorf("%v", got)
	}
}

// TestAnOperationWaitsItsTurn: while a client works the session nothing is done beside it, and a waiting operation ends with
// its own context.
func TestAnOperationWaitsItsTurn(t *testing.T) {
	r := start(t)
	id := r.open("<body>words")
	release, err := r.view(id).s.Hold(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.ctx, 200*time.Millisecond)
	defer cancel()
	if err := r.b.Run(ctx, id, r.tab(id).Document, tabs.Read, map[string]any{"max": 9}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	release()
	release() // once is enough
	if got := r.run(id, tabs.Read, map[string]any{"max": 9}); got["text"] != "words" {
		t.Errorf("%v", got)
	}
}

// TestASessionIsLetAloneUntilItIsWorked: a service worker runs, requests pass by; then a grant works a tab, and neither does.
// When the endpoint ends, the session is what it was.
func TestASessionIsLetAloneUntilItIsWorked(t *testing.T) {
	r := start(t)
	r.b.End()
	r.b = New(r.m, browsertest.Me.Tenant, Options{Log: browsertest.Log(t)})
	t.Cleanup(r.b.End)
	asked := make(chan string, 100)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked <- q.URL.Path
		if q.URL.Path == "/sw.js" {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte(`onmessage = e => fetch("/worker" + e.data)`))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><script>navigator.serviceWorker.register("/sw.js")</script>page`))
	}))
	defer site.Close()
	until := func(path string) bool {
		t.Helper()
		for end := time.After(15 * time.Second); ; {
			select {
			case got := <-asked:
				if got == path {
					return true
				}
			case <-end:
				return false
			}
		}
	}
	s := r.session(browsertest.Me)
	if _, err := r.b.Tabs(r.ctx); err != nil { // it looks, and works nothing
		t.Fatal(err)
	}
	if _, err := s.Navigate(r.ctx, site.URL+"/", browser.ActOptions{}); err != nil {
		t.Fatal(err)
	}
	id := r.front().ID
	say := func(n string) {
		r.eval(id, `navigator.serviceWorker.ready.then(x => x.active.postMessage("`+n+`")).then(() => "x")`)
	}
	say("1")
	if !until("/worker1") {
		t.Fatal("the client's service worker does not run")
	}
	if err := r.b.Restrict(r.ctx, id, tabs.Restriction{Principal: "a", Generation: 1, Hosts: []string{"127.0.0.1"}, Permits: permits("127.0.0.1")}); err != nil {
		t.Fatal(err)
	}
	r.eval(id, `setTimeout(() => 0); navigator.serviceWorker.getRegistration().then(x => x.active.postMessage("2")).then(() => "x", () => "x")`)
	r.eval(id, `fetch("/page").then(() => "x")`)
	if !until("/page") {
		t.Fatal("the page's own request does not pass")
	}
	select {
	case got := <-asked:
		t.Errorf("%s was asked for by a worker that belongs to no tab", got)
	case <-time.After(300 * time.Millisecond):
	}
	r.b.End()
	if _, err := s.Navigate(r.ctx, site.URL+"/after", browser.ActOptions{}); err != nil {
		t.Fatalf("the session after the endpoint ended: %v", err)
	}
	if _, err := r.b.Tabs(r.ctx); err == nil {
		t.Error("it still looks")
	}
}
