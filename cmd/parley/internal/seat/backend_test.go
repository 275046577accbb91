package seat

import (
	"strings"
	"testing"

	"parley/speech/settings"
)

func TestABackendThatIsNotThereGivesWay(t *testing.T) {
	for _, c := range []struct {
		set      string
		url, key string
		want     string
		lacks    string
	}{
		{"local", "", "", "local", ""},
		{"supertonic", "http://x", "", "supertonic", ""},
		{"supertonic", "", "key", "local", "PARLEY_TTS_URL"},
		{"elevenlabs", "", "key", "elevenlabs", ""},
		{"elevenlabs", "http://x", "", "supertonic", "ELEVENLABS_API_KEY"},
		{"elevenlabs", "", "", "local", "ELEVENLABS_API_KEY"},
	} {
		s := New(Options{TTSURL: c.url, ElevenLabs: c.key, ElevenLabsURL: "https://y"})
		v := settings.Resolve(map[string]string{settings.Backend: c.set}, nil)
		w := s.wireSpeech(v)
		if w.Backend != c.want {
			t.Errorf("%+v: %s speaks", c, w.Backend)
		}
		if (w.Keys[settings.BackendElevenLabs] == "key") != (c.key != "") || (w.URLs[settings.BackendElevenLabs] != "") != (c.key != "") {
			t.Errorf("%+v: %+v", c, w)
		}
		warned := strings.Join(s.now(v).Warnings, " ")
		if (warned != "") != (c.lacks != "") || !strings.Contains(warned, c.lacks) {
			t.Errorf("%+v: warned %q", c, warned)
		}
		if err := s.backend(c.set); (err != nil) != (c.lacks != "") {
			t.Errorf("%+v: asked for by a call: %v", c, err)
		}
	}
	if New(Options{}).backend("nonsense") == nil {
		t.Error("a backend that nobody knows")
	}
}
