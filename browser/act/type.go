package act

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-rod/rod/lib/proto"

	"parley/browser"
	"parley/browser/keys"
	"parley/browser/locate"
)

// TypeOptions say how to type; the zero value replaces what the field holds.
type TypeOptions struct {
	// Append leaves what the field holds and types behind it.
	Append bool
	// Submit presses Enter afterwards.
	Submit bool
	// Wait is how long to find the field and for it to be editable; zero means DefaultWait.
	Wait time.Duration
	// Only says the documents of which origin may get the value ("null" is one in a sandbox): the page can go elsewhere
	// while the field is waited for. Nil is all.
	Only func(origin string) bool
}

// Type puts a text into a field with real keys, in place of what it holds, and reads it back. Dates, times, colours and
// sliders take the forms that people write; native and custom lists choose the option.
func Type(ctx context.Context, p *browser.Page, l locate.Locator, value string, o TypeOptions) (Done, error) {
	s, err := seek(ctx, p, l, o.Wait)
	if err != nil {
		return Done{}, err
	}
	s.field, s.only = true, o.Only
	value = strings.ReplaceAll(value, "\r\n", "\n")
	d, err := s.enter(ctx, value, o)
	if err != nil || !o.Submit {
		return d, err
	}
	return d, press(ctx, p, 0, keys.Enter)
}

// enter finds the field and gives it the value in the way of its kind.
func (s *seeker) enter(ctx context.Context, value string, o TypeOptions) (Done, error) {
	a, err := s.aim(ctx, aimOptions{ready: "editable"})
	if err != nil {
		return Done{}, err
	}
	if err := s.permitted(ctx, a.element); err != nil {
		disarm(ctx, a)
		return Done{}, err
	}
	switch a.Kind {
	case "select":
		disarm(ctx, a)
		return s.setOptions(ctx, a.element, []string{value}, nil)
	case "check":
		disarm(ctx, a)
		return Done{}, unfit("%s is a checkbox or a choice: click it, or give fill_form true or false for it", a.Brief)
	case "file":
		disarm(ctx, a)
		return Done{}, unfit("%s takes files: use upload", a.Brief)
	case "button":
		disarm(ctx, a)
		return Done{}, unfit("%s is a button and takes no text", a.Brief)
	case "date", "time", "month", "week", "datetime-local", "color", "range":
		disarm(ctx, a)
		return s.put(ctx, a, value)
	case "slider":
		disarm(ctx, a)
		return s.slide(ctx, a, value)
	}
	if a.ReadOnly {
		disarm(ctx, a)
		return Done{}, problem{Problem: "readonly"}.explain("editable", s.limit())
	}
	return s.type_(ctx, a, value, o)
}

func disarm(ctx context.Context, a aimed) {
	_ = a.run(ctx, "(id, k) => k.disarm(id)", a.id, nil) // a document that is gone watches nothing
}

// field is what the kit tells of the field that has the focus.
type field struct {
	about
	OK    bool `json:"ok"`
	ID    int  `json:"id"`
	Empty bool `json:"empty"`
}

type reading struct {
	OK      bool   `json:"ok"`
	Value   string `json:"value"`
	Length  int    `json:"length"`
	Secret  bool   `json:"secret"`
	Invalid string `json:"invalid"`
	Max     int    `json:"max"`
}

