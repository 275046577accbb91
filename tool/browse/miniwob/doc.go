// Package miniwob solves the tasks of MiniWoB++ through the browser's tools alone, as a check that those are enough to work
// pages of every kind. Its tests run under the build tag accept.
package miniwob
