package zoom

import (
	"testing"

	"parley/platforms/platformtest"
	"parley/platforms/zoom/standin"
)

// fixes are the lines that mend the symptoms which a line can mend.
var fixes = []platformtest.Fix{
	{Scenario: "launcher", Off: []string{"target launch", "target from-browser"}},
	{Scenario: "lobby-looks-like-a-call", Off: []string{"sign waiting-room", "sign on-hold"}},
	{Scenario: "denied-by-a-person", Off: []string{"sign removed", "sign removed-line"}},
	{Scenario: "removed", Off: []string{"sign removed", "sign removed-line"}},
	{Scenario: "ended-for-all", Off: []string{"sign ended", "sign ended-line"}},
	{Scenario: "free-meeting-ended", Off: []string{"sign ended", "sign ended-line"}},
	{Scenario: "passcode-wrong", Off: []string{"sign passcode-wrong", "target passcode-error", "target passcode"}},
	{Scenario: "bot-wall", Off: []string{"sign bot-wall"}},
	{Scenario: "bot-wall-before-the-door", Off: []string{"sign bot-wall"}},
	{Scenario: "sign-in-text", Off: []string{"sign sign-in"}},
	{Scenario: "authentication", Off: []string{"sign sign-in"}},
	{Scenario: "sign-in-redirect", Off: []string{"sign sign-in", "sign sign-in-address"}},
	{Scenario: "web-client-off", Off: []string{"sign web-client-off"}},
	{Scenario: "link-invalid", Off: []string{"sign link-invalid"}},
	{Scenario: "upgraded-is-no-end", Off: []string{"dialog upgraded"}},
	{Scenario: "audio-in-other-words", Off: []string{"target audio-form", "dialog audio-form"}},
	{Scenario: "info-over-the-door", Off: []string{"target info"}},
	{Scenario: "being-recorded", Off: []string{"dialog recorded"}},
	{Scenario: "companion", Off: []string{"dialog companion"}},
	{Scenario: "cookie-banner", Off: []string{"dialog cookies", "dialog cookie-words"}},
	{Scenario: "asked-to-unmute", Off: []string{"dialog unmute"}},
	{Scenario: "classic-terms", Off: []string{"dialog terms"}},
	{Scenario: "devices-on-after-admission", Off: []string{"target microphone", "target camera"}},
}

func TestEveryFixIsALine(t *testing.T) { platformtest.FixesHold(t, ui, standin.Kind(), fixes) }
