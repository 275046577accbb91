package platformtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/platforms"
	"parley/testkit/standin"
)

// shown is what a stand-in's page holds, in words.
const shown = `() => {
	const all = [];
	const walk = root => {
		for (const el of root.querySelectorAll('*')) {
			if (el.shadowRoot) walk(el.shadowRoot);
			if (el.tagName === 'IFRAME' && el.contentDocument) walk(el.contentDocument);
		}
		all.push(root.innerText ?? root.textContent ?? '');
	};
	walk(document.body);
	return {words: all.join(' ').replace(/\s+/g, ' ').trim(), wrapped: document.querySelectorAll('[data-s=wrap]').length};
}`

// Drawn looks whether a stand-in draws every screen and dialog that it names, without an error of its script: as it is,
// and mutated by each of the seeds.
func Drawn(t *testing.T, k standin.Kind, seeds ...uint64) {
	for _, seed := range append([]uint64{0}, seeds...) {
		m, name := standin.Mutation{}, "as it is"
		if seed != 0 {
			m = standin.Mutate(k, seed)
			m.Wrap, m.DialogMS = max(m.Wrap, 20), min(m.DialogMS, 200)
			name = fmt.Sprintf("seed-%d", seed)
		}
		t.Run(name, func(t *testing.T) { drawn(t, k, m) })
	}
}

func drawn(t *testing.T, k standin.Kind, m standin.Mutation) {
	v := OpenVisit(t, k, standin.Options{Mutation: m, Scenario: standin.Scenario{
		People: []standin.Person{{Name: "Ada Lovelace", Host: true}, {Name: "Grace Hopper", Extra: true}},
	}}, "")
	words := func() (text string, wrapped int) {
		t.Helper()
		var got struct {
			Words   string
			Wrapped int
		}
		v.Check("read the page", platforms.Read(v.Ctx, v.Page, shown, nil, &got))
		return got.Words, got.Wrapped
	}
	until := func(what string, ok func(string) bool) {
		t.Helper()
		limit := time.Now().Add(15 * time.Second)
		for {
			text, _ := words()
			if ok(text) {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("%s is not drawn; the page says %q", what, text)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	v.Await("the page", func(o standin.Visitor) bool { return o.Connected })
	before := ""
	for _, screen := range append([]string{"prejoin", "waiting", "in"}, k.Screens...) {
		v.Do(standin.Action{Do: "screen", Kind: screen})
		v.Await(screen, func(o standin.Visitor) bool { return o.Screen == screen || screen == "in" && o.Screen == k.Joining })
		until("screen "+screen, func(text string) bool { return text != "" && text != before })
		if screen == "in" {
			v.Await(screen, func(o standin.Visitor) bool { return o.Screen == "in" })
			until("the people", func(text string) bool { return strings.Contains(text, "Ada Lovelace") })
		}
		before, _ = words()
	}
	v.Do(standin.Action{Do: "screen", Kind: "in"})
	v.Await("in", func(o standin.Visitor) bool { return o.Screen == "in" })
	for _, kind := range k.Dialogs {
		before, _ = words()
		v.Do(standin.Action{Do: "dialog", Kind: kind})
		if kind == "challenge" {
			v.Found("the challenge", platforms.Target{Selector: `iframe[src*="bframe"], .component_smart_captcha, [data-s=challenge]`})
		} else {
			until("dialog "+kind, func(text string) bool { return text != before })
		}
		v.Do(standin.Action{Do: "close-dialog"})
		until("the end of dialog "+kind, func(text string) bool { return kind == "challenge" || text != "" })
	}
	if _, wrapped := words(); m.Wrap > 0 && wrapped == 0 {
		t.Error("nothing is wrapped")
	}
	for {
		select {
		case e := <-v.Page.Events():
			if e.Kind == "console-error" {
				t.Errorf("the page's script: %s", e.Text)
			}
			continue
		default:
		}
		return
	}
}
