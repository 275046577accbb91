// Package seal takes secrets out of texts that leave, and keeps their values where only one place can give them back.
package seal

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind says what a secret is.
type Kind string

// Pass names the part of the detector that found a secret.
type Pass string

// The passes.
const (
	Shape   Pass = "shape"   // a form that a vendor or a standard gives it
	Label   Pass = "label"   // a name beside it says so
	Entropy Pass = "entropy" // it looks drawn at random
)

// Finding is a secret in a text.
type Finding struct {
	Start, End int // bytes
	Kind       Kind
	Pass       Pass
	// Head and Tail are how many bytes of it may stay readable: the mark a vendor puts before its keys, which
	// everybody knows, or the last four digits of a card. Nothing else ever.
	Head, Tail int
}

// Open and Close are the brackets of a handle.
const (
	open  = "⟦"
	close = "⟧"
)

// Find gives every secret of a text, in order, none inside another. It is a function of the text alone: no model,
// no score, no memory. Handles, masks, and what is inside an address or a data: URL are left alone, but for what a
// label or a shape gives away there.
func Find(text string) []Finding {
	s := scanner{text: text}
	s.run()
	return again(text, s.found)
}

// Values that are looked for a second time: how long they have to be, and how many of them a text may have.
const (
	minAgain = 8
	maxAgain = 64
)

// again adds the places where a secret stands once more with nothing beside it that says so.
func again(text string, found []Finding) []Finding {
	if len(found) == 0 {
		return nil
	}
	var more []Finding
	seen := map[string]bool{}
	for _, f := range found {
		value := text[f.Start:f.End]
		if len(value) < minAgain || len(seen) == maxAgain || seen[value] || f.Kind == "cookie" || f.Kind == "phrase" {
			continue
		}
		seen[value] = true
		for at := 0; ; {
			i := strings.Index(text[at:], value)
			if i < 0 {
				break
			}
			i += at
			at = i + len(value)
			if h := strings.LastIndex(text[:i], open); h >= 0 && h+handleLen(text[h:]) > i {
				continue // a part of a handle that is equal by chance
			}
			if taken(found, i, at) || taken(more, i, at) {
				continue
			}
			more = append(more, Finding{Start: i, End: at, Kind: f.Kind, Pass: f.Pass, Head: f.Head, Tail: f.Tail})
		}
	}
	if more == nil {
		return found
	}
	found = append(found, more...)
	slices.SortFunc(found, func(a, b Finding) int { return a.Start - b.Start })
	return found
}

func taken(list []Finding, start, end int) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Start < end && start < f.End })
}

type scanner struct {
	text  string
	found []Finding
	url   int // end of the address that is being read
	skip  int // nothing before it is looked at
}

func (s *scanner) add(f Finding) {
	if f.Start >= f.End {
		return
	}
	if holdsHandle(s.text[f.Start:f.End]) {
		return // what it was is sealed already
	}
	if n := len(s.found); n > 0 && f.Start < s.found[n-1].End {
		return // the first pass to claim a span has it
	}
	s.found = append(s.found, f)
	s.skip = max(s.skip, f.End)
}

func (s *scanner) run() {
	t := s.text
	for i := 0; i < len(t); {
		if i < s.skip {
			i = s.skip
			continue
		}
		c := t[i]
		switch {
		case wordByte[c]:
			// The start of a word: everything with a shape begins at one.
			end := i + 1
			for end < len(t) && wordByte[t[end]] {
				end++
			}
			if s.word(i, end) {
				continue
			}
			i = end
			continue
		case c == ':' || c == '=':
			if c == ':' && strings.HasPrefix(t[i:], "://") {
				s.address(i)
				if s.skip > i {
					continue
				}
				i += 3
				continue
			}
			s.labelled(i, i+1, sepMark)
		case c == '\n' || c == '\t':
			s.labelled(i, i+1, sepLine)
		case c == ' ':
			s.copula(i)
		case c >= utf8.RuneSelf:
			if strings.HasPrefix(t[i:], open) {
				if n := handleLen(t[i:]); n > 0 {
					i += n
					continue
				}
			}
			for _, sep := range wideSeparators {
				if strings.HasPrefix(t[i:], sep) {
					s.labelled(i, i+len(sep), sepMark)
					break
				}
			}
		}
		if s.skip > i {
			continue
		}
		i++
	}
}

// wordByte are what words are made of; other scripts' letters are words of their own kind and hold no shapes.
var wordByte = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	return t
}()

