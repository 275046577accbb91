package meeting

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Every reason that the code names is in the table, is explained, and nothing else is.
func TestEveryReasonIsExplained(t *testing.T) {
	named := map[Reason]bool{"refused_by_google": true} // what refused-by-platform is called on one platform
	f, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		s, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		named[Reason(s)] = true
		if !Reason(s).Known() {
			t.Errorf("%s is not in reasons.json", s)
		}
		return true
	})
	if len(named) < 30 {
		t.Fatalf("only %d reasons were found in reason.go", len(named))
	}
	seen := map[Reason]bool{}
	for _, e := range Endings {
		if seen[e.Reason] {
			t.Errorf("%s is there twice", e.Reason)
		}
		seen[e.Reason] = true
		switch {
		case !named[e.Reason]:
			t.Errorf("%s is in the table and nowhere else", e.Reason)
		case !strings.HasSuffix(e.What, ".") || len(e.What) < 15:
			t.Errorf("%s: %q is no sentence", e.Reason, e.What)
		case e.Try == "" && !e.Expected:
			t.Errorf("%s went wrong, and there is no advice", e.Reason)
		case e.Where != "door" && e.Where != "inside" && e.Where != "service":
			t.Errorf("%s is decided %q", e.Reason, e.Where)
		}
	}
	if e := Reason("made-up").Ending(); e.What == "" || e.Expected {
		t.Errorf("an unknown reason: %+v", e)
	}
}

func TestReasonsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Why a meeting ends\n\nGenerated from `meeting/reasons.json` by `go test ./meeting -update`; do not edit.\n\n" +
		"`meeting_status` and the event `parley:meeting-ended` give the reason, the sentence, and what to try.\n")
	for _, where := range []struct{ id, title string }{{"door", "At the door"}, {"inside", "In the meeting"}, {"service", "By the service"}} {
		fmt.Fprintf(&b, "\n## %s\n\n| reason | what happened | what to try |\n|---|---|---|\n", where.title)
		for _, e := range Endings {
			if e.Where == where.id {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Reason, e.What, or(e.Try, "–"))
			}
		}
	}
	page(t, "../docs/reasons.md", b.String())
}

// page compares a generated page, or rewrites it.
func page(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the code says (go test ./meeting -update rewrites it): %v", path, err)
	}
}
