package tool

import (
	"cmp"
	"sync"
	"time"

	"parley/tenant"
)

// Limits keep one caller from using up the service.
type Limits struct {
	// PerMinute is how many calls a token may make in the long run; zero: 600.
	PerMinute int
	// Burst is how many of them at once after a pause; zero: 120.
	Burst int
	// Running is how many calls of a tenant may run at once; zero: 64.
	Running int
}

type limiter struct {
	perSecond float64
	burst     float64
	max       int

	mu      sync.Mutex
	buckets map[bucketKey]*bucket // as many as there are tokens
	running map[tenant.ID]int
}

// bucketKey is a token; local callers of a tenant, who have none, share one.
type bucketKey struct {
	tenant tenant.ID
	token  tenant.TokenID
}

type bucket struct {
	left float64
	at   time.Time
}

func newLimiter(l Limits) *limiter {
	return &limiter{
		perSecond: float64(cmp.Or(l.PerMinute, 600)) / 60, burst: float64(cmp.Or(l.Burst, 120)), max: cmp.Or(l.Running, 64),
		buckets: map[bucketKey]*bucket{}, running: map[tenant.ID]int{},
	}
}

// take counts one call; it gives how long to wait where there is none left.
func (l *limiter) take(key bucketKey, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		b = &bucket{left: l.burst, at: now}
		l.buckets[key] = b
	}
	if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.left = min(l.burst, b.left+passed*l.perSecond)
		b.at = now
	}
	if b.left < 1 {
		return time.Duration((1 - b.left) / l.perSecond * float64(time.Second))
	}
	b.left--
	return 0
}

func (l *limiter) enter(t tenant.ID, always bool) (running int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[t] >= l.max && !always {
		return l.running[t], false
	}
	l.running[t]++
	return l.running[t], true
}

func (l *limiter) leave(t tenant.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[t]--; l.running[t] == 0 {
		delete(l.running, t)
	}
}
