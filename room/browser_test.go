package room_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
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

// browse starts a browser whose microphone beeps once a second.
func browse(t *testing.T) *rod.Browser {
	t.Helper()
	need.Browser(t)
	l := launcher.New().Bin("/usr/lib/chromium/chromium").Leakless(false).Headless(false).UserDataDir(t.TempDir()).
		NoSandbox(os.Getuid() == 0). // in tests only
		Set("headless", "new").Set("mute-audio").
		Set("use-fake-device-for-media-stream").Set("use-fake-ui-for-media-stream").
		Set("autoplay-policy", "no-user-gesture-required").Set("allow-loopback-in-peer-connection").
		Set("force-prefers-reduced-motion").
		Delete(flags.Flag("enable-automation"))
	u, err := l.Launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Kill(); l.Cleanup() })
	b := rod.New().ControlURL(u)
	if err := b.Connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// open opens a page in a profile of its own.
func open(t *testing.T, b *rod.Browser, url string, width, height int) *rod.Page {
	t.Helper()
	own := b.MustIncognito()
	p := own.MustPage("")
	p.MustSetViewport(width, height, 1, width < 500)
	p = p.Timeout(60 * time.Second)
	go p.EachEvent(func(e *proto.RuntimeConsoleAPICalled) { t.Log("console:", p.MustObjectsToJSON(e.Args)) },
		func(e *proto.RuntimeExceptionThrown) { t.Log("exception:", e.ExceptionDetails.Exception.Description) },
		func(e *proto.LogEntryAdded) { t.Log("log:", e.Entry.Text) })()
	p.MustNavigate(url).MustWaitLoad()
	return p
}

// wait waits until an expression is true on a page.
func wait(t *testing.T, p *rod.Page, js string, args ...any) {
	t.Helper()
	end := time.Now().Add(25 * time.Second)
	for {
		r, err := p.Eval("(...args) => !!("+js+")", args...)
		if err == nil && r.Value.Bool() {
			return
		}
		if time.Now().After(end) {
			picture(t, p, "failed-"+string(p.TargetID[:4]))
			t.Fatalf("never true: %s (%v); the page: %s", js, err, p.MustEval("() => document.body.innerText"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func button(p *rod.Page, name string) *rod.Element {
	return p.MustElementByJS(`name => [...document.querySelectorAll('button')].find(b => (b.getAttribute('aria-label') ?? b.textContent).trim() === name && b.checkVisibility())`, name)
}

func joinPage(t *testing.T, p *rod.Page, name string) {
	t.Helper()
	p.MustElement("#name").MustSelectAllText().MustInput(name)
	button(p, "Join room").MustClick()
	p.MustElement("#mic").MustWaitVisible()
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
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), img, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTwoPagesHearEachOther(t *testing.T) {
	b := browse(t)
	s := start(t, room.Options{})
	ada := open(t, b, s.Link("tea"), 1280, 720)
	bob := open(t, b, s.Link("tea"), 390, 844)
	picture(t, ada, "lobby")
	picture(t, bob, "lobby-phone")
	joinPage(t, ada, "Ada Lovelace")
	joinPage(t, bob, "Bob")
	for _, p := range []*rod.Page{ada, bob} {
		wait(t, p, `document.querySelectorAll('#people li').length === 2`)
		wait(t, p, `document.querySelector('#people li[data-self=false][data-speaking=true]')`)
		wait(t, p, `document.querySelector('#sound audio')?.srcObject?.getAudioTracks().length === 1`)
	}
	picture(t, ada, "call")
	picture(t, bob, "call-phone")
	button(ada, "Chat").MustClick()
	ada.MustElement("#message").MustInput("Hello <b>there</b>")
	button(ada, "Send").MustClick()
	wait(t, bob, `document.querySelector('#chat-log .text')?.textContent === 'Hello <b>there</b>'`)
	picture(t, ada, "chat")
	button(bob, "Leave").MustClick()
	wait(t, bob, `document.querySelector('#ended-text').textContent === 'You left the room'`)
	picture(t, bob, "ended-phone")
	wait(t, ada, `document.querySelectorAll('#people li').length === 1`)
	if got := button(ada, "People, 1"); got == nil {
		t.Error("the count is not 1")
	}
	if n := ada.MustEval(`() => document.querySelectorAll('#sound audio').length`).Int(); n != 0 {
		t.Errorf("%d sounds are left", n)
	}
	if strings.Contains(ada.MustHTML(), "<b>there") {
		t.Error("markup of a message became markup")
	}
}
