package meeting

import (
	"errors"
	"path"
	"time"

	"parley/meeting/wire"
)

// limits are how long each state may last before the attendance gives up on it. Waiting and attending have theirs
// from the options.
var limits = map[State]time.Duration{
	Requested:  10 * time.Second,
	Starting:   45 * time.Second,
	Lobby:      90 * time.Second,
	Admitted:   10 * time.Second,
	Announcing: 75 * time.Second, // two tries of 30 s and what lies between
	Leaving:    18 * time.Second, // 25 s for a polite end, less what taking down costs
}

// trailLength bounds the evidence; the first and the last transitions are the ones that tell.
const trailLength = 64

// lifecycle is the state, its deadline, and how we came here.
type lifecycle struct {
	state    State
	born     time.Time
	since    time.Time
	until    time.Time
	reason   Reason
	admitted time.Time // first time; zero: never
	ended    time.Time
	trail    []Transition
	held     string // consent-gate, dialog, challenge
	out      leaving
	bundle   string // the folder of the evidence, once there is any
}

// enter moves to a state. why carries the signs and the text that decided.
func (m *Machine) enter(s State, limit time.Duration, why Transition) {
	why.At, why.From, why.To, why.Reason = m.now, m.life.state, s, m.life.reason
	if len(m.life.trail) < trailLength {
		m.life.trail = append(m.life.trail, why)
	} else {
		m.life.trail[trailLength-1] = why
	}
	m.life.state, m.life.since, m.life.until = s, m.now, m.now.Add(limit)
	m.tell(wire.Report{State: &wire.StateChange{State: string(s), Before: string(why.From), Reason: string(why.Reason), HeldBy: m.life.held}})
	m.changed()
}

func (m *Machine) begin() {
	if m.life.state != Requested {
		return
	}
	m.enter(Starting, limits[Starting], Transition{})
	m.do(Open{})
}

func (m *Machine) opened(ev Opened) {
	if m.life.state != Starting {
		return
	}
	if ev.Err != nil {
		m.failed(ev.Err, ReasonStartFailed)
		return
	}
	m.life.out.open = true
	m.enter(Lobby, limits[Lobby], Transition{})
	m.do(Join{JoinRequest{Name: m.o.Name, DryRun: m.o.DryRun}})
}

// failed ends the attendance with the reason that the error names.
func (m *Machine) failed(err error, otherwise Reason) {
	var end *EndError
	if errors.As(err, &end) && end.Reason != "" {
		m.leave(end.Reason, Transition{Text: end.Text})
		return
	}
	m.leave(otherwise, Transition{})
}

func (m *Machine) pageGone() {
	if m.life.state == Starting || m.life.state == Requested {
		return // Opened will say why
	}
	m.life.out.pageGone = true
	m.mic.lost()
	m.faulted(Fault{Part: PartBrowser, Fatal: true, Kind: "gone"}, "ending")
	m.leave(ReasonPageLost, Transition{})
}

// expireState is the deadline of the state itself.
func (m *Machine) expireState() {
	if m.life.state == Ended || !m.due(m.life.until) {
		return
	}
	switch m.life.state {
	case Waiting:
		m.leave(or(m.door.why, ReasonNoAnswer), m.door.evidence())
	case Admitted:
		m.announceNow() // the microphone did not answer; its state is unknown and is said to be
	case Announcing:
		m.announceGaveUp()
	case Attending:
		m.leave(ReasonMaxDuration, Transition{})
	case Leaving:
		m.end()
	default: // requested, starting, lobby
		m.leave(ReasonTimeout, m.door.evidence())
	}
}

// Trail is how we came here.
func (m *Machine) Trail() []Transition { return m.life.trail }

func (m *Machine) evidenceKept(ev EvidenceKept) {
	m.life.out.picture = time.Time{}
	if ev.Err == nil && ev.Path != "" && !m.consent.erased() {
		m.life.bundle = path.Dir(ev.Path)
		m.changed()
	}
}

func (m *Machine) fault(ev Fault) {
	switch ev.Part {
	case PartBrowser, PartDisplay:
		if ev.Fatal {
			m.pageGone()
			return
		}
		m.faulted(ev, "retrying")
	case PartSound:
		m.soundFault(ev)
	case PartRecorder, PartDisk:
		m.recorderFault(ev)
	case PartSpeech:
		m.transcriptFault(ev)
	case PartVoice:
		m.faulted(ev, "retrying")
	default:
		m.faulted(ev, "retrying")
	}
}

// faulted reports a fault once for each that happens, and remembers the last of each part.
func (m *Machine) faulted(ev Fault, action string) {
	f := m.faults[ev.Part]
	if f == nil {
		f = &wire.Fault{Part: string(ev.Part)}
		m.faults[ev.Part] = f
	}
	f.Kind, f.Action = ev.Kind, action
	f.Count++
	m.changed()
	// The same again within a minute is counted and not told: a full disk fails at each line of the transcript.
	same := f.Part + " " + f.Kind + " " + action
	if last, ok := m.faultsTold[same]; ok && m.now.Sub(last) < faultAgain {
		return
	}
	m.faultsTold[same] = m.now
	told := *f
	m.tell(wire.Report{Fault: &told})
}

// faultAgain is after how long the same fault is told again.
const faultAgain = time.Minute
