// Package figures is how measurements are shown: one table for people, one object for programs.
package figures

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Suite is a set of measurements made in one run.
type Suite struct {
	Suite   string  `json:"suite"`
	Machine Machine `json:"machine"`
	Rows    []Row   `json:"rows"`
}

// Machine is where they were made.
type Machine struct {
	Cores int     `json:"cores"`
	CPU   string  `json:"cpu,omitempty"`
	Load  float64 `json:"load"` // of the last minute, at the start
	Go    string  `json:"go"`
	When  string  `json:"when"`
}

// Row is one measurement. Members that do not apply are null.
type Row struct {
	// Name says what is measured, from where to where.
	Name string `json:"name"`
	Unit string `json:"unit"`
	// N is how many samples Ours is the middle of.
	N    int      `json:"n"`
	Ours *float64 `json:"ours"`
	// Reference is the opponent's figure of the same run.
	Reference *float64 `json:"reference"`
	Ratio     *float64 `json:"ratio"`
	// Lo and Hi are the 5th and 95th percentile of ours.
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
	Target *float64 `json:"target"`
	// Holds says whether ours is within the target.
	Holds *bool `json:"holds"`
	// Note says how it was measured, or why it was not.
	Note string `json:"note,omitempty"`
}

// Here describes this machine now.
func Here() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), When: time.Now().UTC().Format(time.RFC3339)}
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(raw), &m.Load) // 0 where the system does not tell
	}
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(raw), "\n") {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				m.CPU = strings.TrimSpace(v)
				break
			}
		}
	}
	return m
}

// AtMost is a row whose value should not be above the target. A target of 0 means there is none.
func AtMost(name, unit string, target float64, samples ...float64) Row {
	r := row(name, unit, samples)
	if target > 0 && r.Ours != nil {
		holds := *r.Ours <= target
		r.Target, r.Holds = &target, &holds
	}
	return r
}

// AtLeast is a row whose value should not be below the target.
func AtLeast(name, unit string, target float64, samples ...float64) Row {
	r := row(name, unit, samples)
	if r.Ours != nil {
		holds := *r.Ours >= target
		r.Target, r.Holds = &target, &holds
	}
	return r
}

// NotMeasured is a row without a figure, with the reason.
func NotMeasured(name, unit, why string) Row { return Row{Name: name, Unit: unit, Note: why} }

// Noted adds how it was measured.
func (r Row) Noted(note string) Row { r.Note = note; return r }

// Against adds the opponent's samples.
func (r Row) Against(samples ...float64) Row {
	if ref := row("", "", samples); ref.Ours != nil && r.Ours != nil {
		ratio := *r.Ours / *ref.Ours
		r.Reference, r.Ratio = ref.Ours, &ratio
	}
	return r
}

func row(name, unit string, samples []float64) Row {
	r := Row{Name: name, Unit: unit, N: len(samples)}
	if len(samples) == 0 {
		return r
	}
	s := slices.Sorted(slices.Values(samples))
	ours := Quantile(s, 0.5)
	r.Ours = &ours
	if len(s) > 1 {
		lo, hi := Quantile(s, 0.05), Quantile(s, 0.95)
		r.Lo, r.Hi = &lo, &hi
	}
	return r
}

// Quantile is the value below which a share of the sorted samples lies, by linear interpolation.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// JSON prints the one object.
func (s Suite) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// Text prints the table.
func (s Suite) Text(w io.Writer) error {
	fmt.Fprintf(w, "%s: %d cores, load %.2f, %s\n", s.Suite, s.Machine.Cores, s.Machine.Load, s.Machine.Go)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  what\tours\t5–95 %\tn\ttarget\t")
	for _, r := range s.Rows {
		mark := ""
		if r.Holds != nil {
			mark = "✓"
			if !*r.Holds {
				mark = "✗ missed"
			}
		}
		spread, target := "", ""
		if r.Lo != nil {
			spread = number(*r.Lo) + "–" + number(*r.Hi)
		}
		if r.Target != nil {
			target = number(*r.Target)
		}
		ours := "not measured"
		if r.Ours != nil {
			ours = number(*r.Ours) + " " + r.Unit
		}
		if r.Ratio != nil {
			mark += fmt.Sprintf(" (%s against %s)", number(*r.Ratio), number(*r.Reference))
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%d\t%s\t%s\n", r.Name, ours, spread, r.N, target, strings.TrimSpace(mark+" "+r.Note))
	}
	return t.Flush()
}

func number(f float64) string {
	switch a := math.Abs(f); {
	case a >= 100:
		return fmt.Sprintf("%.0f", f)
	case a >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}
