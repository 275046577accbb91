package locate

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Miss is why a document has no element for a query, as the kit's choose tells.
type Miss struct {
	// Why is "nothing" (nothing matches), "hidden" (no visible match), "nth" (too few of them) or "anchor" (nothing
	// shows the text of after or before).
	Why string `json:"why"`
	// Visible counts visible matches on the right side of the anchor, Hidden those that are not visible there, Total all.
	Visible int `json:"visible"`
	Hidden  int `json:"hidden"`
	Total   int `json:"total"`
	// FirstIs names the first hidden match by tag, id and classes; FirstWhy says why it is not visible.
	FirstIs  string `json:"firstIs"`
	FirstWhy string `json:"firstWhy"`
}

// Add joins what another document of the same page lacks.
func (m Miss) Add(o Miss) Miss {
	rank := map[string]int{"": 0, "anchor": 1, "nothing": 2, "hidden": 3, "nth": 4}
	if rank[o.Why] > rank[m.Why] {
		m.Why = o.Why
	}
	m.Visible, m.Hidden, m.Total = m.Visible+o.Visible, m.Hidden+o.Hidden, m.Total+o.Total
	if m.FirstIs == "" {
		m.FirstIs, m.FirstWhy = o.FirstIs, o.FirstWhy
	}
	return m
}

// Explain says it in a sentence. It quotes the caller and what the page's authors named their elements, never what the
// page shows.
func (q *Query) Explain(m Miss, waited time.Duration) string {
	within := " within " + seconds(waited)
	side := ""
	switch {
	case q.After != "":
		side = " after " + strconv.Quote(q.After)
	case q.Before != "":
		side = " before " + strconv.Quote(q.Before)
	}
	first := ""
	if m.FirstIs != "" {
		first = "\n  (the first is " + m.FirstIs + ", " + m.FirstWhy + ")"
	}
	switch m.Why {
	case "anchor":
		text, which := q.After, "after"
		if text == "" {
			text, which = q.Before, "before"
		}
		return fmt.Sprintf("no visible element shows the text %s (%s)%s", strconv.Quote(text), which, within)
	case "nth":
		nth := 0
		if q.Nth != nil {
			nth = *q.Nth
		}
		more := ""
		if m.Hidden > 0 {
			more = fmt.Sprintf(" (%d more hidden)", m.Hidden)
		}
		return fmt.Sprintf("%s: %s%s, so nth %d is not there%s", q, counted(m.Visible, "visible match", "visible matches"), side, nth, more)
	case "hidden":
		if side != "" {
			if m.Hidden == 0 {
				return fmt.Sprintf("%s: no match%s%s (%d elsewhere)", q, side, within, m.Total)
			}
			return fmt.Sprintf("%s: no visible match%s%s (%d hidden)%s", q, side, within, m.Hidden, first)
		}
		if m.Total == 1 {
			return fmt.Sprintf("%s matched 1 element, not visible%s%s", q, within, strings.Replace(first, "the first is", "it is", 1))
		}
		return fmt.Sprintf("%s matched %d elements, none visible%s%s", q, m.Total, within, first)
	}
	return fmt.Sprintf("nothing matches %s%s", q, within)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// seconds writes a wait the way people say it.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Round(100*time.Millisecond))/float64(time.Second), 'f', -1, 64) + " s"
}
