// Package platforms knows the meeting platforms: whose a link is, and how a call on each of them is worked.
package platforms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// What callers branch on.
var (
	// ErrUnreachable means that a page could not be loaded; the error that wraps it says why.
	ErrUnreachable = errors.New("the page cannot be reached")
	// ErrNavigated means that the document went away while a script ran in it: what it had done stays unknown.
	ErrNavigated = errors.New("the page moved to another document meanwhile")
)

// Page is what a platform module sees of the browser: one tab, worked the way a person would.
// Every call returns by its context's deadline. It is safe for concurrent use; calls that act on the
// page run one after another.
type Page interface {
	// Navigate loads a URL and returns when the document is there (not when it is quiet).
	Navigate(ctx context.Context, url string) error
	// Run evaluates a function expression in our isolated world with one JSON argument and decodes its JSON
	// result. A promise is awaited. The function's second argument is the kit, which finds elements by role and
	// name (browser/cdp/kit.js). Scripts are files of the module, never built from page text.
	Run(ctx context.Context, script string, arg, result any) error
	// Listen makes the isolated world's global function name(text) deliver its JSON texts here. The
	// queue holds 256; when it is full the oldest is dropped and counted. It survives navigations.
	Listen(ctx context.Context, name string) (<-chan json.RawMessage, error)
	// Observe installs a script (a function expression, called with the kit) that runs in the isolated world
	// of every document of the tab's main frame, now and after each navigation. It runs at the document's
	// start: kit.ready(f) calls f when there is something to look at.
	Observe(ctx context.Context, script string) error
	// Find looks for the first visible element, without waiting.
	Find(ctx context.Context, t Target) (Found, error)
	// Click scrolls to the element, checks that it would get the click, and clicks with real input.
	Click(ctx context.Context, t Target) error
	// Type puts text into a field by real key events after clearing it, and reads it back.
	Type(ctx context.Context, t Target, text string) error
	// Press sends a key or a chord ("Enter", "Alt+A").
	Press(ctx context.Context, chord string) error
	// MoveMouse moves the pointer, so that toolbars which hide come back.
	MoveMouse(ctx context.Context, x, y float64) error
	// Picture is a PNG of the viewport.
	Picture(ctx context.Context) ([]byte, error)
	// URL is the tab's address.
	URL(ctx context.Context) (string, error)
	// Events tells of crashes, script dialogs and navigations. Closed when the tab is gone.
	Events() <-chan PageEvent
}

// Read is Page.Run for a script that changes nothing: where the document goes away while it runs, it runs in the next one.
// Pages move themselves at any moment, right after they were loaded above all.
func Read(ctx context.Context, p Page, script string, arg, result any) error {
	for {
		err := p.Run(ctx, script, arg, result)
		if !errors.Is(err, ErrNavigated) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// Permitter is a Page whose browser can be told to refuse the meeting's origin every device, whatever the page does, and
// to allow again those that it was opened with. What a document has taken before stays with it: refuse, then load it anew.
type Permitter interface {
	Permit(ctx context.Context, devices bool) error
}

// CookieKeeper is a Page that can be given a cookie before it loads anything.
type CookieKeeper interface {
	// SetCookie keeps a cookie for a host and the hosts below it.
	SetCookie(ctx context.Context, host, name, value string, secure bool) error
}

// Target names an element: role and accessible name, or a CSS selector, or visible text.
// Names and Texts are alternatives (one per language); matching folds case and white space.
type Target struct {
	Role     string   `json:"role,omitempty"`
	Names    []string `json:"names,omitempty"`
	Selector string   `json:"selector,omitempty"`
	Texts    []string `json:"texts,omitempty"`
	// Icons are names of font icons that the element shows ("call_end").
	Icons []string `json:"icons,omitempty"`
	// Exact asks for the whole name rather than a part of it.
	Exact bool `json:"exact,omitempty"`
	// Within limits the search to inside the first visible match of this selector.
	Within string `json:"within,omitempty"`
	// WithinTexts are words of which that outer element has to show one.
	WithinTexts []string `json:"within_texts,omitempty"`
	// Wait is how long Click and Type wait for the element; zero means 5 s.
	Wait time.Duration `json:"-"`
}

// Found is an element as it is now.
type Found struct {
	OK      bool              `json:"ok"`
	Tag     string            `json:"tag"`
	Name    string            `json:"name"`
	Text    string            `json:"text"`
	Value   string            `json:"value"`
	Attrs   map[string]string `json:"attrs"`
	Enabled bool              `json:"enabled"`
}

// PageEvent is something that happened to the tab.
type PageEvent struct {
	// Kind is "crashed", "dialog", "navigated", "console-error", "hung" (no sign of life for long, though its
	// script was ended), "answers" (after hung), "closed".
	Kind string
	// Text is the dialog's message or the address, from the page: untrusted.
	Text string
	At   time.Time
}
