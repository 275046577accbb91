package browse

import (
	"context"

	"parley/browser"
	"parley/tenant"
	"parley/tool"
)

const ephemeral = tenant.Ephemeral

// NavigateArgs are navigate's.
type NavigateArgs struct {
	On
	URL string `json:"url" arg:"required,maxlen=8000,terse" doc:"http or https."`
	TellingToo
}

// MoveArgs are those of back, forward and reload.
type MoveArgs struct {
	On
	TellingToo
}

// TabsArgs are those of tabs.
type TabsArgs struct {
	On
	Action string `json:"action,omitempty" arg:"enum=list|select|new|close,default=list,terse" doc:"What to do."`
	Tab    string `json:"tab,omitempty" arg:"maxlen=20,terse" doc:"Which, for select and close; without it close means the current one."`
	URL    string `json:"url,omitempty" arg:"maxlen=8000,terse" doc:"For new: open this page in it."`
}

// Tabs is the result of tabs.
type Tabs struct {
	Tabs  []Tab    `json:"tabs" doc:"Oldest first."`
	Notes []string `json:"notes,omitempty" doc:"Tabs that came and went."`
}

// Tab is one of a session's tabs.
type Tab struct {
	Tab     string          `json:"tab" doc:"Its name."`
	Current bool            `json:"current,omitempty" doc:"Calls work this one."`
	URL     string          `json:"url" arg:"untrusted" doc:"Its address."`
	Title   string          `json:"title,omitempty" arg:"untrusted" doc:"Its title."`
	Opener  string          `json:"opener,omitempty" doc:"The tab that opened it."`
	Dialog  *browser.Dialog `json:"dialog,omitempty" doc:"A script dialog that is open in it."`
	Crashed bool            `json:"crashed,omitempty" doc:"Its page has crashed."`
}

// DialogArgs are dialog's.
type DialogArgs struct {
	On
	Accept bool   `json:"accept,omitempty" arg:"brief" doc:"OK; else Cancel."`
	Text   string `json:"text,omitempty" arg:"maxlen=4000,brief" doc:"For a prompt."`
	Tab    string `json:"tab,omitempty" arg:"maxlen=20,unlisted" doc:"Whose; else any."`
	Stop   bool   `json:"stop,omitempty" arg:"brief" doc:"End its script too."`
}

func (s *Service) moving() []tool.Tool {
	moves := func(name, title, doc string, errs []tool.Code, run func(ctx context.Context, session *browser.Session, o browser.ActOptions) (browser.Outcome, error)) tool.Tool {
		return newTool(s, tool.Spec[MoveArgs, Acted]{
			Tool: tool.Tool{Name: name, Title: title, Doc: doc, Ephemeral: true, OpenWorld: true, Errors: append(pageErrors(), errs...)},
			Run: func(ctx context.Context, c tool.Caller, a MoveArgs) (Acted, error) {
				session, err := s.session(c, a.Session)
				if err != nil {
					return Acted{}, err
				}
				out, err := run(ctx, session, browser.ActOptions{Changes: a.Changes})
				return Acted{Outcome: out}, fail(err)
			},
			Render: renderActed,
		})
	}
	return []tool.Tool{
		newTool(s, tool.Spec[NavigateArgs, Acted]{
			Tool: tool.Tool{
				Name: "navigate", Title: "Open a page", Ephemeral: true, OpenWorld: true,
				Doc:    "Open a page; then read it.",
				Errors: append(pageErrors(), tool.CodeBadURL, tool.CodeNavigationFailed),
			},
			Run: func(ctx context.Context, c tool.Caller, a NavigateArgs) (Acted, error) {
				session, err := s.session(c, a.Session)
				if err != nil {
					return Acted{}, err
				}
				out, err := session.Navigate(ctx, a.URL, browser.ActOptions{Changes: a.Changes})
				return Acted{Outcome: out}, fail(err)
			},
			Render: renderActed,
		}),
		moves("back", "Go back", "Go back in the history.", []tool.Code{tool.CodeNoHistory}, func(ctx context.Context, session *browser.Session, o browser.ActOptions) (browser.Outcome, error) {
			return session.History(ctx, -1, o)
		}),
		moves("forward", "Go forward", "Go forward in history.", []tool.Code{tool.CodeNoHistory}, func(ctx context.Context, session *browser.Session, o browser.ActOptions) (browser.Outcome, error) {
			return session.History(ctx, +1, o)
		}),
		moves("reload", "Reload", "Load the page again.", []tool.Code{tool.CodeNoHistory}, func(ctx context.Context, session *browser.Session, o browser.ActOptions) (browser.Outcome, error) {
			return session.Reload(ctx, o)
		}),
		newTool(s, tool.Spec[TabsArgs, Tabs]{
			Tool: tool.Tool{
				Name: "tabs", Title: "Tabs", Ephemeral: true, OpenWorld: true,
				Doc: "List, select, open or close tabs. One that your call opens becomes current by itself.",
				Errors: []tool.Code{tool.CodeSessionNotFound, tool.CodeSessionNeeded, tool.CodeSessionGone, tool.CodeTabNotFound, tool.CodeTooManyTabs, tool.CodeBadURL,
					tool.CodeNavigationFailed, tool.CodeDialogOpen, tool.CodePageSlow, tool.CodePageReplaced},
			},
			Run: s.tabs, Render: renderTabs,
		}),
		newTool(s, tool.Spec[DialogArgs, Acted]{
			Tool: tool.Tool{
				Name: "dialog", Title: "Answer a dialog", Ephemeral: true, OpenWorld: true,
				Doc:    "Answer the script dialog that is open.",
				Errors: append(pageErrors(), tool.CodeNoDialog, tool.CodeTabNotFound),
			},
			Run: func(ctx context.Context, c tool.Caller, a DialogArgs) (Acted, error) {
				session, err := s.session(c, a.Session)
				if err != nil {
					return Acted{}, err
				}
				out, err := session.AnswerAndSee(ctx, a.Tab, a.Accept, a.Text, a.Stop)
				return Acted{Outcome: out}, fail(err)
			},
			Render: renderActed,
		}),
	}
}

