package settings

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/configuration.md")

func TestTheDocsAreTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Configuration\n\n<!-- Made from internal/settings/table.go by `make docs`. -->\n\n")
	b.WriteString("Settings come from flags, then the environment, then a file, then the default. The file is `parley/parley.conf` in the user's\nconfiguration folder (`~/.config`), or the one that `PARLEY_CONFIG` names, with `NAME=VALUE` lines. Every value is checked at\nstart; a bad one stops the program and is named. `parley config` prints what is in force and where it came from.\n\n")
	b.WriteString("| setting | default | value | meaning |\n|---|---|---|---|\n")
	for _, s := range Table {
		def := "–"
		if s.Default != "" {
			def = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, def, strings.ReplaceAll(s.Shape, "|", "\\|"), strings.ReplaceAll(s.Meaning, "|", "\\|"))
	}
	b.WriteString("\nThe bridge (`parley bridge`) reads `PARLEY_URL`, `PARLEY_TOKEN` and `PARLEY_IDLE_EXIT_SEC` only.\n")
	const page = "../../docs/configuration.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(old) != b.String() {
		t.Error("docs/configuration.md is not what the table says: run make docs")
	}
}
