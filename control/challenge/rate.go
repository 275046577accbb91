package challenge

import (
	"time"

	"parley/control/wire"
)

// Rate is a budget per principal over a sliding minute. Only genuine requests are charged to it.
type Rate struct {
	perMinute int
	past      map[wire.Principal][]time.Time
}

// NewRate makes a budget; zero means 60 in a minute.
func NewRate(perMinute int) *Rate {
	if perMinute <= 0 {
		perMinute = 60
	}
	return &Rate{perMinute: perMinute, past: map[wire.Principal][]time.Time{}}
}

// Allow charges one request, or says that the budget is spent. Charges from the future (the clock was put back) count
// as made now, so that they neither block for longer than a minute nor vanish.
func (r *Rate) Allow(now time.Time, p wire.Principal) bool {
	old := r.past[p]
	kept := old[:0]
	for _, at := range old {
		if at.After(now) {
			at = now
		}
		if now.Sub(at) < time.Minute {
			kept = append(kept, at)
		}
	}
	if len(kept) >= r.perMinute {
		r.past[p] = kept
		return false
	}
	r.past[p] = append(kept, now)
	return true
}
