// Package meet works Google Meet in a browser as a person would: by what is on the screen and real input.
package meet

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"

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
		panic(fmt.Sprintf("platforms/meet/ui.json: %v", err)) // embedded: a test reads it first
	}
	return t
}()

// chatLength is the longest message that Meet takes, in characters.
const chatLength = 500

// module is what Meet adds to a Call.
func module() attend.Module {
	return attend.Module{
		Table: ui, Read: readJS, ChatLength: chatLength, Chord: "Control+D",
		Toolbar: `[role="region"], [role="toolbar"]`,
		Join:    join, Settle: settle, Tend: tend,
	}
}

// Platform is Google Meet, for the command's list.
func Platform() platforms.Platform {
	return platforms.Platform{
		Name: "meet", Hold: ui.Hold(), Permissions: []string{"audioCapture"},
		Open: func(ctx context.Context, page platforms.Page, link platforms.Link, o platforms.Options) (meeting.Call, error) {
			return attend.Open(ctx, module(), page, link, o)
		},
	}
}

// address asks for the page in a language; it keeps the parameter while the page moves.
func address(link, lang string) (string, error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", fmt.Errorf("join: %w", err)
	}
	if lang == "" {
		lang = "en"
	}
	q := u.Query()
	q.Set("hl", lang)
	u.RawQuery = q.Encode()
	return u.String(), nil
}
