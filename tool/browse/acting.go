package browse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/browser"
	"parley/browser/act"
	"parley/browser/locate"
	"parley/tool"
)

// Element is how every tool that works an element is told which: by one of ref, role with name, selector and text.
// Clients are told what the arguments mean once, with click, whose text says that the others take them too.
type Element struct {
	Ref      string `json:"ref,omitempty" arg:"terse,maxlen=64" doc:"From read."`
	Role     string `json:"role,omitempty" arg:"unlisted,maxlen=64" doc:"ARIA role."`
	Name     string `json:"name,omitempty" arg:"unlisted,maxlen=2000" doc:"Part of it; with role."`
	Selector string `json:"selector,omitempty" arg:"terse,maxlen=4000" doc:"CSS, xpath=, text=; >> joins."`
	Text     string `json:"text,omitempty" arg:"unlisted,maxlen=2000" doc:"Part of what it shows."`
	Nth      *int   `json:"nth,omitempty" arg:"unlisted" doc:"0 first, -1 last."`
	After    string `json:"after,omitempty" arg:"unlisted,maxlen=2000" doc:"Only behind this text."`
	Before   string `json:"before,omitempty" arg:"unlisted,maxlen=2000" doc:"Only ahead of it."`
}

// ElementSaid is an Element with its meaning.
type ElementSaid struct {
	Ref      string `json:"ref,omitempty" arg:"brief,maxlen=64" doc:"From read."`
	Role     string `json:"role,omitempty" arg:"terse,maxlen=64" doc:"ARIA role."`
	Name     string `json:"name,omitempty" arg:"brief,maxlen=2000" doc:"Part of it; with role."`
	Selector string `json:"selector,omitempty" arg:"brief,maxlen=4000" doc:"CSS, xpath=, text=, role=; >> joins."`
	Text     string `json:"text,omitempty" arg:"brief,maxlen=2000" doc:"Part of what it shows."`
	Nth      *int   `json:"nth,omitempty" arg:"brief" doc:"0 first, -1 last."`
	After    string `json:"after,omitempty" arg:"brief,maxlen=2000" doc:"Behind this text."`
	Before   string `json:"before,omitempty" arg:"terse,maxlen=2000" doc:"Only ahead of it."`
}

func (e Element) locator() locate.Locator {
	return locate.Locator{Ref: e.Ref, Role: e.Role, Name: e.Name, Selector: e.Selector, Text: e.Text, Nth: e.Nth, After: e.After, Before: e.Before}
}

// Worked is what a tool that works an element answers with.
type Worked struct {
	Acted
	// Uncertain is the truth where it is not known whether the element received it.
	Uncertain string   `json:"uncertain,omitempty" doc:"Why it is not known whether it took effect; absent when it did."`
	Value     string   `json:"value,omitempty" arg:"untrusted" doc:"What the field or list holds, where it is not what was given."`
	Options   []string `json:"options,omitempty" arg:"untrusted" doc:"What a native list offers."`
}

// ClickArgs are click's.
type ClickArgs struct {
	On
	ElementSaid
	Button    string    `json:"button,omitempty" arg:"enum=left|right|middle,default=left,terse" doc:"Which."`
	Count     int       `json:"count,omitempty" arg:"min=1,max=3,default=1,terse" doc:"2 is a double click."`
	Modifiers []string  `json:"modifiers,omitempty" arg:"max=4,unlisted" doc:"Alt, Control, Meta, Shift."`
	At        []float64 `json:"at,omitempty" arg:"max=2,brief" doc:"x, y in it."`
	Telling
}

// TypeArgs are type's.
type TypeArgs struct {
	On
	Element
	Value  string `json:"value,omitempty" arg:"maxlen=100000,terse" doc:"Replaces what is there; dates as people write them."`
	Append bool   `json:"append,omitempty" arg:"terse" doc:"Type behind it instead."`
	Submit bool   `json:"submit,omitempty" arg:"brief" doc:"Then Enter."`
	TellingToo
}

// SelectArgs are select's.
type SelectArgs struct {
	On
	Element
	Option  string   `json:"option,omitempty" arg:"maxlen=2000,brief" doc:"Label or value."`
	Options []string `json:"options,omitempty" arg:"max=200,unlisted" doc:"Several, where the list takes them."`
	Index   *int     `json:"index,omitempty" arg:"terse" doc:"Or its place; -1 is last."`
	TellingToo
}