// type_ types into a text field or an editor.
func (s *seeker) type_(ctx context.Context, a aimed, value string, o TypeOptions) (Done, error) {
	for try := 0; ; try++ {
		r, err := strike(ctx, s.p, a, ClickOptions{}, 0)
		if err != nil {
			return Done{}, err
		}
		if r.blocked() {
			if try < blockedTries && s.left() > 0 {
				if a, err = s.aimHeld(ctx, a.element, aimOptions{ready: "editable"}); err != nil {
					return Done{}, err
				}
				continue
			}
			return Done{}, problem{Problem: "covered", By: r.Other}.explain("editable", s.limit())
		}
		break
	}
	var f field
	if err := a.run(ctx, "(id, k) => k.focus(id)", a.id, &f); err != nil {
		return Done{}, err
	}
	if !f.OK || (f.Kind != "text" && f.Kind != "editable") {
		return Done{}, unfit("%s takes no text: clicking it gave no field the focus", a.Brief)
	}
	in := element{a.frame, f.ID}
	if err := s.permitted(ctx, in); err != nil { // it may be another than the one above: what covered it went away meanwhile
		return Done{}, err
	}
	text := value
	if !f.Multiline {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	var before reading
	if o.Append {
		if err := in.run(ctx, "(id, k) => { k.caretToEnd(id); return k.read(id); }", f.ID, &before); err != nil {
			return Done{}, err
		}
		if err := press(ctx, s.p, 0, keys.End); err != nil {
			return Done{}, err
		}
	}
	for try := 0; ; try++ {
		if !o.Append && (!f.Empty || try > 0) {
			if err := s.clear(ctx, in, f, text == ""); err != nil {
				return Done{}, err
			}
		}
		if err := write(ctx, s.p, text, f.Kind == "editable"); err != nil {
			return Done{}, err
		}
		got, err := s.readBack(ctx, in, before.Value+text)
		if err != nil || !got.OK {
			if err == nil || passing(err) { // typing took the field away: a search that goes by itself
				return Done{Uncertain: "the field went away while it was typed into, so it cannot be read back"}, nil
			}
			return Done{}, err
		}
		d, ok := judge(got, before.Value+text)
		if ok {
			return d, nil
		}
		if try == 0 && !o.Append {
			continue // keys that came before the page's own script was ready are lost: once more
		}
		if got.Secret {
			return Done{}, &Error{Err: ErrNotTyped, Done: true, Text: "the field holds " + strconv.Itoa(got.Length) + " characters, which are not those that were typed"}
		}
		e := &Error{Err: ErrNotTyped, Done: true, Text: "the field does not hold what was typed; what it holds follows", Shown: []string{got.Value}}
		if got.Max > 0 && len([]rune(text)) > got.Max {
			e.Text = "the field takes " + strconv.Itoa(got.Max) + " characters at most; what it holds follows"
		}
		return Done{}, e
	}
}

// clear marks what the field holds, so that typing replaces it; alone also removes it.
func (s *seeker) clear(ctx context.Context, in element, f field, alone bool) error {
	if f.Kind == "text" {
		var marked bool
		if err := in.run(ctx, "(id, k) => k.selectAll(id)", in.id, &marked); err != nil {
			return err
		}
		if marked {
			if alone {
				return press(ctx, s.p, 0, keys.Backspace)
			}
			return nil
		}
	}
	// Editors keep a selection of their own, which follows the keys.
	if err := send(ctx, s.p, keys.Strokes(keys.Control, keys.For('a'), "selectAll")); err != nil {
		return err
	}
	return press(ctx, s.p, 0, keys.Backspace)
}

// readBack reads the field until it holds the text or has had a moment to: editors take keys in their own time.
func (s *seeker) readBack(ctx context.Context, in element, want string) (got reading, err error) {
	for end := time.Now().Add(hearLimit); ; {
		got = reading{}
		if err = in.run(ctx, "(id, k) => k.readSoon(id)", in.id, &got); err != nil || !got.OK || time.Now().After(end) {
			return got, err
		}
		if _, ok := judge(got, want); ok {
			return got, nil
		}
		if err := pause(ctx, 30*time.Millisecond); err != nil {
			return got, err
		}
	}
}

// judge compares what a field holds with what was typed.
func judge(got reading, want string) (Done, bool) {
	switch {
	case same(got.Value, want):
		return Done{}, true
	case otherNumber(got.Value, want): // 150 is no other form of 1.50
		return Done{}, false
	case got.Value != "" && core(got.Value) == core(want) && core(want) != "":
		if got.Secret {
			return Done{Note: "the field wrote it in a form of its own"}, true
		}
		return Done{Value: got.Value, Note: "the field wrote it in a form of its own"}, true
	case want != "" && strings.HasPrefix(got.Value, want) && !got.Secret:
		return Done{Value: got.Value, Note: "the field added to it, as a suggestion"}, true
	case sameNumber(got.Value, want):
		return Done{Value: got.Value}, true
	}
	return Done{}, false
}

// same compares texts as fields keep them: editors turn blanks into others and add line ends.
func same(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// core is what masks leave as it is: letters and digits.
func core(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// otherNumber tells that both are numbers, and not the same.
func otherNumber(a, b string) bool {
	x, ok := plain(a)
	y, ok2 := plain(b)
	return ok && ok2 && x != y
}

// plain reads a number as people write it without marks between thousands, with a point or a comma before its decimals.
func plain(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if whole, decimals, ok := strings.Cut(s, ","); ok && len(decimals) != 3 && !strings.Contains(whole, ".") {
		s = whole + "." + decimals
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

func sameNumber(a, b string) bool {
	x, err := strconv.ParseFloat(strings.TrimSpace(a), 64)
	y, err2 := strconv.ParseFloat(strings.TrimSpace(b), 64)
	return err == nil && err2 == nil && x == y
}

// put sets a field whose value is chosen rather than typed.
func (s *seeker) put(ctx context.Context, a aimed, value string) (Done, error) {
	if a.ReadOnly {
		return Done{}, problem{Problem: "readonly"}.explain("editable", s.limit())
	}
	want := value
	switch a.Kind {
	case "color":
		if err := a.run(ctx, "(v, k) => k.colour(v)", value, &want); err != nil {
			return Done{}, err
		}
		if want == "" {
			return Done{}, unfit("%q is not a colour: write it like #ff8800", value)
		}
	case "range":
		if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return Done{}, unfit("%q is not a number, which the slider needs", value)
		}
		want = strings.TrimSpace(value)
	default:
		var l locale
		if err := a.run(ctx, "(_, k) => k.locale()", nil, &l); err != nil {
			return Done{}, err
		}
		var err error
		if want, err = dateValue(a.Kind, value, l); err != nil && value != "" {
			return Done{}, unfit("%s", err)
		}
	}
	var got struct {
		OK    bool   `json:"ok"`
		Value string `json:"value"`
		Min   string `json:"min"`
		Max   string `json:"max"`
		Step  string `json:"step"`
	}
	s.p.Sent()
	if err := a.run(ctx, "([id, v], k) => k.put(id, v)", []any{a.id, want}, &got); err != nil {
		if passing(err) {
			return Done{}, nil
		}
		return Done{}, err
	}
	var now reading
	if err := a.run(ctx, "async (id, k) => { await k.frame(); return k.read(id); }", a.id, &now); err != nil && !passing(err) {
		return Done{}, err
	}
	switch {
	case !got.OK:
		return Done{}, problem{Problem: "gone"}.explain("editable", 0)
	case now.OK && now.Value != want && !sameNumber(now.Value, want) && !strings.HasPrefix(now.Value, want) && !strings.HasPrefix(want, now.Value+":"):
		e := &Error{Err: ErrNotTyped, Done: true, Text: "the field did not take " + strconv.Quote(want) + "; what it holds follows", Shown: []string{now.Value}}
		if got.Min != "" || got.Max != "" {
			e.Text += " (it goes from " + strconv.Quote(got.Min) + " to " + strconv.Quote(got.Max) + ")"
		}
		return Done{}, e
	case now.OK && now.Invalid != "":
		return Done{Value: now.Value, Note: "the page's rules do not accept this value"}, nil
	case now.OK && now.Value != value:
		return Done{Value: now.Value}, nil
	}
	return Done{}, nil
}

// slide moves a slider of the page's own making with the keys that sliders have.
func (s *seeker) slide(ctx context.Context, a aimed, value string) (Done, error) {
	want, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return Done{}, unfit("%q is not a number, which the slider needs", value)
	}
	now := func() (v float64, err error) {
		err = a.run(ctx, "async (id, k) => { await k.frame(); return k.sliderNow(id); }", a.id, &v)
		return v, err
	}
	if err := a.run(ctx, "(id, k) => k.focus(id)", a.id, nil); err != nil {
		return Done{}, err
	}
	at, err := now()
	if err != nil {
		return Done{}, err
	}
	for range 500 {
		if at == want {
			return Done{}, nil
		}
		key := "Right"
		if at > want {
			key = "Left"
		}
		_, k, err := keys.Parse(key)
		if err != nil {
			return Done{}, err
		}
		if err := press(ctx, s.p, 0, k); err != nil {
			return Done{}, err
		}
		next, err := now()
		if err != nil {
			return Done{}, err
		}
		if next == at || (at < want) != (next < want) && next != want { // it does not move, or steps over
			return Done{}, &Error{Err: ErrNotTyped, Done: true, Text: "the slider stops at other values; where it is follows", Shown: []string{strconv.FormatFloat(next, 'f', -1, 64)}}
		}
		at = next
	}
	return Done{}, &Error{Err: ErrNotTyped, Done: true, Text: "the slider needs more than 500 steps; drag it", Shown: []string{strconv.FormatFloat(at, 'f', -1, 64)}}
}

// burst is how many key events go to the page before we wait for it to have had them.
const burst = 48

// typedLimit is how long a text is typed key by key; what is longer is inserted as if it were pasted, but for its end.
const typedLimit = 200

// write presses the keys of a text. In an editor a line ends with Shift+Enter, since plain Enter sends in a chat.
func write(ctx context.Context, p *browser.Page, text string, editor bool) error {
	p.Sent()
	runes := []rune(text)
	if len(runes) > typedLimit && !(editor && strings.ContainsRune(text, '\n')) {
		cut := len(runes) - 2
		if err := (proto.InputInsertText{Text: string(runes[:cut])}).Call(p.Client(ctx)); err != nil {
			return err
		}
		runes = runes[cut:]
	}
	var events []proto.InputDispatchKeyEvent
	for _, r := range runes {
		mods, k := 0, keys.For(r)
		switch {
		case r == '\n' && editor:
			mods, k = keys.Shift, keys.Enter
		case r == '\n':
			k = keys.Enter
		case r == '\t':
			k = keys.For(' ')
		}
		events = append(events, keys.Strokes(mods, k)...)
	}
	return send(ctx, p, events)
}

// send gives key events in bursts and waits for the last of each.
func send(ctx context.Context, p *browser.Page, events []proto.InputDispatchKeyEvent) error {
	for i, e := range events {
		if i < len(events)-1 && (i+1)%burst != 0 {
			p.Post(e)
			continue
		}
		if err := e.Call(p.Client(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func press(ctx context.Context, p *browser.Page, mods int, k keys.Key) error {
	p.Sent()
	return send(ctx, p, keys.Strokes(mods, k))
}

// Press presses keys, one chord after another ("Enter", "Control+A", "Tab"): on an element, which gets the focus first,
// or with an empty locator wherever the focus is.
func Press(ctx context.Context, p *browser.Page, l locate.Locator, chords []string, wait time.Duration) (Done, error) {
	type chord struct {
		mods int
		key  keys.Key
	}
	var list []chord
	for _, c := range chords {
		mods, k, err := keys.Parse(c)
		if err != nil {
			return Done{}, &locate.Error{Argument: "key", Why: err.Error()}
		}
		list = append(list, chord{mods, k})
	}
	var d Done
	if l != (locate.Locator{}) {
		s, err := seek(ctx, p, l, wait)
		if err != nil {
			return Done{}, err
		}
		s.field = true
		e, err := s.find(ctx)
		if err != nil {
			return Done{}, err
		}
		var f field
		if err := e.run(ctx, "(id, k) => k.focus(k.retarget(id))", e.id, &f); err != nil {
			return Done{}, err
		}
		if !f.OK {
			d.Uncertain = "the element does not take the focus, so the keys went to where the focus was"
		}
	} else if main, err := p.Main(ctx); err != nil {
		return Done{}, err
	} else if err := main.Run(ctx, kit, "(_, k) => k.shownOnce()", nil, nil); err != nil && !errors.Is(err, browser.ErrNavigated) {
		return Done{}, err
	}
	p.Sent()
	for _, c := range list {
		if err := send(ctx, p, keys.Strokes(c.mods, c.key, commandFor(c.mods, c.key)...)); err != nil {
			return Done{}, err
		}
	}
	return d, nil
}

// commandFor names what the browser does with a chord in a field; without it such chords do nothing on some systems.
func commandFor(mods int, k keys.Key) []string {
	if mods != keys.Control && mods != keys.Meta {
		return nil
	}
	switch k {
	case keys.Command('a'):
		return []string{"selectAll"}
	case keys.Command('c'):
		return []string{"copy"}
	case keys.Command('x'):
		return []string{"cut"}
	case keys.Command('v'):
		return []string{"paste"}
	case keys.Command('z'):
		return []string{"undo"}
	}
	return nil
}
