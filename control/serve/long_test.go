//go:build accept

package serve_test

// hostileSeconds is how long the hostile process goes on.
const hostileSeconds = 30
