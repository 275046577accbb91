// Package standin is the stand-in of Google Meet: its pages, their words and the scenarios that come with them.
package standin

import (
	"embed"
	"io/fs"
	"net/url"

	"parley/testkit/standin"
)

//go:embed page
var pageFiles embed.FS

//go:embed scenarios
var scenarioFiles embed.FS

// Kind is the stand-in of Google Meet.
func Kind() standin.Kind {
	return standin.Kind{
		Name: "meet", Files: sub(pageFiles, "page"), Scenarios: sub(scenarioFiles, "scenarios"), Link: "/abc-defg-hij",
		Screens: []string{
			"getting-ready", "denied", "left-lobby", "no-answer", "refused", "refused-meeting", "connect-problem", "credentials", "invalid", "expired",
			"sign-in", "captcha", "variant", "not-started", "error", "removed", "ended", "call-ended", "left", "lost", "home",
		},
		Dialogs: []string{
			"gate-recording", "gate-transcribing", "gate-notes", "gate-addon", "devices", "tip", "safe", "cookies", "survey", "unknown", "sign-in",
			"locked", "challenge",
		},
		Flags: []string{
			"open", "host-wait", "silent-early-click", "name-redraw", "use-without-account", "no-phantom", "bare-waiting", "toolbar-hides",
			"count-in-label", "no-tiles", "audio-level", "merged-audio", "captions", "virtual-list", "no-audio-elements", "no-chat-button", "leave-asks",
			"device-dialog", "shadow-dialogs", "mic-problem", "survey", "challenge", "devices-reset", "you",
		},
		Drops: []string{
			"share", "people", "controls-region", "leave-jsname", "leave-label", "join-jsname", "is-muted", "device-label", "device-jsname", "participant-id",
			"self-name", "side-panel", "people-list", "panel-ids", "chat-label", "name-label", "name-jsname", "ligatures", "dialog-action",
		},
		// The parameter hl is honoured for guests and accounts, and kept while the page moves.
		Honours: func(u *url.URL) string { return u.Query().Get("hl") },
	}
}

func sub(files embed.FS, dir string) fs.FS {
	f, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return f
}
