package seal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// value is what stands behind a label.
type value struct {
	text       string
	start, end int
	quoted     bool
	last       bool   // nothing follows it on its line
	rest       string // of its line, itself included
}

const maxValue = 4096

// valueAt reads the value that begins behind a separator. A scheme's name (Bearer, Basic) is no part of it.
func valueAt(t string, from int, sep separator) (value, bool) {
	i := from
	for n := 0; i < len(t) && (t[i] == ' ' || t[i] == '\t' || t[i] == '>'); n++ {
		if i++; n == 8 {
			return value{}, false
		}
	}
	if strings.HasPrefix(t[i:], "\u00a0") {
		i += 2
	}
	for _, scheme := range [...]string{"Bearer ", "Basic ", "Token ", "bearer ", "basic "} {
		if strings.HasPrefix(t[i:], scheme) {
			i += len(scheme)
		}
	}
	v := value{}
	line := len(t)
	if n := strings.IndexAny(t[i:], "\r\n"); n >= 0 {
		line = i + n
	}
	v.rest = t[i:line]
	if i >= len(t) {
		return value{}, false
	}
	for _, q := range [...][2]string{{`"`, `"`}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"「", "」"}} {
		if !strings.HasPrefix(t[i:], q[0]) {
			continue
		}
		begin := i + len(q[0])
		n := strings.Index(t[begin:min(line, begin+maxValue)], q[1])
		if n < 0 {
			break
		}
		v.start, v.end, v.quoted = begin, begin+n, true
		v.text = t[v.start:v.end]
		v.last = strings.Trim(t[v.end+len(q[1]):line], " .,;") == ""
		return v, v.text != ""
	}
	j := i
	for j < line && j-i < maxValue {
		c := t[j]
		if c <= ' ' || c == '"' || c == '`' || ends(t[j:line]) {
			break
		}
		if c >= utf8.RuneSelf {
			if r, _ := utf8.DecodeRuneInString(t[j:]); r == '⟦' || r == '…' || unicode.IsSpace(r) || r == '。' || r == '、' || r == '，' {
				break
			}
		}
		j++
	}
	// A sentence's end is no part of it, nor is a bracket that opened before it.
	for j > i && strings.IndexByte(".!?)]}'", t[j-1]) >= 0 && (t[j-1] != '!' || j == line && sep == sepCopula) {
		if t[j-1] == ')' && strings.IndexByte(t[i:j], '(') >= 0 {
			break
		}
		j--
	}
	v.start, v.end, v.text = i, j, t[i:j]
	v.last = strings.Trim(t[j:line], " .,;)]}'\"") == ""
	return v, j > i
}

// ends tells whether a value ends before a character that values can also hold: a comma before a space, an
// ampersand before the next name, a bracket that begins a tag.
func ends(t string) bool {
	switch t[0] {
	case ',', ';', '|':
		if len(t) == 1 || t[1] == ' ' || t[1] == '\t' || t[1] == '"' || t[1] == '\'' {
			return true
		}
	case '&':
	case '<':
		return len(t) > 1 && (t[1] == '/' || t[1] >= 'a' && t[1] <= 'z') && strings.IndexByte(t, '>') > 0
	default:
		return false
	}
	n := 1
	for n < len(t) && wordByte[t[n]] {
		n++
	}
	return n > 1 && n < len(t) && (t[n] == '=' || t[0] == ',' && t[n] == ':')
}

// believable tells whether a value can be the secret that its label says it is.
func believable(kind Kind, v *value, sep separator) bool {
	t := v.text
	if strings.HasPrefix(t, open) || isMask(t) || template(t) {
		return false
	}
	bare := strings.ToLower(strings.Trim(t, ".,!?:;"))
	if notValues[bare] {
		return false
	}
	switch kind {
	case "phrase":
		return phrase(v, 12)
	case "cookie":
		if sep != sepMark || !strings.Contains(v.rest, "=") || len(v.rest) < 8 {
			return false
		}
		eq := strings.IndexByte(v.rest, '=')
		if strings.ContainsAny(v.rest[:eq], " \t") {
			return false // a sentence, no header
		}
		if !v.quoted {
			v.end = v.start + len(strings.TrimRight(v.rest, " "))
		}
		return true
	case "pin", "card-code":
		return digits(t) && len(t) >= 3 && len(t) <= 8
	case "code":
		n := strings.Trim(t, "-")
		return len(n) >= 4 && len(t) <= 64 && strings.ContainsAny(t, "0123456789") && !dateLike(t)
	}
	n := utf8.RuneCountInString(t)
	if n < 4 || n > maxValue {
		return false
	}
	c := classesOf(t)
	if kind == "password" {
		if strings.HasPrefix(strings.ToLower(v.rest), bare) && phrase(v, 4) && sep == sepMark {
			return true
		}
		if call(t) || strings.Contains(t, "://") {
			return false
		}
		switch {
		case c.strong() && n >= 4:
			return true
		case c.digitsOnly:
			return n >= 4 && sep == sepMark && n <= 32 || n >= 6
		case sep == sepMark && (v.quoted || v.last):
			return n >= 6 && !spaced(t) // a word alone behind "password:"
		}
		return false
	}
	// Keys, tokens and other secrets: never a word.
	if n < 8 || spaced(t) || call(t) || strings.Contains(t, "://") || dateLike(t) {
		return false
	}
	if sep == sepLine || sep == sepCopula {
		return c.digit && (c.lower || c.upper) && n >= 12 || c.mixed && n >= 16
	}
	if isHex(t) {
		return n >= 16
	}
	return c.digit && (c.lower || c.upper || c.symbol) || c.mixed && n >= 12 && !identifier(t)
}

