package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/examples/internal/exampletest"
	"parley/examples/mind"
)

// scripted is the script, with thoughts that can be held up.
type scripted struct {
	*mind.Script
	hold chan struct{} // nil: no hold
}

func (s *scripted) Answer(ctx context.Context, talk []mind.Line) (string, error) {
	if s.hold != nil && strings.Contains(talk[len(talk)-1].Text, "slowly") {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return s.Script.Answer(ctx, talk)
}

// attending is an agent in a simulated meeting.
func attending(t *testing.T, m mind.Mind) (*exampletest.Service, string, *exampletest.Output, <-chan error, context.CancelFunc) {
	t.Helper()
	s := exampletest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w, err := dial(ctx, "ws://"+s.Addr+"/mcp", exampletest.Token)
	if err != nil {
		t.Fatal(err)
	}
	out, done := &exampletest.Output{}, make(chan error, 1)
	go func() { done <- attend(ctx, w, m, "http://127.0.0.1:1/room/x", out) }()
	id := s.Meeting(t)
	exampletest.Eventually(t, "the agent knows its meeting", func() bool { return strings.Contains(out.String(), "joined as "+id) })
	return s, id, out, done, cancel
}

func ended(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the agent goes on")
	}
}

func TestItAnswersInTheMeeting(t *testing.T) {
	m, err := mind.FromEnv(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	s, id, out, done, _ := attending(t, m)
	s.Meetings.Say(id, "Ada", "The weather is fine.")
	s.Meetings.Say(id, "Ada", "Parley, can you hear me?")
	s.Said(t, id, "Yes, I hear you well.")
	s.Meetings.Interrupt(id, "Yes, I", "hear you well.")
	exampletest.Eventually(t, "it hears that it was interrupted", func() bool { return strings.Contains(out.String(), "(interrupted)") })
	s.Meetings.End(id, "kicked")
	ended(t, done)
	if got := out.String(); !strings.Contains(got, "Ada: The weather is fine.") || !strings.Contains(got, "the channel is closed") {
		t.Error(got)
	}
	if said := s.Meetings.Talked(id); len(said) != 1 {
		t.Errorf("it said %q", said)
	}
}

func TestItForgetsAnAnswerWhenTheSpeakerGoesOn(t *testing.T) {
	script, err := mind.ParseScript("slowly => To the half.\nwhole => To the whole.")
	if err != nil {
		t.Fatal(err)
	}
	m := &scripted{script, make(chan struct{})}
	s, id, out, done, cancel := attending(t, m)
	s.Meetings.Say(id, "Ada", "Think slowly about half of")
	exampletest.Eventually(t, "it has heard", func() bool { return strings.Contains(out.String(), "Think slowly") })
	s.Meetings.Reopen(id, "the matter")
	exampletest.Eventually(t, "it hears that they go on", func() bool { return strings.Contains(out.String(), "(they go on)") })
	close(m.hold)
	s.Meetings.Say(id, "Ada", "The whole matter.")
	s.Said(t, id, "To the whole.")
	if said := s.Meetings.Talked(id); len(said) != 1 {
		t.Errorf("it said %q", said)
	}
	// Told to end, it leaves.
	cancel()
	ended(t, done)
	if st, err := s.Meetings.Status(context.Background(), "me", id); err != nil || st.Reason != "left" {
		t.Errorf("%+v %v", st, err)
	}
}

func TestATokenThatIsNotKnown(t *testing.T) {
	s := exampletest.Start(t)
	if _, err := dial(t.Context(), "ws://"+s.Addr+"/mcp", "wrong"); err == nil || !strings.Contains(err.Error(), "PARLEY_TOKEN") {
		t.Error(err)
	}
}
