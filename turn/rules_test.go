package turn

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

type rule struct {
	n                     int
	section, text, keeper string
	stories               []*story
}

func rules(t *testing.T) []*rule {
	t.Helper()
	data, err := os.ReadFile("testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []*rule
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), "|")
		n, err := strconv.Atoi(strings.TrimSpace(f[0]))
		if len(f) != 4 || err != nil || n != len(out)+1 {
			t.Fatalf("rules.txt: %q", line)
		}
		out = append(out, &rule{n: n, section: strings.TrimSpace(f[1]), text: strings.TrimSpace(f[2]), keeper: strings.TrimSpace(f[3])})
	}
	return out
}

// TestEverySentenceHasAStory holds docs/turns.md to the stories: each sentence of the source has one, or names
// the package that keeps it.
func TestEverySentenceHasAStory(t *testing.T) {
	all := rules(t)
	for _, file := range storyFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		titles := map[string]bool{}
		for _, s := range parseStories(t, file, string(data)) {
			if titles[s.title] || len(s.rules) == 0 {
				t.Errorf("%s: story %q: no rules, or its title is there twice", file, s.title)
			}
			titles[s.title] = true
			for _, n := range s.rules {
				if n < 1 || n > len(all) {
					t.Fatalf("%s: %q cites rule %d", file, s.title, n)
				}
				all[n-1].stories = append(all[n-1].stories, s)
			}
		}
	}
	var b bytes.Buffer
	b.WriteString("# Turns: what is promised, and the story that holds it\n\n" +
		"Generated from `turn/testdata` by `go test ./turn -update`. Each line of the first column is one sentence of\n" +
		"the source document in our words (\"ours\" marks what it does not say); each story is a script in\n" +
		"`turn/testdata` that the engine is held to line by line.\n")
	section := ""
	for _, r := range all {
		if r.section != section {
			section = r.section
			fmt.Fprintf(&b, "\n## %s\n\n| | rule | kept by |\n|---|---|---|\n", section)
		}
		var kept []string
		for _, s := range r.stories {
			kept = append(kept, fmt.Sprintf("%s: %s", strings.TrimSuffix(s.file, ".txt"), strings.ReplaceAll(s.title, "|", "\\|")))
		}
		if r.keeper != "" {
			kept = append(kept, "*"+r.keeper+"*")
		}
		if len(kept) == 0 {
			t.Errorf("rule %d has no story: %s", r.n, r.text)
		}
		fmt.Fprintf(&b, "| %d | %s | %s |\n", r.n, r.text, strings.Join(kept, "<br>"))
	}
	b.WriteString("\n## Settings and defaults\n\n| setting | default | meaning |\n|---|---|---|\n")
	def := Default()
	for _, s := range All {
		v, _ := def.Get(s.Name)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Name, v, strings.ReplaceAll(s.Meaning, "|", "\\|"))
	}
	page := filepath.Join("..", "docs", "turns.md")
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil || !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s is not what the stories say (go test ./turn -update writes it anew): %v", page, err)
	}
}
