// Package platformtest is what every platform module is tested with: a real browser with a real sound server, and a suite
// of what a meeting must look like from our seat.
package platformtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"parley/audio/pulse"
	"parley/browser/cdp"
	"parley/browser/chromium"
	"parley/browser/display"
	"parley/internal/proc"
	"parley/meeting"
	"parley/platforms"
	"parley/testkit/need"
)

// seat is one browser for the tests of a package; each test opens a tab of its own.
var seat struct {
	once    sync.Once
	browser *chromium.Browser
	sound   *pulse.Server
	display *display.Display
	dir     string
	err     error
}

// Main runs a package's tests and takes the browser down after them.
func Main(m *testing.M) {
	code := m.Run()
	if err := takeDown(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func takeDown() error {
	var errs []error
	if seat.browser != nil {
		errs = append(errs, seat.browser.Close())
	}
	if seat.sound != nil {
		errs = append(errs, seat.sound.Close())
	}
	if seat.display != nil {
		errs = append(errs, seat.display.Close())
	}
	if seat.dir != "" {
		errs = append(errs, os.RemoveAll(seat.dir))
	}
	return errors.Join(errs...)
}

func bringUp(ctx context.Context) (err error) {
	var account *proc.Account
	if os.Geteuid() == 0 {
		if account, err = proc.Lookup("parley"); err != nil {
			return fmt.Errorf("%w: run make setup", err)
		}
	}
	if seat.dir, err = proc.RunDir("", account); err != nil {
		return err
	}
	if seat.sound, err = pulse.Start(ctx, pulse.Options{Dir: filepath.Join(seat.dir, "sound"), Account: account}); err != nil {
		return err
	}
	if seat.display, err = display.Start(ctx, display.Options{Account: account}); err != nil {
		return err
	}
	seat.browser, err = chromium.Start(ctx, chromium.Options{
		Account: account, Env: append(seat.sound.Env(), seat.display.Env()...), Loopback: true, Log: Quiet,
	})
	return err
}

// Quiet is a log that nobody reads.
var Quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// Sound is the sound server that the browser of the tests plays on.
func Sound(t *testing.T) *pulse.Server {
	t.Helper()
	Browser(t)
	return seat.sound
}

// Browser is the browser of the tests, with its sound server and display.
func Browser(t *testing.T) *chromium.Browser {
	t.Helper()
	need.Browser(t)
	need.Sound(t)
	seat.once.Do(func() { seat.err = bringUp(context.Background()) })
	if seat.err != nil {
		t.Fatal(seat.err)
	}
	return seat.browser
}

// OpenPage opens a tab that may use the microphone at a link's origin.
func OpenPage(t *testing.T, p platforms.Platform, link platforms.Link) *cdp.Page {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	page, err := cdp.Open(ctx, Browser(t), cdp.Options{Origin: link.Origin, Permissions: p.Permissions, Log: Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := page.Close(); err != nil {
			t.Error(err)
		}
	})
	return page
}

// Attend opens a Call on a link, in a tab of its own.
func Attend(t *testing.T, p platforms.Platform, link platforms.Link) (meeting.Call, *cdp.Page, *Watch) {
	t.Helper()
	page := OpenPage(t, p, link)
	call, err := p.Open(t.Context(), page, link, platforms.Options{Log: Quiet})
	if err != nil {
		t.Fatal(err)
	}
	w := NewWatch(call.Events())
	t.Cleanup(func() {
		if err := call.Close(); err != nil {
			t.Error(err)
		}
		w.end()
		if t.Failed() {
			t.Logf("events: %s", w)
		}
	})
	return call, page, w
}
