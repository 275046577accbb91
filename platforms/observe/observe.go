// Package observe brings what a page shows to us: the signs of a platform's table, and whatever else the module reads,
// as it changes.
package observe

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"parley/platforms"
	"parley/platforms/sign"
)

//go:embed reader.js
var readerJS string

//go:embed observe.js
var observeJS string

// binding is the name by which the observer speaks; it exists in our world of the page only.
const binding = "parleyReport"

// maxReport bounds one report: a page can make names and texts as long as it likes.
const maxReport = 512 << 10

// Start installs the observer in every document to come. read is a module's function expression: called once a document
// with the kit, the table's targets and all of what it knows (table, words, dialogs), it gives a function that gives what the module wants to know, as JSON.
// The channel is closed when the page is gone; it holds 256 reports, the oldest goes first.
func Start(ctx context.Context, page platforms.Page, t *sign.Table, read string) (<-chan json.RawMessage, error) {
	script, err := script(t, read)
	if err != nil {
		return nil, err
	}
	reports, err := page.Listen(ctx, binding)
	if err != nil {
		return nil, fmt.Errorf("observe the page: %w", err)
	}
	if err := page.Observe(ctx, script); err != nil {
		return nil, fmt.Errorf("observe the page: %w", err)
	}
	return reports, nil
}

// word is one alternative of a sign.
type word struct {
	Lang string `json:"lang"`
	Word string `json:"word"`
}

type sought struct {
	Name      string   `json:"name"`
	Selector  string   `json:"selector,omitempty"`
	Role      string   `json:"role,omitempty"`
	Names     []word   `json:"names,omitempty"`
	Texts     []word   `json:"texts,omitempty"`
	Icons     []string `json:"icons,omitempty"`
	Address   []string `json:"address,omitempty"`
	Title     bool     `json:"title,omitempty"`
	Sounding  bool     `json:"sounding,omitempty"`
	Outside   string   `json:"outside,omitempty"`
	Exact     bool     `json:"exact,omitempty"`
	MinWidth  int      `json:"min_width,omitempty"`
	MinHeight int      `json:"min_height,omitempty"`
}

// script puts our own data into our own script; nothing of a page gets there.
func script(t *sign.Table, read string) (string, error) {
	var table struct {
		Signs   []sought `json:"signs"`
		Exclude []string `json:"exclude"`
	}
	table.Signs, table.Exclude = []sought{}, append([]string{}, t.Exclude...)
	for _, s := range t.Signs {
		table.Signs = append(table.Signs, sought{Name: s.Name, Selector: s.Selector, Role: s.Role, Names: flat(s.Names), Texts: flat(s.Texts),
			Icons: s.Icons, Address: s.Address, Title: s.Title, Sounding: s.Sounding, Outside: s.Outside,
			Exact: s.Exact, MinWidth: s.MinWidth, MinHeight: s.MinHeight})
	}
	// Dialogs that are known by what they are made of: the page tells which of them an element is.
	made := map[string]string{}
	for _, d := range t.Dialogs {
		if d.Selector != "" {
			made[d.Name] = d.Selector
		}
	}
	spec, err := json.Marshal(map[string]any{"table": table, "words": t.Targets, "dialogs": made, "binding": binding})
	if err != nil {
		return "", fmt.Errorf("observer of %s: %w", t.Platform, err)
	}
	return strings.NewReplacer("__SPEC__", string(spec), "__READER__", readerJS, "__READ__", read).Replace(observeJS), nil
}

func flat(words map[string][]string) (all []word) {
	for lang, ws := range words {
		for _, w := range ws {
			all = append(all, word{lang, w})
		}
	}
	return all
}

// Report is one look at the page.
type Report struct {
	Seq    int             `json:"seq"`
	Hits   []sign.Hit      `json:"hits"`
	Blank  bool            `json:"blank"`
	Failed string          `json:"failed"` // the kind of error that the look ended with
	Data   json.RawMessage `json:"data"`   // what the module reads
}

// Decode reads a report. The page cannot send one, but what is in it comes from the page.
func Decode(raw json.RawMessage) (Report, error) {
	var r Report
	if len(raw) > maxReport {
		return r, fmt.Errorf("report of %d bytes", len(raw))
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("report: %w", err)
	}
	return r, nil
}

// Look is what the report says to the engine.
func (r Report) Look() sign.Look {
	switch {
	case r.Failed != "":
		return sign.Look{Health: sign.Failed}
	case r.Blank:
		return sign.Look{Health: sign.Blank}
	}
	return sign.Look{Hits: r.Hits}
}

// Target turns a table's words into a target of the page port.
func Target(w sign.Words) platforms.Target {
	return platforms.Target{Role: w.Role, Selector: w.Selector, Within: w.Within, Names: sign.All(w.Names), Texts: sign.All(w.Texts), Icons: w.Icons, Exact: w.Exact}
}

// Targets are all ways to find an element, the best first.
func Targets(w sign.Words) []platforms.Target {
	ways := w.Ways()
	ts := make([]platforms.Target, len(ways))
	for i, way := range ways {
		ts[i] = Target(way)
	}
	return ts
}
