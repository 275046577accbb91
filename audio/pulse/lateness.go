package pulse

import "time"

// lateness notices that sound must be missing: what arrives stays behind the clock although it arrives steadily.
// It is pure and belongs to one goroutine.
type lateness struct {
	rate  int64
	t0    time.Time
	base  int64 // the smallest lag seen: sound arrives that long after it was made at the soonest
	low   int64 // the smallest lag of this window
	until time.Time
	n     int
}

const (
	lateWindow = time.Second
	lateCount  = 20   // arrivals that make a window worth judging
	minGap     = 1600 // a tenth of a second: less is a matter of scheduling
)

// arrive notes that the samples up to end are here and returns how many seem to be missing, or 0.
func (l *lateness) arrive(now time.Time, end int64) int64 {
	if l.t0.IsZero() {
		l.t0 = now.Add(-time.Duration(end) * time.Second / time.Duration(l.rate))
		l.until, l.low = now.Add(lateWindow), 0
		return 0
	}
	lag := int64(now.Sub(l.t0).Seconds()*float64(l.rate)) - end
	if l.n == 0 || lag < l.low {
		l.low = lag
	}
	l.n++
	if now.Before(l.until) {
		return 0
	}
	low, n := l.low, l.n
	l.until, l.n = now.Add(lateWindow), 0
	l.base = min(l.base, low)
	if missing := low - l.base; n >= lateCount && missing >= minGap {
		return missing
	}
	return 0
}

// skip notes that positions jump.
func (l *lateness) skip(n int64) { l.low -= n }
