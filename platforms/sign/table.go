// Package sign decides from what a page shows where we are: before the door, waiting, in the meeting, or out and why.
// It is pure: looks and time go in, decisions come out.
package sign

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/meeting"
)

// Kind says what a sign speaks for.
type Kind string

// The kinds, in the order in which they are heard.
const (
	Out       Kind = "out"       // denied, removed, ended, left: explicit text only
	Waiting   Kind = "waiting"   // asked, not in
	Wall      Kind = "wall"      // the platform itself turns us away: sign-in, wrong link, bot wall
	Challenge Kind = "challenge" // a visible task for a person
	Gate      Kind = "gate"      // a dialog that holds back the meeting until it is answered
	Lobby     Kind = "lobby"     // before asking
	In        Kind = "in"        // only seen in the call, or seen there too
	Moving    Kind = "moving"    // on the way from one room of the meeting to another: the controls go for a while
	Breakout  Kind = "breakout"  // in a room beside the main one
)

// kinds are all of them.
var kinds = []Kind{Out, Waiting, Wall, Challenge, Gate, Lobby, In, Moving, Breakout}

// Sign is one thing that a page can show. How it is looked for is the selector, the role with its names, the texts, or
// several of these at once. Words are alternatives, by language; all languages are tried, since some pages follow the
// account and not the browser.
type Sign struct {
	Name     string              `json:"name"`
	Kind     Kind                `json:"kind"`
	Selector string              `json:"selector,omitempty"`
	Role     string              `json:"role,omitempty"`
	Names    map[string][]string `json:"names,omitempty"`
	Texts    map[string][]string `json:"texts,omitempty"`
	// Icons are names of icons drawn by a font: what stands in the page is the icon's name, the same in all languages.
	Icons []string `json:"icons,omitempty"`
	// Address are parts of the page's host and path ("accounts.google.com/", "/signin").
	Address []string `json:"address,omitempty"`
	// Title looks for the texts in the document's title.
	Title bool `json:"title,omitempty"`
	// Sounding asks for something on the page that plays sound of others.
	Sounding bool `json:"sounding,omitempty"`
	// Outside leaves out elements within this selector: a dialog may have a button of the same name.
	Outside string `json:"outside,omitempty"`
	// Exact asks for the whole of a name or text.
	Exact bool `json:"exact,omitempty"`
	// MinWidth and MinHeight in pixels keep invisible badges from counting.
	MinWidth  int `json:"min_width,omitempty"`
	MinHeight int `json:"min_height,omitempty"`
	// Weight is what an in-call sign counts; zero means 1.
	Weight int `json:"weight,omitempty"`
	// Reason is why we are out (kinds out and wall), or why we were never let in when nobody comes (kind waiting): a code
	// of the table of ends.
	Reason meeting.Reason `json:"reason,omitempty"`
	// From replaces Reason by where we were: "You left" means something else at the door than inside.
	From map[meeting.Place]meeting.Reason `json:"from,omitempty"`
	// Unverified lists the languages whose words were never seen in a public source. They never decide alone.
	Unverified []string `json:"unverified,omitempty"`
	// Note says where it was seen, and when.
	Note string `json:"note,omitempty"`
}

// explicit says whether the sign is words that say where we are, rather than something that stands there.
func (s Sign) explicit() bool { return len(s.Texts) > 0 }

// Table is everything that a platform's pages can show. It is data: a file beside the module.
type Table struct {
	Platform string `json:"platform"`
	Signs    []Sign `json:"signs"`
	// Exclude are the parts of the page where people write (chat, captions, names): no text is looked for there.
	Exclude []string `json:"exclude,omitempty"`
	// Form are the signs of the form before asking, none of which stands in a waiting room: a page that shows one again after
	// it took our request has put us out. Empty means "name-field".
	Form []string `json:"form,omitempty"`
	// Need is the weight of in-call signs that makes a call; zero means 2. At least two signs are needed in any case.
	Need int `json:"need,omitempty"`
	// HoldMS is how long being admitted must stand. Zero means 2000.
	HoldMS int `json:"hold_ms,omitempty"`
	// OutHoldMS is how long an end must stand. Zero means 1000.
	OutHoldMS int `json:"out_hold_ms,omitempty"`
	// LostMS is how long the signs of a call may be missing before we no longer know where we are: toolbars hide
	// themselves. Zero means 6000.
	LostMS int `json:"lost_ms,omitempty"`
	// Devices say how microphone and camera are read.
	Devices map[string]DeviceRule `json:"devices,omitempty"`
	// Dialogs are those that the platform is known to show. What none of them knows is asked about.
	Dialogs []DialogRule `json:"dialogs,omitempty"`
	// Targets are the elements that the module works, by its own names.
	Targets map[string]Words `json:"targets,omitempty"`
}

