// Package zoom works Zoom's web client in a browser as a person would, in both of its forms: by what is on the screen and
// real input.
package zoom

import (
	"context"
	_ "embed"
	"fmt"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/attend"
	"parley/platforms/sign"
)

//go:embed ui.json
var uiJSON []byte

//go:embed read.js
var readJS string

// ui is the page's signs and words.
var ui = func() *sign.Table {
	t, err := sign.ParseTable(uiJSON)
	if err != nil {
		panic(fmt.Sprintf("platforms/zoom/ui.json: %v", err)) // embedded: a test reads it first
	}
	return t
}()

// chatLength is the longest message that Zoom takes, in characters.
const chatLength = 1024

// module is what Zoom adds to a Call.
func module() attend.Module {
	return attend.Module{
		Table: ui, Read: readJS, ChatLength: chatLength, Chord: "Alt+A", Toolbar: "#foot-bar, #wc-footer, [role=\"toolbar\"]",
		Join: join, Settle: settle, Tend: tend, Receiver: receiver, Uncover: uncover,
	}
}

// Platform is Zoom, for the command's list.
func Platform() platforms.Platform {
	return platforms.Platform{
		Name: "zoom", Hold: ui.Hold(), Permissions: []string{"audioCapture"},
		Open: func(ctx context.Context, page platforms.Page, link platforms.Link, o platforms.Options) (meeting.Call, error) {
			return attend.Open(ctx, module(), page, link, o)
		},
	}
}
