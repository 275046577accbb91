//go:build cgo

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/local"
	"parley/speech/models"
	"parley/speech/wire"
	"parley/testkit/need"
)

// invoke runs the program and gives its exit code and what it said.
func invoke(t *testing.T, args ...string) (int, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), "PARLEY_SPEECH_TEST_CHILD=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// What is missing or broken ends the process with a sentence that says so and what to do.
func TestMissingAndBrokenModels(t *testing.T) {
	real := models.At(need.Models(t))
	run := filepath.Join(shortDir(t), "run")
	code, said := invoke(t, "--run", run, "--models", t.TempDir())
	if code != local.ExitModels || !strings.Contains(said, "is missing: parley models fetch") {
		t.Errorf("an empty folder: %d %s", code, said)
	}
	if _, err := os.Stat(wire.SocketPath(run)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	// One file of the many, without which nothing works: a single bit is enough.
	broken := damaged(t, real.Root, real.Runtime)
	code, said = invoke(t, "--run", run, "--models", broken)
	if code != local.ExitModels || !strings.Contains(said, filepath.Base(real.Runtime)+" is corrupt") {
		t.Errorf("a changed file: %d %s", code, said)
	}
	// Clients hear the same, and do not try again.
	_, err := engine(t, broken, nil).Open(t.Context(), speech.StreamOptions{})
	var typed *speech.Error
	if !errors.As(err, &typed) || typed.Kind != speech.KindUnavailable || !strings.Contains(err.Error(), filepath.Base(real.Runtime)+" is corrupt") {
		t.Errorf("%v", err)
	}
	st := engine(t, broken, nil).Status(t.Context())
	if st.State != local.StateMissing || !strings.Contains(st.Problem, filepath.Base(real.Runtime)) || st.Remedy == "" {
		t.Errorf("%+v", st)
	}
}

func TestOneProcessForARunFolder(t *testing.T) {
	dir := need.Models(t)
	run := filepath.Join(shortDir(t), "run")
	claim, err := wire.NewClaim(run)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	if code, said := invoke(t, "--run", run, "--models", dir); code != local.ExitUsage || !strings.Contains(said, "another speech process") {
		t.Errorf("%d %s", code, said)
	}
}

func TestItEndsWhenNobodyComes(t *testing.T) {
	dir := need.Models(t)
	if code, said := invoke(t, "--run", filepath.Join(shortDir(t), "run"), "--models", dir, "--idle", "100ms"); code != 0 {
		t.Errorf("%d %s", code, said)
	}
}

// A machine with little memory has the small model only: it hears English and says what it cannot do.
func TestWeak(t *testing.T) {
	e := engine(t, need.Models(t), func(o *local.Options) { o.Weak = true })
	line := prompts(t, "conf-onlyperson")[0]
	s, err := e.Open(t.Context(), speech.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Write(0, line.PCM); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	text := ""
	for len(s.Events()) > 0 {
		if f, ok := (<-s.Events()).(speech.Final); ok {
			text += f.Text
		}
	}
	if !strings.Contains(strings.ToLower(text), "only person") {
		t.Errorf("%q", text)
	}
	_, err = e.Open(t.Context(), speech.StreamOptions{Lang: "de"})
	var typed *speech.Error
	if !errors.As(err, &typed) || typed.Kind != speech.KindInput || !strings.Contains(err.Error(), "English only") {
		t.Errorf("%v", err)
	}
	if st := e.Status(t.Context()); !st.Weak || st.State != local.StateReady || st.RSS > 500<<20 {
		t.Errorf("%+v", st)
	}
}

// Nobody says which language is spoken: it is found out, for finals and partials.
func TestLanguageIsFoundOut(t *testing.T) {
	need.Program(t, "espeak-ng", "ffmpeg")
	e := engine(t, need.Models(t), nil)
	s, err := e.Open(t.Context(), speech.StreamOptions{Partials: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pos := int64(0)
	write := func(pcm []int16) {
		for at := 0; at < len(pcm); at += 320 {
			part := pcm[at:min(at+320, len(pcm))]
			if err := s.Write(pos, part); err != nil {
				t.Fatal(err)
			}
			pos += int64(len(part))
			time.Sleep(5 * time.Millisecond) // four times as fast as speech
		}
	}
	go func() {
		for range 2 {
			write(synthetic(t, "de", "Guten Morgen zusammen, wir sprechen heute über den Haushalt für das nächste Jahr."))
			write(make([]int16, 16000))
		}
		s.Flush(t.Context())
		s.Close()
	}()
	finals, partials := map[string]int{}, map[string]int{}
	for ev := range s.Events() {
		switch ev := ev.(type) {
		case speech.Final:
			finals[ev.Lang]++
		case speech.Partial:
			partials[ev.Lang]++
		case speech.Fault:
			t.Errorf("%v", ev.Err)
		}
	}
	if finals["de"] == 0 || finals["de"] < finals["en"] || partials["de"] == 0 {
		t.Errorf("finals %v, partials %v", finals, partials)
	}
}

// synthetic is a text said by espeak-ng, at 16 kHz.
func synthetic(t *testing.T, voice, text string) []int16 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "said.wav")
	if out, err := exec.Command("espeak-ng", "-v", voice, "-s", "140", "-w", file, text).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return decode(t, file)
}