// PressArgs are press's.
type PressArgs struct {
	On
	Key   string `json:"key" arg:"required,maxlen=400,brief" doc:"Enter, Control+a; several with blanks between."`
	Times int    `json:"times,omitempty" arg:"min=1,max=200,default=1,unlisted" doc:"Repeat."`
	Element
	TellingToo
}

// HoverArgs are hover's.
type HoverArgs struct {
	On
	Element
	TellingToo
}

// DragArgs are drag's.
type DragArgs struct {
	On
	Element
	To     string    `json:"to,omitempty" arg:"maxlen=4000,brief" doc:"Ref or selector."`
	By     []float64 `json:"by,omitempty" arg:"max=2,brief" doc:"Or right, down in pixels."`
	FromAt []float64 `json:"from_at,omitempty" arg:"max=2,unlisted" doc:"x, y in the element."`
	ToAt   []float64 `json:"to_at,omitempty" arg:"max=2,unlisted" doc:"x, y in the goal."`
	TellingToo
}

// ScrollArgs are scroll's.
type ScrollArgs struct {
	On
	Element
	Down  float64 `json:"down,omitempty" arg:"brief" doc:"Pixels."`
	Right float64 `json:"right,omitempty" arg:"unlisted" doc:"Pixels."`
	Pages float64 `json:"pages,omitempty" arg:"terse" doc:"Views down; default 1."`
	To    string  `json:"to,omitempty" arg:"enum=top|bottom|element,terse" doc:"element: bring it into view."`
	TellingToo
}

// Scrolled is scroll's answer.
type Scrolled struct {
	Worked
	What  string `json:"scrolled,omitempty" doc:"What scrolled."`
	Top   int    `json:"top" doc:"Pixels above the view."`
	View  int    `json:"view" doc:"Pixels that show."`
	All   int    `json:"all" doc:"Pixels in all."`
	End   bool   `json:"end,omitempty" doc:"Nothing further that way."`
	Grew  bool   `json:"grew,omitempty" doc:"More came meanwhile: an endless list."`
	Rows  int    `json:"rows,omitempty" doc:"Rows that are there now."`
	Total int    `json:"total_rows,omitempty" doc:"Rows that the page says there are; the others are drawn when they are scrolled to."`
}

// FormArgs are fill_form's.
type FormArgs struct {
	On
	Fields []FormField `json:"fields" arg:"required,min=1,max=50,terse" doc:"In order."`
	Submit bool        `json:"submit,omitempty" arg:"terse" doc:"Then press Enter, if all hold."`
	TellingToo
}

// FormField is a line of fill_form.
type FormField struct {
	Field string `json:"field" arg:"required,maxlen=4000,brief" doc:"Ref, label or selector."`
	Value string `json:"value" arg:"maxlen=100000,brief" doc:"Text, date, option; true or false."`
}

// Filled is fill_form's answer.
type Filled struct {
	Acted
	Fields []FilledField `json:"fields" doc:"In the order given."`
}

// FilledField is what became of a field.
type FilledField struct {
	Field     string   `json:"field" doc:"As it was named."`
	OK        bool     `json:"ok" doc:"It holds what was given."`
	Why       string   `json:"why,omitempty" doc:"Why it does not."`
	Uncertain string   `json:"uncertain,omitempty" doc:"Why it is not known."`
	Value     []string `json:"value,omitempty" arg:"untrusted" doc:"What it holds or offers instead."`
}

// WaitArgs are wait_for's.
type WaitArgs struct {
	On
	ElementText
	Gone    bool   `json:"gone,omitempty" arg:"terse" doc:"Until nothing visible matches."`
	URL     string `json:"url,omitempty" arg:"maxlen=2000,terse" doc:"Part of the address."`
	Timeout int    `json:"timeoutMs,omitempty" arg:"min=0,max=60000,default=30000,terse" doc:"At most."`
}

