package standin

import (
	"testing"

	"parley/platforms/platformtest"
	"parley/platforms/zoom"
)

// The scenarios that stand for the rest where time is short: `make accept` plays them all.
var short = []string{"lobby", "lobby-looks-like-a-call", "the-chat-speaks-of-ends", "asked-to-unmute", "removed"}

func TestTheModuleOnItsStandIn(t *testing.T) {
	platformtest.Scenarios(t, zoom.Platform(), Kind(), short...)
}
