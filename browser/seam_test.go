package browser_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
	"parley/browser/browsertest"
)

var kit = &browser.Kit{Name: "test", Source: `({ find: (s) => [...document.querySelectorAll(s)] })`}

func TestFramesInPageOrderOutOfProcessOnesToo(t *testing.T) {
	at := browsertest.Site(t, map[string]string{
		"/":      `<title>top</title><iframe id=a src="{other}/far"></iframe><p>middle<iframe id=b src="/near"></iframe>`,
		"/far":   `<title>far</title><button>Far</button><iframe src="/inner"></iframe>`,
		"/inner": `<title>inner</title>`,
		"/near":  `<title>near</title><button>Near</button>`,
	})
	s := browsertest.Open(t)
	out := browsertest.Go(t, s, at)
	if out.Title != "top" || out.Status != 200 || !out.Navigated {
		t.Errorf("outcome %+v", out)
	}
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
		var titles []string
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && len(titles) < 4; time.Sleep(50 * time.Millisecond) {
			titles = titles[:0]
			frames, err := p.Frames(ctx)
			if err != nil {
				return err
			}
			for _, f := range frames {
				var title string
				if err := f.Run(ctx, nil, "() => document.title", nil, &title); err != nil {
					t.Log(err)
				}
				titles = append(titles, title)
			}
		}
		if got := len(titles); got != 4 || titles[0] != "top" || titles[1] != "far" || titles[2] != "inner" || titles[3] != "near" {
			t.Errorf("frames: %q", titles)
		}
		frames, _ := p.Frames(ctx)
		if len(frames) == 4 {
			if !frames[1].Remote() || frames[2].Remote() || frames[3].Remote() {
				t.Errorf("remote: %v %v %v", frames[1].Remote(), frames[2].Remote(), frames[3].Remote())
			}
			x, y, err := frames[1].Corner(ctx)
			if err != nil || x <= 0 || y <= 0 {
				t.Errorf("corner %v %v %v", x, y, err)
			}
		}
		return nil
	})
}

func TestARefStaysWithItsElementAndDiesWithIt(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<button id=x>One</button>`, "/two": `two`})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
		main, err := p.Main(ctx)
		if err != nil {
			return err
		}
		found, err := main.Objects(ctx, kit, "(arg, kit) => kit.find(arg)", "button")
		if err != nil || len(found) != 1 {
			t.Fatalf("%v %v", found, err)
		}
		ref, err := found[0].Ref(ctx)
		if err != nil {
			return err
		}
		if again, err := found[0].Ref(ctx); again != ref || err != nil {
			t.Errorf("%s became %s %v", ref, again, err)
		}
		e, err := p.Resolve(ctx, ref)
		if err != nil {
			return err
		}
		var text string
		if err := e.Call(ctx, nil, "(el) => el.textContent", nil, &text); err != nil || text != "One" {
			t.Errorf("%q %v", text, err)
		}
		if err := main.Run(ctx, nil, "() => document.querySelector('button').remove()", nil, nil); err != nil {
			return err
		}
		if _, err := p.Resolve(ctx, ref); !errors.Is(err, browser.ErrStale) {
			t.Errorf("removed element: %v", err)
		}
		if _, err := p.Resolve(ctx, "e999"); !errors.Is(err, browser.ErrUnknownRef) {
			t.Errorf("unknown ref: %v", err)
		}
		return nil
	})
}

func TestAPageThatHangsInAScriptIsStoppedAndUsableAgain(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<script>setTimeout(() => { for (;;) {} }, 200)</script><p>x`})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	time.Sleep(500 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Second)
	defer cancel()
	began := time.Now()
	err := s.Do(ctx, func(ctx context.Context, p *browser.Page) error {
		_, err := proto.RuntimeEvaluate{Expression: "2"}.Call(p.Client(ctx))
		return err
	})
	var cut *browser.CutError
	if !errors.As(err, &cut) || (cut.Page != browser.Interrupted && cut.Page != browser.Replaced) {
		t.Fatalf("%v", err)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("answered after %v", took)
	}
	browsertest.Go(t, s, at+"/?again")
}

func TestADialogEndsACallAtOnceAndIsAnsweredBesideTheQueue(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<button id=x onclick="document.title = 'said ' + confirm('Sure?')">Go</button>`})
	s := browsertest.Open(t)
	browsertest.Go(t, s, at)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	began := time.Now()
	out, err := s.Act(ctx, browser.ActOptions{}, func(ctx context.Context, p *browser.Page) error {
		p.Sent()
		main, err := p.Main(ctx)
		if err != nil {
			return err
		}
		return main.Run(ctx, nil, "() => document.querySelector('button').click()", nil, nil)
	})
	if err != nil || out.Dialog == nil || out.Dialog.Message != "Sure?" || out.Dialog.Kind != "confirm" {
		t.Fatalf("%+v %v", out, err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	var before *browser.DialogError
	if err := s.Do(ctx, func(context.Context, *browser.Page) error { return nil }); !errors.As(err, &before) || !before.Before {
		t.Errorf("a call with an open dialog: %v", err)
	}
	if _, err := s.Answer(ctx, "", true, "", false); err != nil {
		t.Fatal(err)
	}
	if got := browsertest.Eval[string](t, s, "() => document.title"); got != "said true" {
		t.Errorf("title %q", got)
	}
}
