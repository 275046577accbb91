// Package browse is the table of the browser's tools: arguments in, calls on a session, results that a model reads.
package browse

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/browser"
	"parley/browser/act"
	"parley/browser/chromium"
	"parley/browser/display"
	"parley/browser/locate"
	"parley/tool"
)

// Service has what the handlers need.
type Service struct {
	m *browser.Manager
}

// Tools is the table of the browser's tools on a manager of sessions.
func Tools(m *browser.Manager) []tool.Tool {
	s := &Service{m: m}
	var list []tool.Tool
	for _, part := range [][]tool.Tool{s.sessions(), s.moving(), s.seeing(), s.looking(), s.acting()} {
		list = append(list, part...)
	}
	return list
}

// On is the argument of every tool that works a session.
type On struct {
	Session string `json:"session,omitempty" arg:"maxlen=40,unlisted" doc:"From session_open; may be left out while you have one only."`
}

func (o *On) on() *On { return o }

// newTool makes a tool whose session may be left out. It is filled in before the policy judges the call, so that what is
// judged is the page that the call will work.
func newTool[A, R any](s *Service, t tool.Spec[A, R]) tool.Tool {
	t.Complete = func(c tool.Caller, a *A) {
		if at, ok := any(a).(interface{ on() *On }); ok && at.on().Session == "" {
			if only := s.m.Only(ownerOf(c)); only != nil {
				at.on().Session = only.ID()
			}
		}
	}
	made := tool.New(t)
	// Clients are told of it where it is met first, and that every tool takes it; in each tool it would be a tenth of the list.
	if made.Name == "navigate" || made.Name == "session_close" {
		for _, f := range made.Input.Fields {
			if f.Name == "session" {
				f.Schema.Unlisted, f.Schema.Brief, f.Schema.Terse = false, true, true
			}
		}
	}
	return made
}

// Telling asks for more in the answer of a tool that acts.
type Telling struct {
	Changes bool `json:"changes,omitempty" arg:"terse" doc:"Also tell what the page shows differently."`
}

// TellingToo is Telling where clients are not told of it once more.
type TellingToo struct {
	Changes bool `json:"changes,omitempty" arg:"unlisted" doc:"Also tell what the page shows differently."`
}

// Acted is what a tool that acts answers with.
type Acted struct {
	browser.Outcome
	// Did is our own sentence about what was done; empty says nothing.
	Did string `json:"did,omitempty" doc:"What was done."`
}

// ownerOf is whose sessions a caller works.
func ownerOf(c tool.Caller) browser.Owner {
	return browser.Owner{Tenant: string(c.Tenant.ID), Client: c.Owner}
}

// session finds the caller's session.
func (s *Service) session(c tool.Caller, id string) (*browser.Session, error) {
	if id == "" {
		return nil, tool.Fail(tool.CodeSessionNeeded, "count", len(s.m.List(ownerOf(c))))
	}
	found, err := s.m.Get(ownerOf(c), id)
	if err != nil {
		return nil, tool.Fail(tool.CodeSessionNotFound, "session", id, "idle", s.m.Idle())
	}
	return found, nil
}

// act is the pattern of every tool that acts: find the session, work its page, tell what came of it.
func (s *Service) act(ctx context.Context, c tool.Caller, on On, o browser.ActOptions, f func(ctx context.Context, p *browser.Page) (did string, err error)) (Acted, error) {
	session, err := s.session(c, on.Session)
	if err != nil {
		return Acted{}, err
	}
	var did string
	out, err := session.Act(ctx, o, func(ctx context.Context, p *browser.Page) error {
		d, err := f(ctx, p)
		did = d
		return err
	})
	if err != nil {
		// A call that was cut off may still be writing into what it captured: nothing of that is looked at. The same holds
		// for everything that f of act, look and work writes to.
		return Acted{Outcome: out}, fail(err)
	}
	return Acted{Outcome: out, Did: did}, nil
}

