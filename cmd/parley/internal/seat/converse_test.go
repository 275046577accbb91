package seat

import (
	"encoding/json"
	"errors"
	"testing"

	"parley/channel"
	"parley/meeting/keeper"
	"parley/meeting/wire"
	"parley/speech/settings"
	"parley/tool"
)

func TestWhatIsToldOfAConversation(t *testing.T) {
	s := New(Options{})
	body, err := json.Marshal(channel.Message{ID: "m1:7", Channel: channel.ID("m1"), Text: []string{"hello"}})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(r wire.Report) (channel.Update, bool) {
		return s.update(keeper.Event{Tenant: "me", Meeting: "m1", Platform: "room", Cursor: 9, Report: r})
	}
	if u, ok := tell(wire.Report{Channel: &wire.Channel{Open: true, Speculative: true}}); !ok || u.Opened == nil || u.Opened.ID != "parley:meeting:m1" ||
		u.Opened.Tenant != "me" || !u.Opened.Speculative || u.Cursor != 9 {
		t.Errorf("a channel that opens: %+v, %t", u, ok)
	}
	if u, ok := tell(wire.Report{Channel: &wire.Channel{Why: "objection"}}); !ok || u.Closed != "objection" {
		t.Errorf("a channel that closes: %+v, %t", u, ok)
	}
	if u, ok := tell(wire.Report{Message: &wire.Told{Body: body}}); !ok || u.Message == nil || u.Message.ID != "m1:7" {
		t.Errorf("a message: %+v, %t", u, ok)
	}
	for name, r := range map[string]wire.Report{
		"a message of another version": {Message: &wire.Told{Body: json.RawMessage(`[]`)}},
		"a roster":                     {People: &wire.People{}},
	} {
		if u, ok := tell(r); ok {
			t.Errorf("%s is told: %+v", name, u)
		}
	}
}

func TestWhyAPublishIsRefused(t *testing.T) {
	for code, want := range map[wire.Code]string{
		wire.CodeOver: channel.ReasonEnded, wire.CodeNotYet: channel.ReasonNotAttending, wire.CodeNotAllowed: channel.ReasonNotPermitted,
		wire.CodeUnavailable: channel.ReasonNoMicrophone, wire.CodeBusy: "busy",
	} {
		if got := refusalReason(&wire.Error{Code: code}); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

func TestTheVoiceThatAMeetingGets(t *testing.T) {
	tenant := map[string]string{settings.Backend: settings.BackendSupertonic, settings.SupertonicVoice: "supertonic-M2", "turn_hold_ms": "700", settings.MeetingChannel: "false"}
	with, without := New(Options{TTSURL: "http://127.0.0.1:7788"}), New(Options{})
	v := settings.Resolve(tenant, nil)
	w := with.wireSpeech(v)
	if w.Backend != "supertonic" || w.Voices["supertonic"] != "M2" || w.Voices["local"] != "af_heart" || w.URLs["supertonic"] == "" || w.Turn["turn_hold_ms"] != "700" || !w.NoChannel || w.SilenceMS != 500 {
		t.Errorf("with the service: %+v", w)
	}
	if w := without.wireSpeech(v); w.Backend != "local" || w.URLs != nil {
		t.Errorf("without the service: %+v", w)
	}
	if n := len(without.now(v).Warnings); n != 1 {
		t.Errorf("%d warnings of a backend that is not there", n)
	}
	var e *tool.Error
	for name, ok := range map[string]bool{"": true, "local": true, "supertonic": false, "elevenlabs": false} {
		if err := without.backend(name); (err == nil) != ok || !ok && (!errors.As(err, &e) || e.Code != tool.CodeSpeechUnavailable) {
			t.Errorf("backend %q: %v", name, err)
		}
	}
	if with.backend("supertonic") != nil {
		t.Error("a backend that is there is refused")
	}
}
