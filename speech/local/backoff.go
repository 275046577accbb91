package local

import "time"

// backoff spaces the starts of a process that keeps dying: the first comes at once, so that a single death costs
// nothing, then the pauses double. A process that lived for a while clears the record.
type backoff struct {
	fails int
	next  time.Time
}

// The pauses between starts, and how long a process must live to count as healthy.
const (
	backoffFirst = 250 * time.Millisecond
	backoffMost  = 10 * time.Second
	healthyAfter = 30 * time.Second
)

// wait says how long to wait before the next start.
func (b *backoff) wait(now time.Time) time.Duration { return max(0, b.next.Sub(now)) }

// died notes the end of a process that had lived for life.
func (b *backoff) died(now time.Time, life time.Duration) {
	if life >= healthyAfter {
		b.fails = 0
	}
	b.fails++
	if b.fails == 1 {
		b.next = now
		return
	}
	pause := backoffMost
	if n := b.fails - 2; n < 6 {
		pause = min(pause, backoffFirst<<n)
	}
	b.next = now.Add(pause)
}
