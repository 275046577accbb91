// Package locate says which element of a page is meant: the grammar in which callers name it, and the helpers that
// find it from inside our isolated world.
package locate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Locator names an element the way a caller does: by exactly one of Ref, Role (with or without Name), Selector and
// Text. Nth, After and Before narrow all but Ref.
type Locator struct {
	// Ref is the element that a read showed under this name ("e12").
	Ref string
	// Role is an ARIA role; Name is a part of the accessible name, compared without case and white space.
	Role, Name string
	// Selector is CSS, "xpath=…", "text=…", "role=…", "id=…" or several of them joined by ">>".
	Selector string
	// Text is a part of the visible text, compared without case and white space.
	Text string
	// Nth counts visible matches: 0 is the first, -1 the last; nil means the first.
	Nth *int
	// After and Before keep only matches behind, or ahead of, the first visible element that shows this text; the
	// nearest comes first.
	After, Before string
}

// Limits on what a caller may give, so that a locator is never work in itself.
const (
	maxText     = 2000
	maxSelector = 4000
	maxNth      = 100_000
	maxDepth    = 8  // selectors inside selectors
	maxParts    = 20 // joined by >>
)

// Error says what is wrong with a locator. Nothing was looked for.
type Error struct {
	// Argument is the one to correct: "selector", "role", "nth" …
	Argument string
	Why      string
}

func (e *Error) Error() string { return e.Argument + ": " + e.Why }

func bad(argument, format string, a ...any) error {
	return &Error{Argument: argument, Why: fmt.Sprintf(format, a...)}
}

// Compile checks a locator and turns it into what the helpers in the page run. A locator that is a ref has no Query:
// the page's frames know it.
func (l Locator) Compile() (*Query, error) {
	given := 0
	for _, s := range []string{l.Ref, l.Role, l.Selector, l.Text} {
		if s != "" {
			given++
		}
	}
	switch {
	case given == 0 && l.Name != "":
		return nil, bad("name", "goes with a role, such as button, link or textbox")
	case given == 0:
		return nil, bad("element", "say which one is meant: a ref from read, role and name, selector, or text")
	case given > 1:
		return nil, bad("element", "name it in one way: ref, role with name, selector, or text")
	case l.Name != "" && l.Role == "":
		return nil, bad("name", "goes with a role, such as button, link or textbox")
	}
	for _, a := range []struct {
		name, value string
		max         int
	}{{"ref", l.Ref, 64}, {"role", l.Role, 64}, {"name", l.Name, maxText}, {"selector", l.Selector, maxSelector}, {"text", l.Text, maxText}, {"after", l.After, maxText}, {"before", l.Before, maxText}} {
		switch {
		case !utf8.ValidString(a.value):
			return nil, bad(a.name, "is not UTF-8")
		case strings.ContainsRune(a.value, 0):
			return nil, bad(a.name, "has a NUL character")
		case utf8.RuneCountInString(a.value) > a.max:
			return nil, bad(a.name, "is longer than %d characters", a.max)
		case a.value != "" && strings.TrimSpace(a.value) == "":
			return nil, bad(a.name, "is blank")
		}
	}
	if l.Nth != nil && (*l.Nth > maxNth || *l.Nth < -maxNth) {
		return nil, bad("nth", "is out of range")
	}
	if l.After != "" && l.Before != "" {
		return nil, bad("before", "cannot go together with after")
	}
	if l.Ref != "" {
		if l.Nth != nil || l.After != "" || l.Before != "" {
			return nil, bad("ref", "is one element already: nth, after and before do not go with it")
		}
		return nil, nil
	}
	q := &Query{Nth: l.Nth, After: l.After, Before: l.Before, says: l.String()}
	switch {
	case l.Role != "":
		role := strings.ToLower(strings.TrimSpace(l.Role))
		if !isWord(role) {
			return nil, bad("role", "%q is not a role; give one word such as button, and what it says as name", l.Role)
		}
		q.Parts = []Part{{Engine: "role", Role: &Role{Role: role, Name: textMatch(l.Name)}}}
	case l.Text != "":
		q.Parts = []Part{{Engine: "text", Text: textMatch(l.Text)}}
	default:
		parts, err := parseSelector(l.Selector)
		if err != nil {
			return nil, err
		}
		q.Parts = parts
	}
	return q, nil
}

