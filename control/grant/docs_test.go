package grant

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table in docs/control.md")

// TestTheDocsShowTheTable holds the end of docs/control.md to actions.json.
func TestTheDocsShowTheTable(t *testing.T) {
	const page, mark = "../../docs/control.md", "<!-- actions -->\n"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(raw), mark)
	if !ok {
		t.Fatal("the page has no place for the table")
	}
	var b strings.Builder
	b.WriteString(head + mark + "\n| action | arguments | internal scope | at first | result |\n|---|---|---|---|---|\n")
	for _, a := range Actions() {
		var args []string
		for _, arg := range a.Args {
			s := arg.Name
			if arg.Optional {
				s += "?"
			}
			args = append(args, fmt.Sprintf("%s: %s", s, arg.Type))
		}
		list := strings.Join(args, ", ")
		if len(a.ExactlyOne) > 0 {
			list += "; exactly one of " + strings.Join(a.ExactlyOne, ", ")
		}
		if list == "" {
			list = "–"
		}
		first := "offered"
		if a.OptIn {
			first = "off"
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s |\n", a.Name, list, a.Internal, first, a.Result)
	}
	b.WriteString(`
Types: *session* a UUID in lower case; *sessions* 1 to 128 different ones; *text* 1 to 1024 bytes; *anytext* any text; *integer* within ±2^53; *url* absolute http or
https without credentials; *appearance* an object of ` + "`mode` (system, light, dark), `accent` (blue, teal, violet), `tabMode` (separate, compact)" + `, at least one.
`)
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != string(raw) {
		t.Error("docs/control.md is not what the table says: go test ./control/grant -run TheDocs -update")
	}
}
