// Package timeline draws who spoke when, from the sound that was heard.
package timeline

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Quiet is the level at which nobody speaks, in dBFS; Loud fills the picture.
const (
	Quiet = -45.0
	Loud  = -15.0
)

// Timeline is what was heard, in the order of Who. It is not safe for concurrent use.
type Timeline struct {
	Who   []string
	step  time.Duration
	zero  time.Time
	cells map[string]map[int]float64 // the loudest of each step, in dBFS
	marks []Mark
	last  int
}

// Mark is something that happened.
type Mark struct {
	At   time.Time
	Sign string // one character
	Text string
}

// New begins a picture with a time per column.
func New(step time.Duration, who ...string) *Timeline {
	return &Timeline{Who: who, step: step, cells: map[string]map[int]float64{}}
}

func (t *Timeline) column(at time.Time) int {
	if t.zero.IsZero() {
		t.zero = at
	}
	n := int(at.Sub(t.zero) / t.step)
	t.last = max(t.last, n)
	return n
}

// Hear adds sound of somebody at a level in dBFS. What was before the first sound is left out.
func (t *Timeline) Hear(who string, at time.Time, level float64) {
	if level < Quiet && t.zero.IsZero() {
		return
	}
	n := t.column(at)
	if n < 0 {
		return
	}
	if t.cells[who] == nil {
		t.cells[who] = map[int]float64{}
	}
	if old, ok := t.cells[who][n]; !ok || level > old {
		t.cells[who][n] = level
	}
}

// Mark notes something that happened.
func (t *Timeline) Mark(m Mark) {
	t.column(m.At)
	t.marks = append(t.marks, m)
}

// bars are levels from nothing to loud.
var bars = []rune(" ▁▂▃▄▅▆▇█")

func bar(level float64, heard bool) rune {
	if !heard || level < Quiet {
		return ' '
	}
	n := 1 + int((level-Quiet)/(Loud-Quiet)*float64(len(bars)-1))
	return bars[min(max(n, 1), len(bars)-1)]
}

// Text draws it with characters, so many columns wide, and says what the signs mean.
func (t *Timeline) Text(w io.Writer, width int) error {
	label := 6
	for _, who := range t.Who {
		label = max(label, len([]rune(who)))
	}
	columns := max(width-label-3, 20)
	var b strings.Builder
	for from := 0; from <= t.last; from += columns {
		to := min(from+columns, t.last+1)
		fmt.Fprintf(&b, "%*s   ", label, "")
		for n := from; n < to; n++ {
			second := int(time.Duration(n) * t.step / time.Second)
			if starts := time.Duration(n) * t.step; starts%(5*time.Second) < t.step && starts%(5*time.Second) >= 0 {
				text := fmt.Sprintf("%d:%02d", second/60, second%60)
				b.WriteString(text)
				n += len(text) - 1
				continue
			}
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
		for _, who := range t.Who {
			fmt.Fprintf(&b, "%*s ▏ ", label, who)
			for n := from; n < to; n++ {
				level, heard := t.cells[who][n]
				b.WriteRune(bar(level, heard))
			}
			b.WriteByte('\n')
		}
		signs := []rune(strings.Repeat(" ", to-from))
		for _, m := range t.marks {
			if n := t.column(m.At); n >= from && n < to {
				signs[n-from] = []rune(m.Sign)[0]
			}
		}
		if s := strings.TrimRight(string(signs), " "); s != "" {
			fmt.Fprintf(&b, "%*s   %s\n", label, "", s)
		}
		b.WriteByte('\n')
	}
	seen := map[string]bool{}
	for _, m := range t.sorted() {
		if !seen[m.Sign] {
			seen[m.Sign] = true
			fmt.Fprintf(&b, "%*s   %s  %s\n", label, "", m.Sign, m.Text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Timeline) sorted() []Mark {
	return slices.SortedFunc(slices.Values(t.marks), func(a, b Mark) int { return a.At.Compare(b.At) })
}

// SVG draws it as a picture of its own.
func (t *Timeline) SVG(w io.Writer) error {
	const cell, row, left = 6, 44, 90
	wide, high := left+(t.last+1)*cell+20, 40+len(t.Who)*row+24*(len(t.marks)+1)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", wide, high)
	b.WriteString(`<rect width="100%" height="100%" fill="#ffffff"/>` + "\n")
	colours := []string{"#1f6f8b", "#8a5a00", "#4b7f3a", "#7a3b69"}
	for i, who := range t.Who {
		y := 30 + i*row
		fmt.Fprintf(&b, `<text x="8" y="%d">%s</text>`+"\n", y+row/2, escape(who))
		for n := 0; n <= t.last; n++ {
			level, heard := t.cells[who][n]
			if !heard || level < Quiet {
				continue
			}
			h := max(int(min((level-Quiet)/(Loud-Quiet), 1)*(row-8)), 2)
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", left+n*cell, y+(row-h)/2, cell-1, h, colours[i%len(colours)])
		}
	}
	bottom := 30 + len(t.Who)*row
	for n := 0; n <= t.last; n++ {
		if at := time.Duration(n) * t.step; at%(5*time.Second) < t.step {
			fmt.Fprintf(&b, `<text x="%d" y="18" fill="#666666">%d s</text>`+"\n", left+n*cell, int(at.Seconds()))
		}
	}
	for i, m := range t.sorted() {
		x := left + t.column(m.At)*cell
		fmt.Fprintf(&b, `<line x1="%d" y1="24" x2="%d" y2="%d" stroke="#bb3333" stroke-dasharray="3 3"/>`+"\n", x, x, bottom+24*i+8)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#bb3333">%s %s</text>`+"\n", min(x+4, wide-260), bottom+24*i+20, escape(m.Sign), escape(m.Text))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}
