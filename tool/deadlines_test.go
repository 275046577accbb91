package tool_test

import (
	"testing"
	"time"

	"parley/tool"
	"parley/tool/toolfake"
)

func TestDeadlines(t *testing.T) {
	got, err := tool.ParseDeadlines(" meeting_speak = 120 , meeting_join=1,")
	if err != nil || len(got) != 2 || got["meeting_speak"] != 2*time.Minute || got["meeting_join"] != time.Second {
		t.Fatal(got, err)
	}
	if _, err := tool.NewService(tool.Options{Tools: tool.Table(&toolfake.Meetings{}, nil), Deadlines: got}); err != nil {
		t.Error(err)
	}
	if _, err := tool.NewService(tool.Options{Tools: tool.Table(&toolfake.Meetings{}, nil), Deadlines: map[string]time.Duration{"read": time.Second}}); err == nil {
		t.Error("a deadline of no tool was taken")
	}
	for _, bad := range []string{"meeting_join", "meeting_join=0", "meeting_join=121", "meeting_join=x", "=5", "a=1,a=2"} {
		if _, err := tool.ParseDeadlines(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzParseDeadlines(f *testing.F) {
	f.Add("meeting_speak=90,meeting_join=45")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := tool.ParseDeadlines(s)
		for name, d := range got {
			if err != nil || name == "" || d < time.Second || d > tool.MaxDeadline {
				t.Errorf("%q: %q %v %v", s, name, d, err)
			}
		}
	})
}
