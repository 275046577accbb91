//go:build accept

package guard_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed mutations.json
var mutationsJSON []byte

// mutation breaks one requirement in the code, in one place; the named test has to fail of it.
type mutation struct{ ID, File, From, To, Append, Test string }

// TestEachBreakIsNoticed builds each broken version through an overlay, so that the tree itself stays as it is. The
// forty requirements were drawn at random from the table.
func TestEachBreakIsNoticed(t *testing.T) {
	var list []mutation
	if err := json.Unmarshal(mutationsJSON, &list); err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{}
	for _, r := range requirements(t) {
		known[r.ID] = r.Tests
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		t.Run(m.ID, func(t *testing.T) {
			if !strings.Contains(strings.Join(known[m.ID], " ")+" ", m.Test+" ") {
				t.Errorf("%s is no test of it", m.Test)
			}
			path := filepath.Join(root, filepath.FromSlash(m.File))
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Count(src, []byte(m.From)) != 1 {
				t.Fatalf("%s has %q %d times", m.File, m.From, bytes.Count(src, []byte(m.From)))
			}
			dir := t.TempDir()
			broken := filepath.Join(dir, "broken"+filepath.Ext(path))
			if err := os.WriteFile(broken, append(bytes.Replace(src, []byte(m.From), []byte(m.To), 1), m.Append...), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: broken}})
			file := filepath.Join(dir, "overlay.json")
			if err := os.WriteFile(file, overlay, 0o600); err != nil {
				t.Fatal(err)
			}
			dot := strings.LastIndexByte(m.Test, '.')
			args := []string{"test", "-short", "-count=1", "-timeout=300s", "-vet=off", "-overlay", file, "-run", "^" + m.Test[dot+1:] + "$", "./" + m.Test[:dot]}
			if strings.HasSuffix(m.Test, "TestOnlySpawnStartsProcesses") { // it reads the tree itself
				t.Setenv("PARLEY_TEST_OVERLAY", file)
			}
			cmd := exec.Command("go", args...)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte("--- FAIL: "+m.Test[dot+1:])) {
				t.Errorf("nobody noticed (%v):\n%s", err, tailOf(out))
				return
			}
			fmt.Printf("%s: %s broken, %s failed\n", m.ID, m.File, m.Test)
		})
	}
}

func tailOf(b []byte) string {
	if n := len(b) - 600; n > 0 {
		b = b[n:]
	}
	return string(b)
}
