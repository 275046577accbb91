package meeting

import (
	"context"
	"time"

	"parley/meeting/wire"
)

// Outlet takes what the attendance says to the service. Both return at once: whoever stands behind them has a bounded
// queue.
type Outlet interface {
	Report(wire.Report)
	Answer(id string, a wire.Answer)
}

// Loop owns a Machine: events in, effects performed, sleeping until the earliest deadline.
type Loop struct {
	machine *Machine
	perform *performer
	journal *Journal
	in      chan Event
	urgent  chan Event
	done    chan struct{}
}

// NewLoop makes a loop. journal may be nil.
func NewLoop(o Options, ports Ports, out Outlet, journal *Journal) *Loop {
	l := &Loop{machine: New(time.Now(), o), journal: journal, in: make(chan Event), urgent: make(chan Event), done: make(chan struct{})}
	l.perform = newPerformer(ports, out, l.Post)
	return l
}

// Post hands in an event and says whether it was taken: after the end none is. It waits for the step that runs, and
// may be called from any goroutine but that of a port's call which returns at once (Gate, Forget, Stop, Outlet).
func (l *Loop) Post(ev Event) bool {
	select {
	case <-l.done: // first: a select would pick at random
		return false
	default:
	}
	in := l.in
	if urgent(ev) {
		in = l.urgent
	}
	select {
	case in <- ev: // not buffered: what is taken is stepped
		return true
	case <-l.done:
		return false
	}
}

// urgent events go before all that wait.
func urgent(ev Event) bool {
	switch ev := ev.(type) {
	case Shutdown, PageGone:
		return true
	case Command:
		return ev.Body.StopSpeaking != nil || ev.Body.StopRecording != nil || ev.Body.Leave != nil
	}
	return false
}

// Run attends the meeting and returns when it has ended and everything is taken down. When ctx ends it leaves
// politely, which takes 25 s at most.
//
// The goroutine of Run owns the machine.
func (l *Loop) Run(ctx context.Context) Reason {
	l.step(Begin{})
	timer := time.NewTimer(0)
	defer timer.Stop()
	told := ctx.Done()
	for l.machine.State() != Ended {
		timer.Reset(time.Until(l.machine.Deadline()))
		var ev Event
		select {
		case ev = <-l.urgent:
		default:
			select {
			case ev = <-l.urgent:
			case ev = <-l.in:
			case <-timer.C:
				ev = Deadline{}
			case <-told:
				told, ev = nil, Shutdown{Cause: context.Cause(ctx).Error()}
			}
		}
		l.step(ev)
	}
	close(l.done)
	l.perform.takeDown()
	return l.machine.Reason()
}

// step never waits: effects that could are performed by goroutines of their own.
func (l *Loop) step(ev Event) {
	now := time.Now()
	effects := l.machine.Step(now, ev)
	l.perform.all(effects)
	l.journal.write(now, l.machine, ev, effects)
}