// ElementText is an Element where clients are told of text as well.
type ElementText struct {
	Ref      string `json:"ref,omitempty" arg:"terse,maxlen=64" doc:"From read."`
	Role     string `json:"role,omitempty" arg:"unlisted,maxlen=64" doc:"ARIA role."`
	Name     string `json:"name,omitempty" arg:"unlisted,maxlen=2000" doc:"Part of it; with role."`
	Selector string `json:"selector,omitempty" arg:"terse,maxlen=4000" doc:"CSS, xpath=, text=; >> joins."`
	Text     string `json:"text,omitempty" arg:"terse,maxlen=2000" doc:"Part of what it shows."`
	Nth      *int   `json:"nth,omitempty" arg:"unlisted" doc:"0 first, -1 last."`
	After    string `json:"after,omitempty" arg:"unlisted,maxlen=2000" doc:"Only behind this text."`
	Before   string `json:"before,omitempty" arg:"unlisted,maxlen=2000" doc:"Only ahead of it."`
}

// Waited is wait_for's answer.
type Waited struct {
	MS  int64  `json:"ms" doc:"How long it took."`
	URL string `json:"url" arg:"untrusted" doc:"The page's address."`
}

// elementErrors are those of every tool that works an element.
func elementErrors(more ...tool.Code) []tool.Code {
	return slices.Concat(pageErrors(), []tool.Code{tool.CodeBadArgument, tool.CodeRefStale, tool.CodeRefUnknown, tool.CodeRefOtherTab, tool.CodeElementNotFound, tool.CodeElementNotReady}, more)
}