// word looks at a word for shapes and randomness. It tells whether it moved on.
func (s *scanner) word(i, end int) bool {
	t := s.text
	if (t[i] == 'd' || t[i] == 'D') && end < len(t) && t[end] == ':' && strings.EqualFold(t[i:end], "data") {
		if n := dataURL(t[i:]); n > 0 {
			s.skip = i + n
			return true
		}
	}
	if t[i] == '-' && strings.HasPrefix(t[i:], "-----BEGIN ") {
		if f, ok := pem(t, i); ok {
			s.add(f)
			return true
		}
	}
	if f, ok := shapeAt(t, i, end); ok {
		s.add(f)
		return true
	}
	if t[i] >= '0' && t[i] <= '9' {
		if f, ok := cardAt(t, i); ok && i >= s.url {
			s.add(f)
			return true
		}
	}
	if i < s.url {
		return false
	}
	if end-i >= 12 || end < len(t) && (t[end] == '+' || t[end] == '/') {
		return s.random(i)
	}
	return false
}

// address notes where the address at "://" ends, and takes the password out of its authority.
func (s *scanner) address(colon int) {
	t := s.text
	end := colon + 3
	at, slash := -1, -1
	for end < len(t) && t[end] > ' ' && t[end] != '"' && t[end] != '<' && t[end] != '>' && t[end] != '`' {
		if t[end] == open[0] && handleLen(t[end:]) > 0 {
			break
		}
		switch t[end] {
		case '@':
			if slash < 0 {
				at = end
			}
		case '/', '?', '#':
			if slash < 0 {
				slash = end
			}
		}
		end++
	}
	s.url = max(s.url, end)
	if at < 0 {
		return
	}
	sep := strings.IndexByte(t[colon+3:at], ':')
	if sep < 0 {
		return
	}
	from := colon + 3 + sep + 1
	if value := t[from:at]; len(value) >= 3 && !isMask(value) && !template(value) {
		s.add(Finding{Start: from, End: at, Kind: "password", Pass: Shape})
	}
}

func dataURL(t string) int {
	n := 5
	for n < len(t) && t[n] > ' ' && !strings.ContainsRune(`"'()<>`, rune(t[n])) {
		n++
	}
	if !strings.ContainsRune(t[:n], ',') {
		return 0
	}
	return n
}

func holdsHandle(t string) bool {
	for {
		i := strings.Index(t, open)
		if i < 0 {
			return false
		}
		if t = t[i:]; handleLen(t) > 0 {
			return true
		}
		t = t[len(open):]
	}
}

// handleLen tells how long a well-formed handle at the start of a text is; 0: there is none.
func handleLen(t string) int {
	n := strings.Index(t, close)
	if n < 0 || n > 400 {
		return 0
	}
	n += len(close)
	if _, ok := ParseHandle(t[:n]); !ok {
		return 0
	}
	return n
}

//go:embed labels.json
var labelsJSON []byte

//go:embed stopwords.json
var stopJSON []byte

type label struct {
	kind Kind
	bare string // lower case, parts joined
	// ends with a letter of another script than Latin: it needs no border before it
	wide bool
}

var (
	labels         []label // longest first
	byLast         = map[rune][]label{}
	copulas        []string
	copulaFirst    [256]bool
	wideSeparators []string
	notValues      = map[string]bool{}
)

func init() {
	var raw map[Kind][]string
	if err := json.Unmarshal(labelsJSON, &raw); err != nil {
		panic("seal: labels.json: " + err.Error()) // part of the binary, and a test reads it
	}
	for kind, words := range raw {
		for _, w := range words {
			bare := bareOf(w)
			first, _ := utf8.DecodeRuneInString(bare)
			labels = append(labels, label{kind, bare, !unicode.In(first, unicode.Latin, unicode.Nd)})
		}
	}
	slices.SortFunc(labels, func(a, b label) int {
		if len(a.bare) != len(b.bare) {
			return len(b.bare) - len(a.bare)
		}
		return strings.Compare(a.bare, b.bare)
	})
	for _, l := range labels {
		last, _ := utf8.DecodeLastRuneInString(l.bare)
		byLast[last] = append(byLast[last], l)
	}
	var stop struct{ Copulas, Separators, NotValues []string }
	if err := json.Unmarshal(stopJSON, &stop); err != nil {
		panic("seal: stopwords.json: " + err.Error())
	}
	copulas = stop.Copulas
	for _, w := range copulas {
		copulaFirst[w[0]] = true
	}
	for _, sep := range stop.Separators {
		if sep[0] >= utf8.RuneSelf {
			wideSeparators = append(wideSeparators, sep)
		}
	}
	for _, w := range stop.NotValues {
		notValues[w] = true
	}
}

// joint tells what may stand between the parts of a label.
func joint(r rune) bool {
	return r == ' ' || r == '_' || r == '-' || r == '.' || r == '\'' || r == '\u2019' || r == '\u00a0'
}

