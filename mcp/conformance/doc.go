// Package conformance runs the public conformance suite of the protocol against our server. Its test needs
// Node and the npm registry, so it is part of the acceptance run: go test -tags accept ./mcp/conformance.
package conformance
