package meeting

import (
	"time"

	"parley/meeting/wire"
	"parley/turn"
)

// Machine decides what an attendance does. It is pure: time and everything that happens go in, effects come out.
// One goroutine at a time may use it; Loop is the one that does.
//
// What holds whatever happens, in any order (a test tries random orders):
//   - the gate is never open before the announcement was tried, nor ever again after an objection;
//   - after an objection no text of anybody is reported or kept;
//   - the microphone is wanted on only while something is said or a bounded hold runs;
//   - every command gets exactly one answer;
//   - every state but the last has a deadline, and ended is final.
type Machine struct {
	o   Options
	now time.Time // of the step that runs
	op  Op        // the last one given out
	out []Effect  // of the step that runs

	life     lifecycle
	door     door
	announce announcement
	sound    hearing
	consent  objections
	chat     chatbox
	mic      microphone
	voice    voice
	floor    floor
	people   presence
	ask      questions
	orders   orders

	faults map[Part]*wire.Fault
	// faultsTold is when each was last told; parts, kinds and actions are few.
	faultsTold map[string]time.Time
	dirty      bool // the status changed in this step
}

// New makes a machine that waits for Begin.
func New(now time.Time, o Options) *Machine {
	o.fill()
	m := &Machine{o: o, now: now, faults: map[Part]*wire.Fault{}, faultsTold: map[string]time.Time{}}
	m.life = lifecycle{state: Requested, born: now, since: now, until: now.Add(limits[Requested])}
	m.mic = microphone{device: DeviceUnknown, camera: DeviceUnknown}
	m.orders.waiting = map[string]order{}
	m.people.count = -1
	m.floor = newFloor(o)
	return m
}

// State is where the attendance stands.
func (m *Machine) State() State { return m.life.state }

// Reason is why it ended, or is about to.
func (m *Machine) Reason() Reason { return m.life.reason }

// Step takes one event and says what to do. now must not go back.
func (m *Machine) Step(now time.Time, ev Event) []Effect {
	if now.After(m.now) {
		m.now = now
	}
	m.out, m.dirty = nil, false
	if m.life.state == Ended {
		m.afterwards(ev)
		return m.out
	}
	m.take(ev)
	for range 10 { // settling may make something due at once; nearly always once is enough
		m.expire()
		m.settle()
		if !m.due(m.Deadline()) {
			break
		}
	}
	if m.dirty && m.life.state != Ended {
		s := m.Status(m.now)
		m.tell(wire.Report{Status: &s})
	}
	return m.out
}

// Deadline is when Step wants to be called at the latest. Zero only after the end.
func (m *Machine) Deadline() time.Time {
	if m.life.state == Ended {
		return time.Time{}
	}
	next := m.life.until
	for _, t := range []time.Time{
		m.door.deadline(), m.leavingDeadline(), m.announce.deadline(), m.sound.deadline(), m.consent.deadline(),
		m.chat.deadline(), m.mic.deadline(), m.voice.deadline(), m.floor.deadline(), m.presenceDeadline(), m.ask.deadline(), m.orders.deadline(),
	} {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	return next
}

func (m *Machine) take(ev Event) {
	switch ev := ev.(type) {
	case Begin:
		m.begin()
	case Deadline:
		// expire does the work
	case Command:
		m.command(ev)
	case Cancel:
		m.cancel(ev.ID)
	case Shutdown:
		m.leave(ReasonShutdown, Transition{})
	case Opened:
		m.opened(ev)
	case Joined:
		m.joined(ev)
	case Seen:
		m.seen(ev.Event)
	case PageGone:
		m.pageGone()
	case CallLeft:
		m.callLeft()
	case ChatSent:
		m.chatSent(ev)
	case MicrophoneSet:
		m.microphoneSet(ev)
	case HandRaised:
		m.handRaised(ev)
	case DialogAnswered:
		m.dialogAnswered(ev)
	case RecorderStarted:
		m.recorderStarted(ev)
	case RecorderStopped:
		m.recorderStopped(ev)
	case RecordingDeleted:
		m.recordingDeleted(ev)
	case TranscriptStarted:
		m.transcriptStarted(ev)
	case TranscriptStopped:
		m.transcriptStopped(ev)
	case Heard:
		m.heard(ev)
	case HeardActivity:
		m.people.heardActivity(m.now, ev.On)
		m.floorStep(turn.Activity{On: ev.On})
	case HeardTurnEnd:
		m.floorStep(turn.TurnEnd{Prob: ev.Prob})
	case HearingBegan:
		m.hearingBegan(ev.At)
	case SpeechReady:
		m.speechReady(ev)
	case SpeechMade:
		m.speechMade(ev)
	case SpeechStarted:
		m.speechStarted(ev)
	case SpeechEnded:
		m.speechEnded(ev)
	case EvidenceKept:
		m.evidenceKept(ev)
	case Fault:
		m.fault(ev)
	}
}

// expire lets each part do what has become due. A part that acts may make another one due, so it goes on until
// nothing is; each round moves a deadline into the future or ends something, and the bound only guards against
// a defect.
func (m *Machine) expire() {
	for range 100 {
		d := m.Deadline()
		if d.IsZero() || d.After(m.now) {
			return
		}
		for _, part := range []func(){
			m.expireState, m.expireDoor, m.expireAnnouncement, m.expireSound, m.expireConsent, m.expireChat, m.expireMicrophone,
			m.expireVoice, m.expireFloor, m.expirePresence, m.expireQuestions, m.expireOrders, m.expireLeaving,
		} {
			if m.life.state != Ended {
				part()
			}
		}
	}
}

// settle brings what is wanted and what is in line, after whatever happened: the order of events does not matter.
func (m *Machine) settle() {
	if m.life.state == Ended {
		return
	}
	m.settleSound()
	m.failHead()
	m.settleMicrophone()
	m.settleVoice()
	m.settleChat()
	m.settleLeaving()
}

// afterwards answers whoever still asks.
func (m *Machine) afterwards(ev Event) {
	if c, ok := ev.(Command); ok {
		if c.Body.Status != nil {
			s := m.Status(m.now)
			m.do(Answer{ID: c.ID, Body: wire.Answer{Status: &s}})
			return
		}
		m.do(Answer{ID: c.ID, Body: wire.Answer{Error: m.over()}})
	}
}

func (m *Machine) over() *wire.Error {
	return &wire.Error{Code: wire.CodeOver, Text: "the meeting is over: " + m.life.reason.Ending().What}
}

func (m *Machine) do(e Effect) { m.out = append(m.out, e) }

func (m *Machine) tell(r wire.Report) { m.do(Tell{r}) }

func (m *Machine) nextOp() Op { m.op++; return m.op }

func (m *Machine) changed() { m.dirty = true }

// due says whether a deadline has come. Zero never does.
func (m *Machine) due(t time.Time) bool { return !t.IsZero() && !t.After(m.now) }

// earliest ignores zero times.
func earliest(ts ...time.Time) time.Time {
	var first time.Time
	for _, t := range ts {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