// textMatch is a part of a text, whatever its case; nil matches everything.
func textMatch(s string) *Text {
	if s == "" {
		return nil
	}
	return &Text{Has: s}
}

func isWord(s string) bool {
	for _, r := range s {
		if r < 'a' || r > 'z' {
			return false
		}
	}
	return s != ""
}

// String names the element in an error, in the caller's own words.
func (l Locator) String() string {
	switch {
	case l.Ref != "":
		return "ref " + l.Ref
	case l.Role != "" && l.Name != "":
		return "role " + l.Role + " " + strconv.Quote(l.Name)
	case l.Role != "":
		return "role " + l.Role
	case l.Selector != "":
		return "selector " + l.Selector
	case l.Text != "":
		return "text " + strconv.Quote(l.Text)
	}
	return "no element"
}

// Query is a locator ready for the page: Parts narrow from left to right, then After, Before and Nth choose.
type Query struct {
	Parts  []Part `json:"parts"`
	Nth    *int   `json:"nth,omitempty"`
	After  string `json:"after,omitempty"`
	Before string `json:"before,omitempty"`

	says string
}

// String is how the caller named the element.
func (q *Query) String() string { return q.says }

// Counted tells that the caller counted: then the very element that was counted is acted on, whatever the page adds
// meanwhile.
func (q *Query) Counted() bool { return q.Nth != nil || q.After != "" || q.Before != "" }

// Part is one step of a selector: elements inside those that the step before it gave.
type Part struct {
	// Engine is "css", "xpath", "text", "role", "attr", "nth", "visible", "has-text" or "up".
	Engine string `json:"engine"`

	CSS   []Complex `json:"css,omitempty"`
	XPath string    `json:"xpath,omitempty"`
	Text  *Text     `json:"text,omitempty"`
	Role  *Role     `json:"role,omitempty"`
	Attr  string    `json:"attr,omitempty"` // with Value: an attribute that must be exactly this
	Value string    `json:"value,omitempty"`
	Nth   int       `json:"nth,omitempty"`
	// Hidden asks for what is not visible (engine visible).
	Hidden bool `json:"hidden,omitempty"`
}

// Text says what a text must be like.
type Text struct {
	// Has is a part of it, without case; Is is the whole of it, with case; Match is a regular expression with Flags.
	Has   string `json:"has,omitempty"`
	Is    string `json:"is,omitempty"`
	Match string `json:"match,omitempty"`
	Flags string `json:"flags,omitempty"`
	// Fold makes Is forgive case.
	Fold bool `json:"fold,omitempty"`
}

// Role asks for a role, a name and states.
type Role struct {
	Role   string            `json:"role"`
	Name   *Text             `json:"name,omitempty"`
	States map[string]string `json:"states,omitempty"` // "checked": "true"
	// Hidden counts elements that assistive technology does not see.
	Hidden bool `json:"hidden,omitempty"`
}

// Complex is a CSS selector without commas: compounds and what stands between them (" ", ">", "+", "~").
type Complex struct {
	Compounds   []Compound `json:"compounds"`
	Combinators []string   `json:"combinators,omitempty"`
}

// Compound is what one element must be: plain CSS for the browser's own engine, and what only we know.
type Compound struct {
	CSS     string   `json:"css"`
	Filters []Filter `json:"filters,omitempty"`
}

// Filter is a pseudo-class that the browser does not know, or one whose argument has such.
type Filter struct {
	// Kind is "has-text", "text", "visible", "not", "is", "has" or "nth-match".
	Kind string    `json:"kind"`
	Text *Text     `json:"text,omitempty"`
	List []Complex `json:"list,omitempty"`
	// Lead holds for each selector in a has() list the combinator that it begins with (" " when none).
	Lead []string `json:"lead,omitempty"`
	Nth  int      `json:"nth,omitempty"`
}