// look is the pattern of every tool that only looks.
func (s *Service) look(ctx context.Context, c tool.Caller, on On, f func(ctx context.Context, p *browser.Page) error) error {
	session, err := s.session(c, on.Session)
	if err != nil {
		return err
	}
	return fail(session.Do(ctx, f))
}

// fail gives an error of the catalogue for one of the browser's. Others pass as they are.
func fail(err error) error {
	if err == nil {
		return nil
	}
	var (
		known    *tool.Error
		met      *browser.DialogError
		cut      *browser.CutError
		net      *browser.NavigateError
		full     *browser.FullError
		inUse    *browser.ProfileInUseError
		mismatch *browser.ProfileMismatchError
		engine   *browser.EngineError
		other    *browser.OtherTabError
		start    *chromium.StartError
		element  *act.Error
		locator  *locate.Error
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &met):
		return tool.Fail(tool.CodeDialogOpen, "kind", met.Dialog.Kind, "tab", met.Dialog.Tab).Quoting(met.Dialog.Message).Because(err)
	case errors.As(err, &cut):
		code := map[browser.PageState]tool.Code{browser.StillAnswers: tool.CodePageSlow, browser.Interrupted: tool.CodePageStopped,
			browser.Replaced: tool.CodePageReplaced, browser.Replacing: tool.CodePageReplaced, browser.Wedged: tool.CodePageWedged}[cut.Page]
		return tool.Fail(code, "seconds", fmt.Sprintf("%.0f", cut.After.Seconds())).Because(err)
	case errors.As(err, &net):
		return tool.Fail(tool.CodeNavigationFailed, "why", strings.TrimPrefix(net.Error(), "the page cannot be loaded: ")).Because(err)
	case errors.As(err, &full):
		return tool.Fail(tool.CodeSessionsFull, "max", full.Max).Because(err)
	case errors.As(err, &inUse):
		e := tool.Fail(tool.CodeProfileInUse, "profile", inUse.Profile).Because(err)
		e.Text, e.Remedy = strings.ToUpper(inUse.Error()[:1])+inUse.Error()[1:]+".", "Close what has it and call again, or open a session without it: this does not go away by trying."
		return e
	case errors.As(err, &mismatch):
		return tool.Fail(tool.CodeProfileMismatch, "profile", mismatch.Profile, "what", mismatch.Error()).Because(err)
	case errors.As(err, &engine):
		return tool.Fail(tool.CodeEngineUnavailable, "engine", engine.Engine, "remedy", "Enabled are "+strings.Join(engine.Have, ", ")+" (PARLEY_FEATURES_ENGINES).").Because(err)
	case errors.As(err, &other):
		return tool.Fail(tool.CodeRefOtherTab, "ref", other.Ref, "tab", other.Tab).Because(err)
	case errors.As(err, &start):
		return tool.Fail(tool.CodeBrowserFailed, "what", start.Error()).Because(err)
	}
	for _, k := range []struct {
		is   error
		code tool.Code
	}{
		{browser.ErrBusy, tool.CodeSessionBusy}, {browser.ErrNoTab, tool.CodeTabNotFound}, {browser.ErrBadURL, tool.CodeBadURL},
		{browser.ErrNoHistory, tool.CodeNoHistory}, {browser.ErrNoDialog, tool.CodeNoDialog}, {browser.ErrCrashed, tool.CodePageCrashed},
		{browser.ErrNavigated, tool.CodePageMoved}, {browser.ErrFrameGone, tool.CodePageMoved}, {browser.ErrTabClosed, tool.CodePageMoved},
		{browser.ErrSessionClosed, tool.CodeSessionGone}, {chromium.ErrGone, tool.CodeSessionGone}, {browser.ErrManagerClosed, tool.CodeShuttingDown},
	} {
		if errors.Is(err, k.is) {
			return tool.Fail(k.code, "tab", "of that name").Because(err)
		}
	}
	switch {
	case errors.Is(err, browser.ErrStale):
		return tool.Fail(tool.CodeRefStale, "ref", refIn(err)).Because(err)
	case errors.Is(err, browser.ErrUnknownRef):
		return tool.Fail(tool.CodeRefUnknown, "ref", refIn(err)).Because(err)
	case errors.As(err, &element):
		return tool.Fail(tool.CodeElementNotFound, "what", element.Text).Quoting(strings.Join(element.Shown, "\n")).Because(err)
	case errors.As(err, &locator):
		return tool.Fail(tool.CodeBadArgument, "what", locator).Because(err)
	case errors.Is(err, browser.ErrNoPicture), errors.Is(err, browser.ErrTooLarge):
		return tool.Fail(tool.CodeNothingToSee, "what", err).Because(err)
	case errors.Is(err, browser.ErrTooManyTabs):
		return tool.Fail(tool.CodeTooManyTabs, "max", browser.MaxTabs).Because(err)
	case errors.Is(err, browser.ErrBadProfileName):
		return tool.Fail(tool.CodeBadArgument, "what", browser.ErrBadProfileName).Because(err)
	case errors.Is(err, browser.ErrNoProfiles):
		return tool.Fail(tool.CodeBadArgument, "what", browser.ErrNoProfiles).Because(err)
	case errors.Is(err, display.ErrNoServer):
		return tool.Fail(tool.CodeBrowserFailed, "what", display.ErrNoServer).Because(err)
	}
	return err
}

