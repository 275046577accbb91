package locate

import (
	"strconv"
	"strings"
)

// parseSelector reads "css=… >> text=…".
func parseSelector(s string) ([]Part, error) {
	steps, err := splitSteps(s)
	if err != nil {
		return nil, err
	}
	if len(steps) > maxParts {
		return nil, bad("selector", "has more than %d steps", maxParts)
	}
	var parts []Part
	for _, step := range steps {
		p, err := parseStep(step)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p...)
	}
	switch parts[0].Engine {
	case "nth", "visible", "has-text", "up":
		return nil, bad("selector", "begins with a step that only narrows; say first what to look for")
	}
	return parts, nil
}

// splitSteps cuts at >>, but not inside quotes, brackets or regular expressions that follow an engine's name.
func splitSteps(s string) ([]string, error) {
	var steps []string
	depth, start := 0, 0
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			// An apostrophe in the middle of a word is one: text=Don't
			if c == '\'' && i > 0 && isLetter(s[i-1]) && i+1 < len(s) && isLetter(s[i+1]) {
				continue
			}
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == '>' && depth <= 0 && i+1 < len(s) && s[i+1] == '>':
			steps = append(steps, s[start:i])
			i++
			start = i + 1
			depth = 0
		}
	}
	steps = append(steps, s[start:])
	for i, step := range steps {
		if steps[i] = strings.TrimSpace(step); steps[i] == "" {
			return nil, bad("selector", "has an empty step between >>")
		}
	}
	return steps, nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 }

func parseStep(s string) ([]Part, error) {
	name, rest, named := cutEngine(s)
	if !named {
		switch {
		case strings.HasPrefix(s, "//"), strings.HasPrefix(s, "(//"), strings.HasPrefix(s, ".//"):
			name, rest = "xpath", s
		case s == "..":
			return []Part{{Engine: "up"}}, nil
		case len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0]:
			name, rest = "text", s
		default:
			name, rest = "css", s
		}
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		return nil, bad("selector", "%s= says nothing", name)
	}
	switch name {
	case "css":
		list, err := parseCSS(rest, 0)
		if err != nil {
			return nil, err
		}
		return []Part{{Engine: "css", CSS: list}}, nil
	case "xpath":
		return []Part{{Engine: "xpath", XPath: rest}}, nil
	case "text":
		t, err := parseText(rest)
		if err != nil {
			return nil, err
		}
		return []Part{{Engine: "text", Text: t}}, nil
	case "role":
		r, err := parseRole(rest)
		if err != nil {
			return nil, err
		}
		return []Part{{Engine: "role", Role: r}}, nil
	case "id", "data-testid", "data-test-id", "data-test":
		return []Part{{Engine: "attr", Attr: name, Value: unquote(rest)}}, nil
	case "nth":
		n, err := strconv.Atoi(rest)
		if err != nil || n > maxNth || n < -maxNth {
			return nil, bad("selector", "nth= needs a number: 0 is the first, -1 the last")
		}
		return []Part{{Engine: "nth", Nth: n}}, nil
	case "visible":
		if rest != "true" && rest != "false" {
			return nil, bad("selector", "visible= is true or false")
		}
		return []Part{{Engine: "visible", Hidden: rest == "false"}}, nil
	case "has-text":
		t, err := parseText(rest)
		if err != nil {
			return nil, err
		}
		return []Part{{Engine: "has-text", Text: t}}, nil
	}
	return nil, bad("selector", "%s= is not known here; there are css, xpath, text, role, id, data-testid, has-text, nth and visible", name)
}

// cutEngine reads "name=": letters, digits and dashes before the first equals sign.
func cutEngine(s string) (name, rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '=' && i > 0:
			return s[:i], s[i+1:], true
		case c >= 'a' && c <= 'z' || c == '-' || c == ':' || c == '_':
		default:
			return "", "", false
		}
	}
	return "", "", false
}

// parseText reads what follows text=: a quoted text is the whole of it, with case; /…/ is a regular expression;
// anything else is a part of it.
func parseText(s string) (*Text, error) {
	if len(s) > 1 && s[0] == '/' {
		if end := strings.LastIndexByte(s, '/'); end > 0 {
			flags := s[end+1:]
			if strings.Trim(flags, "imsu") == "" {
				if end == 1 {
					return nil, bad("selector", "the regular expression is empty")
				}
				return &Text{Match: s[1:end], Flags: flags}, nil
			}
		}
	}
	if len(s) > 2 && strings.HasSuffix(s, `"i`) && s[0] == '"' {
		return &Text{Is: unquote(s[:len(s)-1]), Fold: true}, nil
	}
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		if u := unquote(s); strings.TrimSpace(u) != "" {
			return &Text{Is: u}, nil
		}
		return nil, bad("selector", "the text is empty")
	}
	return &Text{Has: s}, nil
}

// unquote takes quotes and their backslashes away, where there are quotes.
func unquote(s string) string {
	if len(s) < 2 || (s[0] != '"' && s[0] != '\'') || s[len(s)-1] != s[0] {
		return s
	}
	var b strings.Builder
	for i := 1; i < len(s)-1; i++ {
		if s[i] == '\\' && i+1 < len(s)-1 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

var roleStates = map[string]bool{"checked": true, "disabled": true, "expanded": true, "level": true, "pressed": true, "selected": true}

// parseRole reads button[name="Save"][pressed=true].
func parseRole(s string) (*Role, error) {
	open := strings.IndexByte(s, '[')
	role := s
	if open >= 0 {
		role = s[:open]
	}
	if role = strings.ToLower(strings.TrimSpace(role)); !isWord(role) {
		return nil, bad("selector", "role= needs a role such as button")
	}
	r := &Role{Role: role}
	if open < 0 {
		return r, nil
	}
	for rest := s[open:]; rest != ""; {
		end := closing(rest, '[', ']')
		if rest[0] != '[' || end < 0 {
			return nil, bad("selector", "role=%s: expected [attribute=value]", role)
		}
		key, value, has := strings.Cut(rest[1:end], "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		rest = strings.TrimSpace(rest[end+1:])
		switch {
		case key == "name" && has && value != "":
			insensitive := false
			if v, ok := strings.CutSuffix(value, " i"); ok && strings.HasSuffix(strings.TrimSpace(v), `"`) {
				value, insensitive = strings.TrimSpace(v), true
			}
			t, err := parseText(value)
			if err != nil {
				return nil, err
			}
			if insensitive && t.Is != "" {
				t = &Text{Has: t.Is}
			}
			r.Name = t
		case key == "include-hidden":
			r.Hidden = !has || value == "true"
		case roleStates[key]:
			if !has {
				value = "true"
			}
			if r.States == nil {
				r.States = map[string]string{}
			}
			r.States[key] = unquote(value)
		default:
			return nil, bad("selector", "role=%s: %q is not known; there are name, checked, disabled, expanded, level, pressed, selected and include-hidden", role, key)
		}
	}
	return r, nil
}

// closing finds the bracket that closes the one at the beginning of s, past quotes; -1 when there is none.
func closing(s string, open, shut byte) int {
	depth := 0
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == open:
			depth++
		case c == shut:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
