package rivals

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"parley/internal/proc"
)

// memory is the proportional share of memory, in MiB, of a process and those below it that are no browser.
func memory(root int) float64 {
	parents := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if parent, err := proc.Parent(pid); err == nil {
				parents[parent] = append(parents[parent], pid)
			}
		}
	}
	var sum float64
	var walk func(pid int)
	walk = func(pid int) {
		program, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe")) // gone is no browser
		if strings.Contains(program, "chrom") || strings.Contains(program, "Xvfb") {
			return
		}
		sum += pss(pid)
		for _, child := range parents[pid] {
			walk(child)
		}
	}
	walk(root)
	return sum
}

func pss(pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			var kb float64
			if _, err := fmt.Sscan(rest, &kb); err == nil {
				return kb / 1024
			}
		}
	}
	return 0
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}
