package standin

import (
	"context"
	"testing"
	"time"

	"parley/browser/cdp"
	"parley/platforms"
	"parley/platforms/platformtest"
	"parley/testkit/standin"
)

func TestMain(m *testing.M) { platformtest.Main(m) }

// visit opens a stand-in's page as a person's browser would.
func visit(t *testing.T, o standin.Options) (*standin.Server, *cdp.Page, context.Context) {
	t.Helper()
	platformtest.Browser(t)
	o.Log = platformtest.Quiet
	s, err := standin.New(Kind(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	page := platformtest.OpenPage(t, platforms.Platform{Permissions: []string{"audioCapture", "videoCapture"}}, platforms.Link{Origin: s.Origin()})
	if err := page.Navigate(ctx, s.Link()+"?hl=en"); err != nil {
		t.Fatal(err)
	}
	return s, page, ctx
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func await(t *testing.T, ctx context.Context, s *standin.Server, what string, ok func(standin.Visitor) bool) standin.Visitor {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var got standin.Visitor
	st, err := s.Await(ctx, func(st standin.State) bool {
		v, there := st.Newest()
		got = v
		return there && ok(v)
	})
	if err != nil {
		t.Fatalf("never came: %s; %+v", what, st)
	}
	return got
}

// From the door to the end, with sound both ways.
func TestAVisit(t *testing.T) {
	s, page, ctx := visit(t, standin.Options{Scenario: standin.Scenario{People: []standin.Person{{Name: "Ada", Host: true}}}})
	button := func(name string) platforms.Target {
		return platforms.Target{Role: "button", Names: []string{name}, Exact: true}
	}
	must(t, "name", page.Type(ctx, platforms.Target{Selector: `input[aria-label="Your name"]`}, "Visitor"))
	must(t, "ask", page.Click(ctx, button("Ask to join")))
	await(t, ctx, s, "waiting", func(v standin.Visitor) bool { return v.Screen == "waiting" && v.Name == "Visitor" })
	must(t, "admit", s.Do(ctx, standin.Action{Do: "admit"}))
	await(t, ctx, s, "sound", func(v standin.Visitor) bool { return v.In() && v.Media && v.Microphone })
	must(t, "chat", page.Click(ctx, button("Chat with everyone")))
	must(t, "write", page.Type(ctx, platforms.Target{Selector: `textarea[aria-label="Send a message"]`}, "hello"))
	must(t, "send", page.Press(ctx, "Enter"))
	await(t, ctx, s, "the message", func(v standin.Visitor) bool { return len(v.Said) == 1 && v.Said[0].Text == "hello" })
	must(t, "say", s.Do(ctx, standin.Action{Do: "say", Who: "Ada", Text: "good day"}))
	found := func(what string, target platforms.Target) {
		t.Helper()
		for {
			f, err := page.Find(ctx, target)
			must(t, what, err)
			if f.OK {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	found("her message", platforms.Target{Selector: `[data-message-id]`, Texts: []string{"good day"}})
	must(t, "speak", s.Do(ctx, standin.Action{Do: "speak", Who: "Ada", Hz: 440, Seconds: 3}))
	found("she lights up", platforms.Target{Selector: `[data-participant-id].Oaajhc`})
	heard := platformtest.Listen(t, ctx, 2*time.Second)
	if own, other := platformtest.Power(heard, 440), platformtest.Power(heard, 1000); own-other < 20 {
		t.Errorf("the tone is %.1f dB above another", own-other)
	}
	platformtest.Utter(t, ctx, 700, 2*time.Second)
	await(t, ctx, s, "the visitor is heard", func(v standin.Visitor) bool { return v.Heard > 1 && v.PeakDB > -30 })
	must(t, "mute", page.Click(ctx, button("Turn off microphone")))
	await(t, ctx, s, "muted", func(v standin.Visitor) bool { return !v.Microphone })
	must(t, "leave", page.Click(ctx, button("Leave call")))
	await(t, ctx, s, "left", func(v standin.Visitor) bool { return v.Screen == "left" && !v.Media })
}
