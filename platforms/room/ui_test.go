package room

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"parley/meeting"
	"parley/platforms/sign"
)

// TestTheWordsAreThePages holds ui.json against the page's own strings, in every language that it has.
func TestTheWordsAreThePages(t *testing.T) {
	raw, err := os.ReadFile("../../room/page/strings.json")
	if err != nil {
		t.Fatal(err)
	}
	var page map[string]map[string]string
	if err := json.Unmarshal(raw, &page); err != nil {
		t.Fatal(err)
	}
	signs := map[string]map[string][]string{}
	for _, s := range ui.Signs {
		signs[s.Name] = s.Names
		if len(s.Texts) > 0 {
			signs[s.Name] = s.Texts
		}
	}
	target := func(name string) map[string][]string { return ui.Targets[name].Names }
	for _, c := range []struct {
		where string
		words map[string][]string
		keys  []string
	}{
		{"call-controls", signs["call-controls"], []string{"call.controls"}},
		{"leave-button", signs["leave-button"], []string{"leave"}},
		{"people-button", signs["people-button"], []string{"people.count"}},
		{"name-field", signs["name-field"], []string{"lobby.name"}},
		{"join-button", signs["join-button"], []string{"lobby.join", "lobby.joining"}},
		{"waiting-text", signs["waiting-text"], []string{"waiting.text"}},
		{"declined", signs["declined"], []string{"ended.declined"}},
		{"full", signs["full"], []string{"ended.full", "ended.busy"}},
		{"left", signs["left"], []string{"ended.left"}},
		{"removed", signs["removed"], []string{"ended.removed"}},
		{"ended", signs["ended"], []string{"ended.ended"}},
		{"lost", signs["lost"], []string{"ended.lost", "ended.replaced", "ended.protocol"}},
		{"name", target("name"), []string{"lobby.name"}},
		{"join", target("join"), []string{"lobby.join"}},
		{"original", target("original"), []string{"lobby.original"}},
		{"microphone", target("microphone"), []string{"mic.mute", "mic.unmute"}},
		{"hand", target("hand"), []string{"hand.raise", "hand.lower"}},
		{"raise", target("raise"), []string{"hand.raise"}},
		{"lower", target("lower"), []string{"hand.lower"}},
		{"chat", target("chat"), []string{"chat.title", "chat.unread"}},
		{"log", target("log"), []string{"chat.log"}},
		{"message", target("message"), []string{"chat.message"}},
		{"send", target("send"), []string{"chat.send"}},
		{"people", target("people"), []string{"people.title"}},
		{"leave", target("leave"), []string{"leave"}},
		{"cancel", target("cancel"), []string{"waiting.cancel"}},
		{"device on", ui.Devices["microphone"].On, []string{"mic.mute"}},
		{"device off", ui.Devices["microphone"].Off, []string{"mic.unmute"}},
	} {
		for lang, strs := range page {
			for _, key := range c.keys {
				// What the page fills in ends the words that we look for.
				want, _, filled := strings.Cut(strs[key], "{")
				if filled {
					want, _, _ = strings.Cut(want, ",")
				}
				if want = strings.TrimSpace(want); !slices.Contains(c.words[lang], want) {
					t.Errorf("%s: the page says %q (%s, %s)", c.where, want, key, lang)
				}
			}
		}
		for lang := range c.words {
			if page[lang] == nil {
				t.Errorf("%s: the page has no %q", c.where, lang)
			}
		}
	}
}

func TestEveryTargetThatIsAskedForIsThere(t *testing.T) {
	for _, name := range []string{"name", "join", "problem", "original", "microphone", "hand", "raise", "lower", "chat", "log", "message", "send", "people", "leave", "cancel", "dialog"} {
		if w := ui.Targets[name]; w.Role == "" && w.Selector == "" {
			t.Errorf("%s is missing", name)
		}
		target(name)
	}
	if _, ok := ui.Devices["microphone"]; !ok {
		t.Error("no rule for the microphone")
	}
	if ui.Hold() <= 0 || len(ui.Signs) == 0 || ui.Signs[0].Kind != sign.In {
		t.Errorf("%+v", ui)
	}
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"http://127.0.0.1:1/room/x":          "http://127.0.0.1:1/room/x?lang=de",
		"http://127.0.0.1:1/room/x#host=KEY": "http://127.0.0.1:1/room/x?lang=de#host=KEY",
	} {
		if got, err := address(in, "de"); err != nil || got != want {
			t.Errorf("%s: %s %v", in, got, err)
		}
	}
}

func FuzzDecodeTap(f *testing.F) {
	f.Add([]byte(`{"person":"p1","track":"t1","pos":640,"pcm":"AAEAAg=="}`))
	f.Add([]byte(`{"track":"t1","pos":-1,"ended":true}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		frame, err := decodeTap(raw)
		if err == nil && (len(frame.PCM) > maxBatch || frame.Pos < 0) {
			t.Fatalf("%d samples at %d", len(frame.PCM), frame.Pos)
		}
	})
}

func TestTheMicrophonesNamesTellItsStateInEveryLanguage(t *testing.T) {
	r := ui.Devices["microphone"]
	for want, words := range map[meeting.Device]map[string][]string{meeting.DeviceOn: r.On, meeting.DeviceOff: r.Off} {
		for lang, names := range words {
			for _, n := range names {
				if got := r.Read(sign.Control{Found: true, Enabled: true, Name: n}); got != want {
					t.Errorf("%s %q: %s, want %s", lang, n, got, want)
				}
			}
		}
	}
}
