package cdp

import (
	"context"
	"strings"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser/keys"
	"parley/platforms"
)

// Press sends a key or a chord.
func (p *Page) Press(ctx context.Context, chord string) error {
	mods, k, err := keys.Parse(chord)
	if err != nil {
		return err
	}
	release, err := p.act(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := p.shown(ctx); err != nil {
		return err
	}
	return p.call(ctx, func(c proto.Client) error { return stroke(c, mods, k) })
}

// stroke presses and releases a key and waits until the page has had it.
func stroke(c proto.Client, mods int, k keys.Key, commands ...string) error {
	for _, e := range keys.Strokes(mods, k, commands...) {
		if err := e.Call(c); err != nil {
			return err
		}
	}
	return nil
}

// Type puts text into a field by real key events after clearing it, and reads it back. A line break is typed as
// Shift+Enter where the field takes several lines, since plain Enter sends in a chat, and as a blank elsewhere.
// A page that replaced the field meanwhile gets the text once more.
func (p *Page) Type(ctx context.Context, t platforms.Target, text string) error {
	release, err := p.act(ctx)
	if err != nil {
		return err
	}
	defer release()
	for try := 0; ; try++ {
		ok, err := p.typeOnce(ctx, t, text)
		if ok || err != nil {
			return err
		}
		if try == 1 {
			return &ElementError{Target: name(t), Err: ErrNotTyped}
		}
	}
}

func (p *Page) typeOnce(ctx context.Context, t platforms.Target, text string) (ok bool, err error) {
	a, err := p.click(ctx, t)
	if err != nil {
		return false, err
	}
	var field struct {
		OK        bool   `json:"ok"`
		Value     string `json:"value"`
		Multiline bool   `json:"multiline"`
	}
	if err := p.evaluate(ctx, "(id, kit) => kit.focus(id)", a.ID, &field, false); err != nil {
		return false, err
	}
	if !field.OK {
		return false, nil
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !field.Multiline {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	if err := p.call(ctx, func(c proto.Client) error {
		if field.Value != "" {
			if err := stroke(c, keys.Control, keys.For('a'), "selectAll"); err != nil {
				return err
			}
			if err := stroke(c, 0, keys.Backspace); err != nil {
				return err
			}
		}
		return p.write(c, text)
	}); err != nil {
		return false, err
	}
	var typed struct {
		OK    bool   `json:"ok"`
		Value string `json:"value"`
	}
	if err := p.evaluate(ctx, "({id, target}, kit) => kit.typed(id, target)", map[string]any{"id": a.ID, "target": t}, &typed, true); err != nil {
		return false, err
	}
	return typed.OK && sameText(typed.Value, text), nil
}

// burst is how many key events go to the page before we wait for it to have had them.
const burst = 48

// write presses the keys of a text. The page gets every key; only we do not wait for each.
func (p *Page) write(c proto.Client, text string) error {
	var events []proto.InputDispatchKeyEvent
	for _, r := range text {
		mods, k := 0, keys.For(r)
		switch r {
		case '\n':
			mods, k = keys.Shift, keys.Enter
		case '\t':
			k = keys.For(' ')
		}
		events = append(events, keys.Strokes(mods, k)...)
	}
	for i, e := range events {
		send := p.tab.Post
		if i == len(events)-1 || (i+1)%burst == 0 { // comes back after everything before it
			send = func(r proto.Request) error { return e.Call(c) }
		}
		if err := send(e); err != nil {
			return err
		}
	}
	return nil
}

// sameText compares what a field holds with what was typed: editors turn blanks into others and add line ends.
func sameText(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}
