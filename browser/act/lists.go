package act

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"parley/browser"
	"parley/browser/locate"
)

// SelectOptions say what to choose from a list.
type SelectOptions struct {
	// Options are labels or values; several only in lists that take several.
	Options []string
	// Index is the option's place instead, 0 is the first, -1 the last; nil chooses by Options.
	Index *int
	// Wait is how long to find the list and for it to be fit; zero means DefaultWait.
	Wait time.Duration
}

// openLimit is how long a custom list may take to open and fill.
const openLimit = 3 * time.Second

// Select chooses from a list: a native one, also a hidden one, or one of the page's own making, which it opens, scrolls
// and, where it takes text, filters. It confirms that the choice shows.
func Select(ctx context.Context, p *browser.Page, l locate.Locator, o SelectOptions) (Done, error) {
	if len(o.Options) == 0 && o.Index == nil {
		return Done{}, &locate.Error{Argument: "option", Why: "say which one: its label or value, or index"}
	}
	s, err := seek(ctx, p, l, o.Wait)
	if err != nil {
		return Done{}, err
	}
	s.hidden, s.options, s.field = true, true, true
	e, err := s.find(ctx)
	if err != nil {
		return Done{}, err
	}
	if err := e.run(ctx, "(id, k) => k.retarget(id)", e.id, &e.id); err != nil {
		return Done{}, err
	}
	var a about
	if err := e.run(ctx, "(id, k) => k.describe(id)", e.id, &a); err != nil {
		return Done{}, err
	}
	if a.Kind == "select" {
		return s.setOptions(ctx, e, o.Options, o.Index)
	}
	if o.Index != nil || len(o.Options) != 1 {
		return Done{}, unfit("%s is not a native list: choose one option at a time by its label", a.Brief)
	}
	return s.choose(ctx, e, o.Options[0])
}

type setAnswer struct {
	problem
	Options []string `json:"options"`
	Count   int      `json:"count"`
	Changed bool     `json:"changed"`
	Labels  []string `json:"labels"`
}

// setOptions selects in a native list; it waits for options that the page has yet to fill in.
func (s *seeker) setOptions(ctx context.Context, e element, wishes []string, index *int) (Done, error) {
	var got setAnswer
	for {
		s.p.Sent()
		got = setAnswer{}
		err := e.run(ctx, "([id, o], k) => k.setOptions(id, o)", []any{e.id, map[string]any{"wishes": wishes, "index": index}}, &got)
		if err != nil {
			if passing(err) {
				return Done{}, nil // choosing took the page elsewhere
			}
			return Done{}, err
		}
		if got.Problem == "" {
			break
		}
		wish := strings.Join(wishes, ", ")
		if index != nil {
			wish = "number " + strconv.Itoa(*index)
		}
		// Lists that depend on others are filled a little later; one that has plenty and not this one is as it is.
		patience := min(s.left(), openLimit-time.Since(s.began))
		switch {
		case (got.Problem == "nooption" || got.Problem == "disabled") && patience > 0:
			if err := pause(ctx, min(100*time.Millisecond, patience)); err != nil {
				return Done{}, err
			}
			continue
		case got.Problem == "nooption":
			return Done{}, noOption(wish, got.Options, got.Count)
		case got.Problem == "optiondisabled":
			return Done{}, &Error{Err: ErrNotReady, Text: "the option " + strconv.Quote(wish) + " is disabled"}
		case got.Problem == "notmultiple":
			return Done{}, unfit("the list takes one option only")
		}
		return Done{}, got.problem.explain("fit for a choice", s.limit())
	}
	var now struct {
		Known bool     `json:"known"`
		Same  bool     `json:"same"`
		Now   []string `json:"now"`
	}
	if err := e.run(ctx, "([id, labels], k) => k.selectedIs(id, labels)", []any{e.id, got.Labels}, &now); err != nil && !passing(err) {
		return Done{}, err
	}
	d := Done{Value: strings.Join(got.Labels, ", ")}
	if now.Known && !now.Same {
		d.Value = strings.Join(now.Now, ", ")
		d.Uncertain = "the page took the choice back; value is what the list shows now"
	}
	return d, nil
}

