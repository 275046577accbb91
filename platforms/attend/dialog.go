package attend

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/sign"
)

// Dialog is one that stands on the page.
type Dialog struct {
	ID      string   `json:"id"`
	Head    string   `json:"head"` // its first line
	Text    string   `json:"text"`
	Choices []string `json:"choices"`
	Made    []string `json:"made"` // rules whose selector it fits
}

// standing is a dialog that was seen, and what was ruled.
type standing struct {
	Dialog
	ruling  sign.Ruling
	told    bool
	came    time.Time
	pressed time.Time
}

// ruled counts how often a dialog was answered by a rule.
type ruled struct {
	text  string
	rule  string
	times int
}

// ruledKept bounds what is remembered of them.
const ruledKept = 64

// pressAgain is how long a dialog may stand after its button was pressed.
const pressAgain = 4 * time.Second

// oursTime is how long a dialog may stand in a call that the module works itself.
const oursTime = 25 * time.Second

// alone says that we are in a call whose sound we hear: nothing of ours needs a dialog.
func (r *reader) alone() bool {
	ok := false
	r.call.Look(func(s *State) { ok = s.Decision.Place == meeting.PlaceIn && !s.deaf && !s.leaving })
	return ok && r.engine.Decided().HeldBy == ""
}

// press is a button of a dialog that a rule allows.
type press struct {
	text, choice string
}

// dialog looks at those that come, stay and go. A rule may press a button; whatever else comes is told.
func (r *reader) dialog(now time.Time, dialogs []Dialog) {
	seen := map[string]bool{}
	for _, d := range dialogs {
		seen[d.ID] = true
		st := r.dialogs[d.ID]
		switch {
		case st == nil:
			st = &standing{Dialog: d, came: now}
			r.dialogs[d.ID] = st
			r.rule(now, st)
		case st.Text != d.Text && !st.told: // it was still being drawn, or shows something else now
			st.Dialog = d
			r.rule(now, st)
		case st.ruling.Press != "" && !st.told && now.Sub(st.pressed) > pressAgain:
			r.rule(now, st) // the press changed nothing
		case st.ruling.Kind == sign.DialogOurs && !st.told && now.Sub(st.came) > oursTime && r.alone():
			st.ruling.Kind = sign.DialogUnknown // what we work ourselves is gone soon: this is something else
			r.tell(st)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.dialogs)) {
		if seen[id] {
			continue
		}
		st := r.dialogs[id]
		delete(r.dialogs, id)
		if st.ruling.Kind == sign.DialogUnmute {
			r.call.update(func(s *State) { s.unmute = "" })
		}
		if st.told {
			r.call.events.Put(meeting.SeenDialog{ID: id, Kind: st.ruling.Kind, Text: st.Text, Choices: st.Choices})
		}
	}
	pending := false
	for _, st := range r.dialogs {
		pending = pending || st.told && st.ruling.Kind != sign.DialogUnmute
	}
	r.call.update(func(s *State) { s.pending = pending })
}

func (r *reader) rule(now time.Time, st *standing) {
	t := r.call.m.Table
	d := sign.Dialog{Text: st.Text, Choices: st.Choices, Made: st.Made}
	first := t.Rule(d, 0)
	n := r.times(st.Text, first.Rule)
	st.ruling = t.Rule(d, *n)
	if st.ruling.Press != "" {
		st.pressed = now
		r.call.update(func(s *State) { s.answered[st.ruling.Rule]++ })
		*n++
		select {
		case r.call.pressing <- press{text: st.Head, choice: st.ruling.Press}:
		default: // it is looked at again after pressAgain
		}
		return
	}
	if st.ruling.Kind == sign.DialogOurs {
		return
	}
	if len(st.Choices) == 0 && st.ruling.Kind == sign.DialogUnknown {
		return // nothing to choose: it tells something, and says it in its signs
	}
	r.tell(st)
}

func (r *reader) tell(st *standing) {
	if st.ruling.Kind == sign.DialogUnmute {
		r.call.update(func(s *State) { s.unmute = st.ID })
	}
	st.told = true
	r.call.events.Put(meeting.SeenDialog{ID: st.ID, Kind: st.ruling.Kind, Text: st.Text, Choices: st.ruling.Choices, Open: true, Unsure: st.ruling.Unsure})
}

// times is the counter of a dialog: of its rule and words, since a page makes a new element each time.
func (r *reader) times(text, rule string) *int {
	for i := range r.ruled {
		if r.ruled[i].text == text && r.ruled[i].rule == rule {
			return &r.ruled[i].times
		}
	}
	if len(r.ruled) >= ruledKept {
		r.ruled = r.ruled[1:]
	}
	r.ruled = append(r.ruled, ruled{text: text, rule: rule})
	return &r.ruled[len(r.ruled)-1].times
}

// choices are what can be pressed in a dialog.
const choices = "button, [role=button], a[href], input[type=button], input[type=submit]"

// press clicks a button of a dialog that shows a text.
func (c *Call) press(ctx context.Context, p press) error {
	t := platforms.Target{Selector: choices, Names: []string{p.choice}, Exact: true, Within: c.m.Table.Targets["dialog"].Selector, Wait: 3 * time.Second}
	if t.WithinTexts = []string{p.text}; p.text == "" {
		t.WithinTexts = []string{p.choice}
	}
	if err := c.Page.Click(ctx, t); err != nil {
		return fmt.Errorf("dialog: %w", err)
	}
	return nil
}

// AnswerDialog clicks a choice of a dialog that stands.
func (c *Call) AnswerDialog(ctx context.Context, id, choice string) error {
	text := ""
	c.Look(func(s *State) {
		for _, d := range s.Shown.Dialogs {
			if d.ID == id || id == noSound && slices.Contains(d.Choices, choice) {
				text = d.Head
			}
		}
	})
	return c.press(ctx, press{text: text, choice: choice})
}
