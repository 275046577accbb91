package rules

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/source-rules.md")

// The build fails when a rule names a test that is not there, or the page is not what the rules say.
func TestEveryRuleIsHeld(t *testing.T) {
	files, err := filepath.Glob("../../docs/rules/*.tsv")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	tests := NewTests("../..")
	var sections []Section
	ids := map[string]string{}
	for _, path := range files {
		s, err := Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		sections = append(sections, s)
		for _, r := range s.Rules {
			if was := ids[r.ID]; was != "" {
				t.Errorf("%s stands in %s and %s", r.ID, was, path)
			}
			ids[r.ID] = path
			for _, name := range r.Tests {
				if !tests.Has(name) {
					t.Errorf("%s: there is no test %s", r.ID, name)
				}
			}
		}
	}
	const page = "../../docs/source-rules.md"
	want := Page(sections)
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/source-rules.md is not what docs/rules says: go test ./internal/rules -update")
	}
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"# T\nABC-1\trule\tinternal/rules.TestRead\n":       "",
		"# T\nABC-1\trule\topen: the page is not there\n":   "",
		"ABC-1\trule\tx.TestY\n":                            "the first line is the title",
		"# T\nABC-1\trule\n":                                "with a tab between",
		"# T\nABC-1\trule\t,\n":                             "neither a test nor a reason",
		"# T\nABC-1\trule\topen:\n":                         "neither a test nor a reason",
		"# T\nABC-1\t \tx.TestY\n":                          "has no text",
		"# T\nabc\trule\tx.TestY\n":                         "an ID is letters",
		"# T\nABC-1\trule\tx.TestY\nABC-1\trule\tx.TestY\n": "stands twice",
	} {
		path := filepath.Join(t.TempDir(), "r.tsv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		if err != nil {
			if want == "" || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", text, err, want)
			}
		} else if want != "" {
			t.Errorf("%q was taken, want %q", text, want)
		}
	}
}

func TestHas(t *testing.T) {
	tests := NewTests("../..")
	for name, want := range map[string]bool{
		"internal/rules.TestHas":              true,
		"internal/rules.TestRead/one":         true,
		"internal/rules.TestNothing":          false,
		"internal/nowhere.TestHas":            false,
		"TestHas":                             false,
		"meeting.TestStories:denied":          true,
		"meeting.TestStories:no-such-story":   false,
		"platforms/meet.TestScenarios:lobby":  true,
		"internal/rules.TestEveryRuleIsHeld/": true,
	} {
		if got := tests.Has(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
