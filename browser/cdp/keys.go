package cdp

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-rod/rod/lib/proto"

	"parley/platforms"
)

// key is what a keyboard tells about one press.
type key struct {
	key, code string
	number    int    // the historical key code that pages still read
	text      string // what it writes; empty for keys that write nothing
}

var named = map[string]key{
	"enter": {"Enter", "Enter", 13, "\r"}, "tab": {"Tab", "Tab", 9, ""}, "escape": {"Escape", "Escape", 27, ""}, "esc": {"Escape", "Escape", 27, ""},
	"backspace": {"Backspace", "Backspace", 8, ""}, "delete": {"Delete", "Delete", 46, ""}, "space": {" ", "Space", 32, " "},
	"home": {"Home", "Home", 36, ""}, "end": {"End", "End", 35, ""}, "pageup": {"PageUp", "PageUp", 33, ""}, "pagedown": {"PageDown", "PageDown", 34, ""},
	"arrowleft": {"ArrowLeft", "ArrowLeft", 37, ""}, "arrowup": {"ArrowUp", "ArrowUp", 38, ""},
	"arrowright": {"ArrowRight", "ArrowRight", 39, ""}, "arrowdown": {"ArrowDown", "ArrowDown", 40, ""},
	"alt": {"Alt", "AltLeft", 18, ""}, "control": {"Control", "ControlLeft", 17, ""}, "shift": {"Shift", "ShiftLeft", 16, ""}, "meta": {"Meta", "MetaLeft", 91, ""},
	"plus": {"+", "Equal", 187, "+"},
}

// modifiers and the bits that the browser has for them.
var modifiers = map[string]int{"alt": 1, "control": 2, "ctrl": 2, "meta": 4, "cmd": 4, "shift": 8}

var modifierKeys = []struct {
	bit  int
	name string
}{{1, "alt"}, {2, "control"}, {4, "meta"}, {8, "shift"}}

// usShifted are the characters above others on an American keyboard.
var usShifted = map[rune]rune{
	'!': '1', '@': '2', '#': '3', '$': '4', '%': '5', '^': '6', '&': '7', '*': '8', '(': '9', ')': '0',
	'_': '-', '+': '=', '{': '[', '}': ']', '|': '\\', ':': ';', '"': '\'', '<': ',', '>': '.', '?': '/', '~': '`',
}

var usPunctuation = map[rune]struct {
	code   string
	number int
}{
	'-': {"Minus", 189}, '=': {"Equal", 187}, '[': {"BracketLeft", 219}, ']': {"BracketRight", 221}, '\\': {"Backslash", 220},
	';': {"Semicolon", 186}, '\'': {"Quote", 222}, ',': {"Comma", 188}, '.': {"Period", 190}, '/': {"Slash", 191}, '`': {"Backquote", 192}, ' ': {"Space", 32},
}

// keyFor is the press that writes a character. What an American keyboard has no key for is written all the same.
func keyFor(r rune) key {
	k := key{key: string(r), text: string(r)}
	base := r
	if b, ok := usShifted[r]; ok {
		base = b
	}
	switch up := unicode.ToUpper(base); {
	case up >= 'A' && up <= 'Z':
		k.code, k.number = "Key"+string(up), int(up)
	case base >= '0' && base <= '9':
		k.code, k.number = "Digit"+string(base), int(base)
	default:
		if p, ok := usPunctuation[base]; ok {
			k.code, k.number = p.code, p.number
		}
	}
	return k
}

// parseChord reads "Enter", "Alt+A", "Control+Shift+M".
func parseChord(chord string) (mods int, k key, err error) {
	parts := strings.Split(chord, "+")
	for i, part := range parts {
		part = strings.TrimSpace(part)
		lower := strings.ToLower(part)
		if i < len(parts)-1 {
			bit, ok := modifiers[lower]
			if !ok {
				return 0, key{}, fmt.Errorf("key chord %q: %q is not a modifier (Alt, Control, Meta, Shift)", chord, part)
			}
			mods |= bit
			continue
		}
		if n, ok := named[lower]; ok {
			k = n
		} else if r := []rune(part); len(r) == 1 {
			k = keyFor(unicode.ToLower(r[0]))
		} else {
			return 0, key{}, fmt.Errorf("key chord %q: unknown key %q", chord, part)
		}
	}
	if mods&(1|2|4) != 0 {
		k.text = "" // with these held a key is a command and writes nothing
	}
	return mods, k, nil
}

// Press sends a key or a chord.
func (p *Page) Press(ctx context.Context, chord string) error {
	mods, k, err := parseChord(chord)
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
func stroke(c proto.Client, mods int, k key, commands ...string) error {
	for _, e := range strokes(mods, k, commands...) {
		if err := e.Call(c); err != nil {
			return err
		}
	}
	return nil
}

// strokes are the events of one press, with its modifiers as keys of their own around it.
func strokes(mods int, k key, commands ...string) (events []proto.InputDispatchKeyEvent) {
	held := 0
	for _, m := range modifierKeys {
		if mods&m.bit != 0 {
			held |= m.bit
			events = append(events, keyEvent(proto.InputDispatchKeyEventTypeRawKeyDown, held, named[m.name]))
		}
	}
	down := keyEvent(proto.InputDispatchKeyEventTypeRawKeyDown, mods, k)
	if k.text != "" {
		down.Type, down.Text, down.UnmodifiedText = proto.InputDispatchKeyEventTypeKeyDown, k.text, k.text
	}
	down.Commands = commands
	events = append(events, down, keyEvent(proto.InputDispatchKeyEventTypeKeyUp, mods, k))
	for i := len(modifierKeys) - 1; i >= 0; i-- {
		if m := modifierKeys[i]; mods&m.bit != 0 {
			held &^= m.bit
			events = append(events, keyEvent(proto.InputDispatchKeyEventTypeKeyUp, held, named[m.name]))
		}
	}
	return events
}

func keyEvent(kind proto.InputDispatchKeyEventType, mods int, k key) proto.InputDispatchKeyEvent {
	return proto.InputDispatchKeyEvent{Type: kind, Modifiers: mods, Key: k.key, Code: k.code, WindowsVirtualKeyCode: k.number, NativeVirtualKeyCode: k.number}
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
			if err := stroke(c, 2, keyFor('a'), "selectAll"); err != nil {
				return err
			}
			if err := stroke(c, 0, named["backspace"]); err != nil {
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
		mods, k := 0, keyFor(r)
		switch r {
		case '\n':
			mods, k = 8, named["enter"]
		case '\t':
			k = keyFor(' ')
		}
		events = append(events, strokes(mods, k)...)
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
