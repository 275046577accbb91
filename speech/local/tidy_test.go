package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/wire"
	"parley/testkit/need"
)

func TestWhichLogsExplainThemselves(t *testing.T) {
	const (
		start = `time=2026-01-02T03:04:05.006Z level=INFO msg="speech process" pid=5 weak=false` + "\n"
		left  = `time=2026-01-02T03:04:05.006Z level=INFO msg="nobody left"` + "\n"
		voice = `time=2026-01-02T03:04:05.006Z level=ERROR msg="voice not loaded" err="no voice"` + "\n"
		words = BinaryName + ": the model file x is missing: parley models fetch\n"
		mark  = `time=2026-01-02T03:04:05.006Z level=WARN msg="` + keepReason + `" client=5` + "\n"
	)
	for _, c := range []struct {
		name, log string
		want      bool
	}{
		{"empty", "", true},
		{"missing models", start + words, true},
		{"missing models, said before it began", words, true},
		{"twice", start + words + start + words, true},
		{"a planned end", start + voice + left, true},
		{"no end", start, false},
		{"one of two without an end", start + start + words, false},
		{"a crash", start + "SIGSEGV: segmentation violation\n" + words, false},
		{"somebody was pointed to it", start + words + mark, false},
		{"half a line", start + words + "fatal", false},
	} {
		if got := explained([]byte(c.log)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestWhatAProcessThatDidNotComeUpLeaves(t *testing.T) {
	need.Real(t)
	for _, c := range []struct {
		role string
		gone bool
	}{
		{"gone", true}, // no program at all
		{"words", true},
		{"broken", false}, // noise that nobody has read
		{"crash", false},
		{"wordless", false}, // the error says where to look
	} {
		dir := runDir(t)
		e := realEngine(t, dir, c.role)
		if c.role == "gone" {
			e.o.Binary = "/nowhere/parley-speech"
		}
		other := realEngine(t, dir, c.role)
		e.o.StartTimeout = 3 * time.Second
		if _, err := e.Open(t.Context(), speech.StreamOptions{}); err == nil {
			t.Fatalf("%s: it opened", c.role)
		}
		if err := errors.Join(e.Close(), other.Close()); err != nil {
			t.Errorf("%s: %v", c.role, err)
		}
		_, err := os.Stat(dir)
		if gone := errors.Is(err, fs.ErrNotExist); gone != c.gone {
			t.Errorf("%s: gone %v, want %v", c.role, gone, c.gone)
		}
	}
}

// A client that was told to look at the log finds it.
func TestALogThatAnErrorPointsAtStays(t *testing.T) {
	dir := runDir(t)
	claim, err := wire.NewClaim(dir)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, wire.LogName)
	if err := os.WriteFile(log, []byte(BinaryName+": it did not come up\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := New(Options{RunDir: dir, ModelsDir: "/nowhere", StartTimeout: 100 * time.Millisecond})
	if _, err := e.Open(t.Context(), speech.StreamOptions{}); !errors.Is(err, errNoAnswer) {
		t.Fatal(err)
	}
	claim.Release()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(log); err != nil || !strings.Contains(string(raw), keepReason) {
		t.Errorf("%q, %v", raw, err)
	}
}
