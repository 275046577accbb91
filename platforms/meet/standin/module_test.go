package standin

import (
	"testing"

	"parley/platforms/meet"
	"parley/platforms/platformtest"
)

// The scenarios that stand for the rest where time is short: `make accept` plays them all.
var short = []string{"lobby", "lobby-looks-like-a-call", "the-chat-speaks-of-ends", "gate-notes", "removed"}

func TestTheModuleOnItsStandIn(t *testing.T) {
	platformtest.Scenarios(t, meet.Platform(), Kind(), short...)
}
