package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"parley/cmd/parley/internal/figures"
	"parley/testkit/need"
)

// Two guests, a bot, an agent that answers in the channel: interrupted, told that a turn goes on, a draft said. The demo
// fails when one of these does not happen.
func TestAConversationWithTwoGuests(t *testing.T) {
	need.Browser(t)
	need.Sound(t)
	t.Setenv("PARLEY_MODELS", need.Models(t))
	t.Setenv("PARLEY_CONFIG", "/dev/null")
	var out, told bytes.Buffer
	env := &environment{stdin: strings.NewReader(""), stdout: &out, stderr: &told}
	if err := demoCommand.run(t.Context(), env, &demoOptions{talk: true, json: true, keep: t.TempDir()}, nil); err != nil {
		t.Fatalf("%v\n%s", err, told.String())
	}
	var s figures.Suite
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Rows) != 3 {
		t.Errorf("figures: %+v", s.Rows)
	}
	for _, sign := range []string{"i  Emmy has interrupted", "r  the agent is told", "d  the draft is said", "conversation.svg"} {
		if !strings.Contains(told.String(), sign) {
			t.Errorf("the story does not tell %q:\n%s", sign, told.String())
		}
	}
}
