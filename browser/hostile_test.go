package browser_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/browsertest"
)

// script clicks by script what a selector means, as an act.
func script(t testing.TB, s *browser.Session, fn string) (browser.Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return s.Act(ctx, browser.ActOptions{}, func(ctx context.Context, p *browser.Page) error {
		main, err := p.Main(ctx)
		if err != nil {
			return err
		}
		p.Sent()
		return main.Run(ctx, nil, fn, nil, nil)
	})
}

// rss is our own memory in use.
func rss(t *testing.T) int64 {
	t.Helper()
	runtime.GC()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(raw), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

func TestHostilePagesAreAnsweredInTimeAndTheNextCallWorks(t *testing.T) {
	at := browsertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/fine":
			fmt.Fprint(w, "<title>fine</title>all is well")
		case "/builtins":
			fmt.Fprint(w, `<script>
				for (const o of [Array.prototype, Object, String.prototype, Map.prototype, WeakMap.prototype, Element.prototype, Document.prototype, Node.prototype])
					for (const k of Object.getOwnPropertyNames(o)) { try { if (typeof o[k] === 'function' && k !== 'constructor') o[k] = () => { throw new Error('replaced'); }; } catch {} }
				JSON.stringify = JSON.parse = window.getComputedStyle = window.setTimeout = window.Promise = window.MutationObserver = () => { throw new Error('replaced'); };
				</script><button>Still here</button>`)
		case "/text":
			fmt.Fprint(w, "<p>begin</p><p>")
			chunk := strings.Repeat("lorem ipsum dolor ", 1<<16)
			for range 100 << 20 / len(chunk) {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
			fmt.Fprint(w, "</p><button>After the flood</button>")
		case "/nodes":
			fmt.Fprint(w, `<p>many</p><script>const f = document.createDocumentFragment(); for (let i = 0; i < 150000; i++) { const d = document.createElement('b'); d.textContent = 'x'; f.append(d); } document.body.append(f);</script>`)
		case "/deep":
			fmt.Fprint(w, strings.Repeat("<div>", 5000)+"deep"+strings.Repeat("</div>", 5000)+"<p>shallow")
		case "/endless":
			fmt.Fprint(w, "<title>endless</title><p>here already</p>")
			for range 600 {
				if _, err := io.WriteString(w, "<!-- more -->"); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		case "/never":
			<-r.Context().Done()
		case "/tabs":
			fmt.Fprint(w, `<p>tabs</p>`)
		}
	}))
	s := browsertest.Open(t)
	before := rss(t)
	fine := func(after string) {
		t.Helper()
		if out := browsertest.Go(t, s, at+"/fine"); out.Title != "fine" {
			t.Errorf("after %s: %+v", after, out)
		}
		if got := text(snapshot(t, s, browser.ReadOptions{})); got != "all is well" {
			t.Errorf("after %s: %q", after, got)
		}
	}
	// read gives the page, or nil when the browser itself was so busy with it that the call was cut off: in time.
	read := func(path, want string) *browser.Snapshot {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		var cut *browser.CutError
		began := time.Now()
		if _, err := s.Navigate(ctx, at+path, browser.ActOptions{}); err != nil && !errors.As(err, &cut) {
			t.Fatalf("%s: %v", path, err)
		}
		if took := time.Since(began); took > 31*time.Second {
			t.Errorf("%s: navigate was answered after %v", path, took)
		}
		if cut != nil {
			t.Logf("%s: %v", path, cut)
			return nil
		}
		again, done := context.WithTimeout(context.Background(), 30*time.Second)
		defer done()
		began = time.Now()
		var snap *browser.Snapshot
		err := s.Do(again, func(ctx context.Context, p *browser.Page) (err error) {
			snap, err = p.Snapshot(ctx, browser.ReadOptions{})
			return err
		})
		took := time.Since(began)
		if took > 31*time.Second {
			t.Errorf("%s: read was answered after %v", path, took)
		}
		switch {
		case errors.As(err, &cut):
			t.Logf("%s: %v", path, cut)
			return nil
		case err != nil:
			t.Fatalf("%s: %v", path, err)
		case !strings.Contains(text(snap), want):
			t.Errorf("%s: no %q in %.300q %q", path, want, text(snap), snap.Notes)
		}
		t.Logf("%s: %d lines after %v", path, len(snap.Lines), took)
		return snap
	}
	read("/builtins", `button Still here`)
	fine("replaced built-ins")
	// A page of that size may still be coming: what has come is told, within the bound.
	if snap := read("/text", "begin"); snap != nil && (len(text(snap)) > 1<<20 || !strings.Contains(fmt.Sprint(snap.Notes), "shortened by")) {
		t.Errorf("100 MB of text: %d characters, %q", len(text(snap)), snap.Notes)
	}
	fine("100 MB of text")
	read("/nodes", "many")
	fine("150,000 elements")
	read("/deep", "shallow")
	fine("5,000 levels")
	read("/endless", "here already")
	fine("an endless document")

	ctx, cancel := context.WithTimeout(context.Background(), 9*time.Second)
	_, err := s.Navigate(ctx, at+"/never", browser.ActOptions{})
	cancel()
	var slow *browser.NavigateError
	if !errors.As(err, &slow) {
		t.Errorf("a document that never comes: %v", err)
	}
	fine("a document that never comes")

	browsertest.Go(t, s, at+"/tabs")
	if _, err := script(t, s, "() => { const s = document.createElement('script'); s.textContent = 'for (let i = 0; i < 1000; i++) window.open(\"/fine\")'; document.body.append(s); }"); err != nil {
		t.Errorf("a thousand tabs: %v", err)
	}
	if n := len(s.Tabs()); n > browser.MaxTabs {
		t.Errorf("%d tabs", n)
	}
	fine("a thousand tabs")
	if grown := rss(t) - before; grown > 64<<20 {
		t.Errorf("our memory grew by %d MiB", grown>>20)
	}
}

