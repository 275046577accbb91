// Package grant says who may do what on the control endpoint: the closed table of actions, and individual grants that expire, rotate and are revoked.
package grant

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"unicode/utf8"
)

//go:embed actions.json
var actionsJSON []byte

// Scope names an action in a policy or a grant. It is the action's own name.
type Scope string

// Internal names the right an action needs inside; several actions may need the same.
type Internal string

// ArgType says what an argument may be.
type ArgType string

// The types of arguments.
const (
	Session    ArgType = "session"    // a session's UUID, lower case
	Sessions   ArgType = "sessions"   // 1 to 128 of them, distinct
	Text       ArgType = "text"       // 1 to 1024 bytes of UTF-8
	AnyText    ArgType = "anytext"    // UTF-8, also empty, as long as the message permits
	Integer    ArgType = "integer"    // whole, within ±2^53
	Boolean    ArgType = "boolean"    // true or false
	URL        ArgType = "url"        // absolute http or https, without credentials
	Object     ArgType = "object"     // an object the action itself judges
	Appearance ArgType = "appearance" // mode, accent, tabMode out of their lists
)

// Arg is one argument of an action.
type Arg struct {
	Name     string  `json:"name"`
	Type     ArgType `json:"type"`
	Optional bool    `json:"optional"`
}

// Action is a row of the table.
type Action struct {
	Name       string   `json:"name"`
	Scope      Scope    `json:"scope"`
	Internal   Internal `json:"internal"`
	Args       []Arg    `json:"args"`
	ExactlyOne []string `json:"exactlyOne"` // of these optional arguments one, and not the others
	OptIn      bool     `json:"optIn"`      // not even offered: an administrator must publish the scope by name
	Result     string   `json:"result"`
}

var (
	actions = mustTable(actionsJSON)
	byName  = func() map[string]Action {
		m := map[string]Action{}
		for _, a := range actions {
			m[a.Name] = a
		}
		return m
	}()
)

// The table is part of the program: one that cannot be read is a broken build, and every test fails on it.
func mustTable(raw []byte) []Action {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var t []Action
	if err := d.Decode(&t); err != nil {
		panic("control/grant: actions.json: " + err.Error())
	}
	return t
}

// Actions is the table in its order. Callers must not change it.
func Actions() []Action { return slices.Clone(actions) }

// Lookup finds an action by its exact name.
func Lookup(name string) (Action, bool) {
	a, ok := byName[name]
	return a, ok
}

// DefaultScopes are the scopes a new policy is offered with. They grant nothing by themselves: what is not published is
// denied, and the others have to be published one by one.
func DefaultScopes() []Scope {
	var out []Scope
	for _, a := range actions {
		if !a.OptIn {
			out = append(out, a.Scope)
		}
	}
	return out
}

// ErrArguments says that an action's arguments are not what the table says.
var ErrArguments = errors.New("the arguments are not those of the action")

// Check judges the arguments: none unknown, none missing, each of its type. args is an object without doubled names,
// as wire.ParseRequest leaves it.
func (a Action) Check(args json.RawMessage) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(args, &m); err != nil || m == nil {
		return ErrArguments
	}
	known := 0
	for _, arg := range a.Args {
		v, ok := m[arg.Name]
		if !ok {
			if !arg.Optional {
				return fmt.Errorf("%w: %s is missing", ErrArguments, arg.Name)
			}
			continue
		}
		known++
		if !arg.Type.fits(v) {
			return fmt.Errorf("%w: %s is no %s", ErrArguments, arg.Name, arg.Type)
		}
	}
	if known != len(m) {
		return fmt.Errorf("%w: %s takes no others", ErrArguments, a.Name)
	}
	if len(a.ExactlyOne) > 0 {
		n := 0
		for _, name := range a.ExactlyOne {
			if _, ok := m[name]; ok {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("%w: exactly one of %v", ErrArguments, a.ExactlyOne)
		}
	}
	return nil
}

func (t ArgType) fits(v json.RawMessage) bool {
	switch t {
	case Session:
		s, ok := text(v)
		return ok && isUUID(s)
	case Sessions:
		var list []json.RawMessage
		if json.Unmarshal(v, &list) != nil || len(list) == 0 || len(list) > 128 {
			return false
		}
		seen := map[string]bool{}
		for _, e := range list {
			s, ok := text(e)
			if !ok || !isUUID(s) || seen[s] {
				return false
			}
			seen[s] = true
		}
		return true
	case Text:
		s, ok := text(v)
		return ok && s != "" && len(s) <= 1024
	case AnyText:
		_, ok := text(v)
		return ok
	case Integer:
		var n json.Number
		if len(v) == 0 || v[0] == '"' || json.Unmarshal(v, &n) != nil {
			return false
		}
		i, err := n.Int64()
		return err == nil && i >= -(1<<53) && i <= 1<<53
	case Boolean:
		return string(v) == "true" || string(v) == "false"
	case URL:
		s, ok := text(v)
		return ok && isURL(s)
	case Object:
		return len(v) > 0 && v[0] == '{'
	case Appearance:
		return isAppearance(v)
	}
	return false
}

func text(v json.RawMessage) (string, bool) {
	if len(v) == 0 || v[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(v, &s)
	return s, err == nil && utf8.ValidString(s)
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f'):
			return false
		}
	}
	return true
}

func isURL(s string) bool {
	if len(s) > 8192 {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Hostname() != "" && u.User == nil && u.Opaque == ""
}

var appearance = map[string][]string{
	"mode":    {"system", "light", "dark"},
	"accent":  {"blue", "teal", "violet"},
	"tabMode": {"separate", "compact"},
}

func isAppearance(v json.RawMessage) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(v, &m) != nil || len(m) == 0 {
		return false
	}
	for key, value := range m {
		s, ok := text(value)
		if !ok || !slices.Contains(appearance[key], s) {
			return false
		}
	}
	return true
}
