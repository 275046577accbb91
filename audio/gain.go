package audio

import (
	"math"
	"time"
)

// Duck is how far our voice goes down while we find out whether somebody really wants the floor.
const Duck = -18.0

// Gain turns sound up and down without clicks: a change moves along half a cosine. It belongs to one goroutine.
// The zero value does nothing until Set.
type Gain struct {
	from, to float64 // amplitude; 0 dB is 1
	at, over int     // samples done and in all
	started  bool
}

// Set moves to db decibels within that many samples, from wherever it is now. At or below Floor is silence.
func (g *Gain) Set(db float64, samples int) {
	g.from, g.to = g.now(), 0
	if db > Floor {
		g.to = math.Pow(10, db/20)
	}
	g.at, g.over, g.started = 0, max(samples, 0), true
}

// SetOver is Set with a duration at a rate.
func (g *Gain) SetOver(db float64, d time.Duration, rate int) {
	g.Set(db, int(d.Seconds()*float64(rate)))
}

func (g *Gain) now() float64 {
	switch {
	case !g.started:
		return 1
	case g.at >= g.over:
		return g.to
	}
	return g.from + (g.to-g.from)*(1-math.Cos(math.Pi*float64(g.at)/float64(g.over)))/2
}

// Apply changes the samples in place.
func (g *Gain) Apply(pcm []int16) {
	if !g.started || (g.at >= g.over && g.to == 1) {
		return
	}
	for i, s := range pcm {
		pcm[i] = clip(float64(s) * g.now())
		if g.at < g.over {
			g.at++
		}
	}
}

// Moving tells whether a change is under way.
func (g *Gain) Moving() bool { return g.started && g.at < g.over }

func clip(v float64) int16 {
	return int16(math.Round(min(max(v, math.MinInt16), math.MaxInt16)))
}
