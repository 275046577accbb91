//go:build cgo

package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/local"
	"parley/speech/speechtest"
	"parley/testkit/need"
	"parley/testkit/voices"
)

// TestMain lets the test program stand for parley-speech, so that nothing has to be built first.
func TestMain(m *testing.M) {
	if os.Getenv("PARLEY_SPEECH_TEST_CHILD") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// engine makes a client whose process is this test program.
func engine(t testing.TB, models string, change func(*local.Options)) *local.Engine {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "sp") // the folder of the test has too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	o := local.Options{
		RunDir: filepath.Join(dir, "run"), ModelsDir: models, Binary: self,
		Env: []string{"PARLEY_SPEECH_TEST_CHILD=1"}, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	e := local.New(o)
	t.Cleanup(func() {
		e.Close()
		kill(t, e)
		os.RemoveAll(dir)
	})
	return e
}

// kill ends the process that runs, if one does, and waits until its socket is dead.
func kill(t testing.TB, e *local.Engine) {
	t.Helper()
	pid := e.Status(context.Background()).PID
	if pid == 0 {
		return
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
}

// prompts are recorded human speech with its text.
func prompts(t testing.TB, ids ...string) []speechtest.Line {
	t.Helper()
	all, err := voices.Prompts()
	if err != nil {
		t.Fatal(err)
	}
	picked, err := voices.Pick(all, ids...)
	if err != nil {
		t.Fatal(err)
	}
	var lines []speechtest.Line
	for _, r := range picked {
		lines = append(lines, speechtest.Line{PCM: decode(t, r.Path), Text: r.Text})
	}
	return lines
}

// decode gives a file's samples at 16 kHz.
func decode(t testing.TB, path string) []int16 {
	t.Helper()
	pcm, err := voices.Decode(context.Background(), path, 16000)
	if err != nil {
		t.Fatal(err)
	}
	return pcm
}

func TestSuiteOnTheRealModels(t *testing.T) {
	dir := need.Models(t)
	lines := prompts(t, "conf-onlyperson", "vm-nobodyavail", "conf-waitforleader", "confbridge-lock-no-join")
	speechtest.Run(t, func(t *testing.T) speechtest.Engine {
		e := engine(t, dir, nil)
		return speechtest.Engine{
			Transcriber: e, Synthesizer: e, Lines: lines, Errors: 0.2, Pace: 300 * time.Millisecond, Patience: 60 * time.Second,
			Kill:   func(t *testing.T) { kill(t, e) },
			Memory: func(t *testing.T) int64 { return e.Status(t.Context()).RSS },
			Absent: func(t *testing.T) speech.Transcriber { return engine(t, t.TempDir(), nil) },
		}
	})
}
