package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/examples/internal/exampletest"
	"parley/examples/mind"
	"parley/tool"
)

// attending is an agent in a simulated meeting.
func attending(t *testing.T) (*exampletest.Service, string, *exampletest.Output, <-chan error, context.CancelFunc) {
	t.Helper()
	m, err := mind.FromEnv(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	s := exampletest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	out, done := &exampletest.Output{}, make(chan error, 1)
	env := func(name string) string {
		return map[string]string{"PARLEY_URL": "http://" + s.Addr + "/mcp", "PARLEY_TOKEN": exampletest.Token}[name]
	}
	go func() { done <- attend(ctx, transport("", env), m, "http://127.0.0.1:1/room/x", out) }()
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
	s, id, out, done, _ := attending(t)
	s.Meetings.Say(id, "Ada", "The weather is fine.")
	s.Meetings.Say(id, "Ada", "Parley, can you hear me?")
	exampletest.Eventually(t, "it speaks", func() bool { return strings.Contains(out.String(), "we: Yes, I hear you well.") })
	heard, err := s.Meetings.Listen(t.Context(), "me", tool.ListenArgs{MeetingArgs: tool.MeetingArgs{Meeting: id}, Kinds: []string{"speech"}, Limit: 10})
	if err != nil || len(heard.Events) != 1 {
		t.Errorf("%+v %v", heard, err)
	}
	s.Meetings.End(id, "kicked")
	ended(t, done)
	if got := out.String(); !strings.Contains(got, "Ada: The weather is fine.") || !strings.Contains(got, "the meeting is over") {
		t.Error(got)
	}
}

func TestItDraftsWhileSomebodySpeaks(t *testing.T) {
	s, id, out, done, cancel := attending(t)
	s.Meetings.Mumble(id, "Parley, what time is it")
	exampletest.Eventually(t, "it has a draft", func() bool { return s.Meetings.Drafted(id) != "" })
	s.Meetings.Say(id, "Ada", "Parley, what time is it?")
	// The first sentence was drafted, so only the second one is spoken by a call.
	exampletest.Eventually(t, "it says the rest", func() bool { return strings.Contains(out.String(), "we: But I do have a transcript.") })
	if got := out.String(); !strings.Contains(got, "we: I have no clock, sorry. (drafted)") {
		t.Error(got)
	}
	cancel()
	ended(t, done)
	if st, err := s.Meetings.Status(context.Background(), "me", id); err != nil || st.Reason != "left" {
		t.Errorf("%+v %v", st, err)
	}
}
