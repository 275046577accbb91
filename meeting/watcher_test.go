package meeting

import (
	"fmt"

	"parley/meeting/wire"
)

// watcher looks at every step from outside and holds the machine to what must be true whatever happens.
type watcher struct {
	errs     []error
	tried    bool // an announcement came back, or none was to be made
	objected bool
	ended    bool
	gate     bool
	waiting  map[string]bool
	mic      bool // it was last told to be on
}

func newWatcher() *watcher { return &watcher{waiting: map[string]bool{}} }

func (w *watcher) fail(format string, args ...any) {
	if len(w.errs) < 10 {
		w.errs = append(w.errs, fmt.Errorf(format, args...))
	}
}

func (w *watcher) saw(m *Machine, ev Event, effects []Effect) {
	if c, ok := ev.(Command); ok && !w.waiting[c.ID] {
		w.waiting[c.ID] = true
	}
	if c, ok := ev.(ChatSent); ok && c.Op == m.announce.op {
		w.tried = true
	}
	if d := m.Deadline(); d.IsZero() != (m.State() == Ended) {
		w.fail("state %s has the deadline %v", m.State(), d)
	} else if !d.IsZero() && d.Before(m.now) {
		w.fail("after %T a deadline lies in the past", ev)
	}
	// What is immediate is performed first, so that it is judged first too.
	for _, e := range effects {
		if _, ok := e.(Immediate); ok {
			w.immediate(e)
		}
	}
	for _, e := range effects {
		w.effect(m, e)
	}
	if m.State() == Ended {
		w.ended = true
		if len(w.waiting) > 0 {
			w.fail("ended with %d commands unanswered", len(w.waiting))
		}
		if w.gate {
			w.fail("ended with the gate open")
		}
	}
	if w.gate && m.consent.objected() {
		w.fail("the gate is open after an objection")
	}
	if m.mic.op != 0 && m.mic.on && !m.micWanted() && w.mic {
		// Allowed while the act runs that was begun for a reason; it must not be begun without one.
		w.mic = false
	}
}

func (w *watcher) immediate(e Effect) {
	switch e.(type) {
	case OpenGate:
		w.gate = true
		if !w.tried {
			w.fail("sound passes before the announcement was tried")
		}
		if w.objected {
			w.fail("sound passes after an objection")
		}
		if w.ended {
			w.fail("sound passes after the end")
		}
	case CloseGate:
		w.gate = false
	}
}

func (w *watcher) effect(m *Machine, e Effect) {
	if w.ended {
		if _, ok := e.(Answer); !ok {
			w.fail("%T after the end", e)
		}
	}
	switch e := e.(type) {
	case StartRecorder, StartTranscript:
		if !w.tried || w.objected {
			w.fail("%T: announcement tried %t, objected %t", e, w.tried, w.objected)
		}
	case Note:
		if e.Entry.What == "not-announced" {
			w.tried = true
		}
	case Append:
		if w.objected {
			w.fail("a segment is kept after an objection")
		}
	case SetMicrophone:
		w.mic = e.On
		if e.On && !m.micWanted() {
			w.fail("the microphone is opened for no reason")
		}
	case Answer:
		if !w.waiting[e.ID] {
			w.fail("%s was answered twice, or never asked", e.ID)
		}
		delete(w.waiting, e.ID)
	case Tell:
		w.told(e.Report)
	}
}

func (w *watcher) told(r wire.Report) {
	if r.OptOut != nil {
		w.objected = true
	}
	if r.Transcript != nil && w.objected {
		w.fail("text is reported after an objection")
	}
}
