package pulse

import (
	"math/rand/v2"
	"testing"
	"time"
)

// arrivals plays a source of 16 kHz in pieces of 10 ms and collects what seems to be missing.
func arrivals(seconds int, late func(i int) time.Duration, lost func(i int) int64) (missing []int64, when []int) {
	l := lateness{rate: 16000}
	t0 := time.Unix(50, 0)
	end, gone := int64(0), int64(0)
	last := t0
	for i := range seconds * 100 {
		at := t0.Add(time.Duration(i+1)*10*time.Millisecond + late(i))
		if at.Before(last) {
			at = last // what is late holds up what follows
		}
		last = at
		gone += lost(i)
		end += 160
		if m := l.arrive(at, end-gone); m > 0 {
			missing, when = append(missing, m), append(when, i)
			gone -= m
			l.skip(m)
		}
	}
	return missing, when
}

func none(int) int64 { return 0 }

func TestLateIsNotLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for name, late := range map[string]func(int) time.Duration{
		"steady":       func(int) time.Duration { return 0 },
		"jitter":       func(int) time.Duration { return time.Duration(rng.IntN(40)) * time.Millisecond },
		"one stall":    func(i int) time.Duration { return time.Duration(max(0, 300-i)) * time.Millisecond * 10 },
		"less latency": func(i int) time.Duration { return 50*time.Millisecond - min(50, time.Duration(i/20))*time.Millisecond },
		"more latency": func(i int) time.Duration { return min(50, time.Duration(i/20)) * time.Millisecond },
		"many stalls": func(i int) time.Duration {
			return time.Duration(max(0, 40-i%200)) * 10 * time.Millisecond
		},
	} {
		if missing, when := arrivals(20, late, none); len(missing) > 0 {
			t.Errorf("%s: %v missing at %v", name, missing, when)
		}
	}
}

func TestLostIsNoticedWithinTwoSeconds(t *testing.T) {
	for _, lost := range []int64{1700, 16000, 160000} {
		missing, when := arrivals(20, func(int) time.Duration { return 0 }, func(i int) int64 {
			if i == 700 {
				return lost
			}
			return 0
		})
		if len(missing) != 1 || missing[0] != lost || when[0] > 900 {
			t.Errorf("%d lost: %v missing at %v", lost, missing, when)
		}
	}
	// Less than a tenth of a second is nobody's business.
	if missing, _ := arrivals(20, func(int) time.Duration { return 0 }, func(i int) int64 {
		if i == 700 {
			return 1500
		}
		return 0
	}); len(missing) > 0 {
		t.Errorf("%v missing", missing)
	}
}
