package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"strings"
	"testing"

	"parley/room"
	"parley/room/guest"
	"parley/room/wire"
)

func TestAGuestsEndHasTheExitCodeOfAJoins(t *testing.T) {
	for _, c := range []struct {
		err    error
		joined bool
		want   int
	}{
		{nil, true, exitOK},
		{&guest.Out{Reason: wire.ReasonEnded}, true, exitOK},
		{&guest.Out{Reason: wire.ReasonShutdown}, true, exitOK},
		{&guest.Out{Reason: wire.ReasonLeft}, true, exitOK},
		{&guest.Out{Reason: wire.ReasonEnded}, false, exitRefused},
		{&guest.Out{Reason: wire.ReasonRemoved}, true, exitRefused},
		{&guest.Out{Reason: wire.ReasonDeclined}, false, exitRefused},
		{&guest.Out{Reason: wire.ReasonFull}, false, exitRefused},
		{&guest.Out{Reason: wire.ReasonUnreachable}, false, exitRefused},
		{&guest.Out{Reason: wire.ReasonLost}, true, exitFailed},
		{&guest.Out{Reason: wire.ReasonReplaced}, true, exitFailed},
		{&guest.Out{Reason: wire.ReasonBadName}, false, exitUsage},
		{fmt.Errorf("x: %w", guest.ErrLink), false, exitUsage},
		{fmt.Errorf("x: %w", fs.ErrNotExist), false, exitUsage},
		{fmt.Errorf("x: %w", exec.ErrNotFound), false, exitMissing},
		{errors.New("x"), true, exitFailed},
	} {
		code, err := exitOK, guestEnd(c.err, c.joined)
		if e, ok := errors.AsType[*exitError](err); ok {
			code = e.code
		} else if err != nil {
			code = exitFailed
		}
		if code != c.want {
			t.Errorf("%v, joined %v: code %d, want %d", c.err, c.joined, code, c.want)
		}
	}
}

func TestGuestAndJoinAgreeOnBadLinks(t *testing.T) {
	for _, link := range []string{"nonsense", "http://127.0.0.1:7370/room/", "http://127.0.0.1:7370/"} {
		joinCode, _, joinErr := run(t, "join", link)
		guestCode, _, guestErr := run(t, "guest", link)
		if joinCode != exitUsage || guestCode != exitUsage {
			t.Errorf("%s: join %d (%s), guest %d (%s)", link, joinCode, joinErr, guestCode, guestErr)
		}
		if strings.Contains(link, "/room/") && strings.HasPrefix(link, "http") && !(strings.Contains(joinErr, "/room/standup") && strings.Contains(guestErr, "/room/standup")) {
			t.Errorf("%s: neither says what a room's link looks like: %q, %q", link, joinErr, guestErr)
		}
	}
	if code, _, errs := run(t, "guest", "http://127.0.0.1:1/room/x"); code != exitRefused {
		t.Errorf("a room that does not answer: %d %s", code, errs)
	}
	if code, _, errs := run(t, "guest", "http://127.0.0.1:1/room/x", "--play", "/nowhere/x.wav"); code != exitUsage {
		t.Errorf("a file that there is not: %d %s", code, errs)
	}
}

func TestAGuestWhoseRoomEndsIsDone(t *testing.T) {
	server, err := room.New(room.Options{Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	done := make(chan error, 1)
	joined := make(chan bool, 1)
	go func() {
		err := guest.Run(t.Context(), guest.Options{URL: server.Link("x"), Name: "Ada", Log: slog.New(slog.DiscardHandler)}, guest.Script{}, func(e guest.Event) {
			if e.Kind == guest.Joined {
				joined <- true
			}
		})
		done <- err
	}()
	<-joined
	stop()
	if err := guestEnd(<-done, true); err != nil {
		t.Error(err)
	}
	<-served
}
