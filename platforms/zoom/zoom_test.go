package zoom

import (
	"testing"

	"parley/platforms/platformtest"
	"parley/platforms/zoom/standin"
	stand "parley/testkit/standin"
)

func TestMain(m *testing.M) { platformtest.Main(m) }

// TestZoom runs the suite against the stand-in.
func TestZoom(t *testing.T) {
	platformtest.Run(t, platformtest.Config{
		Platform: Platform(), Parts: chatLength, Private: true, AlwaysSomebody: true, ResetsDevices: true,
		Stage: func(t *testing.T, lobby bool) platformtest.Stage {
			s := stand.Scenario{People: []stand.Person{{Name: "Ada Lovelace", Host: true}}}
			if !lobby {
				s.AfterJoin = "in"
			}
			st := platformtest.OpenStand(t, standin.Kind(), stand.Options{Scenario: s})
			st.PageID = func(s stand.Seat) string { return "name:" + s.Name }
			return st
		},
	})
}
