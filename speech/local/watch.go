package local

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"parley/internal/proc"
	"parley/speech/wire"
)

// How often the process is asked for a sign of life while anybody here needs it, how long one may take, and when it
// counts as hung. Its answer waits for no model, so a machine would have to be busy beyond use to delay three of them.
const (
	pulseEvery = 3 * time.Second
	pulseWait  = 4 * time.Second
	hungAfter  = 10 * time.Second
	hungMissed = 3
	// youngFor spares a process that has not answered anybody here yet: it may still be on its way up.
	youngFor = 30 * time.Second
)

// pulse is the pace of the questions; tests take a quicker one.
type pulse struct{ every, wait, hung, young time.Duration }

// vigil counts the questions in a row that the process left unanswered.
type vigil struct {
	pulse  pulse
	missed int
	first  time.Time // when the first of them was asked
	known  int       // the process that last answered anybody here, watcher or not
}

func (v *vigil) answered() { v.missed = 0 }

// absent notes that nobody was there to be asked: starting one is the business of those who need it.
func (v *vigil) absent() { v.missed = 0 }

// miss notes a question that was asked at a moment and got no answer.
func (v *vigil) miss(asked time.Time) {
	if v.missed == 0 {
		v.first = asked
	}
	v.missed++
}

// hung tells whether the process that holds the run folder is to be replaced.
func (v *vigil) hung(now time.Time, h wire.Holder) bool {
	return v.missed >= hungMissed && now.Sub(v.first) >= v.pulse.hung && (h.PID == v.known || now.Sub(h.Since) >= v.pulse.young)
}

var errNoPulse = errors.New("no sign of life")

// watch looks after the process until the engine is closed: one that died is noticed by its connections, one that
// hangs only here. It is killed, and the connections of all clients break as after any other death.
//
// Each question has a connection of its own. A stream's connection would not do, since the process does not read it
// while the stream's text is behind; and after the watcher itself was stopped for a while, an old answer tells nothing.
func (e *Engine) watch() {
	v := vigil{pulse: e.pulse}
	for {
		if !e.wanted() {
			v.missed = 0
			select {
			case <-e.rouse:
				continue
			case <-e.ctx.Done():
				return
			}
		}
		asked := time.Now()
		err := e.signOfLife()
		pause := e.pulse.every
		switch {
		case e.ctx.Err() != nil:
			return
		case err == nil:
			v.answered()
		case errors.Is(err, errNoPulse):
			v.miss(asked)
			pause = 0
		default:
			v.absent()
		}
		v.known = int(e.greeted.Load())
		if h, ok := wire.HolderOf(e.o.RunDir); ok && v.hung(time.Now(), h) {
			e.end(h)
			v.missed, pause = 0, e.pulse.every
		}
		if sleep(e.ctx, pause) != nil {
			return
		}
	}
}

// wanted tells whether anybody here needs the process.
func (e *Engine) wanted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.busy > 0
}

// signOfLife gives nil when the process answers, errNoPulse when one is there and does not.
func (e *Engine) signOfLife() error {
	ctx, cancel := context.WithTimeoutCause(e.ctx, e.pulse.wait, errNoPulse)
	defer cancel()
	c, err := dial(ctx, e.o.RunDir, "pulse")
	if err == nil {
		defer c.close()
		if _, err = c.state(ctx); err == nil {
			e.greeted.Store(int64(c.pid))
			return nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// end kills a process that hangs. It was noted by the client that started it; the handle is taken before the look at
// its start time, so that no other process with its id can be hit.
func (e *Engine) end(h wire.Holder) {
	p, err := os.FindProcess(h.PID)
	if err != nil {
		return // gone, as are its connections
	}
	defer p.Release()
	if h.PID == os.Getpid() || !proc.Alive(h.PID, h.Start) {
		return
	}
	if err := p.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		e.log.Error("speech process hangs and cannot be killed", "pid", h.PID, "err", err)
		return
	}
	e.log.Warn("speech process hung: killed, to be started anew", "pid", h.PID)
}
