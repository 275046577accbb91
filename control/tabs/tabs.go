// Package tabs is what the control endpoint needs of a browser: tabs with stable ids, and captures of them that go stale when anything about them changes.
package tabs

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// Tab is how a tab is now.
type Tab struct {
	ID    string // a UUID, for as long as the tab lives
	Title string
	URL   string
	Group string
	// Foreground tells that it is the one a person sees. Activation is new each time it becomes that.
	Foreground bool
	Activation uint64
	// Loading tells that a navigation is under way: nothing is read from it, and nothing done.
	Loading bool
	// Document names the document in its main frame; it is new after every navigation, also to the same address.
	Document string
	// Covered tells that something of the browser's own lies over the page.
	Covered bool
	// Restricted names the hosts that the grant which acts on the tab permits; nil is no restriction.
	Restricted []string
}

// Host is the host of the tab's address in lower case, without a port; empty for a blank page.
func (t Tab) Host() string { return HostOf(t.URL) }

// HostOf is the host of an http or https address; empty for anything else.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// Blank says whether an address is a start page: no website.
func Blank(address string) bool { return address == "" || strings.HasPrefix(address, "about:") }

// What callers branch on.
var (
	// ErrNoTab says that there is no tab of that id, or none any more.
	ErrNoTab = errors.New("there is no such tab")
	// ErrDocument says that the tab holds another document than the one that was named.
	ErrDocument = errors.New("the tab holds another document")
	// ErrNoEntry says that history has no entry in that direction.
	ErrNoEntry = errors.New("there is no such entry in the tab's history")
	// ErrFull says that no more tabs, or sessions with tabs, are opened.
	ErrFull = errors.New("as many tabs are open as may be")
	// ErrBlocked says that the browser did not load the address.
	ErrBlocked = errors.New("the address was not loaded")
)

// Move is where a tab goes: exactly one member is set.
type Move struct {
	URL    string
	Delta  int // -1 back, 1 forward
	Reload bool
}

// Structure is what a page is made of beside its main document.
type Structure struct {
	Frames      int // child frames
	Closed      int // shadow roots that no script of ours can enter
	Declarative int // shadow roots that the markup made, where the markup says so
}

// Browser is a tenant's browser. Its methods may be called by several goroutines at once, and end when their context does.
type Browser interface {
	// Tabs lists every tab, in the order a person sees them.
	Tabs(ctx context.Context) ([]Tab, error)
	// Tab gives one, or ErrNoTab.
	Tab(ctx context.Context, id string) (Tab, error)
	// Create opens a blank tab, in the background.
	Create(ctx context.Context, group string) (Tab, error)
	// Activate brings a tab to the front.
	Activate(ctx context.Context, id string) (Tab, error)
	Close(ctx context.Context, id string) error
	// Group puts a tab into a group; an empty one takes it out.
	Group(ctx context.Context, id, group string) error
	// Restrict holds the tab's later requests, redirects and popups to hosts, for the principal that acts on it. It lasts
	// until Release or until a person enters an address.
	Restrict(ctx context.Context, id string, r Restriction) error
	// Go moves a tab whose document is still the named one, and returns when the new document is there. A reload is
	// done when a real navigation was seen.
	Go(ctx context.Context, id, document string, m Move) (Tab, error)
	// Entry is the address of the entry of the tab's history that a Move by delta would go to, or ErrNoEntry.
	Entry(ctx context.Context, id string, delta int) (string, error)
	// Run calls one of our fixed scripts with an argument that is data, in a world the page cannot see, bound to the
	// named document.
	Run(ctx context.Context, id, document string, s Script, arg, result any) error
	// Picture is a PNG of the viewport of the tab in the foreground.
	Picture(ctx context.Context, id, document string) ([]byte, error)
	// Structure looks at what our scripts cannot see.
	Structure(ctx context.Context, id, document string) (Structure, error)
	// Watch lets a judge look at the tab's requests from now on, instead of the one before; nil takes it back.
	Watch(ctx context.Context, id string, j Judge) error
}

// Restriction is what a grant adds to a tab's own limits.
type Restriction struct {
	Principal  string
	Generation uint64
	Hosts      []string // patterns as in a grant; empty restricts nothing
	Permits    func(host string) bool
}

// Request is one request of a tab on its way to the network.
type Request struct {
	Tab      string // empty: nobody knows whose it is
	Document string // of the frame that made it
	Main     bool   // of the main frame
	Kind     Kind
	Method   string
	URL      string
	Origin   string // of the document that made it
	Header   map[string]string
	Body     []byte
	// BodyWhole tells that Body is all of it.
	BodyWhole bool
	// From is the status of the answer that redirected here; 0 for a first request.
	From int
}

// Kind says what a request is for.
type Kind string

// The kinds.
const (
	Navigation Kind = "navigation" // of a frame, by link, form or address
	Scripted   Kind = "script"     // fetch, XHR, beacon, socket
	Resource   Kind = "resource"   // images, styles, scripts, fonts, media
	Worker     Kind = "worker"     // of a service or shared worker
)

// Verdict is what a Judge says about a request.
type Verdict int

// The verdicts.
const (
	Ignore Verdict = iota // no concern of the judge's: the usual rules hold
	Allow                 // it may go as it is, usual rules about its destination aside
	Refuse                // it must not go
)

// Judge looks at every request of a tab into which credentials were put, until the tab's document has gone and the
// judge is taken back. Its methods may be called by several goroutines at once and return at once.
type Judge interface {
	// Judge is asked before a request goes.
	Judge(r Request) Verdict
	// Redirect is asked before a redirect of an allowed request is followed: with the answer's status, and with the
	// method and address that would follow.
	Redirect(status int, method, address string) bool
	// Done tells how an allowed request ended: the status of its answer, or 0 when there was none.
	Done(status int)
}

// Script names one of the fixed scripts.
type Script string

// The scripts; their texts are in package page.
const (
	Read    Script = "read"
	Inspect Script = "inspect"
	Scroll  Script = "scroll"
	Click   Script = "click"
	Type    Script = "type"
	Select  Script = "select"
	Check   Script = "check"
	Forms   Script = "forms"
	Fill    Script = "fill"
	Look    Script = "watch"
)

// Encode writes a script's argument so that it is data wherever it stands: in a script, too.
func Encode(arg any) (string, error) {
	raw, err := json.Marshal(arg) // escapes <, >, & and both line separators
	if err != nil {
		return "", err
	}
	return string(raw), nil
}