func (s *Service) acting() []tool.Tool {
	return []tool.Tool{
		newTool(s, tool.Spec[ClickArgs, Worked]{
			Tool: tool.Tool{
				Name: "click", Title: "Click", Ephemeral: true, OpenWorld: true,
				Doc:    "Click the first visible match; uncertain: the page did not confirm it. Tools on elements all take ref to before, acts all take changes: true, to tell what changed. modifiers: [Control].",
				Errors: elementErrors(tool.CodeNoOption, tool.CodeElementUnfit),
			},
			Run: func(ctx context.Context, c tool.Caller, a ClickArgs) (Worked, error) {
				if len(a.At) == 1 {
					return Worked{}, tool.Fail(tool.CodeBadArgument, "what", "at is two numbers, x and y")
				}
				return s.work(ctx, c, a.On, a.Changes, "clicked", func(ctx context.Context, p *browser.Page) (act.Done, error) {
					return act.Click(ctx, p, Element(a.ElementSaid).locator(), act.ClickOptions{Button: a.Button, Count: a.Count, Modifiers: a.Modifiers, At: a.At})
				})
			},
			Render: renderWorked,
		}),
		newTool(s, tool.Spec[TypeArgs, Worked]{
			Tool: tool.Tool{
				Name: "type", Title: "Type", Ephemeral: true, OpenWorld: true,
				Doc:    "Put a value into a field, read back.",
				Errors: elementErrors(tool.CodeElementUnfit, tool.CodeNotTyped, tool.CodeNoOption, tool.CodeSecretElsewhere),
			},
			Run: func(ctx context.Context, c tool.Caller, a TypeArgs) (Worked, error) {
				value, err := tool.Release(ctx, "value", a.Value)
				if err != nil {
					return Worked{}, err
				}
				return s.work(ctx, c, a.On, a.Changes, "typed", func(ctx context.Context, p *browser.Page) (act.Done, error) {
					return act.Type(ctx, p, a.locator(), value.Text, act.TypeOptions{Append: a.Append, Submit: a.Submit, Only: value.Fits})
				})
			},
			Render: renderWorked,
		}),
		newTool(s, tool.Spec[SelectArgs, Worked]{
			Tool: tool.Tool{
				Name: "select", Title: "Select", Ephemeral: true, OpenWorld: true,
				Doc:    "Choose from a list of any kind; options: [several].",
				Errors: elementErrors(tool.CodeElementUnfit, tool.CodeNoOption),
			},
			Run: func(ctx context.Context, c tool.Caller, a SelectArgs) (Worked, error) {
				options := a.Options
				if a.Option != "" {
					options = append([]string{a.Option}, options...)
				}
				return s.work(ctx, c, a.On, a.Changes, "selected", func(ctx context.Context, p *browser.Page) (act.Done, error) {
					return act.Select(ctx, p, a.locator(), act.SelectOptions{Options: options, Index: a.Index})
				})
			},
			Render: renderWorked,
		}),
		newTool(s, tool.Spec[PressArgs, Worked]{
			Tool: tool.Tool{
				Name: "press", Title: "Press keys", Ephemeral: true, OpenWorld: true,
				Doc:    "Press keys, there or where the focus is.",
				Errors: elementErrors(),
			},
			Run: func(ctx context.Context, c tool.Caller, a PressArgs) (Worked, error) {
				chords := strings.Fields(a.Key)
				if len(chords) == 0 {
					chords = []string{"Space"}
				}
				if len(chords)*max(a.Times, 1) > 1000 {
					return Worked{}, tool.Fail(tool.CodeBadArgument, "what", "more than 1000 keys in one call")
				}
				return s.work(ctx, c, a.On, a.Changes, "pressed", func(ctx context.Context, p *browser.Page) (act.Done, error) {
					return act.Press(ctx, p, a.locator(), slices.Repeat(chords, max(a.Times, 1)), 0)
				})
			},
			Render: renderWorked,
		}),
		newTool(s, tool.Spec[HoverArgs, Worked]{
			Tool: tool.Tool{
				Name: "hover", Title: "Hover", Ephemeral: true, OpenWorld: true,
				Doc:    "Rest the mouse on it.",
				Errors: elementErrors(),
			},
			Run: func(ctx context.Context, c tool.Caller, a HoverArgs) (Worked, error) {
				return s.work(ctx, c, a.On, a.Changes, "hovering", func(ctx context.Context, p *browser.Page) (act.Done, error) {
					return act.Hover(ctx, p, a.locator(), 0)
				})
			},
			Render: renderWorked,
		}),
		newTool(s, tool.Spec[DragArgs, Worked]{
			Tool: tool.Tool{
				Name: "drag", Title: "Drag", Ephemeral: true, OpenWorld: true,
				Doc:    "Drag to an element or by a distance; from_at, to_at: [x, y] in them.",
				Errors: elementErrors(tool.CodeElementUnfit),
			},
			Run: func(ctx context.Context, c tool.Caller, a DragArgs) (Worked, error) {
				o := act.DragOptions{FromAt: a.FromAt, ToAt: a.ToAt}
				switch {
				case a.To != "" && a.By != nil, a.To == "" && len(a.By) != 2:
					return Worked{}, tool.Fail(tool.CodeBadArgument, "what", "give to, or by with two numbers")
				case len(a.FromAt) == 1, len(a.ToAt) == 1:
					return Worked{}, tool.Fail(tool.CodeBadArgument, "what", "from_at and to_at are two numbers, x and y")
				case a.To != "":
					o.To = named(a.To)
				default:
					o.By = a.By
				}
				return s.work(ctx, c, a.On, a.Changes, "dragged", func(ctx context.Context, p *browser.Page) (act.Done, error) {
					return act.Drag(ctx, p, a.locator(), o)
				})
			},
			Render: renderWorked,
		}),
		newTool(s, tool.Spec[ScrollArgs, Scrolled]{
			Tool: tool.Tool{
				Name: "scroll", Title: "Scroll", Ephemeral: true, OpenWorld: true,
				Doc:    "Scroll the page or around an element.",
				Errors: elementErrors(),
			},
			Run: s.scroll, Render: renderScrolled,
		}),
		newTool(s, tool.Spec[FormArgs, Filled]{
			Tool: tool.Tool{
				Name: "fill_form", Title: "Fill a form", Ephemeral: true, OpenWorld: true,
				Doc:    "Fill fields of any kind, read back.",
				Errors: elementErrors(tool.CodeElementUnfit),
			},
			Run: s.fillForm, Render: renderFilled,
		}),
		newTool(s, tool.Spec[WaitArgs, Waited]{
			Tool: tool.Tool{
				Name: "wait_for", Title: "Wait", Ephemeral: true, ReadOnly: true, OpenWorld: true,
				Doc:      "Wait for an element, an address, or (with neither) for quiet.",
				Deadline: 75 * time.Second,
				Errors:   elementErrors(),
			},
			Run: s.waitFor, Render: func(w Waited, t *tool.Text) {
				t.Line("after %d ms", w.MS)
				t.Quote(w.URL)
			},
		}),
	}
}

// named reads an element from one word: a ref, else a selector.
func named(s string) locate.Locator {
	if isRef(s) {
		return locate.Locator{Ref: s}
	}
	return locate.Locator{Selector: s}
}

