// Package arch holds the rules of who may import whom, checked by its test.
package arch
