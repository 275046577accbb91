package act

import (
	"context"
	"errors"
	"strings"
	"time"

	"parley/browser"
	"parley/browser/keys"
	"parley/browser/locate"
)

// Field is one line of a form: which field, and what goes in. A checkbox or switch takes true or false; a choice (radio)
// takes true; lists take an option.
type Field struct {
	Field locate.Locator
	Value string
	// Only is that of TypeOptions.
	Only func(origin string) bool
}

// Filled is what became of a field.
type Filled struct {
	Done
	Err error
}

var truths = map[string]bool{"true": true, "on": true, "yes": true, "checked": true, "1": true, "false": false, "off": false, "no": false, "unchecked": false, "0": false}

// Fill fills a form's fields one after the other, goes on after one that fails, and reads everything once more at the end:
// a page may clear one field when another is filled. With submit it presses Enter in the last text field, but only when
// all of them hold what they should.
func Fill(ctx context.Context, p *browser.Page, fields []Field, submit bool, wait time.Duration) ([]Filled, error) {
	type kept struct {
		e    element
		want reading
	}
	list := make([]kept, len(fields))
	out := make([]Filled, len(fields))
	fine := true
	last := -1
	for i, f := range fields {
		s, err := seek(ctx, p, f.Field, wait)
		if err != nil {
			return nil, err
		}
		s.field, s.hidden, s.only = true, true, f.Only
		e, err := s.find(ctx)
		if err == nil {
			err = s.permitted(ctx, e)
		}
		if err == nil {
			err = e.run(ctx, "(id, k) => k.retarget(id)", e.id, &e.id)
		}
		var a about
		if err == nil {
			err = e.run(ctx, "(id, k) => k.describe(id)", e.id, &a)
		}
		if err == nil {
			s.at, s.q = &e, nil
			switch a.Kind {
			case "check":
				out[i].Done, err = s.check(ctx, e, a, f.Value)
			case "combobox":
				out[i].Done, err = s.choose(ctx, e, f.Value)
			default:
				out[i].Done, err = s.enter(ctx, strings.ReplaceAll(f.Value, "\r\n", "\n"), TypeOptions{})
				if a.Kind == "text" {
					last = i
				}
			}
		}
		if err != nil {
			var known *Error
			if !errors.As(err, &known) {
				return out[:i], err
			}
			out[i].Err, fine = err, false
			continue
		}
		list[i].e = e
		if err := e.run(ctx, "(id, k) => k.read(id)", e.id, &list[i].want); err != nil && !passing(err) {
			return out[:i], err
		}
	}
	for i, k := range list {
		if out[i].Err != nil || !k.want.OK {
			continue
		}
		var now reading
		if err := k.e.run(ctx, "(id, k) => k.read(id)", k.e.id, &now); err != nil {
			if passing(err) {
				return out, nil
			}
			return out, err
		}
		if now.OK && now.Value != k.want.Value {
			fine = false
			e := &Error{Err: ErrNotTyped, Done: true, Text: "the page changed this field when a later one was filled; what it holds follows"}
			if !now.Secret {
				e.Shown = []string{now.Value}
			}
			out[i].Err = e
		}
	}
	if !submit || !fine {
		return out, nil
	}
	if last < 0 {
		return out, unfit("the form has no text field to press Enter in: click its button")
	}
	if err := list[last].e.run(ctx, "(id, k) => k.focus(id)", list[last].e.id, nil); err != nil {
		return out, err
	}
	return out, press(ctx, p, 0, keys.Enter)
}

// check brings a checkbox, a switch or a choice into a state, by a click if it is not.
func (s *seeker) check(ctx context.Context, e element, a about, value string) (Done, error) {
	want, ok := truths[strings.ToLower(strings.TrimSpace(value))]
	if !ok {
		return Done{}, unfit("%s takes true or false, not %q", a.Brief, value)
	}
	state := func() (on bool, err error) {
		var v string
		err = e.run(ctx, "async (id, k) => { await k.frame(); return k.checked(id); }", e.id, &v)
		return v == "true", err
	}
	on, err := state()
	if err != nil || on == want {
		return Done{}, err
	}
	if !want && (a.Type == "radio" || a.Role == "radio") {
		return Done{}, unfit("%s is one of several choices: choose another instead", a.Brief)
	}
	aim, err := s.aimHeld(ctx, e, aimOptions{})
	if err != nil {
		return Done{}, err
	}
	r, err := strike(ctx, s.p, aim, ClickOptions{}, 0)
	if err != nil {
		return Done{}, err
	}
	if r.blocked() {
		return Done{}, problem{Problem: "covered", By: r.Other}.explain("clickable", s.limit())
	}
	for end := time.Now().Add(hearLimit); ; {
		on, err = state()
		if passing(err) {
			return Done{}, nil
		}
		if err != nil || on == want || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		return Done{}, err
	}
	if on != want {
		return Done{}, &Error{Err: ErrNotTyped, Done: true, Text: "the click did not change its state"}
	}
	return Done{}, nil
}
