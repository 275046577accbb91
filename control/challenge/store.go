// Package challenge keeps the one-use challenges that are out, and remembers which proofs were seen.
package challenge

import (
	"errors"
	"time"

	"parley/control/wire"
)

// Limits bound a Store; zero fields mean the defaults.
type Limits struct {
	Total int // challenges out at once; 256
	Each  int // of one principal; 8. One more pushes out that principal's oldest, never somebody else's
}

// ErrFull says that the store holds as many challenges of others as it may.
var ErrFull = errors.New("too many challenges are out")

// Held is a challenge that is out: its secret half and what it was made for.
type Held struct {
	ID              [wire.IDSize]byte
	Principal       wire.Principal
	Issued, Expires time.Time
	Key             *wire.DecapsulationKey
	Bytes           []byte // as sent
}

// Wipe overwrites the secret half.
func (h *Held) Wipe() {
	if h.Key != nil {
		clear(h.Key[:])
	}
}

// Store holds the challenges that are out, in memory alone: a restart forgets them, and so they are worthless after it.
// It has no clock and no lock; its owner passes the time and lets one goroutine in.
type Store struct {
	limits Limits
	held   []*Held // in order of issue
	counts Counts
}

// Counts says what became of the challenges that are no longer out.
type Counts struct{ Used, Expired, Evicted, Full int }

// New makes an empty store.
func New(l Limits) *Store {
	if l.Total <= 0 {
		l.Total = 256
	}
	if l.Each <= 0 {
		l.Each = 8
	}
	return &Store{limits: l}
}

// Put keeps a challenge that was just made. The store owns its key from here on.
func (s *Store) Put(now time.Time, h *Held) error {
	s.expire(now)
	mine, oldest := 0, -1
	for i, o := range s.held {
		if o.Principal == h.Principal {
			if mine++; oldest < 0 {
				oldest = i
			}
		}
	}
	if mine >= s.limits.Each {
		s.drop(oldest)
		s.counts.Evicted++
	}
	if len(s.held) >= s.limits.Total {
		s.counts.Full++
		h.Wipe()
		return ErrFull
	}
	s.held = append(s.held, h)
	return nil
}

// Take gives a challenge out for its one use: whatever comes of it, it is gone. Only its own principal can use it, and
// so nobody can use up a challenge of somebody else. The caller wipes it.
func (s *Store) Take(now time.Time, id [wire.IDSize]byte, p wire.Principal) (*Held, bool) {
	s.expire(now)
	for i, h := range s.held {
		if h.ID == id && h.Principal == p {
			s.held = append(s.held[:i], s.held[i+1:]...)
			s.counts.Used++
			return h, true
		}
	}
	return nil, false
}

// Revoke forgets the challenges of every principal that is not live any more.
func (s *Store) Revoke(live func(wire.Principal) bool) {
	for i := 0; i < len(s.held); {
		if live(s.held[i].Principal) {
			i++
			continue
		}
		s.drop(i)
	}
}

// Next is when the oldest challenge expires; zero when none is out.
func (s *Store) Next() time.Time {
	var next time.Time
	for _, h := range s.held {
		if next.IsZero() || h.Expires.Before(next) {
			next = h.Expires
		}
	}
	return next
}

// Len is how many challenges are out.
func (s *Store) Len() int { return len(s.held) }

// Counts says what became of the others.
func (s *Store) Counts() Counts { return s.counts }

// skew is how much earlier another request's time may be: several are under way at once, and come to the store in any order.
const skew = time.Second

// expire forgets challenges outside their life. One that was issued in the future is outside too: the clock was put
// back, and how old it is nobody knows.
func (s *Store) expire(now time.Time) {
	for i := 0; i < len(s.held); {
		if h := s.held[i]; now.Before(h.Expires) && !now.Before(h.Issued.Add(-skew)) {
			i++
			continue
		}
		s.drop(i)
		s.counts.Expired++
	}
}

func (s *Store) drop(i int) {
	s.held[i].Wipe()
	s.held = append(s.held[:i], s.held[i+1:]...)
}
