package tool_test

import (
	"encoding/json"
	"testing"

	"parley/speech/settings"
	"parley/tool"
	"parley/tool/toolfake"
)

func TestSpeechSettingsAreSetAndRemoved(t *testing.T) {
	s := service(t, tool.Options{Tools: tool.Table(&toolfake.Meetings{}, nil)})
	now := func(who tool.Caller, name, args string) map[string]tool.SpeechSetting {
		t.Helper()
		a := call(s, who, name, args)
		if a.Err != nil {
			t.Fatal(name, args, a.Err)
		}
		var n tool.SpeechSettingsNow
		if err := json.Unmarshal(a.Structured, &n); err != nil {
			t.Fatal(err)
		}
		out := map[string]tool.SpeechSetting{}
		for _, x := range n.Settings {
			out[x.Name] = x
		}
		return out
	}
	now(me, "speech_settings_set", `{"vad_silence_s":0.7,"barge_in":false,"ack_phrases":"Mhm.|I see.","turn_hold_ms":1200}`)
	got := now(me, "speech_settings_get", `{}`)
	for name, want := range map[string]string{"vad_silence_s": "0.7", "barge_in": "false", "ack_phrases": "Mhm.|I see.", "turn_hold_ms": "1200"} {
		if g := got[name]; g.Value != want || g.From != "tenant" {
			t.Errorf("%s is %v from %s", name, g.Value, g.From)
		}
	}
	got = now(me, "speech_settings_set", `{"vad_silence_s":null,"barge_in":true}`)
	if g := got["vad_silence_s"]; g.Value != "0.5" || g.From != "default" {
		t.Errorf("a value that was removed is %v from %s", g.Value, g.From)
	}
	if g := now(you, "speech_settings_get", `{}`)["turn_hold_ms"]; g.From != "default" {
		t.Error("another tenant has it, too")
	}
	if a := call(s, swarm, "speech_settings_get", `{}`); a.Err != nil {
		t.Errorf("a read-only token may not read them: %v", a.Err)
	}
	for who, args := range map[*tool.Caller]string{&swarm: `{"barge_in":true}`, &me: `{"vad_silence_s":0.1}`} {
		if a := call(s, *who, "speech_settings_set", args); a.Err == nil {
			t.Errorf("%s of %s was taken", args, who.Tenant.ID)
		}
	}
	for _, args := range []string{`{}`, `{"made_up":1}`, `{"made_up":null}`, `{"backend":"loud"}`} {
		if a := call(s, me, "speech_settings_set", args); a.Err == nil {
			t.Errorf("%s was taken", args)
		}
	}
}

// What can be set by a tool is what there is.
func TestEverySpeechSettingIsAnArgument(t *testing.T) {
	args := map[string]bool{}
	for _, tl := range tool.Table(&toolfake.Meetings{}, nil) {
		if tl.Name == "speech_settings_set" {
			for _, f := range tl.Input.Fields {
				args[f.Name] = true
			}
		}
	}
	for _, s := range settings.All {
		if !args[s.Name] {
			t.Errorf("%s cannot be set", s.Name)
		}
		delete(args, s.Name)
	}
	for name := range args {
		t.Errorf("%s can be set and is no setting", name)
	}
}
