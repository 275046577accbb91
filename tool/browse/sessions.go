package browse

import (
	"context"
	"time"

	"parley/browser"
	"parley/tool"
)

// OpenArgs are session_open's.
type OpenArgs struct {
	URL     string `json:"url,omitempty" arg:"maxlen=8000,terse" doc:"Open this page at once."`
	Profile string `json:"profile,omitempty" arg:"maxlen=64,brief" doc:"Named, stays signed in."`
	Engine  string `json:"engine,omitempty" arg:"maxlen=40,terse" doc:"Leave out unless you need another."`
	Headful *bool  `json:"headful,omitempty" arg:"terse" doc:"Draw on a (virtual) screen; profiles stay as they were."`
}

// Opened is session_open's result.
type Opened struct {
	Session string           `json:"session" doc:"Give it to the other tools."`
	Engine  string           `json:"engine" doc:"What drives the browser."`
	Profile string           `json:"profile,omitempty" doc:"The profile."`
	Headful bool             `json:"headful" doc:"Draws on a screen."`
	IdleMin float64          `json:"idle_minutes" doc:"It is closed when it is not used for so long, or when its connection ends."`
	Page    *browser.Outcome `json:"page,omitempty" doc:"The page that was asked for."`
}

// SessionArgs are session_close's.
type SessionArgs struct{ On }

// Closed is session_close's result.
type Closed struct {
	Session string `json:"session" doc:"It is gone."`
}

// NoArgs are none.
type NoArgs struct{}

// Sessions is the result of sessions.
type Sessions struct {
	Sessions []SessionInfo `json:"sessions" doc:"Yours, oldest first."`
}

// SessionInfo is a session in a list.
type SessionInfo struct {
	Session string    `json:"session" doc:"Its name."`
	Engine  string    `json:"engine" doc:"What drives it."`
	Profile string    `json:"profile,omitempty" doc:"The profile."`
	Headful bool      `json:"headful" doc:"Draws on a screen."`
	Opened  time.Time `json:"opened" doc:"Since when."`
	Expires time.Time `json:"expires" doc:"When it is closed if nobody uses it."`
	Tabs    int       `json:"tabs" doc:"How many."`
	URL     string    `json:"url" arg:"untrusted" doc:"The current tab's address."`
}

func (s *Service) sessions() []tool.Tool {
	open := newTool(s, tool.Spec[OpenArgs, Opened]{
		Tool: tool.Tool{
			Name: "session_open", Title: "Open a browser", Ephemeral: true, OpenWorld: true,
			Doc: "Open a browser. All tools take session, not needed while you have one.",
			Errors: []tool.Code{tool.CodeSessionsFull, tool.CodeProfileInUse, tool.CodeProfileMismatch, tool.CodeEngineUnavailable, tool.CodeBrowserFailed,
				tool.CodeBadURL, tool.CodeNavigationFailed},
		},
		Run: s.open,
		Render: func(o Opened, t *tool.Text) {
			t.Line("session %s", o.Session)
			if o.Page != nil {
				renderOutcome(*o.Page, t)
			}
		},
	})
	// The schema lists exactly the engines that are enabled, and names of a policy's profiles are the handler's to refuse.
	for _, f := range open.Input.Fields {
		if f.Name == "engine" {
			f.Schema.Enum = s.m.EngineNames()
		}
	}
	return []tool.Tool{
		open,
		newTool(s, tool.Spec[SessionArgs, Closed]{
			Tool: tool.Tool{
				Name: "session_close", Title: "Close a browser", Ephemeral: true, Idempotent: true,
				Doc:    "Close a session for good.",
				Errors: []tool.Code{tool.CodeSessionNotFound, tool.CodeSessionNeeded},
			},
			Run: func(_ context.Context, c tool.Caller, a SessionArgs) (Closed, error) {
				session, err := s.session(c, a.Session)
				if err != nil {
					return Closed{}, err
				}
				session.Close()
				return Closed{a.Session}, nil
			},
		}),
		newTool(s, tool.Spec[NoArgs, Sessions]{
			Tool: tool.Tool{Name: "sessions", Title: "Your browsers", Ephemeral: true, ReadOnly: true, Doc: "List your browser sessions."},
			Run: func(_ context.Context, c tool.Caller, _ NoArgs) (Sessions, error) {
				out := Sessions{Sessions: []SessionInfo{}}
				for _, i := range s.m.List(ownerOf(c)) {
					out.Sessions = append(out.Sessions, SessionInfo{i.ID, i.Engine, i.Profile, i.Headful, i.Opened.UTC(), i.Expires.UTC(), i.Tabs, i.URL})
				}
				return out, nil
			},
		}),
	}
}

func (s *Service) open(ctx context.Context, c tool.Caller, a OpenArgs) (Opened, error) {
	if a.URL != "" {
		if _, err := browser.CheckURL(a.URL); err != nil {
			return Opened{}, fail(err)
		}
	}
	if a.Profile != "" && c.Tenant.Policy == ephemeral {
		return Opened{}, tool.Fail(tool.CodeNotAllowed, "tool", "session_open with a profile")
	}
	session, err := s.m.Open(ctx, browser.Want{Owner: ownerOf(c), Engine: a.Engine, Profile: a.Profile, Headful: a.Headful})
	if err != nil {
		return Opened{}, fail(err)
	}
	i := session.Info(s.m.Idle())
	out := Opened{Session: i.ID, Engine: i.Engine, Profile: i.Profile, Headful: i.Headful, IdleMin: s.m.Idle().Minutes()}
	if a.URL == "" {
		return out, nil
	}
	page, err := session.Navigate(ctx, a.URL, browser.ActOptions{})
	if err != nil {
		// The agent gets no session from an error: one that it does not know of must not stay.
		session.Close()
		return Opened{}, fail(err)
	}
	out.Page = &page
	return out, nil
}
