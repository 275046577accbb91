// Package page holds the fixed scripts that read and work a website, and the selectors a caller may use. Nothing a caller says is ever part of a script.
package page

import (
	"embed"
	"fmt"
	"regexp"

	"parley/control/tabs"
)

//go:embed *.js
var files embed.FS

// Scripts are the fixed scripts.
func Scripts() []tabs.Script {
	return []tabs.Script{tabs.Read, tabs.Inspect, tabs.Scroll, tabs.Click, tabs.Type, tabs.Select, tabs.Check, tabs.Forms, tabs.Fill, tabs.Look}
}

var sources = func() map[tabs.Script]string {
	m := map[tabs.Script]string{}
	kit := mustRead("kit")
	for _, s := range Scripts() {
		m[s] = "(arg) => { if (document.location.href !== arg.at) return { moved: true }; const kit = (" + kit + "\n)(); return (" + mustRead(string(s)) + "\n)(arg.arg, kit); }"
	}
	return m
}()

func mustRead(name string) string {
	raw, err := files.ReadFile(name + ".js")
	if err != nil {
		panic(err) // the files are part of the program
	}
	return string(raw)
}

// Source is a script's text: a function of one argument {at, arg}, which does nothing but say {moved: true} when the
// document's address is not at.
func Source(s tabs.Script) (string, bool) {
	text, ok := sources[s]
	return text, ok
}

// Call is an expression that calls a script with an argument that is data, whatever is in it.
func Call(s tabs.Script, at string, arg any) (string, error) {
	text, ok := Source(s)
	if !ok {
		return "", fmt.Errorf("there is no script %q", s)
	}
	data, err := tabs.Encode(struct {
		At  string `json:"at"`
		Arg any    `json:"arg"`
	}{at, arg})
	if err != nil {
		return "", fmt.Errorf("the argument of %s: %w", s, err)
	}
	return "(" + text + ")(" + data + ")", nil
}

// MaxSelector is the longest selector in bytes.
const MaxSelector = 512

// selector is the subset of CSS that a caller may use: compounds of a tag, ids, classes, exact attributes out of a list and
// positions, joined by a blank, > or +. The value of a field is not among the attributes: it could be guessed bit by bit.
var selector = func() *regexp.Regexp {
	const (
		ident    = `-?[A-Za-z_][A-Za-z0-9_-]*`
		attr     = `\[(?:name|type|role|id|for|href|title|alt|placeholder|lang|aria-label|aria-controls|data-testid)="[^"\\\x00-\x1f]*"\]`
		position = `:(?:first-child|last-child|only-child|first-of-type|last-of-type|nth-child\([0-9]{1,4}\)|nth-of-type\([0-9]{1,4}\))`
		simple   = `(?:#` + ident + `|\.` + ident + `|` + attr + `|` + position + `)`
		compound = `(?:(?:` + ident + `|\*)` + simple + `*|` + simple + `+)`
	)
	return regexp.MustCompile(`^` + compound + `(?: ?[>+] ?` + compound + `| ` + compound + `)*$`)
}()

// Selector says whether a caller may use a selector.
func Selector(s string) bool { return len(s) <= MaxSelector && selector.MatchString(s) }
