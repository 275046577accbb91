//go:build cgo

package ort_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"parley/speech/models"
	"parley/speech/ort"
	"parley/testkit/need"
)

const quietChild = "ORT_TEST_QUIET"

// The library reports its use to its maker unless it is told not to. The identity that it keeps for that in the
// user's home, and the reports that wait there, are how it is seen.
func TestTheRuntimeReportsNothing(t *testing.T) {
	dir := need.Models(t)
	p := models.At(dir)
	if os.Getenv(quietChild) != "" {
		if err := ort.Init(p.Runtime); err != nil {
			t.Fatal(err)
		}
		s, err := ort.Open(p.VAD, []string{"input", "state", "sr"}, []string{"output", "stateN"}, ort.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		return
	}
	home := t.TempDir()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheRuntimeReportsNothing$")
	c.Env = []string{quietChild + "=1", "HOME=" + home, "PARLEY_MODELS=" + dir, "PATH=" + os.Getenv("PATH")}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("left in the home: %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
