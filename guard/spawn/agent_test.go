package spawn

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"parley/testkit/need"
)

// TestAFolderIsHidden: behind the veil a program finds its own folder, not what lies beside it, and no other process; the
// same program without it finds all of that.
func TestAFolderIsHidden(t *testing.T) {
	need.Real(t)
	v, err := FindVeil()
	if err != nil {
		t.Skipf("NOT SHOWN on this machine: %v; agents' programs start unveiled here, and parley doctor says so", err)
	}
	data := t.TempDir()
	keep := filepath.Join(data, "agents", "task")
	if err := errors.Join(os.MkdirAll(keep, 0o700), os.WriteFile(filepath.Join(data, "recording"), []byte("secret words"), 0o600), os.WriteFile(filepath.Join(keep, "prompt"), []byte("the task"), 0o600)); err != nil {
		t.Fatal(err)
	}
	look := `cat "` + data + `/recording" 2>/dev/null; ls "` + data + `"; cat prompt; echo done > answer; ls -d /proc/` + strconv.Itoa(os.Getpid()) + ` 2>/dev/null`
	run := func(path string, args []string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), path, args...)
		c.Dir = keep
		out, _ := c.CombinedOutput() // its last command fails where there is no such process
		return string(out)
	}
	path, args := Hidden("sh", []string{"-c", look}, data, keep)
	behind := run(path, args)
	if path != v.Path || strings.Contains(behind, "secret words") || strings.Contains(behind, "recording") || !strings.Contains(behind, "the task") {
		t.Errorf("behind the veil: %q", behind)
	}
	if v.Processes && strings.Contains(behind, "/proc/") {
		t.Errorf("it sees us: %q", behind)
	}
	if answer, err := os.ReadFile(filepath.Join(keep, "answer")); err != nil || string(answer) != "done\n" {
		t.Errorf("what it wrote in its own folder: %q, %v", answer, err)
	}
	if open := run("sh", []string{"-c", look}); !strings.Contains(open, "secret words") || !strings.Contains(open, "/proc/") {
		t.Errorf("without it: %q", open)
	}
	if path, args := Hidden("sh", []string{"x"}, "", keep); path != "sh" || len(args) != 1 {
		t.Errorf("with nothing to hide: %s %v", path, args)
	}
}

// TestWhatBubblewrapMayDo: absent, refused, refused in part, and all of it, by programs that stand in for it.
func TestWhatBubblewrapMayDo(t *testing.T) {
	dir := t.TempDir()
	stand := func(name, script string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := findVeil(filepath.Join(dir, "none")); !errors.Is(err, ErrNoBubblewrap) {
		t.Errorf("absent: %v", err)
	}
	refused := stand("refused", "echo 'bwrap: No permissions to create new namespace' >&2; echo more; exit 1\n")
	_, err := findVeil(refused)
	var why *VeilError
	if !errors.As(err, &why) || why.Said != "bwrap: No permissions to create new namespace" {
		t.Errorf("refused: %v", err)
	}
	if _, err := findVeil(stand("silent", "exit 3\n")); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("refused without a word: %v", err)
	}
	part := stand("part", `case "$*" in *--proc*) echo "Can't mount proc" >&2; exit 1;; esac`+"\n")
	if v, err := findVeil(part); err != nil || v.Path != part || v.Processes {
		t.Errorf("in part: %+v, %v", v, err)
	}
	all := stand("all", "exit 0\n")
	v, err := findVeil(all)
	if err != nil || !v.Processes {
		t.Errorf("all: %+v, %v", v, err)
	}
	args := strings.Join(v.wrap("agent", []string{"--print"}, "/data", "/data/task"), " ")
	if !strings.Contains(args, "--tmpfs /data --bind /data/task /data/task --unshare-pid --proc /proc") || !strings.HasSuffix(args, "--chdir /data/task -- agent --print") {
		t.Errorf("%s", args)
	}
}
