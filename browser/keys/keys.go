// Package keys knows what a keyboard tells about each press: keys, chords, and the characters of a text.
package keys

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/go-rod/rod/lib/proto"
)

// Key is what a keyboard tells about one press.
type Key struct {
	key, code string
	number    int    // the historical key code that pages still read
	text      string // what it writes; empty for keys that write nothing
}

// The keys that input needs by itself.
var (
	Enter     = named["enter"]
	Backspace = named["backspace"]
	Escape    = named["escape"]
	End       = named["end"]
)

// Modifiers, as the browser counts them.
const (
	Alt     = 1
	Control = 2
	Meta    = 4
	Shift   = 8
)

var named = map[string]Key{
	"enter": {"Enter", "Enter", 13, "\r"}, "tab": {"Tab", "Tab", 9, ""}, "escape": {"Escape", "Escape", 27, ""}, "esc": {"Escape", "Escape", 27, ""},
	"backspace": {"Backspace", "Backspace", 8, ""}, "delete": {"Delete", "Delete", 46, ""}, "space": {" ", "Space", 32, " "},
	"home": {"Home", "Home", 36, ""}, "end": {"End", "End", 35, ""}, "pageup": {"PageUp", "PageUp", 33, ""}, "pagedown": {"PageDown", "PageDown", 34, ""},
	"arrowleft": {"ArrowLeft", "ArrowLeft", 37, ""}, "arrowup": {"ArrowUp", "ArrowUp", 38, ""},
	"arrowright": {"ArrowRight", "ArrowRight", 39, ""}, "arrowdown": {"ArrowDown", "ArrowDown", 40, ""},
	"alt": {"Alt", "AltLeft", 18, ""}, "control": {"Control", "ControlLeft", 17, ""}, "shift": {"Shift", "ShiftLeft", 16, ""}, "meta": {"Meta", "MetaLeft", 91, ""},
	"plus": {"+", "Equal", 187, "+"}, "return": {"Enter", "Enter", 13, "\r"}, "del": {"Delete", "Delete", 46, ""}, "insert": {"Insert", "Insert", 45, ""},
	"up": {"ArrowUp", "ArrowUp", 38, ""}, "down": {"ArrowDown", "ArrowDown", 40, ""}, "left": {"ArrowLeft", "ArrowLeft", 37, ""}, "right": {"ArrowRight", "ArrowRight", 39, ""},
	"contextmenu": {"ContextMenu", "ContextMenu", 93, ""}, "capslock": {"CapsLock", "CapsLock", 20, ""},
	"f1": {"F1", "F1", 112, ""}, "f2": {"F2", "F2", 113, ""}, "f3": {"F3", "F3", 114, ""}, "f4": {"F4", "F4", 115, ""}, "f5": {"F5", "F5", 116, ""}, "f6": {"F6", "F6", 117, ""},
	"f7": {"F7", "F7", 118, ""}, "f8": {"F8", "F8", 119, ""}, "f9": {"F9", "F9", 120, ""}, "f10": {"F10", "F10", 121, ""}, "f11": {"F11", "F11", 122, ""}, "f12": {"F12", "F12", 123, ""},
}

// modifiers and the bits that the browser has for them.
var modifiers = map[string]int{"alt": 1, "control": 2, "ctrl": 2, "meta": 4, "cmd": 4, "command": 4, "option": 1, "shift": 8}

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

// For is the press that writes a character. What an American keyboard has no key for is written all the same.
func For(r rune) Key {
	k := Key{key: string(r), text: string(r)}
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

// Parse reads "Enter", "Alt+A", "Control+Shift+M".
func Parse(chord string) (mods int, k Key, err error) {
	parts := strings.Split(chord, "+")
	for i, part := range parts {
		part = strings.TrimSpace(part)
		lower := strings.ToLower(part)
		if i < len(parts)-1 {
			bit, ok := modifiers[lower]
			if !ok {
				return 0, Key{}, fmt.Errorf("key chord %q: %q is not a modifier (Alt, Control, Meta, Shift)", chord, part)
			}
			mods |= bit
			continue
		}
		if n, ok := named[lower]; ok {
			k = n
		} else if r := []rune(part); len(r) == 1 {
			k = For(r[0])
			switch {
			case mods&(Alt|Control|Meta) != 0:
				k = For(unicode.ToLower(r[0]))
			case mods&Shift != 0:
				k = For(unicode.ToUpper(r[0]))
			}
		} else {
			return 0, Key{}, fmt.Errorf("key chord %q: unknown key %q", chord, part)
		}
	}
	if mods&(1|2|4) != 0 {
		k.text = "" // with these held a key is a command and writes nothing
	}
	return mods, k, nil
}

// Strokes are the events of one press, with its modifiers as keys of their own around it.
func Strokes(mods int, k Key, commands ...string) (events []proto.InputDispatchKeyEvent) {
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

func keyEvent(kind proto.InputDispatchKeyEventType, mods int, k Key) proto.InputDispatchKeyEvent {
	return proto.InputDispatchKeyEvent{Type: kind, Modifiers: mods, Key: k.key, Code: k.code, WindowsVirtualKeyCode: k.number, NativeVirtualKeyCode: k.number}
}

// Modifier is the bit of a modifier key by its name.
func Modifier(name string) (int, error) {
	if bit, ok := modifiers[strings.ToLower(strings.TrimSpace(name))]; ok {
		return bit, nil
	}
	return 0, fmt.Errorf("%q is not a modifier (Alt, Control, Meta, Shift)", name)
}

// Command is the key of a letter as it is pressed with a modifier: it writes nothing.
func Command(letter rune) Key {
	k := For(letter)
	k.text = ""
	return k
}