// phrase tells whether a value's line is a run of at least n plain lower-case words; the value then is all of it.
func phrase(v *value, n int) bool {
	text := strings.TrimRight(v.rest, " .")
	if v.quoted {
		text = v.text
	}
	words := strings.Fields(text)
	if len(words) < n || len(words) > 33 {
		return false
	}
	known := 0
	for _, w := range words {
		if strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" || len(w) < 3 || len(w) > 10 {
			return false
		}
		if notValues[w] || small[w] {
			known++
		}
	}
	if known > 0 {
		return false // a sentence
	}
	v.end = v.start + len(text)
	return true
}

// small are words that sentences have and phrases drawn from a list have not.
var small = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("the and for with you your are was has have had not but can will may its our this that from when than then them they him her his who how why all any one two per via out off use used using been being does did into onto also only more most some such each other which what where there here must should would could case long least contain contains include letters words characters") {
		m[w] = true
	}
	return m
}()

type classes struct {
	lower, upper, digit, symbol, other bool
	mixed                              bool // upper case elsewhere than at the start
	digitsOnly                         bool
}

func classesOf(s string) classes {
	c := classes{digitsOnly: true}
	for i, r := range s {
		switch {
		case r >= '0' && r <= '9':
			c.digit = true
			continue
		case unicode.IsUpper(r):
			c.upper = true
			if i > 0 && c.lower {
				c.mixed = true
			}
		case unicode.IsLower(r):
			c.lower = true
		case strings.ContainsRune("-'._/", r):
			// words have these too
		case r < 0x80:
			c.symbol = true
		default:
			c.other = true
		}
		c.digitsOnly = false
	}
	return c
}

// strong tells a password from a word.
func (c classes) strong() bool {
	return c.digit && (c.lower || c.upper || c.symbol || c.other) || c.symbol && (c.lower || c.upper || c.other) || c.mixed
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
func spaced(s string) bool { return strings.ContainsAny(s, " \t") }

// isMask tells a value that says nothing, as pages write them.
func isMask(s string) bool {
	return strings.Trim(s, "*•●∙·․.xX_-#?…─–— ⁎＊▪■█") == ""
}

// template tells a placeholder for a value: <password>, {{password}}, ${PASSWORD}, $PASSWORD, %s, [hidden].
func template(s string) bool {
	if s == "" {
		return true
	}
	switch s[0] {
	case '<', '{', '[', '(':
		return true
	case '$':
		return len(s) > 1 && (s[1] == '{' || s[1] == '(' || s[1] >= 'A' && s[1] <= 'Z' && strings.Trim(s[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "")
	case '%':
		return len(s) <= 3 || s[len(s)-1] == '%'
	}
	return strings.Contains(s, "{{") || strings.HasPrefix(s, "your") || strings.HasPrefix(s, "YOUR") || strings.HasPrefix(strings.ToLower(s), "xxxx")
}

// call tells source text from a value: os.Getenv("X"), config.password, req.body.token.
func call(s string) bool {
	if strings.ContainsAny(s, "()[]{}") && strings.ContainsAny(s, ".([") && strings.IndexAny(s, "([{") > 0 && strings.ContainsAny(s[len(s)-1:], ")]};") {
		return true
	}
	dots := strings.Split(strings.TrimRight(s, "([{;"), ".")
	if len(dots) < 2 {
		return false
	}
	for _, d := range dots {
		if d == "" || strings.Trim(strings.ToLower(d), "abcdefghijklmnopqrstuvwxyz_") != "" {
			return false
		}
	}
	return true
}

// identifier tells camelCase and its like, made of words.
func identifier(s string) bool {
	if strings.ContainsAny(s, "0123456789+/=!@#$%^&*") {
		return false
	}
	return commonPairs(s) >= 0.5
}

// dateLike tells dates, times and versions.
func dateLike(s string) bool {
	sep := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == 'T' || c == 'Z':
		case c == '-' || c == ':' || c == '.' || c == '/':
			sep++
		default:
			return false
		}
	}
	return sep >= 2 && len(s) <= 32
}
