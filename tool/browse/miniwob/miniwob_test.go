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
			t.Logf("%s: solved", task)
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
var unsolved = map[string]string{
	"bisect-angle":      "asks for geometry in a picture of lines",
	"chase-circle":      "asks to follow a moving circle with the mouse at every moment; each call of a tool is one place",
	"click-pie":         "its menu opens with an animation of its library, and its parts are drawn over each other",
	"click-pie-nodelay": "its menu opens with an animation of its library, and its parts are drawn over each other",
	"count-sides":       "asks to count the corners of a polygon in a picture",
	"daily-calendar":    "asks to drag out a span of time in a calendar without texts to go by",
	"drag-cube":         "asks to turn a cube by drags whose effect shows in its picture only",
	"draw-circle":       "asks to draw a circle with the mouse; drag goes straight",
	"hot-cold":          "asks to search an area by colours that change under the mouse",
	"hover-shape":       "asks to stay on a square that changes place several times a second; a call of a tool takes longer",
	"right-angle":       "asks for geometry in a picture of lines",
	"text-editor":       "asks to mark a word in an editor; there is no tool that marks text",
}
