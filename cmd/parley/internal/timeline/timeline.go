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

// What the picture measures, in its own units. It is as narrow as a telephone's screen allows, and grows with a wider one.
const (
	cellWide   = 8
	lane       = 30 // of one who speaks
	labelsWide = 76
	stretch    = 15 * time.Second // one line of the picture
)

var colours = []string{"#1f6f8b", "#a05a00", "#4b7f3a", "#7a3b69"}

// SVG draws it as a picture of its own: stretches of some seconds below each other, and what the signs mean.
func (t *Timeline) SVG(w io.Writer) error {
	columns := max(int(stretch/t.step), 1)
	wide := labelsWide + columns*cellWide + 12
	var b strings.Builder
	y := 28
	fmt.Fprintf(&b, `<text x="8" y="%d" font-size="16" font-weight="bold">Who spoke when, as the guests heard it</text>`+"\n", y)
	y += 12
	for from := 0; from <= t.last; from += columns {
		y = t.drawStretch(&b, from, columns, y)
	}
	y += 8
	seen := map[string]bool{}
	for _, m := range t.sorted() {
		if !seen[m.Sign] {
			seen[m.Sign] = true
			sign(&b, 20, y+8, m.Sign)
			fmt.Fprintf(&b, `<text x="38" y="%d">%s</text>`+"\n", y+13, escape(m.Text))
			y += 24
		}
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" preserveAspectRatio="xMinYMin meet" width="100%%" style="max-width:%dpx" role="img" font-family="sans-serif" font-size="13" fill="#222222">
<title>Who spoke when, as the guests heard it</title>
<rect width="100%%" height="100%%" fill="#ffffff"/>
%s</svg>
`, wide, y+8, wide*3/2, b.String())
	return err
}

// drawStretch draws one line of the picture below y, and gives where the next begins.
func (t *Timeline) drawStretch(b *strings.Builder, from, columns, y int) int {
	x := func(n int) int { return labelsWide + (n-from)*cellWide }
	top, bottom := y+22, y+22+len(t.Who)*lane
	for n := from; n < from+columns; n++ {
		if at := time.Duration(n) * t.step; at%(5*time.Second) < t.step {
			fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#dddddd"/><text x="%d" y="%d" fill="#666666" font-size="11">%d:%02d</text>`+"\n",
				x(n), y+8, x(n), bottom, x(n)+3, y+17, int(at.Minutes()), int(at.Seconds())%60)
		}
	}
	for i, who := range t.Who {
		middle := top + i*lane + lane/2
		fmt.Fprintf(b, `<text x="8" y="%d">%s</text><line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#eeeeee"/>`+"\n",
			middle+4, escape(who), labelsWide, middle, x(from+columns), middle)
		for n := from; n < from+columns; n++ {
			level, heard := t.cells[who][n]
			if !heard || level < Quiet {
				continue
			}
			h := max(int(min((level-Quiet)/(Loud-Quiet), 1)*(lane-6)), 2)
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="2" fill="%s"/>`+"\n", x(n), middle-h/2, cellWide-1, h, colours[i%len(colours)])
		}
	}
	last := -2
	for _, m := range t.sorted() {
		n := t.column(m.At)
		if n < from || n >= from+columns {
			continue
		}
		fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#bb3333" stroke-dasharray="3 3"/>`+"\n", x(n), top, x(n), bottom+4)
		at := x(max(n, last+2)) // two signs at one moment stand side by side
		sign(b, at, bottom+13, m.Sign)
		last = max(n, last+2)
	}
	return bottom + 26
}

// sign draws the sign of a mark around a point.
func sign(b *strings.Builder, x, y int, s string) {
	fmt.Fprintf(b, `<circle cx="%d" cy="%d" r="8" fill="#bb3333"/><text x="%d" y="%d" fill="#ffffff" font-size="11" text-anchor="middle">%s</text>`+"\n", x, y, x, y+4, escape(s))
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}
