// Package act works a page's elements with real input and says truthfully what came of it: a click is a click that the
// element received, a typed text is one that the field holds.
//
// Everything here runs inside browser.Session.Act or Do, with the page that those give.
package act

import (
	_ "embed"

	"parley/browser"
	"parley/browser/locate"
)

//go:embed kit.js
var kitJS string

// kit are our helpers in each document.
var kit = &browser.Kit{Name: "act", Source: "(" + kitJS + ")(" + locate.Kit + ", seen)"}
