package locate

import (
	"strconv"
	"strings"
)

// ours are the pseudo-classes that the browser does not know.
var ours = map[string]bool{"has-text": true, "contains": true, "text": true, "text-is": true, "text-matches": true, "visible": true, "nth-match": true}

// nesting are the pseudo-classes whose argument is a list of selectors.
var nesting = map[string]bool{"is": true, "where": true, "matches": true, "not": true, "has": true}

var byPlace = map[string]bool{"right-of": true, "left-of": true, "above": true, "below": true, "near": true}

// css reads selectors.
type css struct {
	s     string
	i     int
	depth int
}

// parseCSS reads a list of selectors. What it does not look into is left to the browser, which knows CSS better.
func parseCSS(s string, depth int) ([]Complex, error) {
	if depth > maxDepth {
		return nil, bad("selector", "is nested deeper than %d levels", maxDepth)
	}
	p := &css{s: s, depth: depth}
	list, _, err := p.list(false)
	return list, err
}

func (p *css) fail(format string, a ...any) error { return bad("selector", format, a...) }

func (p *css) space() (any bool) {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n\f", p.s[p.i]) >= 0 {
		p.i++
		any = true
	}
	return any
}

// list reads selectors with commas between. relative allows each to begin with a combinator, as in has().
func (p *css) list(relative bool) (list []Complex, lead []string, err error) {
	for {
		p.space()
		first := " "
		if p.i < len(p.s) && strings.IndexByte(">+~", p.s[p.i]) >= 0 {
			if !relative {
				return nil, nil, p.fail("begins with %q", p.s[p.i:p.i+1])
			}
			first = p.s[p.i : p.i+1]
			p.i++
			p.space()
		}
		c, err := p.complex()
		if err != nil {
			return nil, nil, err
		}
		list, lead = append(list, c), append(lead, first)
		if p.i >= len(p.s) {
			return list, lead, nil
		}
		p.i++ // the comma
	}
}

// complex reads up to a comma or the end.
func (p *css) complex() (Complex, error) {
	var c Complex
	for {
		compound, err := p.compound()
		if err != nil {
			return c, err
		}
		c.Compounds = append(c.Compounds, compound)
		spaced := p.space()
		if p.i >= len(p.s) || p.s[p.i] == ',' {
			return c, nil
		}
		switch {
		case strings.IndexByte(">+~", p.s[p.i]) >= 0:
			c.Combinators = append(c.Combinators, p.s[p.i:p.i+1])
			p.i++
			p.space()
		case spaced:
			c.Combinators = append(c.Combinators, " ")
		default:
			return c, p.fail("%q is not expected at character %d", p.s[p.i:p.i+1], p.i+1)
		}
	}
}

// compound reads what belongs to one element.
func (p *css) compound() (Compound, error) {
	var c Compound
	start := p.i
	for p.i < len(p.s) {
		from := p.i
		switch b := p.s[p.i]; {
		case b == '*' || b == '|':
			p.i++
		case b == '#' || b == '.':
			p.i++
			if p.ident() == "" {
				return c, p.fail("a name is missing after %q at character %d", string(b), from+1)
			}
		case b == '[':
			end := closing(p.s[p.i:], '[', ']')
			if end < 0 {
				return c, p.fail("[ at character %d is not closed", from+1)
			}
			p.i += end + 1
		case b == ':':
			f, err := p.pseudo()
			if err != nil {
				return c, err
			}
			if f != nil {
				c.Filters = append(c.Filters, *f)
				continue
			}
		case b == '&' || b == '%' || b == '=' || b == '/' || b == '{' || b == '}' || b == ';' || b == '@' || b == '$' || b == '!' || b == '^' || b == '?' || b == '<' || b == '"' || b == '\'' || b == '`' || b == ')' || b == ']' || b == '(':
			return c, p.fail("%q is not expected at character %d", string(b), p.i+1)
		default:
			if p.ident() == "" {
				if p.i == start {
					return c, p.fail("a selector is missing at character %d", p.i+1)
				}
				return finish(c), nil
			}
		}
		c.CSS += p.s[from:p.i]
	}
	if p.i == start {
		return c, p.fail("ends too early")
	}
	return finish(c), nil
}

func finish(c Compound) Compound {
	if c.CSS == "" || c.CSS[0] == ':' { // what only filters still asks every element
		c.CSS = "*" + c.CSS
	}
	return c
}

