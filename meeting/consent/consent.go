// Package consent tells from words whether somebody does not want to be recorded.
//
// It is conservative: a clause counts only when it is an objection from its first word to its last, with nothing but
// politeness, names and what is recorded around it. "Please don't record this" counts; "don't stop recording", "to opt
// out, write 'stop recording'" and "he said we don't record on Fridays" do not. What is missed is still seen by the
// agent, which can stop the recording itself; a recording that was deleted by mistake is gone.
//
// The words are in data/<language>.txt. Adding a language adds a file and lines of testdata.
package consent

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed data/*.txt
var dataFiles embed.FS

// languages are the tables, in the order in which they are asked. They are made for the first who asks: they are the
// largest thing that a process without meetings would hold for nothing.
var languages = sync.OnceValue(func() []*language {
	entries, err := dataFiles.ReadDir("data")
	if err != nil {
		panic(err) // embedded
	}
	var ls []*language
	for _, e := range entries {
		raw, err := dataFiles.ReadFile("data/" + e.Name())
		if err != nil {
			panic(err)
		}
		l, err := parse(strings.TrimSuffix(path.Base(e.Name()), ".txt"), string(raw))
		if err != nil {
			panic(fmt.Sprintf("meeting/consent/data/%s: %v", e.Name(), err)) // a test reads them first
		}
		ls = append(ls, l)
	}
	return ls
})

// Languages lists the languages in which objections are understood.
func Languages() []string {
	var names []string
	for _, l := range languages() {
		names = append(names, l.name)
	}
	return names
}

// longest is the longest message that is looked at, in bytes. An objection is short; a page of text is a document.
const longest = 2000

// Objects says whether a chat message asks not to be recorded, and in which language.
func Objects(text string) (yes bool, lang string) { return objects(text, false) }

// ObjectsAloud is Objects for speech. What is heard has no quotation marks and may be the middle of a story, so that it
// has to be addressed to us: politely, in the first person, or about this very meeting.
func ObjectsAloud(text string) (yes bool, lang string) { return objects(text, true) }

func objects(text string, aloud bool) (bool, string) {
	if len(text) > longest {
		return false, ""
	}
	for _, sentence := range sentences(text) {
		for _, l := range languages() {
			if l.objects(sentence, aloud) {
				return true, l.name
			}
		}
	}
	return false, ""
}

// language is one table.
type language struct {
	name    string
	classes map[string][]string
	polite  []pattern // phrases without weight, taken out before anything else
	core    []pattern // objections
	around  []pattern // what may stand before and after one
	tail    []pattern // words after which the reason follows: whatever comes then does not matter
	veto    []pattern // the sentence is about recording, not against it
	address []pattern // what makes spoken words addressed to us
}

// objects looks at one sentence: one of its clauses has to be an objection all through.
func (l *language) objects(s sentence, aloud bool) bool {
	if !l.about(s.words) { // nearly all there is: nothing in it begins like an objection
		return false
	}
	all := l.strip(s.words)
	if !l.covers(all) && !slices.ContainsFunc(s.clauses, func(c []string) bool { return l.covers(l.strip(c)) }) {
		return false // commas are where people like: the whole may be one, or a clause
	}
	if slices.ContainsFunc(l.veto, func(p pattern) bool { return has(all, p) }) {
		return false
	}
	return !aloud || slices.ContainsFunc(l.address, func(p pattern) bool { return has(s.words, p) })
}

// about says whether an objection may begin at one of the words, with whatever politeness between it and the rest.
func (l *language) about(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.ContainsFunc(l.core, func(p pattern) bool { return p.slots[0].optional || p.slots[0].is(w) })
	})
}

// strip takes phrases without weight out.
func (l *language) strip(words []string) []string {
	out := make([]string, 0, len(words))
	for i := 0; i < len(words); {
		n := 0
		for _, p := range l.polite {
			if !p.start || len(out) == 0 {
				n = max(n, p.match(words[i:]))
			}
		}
		if n == 0 {
			out = append(out, words[i])
			n = 1
		}
		i += n
	}
	return out
}

// covers says whether the words are an objection and nothing else that matters.
func (l *language) covers(words []string) bool {
	for i := range words {
		for _, p := range l.core {
			if p.start && i > 0 {
				continue
			}
			for _, n := range p.matches(words[i:]) {
				if l.fills(words[:i], false) && l.fills(words[i+n:], true) {
					return true
				}
			}
		}
	}
	return false
}

// fills says whether words are all such as may stand around an objection.
func (l *language) fills(words []string, after bool) bool {
	for len(words) > 0 {
		if after && slices.ContainsFunc(l.tail, func(p pattern) bool { return p.match(words) > 0 }) {
			return true
		}
		n := 0
		for _, ps := range [][]pattern{l.around, l.core} { // an objection may be said twice
			for _, p := range ps {
				n = max(n, p.match(words))
			}
		}
		if n == 0 {
			return false
		}
		words = words[n:]
	}
	return true
}
