package display

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/internal/proc"
	"parley/testkit/need"
)

func account(t *testing.T) *proc.Account {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	a, err := proc.Lookup("parley")
	if err != nil {
		t.Fatalf("%v: run make setup", err)
	}
	return a
}

func TestDisplaysAtOnceGetNumbersOfTheirOwn(t *testing.T) {
	need.Program(t, "Xvfb")
	base := shortDir(t)
	a := account(t)
	type result struct {
		d   *Display
		err error
	}
	results := make(chan result)
	for range 3 {
		go func() {
			d, err := Start(t.Context(), Options{Account: a, Dir: base})
			results <- result{d, err}
		}()
	}
	seen := map[string]bool{}
	for range 3 {
		r := <-results
		if r.err != nil {
			t.Error(r.err)
			continue
		}
		if seen[r.d.Name()] {
			t.Errorf("%s twice", r.d.Name())
		}
		seen[r.d.Name()] = true
		defer func() {
			if err := r.d.Close(); err != nil {
				t.Error(err)
			}
			if err := r.d.Close(); err != nil {
				t.Errorf("closing again: %v", err)
			}
		}()
	}
}

func TestADisplayIsPrivateAndLeavesNothing(t *testing.T) {
	need.Program(t, "Xvfb")
	base := shortDir(t)
	d, err := Start(t.Context(), Options{Account: account(t), Dir: base})
	if err != nil {
		t.Fatal(err)
	}
	cmdline, err := os.ReadFile("/proc/" + strconv.Itoa(d.PID()) + "/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(cmdline), "-nolisten\x00tcp") || !strings.Contains(string(cmdline), "-auth") {
		t.Errorf("command line %q", cmdline)
	}
	for _, e := range d.Env() {
		if path, ok := strings.CutPrefix(e, "XAUTHORITY="); ok {
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("cookie file: %v %v", info, err)
			}
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-d.Done():
	default:
		t.Error("still running after Close")
	}
	if left, _ := os.ReadDir(base); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAMissingServerIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Start(t.Context(), Options{}); !errors.Is(err, ErrNoServer) {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatEndsOrHangsIsAnErrorAndLeavesNothing(t *testing.T) {
	need.Real(t)
	base := shortDir(t)
	falsePath, err := exec.LookPath("false")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Dir: base, Path: falsePath}); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("a server that ends: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	silent := base + "/silent"
	if err := os.WriteFile(silent, []byte("#!/bin/sh\nexec sleep 300\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(ctx, Options{Dir: base, Path: silent}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that never answers: %v", err)
	}
	os.Remove(silent)
	if left, _ := os.ReadDir(base); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// shortDir is a folder that another account can reach and whose path is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