// pageErrors are those of every tool that works a page.
func pageErrors() []tool.Code {
	return []tool.Code{tool.CodeSessionNotFound, tool.CodeSessionNeeded, tool.CodeSessionGone, tool.CodeSessionBusy, tool.CodeDialogOpen, tool.CodePageCrashed,
		tool.CodePageSlow, tool.CodePageStopped, tool.CodePageReplaced, tool.CodePageWedged, tool.CodePageMoved}
}

func (s *Service) tabs(ctx context.Context, c tool.Caller, a TabsArgs) (Tabs, error) {
	session, err := s.session(c, a.Session)
	if err != nil {
		return Tabs{}, err
	}
	if a.Tab == "" && a.Action == "close" {
		if p := session.Current(); p != nil {
			a.Tab = p.ID()
		}
	}
	if a.Tab == "" && (a.Action == "close" || a.Action == "select") {
		return Tabs{}, tool.Fail(tool.CodeBadArgument, "what", "say which tab")
	}
	switch a.Action {
	case "select":
		err = session.Select(a.Tab)
	case "close":
		err = session.CloseTab(ctx, a.Tab)
	case "new":
		if a.URL != "" {
			if _, err := browser.CheckURL(a.URL); err != nil {
				return Tabs{}, fail(err)
			}
		}
		if _, err = session.NewTab(ctx); err == nil && a.URL != "" {
			_, err = session.Navigate(ctx, a.URL, browser.ActOptions{})
		}
	}
	if err != nil {
		if a.Tab != "" && tabMissing(err) {
			return Tabs{}, tool.Fail(tool.CodeTabNotFound, "tab", a.Tab)
		}
		return Tabs{}, fail(err)
	}
	out := Tabs{Tabs: []Tab{}}
	for _, t := range session.TabList(ctx) {
		out.Tabs = append(out.Tabs, Tab{t.ID, t.Current, t.URL, t.Title, t.Opener, t.Dialog, t.Crashed})
	}
	out.Notes = session.TakeNotes()
	return out, nil
}

func renderTabs(r Tabs, t *tool.Text) {
	for _, n := range r.Notes {
		t.Line("%s", n)
	}
	lines := ""
	for _, tab := range r.Tabs {
		mark := " "
		if tab.Current {
			mark = "*"
		}
		lines += mark + tab.Tab + " " + tab.URL + " " + tab.Title
		if tab.Crashed {
			lines += " (crashed)"
		}
		if tab.Dialog != nil {
			lines += " (dialog: " + tab.Dialog.Message + ")"
		}
		lines += "\n"
	}
	t.Quote(lines)
}
