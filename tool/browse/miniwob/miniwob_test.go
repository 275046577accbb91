//go:build accept

package miniwob

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// tries is how often a task is tried: each try is another random instance, and some of them end before a person could
// have acted.
const tries = 3

// least is how many tasks have to be solved.
const least = 100

// TestTasks solves the tasks; MINIWOB_ONLY narrows to a pattern.
func TestTasks(t *testing.T) {
	only := os.Getenv("MINIWOB_ONLY")
	b := newBench(t)
	solved, left := 0, []string{}
	list := tasks(t, b)
	for _, task := range list {
		if only != "" && !regexp.MustCompile(only).MatchString(task) {
			continue
		}
		f := solvers[task]
		if f == nil {
			left = append(left, task+": no solver: "+unsolved[task])
			continue
		}
		var whys []string
		for range tries {
			why := b.attempt(task, f)
			if why == "" {
				whys = nil
				break
			}
			whys = append(whys, why)
		}
		if whys == nil {
			solved++
			continue
		}
		left = append(left, task+": "+strings.Join(whys, " / "))
	}
	t.Logf("%d of %d tasks solved; left:\n%s", solved, len(list), strings.Join(left, "\n"))
	if only == "" && solved < least {
		t.Errorf("%d tasks solved, want %d", solved, least)
	}
}

// unsolved says why a task has no solver.
var unsolved = map[string]string{}
