package browse

import (
	"errors"
	"strings"
	"testing"

	"parley/browser"
	"parley/browser/chromium"
	"parley/tool"
)

func TestNoSentenceHasAGap(t *testing.T) {
	for _, err := range []error{
		browser.ErrBusy, browser.ErrNoTab, browser.ErrBadURL, browser.ErrNoHistory, browser.ErrNoDialog, browser.ErrCrashed, browser.ErrNavigated, browser.ErrFrameGone,
		browser.ErrTabClosed, browser.ErrSessionClosed, chromium.ErrGone, browser.ErrManagerClosed, browser.ErrStale, browser.ErrUnknownRef, browser.ErrNoPicture,
		browser.ErrTooLarge, browser.ErrTooManyTabs, browser.ErrBadProfileName, browser.ErrNoProfiles, &browser.NavigateError{Code: "x"}, &browser.DialogError{},
		&browser.CutError{Page: browser.Wedged}, &browser.FullError{Max: 1}, &browser.OtherTabError{Ref: "e1", Tab: "t1"}, &chromium.StartError{},
	} {
		var e *tool.Error
		if !errors.As(fail(err), &e) || strings.Contains(e.Error(), "{") {
			t.Errorf("%v: %v", err, fail(err))
		}
	}
}
