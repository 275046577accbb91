package room

import (
	"testing"

	"parley/platforms/platformtest"
	"parley/room"
)

func TestMain(m *testing.M) { platformtest.Main(m) }

func TestSuite(t *testing.T) {
	platformtest.Browser(t)
	other := newStage(t, room.Options{})
	notAMeeting := other.link
	notAMeeting.URL = notAMeeting.Origin + "/nothing-here"
	platformtest.Run(t, platformtest.Config{
		Platform:    Platform(),
		Stage:       func(t *testing.T, lobby bool) platformtest.Stage { return newStage(t, room.Options{Lobby: lobby}) },
		NotAMeeting: notAMeeting,
	})
}
