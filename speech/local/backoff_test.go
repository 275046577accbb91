package local

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	now := time.Unix(1000, 0)
	var b backoff
	if w := b.wait(now); w != 0 {
		t.Errorf("before the first start: %v", w)
	}
	for i, c := range []struct{ life, want time.Duration }{
		{time.Second, 0},
		{time.Second, 250 * time.Millisecond},
		{time.Second, 500 * time.Millisecond},
		{time.Second, time.Second},
		{time.Second, 2 * time.Second},
		{time.Second, 4 * time.Second},
		{time.Second, 8 * time.Second},
		{time.Second, 10 * time.Second},
		{healthyAfter - 1, 10 * time.Second},
		{healthyAfter, 0},
		{time.Second, 250 * time.Millisecond},
	} {
		b.died(now, c.life)
		if w := b.wait(now); w != c.want {
			t.Errorf("death %d: wait %v, want %v", i+1, w, c.want)
		}
	}
}
