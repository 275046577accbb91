package browser

import "strings"

// Changes are the differences between two snapshots of a page.
type Changes struct {
	Added   []string `json:"added,omitempty" arg:"untrusted" doc:"Lines that are new."`
	Removed []string `json:"removed,omitempty" arg:"untrusted" doc:"Lines that are gone."`
	More    int      `json:"more,omitempty" doc:"How many more lines changed."`
}

// maxChanges and maxChangeText bound what of a difference is told.
const (
	maxChanges    = 20
	maxChangeText = 200
)

// Diff tells which lines are new and which are gone. Where a line stands does not matter: what moved did not change.
func Diff(old, now *Snapshot) *Changes {
	count := map[string]int{}
	for _, l := range old.Lines {
		count[strings.TrimSpace(l)]++
	}
	c := &Changes{}
	told := 0
	take := func(into *[]string, l string) {
		if l == "" {
			return
		}
		if told++; told > maxChanges {
			c.More++
			return
		}
		*into = append(*into, clip(l, maxChangeText))
	}
	for _, l := range now.Lines {
		l = strings.TrimSpace(l)
		if count[l] > 0 {
			count[l]--
			continue
		}
		take(&c.Added, l)
	}
	for _, l := range old.Lines {
		l = strings.TrimSpace(l)
		if count[l] > 0 {
			count[l]--
			take(&c.Removed, l)
		}
	}
	return c
}
