package act_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTheListOfComplaintsNamesTestsThatExist(t *testing.T) {
	raw, err := os.ReadFile("../../docs/browser-complaints.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`(?m)^\| \d+ \|`).FindAll(raw, -1)); n != 72 {
		t.Errorf("%d complaints", n)
	}
	sources := map[string]string{}
	for _, m := range regexp.MustCompile("`([a-z/]+)\\.(Test\\w+)`").FindAllStringSubmatch(string(raw), -1) {
		pkg, name := m[1], m[2]
		if _, ok := sources[pkg]; !ok {
			files, err := filepath.Glob(filepath.Join("../..", pkg, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				sources[pkg] += string(text)
			}
		}
		if !strings.Contains(sources[pkg], "func "+name+"(") {
			t.Errorf("there is no %s.%s", pkg, name)
		}
	}
}
