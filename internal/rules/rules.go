// Package rules holds every rule of the source document to the test that fails when it is broken.
package rules

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Section is one file of docs/rules: a group of rules with a title.
type Section struct {
	Title string
	Rules []Rule
}

// Rule is a rule in our words. It has tests (package.TestName, a subtest after a slash) or, as long as what it
// speaks of is not built, the reason in Open.
type Rule struct {
	ID    string
	Text  string
	Tests []string
	Open  string
}

var id = regexp.MustCompile(`^[A-Z]{3,8}-[0-9]+[a-z]?$`)

// Read reads a section: `# Title`, then lines of ID, rule and tests with tabs between them. The tests are separated
// by commas; `open: reason` stands in their place where nothing is built yet. Blank lines are skipped.
func Read(path string) (Section, error) {
	f, err := os.Open(path)
	if err != nil {
		return Section{}, err
	}
	defer f.Close()
	var s Section
	seen := map[string]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		bad := func(what string) error { return fmt.Errorf("%s:%d: %s", path, n, what) }
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, "# ") && s.Title == "":
			s.Title = line[2:]
			continue
		case strings.HasPrefix(line, "#"):
			continue
		}
		col := strings.Split(line, "\t")
		if len(col) != 3 {
			return s, bad("want ID, rule and tests with a tab between them")
		}
		r := Rule{ID: col[0], Text: strings.TrimSpace(col[1])}
		switch {
		case !id.MatchString(r.ID):
			return s, bad("an ID is letters, a hyphen and a number: " + r.ID)
		case seen[r.ID]:
			return s, bad(r.ID + " stands twice")
		case r.Text == "":
			return s, bad(r.ID + " has no text")
		}
		seen[r.ID] = true
		if why, ok := strings.CutPrefix(col[2], "open:"); ok {
			r.Open = strings.TrimSpace(why)
		} else {
			for t := range strings.SplitSeq(col[2], ",") {
				if t = strings.TrimSpace(t); t != "" {
					r.Tests = append(r.Tests, t)
				}
			}
		}
		if len(r.Tests) == 0 && r.Open == "" {
			return s, bad(r.ID + " has neither a test nor a reason")
		}
		s.Rules = append(s.Rules, r)
	}
	if s.Title == "" {
		return s, fmt.Errorf("%s: the first line is the title: # Title", path)
	}
	return s, lines.Err()
}

// Tests knows the tests below a module's folder.
type Tests struct {
	root string
	pkgs map[string]map[string]bool
}

// NewTests looks for tests below a folder.
func NewTests(root string) *Tests { return &Tests{root: root, pkgs: map[string]map[string]bool{}} }

// Has says whether package.TestName stands in the source. Of a subtest only the test is looked for; a story or a scenario
// that is named after a colon must be a file.
func (t *Tests) Has(name string) bool {
	name, story, told := strings.Cut(name, ":") // package.Test: which story or scenario of it
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return false
	}
	pkg, test := name[:dot], name[dot+1:]
	test, _, _ = strings.Cut(test, "/")
	if t.pkgs[pkg] == nil {
		t.pkgs[pkg] = t.of(pkg)
	}
	return t.pkgs[pkg][test] && (!told || t.story(pkg, story))
}

// story says whether a test has a story or a scenario of this name to play.
func (t *Tests) story(pkg, name string) bool {
	for _, file := range []string{"testdata/" + name + ".txt", "standin/scenarios/" + name + ".json"} {
		if _, err := os.Stat(filepath.Join(t.root, filepath.FromSlash(pkg), filepath.FromSlash(file))); err == nil {
			return true
		}
	}
	return false
}

func (t *Tests) of(pkg string) map[string]bool {
	found := map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(t.root, filepath.FromSlash(pkg), "*_test.go")) // the pattern is ours
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler says more of it
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && (strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz")) {
				found[fn.Name.Name] = true
			}
		}
	}
	return found
}

// Page renders the sections as docs/source-rules.md.
func Page(sections []Section) []byte {
	var b strings.Builder
	b.WriteString("# Rules of the source document, and what holds them\n\n" +
		"Generated from `docs/rules` by `go test ./internal/rules -update`. Each rule is one statement of the source\n" +
		"document in our words; the tests named beside it fail when it is broken. The sentences about turns are in\n" +
		"[turns.md](turns.md), the guardrails in [guardrails.md](guardrails.md), the control endpoint in\n" +
		"[control-requirements.md](control-requirements.md).\n")
	for _, s := range sections {
		open := 0
		for _, r := range s.Rules {
			if r.Open != "" {
				open++
			}
		}
		fmt.Fprintf(&b, "\n## %s\n\n%d rules", s.Title, len(s.Rules))
		if open > 0 {
			fmt.Fprintf(&b, ", %d of them not built yet", open)
		}
		b.WriteString(".\n\n| | rule | held by |\n|---|---|---|\n")
		for _, r := range s.Rules {
			held := "not built: " + cell(r.Open)
			if r.Open == "" {
				quoted := slices.Clone(r.Tests)
				for i, t := range quoted {
					quoted[i] = "`" + t + "`"
				}
				held = strings.Join(quoted, "<br>")
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.ID, cell(r.Text), held)
		}
	}
	return []byte(b.String())
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