// refIn is the ref that an error begins with.
func refIn(err error) string {
	ref, _, ok := strings.Cut(err.Error(), ":")
	if !ok {
		return "of this call"
	}
	return ref
}

// renderActed writes an outcome: our own words first, what the page wrote in the fence.
func renderActed(a Acted, t *tool.Text) {
	if a.Did != "" {
		t.Line("%s", a.Did)
	}
	renderOutcome(a.Outcome, t)
}

func renderOutcome(o browser.Outcome, t *tool.Text) {
	var words []string
	if o.Navigated {
		words = append(words, "new page")
	}
	if o.Status != 0 && o.Status != 200 {
		words = append(words, fmt.Sprintf("status %d", o.Status))
	}
	if o.NoContent {
		words = append(words, "no content, the page stays")
	}
	if o.Loading {
		words = append(words, "still loading")
	}
	if o.Errors > 0 {
		words = append(words, fmt.Sprintf("%d new page errors (console)", o.Errors))
	}
	for _, d := range o.Downloads {
		words = append(words, "a file was offered: "+d.State)
	}
	if len(words) > 0 {
		t.Line("%s", strings.Join(words, "; "))
	}
	for _, n := range o.Notes {
		t.Line("%s", n)
	}
	if o.Wall != nil {
		t.Line("bot wall (%s): %s", o.Wall.Kind, o.Wall.Detail)
	}
	if o.Dialog != nil {
		t.Line("a dialog (%s) is open in tab %s: answer it with dialog", o.Dialog.Kind, o.Dialog.Tab)
	}
	var page strings.Builder
	if o.Tab != "" {
		fmt.Fprintf(&page, "%s %s %s\n", o.Tab, o.URL, o.Title)
	}
	if o.Dialog != nil {
		fmt.Fprintf(&page, "dialog: %s\n", o.Dialog.Message)
	}
	for _, d := range o.Downloads {
		fmt.Fprintf(&page, "file: %s from %s\n", d.Name, d.URL)
	}
	if c := o.Changes; c != nil {
		for _, l := range c.Removed {
			page.WriteString("- " + l + "\n")
		}
		for _, l := range c.Added {
			page.WriteString("+ " + l + "\n")
		}
		switch {
		case c.More > 0:
			fmt.Fprintf(&page, "(%d more lines changed)\n", c.More)
		case len(c.Added)+len(c.Removed) == 0:
			page.WriteString("(nothing changed)\n")
		}
	}
	t.Quote(page.String())
}
