package main

import (
	"testing"
	"time"
)

func TestYieldingIsSeenInTheSound(t *testing.T) {
	zero := time.Now()
	frames := func(level func(ms int) float64) (out []frameOf) {
		for ms := 0; ms < 3000; ms += 20 {
			out = append(out, frameOf{zero.Add(time.Duration(ms) * time.Millisecond), level(ms)})
		}
		return out
	}
	began := zero.Add(time.Second)
	for name, c := range map[string]struct {
		level           func(ms int) float64
		ducked, silence time.Duration
	}{
		"lower, then silent": {func(ms int) float64 {
			switch {
			case ms < 1120:
				return -20
			case ms < 1500:
				return -38
			}
			return -90
		}, 120 * time.Millisecond, 480 * time.Millisecond},
		"a pause between two words is neither": {func(ms int) float64 {
			if ms >= 1100 && ms < 1200 || ms >= 1600 {
				return -90
			}
			return -20
		}, 600 * time.Millisecond, 580 * time.Millisecond},
		"nothing was said when she began": {func(ms int) float64 {
			if ms < 500 {
				return -20
			}
			return -90
		}, 0, 0},
	} {
		ducked, silence := yielded(frames(c.level), began)
		if ducked != c.ducked || silence != c.silence {
			t.Errorf("%s: lower after %v, silent after %v; want %v, %v", name, ducked, silence, c.ducked, c.silence)
		}
	}
}
