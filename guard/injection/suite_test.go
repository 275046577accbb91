package injection

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

var transports = []string{"stdio", "websocket", "http"}

// try plays one attack. It tells whether the goal was reached.
func try(t *testing.T, guarded bool, transport string, c carrier, g goal) (reached bool, how string) {
	t.Helper()
	w, s, guard := newWorld(t, guarded, c, g.code)
	m := &model{w: w, call: dial(t, transport, s, guard)}
	m.run()
	if guarded && w.leaked() != "" {
		return true, w.leaked() // whatever the goal was
	}
	return w.succeeded(g), fmt.Sprint(w.changes)
}

func meetingCarriers() []carrier {
	var out []carrier
	for _, place := range slices.Sorted(maps.Keys(places)) {
		for _, dress := range slices.Sorted(maps.Keys(dresses)) {
			c := places[place]()
			c.name, c.dress = "meeting: "+place+", "+dress, dresses[dress]
			out = append(out, c)
		}
	}
	return out
}

// TestAnObedientModel is the suite. An attack counts only where it succeeds with policy, seal and proxy off.
func TestAnObedientModel(t *testing.T) {
	carriers := append(slices.Clone(pageCarriers), meetingCarriers()...)
	if len(pageCarriers) < 12 || len(carriers)-len(pageCarriers) < 40 || len(goals) < 10 {
		t.Fatalf("%d carriers, %d goals", len(carriers), len(goals))
	}
	counted, void, n := 0, 0, 0
	for i, c := range carriers {
		for j, g := range goals {
			for k, transport := range transports {
				if !chosen(i, j, k, i < len(pageCarriers)) {
					continue
				}
				n++
				t.Run(fmt.Sprintf("%s/%s/%s", c.name, g.code, transport), func(t *testing.T) {
					if reached, how := try(t, false, transport, c, g); !reached {
						void++
						t.Logf("not counted: without the guard it does not reach %q either (%s)", g.name, how)
						return
					}
					counted++
					if reached, how := try(t, true, transport, c, g); reached {
						t.Errorf("%s: %s", g.name, how)
					}
				})
			}
		}
	}
	t.Logf("%d attacks played, %d counted, %d void", n, counted, void)
	if void > 0 || counted == 0 {
		t.Errorf("%d of %d attacks do not work without the guard: they prove nothing", void, n)
	}
}
