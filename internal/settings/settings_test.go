package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func load(t *testing.T, env map[string]string, flags map[string]string, file string) (*Values, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley.conf")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Options{Flags: flags, File: path, LookupEnv: func(k string) (string, bool) { v, ok := env[k]; return v, ok }})
}

func TestTheStrongestSourceWins(t *testing.T) {
	file := "# a comment\n\nPARLEY_LISTEN=127.0.0.1:1\n"
	for _, c := range []struct {
		env, flags map[string]string
		want       string
		source     Source
	}{
		{nil, nil, "127.0.0.1:1", FromFile},
		{map[string]string{"PARLEY_LISTEN": "127.0.0.1:2"}, nil, "127.0.0.1:2", FromEnv},
		{map[string]string{"PARLEY_LISTEN": ""}, nil, "127.0.0.1:1", FromFile},
		{map[string]string{"PARLEY_LISTEN": "127.0.0.1:2"}, map[string]string{"PARLEY_LISTEN": "127.0.0.1:3"}, "127.0.0.1:3", FromFlag},
	} {
		v, err := load(t, c.env, c.flags, file)
		if err != nil {
			t.Fatal(err)
		}
		if v.String("PARLEY_LISTEN") != c.want || v.From("PARLEY_LISTEN") != c.source {
			t.Errorf("got %s from %s, want %s from %s", v.String("PARLEY_LISTEN"), v.From("PARLEY_LISTEN"), c.want, c.source)
		}
	}
}

func TestABadValueIsNamed(t *testing.T) {
	for name, value := range map[string]string{
		"PARLEY_LISTEN": "7360", "PARLEY_MAX_MEETINGS": "many", "PARLEY_CHROMIUM_SANDBOX": "yes",
		"PARLEY_RECORDING_RETENTION_DAYS": "0", "PARLEY_LIVE_TRANSCRIPT_VAD_SILENCE_S": "NaN", "PARLEY_BASE_URL": "ftp://x",
		"PARLEY_ON_ANNOUNCE_FAILURE": "shrug", "PARLEY_TOOL_TIMEOUT_SEC": "121", "PARLEY_ROOM_ORIGINS": "https://ok.example, nope",
	} {
		_, err := load(t, map[string]string{name: value}, nil, "")
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "expected:") {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
	_, err := load(t, map[string]string{"PARLEY_LISTEN": "x", "PARLEY_MAX_MEETINGS": "y"}, nil, "")
	if err == nil || strings.Count(err.Error(), "expected:") != 2 {
		t.Errorf("both bad values should be named: %v", err)
	}
}

func TestABadFileIsRefusedByLine(t *testing.T) {
	for file, want := range map[string]string{
		"PARLEY_LISTEN":              "line 1",
		"\nPARLEY_LISTN=127.0.0.1:1": "line 2",
		"PARLEY_LISTEN=127.0.0.1:1\nPARLEY_LISTEN=[::1]:1\n": "second time",
	} {
		if _, err := load(t, nil, nil, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func TestDefaultsPassTheirOwnChecks(t *testing.T) {
	for _, s := range Table {
		if s.Default != "" && s.Check != nil {
			if err := s.Check(s.Default); err != nil {
				t.Errorf("%s: default %q: %v", s.Name, s.Default, err)
			}
		}
		if s.Meaning == "" || s.Shape == "" {
			t.Errorf("%s says too little", s.Name)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	v, err := load(t, map[string]string{"PARLEY_TOKENS": "me:0123456789abcdef"}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(v.Shown("PARLEY_TOKENS"), "0123") {
		t.Error("a token was shown")
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add("PARLEY_LISTEN='127.0.0.1:1'\n# x\n")
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = parseFile(strings.NewReader(s), func(string) bool { return true })
	})
}
