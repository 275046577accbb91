// Package standin is the stand-in of Zoom's web client: its pages, their words and the scenarios that come with them.
package standin

import (
	"embed"
	"io/fs"

	"parley/testkit/standin"
)

//go:embed page
var pageFiles embed.FS

//go:embed scenarios
var scenarioFiles embed.FS

// Kind is the stand-in of Zoom's web client.
func Kind() standin.Kind {
	return standin.Kind{
		Name: "zoom", Files: sub(pageFiles, "page"), Scenarios: sub(scenarioFiles, "scenarios"), Link: "/j/81234567890",
		Screens: []string{
			"launcher", "joining", "denied", "invalid", "not-started", "human", "bot-wall", "sign-in", "sign-in-text", "auth", "web-off", "captcha", "webinar", "error",
			"removed", "ended", "host-ended", "free-ended", "left", "lost", "home",
		},
		Dialogs: []string{
			"recording", "companion", "tip", "devices", "ask-unmute", "ask-video", "upgraded", "permission", "mic-system", "disclaimer", "survey", "unknown",
			"sign-in", "bot-check", "challenge",
		},
		Flags: []string{
			"classic", "terms", "iframe", "name-redraw", "meeting-info", "device-prompt", "cookies", "toolbar-hides", "gallery", "captions", "virtual-list",
			"virtual-chat", "group-chat", "chat-host-only", "no-chat-button", "no-audio-elements", "shadow-dialogs", "waiting-foot-bar", "denied-redirect",
			"survey", "challenge", "audio-plain", "audio-hidden",
		},
		Drops: []string{
			"share", "people", "foot-bar", "leave-label", "mic-label", "cam-label", "people-label", "chat-button-label", "foot-label", "people-list", "chat-list",
			"chat-rows", "receiver-label", "audio-id", "name-id", "preview-ids", "preview-labels",
		},
		Always:  []string{"toolbar-hides"},
		Profile: "/profile", SignIn: "/signin",
		Joining: "joining", AudioByHand: true, DevicesReset: true,
	}
}

func sub(files embed.FS, dir string) fs.FS {
	f, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return f
}
