// Package need says what a test needs of the machine: with -short it is skipped, otherwise a missing piece fails it.
package need

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Real skips under -short: the test uses real processes, browsers or sound.
func Real(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real processes; run without -short")
	}
}

// Program fails the test when a program is missing.
func Program(t testing.TB, names ...string) {
	t.Helper()
	Real(t)
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%s is missing: run make setup", name)
		}
	}
}

// Sound needs a sound server and an encoder.
func Sound(t testing.TB) { t.Helper(); Program(t, "pulseaudio", "ffmpeg") }

// Browser needs a browser and a display.
func Browser(t testing.TB) {
	t.Helper()
	Program(t, "Xvfb")
	for _, p := range []string{"/usr/lib/chromium/chromium", "/usr/bin/chromium"} {
		if _, err := os.Stat(p); err == nil {
			return
		}
	}
	t.Fatal("chromium is missing: run make setup")
}

// Models needs the speech models and gives their folder.
func Models(t testing.TB) string {
	t.Helper()
	Real(t)
	dir := os.Getenv("PARLEY_MODELS")
	if dir == "" {
		data := os.Getenv("PARLEY_DATA")
		if data == "" {
			share := os.Getenv("XDG_DATA_HOME")
			if share == "" {
				home, err := os.UserHomeDir()
				if err != nil {
					t.Fatal(err)
				}
				share = filepath.Join(home, ".local", "share")
			}
			data = filepath.Join(share, "parley")
		}
		dir = filepath.Join(data, "models")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("no speech models in %s: run make setup", dir)
	}
	return dir
}

// Overloaded tells that so much else runs on the machine that what takes how long says nothing about us. Tests that
// promise times still run, and judge only what does not depend on them.
func Overloaded(t testing.TB) bool {
	t.Helper()
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return false
	}
	var load float64
	if _, err := fmt.Sscan(string(raw), &load); err != nil || load < 4*float64(runtime.NumCPU()) {
		return false
	}
	t.Logf("the machine is overloaded (%.1f on %d processors): times are not judged", load, runtime.NumCPU())
	return true
}
