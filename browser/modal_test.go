package browser_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/browsertest"
)

func TestAPageThatPrintsHoldsNothingUp(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<title>before</title><button onclick="print(); document.title = 'after'">Print</button>`})
	for name, want := range map[string]browser.Want{"headless": {}, "on a display": {Headful: new(true)}, "a named profile": {Headful: new(true), Profile: "mine"}} {
		t.Run(name, func(t *testing.T) {
			dir := profileDir(t)
			m := browsertest.Manager(t, func(o *browser.Options) { o.Profiles = dir })
			s := browsertest.OpenIn(t, m, want)
			browsertest.Go(t, s, at)
			if _, err := script(t, s, "() => document.querySelector('button').click()"); err != nil {
				t.Fatal(err)
			}
			if got := browsertest.Eval[string](t, s, "() => document.title"); got != "after" {
				t.Errorf("the page still prints: %q", got)
			}
		})
	}
}

func TestAPageThatMovesOnForeverCanBeLeft(t *testing.T) {
	at := browsertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/fine" {
			fmt.Fprint(w, "<title>fine</title>all is well")
			return
		}
		fmt.Fprint(w, `<title>on</title><script>location.href = '/on?' + Math.random()</script>`)
	}))
	s := browsertest.Open(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if _, err := s.Navigate(ctx, at, browser.ActOptions{}); err != nil {
		t.Logf("the page that moves on: %v", err)
	}
	began := time.Now()
	// What the page had begun may still take its place: then that is an error, and never a success.
	out, err := s.Navigate(ctx, at+"/fine", browser.ActOptions{})
	var not *browser.NavigateError
	if err == nil && out.Title != "fine" || err != nil && !errors.As(err, &not) {
		t.Errorf("after %v: %+v %v", time.Since(began), out, err)
	}
}

func TestWhatStandsBesideTheBodyIsRead(t *testing.T) {
	s, _ := page(t, map[string]string{"/": `<title>t</title><p>inside</p><script>
		for (const [where, text] of [['prepend', 'Ahead'], ['append', 'Behind']]) { const b = document.createElement('button'); b.textContent = text; document.documentElement[where](b); }</script>`})
	snap := until(t, s, "inside")
	has(t, snap, "button Ahead", "button Behind")
}