func isRef(s string) bool {
	if len(s) < 2 || len(s) > 10 || s[0] != 'e' {
		return false
	}
	_, err := strconv.ParseUint(s[1:], 10, 32)
	return err == nil
}

// labelled reads a field of a form: a ref, a selector where it looks like one, else its label.
func labelled(s string) locate.Locator {
	switch {
	case isRef(s):
		return locate.Locator{Ref: s}
	case strings.HasPrefix(s, "#"), strings.HasPrefix(s, "["), strings.HasPrefix(s, "//"), strings.HasPrefix(s, "."), strings.Contains(s, "="), strings.Contains(s, ">>"):
		return locate.Locator{Selector: s}
	}
	return locate.Locator{Role: "field", Name: s}
}

// work is act for tools that work one element.
func (s *Service) work(ctx context.Context, c tool.Caller, on On, changes bool, did string, f func(ctx context.Context, p *browser.Page) (act.Done, error)) (Worked, error) {
	var d act.Done
	acted, err := s.act(ctx, c, on, browser.ActOptions{Changes: changes}, func(ctx context.Context, p *browser.Page) (string, error) {
		ctx = act.Within(ctx, tool.Within(ctx))
		if err := act.Here(ctx, p); err != nil {
			return "", elementFail(err)
		}
		done, err := f(ctx, p)
		if err != nil {
			return "", elementFail(err)
		}
		d = done
		if done.Uncertain != "" { // then nothing is said to be done
			return "", nil
		}
		if done.Note != "" {
			return did + " (" + done.Note + ")", nil
		}
		return did, nil
	})
	if err != nil {
		return Worked{Acted: acted}, err
	}
	return Worked{Acted: acted, Uncertain: d.Uncertain, Value: d.Value, Options: d.Options}, nil
}

// elementFail gives an error of the catalogue for one of finding and acting. Others pass.
func elementFail(err error) error {
	var (
		arg  *locate.Error
		what *act.Error
	)
	switch {
	case errors.As(err, &arg):
		return tool.Fail(tool.CodeBadArgument, "what", arg.Error()).Because(err)
	case errors.Is(err, act.ErrAway) && errors.As(err, &what):
		return tool.Fail(tool.CodeDenied, "reason", what.Text).Because(err)
	case errors.As(err, &what):
		code := tool.CodeElementNotReady
		for _, k := range []struct {
			is   error
			code tool.Code
		}{{act.ErrMissing, tool.CodeElementNotFound}, {act.ErrUnfit, tool.CodeElementUnfit}, {act.ErrNotTyped, tool.CodeNotTyped}, {act.ErrNoOption, tool.CodeNoOption}, {act.ErrElsewhere, tool.CodeSecretElsewhere}} {
			if errors.Is(err, k.is) {
				code = k.code
			}
		}
		e := tool.Fail(code, "what", what.Text).Because(err)
		if len(what.Shown) > 0 {
			e = e.Quoting(strings.Join(what.Shown, "\n"))
		}
		return e
	}
	return err
}

func (s *Service) scroll(ctx context.Context, c tool.Caller, a ScrollArgs) (Scrolled, error) {
	o := act.ScrollOptions{Down: a.Down, Right: a.Right, Pages: a.Pages, IntoView: a.To == "element"}
	if a.To != "element" {
		o.To = a.To
	}
	if o == (act.ScrollOptions{}) {
		o.Pages = 1
	}
	var d act.Scrolled
	w, err := s.work(ctx, c, a.On, a.Changes, "scrolled", func(ctx context.Context, p *browser.Page) (act.Done, error) {
		var err error
		d, err = act.Scroll(ctx, p, a.locator(), o)
		return d.Done, err
	})
	if err != nil {
		return Scrolled{Worked: w}, err
	}
	return Scrolled{Worked: w, What: d.What, Top: d.Top, View: d.View, All: d.Height, End: d.AtEnd, Grew: d.Grew, Rows: d.Rows, Total: d.Total}, err
}

