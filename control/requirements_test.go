package control

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/control-requirements.md")

// requirement is a row of requirements.json: what is asked, and which tests hold it.
type requirement struct {
	ID    string   `json:"id"`
	What  string   `json:"what"`
	Tests []string `json:"tests"`
}

const count = 87

// TestEveryRequirementHasATest: one without, or with one that is not there, fails the build.
func TestEveryRequirementHasATest(t *testing.T) {
	raw, err := os.ReadFile("requirements.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var rows []requirement
	if err := d.Decode(&rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != count {
		t.Errorf("%d requirements, want %d", len(rows), count)
	}
	exists := tests(t)
	var b strings.Builder
	for i, r := range rows {
		if want := fmt.Sprintf("C-%d", i+1); r.ID != want {
			t.Errorf("row %d is %s, want %s", i, r.ID, want)
		}
		if r.What == "" || len(r.Tests) == 0 {
			t.Errorf("%s has no test", r.ID)
		}
		for _, name := range r.Tests {
			if !exists[name] {
				t.Errorf("%s: there is no %s", r.ID, name)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.ID, r.What, strings.Join(r.Tests, ", "))
	}
	text := fmt.Sprintf(`# The control endpoint: which test holds which requirement

Generated from `+"`control/requirements.json` by `go test ./control -update`"+`; do not edit. %d requirements; one without a test, or with a test that does not
exist, fails the build. A test is named by its package below `+"`control`"+`; `+"`main`"+` is the program, `+"`guard/audit`"+` the record of calls.

| requirement | what | tests |
|---|---|---|
`, len(rows)) + b.String()
	const page = "../docs/control-requirements.md"
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(was) != text {
		t.Error("docs/control-requirements.md is not what the table says: go test ./control -update")
	}
}

// each calls f with every parsed Go file of control.
func each(t *testing.T, f func(path string, file *ast.File)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		n++
		f(path, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 10 {
		t.Fatalf("only %d files were read", n)
	}
}

// tests are the tests, fuzz targets and benchmarks there are, as package.Name.
func tests(t *testing.T) map[string]bool {
	out := map[string]bool{}
	collect := func(path string, file *ast.File) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				for _, prefix := range []string{"Test", "Fuzz", "Benchmark"} {
					if strings.HasPrefix(f.Name.Name, prefix) {
						name := strings.TrimSuffix(file.Name.Name, "_test")
						if name == "audit" {
							name = "guard/audit"
						}
						out[name+"."+f.Name.Name] = true
					}
				}
			}
		}
	}
	each(t, collect)
	for _, beside := range []string{"../cmd/parley/*_test.go", "../guard/audit/*_test.go"} {
		found, err := filepath.Glob(beside)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", beside, err)
		}
		for _, path := range found {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			collect(path, file)
		}
	}
	return out
}

// TestSecretsAreComparedInConstantTime: no == and no bytes.Equal on anything named after a MAC, key or secret.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	secret := func(x ast.Expr) bool {
		found := false
		ast.Inspect(x, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				name := strings.ToLower(id.Name)
				found = found || name == "mac" || strings.Contains(name, "secret") || strings.Contains(name, "capability") && name != "capabilitysize"
			}
			return !found
		})
		return found
	}
	isNil := func(x ast.Expr) bool { id, ok := x.(*ast.Ident); return ok && id.Name == "nil" }
	checked := 0
	each(t, func(path string, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op != token.EQL && n.Op != token.NEQ {
					return true
				}
				checked++
				_, length := n.X.(*ast.CallExpr) // len(x) == n tells no more than the layout does
				if !length && !isNil(n.X) && !isNil(n.Y) && (secret(n.X) || secret(n.Y)) {
					t.Errorf("%s compares a secret with %s", path, n.Op)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Equal" || f.Sel.Name == "Compare") {
					if p, ok := f.X.(*ast.Ident); ok && p.Name == "bytes" {
						t.Errorf("%s calls bytes.%s", path, f.Sel.Name)
					}
				}
			}
			return true
		})
	})
	if checked < 20 {
		t.Fatalf("only %d comparisons were looked at", checked)
	}
}

// TestThePageSays: what a reader must be told is on docs/control.md.
func TestThePageSays(t *testing.T) {
	raw, err := os.ReadFile("../docs/control.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(raw)), " ")
	for _, s := range []string{
		"Pairing authenticates the account, not the program",
		"delete it after use. It has at most 32 KiB",
		"What an action did before its grant was revoked stays done",
		"There is no format with a capability in the clear",
		"the site's own scripts can read what is in its fields",
		"no protection against a page that only looks like the approved one",
		"whether the login was right is neither told nor guessed",
		"does not permit sending the picture on to a model",
		"Requests already under way are not called back",
		"pair anew",
	} {
		if !strings.Contains(page, s) {
			t.Errorf("the page does not say %q", s)
		}
	}
}