// choose picks from a list of the page's own making.
func (s *seeker) choose(ctx context.Context, e element, wish string) (Done, error) {
	var open bool
	if err := e.run(ctx, "async ([id, wish], k) => { k.mark(); const c = await k.choice(id, wish, 0); return c.id !== 0; }", []any{e.id, wish}, &open); err != nil {
		return Done{}, err
	}
	var a aimed
	if !open {
		var err error
		if a, err = s.aimHeld(ctx, e, aimOptions{}); err != nil {
			return Done{}, err
		}
		r, err := strike(ctx, s.p, a, ClickOptions{}, 0)
		if err != nil {
			return Done{}, err
		}
		if r.blocked() {
			return Done{}, problem{Problem: "covered", By: r.Other}.explain("clickable", s.limit())
		}
	}
	c, err := s.choice(ctx, e, wish)
	if err != nil {
		return Done{}, err
	}
	if c.ID == 0 {
		// A field that narrows the list as one types.
		if typed, err := s.filter(ctx, e, wish); err != nil {
			return Done{}, err
		} else if typed {
			if c2, err := s.choice(ctx, e, wish); err != nil {
				return Done{}, err
			} else if c2.ID != 0 || c2.Count > 0 {
				c2.Options = append(c.Options, c2.Options...)
				c = c2
			}
		}
	}
	if c.ID == 0 {
		e := noOption(wish, c.Options, c.Count)
		e.Done = true
		return Done{}, e
	}
	picked, err := s.aimHeld(ctx, element{e.frame, c.ID}, aimOptions{})
	for try := 0; errors.Is(err, ErrGone) && try < 3; try++ { // a list that draws its rows anew while it is scrolled
		if c, err = s.choice(ctx, e, wish); err == nil && c.ID != 0 {
			picked, err = s.aimHeld(ctx, element{e.frame, c.ID}, aimOptions{})
		}
	}
	if err == nil && c.ID == 0 {
		err = &Error{Err: ErrGone, Done: true, Text: "the option is gone from the list"}
	}
	if err != nil {
		return Done{}, err
	}
	r, err := strike(ctx, s.p, picked, ClickOptions{}, 0)
	if err != nil {
		return Done{}, err
	}
	if r.blocked() {
		return Done{}, problem{Problem: "covered", By: r.Other}.explain("clickable", s.limit())
	}
	var now struct {
		Known bool `json:"known"`
		Same  bool `json:"same"`
	}
	err = e.run(ctx, "([id, option, label], k) => k.chosen(id, option, label)", []any{e.id, c.ID, c.Label}, &now)
	if err != nil && !passing(err) {
		return Done{}, err
	}
	d := Done{Value: c.Label, Uncertain: r.doubt()}
	switch {
	case err == nil && now.Known && now.Same: // a list that takes the press alone closes under it
		d.Uncertain = ""
	case err == nil && now.Known && d.Uncertain == "":
		d.Uncertain = "the option received the click, but the list does not show it as chosen"
	}
	return d, nil
}

type choiceAnswer struct {
	ID      int      `json:"id"`
	Label   string   `json:"label"`
	Options []string `json:"options"`
	Count   int      `json:"count"`
}

func (s *seeker) choice(ctx context.Context, e element, wish string) (c choiceAnswer, err error) {
	limit := min(openLimit, s.left())
	err = e.run(ctx, "([id, wish, ms], k) => k.choice(id, wish, ms)", []any{e.id, wish, limit.Milliseconds()}, &c)
	return c, err
}

// filter types into the field that has the focus while the list is open, if there is one.
func (s *seeker) filter(ctx context.Context, e element, wish string) (bool, error) {
	var field struct {
		ID   int    `json:"id"`
		Kind string `json:"kind"`
	}
	if err := e.run(ctx, "(_, k) => k.active()", nil, &field); err != nil {
		return false, err
	}
	if field.ID == 0 || field.Kind != "text" {
		return false, nil
	}
	if err := e.run(ctx, "(id, k) => k.selectAll(id)", field.ID, nil); err != nil {
		return false, err
	}
	if err := write(ctx, s.p, wish, false); err != nil {
		return false, err
	}
	s.p.Quiet(ctx)
	return true, nil
}
