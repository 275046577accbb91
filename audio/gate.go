package audio

import (
	"sync"
	"sync/atomic"
)

// Gate lets frames through to its sink while it is open. Consent and the floor are gates.
//
// Open and Close take effect at once and wait for nobody: no Write that begins after Close returned passes
// anything. A Write that was already under way may still end; Settle waits for that one.
// All methods may be called from any goroutine.
type Gate struct {
	next    Sink
	open    atomic.Bool
	passed  atomic.Int64
	blocked atomic.Int64
	writing sync.Mutex // held while a frame is handed on
}

// NewGate makes a closed gate in front of next.
func NewGate(next Sink) *Gate { return &Gate{next: next} }

// Open lets frames through from now on.
func (g *Gate) Open() { g.open.Store(true) }

// Close stops frames from now on.
func (g *Gate) Close() { g.open.Store(false) }

// IsOpen tells whether frames pass.
func (g *Gate) IsOpen() bool { return g.open.Load() }

// Settle returns when no frame is on its way through any more. Call it after Close where "nothing more arrives"
// must be certain; it waits for one Write of the sink, which is memory work.
func (g *Gate) Settle() {
	g.writing.Lock()
	g.writing.Unlock() //nolint:staticcheck // the lock itself is the wait
}

// Write hands the frame on if the gate is open, and drops it silently otherwise: a closed gate is no error.
func (g *Gate) Write(f Frame) error {
	if !g.open.Load() {
		g.blocked.Add(int64(len(f.PCM)))
		return nil
	}
	g.writing.Lock()
	defer g.writing.Unlock()
	if !g.open.Load() { // closed while we waited for another writer
		g.blocked.Add(int64(len(f.PCM)))
		return nil
	}
	g.passed.Add(int64(len(f.PCM)))
	return g.next.Write(f)
}

// GateCounts says how many samples a gate has seen.
type GateCounts struct{ Passed, Blocked int64 }

// Counts tells what passed and what did not, in samples.
func (g *Gate) Counts() GateCounts { return GateCounts{g.passed.Load(), g.blocked.Load()} }
