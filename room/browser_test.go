package room_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/launcher"
	"github.com/go-rod/rod/lib/launcher/flags"
	"github.com/go-rod/rod/lib/proto"

	"parley/room"
	"parley/testkit/need"
)

// start runs a server for the length of a test.
func start(t *testing.T, o room.Options) *room.Server {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	s, err := room.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the server did not end")
		}
	})
	return s
}

// The tests share one browser, whose microphone beeps once a second; every page has a profile of its own.
var shared struct {
	once sync.Once
	b    *rod.Browser
	err  error
	l    *launcher.Launcher
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.b != nil {
		_ = shared.b.Close()
	}
	if shared.l != nil {
		shared.l.Kill()
		shared.l.Cleanup()
	}
	os.Exit(code)
}

func browse(t *testing.T) *rod.Browser {
	t.Helper()
	need.Browser(t)
	shared.once.Do(func() {
		shared.l = launcher.New().Bin("/usr/lib/chromium/chromium").Leakless(false).Headless(false).
			NoSandbox(os.Getuid() == 0). // in tests only
			Set("headless", "new").Set("mute-audio").
			Set("use-fake-device-for-media-stream").Set("use-fake-ui-for-media-stream").
			Set("autoplay-policy", "no-user-gesture-required").Set("allow-loopback-in-peer-connection").
			Set("disable-renderer-backgrounding").Set("disable-background-timer-throttling").
			Delete(flags.Flag("enable-automation"))
		var u string
		if u, shared.err = shared.l.Launch(); shared.err == nil {
			shared.b = rod.New().ControlURL(u)
			shared.err = shared.b.Connect()
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.b
}

// view is how a page is looked at.
type view struct {
	width, height int
	dark          bool
	// script runs in the page before its own.
	script string
}

var (
	desktop = view{width: 1280, height: 720}
	phone   = view{width: 390, height: 844}
)

// open opens a page in a profile of its own.
func open(t *testing.T, url string, v view) *rod.Page {
	t.Helper()
	own := browse(t).MustIncognito()
	p := own.MustPage("").Timeout(90 * time.Second)
	p.MustSetViewport(v.width, v.height, 1, v.width < 500)
	scheme := "light"
	if v.dark {
		scheme = "dark"
	}
	features := []*proto.EmulationMediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	if err := (proto.EmulationSetEmulatedMedia{Features: features}).Call(p); err != nil {
		t.Fatal(err)
	}
	if v.script != "" {
		p.MustEvalOnNewDocument(v.script)
	}
	// The page may not complain: a broken policy or an exception shows here.
	listening, stop := p.WithCancel()
	done := make(chan struct{})
	report := func(what, text string) { t.Errorf("the page's %s: %s", what, text) }
	wait := listening.EachEvent(
		func(e *proto.RuntimeExceptionThrown) { report("exception", e.ExceptionDetails.Exception.Description) },
		func(e *proto.LogEntryAdded) {
			if e.Entry.Level == proto.LogLogEntryLevelError && e.Entry.Source == proto.LogLogEntrySourceSecurity {
				report("log", e.Entry.Text)
			}
		})
	go func() { defer close(done); wait() }()
	t.Cleanup(func() {
		if t.Failed() {
			picture(t, p, "failed")
		}
		stop()
		<-done
		_ = own.Close()
	})
	p.MustNavigate(url).MustWaitLoad()
	await(t, p, `document.querySelector('#lobby-mic-text').textContent !== ''`)
	return p
}

// await waits until an expression is true on a page.
func await(t *testing.T, p *rod.Page, js string, args ...any) {
	t.Helper()
	end := time.Now().Add(25 * time.Second)
	for {
		r, err := p.Eval("(...args) => !!("+js+")", args...)
		if err == nil && r.Value.Bool() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never true: %s (%v); the page: %s", js, err, p.MustEval("() => document.body.innerText"))
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// shows waits until the visible text of an element is this.
func shows(t *testing.T, p *rod.Page, selector, text string) {
	t.Helper()
	await(t, p, `(e => e && e.checkVisibility() && e.textContent === args[1])(document.querySelector(args[0]))`, selector, text)
}

// button is the visible button with this name.
func button(t *testing.T, p *rod.Page, name string) *rod.Element {
	t.Helper()
	const find = `[...document.querySelectorAll('button')].find(b => (b.getAttribute('aria-label') ?? b.textContent).trim() === args[0] && b.checkVisibility())`
	await(t, p, find, name)
	return p.MustElementByJS("(...args) => "+find, name)
}

func press(t *testing.T, p *rod.Page, name string) {
	t.Helper()
	button(t, p, name).MustClick()
}

// enter joins with a name by the English page.
func enter(t *testing.T, p *rod.Page, name string) {
	t.Helper()
	p.MustElement("#name").MustSelectAllText().MustInput(name)
	press(t, p, "Join room")
}

// inCall waits until the page is in the call with this many people.
func inCall(t *testing.T, p *rod.Page, people int) {
	t.Helper()
	await(t, p, `document.querySelector('#controls').checkVisibility() && document.querySelectorAll('#people li').length === args[0]`, people)
}

// picture keeps a screenshot where the developer asked for it.
func picture(t *testing.T, p *rod.Page, name string) {
	t.Helper()
	dir := os.Getenv("PARLEY_TEST_PICTURES")
	if dir == "" {
		return
	}
	img, err := p.Screenshot(false, &proto.PageCaptureScreenshot{Format: proto.PageCaptureScreenshotFormatPng})
	if err != nil {
		t.Log(err)
		return
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(t.Name())+"-"+name+".png"), img, 0o644); err != nil {
		t.Fatal(err)
	}
}
