package act_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"

	"parley/browser"
	"parley/browser/browsertest"
	"parley/browser/chromium"
	"parley/internal/proc"
	"parley/testkit/need"
)

// shared is one session for the tests of this package.
var shared struct {
	mu      sync.Mutex
	dir     string
	manager *browser.Manager
	session *browser.Session
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.manager != nil {
		shared.manager.Close()
		if left, _ := os.ReadDir(shared.dir); len(left) != 0 {
			fmt.Fprintln(os.Stderr, "left behind:", left)
			code = 1
		}
		os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

func session(t *testing.T) *browser.Session {
	t.Helper()
	need.Browser(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.session != nil {
		select {
		case <-shared.session.Done():
			t.Log("a test before this one ended the session")
		default:
			return shared.session
		}
	}
	if shared.manager == nil {
		quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
		if os.Getenv("PARLEY_TEST_LOG") != "" {
			quiet = slog.New(slog.NewTextHandler(os.Stderr, nil))
		}
		dir, err := os.MkdirTemp("", "pt-")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		o := chromium.Options{Dir: dir, Log: quiet}
		if os.Geteuid() == 0 {
			if o.Account, err = proc.Lookup("parley"); err != nil {
				t.Fatal(err)
			}
		}
		shared.dir, shared.manager = dir, browser.NewManager(browser.Options{Chromium: o, Headless: true, Log: quiet})
	}
	s, err := shared.manager.Open(context.Background(), browser.Want{Owner: browsertest.Me})
	if err != nil {
		t.Fatal(err)
	}
	shared.session = s
	return s
}
