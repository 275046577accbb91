package locate

import _ "embed"

// Kit is an expression in JavaScript whose value is the finding helpers, for our isolated world of a document:
// choose({parts, nth, after, before}, skip) answers {el} or a Miss; visible, brief, nameOf and others stand beside it.
//
//go:embed kit.js
var Kit string
