// Package control is the authenticated local control endpoint; its parts are the packages below it, and docs/control.md is their wire.
package control
