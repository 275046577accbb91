package tool

import (
	"sync"
	"time"
)

// Stats counts calls, by tool and code.
type Stats struct {
	mu    sync.Mutex
	calls map[StatKey]Stat
}

// StatKey is what calls are told apart by. Tool is empty for names that are no tool, Code for success.
type StatKey struct {
	Tool string
	Code Code
}

// Stat is a count and the time they took together.
type Stat struct {
	Calls int64
	Took  time.Duration
}

func newStats() *Stats { return &Stats{calls: map[StatKey]Stat{}} }

func (s *Stats) count(tool string, code Code, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := StatKey{tool, code}
	st := s.calls[k]
	st.Calls++
	st.Took += took
	s.calls[k] = st
}

// Snapshot copies the counts.
func (s *Stats) Snapshot() map[StatKey]Stat {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[StatKey]Stat, len(s.calls))
	for k, v := range s.calls {
		out[k] = v
	}
	return out
}
