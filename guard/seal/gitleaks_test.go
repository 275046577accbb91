//go:build accept

package seal

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// gitleaksVersion is the oracle: a widely used list of vendors' shapes, fetched as a module when this runs.
const gitleaksVersion = "github.com/zricethezav/gitleaks/v8@v8.30.1"

// TestAgainstGitleaks draws texts from each of the oracle's expressions and looks which of their secrets are found here
// too. Expressions that need a vendor's name beside a bare digest are another question than ours: digests are left alone.
func TestAgainstGitleaks(t *testing.T) {
	out, err := exec.Command("go", "mod", "download", "-json", gitleaksVersion).Output()
	if err != nil {
		t.Fatalf("the oracle cannot be fetched: %v", err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(m.Dir, "config", "gitleaks.toml"))
	if err != nil {
		t.Fatal(err)
	}
	expr := regexp.MustCompile(`(?m)^regex = '''(.*?)'''`)
	r := rand.New(rand.NewPCG(1, 2))
	total, whole, missed := 0, 0, []string{}
	for _, rule := range ruleTexts(string(raw)) {
		e := expr.FindStringSubmatch(rule.body)
		if e == nil {
			continue // it looks at paths
		}
		re, err := regexp.Compile(e[1])
		if err != nil {
			continue
		}
		tree, err := syntax.Parse(e[1], syntax.Perl)
		if err != nil || strings.Contains(e[1], `[ \t\w.-]{0,20}`) {
			continue // a vendor's word beside a bare value
		}
		tried, found := 0, 0
		for range 200 {
			var b strings.Builder
			draw(r, tree, &b)
			text := "see " + b.String() + " there"
			at := re.FindStringSubmatchIndex(text)
			if at == nil {
				continue
			}
			from, to := at[0], at[1]
			if len(at) >= 4 && at[2] >= 0 {
				from, to = at[2], at[3]
			}
			if tried++; slices.ContainsFunc(Find(text), func(f Finding) bool { return f.Start < to && from < f.End }) {
				found++
			}
		}
		if tried < 20 {
			continue
		}
		total++
		if found*10 >= tried*9 {
			whole++
		} else {
			missed = append(missed, rule.id)
		}
	}
	t.Logf("%d of %d shapes of the oracle are found in nine of ten texts; not: %v", whole, total, missed)
	if total < 50 || whole*100 < total*floorOfShapes {
		t.Errorf("%d of %d, want %d %%", whole, total, floorOfShapes)
	}
}

// floorOfShapes is what held when this was written; fewer means that something was lost.
const floorOfShapes = 80

type ruleText struct{ id, body string }

func ruleTexts(config string) []ruleText {
	var out []ruleText
	id := regexp.MustCompile(`(?m)^id = "([^"]+)"`)
	for _, part := range strings.Split(config, "[[rules]]")[1:] {
		if m := id.FindStringSubmatch(part); m != nil {
			out = append(out, ruleText{m[1], part})
		}
	}
	return out
}

// draw writes a text that an expression matches.
func draw(r *rand.Rand, e *syntax.Regexp, b *strings.Builder) {
	switch e.Op {
	case syntax.OpLiteral:
		b.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		var set []rune
		for i := 0; i+1 < len(e.Rune); i += 2 {
			for c := e.Rune[i]; c <= e.Rune[i+1] && c < 0x7f; c++ {
				if c > ' ' {
					set = append(set, c)
				}
			}
		}
		if len(set) > 0 {
			b.WriteRune(set[r.IntN(len(set))])
		} else {
			b.WriteByte(' ')
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(alnum[r.IntN(len(alnum))])
	case syntax.OpCapture, syntax.OpConcat:
		for _, s := range e.Sub {
			draw(r, s, b)
		}
	case syntax.OpAlternate:
		draw(r, e.Sub[r.IntN(len(e.Sub))], b)
	case syntax.OpQuest:
		if r.IntN(2) == 0 {
			draw(r, e.Sub[0], b)
		}
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		low, high := e.Min, e.Max
		if e.Op != syntax.OpRepeat {
			low, high = 1, 8
		}
		if high < 0 || high > low+20 {
			high = low + 20
		}
		for range low + r.IntN(high-low+1) {
			draw(r, e.Sub[0], b)
		}
	}
}
