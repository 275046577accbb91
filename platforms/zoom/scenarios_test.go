package zoom

import (
	"os"
	"strings"
	"testing"

	"parley/platforms/platformtest"
	"parley/platforms/zoom/standin"
)

// TestScenarios plays the stand-in's scenarios: the symptoms of the field, with what must be made of each. PARLEY_SCENARIOS
// names those to play ("all", or names divided by commas); without it a selection is played that touches every part.
func TestScenarios(t *testing.T) {
	names := selected
	switch v := os.Getenv("PARLEY_SCENARIOS"); v {
	case "":
	case "all":
		names = nil
	default:
		names = strings.Split(v, ",")
	}
	platformtest.Scenarios(t, Platform(), standin.Kind(), names...)
}

var selected = []string{"denied-redirect", "launcher", "removed", "passcode-wrong", "chat-to-hosts-only", "passcode-in-the-link", "classic-client", "audio-in-other-words", "audio-nowhere"}
