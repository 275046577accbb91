package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoCoreIsLeft: a service that dies leaves no picture of its memory, nor do the programs it starts.
func TestNoCoreIsLeft(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &before); err != nil {
		t.Fatal(err)
	}
	if before.Max > 0 { // so that there is something to switch off
		before.Cur = before.Max
		if err := unix.Setrlimit(unix.RLIMIT_CORE, &before); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PARLEY_CONTROL", "0")
	inProcess(t, filepath.Join(t.TempDir(), "data"))
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &now); err != nil || now.Cur != 0 || now.Max != 0 {
		t.Errorf("%+v, %v", now, err)
	}
	limits, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(limits)) {
		if rest, ok := strings.CutPrefix(line, "Max core file size"); ok && strings.Fields(rest)[0] != "0" {
			t.Error(line)
		}
	}
}

// TestBadMappingStopsTheStart: and names what is wrong.
func TestBadMappingStopsTheStart(t *testing.T) {
	t.Setenv("PARLEY_DATA", filepath.Join(t.TempDir(), "data"))
	t.Setenv("PARLEY_CONFIG", "/dev/null")
	t.Setenv("PARLEY_MAPPING", "swarm=example.org")
	v, err := loadSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newApp(t.Context(), v, appOptions{log: quietLogger(&environment{stderr: os.Stderr}, v), needToken: true}); err == nil || !strings.Contains(err.Error(), "PARLEY_MAPPING") {
		t.Errorf("%v", err)
	}
}
