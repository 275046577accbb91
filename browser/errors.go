package browser

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// What callers branch on.
var (
	// ErrCrashed means that the tab's renderer died. The next navigation gives it a new one.
	ErrCrashed = errors.New("the page has crashed")
	// ErrTabClosed means that the tab is gone.
	ErrTabClosed = errors.New("the tab is closed")
	// ErrSessionClosed means that the session is gone.
	ErrSessionClosed = errors.New("the session is closed")
	// ErrNavigated means that the document went away while a script of ours ran in it: what it had done stays unknown.
	ErrNavigated = errors.New("the page moved to another document meanwhile")
	// ErrStale means that a ref's element is gone, with its document or alone.
	ErrStale = errors.New("the element is gone")
	// ErrUnknownRef means that no read gave out this ref.
	ErrUnknownRef = errors.New("no read of this session gave out this ref")
	// ErrFrameGone means that the frame is gone or shows another document.
	ErrFrameGone = errors.New("the frame is gone")
	// ErrBusy means that the calls before this one took so much of its time that it was not begun.
	ErrBusy = errors.New("earlier calls of the session took all the time; nothing was done")
)

// CutError means that a call was cut off because its time was over.
type CutError struct {
	After time.Duration
	// Page is what became of the page.
	Page PageState
}

// PageState is how a page was found after a call was cut off.
type PageState string

// The states.
const (
	StillAnswers PageState = "answers"   // the page still responds: the session is usable as it is
	Interrupted  PageState = "stopped"   // a script held the page; it was stopped, and the page responds again
	Replaced     PageState = "replaced"  // the page did not respond; a new tab took its place, at about:blank
	Replacing    PageState = "replacing" // the same, still under way: the next call waits for it
	Wedged       PageState = "wedged"    // it could not be replaced: the session was closed
)

func (e *CutError) Error() string {
	return fmt.Sprintf("cut off after %.1f s (the page: %s)", e.After.Seconds(), e.Page)
}

// Dialog is a script dialog that stands open: alert, confirm, prompt or beforeunload.
type Dialog struct {
	Kind string `json:"kind" doc:"alert, confirm, prompt or beforeunload."`
	// Message and Default are the page's words.
	Message string `json:"message" arg:"untrusted" doc:"What it says."`
	Default string `json:"default,omitempty" arg:"untrusted" doc:"What a prompt suggests."`
	Tab     string `json:"tab" doc:"Whose it is."`
}

// DialogError means that a call met a script dialog, which stands until it is answered.
type DialogError struct {
	Dialog Dialog
	// Before tells that it stood there already, so that nothing was done.
	Before bool
}

func (e *DialogError) Error() string { return "a script dialog (" + e.Dialog.Kind + ") is open" }

// ScriptError is an exception of a script of ours. Text may quote the page, so that Error leaves it out.
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
	s := "the page cannot be loaded: " + strings.TrimPrefix(e.Code, "net::")
	if r := navigateRemedies[strings.TrimPrefix(e.Code, "net::")]; r != "" {
		s += " (" + r + ")"
	}
	return s
}

var navigateRemedies = map[string]string{
	"ERR_NAME_NOT_RESOLVED":        "the host does not exist, or this machine cannot resolve names",
	"ERR_CONNECTION_REFUSED":       "nothing listens at that address",
	"ERR_CONNECTION_TIMED_OUT":     "the host does not answer",
	"ERR_CONNECTION_RESET":         "the host ended the connection",
	"ERR_EMPTY_RESPONSE":           "the host ended the connection without an answer",
	"ERR_ADDRESS_UNREACHABLE":      "the host cannot be reached from this machine",
	"ERR_INTERNET_DISCONNECTED":    "this machine has no network",
	"ERR_PROXY_CONNECTION_FAILED":  "the proxy does not answer",
	"ERR_TUNNEL_CONNECTION_FAILED": "the proxy refused it: the host is not on the allowlist, or cannot be reached",
	"ERR_CERT_AUTHORITY_INVALID":   "the host's certificate is not trusted",
	"ERR_CERT_DATE_INVALID":        "the host's certificate is out of date",
	"ERR_CERT_COMMON_NAME_INVALID": "the host's certificate is for another name",
	"ERR_TOO_MANY_REDIRECTS":       "the pages send each other round in a circle",
	"ERR_BLOCKED_BY_CLIENT":        "the browser was told not to load it",
}
