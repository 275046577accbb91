package whisper

import (
	"slices"
	"testing"
)

func TestReread(t *testing.T) {
	for _, c := range []struct {
		name   string
		tokens []int
		places []int
		want   bool
	}{
		{"the same three at the same places", []int{1, 2, 3, 1, 2, 3}, []int{10, 20, 30, 10, 20, 30}, true},
		{"0.3 s apart", []int{1, 2, 3, 1, 2, 3}, []int{10, 20, 30, 25, 35, 45}, true},
		{"a little more than 0.3 s apart", []int{1, 2, 3, 1, 2, 3}, []int{10, 20, 30, 26, 35, 45}, false},
		{"before by 0.3 s", []int{1, 2, 3, 1, 2, 3}, []int{40, 50, 60, 25, 35, 45}, true},
		{"really said twice", []int{1, 2, 3, 1, 2, 3}, []int{10, 20, 30, 110, 120, 130}, false},
		{"only two", []int{1, 2, 9, 1, 2}, []int{10, 20, 30, 10, 20}, false},
		{"with something in between", []int{1, 2, 3, 7, 8, 1, 2, 3}, []int{10, 20, 30, 40, 50, 10, 20, 30}, true},
		{"another token", []int{1, 2, 3, 1, 2, 4}, []int{10, 20, 30, 10, 20, 30}, false},
		{"overlapping itself", []int{1, 1, 1, 1, 1}, []int{10, 10, 10, 10, 10}, false},
		{"three", []int{1, 1, 1}, []int{10, 10, 10}, false},
		{"nothing", nil, nil, false},
	} {
		if got := reread(c.tokens, c.places); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func repeat(pattern []int, times int, before ...int) []int {
	out := slices.Clone(before)
	for range times {
		out = append(out, pattern...)
	}
	return out
}

func TestLooping(t *testing.T) {
	for _, c := range []struct {
		name   string
		tokens []int
		want   int
	}{
		{"one token twelve times", repeat([]int{5}, 12), 1},
		{"one token eleven times", repeat([]int{5}, 11), 0},
		{"two tokens six times", repeat([]int{5, 6}, 6), 2},
		{"two tokens five times", repeat([]int{5, 6}, 5), 0},
		{"four tokens three times", repeat([]int{1, 2, 3, 4}, 3, 9, 9), 4},
		{"four tokens twice", repeat([]int{1, 2, 3, 4}, 2, 9, 9), 0},
		{"ten tokens three times", repeat([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 3), 10},
		{"eleven tokens three times", repeat([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 3), 0},
		{"a loop that has ended", append(repeat([]int{5}, 12), 6), 0},
		{"nothing", nil, 0},
	} {
		if got := looping(c.tokens); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		seconds int
		lang    string
		room    int
		want    int
	}{{1, "en", 440, 20}, {30, "en", 440, 310}, {30, "ja", 440, 440}, {0, "en", 440, 10}, {5, "de", 440, 135}} {
		if got := budget(c.seconds*SampleRate, c.lang, c.room); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestUnspoken(t *testing.T) {
	for _, c := range []struct {
		noSpeech, logProb float64
		want              bool
	}{
		{0.05, -2, false}, {0.39, -9, false}, {0.4, -1.51, true}, {0.4, -1.5, false}, {0.59, -1, false},
		{0.6, -0.76, true}, {0.6, -0.75, false}, {0.73, -0.44, false}, {0.89, 0, false}, {0.9, 0, true}, {1, 0, true},
	} {
		if got := unspoken(c.noSpeech, c.logProb); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestRest(t *testing.T) {
	// 10 s of sound with a pause at 4.5 s.
	pcm := make([]int16, 10*SampleRate)
	for i := range pcm {
		pcm[i] = int16(8000 * (i % 2))
		if at := i / FrameSamples; at >= 220 && at < 230 {
			pcm[i] = 0
		}
	}
	const sound = 500
	for _, c := range []struct {
		name     string
		places   []int
		from, to int // frames; 0, 0: nothing is left over
	}{
		{"everything was heard", []int{10, 200, 490}, 0, 0},
		{"2 s less a frame are left", []int{10, 401}, 0, 0},
		{"2 s are left", []int{10, 400}, 400, 465},
		{"the last word lies before the pause", []int{10, 200, 5}, 220, 230},
		{"no tokens at all", nil, 0, 0},
	} {
		got := rest(pcm, c.places, sound)
		if got < c.from*FrameSamples || got > c.to*FrameSamples {
			t.Errorf("%s: %d (frame %d)", c.name, got, got/FrameSamples)
		}
	}
}
