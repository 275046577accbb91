package platforms

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestThePlatformsPageNamesEveryModule holds docs/platforms.md against the folders: each says against what it was tested.
func TestThePlatformsPageNamesEveryModule(t *testing.T) {
	page, err := os.ReadFile("../docs/platforms.md")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob("*/ui.json")
	if err != nil || len(tables) < 4 {
		t.Fatalf("%v %v", tables, err)
	}
	for _, table := range tables {
		name := Title(filepath.Dir(table))
		if !strings.Contains(string(page), "## "+name+"\n") {
			t.Errorf("docs/platforms.md has no part about %s", name)
		}
	}
	for _, must := range []string{"never", "doctor --live", "unverified"} {
		if !strings.Contains(string(page), must) {
			t.Errorf("docs/platforms.md does not speak of %q", must)
		}
	}
}
