package meet

import (
	"testing"

	"parley/platforms/meet/standin"
	"parley/platforms/platformtest"
)

// fixes are the lines that mend the symptoms which a line can mend.
var fixes = []platformtest.Fix{
	{Scenario: "lobby-looks-like-a-call", Off: []string{"sign asking"}},
	{Scenario: "denied-by-a-person", Off: []string{"sign denied"}},
	{Scenario: "denied-beside-a-badge", Off: []string{"sign denied"}},
	{Scenario: "refused-by-google", Off: []string{"sign refused"}},
	{Scenario: "refused-before-the-door", Off: []string{"sign refused"}},
	{Scenario: "no-answer", Off: []string{"sign no-answer"}},
	{Scenario: "wrong-code", Off: []string{"sign not-found"}},
	{Scenario: "expired-code", Off: []string{"sign not-found"}},
	{Scenario: "credentials", Off: []string{"sign account-trouble"}},
	{Scenario: "sign-in-wall", Off: []string{"sign sign-in", "sign sign-in-address", "sign sign-in-account"}},
	{Scenario: "event-page", Off: []string{"sign variant"}},
	{Scenario: "german-lobby", Off: []string{"sign asking/de"}},
	{Scenario: "german-refused", Off: []string{"sign refused/de"}},
	{Scenario: "italian-lobby", Off: []string{"sign asking/it"}},
	{Scenario: "removed", Off: []string{"sign removed"}},
	{Scenario: "ended-for-all", Off: []string{"sign ended", "sign ended-word"}},
	{Scenario: "cookie-banner", Off: []string{"dialog cookies"}},
	{Scenario: "gate-notes", Off: []string{"dialog recorded", "dialog gate-form", "dialog gate-buttons"}},
	{Scenario: "gate-addon", Off: []string{"dialog recorded", "dialog gate-form", "dialog gate-buttons"}},
	{Scenario: "device-dialog", Off: []string{"dialog devices"}},
	{Scenario: "tips-over-the-door", Off: []string{"dialog tips"}},
	{Scenario: "join-here-too", Off: []string{"target join-here", "target join"}},
	{Scenario: "ask-without-devices", Off: []string{"target ask", "target join"}},
	{Scenario: "count-in-the-label", Off: []string{"target people"}},
}

func TestEveryFixIsALine(t *testing.T) { platformtest.FixesHold(t, ui, standin.Kind(), fixes) }
