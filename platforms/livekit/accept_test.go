//go:build accept

package livekit

import (
	"context"
	"slices"
	"testing"
	"time"

	"parley/meeting"
	"parley/platforms/platformtest"
)

func TestMain(m *testing.M) { platformtest.Main(m) }

// TestSuite runs the suite against LiveKit's own server and LiveKit's own page, with LiveKit's own participants.
func TestSuite(t *testing.T) {
	platformtest.Browser(t)
	house := newHouse(t)
	notAMeeting := house.link(t, "x")
	notAMeeting.URL = notAMeeting.Origin + "/nothing-here"
	platformtest.Run(t, platformtest.Config{
		Platform:    Platform(),
		Stage:       func(t *testing.T, _ bool) platformtest.Stage { return house.stage(t) },
		NotAMeeting: notAMeeting,
		NoLobby:     true, NoHosts: true,
	})
}

func TestAServerThatGoesAwayLosesThePage(t *testing.T) {
	platformtest.Browser(t)
	house := newHouse(t)
	call, _, w := platformtest.Attend(t, Platform(), house.link(t, "gone"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := call.Join(ctx, meeting.JoinRequest{Name: "Parley (AI)"}); err != nil {
		t.Fatal(err)
	}
	w.Place(t, 0, meeting.PlaceIn)
	house.stop()
	// The page tries again for most of a minute before it says anything; until then we are in, with nobody to hear.
	for end := time.Now().Add(2 * patience); !left(w) && time.Now().Before(end) && t.Context().Err() == nil; {
		time.Sleep(500 * time.Millisecond)
	}
	if out := w.Place(t, 0, meeting.PlaceOut); out.Reason != string(meeting.ReasonEndedForAll) && out.Reason != string(meeting.ReasonPageLost) {
		t.Errorf("%+v", out)
	}
}

func left(w *platformtest.Watch) bool {
	return slices.ContainsFunc(w.After(0), func(e meeting.CallEvent) bool {
		p, ok := e.(meeting.SeenPlace)
		return ok && p.Place == meeting.PlaceOut
	})
}
