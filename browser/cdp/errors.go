package cdp

import (
	"errors"
	"fmt"
	"strings"

	"parley/platforms"
)

// What callers branch on.
var (
	// ErrCrashed means that the page's renderer died. Every call fails with it at once until the next Navigate.
	ErrCrashed = errors.New("the page has crashed")
	// ErrClosed means that the tab is gone.
	ErrClosed = errors.New("the tab is closed")
	// ErrNavigated is platforms.ErrNavigated.
	ErrNavigated = platforms.ErrNavigated
	// ErrMissing means that no visible element matches.
	ErrMissing = errors.New("no visible element matches")
	// ErrDisabled means that the element is there and takes no input.
	ErrDisabled = errors.New("the element is disabled")
	// ErrCovered means that something else would get the click.
	ErrCovered = errors.New("the element is covered")
	// ErrUncertain means that the click was made and nothing shows that the element received it.
	ErrUncertain = errors.New("nothing shows that the element received the click")
	// ErrNotTyped means that the field holds something else than what was typed.
	ErrNotTyped = errors.New("the field does not hold what was typed")
)

// ElementError says what stood in the way of working an element. It names elements by tag, id and class: what their
// authors wrote, not what they show.
type ElementError struct {
	Target string // how the caller named it
	Err    error  // one of the errors above
	By     string // the element in the way, if there is one
}

func (e *ElementError) Error() string {
	s := e.Target + ": " + e.Err.Error()
	if e.By != "" {
		s += " (" + e.By + ")"
	}
	return s
}

// Unwrap gives the kind.
func (e *ElementError) Unwrap() error { return e.Err }

// ScriptError is an exception of a script of ours. Its Text may quote the page, so that Error leaves it out.
type ScriptError struct {
	Class string // "TypeError"
	Line  int
	Text  string
}

func (e *ScriptError) Error() string {
	return fmt.Sprintf("script failed: %s at line %d", e.Class, e.Line)
}

// NavigateError says why a page did not load.
type NavigateError struct {
	// Code is the network's word for it ("net::ERR_NAME_NOT_RESOLVED").
	Code string
}

func (e *NavigateError) Error() string {
	s := "the page cannot be loaded: " + e.Code
	if r := navigateRemedies[strings.TrimPrefix(e.Code, "net::")]; r != "" {
		s += " (" + r + ")"
	}
	return s
}

// Unwrap makes it platforms.ErrUnreachable.
func (e *NavigateError) Unwrap() error { return platforms.ErrUnreachable }

var navigateRemedies = map[string]string{
	"ERR_NAME_NOT_RESOLVED":       "the host does not exist, or this machine cannot resolve names",
	"ERR_CONNECTION_REFUSED":      "nothing listens at that address",
	"ERR_CONNECTION_TIMED_OUT":    "the host does not answer",
	"ERR_ADDRESS_UNREACHABLE":     "the host cannot be reached from this machine",
	"ERR_INTERNET_DISCONNECTED":   "this machine has no network",
	"ERR_PROXY_CONNECTION_FAILED": "the proxy does not answer",
	"ERR_CERT_AUTHORITY_INVALID":  "the host's certificate is not trusted",
	"ERR_CERT_DATE_INVALID":       "the host's certificate is out of date",
	"ERR_ABORTED":                 "the answer was a download or had no content",
}