func (s *Service) fillForm(ctx context.Context, c tool.Caller, a FormArgs) (Filled, error) {
	fields := make([]act.Field, len(a.Fields))
	for i, f := range a.Fields {
		value, err := tool.Release(ctx, "fields[].value", f.Value)
		if err != nil {
			return Filled{}, err
		}
		fields[i] = act.Field{Field: labelled(f.Field), Value: value.Text, Only: value.Fits}
	}
	var filled []FilledField
	acted, err := s.act(ctx, c, a.On, browser.ActOptions{Changes: a.Changes}, func(ctx context.Context, p *browser.Page) (string, error) {
		ctx = act.Within(ctx, tool.Within(ctx))
		if err := act.Here(ctx, p); err != nil {
			return "", elementFail(err)
		}
		list, err := act.Fill(ctx, p, fields, a.Submit, fieldWait(len(fields)))
		fine := 0
		for i, f := range list {
			r := FilledField{Field: a.Fields[i].Field, OK: f.Err == nil && f.Uncertain == "", Uncertain: f.Uncertain}
			if f.Value != "" {
				r.Value = []string{f.Value}
			}
			var what *act.Error
			if errors.As(f.Err, &what) {
				r.Why, r.Value = what.Text, what.Shown
			}
			if r.OK {
				fine++
			}
			filled = append(filled, r)
		}
		if err != nil {
			return "", elementFail(err)
		}
		did := fmt.Sprintf("%d of %d fields filled", fine, len(fields))
		if a.Submit && fine < len(fields) {
			did += "; not submitted"
		}
		return did, nil
	})
	if err != nil {
		return Filled{Acted: acted}, err
	}
	return Filled{Acted: acted, Fields: filled}, nil
}

// fieldWait shares the time of a call among the fields of a form.
func fieldWait(n int) time.Duration {
	return max(act.DefaultWait/time.Duration(max(n, 1)), 3*time.Second)
}

func (s *Service) waitFor(ctx context.Context, c tool.Caller, a WaitArgs) (Waited, error) {
	limit := time.Duration(a.Timeout) * time.Millisecond
	if limit <= 0 {
		limit = time.Millisecond
	}
	var url string
	began := time.Now()
	err := s.look(ctx, c, a.On, func(ctx context.Context, p *browser.Page) error {
		defer func() { url = p.URL() }()
		l := Element(a.ElementText).locator()
		switch {
		case l != (locate.Locator{}):
			want := act.Visible
			if a.Gone {
				want = act.Hidden
			}
			if _, err := act.Wait(ctx, p, l, want, limit); err != nil {
				return elementFail(err)
			}
		case a.URL != "":
			return elementFail(act.WaitURL(ctx, p, a.URL, a.Gone, limit))
		default:
			quiet, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			p.Quiet(quiet)
		}
		return nil
	})
	if err != nil {
		return Waited{}, err
	}
	return Waited{MS: time.Since(began).Milliseconds(), URL: url}, nil
}

func renderWorked(w Worked, t *tool.Text) {
	if w.Uncertain != "" {
		t.Line("uncertain: %s", w.Uncertain)
	}
	renderActed(w.Acted, t)
	var page strings.Builder
	if w.Value != "" {
		fmt.Fprintf(&page, "value: %s\n", w.Value)
	}
	if len(w.Options) > 0 {
		fmt.Fprintf(&page, "options: %s\n", strings.Join(w.Options, " | "))
	}
	if page.Len() > 0 {
		t.Quote(page.String())
	}
}

func renderScrolled(s Scrolled, t *tool.Text) {
	where := fmt.Sprintf("%s: %d to %d of %d pixels", s.What, s.Top, s.Top+s.View, s.All)
	if s.End {
		where += ", the end"
	}
	if s.Grew {
		where += "; more came, so scroll on"
	}
	if s.Rows > 0 {
		where += fmt.Sprintf("; %d rows", s.Rows)
		if s.Total > s.Rows {
			where += fmt.Sprintf(" of %d, the others come when they are scrolled to", s.Total)
		}
	}
	t.Line("%s", where)
	renderWorked(s.Worked, t)
}

func renderFilled(f Filled, t *tool.Text) {
	var page strings.Builder
	for _, r := range f.Fields {
		switch {
		case r.Why != "":
			t.Line("%s: %s", r.Field, r.Why)
		case r.Uncertain != "":
			t.Line("%s: uncertain: %s", r.Field, r.Uncertain)
		}
		if len(r.Value) > 0 {
			fmt.Fprintf(&page, "%s: %s\n", r.Field, strings.Join(r.Value, " | "))
		}
	}
	renderActed(f.Acted, t)
	if page.Len() > 0 {
		t.Quote(page.String())
	}
}
