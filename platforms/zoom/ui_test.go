package zoom

import (
	"testing"

	"parley/platforms/platformtest"
)

// TestTheTableIsWhole holds the module's words against its code: languages, targets, dialogs.
func TestTheTableIsWhole(t *testing.T) {
	platformtest.Table(t, ui, []string{"en", "de", "uk", "ru"},
		"launch", "from-browser", "name", "passcode", "passcode-error", "info", "join", "join-audio", "by-computer", "audio-form", "people-open", "receiver", "receiver-item", "everyone", "to-host", "private", "reactions",
		"captions-on", "you", "host", "list", "listed", "listedname", "peoplehead", "tile", "framename", "marked", "stage", "entry", "sender", "receivershown", "body", "own", "caption", "captioned", "captiontext")
}

func TestEverySelectorParses(t *testing.T) { platformtest.Selectors(t, ui) }
