package standin

import (
	"testing"

	"parley/platforms"
	"parley/platforms/platformtest"
	"parley/testkit/standin"
)

func TestMain(m *testing.M) { platformtest.Main(m) }

// From the door to the end, with sound both ways.
func TestAVisit(t *testing.T) {
	v := platformtest.OpenVisit(t, Kind(), standin.Options{Scenario: standin.Scenario{People: []standin.Person{{Name: "Ada", Host: true}}}}, "/abc-defg-hij?hl=en")
	v.Type(`input[aria-label="Your name"]`, "Visitor")
	v.Click("Ask to join")
	v.Await("waiting", func(o standin.Visitor) bool { return o.Screen == "waiting" && o.Name == "Visitor" })
	v.Do(standin.Action{Do: "admit"})
	v.Await("sound", func(o standin.Visitor) bool { return o.In() && o.Media && o.Microphone })
	v.Click("Chat with everyone")
	v.Type(`textarea[aria-label="Send a message"]`, "hello")
	v.Check("send", v.Page.Press(v.Ctx, "Enter"))
	v.Await("the message", func(o standin.Visitor) bool { return len(o.Said) == 1 && o.Said[0].Text == "hello" })
	v.Do(standin.Action{Do: "say", Who: "Ada", Text: "good day"})
	v.Found("her message", platforms.Target{Selector: `[data-message-id]`, Texts: []string{"good day"}})
	v.Do(standin.Action{Do: "speak", Who: "Ada", Hz: 440, Seconds: 120})
	v.Found("she lights up", platforms.Target{Selector: `[data-participant-id].Oaajhc`})
	v.HearTone(440)
	v.IsHeard()
	v.Click("Turn off microphone")
	v.Await("muted", func(o standin.Visitor) bool { return !o.Microphone })
	v.Click("Leave call")
	v.Await("left", func(o standin.Visitor) bool { return o.Screen == "left" && !o.Media })
}

func TestEveryScreenAndDialogIsDrawn(t *testing.T) { platformtest.Drawn(t, Kind(), 11) }
