// Package browsertest gives tests a real browser session and pages of their own to work.
package browsertest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/chromium"
	"parley/internal/proc"
	"parley/testkit/need"
)

// Chromium gives options fit for whoever runs the tests: as root the system user, else the caller. Its folder must be
// empty at the end of the test.
func Chromium(t testing.TB) chromium.Options {
	t.Helper()
	need.Browser(t)
	o := chromium.Options{Dir: Dir(t), Log: Log(t)}
	if os.Geteuid() == 0 {
		a, err := proc.Lookup("parley")
		if err != nil {
			t.Fatalf("%v: run make setup", err)
		}
		o.Account = a
	}
	return o
}

// Log is silent unless PARLEY_TEST_LOG is set.
func Log(t testing.TB) *slog.Logger {
	if os.Getenv("PARLEY_TEST_LOG") == "" {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

// Dir is a folder with a short path that other accounts can enter. What is left in it at the end fails the test.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
		os.RemoveAll(dir)
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Me is whose sessions the tests open.
var Me = browser.Owner{Tenant: "me", Client: "test"}

// Manager gives a manager of headless sessions; f may change its options.
func Manager(t testing.TB, f func(*browser.Options)) *browser.Manager {
	t.Helper()
	o := browser.Options{Chromium: Chromium(t), Headless: true, Log: Log(t)}
	if f != nil {
		f(&o)
	}
	m := browser.NewManager(o)
	t.Cleanup(m.Close)
	return m
}

// Open opens a session of a manager of its own.
func Open(t testing.TB) *browser.Session {
	t.Helper()
	return OpenIn(t, Manager(t, nil), browser.Want{})
}

// OpenIn opens a session.
func OpenIn(t testing.TB, m *browser.Manager, w browser.Want) *browser.Session {
	t.Helper()
	if w.Owner == (browser.Owner{}) {
		w.Owner = Me
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := m.Open(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Site serves pages by path ("/": "<p>hello"). What begins with "<" is HTML. {other} in a page becomes the address of
// the same pages on another site, so that frames of it run in a process of their own.
func Site(t testing.TB, pages map[string]string) (address string) {
	t.Helper()
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		fmt.Fprint(w, "<!doctype html>", strings.ReplaceAll(body, "{other}", Other(srv.URL)))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// Serve serves with a handler.
func Serve(t testing.TB, h http.Handler) (address string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// Other is the same server on another site: localhost in place of 127.0.0.1.
func Other(address string) string { return strings.Replace(address, "127.0.0.1", "localhost", 1) }

// Go navigates and fails the test when that fails.
func Go(t testing.TB, s *browser.Session, address string) browser.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out, err := s.Navigate(ctx, address, browser.ActOptions{})
	if err != nil {
		t.Fatalf("navigate: %v", err)
	}
	return out
}

// Do works the session's page and fails the test when that fails.
func Do(t testing.TB, s *browser.Session, f func(ctx context.Context, p *browser.Page) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.Do(ctx, f); err != nil {
		t.Fatal(err)
	}
}

// Eval runs a function in our world of the page's own document.
func Eval[T any](t testing.TB, s *browser.Session, fn string) (v T) {
	t.Helper()
	Do(t, s, func(ctx context.Context, p *browser.Page) error {
		main, err := p.Main(ctx)
		if err != nil {
			return err
		}
		return main.Run(ctx, nil, fn, nil, &v)
	})
	return v
}