func TestADialogLoopIsEndedByOneAnswer(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<button>x</button>`})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	out, err := script(t, s, "() => { const s = document.createElement('script'); s.textContent = 'for (let i = 0;; i++) alert(i)'; document.body.append(s); }")
	if err != nil || out.Dialog == nil {
		t.Fatalf("%+v %v", out, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for range 3 {
		if out, err = s.AnswerAndSee(ctx, "", false, "", false); err != nil || out.Dialog == nil {
			t.Fatalf("the next dialog: %+v %v", out, err)
		}
	}
	for try := 0; ; try++ {
		if out, err = s.AnswerAndSee(ctx, "", false, "", true); err != nil {
			t.Fatal(err)
		}
		if out.Dialog == nil {
			break
		}
		if try == 5 {
			t.Fatalf("the loop goes on: %+v", out)
		}
	}
	// The script was ended, or its tab replaced; in both cases the session goes on.
	if got := text(snapshot(t, s, browser.ReadOptions{})); !strings.Contains(got, `button x`) && !strings.Contains(fmt.Sprint(out.Notes), "replaced") {
		t.Errorf("%q %q", got, out.Notes)
	}
}

func TestTwoCallsNeverWorkAPageAtOnceAndALateOneNeverRuns(t *testing.T) {
	s := browsertest.Open(t)
	working := make(chan struct{})
	release := make(chan struct{})
	first := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		first <- s.Do(ctx, func(ctx context.Context, p *browser.Page) error {
			close(working)
			<-release
			return nil
		})
	}()
	<-working
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	ran := false
	began := time.Now()
	err := s.Do(ctx, func(context.Context, *browser.Page) error { ran = true; return nil })
	if !errors.Is(err, browser.ErrBusy) || ran {
		t.Errorf("a call behind another: %v, ran %v", err, ran)
	}
	if took := time.Since(began); took >= 3*time.Second {
		t.Errorf("it was answered after %v", took)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if ran {
		t.Error("it ran after it was answered")
	}
}

func TestACallThatDoesNotStopIsStoppedWithItsTab(t *testing.T) {
	s := browsertest.Open(t)
	stuck := make(chan struct{})
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	err := s.Do(ctx, func(ctx context.Context, p *browser.Page) error {
		<-p.Done() // deaf for its context, not for its tab
		close(stuck)
		return nil
	})
	var cut *browser.CutError
	if !errors.As(err, &cut) {
		t.Fatalf("%v", err)
	}
	long, done := context.WithTimeout(context.Background(), 60*time.Second)
	defer done()
	if err := s.Do(long, func(context.Context, *browser.Page) error { return nil }); err != nil {
		t.Errorf("the next call: %v", err)
	}
	select {
	case <-stuck:
	default:
		t.Error("the next call ran beside the one that did not stop")
	}
}
