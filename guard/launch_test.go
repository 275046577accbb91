package guard_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlySpawnStartsProcesses reads the source: whatever starts a process goes through guard/spawn, which vets it.
func TestOnlySpawnStartsProcesses(t *testing.T) {
	starters := map[string][]string{"os": {"StartProcess"}, "syscall": {"ForkExec", "StartProcess", "Exec"}, "parley/internal/proc": {"Start"}}
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch name := d.Name(); {
			case path != ".." && strings.HasPrefix(name, "."), name == "testdata", name == "testkit", name == "examples", name == "bin", name == "scripts",
				filepath.ToSlash(path) == "../internal/proc", filepath.ToSlash(path) == "../guard/spawn",
				filepath.ToSlash(path) == "../cmd/parley/internal/rivals": // other makers' servers, started by a person who measures them and by no service
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(overlaid(path))
		if err != nil {
			return err
		}
		files++
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		local := map[string]string{}
		commands := false
		for _, i := range tree.Imports {
			p := strings.Trim(i.Path.Value, `"`)
			name := p[strings.LastIndexByte(p, '/')+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			local[name] = p
			commands = commands || p == "os/exec"
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if id, ok := sel.X.(*ast.Ident); ok {
				for _, f := range starters[local[id.Name]] {
					if sel.Sel.Name == f {
						t.Errorf("%s: %s.%s starts a process past guard/spawn", set.Position(n.Pos()), id.Name, f)
					}
				}
			}
			// A command that was made has to be handed to spawn: none of its own ways to start is called.
			if commands && len(call.Args) == 0 && (sel.Sel.Name == "Run" || sel.Sel.Name == "Start" || sel.Sel.Name == "Output" || sel.Sel.Name == "CombinedOutput") {
				if id, ok := sel.X.(*ast.Ident); ok && (strings.Contains(strings.ToLower(id.Name), "cmd") || id.Name == "c" || id.Name == "command") {
					t.Errorf("%s: a command starts past guard/spawn", set.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Fatalf("only %d files were read", files)
	}
}

// overlaid gives the file that stands in for another while the suite of mutations runs.
func overlaid(path string) string {
	raw, err := os.ReadFile(os.Getenv("PARLEY_TEST_OVERLAY"))
	if err != nil {
		return path
	}
	var o struct{ Replace map[string]string }
	abs, err := filepath.Abs(path)
	if err != nil || json.Unmarshal(raw, &o) != nil {
		return path
	}
	if other, ok := o.Replace[abs]; ok {
		return other
	}
	return path
}
