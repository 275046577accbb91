package consent

import (
	"fmt"
	"slices"
	"strings"
)

// pattern is a run of words.
//
//	stop recording        these words
//	stop|end recording    alternatives
//	record*               words that begin so
//	the?                  a word that may be missing
//	<thing>               a class of the language: one of its words
//	^do you               only at the beginning
type pattern struct {
	start bool
	slots []slot
}

type slot struct {
	words    map[string]bool
	stems    []string // words that begin so
	optional bool
}

// matches gives the numbers of words, from the first on, that the pattern can be.
func (p pattern) matches(words []string) []int {
	if first := p.slots[0]; !first.optional && (len(words) == 0 || !first.is(words[0])) {
		return nil // most patterns, most of the time
	}
	ends := []int{0}
	for _, s := range p.slots {
		var next []int
		for _, e := range ends {
			if s.optional {
				next = append(next, e)
			}
			if e < len(words) && s.is(words[e]) {
				next = append(next, e+1)
			}
		}
		ends = next
		if len(ends) == 0 {
			return nil
		}
	}
	return ends
}

// match gives the longest of matches; 0 is none.
func (p pattern) match(words []string) int {
	n := 0
	for _, m := range p.matches(words) {
		n = max(n, m)
	}
	return n
}

func (s slot) is(word string) bool {
	return s.words[word] || slices.ContainsFunc(s.stems, func(stem string) bool { return strings.HasPrefix(word, stem) })
}

func (s *slot) add(word string) {
	if stem, ok := strings.CutSuffix(word, "*"); ok {
		s.stems = append(s.stems, stem)
		return
	}
	s.words[word] = true
}

// parse reads a table: sections in brackets, a pattern a line; # begins a comment. Words of section class are
// "name = word word …". In the other sections, commas separate patterns on a line.
func parse(name, text string) (*language, error) {
	l := &language{name: name, classes: map[string][]string{}}
	sections := map[string]*[]pattern{"polite": &l.polite, "core": &l.core, "around": &l.around, "tail": &l.tail, "veto": &l.veto, "address": &l.address}
	section := ""
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
			if _, ok := sections[section]; !ok && section != "class" {
				return nil, fmt.Errorf("line %d: no section %q", i+1, section)
			}
		case section == "class":
			key, words, ok := strings.Cut(line, "=")
			if !ok {
				return nil, fmt.Errorf("line %d: want name = words", i+1)
			}
			key = strings.TrimSpace(key)
			for _, w := range strings.Fields(words) {
				l.classes[key] = append(l.classes[key], plain(w))
			}
		default:
			list, ok := sections[section]
			if !ok {
				return nil, fmt.Errorf("line %d: outside of any section", i+1)
			}
			for _, one := range strings.Split(line, ",") {
				p, err := l.pattern(strings.TrimSpace(one))
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", i+1, err)
				}
				*list = append(*list, p)
			}
		}
	}
	return l, nil
}

func (l *language) pattern(text string) (pattern, error) {
	var p pattern
	text, p.start = strings.TrimPrefix(text, "^"), strings.HasPrefix(text, "^")
	needed := 0
	for _, f := range strings.Fields(text) {
		s := slot{words: map[string]bool{}}
		f, s.optional = strings.TrimSuffix(f, "?"), strings.HasSuffix(f, "?")
		for _, alt := range strings.Split(f, "|") {
			if class, ok := strings.CutPrefix(alt, "<"); ok {
				words := l.classes[strings.TrimSuffix(class, ">")]
				if words == nil {
					return p, fmt.Errorf("no class %s", alt)
				}
				for _, w := range words {
					s.add(w)
				}
				continue
			}
			s.add(plain(alt))
		}
		if !s.optional {
			needed++
		}
		p.slots = append(p.slots, s)
	}
	if needed == 0 {
		return p, fmt.Errorf("pattern %q matches nothing", text)
	}
	return p, nil
}
