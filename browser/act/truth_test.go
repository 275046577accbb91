package act_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"parley/browser"
	"parley/browser/act"
	"parley/browser/locate"
)

// What came of an act is what the page received, not what was sent.

func TestAPressThatTakesTheElementAwayIsNoClick(t *testing.T) {
	s := page(t, logs+`<div id=place></div><script>
		const draw = () => { place.innerHTML = '<button>Go</button>'; place.firstChild.onmousedown = draw; place.firstChild.onclick = () => log('hit'); }; draw()</script>`)
	var d act.Done
	if _, err := do(t, s, func(ctx context.Context, p *browser.Page) (err error) {
		d, err = act.Click(ctx, p, role("button", "go"), act.ClickOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(d.Uncertain, "took the element away") {
		t.Errorf("nothing was clicked, and the answer is %+v", d)
	}
}

func TestAnotherNumberIsNoOtherFormOfIt(t *testing.T) {
	s := page(t, `<input aria-label=Digits oninput="this.value = this.value.replace(/\D/g, '')"><input aria-label=Adds oninput="if (this.value === '1') this.value = '100'">
		<input aria-label=Marks oninput="this.value = this.value.replace(/\D/g, '').replace(/\B(?=(\d{3})+$)/g, ',')">`)
	put := func(field, value string) (d act.Done, err error) {
		_, err = do(t, s, func(ctx context.Context, p *browser.Page) (err error) {
			d, err = act.Type(ctx, p, role("textbox", field), value, act.TypeOptions{})
			return err
		})
		return d, err
	}
	for _, c := range [][2]string{{"Digits", "1.50"}, {"Digits", "1,50"}, {"Digits", "-5"}, {"Adds", "1"}} {
		if d, err := put(c[0], c[1]); !errors.Is(err, act.ErrNotTyped) {
			t.Errorf("%s became %q, and that is fine: %v", c[1], d.Value, err)
		}
	}
	if d, err := put("Marks", "1234567"); err != nil || d.Value != "1,234,567" {
		t.Errorf("marks between thousands: %+v %v", d, err)
	}
}

func TestAPageThatHoldsTheMouseLetsItGo(t *testing.T) {
	s := page(t, logs+`<button onclick="document.body.requestPointerLock()">Hold</button><button onclick="log('hit')">Other</button>`)
	must(t, s, click(role("button", "hold")))
	must(t, s, click(role("button", "other")))
	says(t, s, "hit")
}

func TestADocumentWithoutAnythingAnswers(t *testing.T) {
	s := page(t, `<button onclick="document.open()">Clear</button>`)
	must(t, s, click(role("button", "clear")))
	_, err := do(t, s, func(ctx context.Context, p *browser.Page) error {
		_, err := act.Click(ctx, p, locate.Locator{Text: "nothing"}, act.ClickOptions{Wait: short})
		return err
	})
	if !errors.Is(err, act.ErrMissing) {
		t.Errorf("%v", err)
	}
}
