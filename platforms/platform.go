package platforms

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"parley/meeting"
)

// Platform is a kind of meeting page that we can work. The command gives the list of those it has to whoever resolves
// links; nothing registers itself.
type Platform struct {
	// Name is the platform's in settings, links and status ("meet").
	Name string
	// Hold is how long the signs of being admitted must stand before a Call says so.
	Hold time.Duration
	// Permissions are what the meeting's origin may use without asking ("audioCapture").
	Permissions []string
	// Open makes a Call on a page that has not navigated yet.
	Open func(ctx context.Context, page Page, link Link, o Options) (meeting.Call, error)
}

// Options are what a Call needs beside its link. The zero value is fit for use.
type Options struct {
	// Language the page is asked for, where it can be asked; empty means en.
	Language string
	// Hold replaces the platform's own; zero keeps it.
	Hold time.Duration
	// Captions switches the platform's own captions on, as a second source of who speaks.
	Captions bool
	// Account says that the browser carries a profile that may be signed in.
	Account bool
	// Log gets kinds, ids and counts; nil means slog.Default().
	Log *slog.Logger
}

// List is the platforms there are.
type List []Platform

// For finds the platform of a link. A *LinkError of kind NoModule says that this build cannot attend it.
func (l List) For(link Link) (Platform, error) {
	for _, p := range l {
		if p.Name == link.Platform {
			return p, nil
		}
	}
	return Platform{}, &LinkError{Kind: NoModule, Platform: link.Platform,
		Text: fmt.Sprintf("%s meetings cannot be attended by this version of Parley yet", Title(link.Platform))}
}

// Title is a platform's name as people write it.
func Title(name string) string {
	if t, ok := titles[name]; ok {
		return t
	}
	return name
}

var titles = map[string]string{
	"room": "Parley room", "meet": "Google Meet", "zoom": "Zoom", "teams": "Microsoft Teams", "jitsi": "Jitsi", "livekit": "LiveKit",
}
