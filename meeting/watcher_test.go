package meeting

import (
	"fmt"
	"strings"
	"time"

	"parley/meeting/wire"
)

// watcher looks at every step from outside and holds the machine to what must be true whatever happens. It keeps its
// own account of what was said and heard, so that a wrong flag inside the machine does not blind it.
type watcher struct {
	errs     []error
	sent     map[Op]time.Time // announcements on their way
	tried    bool             // one came back or was given up, or none was to be made
	reached  Audience         // whom one is proven to have reached
	objected bool
	ended    bool
	channel  bool
	gate     bool
	waiting  map[string]bool
	answered map[string]int
}

func newWatcher() *watcher {
	return &watcher{sent: map[Op]time.Time{}, waiting: map[string]bool{}, answered: map[string]int{}}
}

func (w *watcher) fail(format string, args ...any) {
	if len(w.errs) < 5 {
		w.errs = append(w.errs, fmt.Errorf(format, args...))
	}
}

func (w *watcher) saw(m *Machine, ev Event, effects []Effect) {
	w.event(m, ev)
	// What is immediate is performed first, so that it is judged first too.
	for _, e := range effects {
		if _, ok := e.(Immediate); ok {
			w.immediate(m, e)
		}
	}
	for _, e := range effects {
		w.effect(m, e)
	}
	w.after(m, ev)
}

func (w *watcher) event(m *Machine, ev Event) {
	switch ev := ev.(type) {
	case Command:
		if !w.waiting[ev.ID] {
			w.waiting[ev.ID] = true
		}
	case ChatSent:
		if _, ok := w.sent[ev.Op]; ok {
			w.tried = true
			delete(w.sent, ev.Op)
			if ev.Err == nil && !ev.Receipt.Private && w.reached != Everyone {
				w.reached = ev.Receipt.SentTo
			}
			if ev.Err == nil && ev.Receipt.SentTo == HostOnly && w.reached == "" {
				w.reached = HostOnly
			}
		}
	}
	for op, at := range w.sent {
		if m.now.Sub(at) >= chatTime || m.life.state.Over() {
			w.tried = true
			delete(w.sent, op)
		}
	}
}

// may says whether sound may pass, by what the watcher knows.
func (w *watcher) may(m *Machine) bool {
	switch {
	case w.objected || w.ended:
		return false
	case m.o.Announce == AnnounceNone && m.o.Permits.NoAnnounce && m.o.AnnounceReason != "":
		return m.State().In()
	case !w.tried:
		return false
	}
	switch m.o.OnAnnounceFailure {
	case FailRecord:
		return true
	case FailHostOnly:
		return w.reached != ""
	}
	return w.reached == Everyone || (w.reached == HostOnly && m.o.Announce == AnnounceHost)
}

func (w *watcher) immediate(m *Machine, e Effect) {
	switch e.(type) {
	case OpenGate:
		w.gate = true
		if !w.may(m) {
			w.fail("sound passes: tried %t, reached %q, objected %t, ended %t", w.tried, w.reached, w.objected, w.ended)
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
	case SendChat:
		if strings.Contains(e.Text, "taking notes") {
			w.sent[e.Op] = m.now
		}
	case StartRecorder, StartTranscript:
		if !w.may(m) {
			w.fail("%T: tried %t, reached %q, objected %t", e, w.tried, w.reached, w.objected)
		}
	case Note:
		w.objected = w.objected || e.Entry.What == "objection"
	case Append:
		if w.objected {
			w.fail("a segment is kept after an objection")
		}
	case SetMicrophone:
		if e.On && !m.micWanted() {
			w.fail("the microphone is opened for no reason")
		}
	case Answer:
		if w.answered[e.ID]++; !w.waiting[e.ID] {
			w.fail("%s was answered %d times", e.ID, w.answered[e.ID])
		}
		delete(w.waiting, e.ID)
	case Tell:
		w.told(e.Report)
	}
}

func (w *watcher) told(r wire.Report) {
	w.objected = w.objected || r.OptOut != nil
	if r.Transcript != nil && w.objected {
		w.fail("text is reported after an objection")
	}
	if r.Message != nil && w.objected {
		w.fail("a message of the channel after an objection")
	}
	if r.Channel != nil {
		if r.Channel.Open && w.objected {
			w.fail("a channel after an objection")
		}
		w.channel = r.Channel.Open
	}
	if r.Ended != nil {
		if w.channel {
			w.fail("ended with an open channel")
		}
		w.ended = true
	}
}

func (w *watcher) after(m *Machine, ev Event) {
	d := m.Deadline()
	switch {
	case d.IsZero() != (m.State() == Ended):
		w.fail("state %s has the deadline %v", m.State(), d)
	case !d.IsZero() && !d.After(m.now):
		w.fail("after %T something stays due", ev)
	case m.State() == Ended && !w.ended:
		w.fail("ended without telling")
	case w.ended && m.State() != Ended:
		w.fail("%s after the end", m.State())
	}
	if w.ended && len(w.waiting) > 0 {
		w.fail("ended with %d commands unanswered", len(w.waiting))
	}
	if w.gate && (w.ended || w.objected) {
		w.fail("the gate is open: ended %t, objected %t", w.ended, w.objected)
	}
	if w.gate && m.State() != Attending {
		w.fail("the gate is open in state %s", m.State())
	}
	mc := &m.mic
	if m.State().In() && mc.device == DeviceOn && !m.micWanted() && mc.op == 0 && mc.retry.IsZero() && mc.retries < micRetries {
		w.fail("the microphone is on for no reason, and nothing is done about it")
	}
	if mc.hold.Sub(m.now) > micHoldBound || mc.linger.Sub(m.now) > micLinger {
		w.fail("the microphone is held for too long")
	}
}
