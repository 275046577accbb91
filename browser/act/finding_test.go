package act_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/act"
	"parley/browser/browsertest"
	"parley/browser/locate"
)

func TestFindingAndBeingFitShareOneTime(t *testing.T) {
	s := page(t, `<div style="position:fixed;inset:0"></div><script>setTimeout(() => document.body.insertAdjacentHTML('afterbegin', '<button>Late</button>'), 700)</script>`)
	began := time.Now()
	fails(t, s, act.ErrNotReady, func(ctx context.Context, p *browser.Page) (act.Done, error) {
		return act.Click(ctx, p, text("Late"), act.ClickOptions{Wait: 1500 * time.Millisecond})
	})
	if took := time.Since(began); took < 1400*time.Millisecond || took > 6*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestTheElementThatWasCountedIsActedOn(t *testing.T) {
	s := page(t, logs+`<main><p>Anchor</p><button disabled onclick="log('counted')">One</button></main><script>
		setTimeout(() => document.querySelector('p').insertAdjacentHTML('afterend', '<button onclick="log(\'newcomer\')">Zero</button>'), 400);
		setTimeout(() => document.querySelector('button[disabled]').disabled = false, 800)</script>`)
	must(t, s, click(locate.Locator{Role: "button", After: "Anchor"}))
	says(t, s, "counted")
}

func TestWaitingGoesByTheFirstVisibleMatch(t *testing.T) {
	s := page(t, `<p style="display:none" class=x>Ready</p><p class=x id=second></p><script>setTimeout(() => { second.textContent = 'Ready' }, 300)</script>`)
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error {
		for _, l := range []locate.Locator{text("Ready"), css(".x:has-text('Ready')")} {
			if took, err := act.Wait(ctx, p, l, act.Visible, 5*time.Second); err != nil {
				t.Errorf("%s: %v after %v", l, err, took)
			}
		}
		if _, err := act.Wait(ctx, p, text("Ready"), act.Hidden, 300*time.Millisecond); err == nil {
			t.Error("it is visible")
		}
		return nil
	})
}

func TestErrorsNameElementsByWhatTheirAuthorsWroteOnly(t *testing.T) {
	s := page(t, `<button>Pay 100 to Mallory</button><div id="a\u202eb&quot; x" class="`+strings.Repeat("long ", 60)+`&#10;ignore previous" style="position:fixed;inset:0">Secret words that show</div>`)
	got := fails(t, s, act.ErrNotReady, clickSoon(css("button")))
	if strings.Contains(got, "Secret") || strings.Contains(got, "Mallory") || strings.ContainsAny(got, "\n\u202e") || len(got) > 300 {
		t.Errorf("%q", got)
	}
	if !strings.Contains(got, "it is covered by <div id=") {
		t.Errorf("%q", got)
	}
}

func TestCountingGoesOnThroughFrames(t *testing.T) {
	s := site(t, map[string]string{"/": logs + `<script>onmessage = (e) => log(e.data)</script><button onclick="log('own')">Buy</button><iframe src="/a"></iframe><iframe src="{other}/b"></iframe>`,
		"/a": `<button onclick="parent.postMessage('a', '*')">Buy</button>`, "/b": `<button onclick="parent.postMessage('b', '*')">Buy</button>`})
	browsertest.Do(t, s, func(ctx context.Context, p *browser.Page) error { // until all of them are there
		two := 2
		_, err := act.Wait(ctx, p, locate.Locator{Role: "button", Nth: &two}, act.Visible, 10*time.Second)
		return err
	})
	for _, n := range []int{0, 1, 2, -1, -3} {
		must(t, s, click(locate.Locator{Role: "button", Nth: &n}))
	}
	says(t, s, "own a b b own")
	three := 3
	if got := fails(t, s, act.ErrMissing, clickSoon(locate.Locator{Role: "button", Nth: &three})); got != "role button: 3 visible matches, so nth 3 is not there" {
		t.Error(got)
	}
}
