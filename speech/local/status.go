package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/speech/wire"
)

// The states of Status.
const (
	StateReady   = "ready"   // it runs and hears
	StateLoading = "loading" // it runs and loads its models
	StateIdle    = "idle"    // everything is there; it starts when it is needed
	StateMissing = "missing" // it cannot hear for want of something: Problem and Remedy say what; the voice may work
	StateFailed  = "failed"  // it cannot hear though it runs; the voice may work
)

// Status is how local speech fares.
type Status struct {
	State   string
	Problem string // what is wrong, if something is
	Remedy  string // what to do about it
	// Voice is the state of the voice: ready, loading, idle or missing. It loads when first needed.
	Voice string
	// Notes say what works less well than it could, each with its remedy.
	Notes []string
	// The rest is zero unless the process runs.
	PID     int
	Uptime  time.Duration
	Weak    bool          // tiny.en only
	RSS     int64         // bytes
	CPU     time.Duration // used so far
	Clients int
	Streams int
	Queued  wire.Counts // waiting now
	Done    wire.Counts // since the start
	Spent   wire.Counts // processor time of what was decoded, in ms by kind
	Dropped wire.Counts // since the start: partials and drafts given up under load
	Lag     time.Duration
	Worst   time.Duration
}

// Status asks the process, or looks at what is installed when none runs. It starts nothing.
func (e *Engine) Status(ctx context.Context) Status {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := dial(ctx, e.o.RunDir, "status")
	if err != nil && ctx.Err() == nil && kindOf(err, "") == "" {
		return e.installed()
	}
	var st wire.State
	if err == nil {
		defer c.close()
		st, err = c.state(ctx)
	}
	if err != nil {
		e.keepLog()
		return Status{State: StateFailed, Problem: fmt.Sprintf("the speech process does not answer: %v", err), Remedy: "see its log, " + wire.LogName + " in the run folder"}
	}
	out := Status{
		State: st.Hear.State, Problem: st.Hear.Text, Voice: st.Voice.State, Notes: st.Notes,
		PID: st.PID, Uptime: time.Duration(st.UptimeMS) * time.Millisecond, Weak: st.Weak, RSS: st.RSS,
		CPU: time.Duration(st.CPUMillis) * time.Millisecond, Spent: st.SpentMS, Clients: st.Clients, Streams: st.Streams,
		Queued: st.Queued, Done: st.Done, Dropped: st.Dropped,
		Lag: time.Duration(st.LagMS) * time.Millisecond, Worst: time.Duration(st.WorstMS) * time.Millisecond,
	}
	if st.Voice.State == StateFailed || st.Voice.State == StateMissing {
		out.Notes = append(out.Notes, st.Voice.Text)
	}
	if out.State == StateFailed {
		out.Remedy = fetchModels
	}
	return out
}

const fetchModels = "run make setup, or parley models fetch"

// installed looks for the program and the files without which it does not start.
func (e *Engine) installed() Status {
	if _, err := findBinary(e.o); err != nil {
		return Status{State: StateMissing, Problem: errors.Unwrap(err).Error(), Remedy: "run make build"}
	}
	st := Status{State: StateIdle, Voice: StateIdle}
	ears, err := CheckHearing(e.o.ModelsDir, e.o.Weak)
	if err != nil {
		st = Status{State: StateMissing, Problem: err.Error(), Remedy: fetchModels, Voice: StateIdle}
	}
	st.Notes = append(st.Notes, ears.Notes...)
	if err := CheckVoice(e.o.ModelsDir); err != nil {
		st.Voice = StateMissing
		st.Notes = append(st.Notes, "no voice: "+err.Error())
	}
	if err := CheckTurnEnd(e.o.ModelsDir); err != nil {
		st.Notes = append(st.Notes, "turns end by silence alone: "+err.Error())
	}
	return st
}

// state asks the process how it fares.
func (c *conn) state(ctx context.Context) (wire.State, error) {
	defer context.AfterFunc(ctx, c.close)()
	if err := c.write(wire.Append(nil, wire.TypeAsk, nil)); err != nil {
		return wire.State{}, err
	}
	body, err := c.expect(wire.TypeState)
	if err != nil {
		return wire.State{}, err
	}
	return wire.Parse[wire.State](body)
}
