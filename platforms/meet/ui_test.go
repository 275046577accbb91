package meet

import (
	"testing"

	"parley/platforms/platformtest"
)

// TestTheTableIsWhole holds the module's words against its code: languages, targets, dialogs.
func TestTheTableIsWhole(t *testing.T) {
	platformtest.Table(t, ui, []string{"en", "de", "uk", "ru", "sk", "es", "fr", "it", "nl"},
		"name", "ask", "join", "join-here", "switch-here", "other-ways", "no-account", "no-camera", "no-microphone",
		"captions-on", "you", "phantom", "sharing", "host", "tile", "person", "listed", "speaking", "silent", "body", "own", "captions", "caption", "captioned", "captiontext")
}

func TestEverySelectorParses(t *testing.T) { platformtest.Selectors(t, ui) }