// Words is an element in all languages. The module turns it into a target of the page port.
type Words struct {
	Role     string              `json:"role,omitempty"`
	Selector string              `json:"selector,omitempty"`
	Within   string              `json:"within,omitempty"`
	Names    map[string][]string `json:"names,omitempty"`
	Texts    map[string][]string `json:"texts,omitempty"`
	Icons    []string            `json:"icons,omitempty"`
	Exact    bool                `json:"exact,omitempty"`
	// Or are other ways to find it, asked in their order when the ones before find nothing.
	Or []Words `json:"or,omitempty"`
	// Unverified lists the languages whose words were never seen in a public source.
	Unverified []string `json:"unverified,omitempty"`
	Note       string   `json:"note,omitempty"`
}

// Ways are all ways to find the element, the best first.
func (w Words) Ways() []Words {
	ways := []Words{w}
	for _, o := range w.Or {
		ways = append(ways, o.Ways()...)
	}
	ways[0].Or = nil
	return ways
}

// All are the alternatives of all languages, in a fixed order.
func All(words map[string][]string) (all []string) {
	langs := make([]string, 0, len(words))
	for l := range words {
		langs = append(langs, l)
	}
	slices.Sort(langs)
	for _, l := range langs {
		all = append(all, words[l]...)
	}
	return all
}

// ParseTable reads a table and checks it: it is embedded, so an error is found by the module's test.
func ParseTable(raw []byte) (*Table, error) {
	var t Table
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, fmt.Errorf("sign table: %w", err)
	}
	if t.Need == 0 {
		t.Need = 2
	}
	if len(t.Form) == 0 {
		t.Form = []string{"name-field"}
	}
	if t.HoldMS == 0 {
		t.HoldMS = 2000
	}
	if t.OutHoldMS == 0 {
		t.OutHoldMS = 1000
	}
	if t.LostMS == 0 {
		t.LostMS = 6000
	}
	var errs []error
	seen := map[string]bool{}
	weight, ins := 0, 0
	for i := range t.Signs {
		s := &t.Signs[i]
		if s.Weight == 0 {
			s.Weight = 1
		}
		if err := s.check(); err != nil {
			errs = append(errs, fmt.Errorf("sign %q: %w", s.Name, err))
		}
		if seen[s.Name] {
			errs = append(errs, fmt.Errorf("sign %q stands twice", s.Name))
		}
		seen[s.Name] = true
		if s.Kind == In {
			weight, ins = weight+s.Weight, ins+1
		}
	}
	for _, d := range t.Dialogs {
		if err := d.check(); err != nil {
			errs = append(errs, fmt.Errorf("dialog %q: %w", d.Name, err))
		}
	}
	if weight < t.Need || ins < 2 {
		errs = append(errs, errors.New("the in-call signs together do not reach what is needed"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("sign table of %s: %w", t.Platform, err)
	}
	return &t, nil
}

func (s Sign) check() error {
	switch {
	case s.Name == "":
		return errors.New("no name")
	case !slices.Contains(kinds, s.Kind):
		return fmt.Errorf("unknown kind %q", s.Kind)
	case s.Selector == "" && s.Role == "" && len(s.Texts) == 0 && len(s.Address) == 0 && !s.Sounding:
		return errors.New("nothing to look for")
	case len(s.Icons) > 0 && s.Role == "" && s.Selector == "":
		return errors.New("icons without a role or selector")
	case s.Title && len(s.Texts) == 0:
		return errors.New("a title without words")
	case len(s.Names) > 0 && s.Role == "" && s.Selector == "":
		return errors.New("names without a role or selector")
	case s.Kind == Out && !s.explicit() && (s.Reason != "" || len(s.From) > 0):
		return errors.New("an end needs explicit text; structure may only confirm one")
	case s.Kind == Out && s.explicit() && s.Reason == "", s.Kind == Wall && s.Reason == "":
		return errors.New("no reason")
	case s.Reason != "" && !s.Reason.Known():
		return fmt.Errorf("reason %q is not in the table of ends", s.Reason)
	case s.Kind == Challenge && (s.MinWidth < 60 || s.MinHeight < 60):
		return errors.New("a challenge must be at least 60x60 pixels: invisible ones are on every page")
	}
	for _, r := range s.From {
		if !r.Known() {
			return fmt.Errorf("reason %q is not in the table of ends", r)
		}
	}
	for _, words := range []map[string][]string{s.Names, s.Texts} {
		for lang, all := range words {
			for _, w := range all {
				if lang == "" || len([]rune(w)) < 2 {
					return fmt.Errorf("word %q of language %q", w, lang)
				}
			}
		}
	}
	for _, lang := range s.Unverified {
		if s.Texts[lang] == nil && s.Names[lang] == nil {
			return fmt.Errorf("language %q is unverified and absent", lang)
		}
	}
	return nil
}

// Hold is how long being admitted must stand.
func (t *Table) Hold() time.Duration { return time.Duration(t.HoldMS) * time.Millisecond }

func (t *Table) sign(name string) *Sign {
	for i := range t.Signs {
		if t.Signs[i].Name == name {
			return &t.Signs[i]
		}
	}
	return nil
}
