package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"parley/cmd/parley/internal/figures"
	"parley/room"
	"parley/testkit/elevenlabs"
	"parley/testkit/need"
	"parley/testkit/supertonic"
	"parley/tool"
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

// A second voice speaks in a real room: what it says comes from the service, and is proven to have been heard.
func TestAnotherVoiceIsHeard(t *testing.T) {
	need.Real(t)
	service, cloud := supertonic.New(), elevenlabs.New()
	defer service.Close()
	defer cloud.Close()
	h := newHouse(t, "PARLEY_TTS_URL="+service.URL, "ELEVENLABS_API_KEY="+elevenlabs.Key, "PARLEY_ELEVENLABS_URL="+cloud.URL)
	link := h.room.Link(room.NewID())
	h.guest(link, "Ada")
	id := h.attend(link, nil)
	h.call("speech_settings_set", map[string]any{"supertonic_voice": "supertonic-M2"}, nil)
	var sp tool.Spoken
	h.call("meeting_speak", map[string]any{"meeting_id": id, "backend": "supertonic", "voice": "M2", "text": "Good morning. This is another voice, and it has something to say.", "wait": true}, &sp)
	if sp.State != "done" || sp.Said == "" || sp.DurationS < 1 || sp.GapMS > 10_000 {
		t.Errorf("it was said so: %+v", sp)
	}
	if p := sp.Proof; p == nil || p.Heard == "false" || p.Microphone != "on" || p.LevelDB == nil || *p.LevelDB < -40 {
		t.Errorf("the proof that it was heard: %+v", p)
	}
	if r := service.Requests(); len(r) < 2 || r[0].Voice != "M2" || r[0].Input != "Good morning." {
		t.Errorf("the service was asked for %+v", r)
	}
	// The one in the cloud is busy at first, and breaks off once; nobody hears that.
	cloud.Change(func(b *elevenlabs.Behaviour) { b.Busy, b.Cuts = 1, 1 })
	h.call("speech_settings_set", map[string]any{"backend": "elevenlabs", "elevenlabs_voice": elevenlabs.Voice}, nil)
	h.call("meeting_speak", map[string]any{"meeting_id": id, "backend": "elevenlabs", "voice": elevenlabs.Voice, "text": "Good morning. This one is far away.", "wait": true}, &sp)
	if p := sp.Proof; sp.State != "done" || p == nil || p.Heard == "false" || p.LevelDB == nil || *p.LevelDB < -40 {
		t.Errorf("the voice in the cloud: %+v", sp)
	}
	if r := cloud.Requests(); len(r) != 4 || r[3].Voice != elevenlabs.Voice || r[3].Text != "This one is far away." || r[3].Logging != "false" || r[3].Lang != "" {
		t.Errorf("the cloud was asked for %+v", r)
	}
	cloud.Change(func(b *elevenlabs.Behaviour) { b.Quota = true })
	if err := h.c.call(h.ctx, "meeting_speak", map[string]any{"meeting_id": id, "backend": "elevenlabs", "text": "Hello."}, nil); err == nil {
		t.Error("without credit it was said all the same")
	}
	h.call("meeting_leave", map[string]any{"meeting_id": id}, nil)
}
