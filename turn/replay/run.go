package replay

import (
	"fmt"
	"io"
	"math"
	"time"

	"parley/turn"
)

// Options say how a journal is played.
type Options struct {
	// Policy decides instead of the recorded one; nil is the recorded one, or turn.Reference where we do not have it.
	Policy turn.Policy
	// Change, if any, changes the recorded settings.
	Change func(*turn.Settings)
	// Tolerance is how far apart in time an effect may be and still count as the same; zero means 50 ms, which
	// is how late a loop may wake.
	Tolerance time.Duration
	// Each, if any, is told every effect of the replay.
	Each func(at time.Duration, summary string)
}

// Report is what a replay showed.
type Report struct {
	Recorded, Policy string // names of the policies
	Events           int
	Effects          int
	// Different counts effects that came otherwise than recorded, or not at all; First are the first of them.
	Different int
	First     []string
	Counts    turn.Counts
	// Held is the mean time that turns waited after their last final.
	Held time.Duration
}

// firstMax is how many differences a report shows.
const firstMax = 20

// out is an effect with its time.
type out struct {
	at time.Duration
	s  string
}

// Run plays a journal. The engine is woken at its own deadlines between the recorded events; what the voice
// reported stays as it was recorded, so under another policy reports about utterances that do not exist there
// are ignored.
func Run(src io.Reader, o Options) (Report, error) {
	lines, err := read(src)
	if err != nil {
		return Report{}, err
	}
	if o.Policy == nil {
		o.Policy = turn.Named(lines[0].Policy)
	}
	if o.Policy == nil {
		o.Policy = turn.Reference{} // it was recorded under one that we do not have
	}
	if o.Tolerance == 0 {
		o.Tolerance = 50 * time.Millisecond
	}
	set := settings(lines[0].Settings)
	if o.Change != nil {
		o.Change(&set)
		if err := set.Check(); err != nil {
			return Report{}, fmt.Errorf("replay: %w", err)
		}
	}
	r := &run{o: o, e: turn.New(set, o.Policy), p: newPlayer(), pieces: map[[2]int]string{},
		report: Report{Recorded: lines[0].Policy, Policy: o.Policy.Name()}}
	// Another policy speaks at other times, and so do its echoes: then the engine looks for itself.
	r.p.exact = o.Change == nil && o.Policy.Name() == lines[0].Policy
	var recorded []out
	for _, l := range lines[1:] {
		if !(l.T >= 0) || math.IsInf(l.T, 0) || l.T > 1e6 {
			continue
		}
		if l.K == "out" {
			recorded = append(recorded, out{sec(l.T), l.Out})
			continue
		}
		ev, ok := r.p.event(l)
		if !ok {
			continue
		}
		if c, ok := ev.(turn.Change); ok && o.Change != nil {
			o.Change(&c.Settings)
			ev = c
		}
		r.sleep(sec(l.T))
		r.report.Events++
		r.step(sec(l.T), ev)
	}
	r.sleep(time.Duration(lastOf(lines)*float64(time.Second)) + time.Second)
	r.compare(recorded)
	r.report.Counts = r.e.Counts()
	if r.turns > 0 {
		r.report.Held = r.held / time.Duration(r.turns)
	}
	return r.report, nil
}

func lastOf(lines []line) float64 {
	if t := lines[len(lines)-1].T; t >= 0 && t < 1e6 {
		return t
	}
	return 0
}

type run struct {
	o      Options
	e      *turn.Engine
	p      *player
	pieces map[[2]int]string
	made   []out
	held   time.Duration
	turns  int
	report Report
}

// sleep wakes the engine at its deadlines up to a moment.
func (r *run) sleep(until time.Duration) {
	for range 100_000 {
		at, ok := r.e.Deadline()
		if !ok || at > until {
			return
		}
		before := len(r.made)
		r.step(at, turn.Tick{})
		if next, ok := r.e.Deadline(); ok && next <= at && len(r.made) == before {
			return // a policy that names a time and then does nothing
		}
	}
}

func (r *run) step(now time.Duration, ev turn.Event) {
	if s, ok := ev.(turn.Started); ok {
		if text, ok := r.pieces[[2]int{s.Utterance, s.Piece}]; ok {
			r.p.audible(text)
		}
	}
	for _, eff := range r.e.Step(now, ev) {
		switch eff := eff.(type) {
		case turn.Say:
			if len(r.pieces) > 10_000 {
				clear(r.pieces)
			}
			r.pieces[[2]int{eff.Utterance, eff.Piece}] = eff.Text
		case turn.Deliver:
			if !eff.Turn.Echo {
				r.held += eff.Turn.Held
				r.turns++
			}
		}
		s := Summary(eff)
		r.made = append(r.made, out{now, s})
		if r.o.Each != nil {
			r.o.Each(now, s)
		}
	}
	r.report.Effects = len(r.made)
}

// compare counts recorded effects that did not come again at about their time, and new ones.
func (r *run) compare(recorded []out) {
	const ahead = 64 // effects that stand close together may come in another order
	used := make([]bool, len(r.made))
	first := 0
	differ := func(format string, args ...any) {
		r.report.Different++
		if len(r.report.First) < firstMax {
			r.report.First = append(r.report.First, fmt.Sprintf(format, args...))
		}
	}
	for _, want := range recorded {
		for first < len(r.made) && used[first] {
			first++
		}
		found := false
		for i := first; i < len(r.made) && i < first+ahead; i++ {
			if !used[i] && r.made[i].s == want.s && (r.made[i].at-want.at).Abs() <= r.o.Tolerance {
				used[i], found = true, true
				break
			}
		}
		if !found {
			differ("%.3f missing: %s", want.at.Seconds(), want.s)
			// What was made long before cannot be wanted any more.
			for first < len(r.made) && (used[first] || r.made[first].at < want.at-r.o.Tolerance) {
				if !used[first] {
					differ("%.3f new: %s", r.made[first].at.Seconds(), r.made[first].s)
				}
				used[first] = true
				first++
			}
		}
	}
	for i, u := range used {
		if !u {
			differ("%.3f new: %s", r.made[i].at.Seconds(), r.made[i].s)
		}
	}
}
