package challenge

import (
	"time"

	"parley/control/wire"
)

// Seen remembers the nonces of the proofs that were accepted for as long as their times could be accepted again.
// Like Store it has neither clock nor lock, and nothing of it survives a restart: proofs bind the instance.
type Seen struct {
	limit int
	at    map[seenKey]time.Time
	floor time.Time
	full  int
}

type seenKey struct {
	principal wire.Principal
	nonce     [wire.NonceSize]byte
}

// NewSeen makes a memory of at most limit nonces; zero means 8192. When it is full, new proofs are refused: forgetting
// an old one would let it be replayed.
func NewSeen(limit int) *Seen {
	if limit <= 0 {
		limit = 8192
	}
	return &Seen{limit: limit, at: map[seenKey]time.Time{}}
}

// Fresh says whether a proof's time is within wire.Window of now and its nonce is new.
// A forgotten proof stays refused when the clock is put back: nothing at or before the youngest forgotten time is fresh.
func (s *Seen) Fresh(now time.Time, p wire.Proof) bool {
	if p.At.Before(now.Add(-wire.Window)) || p.At.After(now.Add(wire.Window)) || !p.At.After(s.floor) {
		return false
	}
	_, seen := s.at[seenKey{p.Principal, p.Nonce}]
	return !seen
}

// Remember makes a fresh proof stale, or says that there is no room. It is asked after the budget, so that a principal
// fills no more of the memory than its budget permits.
func (s *Seen) Remember(now time.Time, p wire.Proof) bool {
	if len(s.at) >= s.limit {
		s.forget(now)
	}
	if len(s.at) >= s.limit {
		s.full++
		return false
	}
	s.at[seenKey{p.Principal, p.Nonce}] = p.At
	return true
}

// forget makes room: a proof older than the window can go, for its time alone refuses it from now on.
func (s *Seen) forget(now time.Time) {
	for key, at := range s.at {
		if at.Before(now.Add(-wire.Window)) {
			delete(s.at, key)
			if at.After(s.floor) {
				s.floor = at
			}
		}
	}
}

// Len is how many nonces are remembered.
func (s *Seen) Len() int { return len(s.at) }

// Full is how many fresh proofs were refused for want of room.
func (s *Seen) Full() int { return s.full }
