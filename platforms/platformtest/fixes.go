package platformtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/platforms"
	"parley/platforms/sign"
	"parley/testkit/standin"
)

// Fix is what mends one symptom of the field: lines of a module's table without which its scenario goes wrong.
type Fix struct {
	// Scenario is named after the symptom.
	Scenario string
	// Off names the lines: "sign removed", "sign asking/de" (one language of it), "dialog devices", "target join-here".
	Off []string
}

// nowhere is a selector that no page has.
const nowhere = "parley-nowhere"

// Without gives a module's table without some of its lines. An element that is worked is still named, and found nowhere.
func Without(table *sign.Table, off ...string) (*sign.Table, error) {
	raw, err := json.Marshal(table)
	if err != nil {
		return nil, err
	}
	var t sign.Table
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, err
	}
	for _, line := range off {
		kind, name, _ := strings.Cut(line, " ")
		name, lang, _ := strings.Cut(name, "/")
		before := len(t.Signs) + len(t.Dialogs)
		switch kind {
		case "sign":
			i := slices.IndexFunc(t.Signs, func(s sign.Sign) bool { return s.Name == name })
			if i >= 0 && lang != "" {
				words := len(t.Signs[i].Texts) + len(t.Signs[i].Names)
				delete(t.Signs[i].Texts, lang)
				delete(t.Signs[i].Names, lang)
				t.Signs[i].Unverified = slices.DeleteFunc(t.Signs[i].Unverified, func(l string) bool { return l == lang })
				if len(t.Signs[i].Texts)+len(t.Signs[i].Names) == words {
					return nil, fmt.Errorf("%s: the sign has no words of that language", line)
				}
				continue
			}
			t.Signs = slices.DeleteFunc(t.Signs, func(s sign.Sign) bool { return s.Name == name })
		case "dialog":
			t.Dialogs = slices.DeleteFunc(t.Dialogs, func(d sign.DialogRule) bool { return d.Name == name })
		case "target":
			if _, ok := t.Targets[name]; !ok {
				return nil, fmt.Errorf("%s: there is no such line", line)
			}
			t.Targets[name] = sign.Words{Selector: nowhere}
			continue
		}
		if len(t.Signs)+len(t.Dialogs) == before {
			return nil, fmt.Errorf("%s: there is no such line", line)
		}
	}
	if raw, err = json.Marshal(t); err != nil {
		return nil, err
	}
	return sign.ParseTable(raw)
}

// FixesHold says whether a list of fixes names scenarios and lines that exist.
func FixesHold(t *testing.T, table *sign.Table, k standin.Kind, fixes []Fix) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range fixes {
		if _, err := standin.Load(k, f.Scenario); err != nil {
			t.Error(err)
		}
		if _, err := Without(table, f.Off...); err != nil || len(f.Off) == 0 {
			t.Errorf("%s: %v", f.Scenario, err)
		}
		if seen[f.Scenario] {
			t.Errorf("%s stands twice", f.Scenario)
		}
		seen[f.Scenario] = true
	}
}

// fixTime is how long a scenario may take here: it is played with its fix first, so that it is known to be enough.
const fixTime = 40_000

// FixesMatter draws n fixes at random and plays each one's scenario with it, which must go right, and without it, which must
// not: a scenario that goes right either way shows nothing. PARLEY_TEST_SEED repeats a draw, PARLEY_TEST_SEEDS says how many.
// use replaces the module's table until the test ends.
func FixesMatter(t *testing.T, p platforms.Platform, k standin.Kind, table *sign.Table, fixes []Fix, n int, use func(*sign.Table)) {
	Browser(t)
	seed := rand.Uint64N(1 << 32)
	for name, set := range map[string]func(uint64){"PARLEY_TEST_SEED": func(v uint64) { seed = v }, "PARLEY_TEST_SEEDS": func(v uint64) { n = int(v) }} {
		if raw := os.Getenv(name); raw != "" {
			v, err := strconv.ParseUint(raw, 10, 32)
			if err != nil {
				t.Fatalf("%s is a number: %v", name, err)
			}
			set(v)
		}
	}
	t.Logf("PARLEY_TEST_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0xf1e5))
	drawn := r.Perm(len(fixes))[:min(n, len(fixes))]
	for _, i := range drawn {
		f := fixes[i]
		t.Run(f.Scenario, func(t *testing.T) {
			s, err := standin.Load(k, f.Scenario)
			if err != nil {
				t.Fatal(err)
			}
			if s.Expect.WithinMS == 0 || s.Expect.WithinMS > fixTime {
				s.Expect.WithinMS = fixTime
			}
			var with, without Outcome
			t.Run("with", func(t *testing.T) { with = Play(t, p, k, s, standin.Mutation{}) })
			less, err := Without(table, f.Off...)
			if err != nil {
				t.Fatal(err)
			}
			use(less)
			defer use(table)
			t.Run("without", func(t *testing.T) { without = Play(t, p, k, s, standin.Mutation{}) })
			t.Logf("%s | with: %s | without %s: %s; %s", f.Scenario, strings.Join(with.Places, " → "), strings.Join(f.Off, ", "), strings.Join(without.Places, " → "), strings.Join(append(slices.Clone(without.False), without.Wrong...), "; "))
			if !with.Survived() {
				t.Errorf("with its fix: %v %v", with.False, with.Wrong)
			}
			if without.Survived() {
				t.Error("it goes right without its fix as well: the scenario shows nothing")
			}
		})
	}
}
