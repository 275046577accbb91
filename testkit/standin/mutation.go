package standin

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Mutation changes a page as releases, test groups and other languages do, without changing what a person would make
// of it. The page applies it by the seed, the same way each time.
type Mutation struct {
	Seed uint64 `json:"seed"`
	// Classes is the share of class names that are others, in percent.
	Classes int `json:"classes,omitempty"`
	// Wrap is the share of elements that stand in one more element, in percent.
	Wrap int `json:"wrap,omitempty"`
	// Shuffle changes the order of buttons in bars.
	Shuffle bool `json:"shuffle,omitempty"`
	// MoveTexts has words stand in other elements, and in pieces.
	MoveTexts bool `json:"move_texts,omitempty"`
	// Wordings takes other wordings where the page has several.
	Wordings bool `json:"wordings,omitempty"`
	// DialogMS delays dialogs, ButtonMS the moment when buttons work.
	DialogMS int `json:"dialog_ms,omitempty"`
	ButtonMS int `json:"button_ms,omitempty"`
	// Drop is a redundant sign that is not there.
	Drop string `json:"drop,omitempty"`
	// Lang is the page's language, whatever is asked for; empty leaves it.
	Lang string `json:"lang,omitempty"`
	// Shadow puts dialogs into an open shadow root.
	Shadow bool `json:"shadow,omitempty"`
}

// Mutate makes a mutation of a seed: the same seed gives the same one for the same kind.
func Mutate(k Kind, seed uint64) Mutation {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	m := Mutation{Seed: seed, Classes: r.IntN(101), Wrap: r.IntN(31), Shuffle: r.IntN(2) == 0, MoveTexts: r.IntN(2) == 0, Wordings: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		m.DialogMS = r.IntN(3000)
	}
	if r.IntN(2) == 0 {
		m.ButtonMS = r.IntN(2000)
	}
	if len(k.Drops) > 0 && r.IntN(4) > 0 {
		m.Drop = k.Drops[r.IntN(len(k.Drops))]
	}
	m.Shadow = r.IntN(5) == 0
	// Half of the pages stay in the language that was asked for.
	if langs, err := k.Languages(); err == nil && r.IntN(2) == 0 {
		m.Lang = langs[r.IntN(len(langs))]
	}
	return m
}

// String names what a mutation does, for reports.
func (m Mutation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: classes %d%%, wrapped %d%%", m.Seed, m.Classes, m.Wrap)
	for _, x := range []struct {
		on   bool
		what string
	}{{m.Shuffle, "shuffled"}, {m.MoveTexts, "texts moved"}, {m.Wordings, "other wordings"}, {m.Shadow, "dialogs in a shadow root"}} {
		if x.on {
			b.WriteString(", " + x.what)
		}
	}
	if m.DialogMS > 0 {
		fmt.Fprintf(&b, ", dialogs %d ms late", m.DialogMS)
	}
	if m.ButtonMS > 0 {
		fmt.Fprintf(&b, ", buttons %d ms late", m.ButtonMS)
	}
	if m.Drop != "" {
		b.WriteString(", without " + m.Drop)
	}
	if m.Lang != "" {
		b.WriteString(", in " + m.Lang)
	}
	return b.String()
}
