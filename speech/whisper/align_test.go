package whisper

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// looks makes attention of tokens that look at these frames, with a little everywhere else and a lot at frame 5.
func looks(heads, frames int, at ...int) *attention {
	a := &attention{heads: heads, frames: frames}
	for _, p := range at {
		row := make([]float32, heads*frames)
		for h := range heads {
			for f := range frames {
				row[h*frames+f] = 0.001
				if d := f - p; d >= -3 && d <= 3 {
					row[h*frames+f] = 0.1
				}
			}
			row[h*frames+p] = 0.2
			row[h*frames+5] += 0.15
		}
		a.rows = append(a.rows, row)
	}
	return a
}

func TestPlace(t *testing.T) {
	a := looks(2, 100, 50, 90)
	if got := a.place(0, 100); got != 50 {
		t.Errorf("place %d", got)
	}
	if got := a.place(1, 60); got != 5 { // what it looks at lies outside
		t.Errorf("place %d", got)
	}
	if got := a.place(1, 0); got != 0 {
		t.Errorf("no frames: %d", got)
	}
	if got := a.place(0, 1000); got != 50 {
		t.Errorf("more frames than there are: %d", got)
	}
}

func TestStartsFollowWhatTheTokensLookAt(t *testing.T) {
	starts := looks(3, 200, 20, 60, 100, 150).starts(180)
	if len(starts) != 5 || starts[0] != 0 || starts[4] != 180 {
		t.Fatalf("%v", starts)
	}
	for i, want := range []int{20, 60, 100, 150} {
		if i > 0 && (starts[i] < want-25 || starts[i] > want+5) {
			t.Errorf("token %d begins at %d, looks at %d", i, starts[i], want)
		}
	}
	if !sort.IntsAreSorted(starts) {
		t.Errorf("not in order: %v", starts)
	}
}

func TestStartsAtTheEdges(t *testing.T) {
	if got := (&attention{heads: 1, frames: 10}).starts(10); got != nil {
		t.Errorf("no tokens: %v", got)
	}
	if got := looks(1, 20, 8).starts(0); !slices.Equal(got, []int{0, 0}) {
		t.Errorf("no frames: %v", got)
	}
	if got := looks(1, 20, 8).starts(1); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("one frame: %v", got)
	}
	// More tokens than frames: they share them, in order.
	if got := looks(2, 20, 8, 9, 10, 11, 12, 13).starts(3); !sort.IntsAreSorted(got) || len(got) != 7 || got[6] != 3 {
		t.Errorf("three frames for six tokens: %v", got)
	}
}

// The path must be the best one: compared with all of them on small scores.
func TestWarpFindsTheBestPath(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		n, m := 1+r.IntN(4), 1+r.IntN(5)
		score := make([]float64, n*m)
		for i := range score {
			score[i] = r.NormFloat64()
		}
		var best func(i, j int) float64
		best = func(i, j int) float64 {
			if i == 0 && j == 0 {
				return score[0]
			}
			v, any := 0.0, false
			for _, d := range [][2]int{{1, 0}, {0, 1}, {1, 1}} {
				if i >= d[0] && j >= d[1] {
					if w := best(i-d[0], j-d[1]); !any || w > v {
						v, any = w, true
					}
				}
			}
			return v + score[i*m+j]
		}
		starts := make([]int, n)
		warp(starts, score, n, m)
		// Between its start and the next row's the path stays in a row; the step into the next row is straight or slanted.
		sum := func(slant int) float64 {
			total := 0.0
			for i := range n {
				end := m - 1
				if i+1 < n {
					end = starts[i+1] - (slant >> i & 1)
				}
				if end < starts[i] {
					return -1e9
				}
				for j := starts[i]; j <= end; j++ {
					total += score[i*m+j]
				}
			}
			return total
		}
		got := -1e9
		for slant := range 1 << (n - 1) {
			got = max(got, sum(slant))
		}
		if want := best(n-1, m-1); starts[0] != 0 || got < want-1e-9 {
			t.Fatalf("%dx%d: path through %v gives %v, the best is %v", n, m, starts, got, want)
		}
	}
}

func TestMedian(t *testing.T) {
	src := []float64{9, 1, 8, 2, 7, 3, 6, 4, 5}
	dst := make([]float64, len(src))
	median7(dst, src)
	// Around the fifth: 1 8 2 7 3 6 4; at the first one mirrored: 2 8 1 9 1 8 2.
	if dst[4] != 4 || dst[0] != 2 {
		t.Errorf("%v", dst)
	}
	short := []float64{3, 1, 2}
	median7(short, []float64{3, 1, 2})
	if !slices.Equal(short, []float64{3, 1, 2}) {
		t.Errorf("too short for a median: %v", short)
	}
}

func BenchmarkStartsOfFiftyTokensInTenSeconds(b *testing.B) {
	var at []int
	for i := range 51 {
		at = append(at, i*10)
	}
	a := looks(8, 750, at...)
	for b.Loop() {
		a.starts(500)
	}
}

func TestTheSlidingMedianIsTheMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n := 4; n < 40; n++ {
		src, dst := make([]float64, n), make([]float64, n)
		for i := range src {
			src[i] = float64(r.IntN(5)) // with equal values
		}
		median7(dst, src)
		for i := range src {
			var w []float64
			for k := -3; k <= 3; k++ {
				j := i + k
				if j < 0 {
					j = -j
				}
				if j >= n {
					j = 2*(n-1) - j
				}
				w = append(w, src[j])
			}
			slices.Sort(w)
			if dst[i] != w[3] {
				t.Fatalf("%v: value %d is %v, want %v", src, i, dst[i], w[3])
			}
		}
	}
}