// ident passes over a name with its escapes.
func (p *css) ident() string {
	from := p.i
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == '\\' && p.i+1 < len(p.s):
			p.i += 2
			continue
		case isLetter(c) || c >= '0' && c <= '9' || c == '-' || c == '_':
			p.i++
			continue
		}
		break
	}
	if p.i > len(p.s) {
		p.i = len(p.s)
	}
	return p.s[from:p.i]
}

// pseudo reads a pseudo-class; nil leaves it to the browser.
func (p *css) pseudo() (*Filter, error) {
	at := p.i
	p.i++
	if p.i < len(p.s) && p.s[p.i] == ':' {
		return nil, p.fail(":: at character %d is a part of an element, which cannot be acted on", at+1)
	}
	name := strings.ToLower(p.ident())
	if name == "" {
		return nil, p.fail("a name is missing after : at character %d", at+1)
	}
	arg, has := "", false
	if p.i < len(p.s) && p.s[p.i] == '(' {
		end := closing(p.s[p.i:], '(', ')')
		if end < 0 {
			return nil, p.fail("( at character %d is not closed", p.i+1)
		}
		arg, has = strings.TrimSpace(p.s[p.i+1:p.i+end]), true
		p.i += end + 1
	}
	switch {
	case byPlace[name]:
		return nil, p.fail(":%s() is not known here; use after or before", name)
	case nesting[name] && has:
		inner := &css{s: arg, depth: p.depth + 1}
		if inner.depth > maxDepth {
			return nil, p.fail("is nested deeper than %d levels", maxDepth)
		}
		list, lead, err := inner.list(name == "has")
		if err != nil {
			return nil, err
		}
		if !needsUs(list) {
			return nil, nil
		}
		if name == "where" || name == "matches" {
			name = "is"
		}
		f := &Filter{Kind: name, List: list}
		if name == "has" {
			f.Lead = lead
		}
		return f, nil
	case !ours[name]:
		return nil, nil
	case name == "visible":
		if has {
			return nil, p.fail(":visible takes no argument")
		}
		return &Filter{Kind: "visible"}, nil
	case arg == "":
		return nil, p.fail(":%s needs an argument", name)
	case name == "nth-match":
		comma := strings.LastIndexByte(arg, ',')
		if comma < 0 {
			return nil, p.fail(":nth-match needs a selector and a number")
		}
		n, err := strconv.Atoi(strings.TrimSpace(arg[comma+1:]))
		if err != nil || n < 1 || n > maxNth {
			return nil, p.fail(":nth-match counts from 1")
		}
		list, err := parseCSS(strings.TrimSpace(arg[:comma]), p.depth+1)
		if err != nil {
			return nil, err
		}
		return &Filter{Kind: "nth-match", List: list, Nth: n}, nil
	case name == "text-matches":
		pattern, flags := arg, ""
		if arg[0] == '"' || arg[0] == '\'' {
			if end := quoteEnd(arg); end > 0 {
				pattern, flags = arg[1:end], strings.Trim(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(arg[end+1:]), ",")), `"'`)
			}
		}
		if strings.Trim(flags, "imsu") != "" {
			return nil, p.fail(":text-matches: %q are not flags", flags)
		}
		// A string's doubled backslashes, as people write them for other tools, are single ones.
		return &Filter{Kind: "text", Text: &Text{Match: strings.ReplaceAll(pattern, `\\`, `\`), Flags: flags}}, nil
	}
	t := unquote(arg)
	if strings.TrimSpace(t) == "" {
		return nil, p.fail(":%s needs a text", name)
	}
	switch name {
	case "text-is":
		return &Filter{Kind: "text", Text: &Text{Is: t}}, nil
	case "text":
		return &Filter{Kind: "text", Text: &Text{Has: t}}, nil
	}
	return &Filter{Kind: "has-text", Text: &Text{Has: t}}, nil
}

// quoteEnd is where the quote that begins s ends; -1 when it does not.
func quoteEnd(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		} else if s[i] == s[0] {
			return i
		}
	}
	return -1
}

func needsUs(list []Complex) bool {
	for _, c := range list {
		for _, k := range c.Compounds {
			if len(k.Filters) > 0 {
				return true
			}
		}
	}
	return false
}
