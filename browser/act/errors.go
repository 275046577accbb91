package act

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// What callers branch on.
var (
	// ErrMissing means that nothing visible matches.
	ErrMissing = errors.New("no such element")
	// ErrGone means that the element left the page before it could be worked.
	ErrGone = errors.New("the element is gone from the page")
	// ErrNotReady means that the element is there and cannot be worked: hidden, disabled, covered, moving.
	ErrNotReady = errors.New("the element cannot be worked")
	// ErrUnfit means that the element is not of a kind that takes this.
	ErrUnfit = errors.New("the element does not take this")
	// ErrNotTyped means that the field holds something else than what was typed.
	ErrNotTyped = errors.New("the field does not hold what was typed")
	// ErrElsewhere means that the field is in a document that must not get the value.
	ErrElsewhere = errors.New("the field is in a document that must not get this")
	// ErrAway means that the page went where nothing may be done.
	ErrAway = errors.New("the page went where nothing may be done")
	// ErrNoOption means that a list has no such option.
	ErrNoOption = errors.New("no such option")
)

// Error says why an element was not worked. Text is ours and names elements by tag, id and classes; Shown is what the
// page shows and has to be fenced.
type Error struct {
	Err  error // one of the above
	Text string
	// Shown is in the page's words: the options of a list, what a field holds.
	Shown []string
	// Done tells that some of it was done before it failed.
	Done bool
}

func (e *Error) Error() string { return e.Text }

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Err }

// problem is why an element could not be worked, as the kit tells.
type problem struct {
	Problem string `json:"problem"`
	By      string `json:"by"`
}

// explain says it in a sentence; ready is what the element did not become ("clickable").
func (p problem) explain(ready string, waited time.Duration) *Error {
	var why string
	switch p.Problem {
	case "gone":
		return &Error{Err: ErrGone, Text: "the element is gone from the page"}
	case "hidden":
		why = "it is not visible, " + p.By
	case "disabled":
		why = "it is disabled"
	case "covered":
		why = "it is covered by " + p.By + ", which would get the click"
	case "through":
		why = "it lets clicks through (pointer-events: none), and " + p.By + " would get the click"
	case "moving":
		why = "it does not stand still"
	case "outside":
		why = "it lies outside what the page can show"
	case "readonly":
		why = "it is read-only; the page fills it in itself, from a calendar or a list that opens when it is clicked"
	default:
		why = p.Problem
	}
	return &Error{Err: ErrNotReady, Text: fmt.Sprintf("the element did not become %s within %s: %s", ready, seconds(waited), why)}
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Round(100*time.Millisecond))/float64(time.Second), 'f', -1, 64) + " s"
}

func unfit(format string, a ...any) *Error {
	return &Error{Err: ErrUnfit, Text: fmt.Sprintf(format, a...)}
}

func noOption(wish string, options []string, count int) *Error {
	e := &Error{Err: ErrNoOption, Text: fmt.Sprintf("the list has no single option %s", strconv.Quote(wish)), Shown: options}
	switch {
	case count == 0:
		e.Text = fmt.Sprintf("no list with an option %s opened", strconv.Quote(wish))
	case count > len(options):
		e.Text += fmt.Sprintf("; the first %d of its %d options follow", len(options), count)
	default:
		e.Text += "; its options follow"
	}
	return e
}
