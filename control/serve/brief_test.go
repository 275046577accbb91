//go:build !accept

package serve_test

// hostileSeconds is how long the hostile process goes on. With the tag accept it is longer.
const hostileSeconds = 6
