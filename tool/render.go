package tool

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"parley/tool/schema"
)

// untrustedField is the member of a structured result that lists the untrusted paths.
const untrustedField = "untrusted"

// Fence keeps what others wrote apart from what we say.
type Fence interface {
	// Clean makes a text harmless to show: no control characters, nothing that looks like a fence.
	Clean(text string) string
	// Wrap puts marks round cleaned text that nobody could have guessed. Tag is new for each result.
	Wrap(tag, text string) string
}

// plainFence is the fence until a stricter one is given.
type plainFence struct{}

func (plainFence) Clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, // turns the direction of what follows
			r == 0xfeff, r >= 0xe0000 && r <= 0xe007f: // invisible
			return -1
		}
		return r
	}, s)
	return strings.ReplaceAll(s, "<<<", "‹‹‹")
}

func (plainFence) Wrap(tag, text string) string {
	return "<<<page-data:" + tag + ">>>\n" + text + "\n<<<end:" + tag + ">>>"
}

// unmarked is a fence that cleans and sets no marks.
type unmarked struct{ Fence }

func (u unmarked) Wrap(_, text string) string { return text }

// Text is the text form of a result, being written.
type Text struct {
	b     strings.Builder
	fence Fence
	tag   string
}

func newText(f Fence) *Text {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return &Text{fence: f, tag: hex.EncodeToString(b[:])}
}

// Line adds a line of our own words. Nothing untrusted may be among the values.
func (t *Text) Line(format string, values ...any) {
	fmt.Fprintf(&t.b, format, values...)
	t.b.WriteByte('\n')
}

// Quote adds what others wrote, inside the fence. Empty adds nothing.
func (t *Text) Quote(untrusted string) {
	if untrusted = strings.TrimRight(untrusted, "\n"); untrusted == "" {
		return
	}
	t.b.WriteString(t.fence.Wrap(t.tag, t.fence.Clean(untrusted)))
	t.b.WriteByte('\n')
}

func (t *Text) String() string { return strings.TrimRight(t.b.String(), "\n") }

// generic writes each member on a line; one that holds something untrusted goes inside the fence as a whole.
func (t *Text) generic(s *schema.Schema, clean json.RawMessage) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(clean, &members); err != nil {
		return err
	}
	for _, f := range s.Fields {
		raw, ok := members[f.Name]
		if !ok || f.Name == untrustedField {
			continue
		}
		if !hasUntrusted(f.Schema) {
			t.Line("%s: %s", f.Name, inline(raw))
			continue
		}
		t.Line("%s:", f.Name)
		t.Quote(inline(raw))
	}
	return nil
}

// inline writes a value without quotes where it is a text.
func inline(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 && list[0][0] == '{' {
		lines := make([]string, len(list))
		for i, item := range list {
			lines[i] = string(item)
		}
		return strings.Join(lines, "\n")
	}
	return string(raw)
}

func hasUntrusted(s *schema.Schema) bool {
	if s == nil {
		return false
	}
	return s.Untrusted || hasUntrusted(s.Items) || slices.ContainsFunc(s.Fields, func(f schema.Field) bool { return hasUntrusted(f.Schema) })
}

// washer makes a result fit to leave: every text sealed, every untrusted one cleaned and its path noted.
type washer struct {
	seal  func(string) string
	clean func(string) string
	paths []string
}

// wash gives the result as JSON with members in declared order.
func (w *washer) wash(s *schema.Schema, result any) (json.RawMessage, error) {
	raw, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := w.value(&b, s, raw, "", false); err != nil {
		return nil, err
	}
	if len(w.paths) == 0 {
		return b.Bytes(), nil
	}
	list, err := json.Marshal(w.paths)
	if err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - 1)
	if b.Len() > 1 {
		b.WriteByte(',')
	}
	fmt.Fprintf(&b, "%q:%s}", untrustedField, list)
	return b.Bytes(), nil
}

func (w *washer) value(b *bytes.Buffer, s *schema.Schema, raw json.RawMessage, path string, untrusted bool) error {
	untrusted = untrusted || s.Untrusted
	switch raw[0] {
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		if !s.Verbatim {
			text = w.seal(text)
		}
		if untrusted {
			text = w.clean(text)
			if !slices.Contains(w.paths, path) {
				w.paths = append(w.paths, path)
			}
		}
		out, err := json.Marshal(text)
		b.Write(out)
		return err
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		items := s.Items
		if items == nil {
			items = &schema.Schema{}
		}
		b.WriteByte('[')
		for i, item := range list {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := w.value(b, items, item, path+"[]", untrusted); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case '{':
		return w.object(b, s, raw, path, untrusted)
	default:
		b.Write(raw)
	}
	return nil
}

func (w *washer) object(b *bytes.Buffer, s *schema.Schema, raw json.RawMessage, path string, untrusted bool) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	b.WriteByte('{')
	first := true
	write := func(name string, f *schema.Schema) error {
		value, ok := members[name]
		if !ok {
			return nil
		}
		delete(members, name)
		if !first {
			b.WriteByte(',')
		}
		first = false
		at := name
		if path != "" {
			at = path + "." + name
		}
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		b.Write(key)
		b.WriteByte(':')
		return w.value(b, f, value, at, untrusted)
	}
	for _, f := range s.Fields {
		if err := write(f.Name, f.Schema); err != nil {
			return err
		}
	}
	other := s.Items
	if other == nil {
		other = &schema.Schema{}
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := write(name, other); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}
