//go:build accept

package browse_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/browsertest"
	"parley/internal/proc"
	"parley/tool"
)

// sample is what the process holds at one moment.
type sample struct {
	at         float64 // cycles, or minutes
	rss        float64 // MiB, of this process after a collection
	browsers   float64 // MiB, proportional share of what was started below it
	goroutines int
	files      int
	processes  int
}

// take measures after a collection, so that garbage is not taken for growth.
func take(t testing.TB, at float64) sample {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	s := sample{at: at, goroutines: runtime.NumGoroutine(), rss: share(os.Getpid())}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	s.files = len(files)
	for _, pid := range below(t, os.Getpid()) {
		s.processes++
		s.browsers += share(pid)
	}
	return s
}

// share is a process's proportional share of memory in MiB; one that has gone has none.
func share(pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "Pss: %f", &kb); err == nil {
			return kb / 1024
		}
	}
	return 0
}

// below are the living processes that a process started, and those that they started.
func below(t testing.TB, root int) (list []int) {
	t.Helper()
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if parent, err := proc.Parent(pid); err == nil {
				children[parent] = append(children[parent], pid)
			}
		}
	}
	for todo := []int{root}; len(todo) > 0; todo = todo[1:] {
		list = append(list, children[todo[0]]...)
		todo = append(todo, children[todo[0]]...)
	}
	return list
}

// slope is how much a value grows per unit of at, by least squares.
func slope(all []sample, of func(sample) float64) float64 {
	var n, x, y, xx, xy float64
	for _, s := range all {
		v := of(s)
		n, x, y, xx, xy = n+1, x+s.at, y+v, xx+s.at*s.at, xy+s.at*v
	}
	if d := n*xx - x*x; d != 0 {
		return (n*xy - x*y) / d
	}
	return 0
}

