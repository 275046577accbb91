package standin

import (
	"testing"

	"parley/platforms"
	"parley/platforms/platformtest"
	"parley/testkit/standin"
)

func TestMain(m *testing.M) { platformtest.Main(m) }

// From the door to the end, with sound both ways, in both clients and in a frame.
func TestAVisit(t *testing.T) {
	for _, flags := range [][]string{{"cookies"}, {"classic", "terms", "-toolbar-hides"}, {"iframe", "name-redraw"}} {
		t.Run(flags[0], func(t *testing.T) { aVisit(t, flags) })
	}
}

func aVisit(t *testing.T, flags []string) {
	s := standin.Scenario{Flags: flags, Passcode: "4711", People: []standin.Person{{Name: "Ada", Host: true}}}
	v := platformtest.OpenVisit(t, Kind(), standin.Options{Scenario: s}, "/wc/81234567890/join")
	if flags[0] == "cookies" {
		v.Click("Reject All")
	}
	name, pass := "#input-for-name", "#input-for-pwd"
	if flags[0] == "classic" {
		name, pass = "#inputname", "#inputpasscode"
		v.Click("I Agree")
	}
	v.Type(name, "Visitor")
	v.Type(pass, "0815")
	v.Click("Join")
	v.Found("the wrong passcode is told", platforms.Target{Selector: "#error-for-pwd"})
	v.Type(pass, "4711")
	v.Click("Join")
	v.Await("waiting", func(o standin.Visitor) bool { return o.Screen == "waiting" && o.Name == "Visitor" })
	v.Do(standin.Action{Do: "admit"})
	v.Await("in, without sound", func(o standin.Visitor) bool { return o.In() && !o.Media })
	v.Click("Join Audio by Computer")
	v.Await("sound", func(o standin.Visitor) bool { return o.Media && o.Microphone })
	v.Press("open the chat panel")
	v.Type(`[role=textbox]`, "hello")
	v.Check("send", v.Page.Press(v.Ctx, "Enter"))
	v.Await("the message", func(o standin.Visitor) bool {
		return len(o.Said) == 1 && o.Said[0].Text == "hello" && o.Said[0].To == "everyone"
	})
	v.Do(standin.Action{Do: "say", Who: "Ada", Text: "good day"})
	v.Found("her message", platforms.Target{Selector: `[id^="chat-message-"]`, Texts: []string{"good day"}})
	v.Do(standin.Action{Do: "speak", Who: "Ada", Hz: 440, Seconds: 120})
	v.Found("she lights up", platforms.Target{Selector: `.speaker-bar-container__video-frame--active`})
	v.HearTone(440)
	v.IsHeard()
	v.Do(standin.Action{Do: "lock"})
	v.Await("muted", func(o standin.Visitor) bool { return !o.Microphone })
	v.Press("unmute my microphone")
	v.Do(standin.Action{Do: "ask-unmute"})
	v.Click("Unmute")
	v.Await("the host's request opens it", func(o standin.Visitor) bool { return o.Microphone })
	v.Press("Leave")
	v.Click("Leave Meeting")
	v.Await("left", func(o standin.Visitor) bool { return o.Screen == "left" && !o.Media })
}

func TestEveryScreenAndDialogIsDrawn(t *testing.T) { platformtest.Drawn(t, Kind(), 11) }
