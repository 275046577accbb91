package guard_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/guard/spawn"
)

//go:embed requirements.json
var requirementsJSON []byte

// requirement is one of the guard's numbered rules: the tests that fail when it is broken, and what is not built
// yet with the reason.
type requirement struct {
	ID    string   `json:"id"`
	What  string   `json:"what"`
	Tests []string `json:"tests"`
	Open  string   `json:"open"`
}

func requirements(t *testing.T) []requirement {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(requirementsJSON))
	d.DisallowUnknownFields()
	var list []requirement
	if err := d.Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestEveryRequirementHasATest(t *testing.T) {
	want := map[string]bool{}
	for i := range 5 {
		want[fmt.Sprintf("M-%d", i+1)] = true
	}
	for i := range 105 {
		want[fmt.Sprintf("G-%d", i+1)] = true
	}
	known := map[string]map[string]bool{}
	for _, r := range requirements(t) {
		if !want[r.ID] {
			t.Errorf("%s is no requirement, or stands twice", r.ID)
		}
		delete(want, r.ID)
		if len(r.Tests) == 0 || r.What == "" {
			t.Errorf("%s has no test", r.ID)
		}
		for _, name := range r.Tests {
			dot := strings.LastIndexByte(name, '.')
			pkg, test := name[:dot], name[dot+1:]
			if known[pkg] == nil {
				known[pkg] = testsOf(t, pkg)
			}
			if !known[pkg][test] {
				t.Errorf("%s: there is no test %s", r.ID, name)
			}
		}
	}
	for id := range want {
		t.Errorf("%s is missing", id)
	}
}

func testsOf(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pkg), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no tests: %v", pkg, err)
	}
	names := map[string]bool{}
	for _, f := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}

//go:embed guardrails.md
var head string

func TestTheDocsAreTheTable(t *testing.T) {
	var b strings.Builder
	var residual strings.Builder
	for _, k := range spawn.Agents() {
		class, note := k.Containment()
		fmt.Fprintf(&residual, "| %s | %s: %s | %s |\n", k.Label(), class, note, strings.Join(k.Residual(), "; "))
	}
	b.WriteString(strings.Replace(head, "@@RESIDUAL@@", residual.String(), 1))
	list := requirements(t)
	whole, open := 0, 0
	for _, r := range list {
		switch {
		case r.Open == "":
			whole++
		case len(r.Tests) == 0:
			open++
		}
	}
	fmt.Fprintf(&b, "\n## Requirements\n\n%d of %d are built and tested, %d in part, %d not yet. A test reads this table: a requirement without a test fails the build. The last column says what the tests do not show.\n\n", whole, len(list), len(list)-whole-open, open)
	b.WriteString("| | what | tests | not shown yet |\n|---|---|---|---|\n")
	for _, r := range list {
		tests := make([]string, len(r.Tests))
		for i, name := range r.Tests {
			tests[i] = "`" + name + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.ID, r.What, strings.Join(tests, " "), r.Open)
	}
	path := filepath.Join("..", "docs", "guardrails.md")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/guardrails.md is not what the table says (UPDATE=1 writes it): %v", err)
	}
	if !strings.Contains(head, "no guarantee") {
		t.Error("the page does not say that the fence is no guarantee")
	}
}
