package settings

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestTheStrongestSourceWins(t *testing.T) {
	v := Resolve(map[string]string{VADSilence: "0.7", "turn_hold_ms": "broken"}, map[string]string{VADSilence: "1", "turn_hold_ms": "500"})
	for name, want := range map[string]struct {
		value string
		from  Source
	}{
		VADSilence:              {"0.7", FromTenant},
		"turn_hold_ms":          {"500", FromEnv}, // what cannot be read is passed over
		Backend:                 {"local", FromDefault},
		"turn_hold_complete_ms": {"300", FromDefault},
		"barge_in":              {"true", FromDefault},
	} {
		for _, x := range v {
			if x.Name == name && (x.Value != want.value || x.From != want.from) {
				t.Errorf("%s is %q from %s, want %q from %s", name, x.Value, x.From, want.value, want.from)
			}
		}
	}
	if v.Float(VADSilence) != 0.7 || !v.Bool("barge_in") || v.Turn()["turn_hold_ms"] != "500" {
		t.Error("values read as numbers, switches and the turn engine's are others")
	}
}

func TestDefaultsPassTheirOwnChecks(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All {
		if s.Meaning == "" || seen[s.Name] {
			t.Errorf("%s has no meaning, or stands twice", s.Name)
		}
		seen[s.Name] = true
		if s.Name != "ack_phrases" && s.check(s.Default) != nil {
			t.Errorf("the default of %s is refused: %v", s.Name, s.check(s.Default))
		}
	}
}

func TestWhatATenantSetsStaysAndIsItsOwn(t *testing.T) {
	dir := t.TempDir()
	text := func(s string) *string { return &s }
	s := NewStore(filepath.Join(dir, "speech-settings"))
	if _, err := s.Set("me", map[string]*string{VADSilence: text("0.7"), Backend: text("supertonic")}); err != nil {
		t.Fatal(err)
	}
	if _, err := NewStore(filepath.Join(dir, "speech-settings")).Set("me", map[string]*string{Backend: nil}); err != nil { // after a restart
		t.Fatal(err)
	}
	if v, err := s.Get("me"); err != nil || len(v) != 1 || v[VADSilence] != "0.7" {
		t.Errorf("me has %v, %v", v, err)
	}
	if v, err := s.Get("you"); err != nil || len(v) != 0 {
		t.Errorf("you has %v, %v", v, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "speech-settings", "me.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	var bad *InputError
	for _, c := range []map[string]*string{
		{VADSilence: text("0.1")}, {VADSilence: text("NaN")}, {"made_up": text("1")}, {"made_up": nil}, {Backend: text("loud")},
		{"ack_lang": text("xx")}, {"turn_hold_ms": text("-1")}, {LocalVoice: text("a b")}, {VADSilence: text("1"), Backend: text("loud")},
	} {
		if _, err := s.Set("me", c); !errors.As(err, &bad) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if v, _ := s.Get("me"); v[VADSilence] != "0.7" {
		t.Error("a change that was refused has changed something")
	}
	for _, name := range []string{"", "..", "a/b"} {
		if _, err := s.Set(name, map[string]*string{VADSilence: text("1")}); !errors.Is(err, ErrTenant) {
			t.Errorf("tenant %q: %v", name, err)
		}
	}
}

func TestChangesAtOnceAreAllKept(t *testing.T) {
	s := NewStore(t.TempDir())
	var wg sync.WaitGroup
	v := "false"
	for _, name := range []string{"barge_in", "ack_on_final", "draft_enabled", MeetingChannel} {
		wg.Go(func() {
			if _, err := s.Set("me", map[string]*string{name: &v}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, _ := s.Get("me"); len(got) != 4 {
		t.Errorf("%d of 4 changes are kept", len(got))
	}
}

func TestABrokenFileIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "me.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewStore(dir).Get("me"); err == nil {
		t.Error("half a file was read")
	}
}

func TestTheServicesFallbacksAreRead(t *testing.T) {
	got, err := Parse(" turn_hold_ms=700; barge_in = false;;ack_phrases=Mhm.|Go on. ")
	if err != nil || got["turn_hold_ms"] != "700" || got["barge_in"] != "false" || got["ack_phrases"] != "Mhm.|Go on." {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"turn_hold_ms", "turn_hold_ms=x", "made_up=1", "barge_in=true;barge_in=false", "backend=local"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("turn_hold_ms=700; barge_in=false")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := Parse(text)
		if err != nil {
			return
		}
		for name, v := range values {
			if Check(name, v) != nil {
				t.Errorf("%s=%q was taken", name, v)
			}
		}
	})
}