// bareOf joins the parts of a label.
func bareOf(s string) string {
	return strings.Map(func(r rune) rune {
		if joint(r) {
			return -1
		}
		return fold(r)
	}, s)
}

// fold makes letters equal that differ in case alone; one letter of Greek has two small forms.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			r |= 0x20
		}
		return r
	}
	if r = unicode.ToLower(r); r == 'ς' {
		return 'σ'
	}
	return r
}

// labelBefore finds the label that a text ends in, and where it begins.
func labelBefore(t string) (label, int, bool) {
	// What may stand between the label and its separator: a quote, a bracket, a space.
	end := len(t)
	for end > 0 && (t[end-1] == ' ' || t[end-1] == '"' || t[end-1] == '\'' || t[end-1] == '`' || t[end-1] == ']' || t[end-1] == ')' || t[end-1] == '*') {
		end--
		if len(t)-end > 4 {
			return label{}, 0, false
		}
	}
	if end == 0 {
		return label{}, 0, false
	}
	last, _ := utf8.DecodeLastRuneInString(t[:end])
	for _, l := range byLast[fold(last)] {
		if at, ok := endsIn(t[:end], l); ok {
			return l, at, true
		}
	}
	return label{}, 0, false
}

// endsIn tells whether a text ends in a label, its parts joined by one joint at most, with a border before it.
func endsIn(t string, l label) (at int, ok bool) {
	want, i := l.bare, len(t)
	for want != "" {
		w, n := utf8.DecodeLastRuneInString(want)
		r, m := utf8.DecodeLastRuneInString(t[:i])
		if m == 0 {
			return 0, false
		}
		if joint(r) && len(want) < len(l.bare) {
			i -= m
			r, m = utf8.DecodeLastRuneInString(t[:i])
		}
		if fold(r) != w {
			return 0, false
		}
		want, i = want[:len(want)-n], i-m
	}
	if i == 0 || l.wide {
		return i, true
	}
	before, _ := utf8.DecodeLastRuneInString(t[:i])
	if !unicode.IsLetter(before) {
		return i, true
	}
	// dbPassword, but not bypass or compass.
	first, _ := utf8.DecodeRuneInString(t[i:])
	return i, unicode.IsUpper(first) && unicode.IsLower(before)
}

type separator int

const (
	sepMark   separator = iota // ":" or "="
	sepCopula                  // "is"
	sepLine                    // a line end or tab: the label stands alone
)

const window = 64 // bytes before a separator in which a label is looked for

func (s *scanner) copula(i int) {
	t := s.text
	rest := t[i+1:]
	if rest == "" || !copulaFirst[rest[0]] {
		return
	}
	for _, w := range copulas {
		if len(rest) > len(w) && rest[:len(w)] == w {
			end := len(w)
			if rest[end] == ':' {
				end++
			}
			if end < len(rest) && rest[end] == ' ' {
				s.labelled(i, i+1+end, sepCopula)
				return
			}
		}
	}
}

// labelled looks for a label that ends at i and a value that begins at from.
func (s *scanner) labelled(i, from int, sep separator) {
	t := s.text
	lo := max(s.skipFloor(), i-window)
	before := t[lo:i]
	if n := strings.LastIndexByte(before, '\n'); n >= 0 {
		lo += n + 1
		before = t[lo:i]
	}
	l, at, ok := labelBefore(before)
	if !ok {
		return
	}
	if sep == sepLine && (strings.TrimSpace(before[:at]) != "" || lo > 0 && lo == i-window) {
		return
	}
	if v, ok := valueAt(t, from, sep); ok && believable(l.kind, &v, sep) {
		kind := l.kind
		s.add(Finding{Start: v.start, End: v.end, Kind: kind, Pass: Label})
	}
}

// skipFloor is the end of the last finding: its bytes are no label.
func (s *scanner) skipFloor() int {
	if n := len(s.found); n > 0 {
		return s.found[n-1].End
	}
	return 0
}

// FindKeyed looks at a value of structured data by the name of its key.
func FindKeyed(key, value string) []Finding {
	bare := bareOf(key)
	last, _ := utf8.DecodeLastRuneInString(bare)
	for _, l := range byLast[last] {
		if _, ok := endsIn(key, l); !ok && bare != l.bare {
			continue
		}
		if v, ok := valueAt("\""+value+"\"", 0, sepMark); ok {
			v.start, v.end = v.start-1, v.end-1
			if believable(l.kind, &v, sepMark) {
				return []Finding{{Start: v.start, End: v.end, Kind: l.kind, Pass: Label}}
			}
		}
		break
	}
	return Find(value)
}
