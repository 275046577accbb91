package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestWER(t *testing.T) {
	for _, c := range []struct {
		ref, hyp      string
		sub, ins, del int
	}{
		{"", "", 0, 0, 0},
		{"a b c", "a b c", 0, 0, 0},
		{"a b c", "a x c", 1, 0, 0},
		{"a b c", "a c", 0, 0, 1},
		{"a b c", "a b b c", 0, 1, 0},
		{"a b c", "", 0, 0, 3},
		{"", "a b", 0, 2, 0},
		{"a b c d", "b c d e", 0, 1, 1},
	} {
		ref, hyp := strings.Fields(c.ref), strings.Fields(c.hyp)
		e := WER(ref, hyp)
		if e.Substituted != c.sub || e.Inserted != c.ins || e.Deleted != c.del || e.Reference != len(ref) {
			t.Errorf("%q → %q: %+v", c.ref, c.hyp, e)
		}
		if e.Count() != distance(ref, hyp) {
			t.Errorf("%q → %q: distance %d, counts %d", c.ref, c.hyp, distance(ref, hyp), e.Count())
		}
	}
	if r := WER(nil, []string{"x"}).Rate(); !math.IsInf(r, 1) {
		t.Errorf("rate without a reference: %v", r)
	}
	if r := WER([]string{"a", "b"}, []string{"a"}).Rate(); r != 0.5 {
		t.Errorf("rate %v", r)
	}
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ text, lang, want string }{
		{"Uh, I don't think we'll go.", "en", "i do not think we will go"},
		{"Twenty-three people", "en", "23 people"},
		{"two hundred and five", "en-US", "205"},
		{"one two three", "en", "1 2 3"},
		{"nineteen ninety", "en", "19 90"},
		{"three thousand four hundred", "en", "3400"},
		{"salt and pepper and one", "en", "salt and pepper and 1"},
		{"hundred", "en", "hundred"},
		{"Mr. Colour", "en", "mister color"},
		{"It’s well, isn’t it?", "en", "it is well is not it"},
		{"Ähm, größer!", "de", "ahm grosser"},
		{"Привіт, світе", "uk", "привіт світе"},
		{"会议", "zh", "会 议"},
	} {
		if got := strings.Join(Normalize(c.text, c.lang), " "); strings.ReplaceAll(got, "і", "i") != strings.ReplaceAll(c.want, "і", "i") {
			t.Errorf("Normalize(%q, %q) = %q, want %q", c.text, c.lang, got, c.want)
		}
	}
}

func TestAssignIsBest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + r.IntN(5)
		cost := make([][]int, n)
		for i := range cost {
			cost[i] = make([]int, n)
			for j := range cost[i] {
				cost[i][j] = r.IntN(20)
			}
		}
		got := 0
		seen := map[int]bool{}
		for i, j := range assign(cost) {
			got += cost[i][j]
			seen[j] = true
		}
		if want := brute(cost, 0, map[int]bool{}); got != want || len(seen) != n {
			t.Fatalf("%v: %d, best %d", cost, got, want)
		}
	}
}

func brute(cost [][]int, i int, used map[int]bool) int {
	if i == len(cost) {
		return 0
	}
	best := math.MaxInt
	for j := range cost {
		if !used[j] {
			used[j] = true
			best = min(best, cost[i][j]+brute(cost, i+1, used))
			delete(used, j)
		}
	}
	return best
}

func TestCPWER(t *testing.T) {
	ref := map[string][]string{"Ada": strings.Fields("a b c d"), "Bob": strings.Fields("w x y z")}
	for _, c := range []struct {
		name string
		hyp  map[string][]string
		want int
	}{
		{"right, under other names", map[string][]string{"s1": ref["Bob"], "s2": ref["Ada"]}, 0},
		{"two words given to the wrong one", map[string][]string{"Ada": strings.Fields("a b"), "Bob": strings.Fields("c d w x y z")}, 4},
		{"all in one", map[string][]string{"": strings.Fields("a b c d w x y z")}, 8},
		{"a third person invented", map[string][]string{"1": ref["Ada"], "2": strings.Fields("w x"), "3": strings.Fields("y z")}, 4},
		{"nothing", nil, 8},
	} {
		if e := CPWER(ref, c.hyp); e.Count() != c.want || e.Reference != 8 {
			t.Errorf("%s: %+v, want %d errors", c.name, e, c.want)
		}
	}
}

func TestORCWER(t *testing.T) {
	ref := []Utterance{{"Ada", strings.Fields("a b")}, {"Bob", strings.Fields("w x")}, {"Ada", strings.Fields("c d")}}
	for _, c := range []struct {
		name string
		hyp  map[string][]string
		want int
	}{
		{"in one stream", map[string][]string{"": strings.Fields("a b w x c d")}, 0},
		{"given to the wrong person", map[string][]string{"1": strings.Fields("a b w x"), "2": strings.Fields("c d")}, 0},
		{"one word wrong", map[string][]string{"1": strings.Fields("a b"), "2": strings.Fields("w q c d")}, 1},
		{"nothing", nil, 6},
	} {
		if e := ORCWER(ref, c.hyp); e.Count() != c.want || e.Reference != 6 {
			t.Errorf("%s: %+v, want %d", c.name, e, c.want)
		}
	}
}

// TestORCWERAgainstEveryAssignment compares the descent with the true minimum on small random meetings.
func TestORCWERAgainstEveryAssignment(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	off, above := 0, 0
	const rounds = 200
	for range rounds {
		words := strings.Fields("a b c d e f g h")
		var ref []Utterance
		hyp := map[string][]string{}
		for range 2 + r.IntN(5) {
			u := Utterance{Speaker: fmt.Sprint(r.IntN(2))}
			for range 1 + r.IntN(4) {
				u.Words = append(u.Words, words[r.IntN(len(words))])
			}
			ref = append(ref, u)
			to := u.Speaker
			if r.IntN(4) == 0 {
				to = fmt.Sprint(r.IntN(3))
			}
			for _, w := range u.Words {
				if r.IntN(8) == 0 {
					w = words[r.IntN(len(words))]
				}
				hyp[to] = append(hyp[to], w)
			}
		}
		got := ORCWER(ref, hyp).Count()
		want := everyAssignment(ref, hyp, keys(hyp), make([]int, len(ref)), 0)
		if got < want {
			t.Fatalf("below the minimum: %d < %d", got, want)
		}
		if got > want {
			off++
			above += got - want
		}
		said := map[string][]string{}
		for _, u := range ref {
			said[u.Speaker] = append(said[u.Speaker], u.Words...)
		}
		if cp := CPWER(said, hyp).Count(); want > cp {
			t.Fatalf("attribution cannot cost less than nothing: %d > %d", want, cp)
		}
	}
	t.Logf("above the minimum in %d of %d meetings, by %d words in all", off, rounds, above)
	if off > rounds/20 {
		t.Errorf("the descent misses the minimum in %d of %d", off, rounds)
	}
}

func everyAssignment(ref []Utterance, hyp map[string][]string, streams []string, where []int, i int) int {
	if i < len(ref) {
		best := math.MaxInt
		for k := range streams {
			where[i] = k
			best = min(best, everyAssignment(ref, hyp, streams, where, i+1))
		}
		return best
	}
	total := 0
	for k, s := range streams {
		var w []string
		for j, u := range ref {
			if where[j] == k {
				w = append(w, u.Words...)
			}
		}
		total += distance(w, hyp[s])
	}
	return total
}
