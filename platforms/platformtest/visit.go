package platformtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/browser/cdp"
	"parley/platforms"
	"parley/testkit/need"
	"parley/testkit/standin"
)

// Visit is a test's hand on a stand-in and on a page that is open on it, without a platform's module.
type Visit struct {
	T      *testing.T
	Ctx    context.Context
	Server *standin.Server
	Page   *cdp.Page
}

// StandIn starts a stand-in for a test.
func StandIn(t *testing.T, k standin.Kind, o standin.Options) *standin.Server {
	t.Helper()
	o.Log = Quiet
	s, err := standin.New(k, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// OpenVisit opens a stand-in's page as a person's browser would. An empty path is the meeting's.
func OpenVisit(t *testing.T, k standin.Kind, o standin.Options, path string) *Visit {
	t.Helper()
	Browser(t)
	s := StandIn(t, k, o)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	page := OpenPage(t, platforms.Platform{Permissions: []string{"audioCapture", "videoCapture"}}, platforms.Link{Origin: s.Origin()})
	address := s.Link()
	if path != "" {
		address = s.Origin() + path
	}
	v := &Visit{t, ctx, s, page}
	v.Check("navigate", page.Navigate(ctx, address))
	return v
}

// Check fails the test if there is an error.
func (v *Visit) Check(what string, err error) {
	v.T.Helper()
	if err != nil {
		if raw, perr := v.Page.Picture(v.Ctx); perr == nil {
			v.T.Logf("the page's picture has %d bytes", len(raw))
		}
		v.T.Fatalf("%s: %v", what, err)
	}
}

// Do has something happen on the stand-in.
func (v *Visit) Do(a standin.Action) {
	v.T.Helper()
	v.Check(a.Do, v.Server.Do(v.Ctx, a))
}

// Await waits until the truth about the newest visit is as ok wants it.
func (v *Visit) Await(what string, ok func(standin.Visitor) bool) standin.Visitor {
	v.T.Helper()
	ctx, cancel := context.WithTimeout(v.Ctx, patience)
	defer cancel()
	var got standin.Visitor
	_, err := v.Server.Await(ctx, func(st standin.State) bool {
		n, there := st.Newest()
		got = n
		return there && ok(n)
	})
	if err != nil {
		got.Acts = nil
		v.T.Fatalf("never came: %s; the visitor: %+v", what, got)
	}
	return got
}

// act does something with an element once it is there to be worked: pages draw slowly on a busy machine.
func (v *Visit) act(what string, do func() error) {
	v.T.Helper()
	for limit := time.Now().Add(patience); ; {
		err := do()
		early := errors.Is(err, cdp.ErrMissing) || errors.Is(err, cdp.ErrDisabled) || errors.Is(err, cdp.ErrCovered)
		if early && time.Now().Before(limit) {
			continue
		}
		v.Check(what, err)
		return
	}
}

// Click presses a button by its name.
func (v *Visit) Click(name string) {
	v.T.Helper()
	v.act("click "+name, func() error {
		return v.Page.Click(v.Ctx, platforms.Target{Role: "button", Names: []string{name}, Exact: true})
	})
}

// Press is Click for a button of a bar that hides while the pointer rests: the pointer moves before each try, since the bar
// may go between the two.
func (v *Visit) Press(name string) {
	v.T.Helper()
	limit := time.Now().Add(patience)
	for n := 0; ; n++ {
		v.Check("pointer", v.Page.MoveMouse(v.Ctx, float64(300+n%7*9), 300))
		err := v.Page.Click(v.Ctx, platforms.Target{Role: "button", Names: []string{name}, Exact: true, Wait: 3 * time.Second})
		if err == nil {
			return
		}
		if v.Ctx.Err() != nil || time.Now().After(limit) {
			v.Check("press "+name, err)
		}
	}
}

// IsHeard speaks into the visitor's microphone until the stand-in has heard more than a second of it: a busy machine swallows
// sound.
func (v *Visit) IsHeard() {
	v.T.Helper()
	var heard standin.Visitor
	for range 5 {
		Utter(v.T, v.Ctx)
		ctx, cancel := context.WithTimeout(v.Ctx, 5*time.Second)
		_, err := v.Server.Await(ctx, func(st standin.State) bool {
			heard, _ = st.Newest()
			return heard.Heard > 1 && heard.PeakDB > -30
		})
		cancel()
		if err == nil {
			return
		}
	}
	v.T.Fatalf("the visitor is not heard: %.1f s, %.0f dB at most", heard.Heard, heard.PeakDB)
}

// Type writes into a field.
func (v *Visit) Type(selector, text string) {
	v.T.Helper()
	v.act("type", func() error { return v.Page.Type(v.Ctx, platforms.Target{Selector: selector}, text) })
}

// Found waits until something is to be seen on the page.
func (v *Visit) Found(what string, target platforms.Target) platforms.Found {
	v.T.Helper()
	limit := time.Now().Add(patience)
	for {
		f, err := v.Page.Find(v.Ctx, target)
		v.Check(what, err)
		if f.OK {
			return f
		}
		if time.Now().After(limit) {
			v.T.Fatalf("is not to be seen: %s", what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// HearTone waits until the page plays a tone of this many hertz, in at least a third of two seconds: its sound may still be
// on its way to be joined, and a busy machine stretches and breaks it.
func (v *Visit) HearTone(hz float64) {
	v.T.Helper()
	const tenth = 1600
	for limit := time.Now().Add(patience); ; {
		all, clear := 0, 0
		for pcm := Listen(v.T, v.Ctx, 2*time.Second); len(pcm) >= tenth; pcm = pcm[tenth:] {
			all++
			if Power(pcm[:tenth], hz)-Power(pcm[:tenth], hz*2.3) > 10 {
				clear++
			}
		}
		v.T.Logf("a tone of %.0f Hz in %d of %d tenths of a second", hz, clear, all)
		switch {
		case clear*3 >= all:
			return
		case time.Now().Before(limit):
		case clear == 0 || !need.Overloaded(v.T): // nothing at all is never right
			v.T.Errorf("a tone of %.0f Hz in %d of %d tenths of a second", hz, clear, all)
			return
		default:
			return
		}
	}
}