// middle is the median of a part of the samples.
func middle(part []sample, of func(sample) float64) float64 {
	var list []float64
	for _, s := range part {
		list = append(list, of(s))
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// verdict compares the last third with the middle one: what only the beginning needed is no growth, and a slope that
// noise makes is not either.
func verdict(t *testing.T, unit string, all []sample) {
	t.Helper()
	for _, m := range []struct {
		name  string
		of    func(sample) float64
		grows float64 // what noise may make
	}{
		{"memory of this process, MiB", func(s sample) float64 { return s.rss }, 8},
		{"memory of the browsers, MiB", func(s sample) float64 { return s.browsers }, 120},
		{"goroutines", func(s sample) float64 { return float64(s.goroutines) }, 3},
		{"open files", func(s sample) float64 { return float64(s.files) }, 3},
		{"processes", func(s sample) float64 { return float64(s.processes) }, 2},
	} {
		third := len(all) / 3
		if third == 0 {
			t.Fatalf("%d samples are too few", len(all))
		}
		from, to := middle(all[third:2*third], m.of), middle(all[2*third:], m.of)
		t.Logf("%-28s first %.1f, middle third %.1f, last third %.1f, slope %+.4f a %s", m.name, m.of(all[0]), from, to, slope(all[third:], m.of), unit)
		if to-from > m.grows {
			t.Errorf("%s grew from %.1f to %.1f", m.name, from, to)
		}
	}
}

// number reads a whole number from the environment.
func numberOf(t *testing.T, name string, otherwise int) int {
	t.Helper()
	raw := os.Getenv(name)
	if raw == "" {
		return otherwise
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < 1 {
		t.Fatalf("%s: %q is no number", name, raw)
	}
	return n
}

// nothingLeft fails when processes are there that were not before. Folders that are left fail the test when its manager is
// closed (browsertest.Dir).
func nothingLeft(t *testing.T, before sample) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for len(below(t, os.Getpid())) > before.processes && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
	}
	if left := len(below(t, os.Getpid())); left > before.processes {
		t.Errorf("%d processes are left, %d were there before", left, before.processes)
	}
}

// TestFiveHundredSessionsLeaveNothing opens and closes sessions one after the other. PARLEY_TEST_CYCLES is how many.
func TestFiveHundredSessionsLeaveNothing(t *testing.T) {
	cycles := numberOf(t, "PARLEY_TEST_CYCLES", 500)
	at := browsertest.Site(t, map[string]string{"/": `<title>Cycle</title><button onclick="this.textContent = 'Done'">Go</button>`})
	dir := browsertest.Dir(t)
	c := newClient(t, func(o *browser.Options) { o.Chromium.Dir = dir })
	c.open("")
	c.must("session_close", nil) // what a manager keeps for all its sessions is there from now on
	before := take(t, 0)
	var all []sample
	slow := 0 // starts that a busy machine did not manage in time: they too have to leave nothing
	for i := range cycles {
		for {
			a := c.call("session_open", map[string]any{"url": at})
			if a.Err == nil {
				break
			}
			if slow++; slow > cycles/20+3 || (a.Err.Code != tool.CodeBrowserFailed && a.Err.Code != tool.CodeDeadline) {
				t.Fatalf("cycle %d, %d slow starts: %s", i, slow, a.Text)
			}
			time.Sleep(5 * time.Second)
		}
		if i%5 == 0 {
			c.must("click", map[string]any{"text": "Go"})
		}
		c.must("session_close", nil)
		if i%max(cycles/60, 1) == 0 {
			all = append(all, take(t, float64(i)))
		}
	}
	all = append(all, take(t, float64(cycles)))
	t.Logf("%d cycles, %d slow starts", cycles, slow)
	verdict(t, "cycle", all)
	nothingLeft(t, before)
}

// TestSoak works one session at a gentle pace, one operation a second. PARLEY_TEST_SOAK_MIN is for how many minutes.
func TestSoak(t *testing.T) {
	minutes := numberOf(t, "PARLEY_TEST_SOAK_MIN", 60)
	at := browsertest.Site(t, map[string]string{
		"/":      `<title>Soak</title><h1>Rows</h1><a href=/other>Other</a><a href=/dialog>Dialog</a><input aria-label=Name><button onclick="n.textContent = +n.textContent + 1">Count</button><p id=n>0</p><iframe src="{other}/frame"></iframe>` + strings.Repeat("<div><a href=#>Item</a> <button>Buy</button> <input aria-label=Amount></div>", 200),
		"/other": `<title>Other</title><p>Other page</p><script>console.log('x'.repeat(1000)); fetch('/nothing')</script>`,
		"/frame": `<button>In a frame</button>`,
		"/popup": `<title>Popup</title><p>Here for a moment</p>`,
	})
	dir := browsertest.Dir(t)
	c := newClient(t, func(o *browser.Options) { o.Chromium.Dir = dir })
	c.open("")
	c.must("session_close", nil) // what a manager keeps for all its sessions is there from now on
	before := take(t, 0)
	c.open(at)
	steps := []func(){
		func() { c.must("navigate", map[string]any{"url": at}) },
		func() { c.must("read", nil) },
		func() { c.must("click", map[string]any{"text": "Count", "changes": true}) },
		func() {
			c.must("type", map[string]any{"role": "textbox", "name": "Name", "value": "somebody"})
		},
		func() { c.must("find", map[string]any{"text": "frame"}) },
		func() { c.must("screenshot", nil) },
		func() { c.must("scroll", map[string]any{"to": "bottom"}) },
		func() { c.must("click", map[string]any{"selector": "role=link[name=Other]"}) },
		func() { c.must("console", nil) },
		func() { c.must("back", nil) },
		func() { c.must("network", nil) },
		func() { c.must("tabs", map[string]any{"action": "new", "url": at + "/popup"}) },
		func() { c.must("tabs", map[string]any{"action": "close"}) },
		func() { c.must("navigate", map[string]any{"url": at + "/other"}) },
		func() { c.must("tabs", nil) },
	}
	var all []sample
	began := time.Now()
	next := time.NewTicker(time.Second)
	defer next.Stop()
	operations, sampled := 0, time.Time{}
	for time.Since(began) < time.Duration(minutes)*time.Minute {
		steps[operations%len(steps)]()
		operations++
		if time.Since(sampled) > 20*time.Second && operations%len(steps) == 0 {
			sampled = time.Now()
			all = append(all, take(t, time.Since(began).Minutes()))
			s := all[len(all)-1]
			t.Logf("%.0f min, %d operations: %.1f MiB, browsers %.0f MiB, %d goroutines, %d files, %d processes", s.at, operations, s.rss, s.browsers, s.goroutines, s.files, s.processes)
		}
		<-next.C
	}
	verdict(t, "minute", all)
	c.must("session_close", nil)
	nothingLeft(t, before)
}
