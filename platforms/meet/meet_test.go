package meet

import (
	"fmt"
	"testing"

	"parley/platforms/meet/standin"
	"parley/platforms/platformtest"
	stand "parley/testkit/standin"
)

func TestMain(m *testing.M) { platformtest.Main(m) }

// TestMeet runs the suite against the stand-in.
func TestMeet(t *testing.T) {
	platformtest.Run(t, platformtest.Config{
		Platform: Platform(), Parts: chatLength, NoHosts: true,
		Stage: func(t *testing.T, lobby bool) platformtest.Stage {
			s := stand.Scenario{People: []stand.Person{{Name: "Ada Lovelace", Host: true}}}
			if !lobby {
				s.AfterJoin = "in"
			}
			st := platformtest.OpenStand(t, standin.Kind(), stand.Options{Scenario: s})
			st.PageID = func(s stand.Seat) string { return fmt.Sprint("spaces/standin/devices/", s.N) }
			return st
		},
	})
}
