package meeting

import (
	"time"

	"parley/meeting/wire"
	"parley/transcript"
	"parley/turn"
)

// Times of recorder and transcriber.
const (
	recorderStartTime   = 10 * time.Second
	recorderStopTime    = 12 * time.Second
	transcriptStartTime = 60 * time.Second
	transcriptStopTime  = 12 * time.Second // the last words of a busy machine come late, and are words all the same
	// A recorder that dies again this soon is restarted later each time, and given up after restartsAtMost.
	steadyTime     = 30 * time.Second
	restartsAtMost = 8
	restartsAtOnce = 3
)

// stage is where recorder or transcriber stand.
type stage int

const (
	stageOff stage = iota
	stageStarting
	stageOn
	stageStopping
	stageDone   // closed in order
	stageFailed // given up
	stageGone   // deleted, forgotten
)

// runner is one of the two that take what passes the gate.
type runner struct {
	stage stage
	op    Op
	until time.Time // of the start or the stop that runs
	again time.Time // when to start again after a fault
	since time.Time // on since
	tries int       // starts since it last ran steadily
}

func (r *runner) live() bool { return r.stage == stageStarting || r.stage == stageOn }

// over says that it will not write any more by itself.
func (r *runner) over() bool {
	return r.stage == stageOff || r.stage == stageDone || r.stage == stageFailed || r.stage == stageGone
}

// hearing is the gate and the two behind it.
type hearing struct {
	gate     bool
	begun    bool // the gate was open
	recorded bool // the recorder ran
	stopped  bool // told to stop: nothing starts again in this meeting
	recorder runner
	words    runner
	guess    transcript.Segment // the newest partial whose final has not come; Seq 0: none
	file     *Recorded
	touched  bool     // a recorder was started: there may be a file
	stops    []string // commands that wait for the end
}

func (h *hearing) deadline() time.Time {
	return earliest(h.recorder.until, h.recorder.again, h.words.until, h.words.again)
}

// finished says that nothing more is to be expected of the two.
func (h *hearing) finished() bool { return h.recorder.over() && h.words.over() }

// mayHear is the rule: told (or tried), nobody objected, nobody told us to stop, and we are surely in the meeting.
func (m *Machine) mayHear() bool {
	return m.life.state == Attending && m.door.back.IsZero() && m.mayKeep()
}

// mayKeep is mayHear for what already runs: a moment in a lobby does not end a recording.
func (m *Machine) mayKeep() bool {
	return m.announce.cleared && !m.consent.objected() && !m.sound.stopped && !m.life.state.Over()
}

func (m *Machine) wantsRecording() bool { return m.o.Record && m.o.Permits.Record }

// arm starts the encoder early, where the recorder can: nothing is kept before the gate opens.
func (h *hearing) arm(m *Machine) {
	if m.wantsRecording() && !h.touched && !m.consent.objected() && !h.stopped {
		m.do(ArmRecorder{})
	}
}

// settleSound starts, stops, opens and closes until all is as it should be.
func (m *Machine) settleSound() {
	h := &m.sound
	if m.mayHear() {
		if m.wantsRecording() && h.recorder.stage == stageOff && h.recorder.again.IsZero() {
			m.startRecorder()
		}
		if m.o.Transcribe && h.words.stage == stageOff && h.words.again.IsZero() {
			h.words = runner{stage: stageStarting, op: m.nextOp(), until: m.now.Add(transcriptStartTime), tries: h.words.tries + 1}
			m.do(StartTranscript{h.words.op})
			m.changed()
		}
	}
	if !m.mayKeep() {
		m.closeSound()
	}
	// The transcriber keeps what passes while it starts; a recorder has to stand first, or the beginning were lost
	// from the file alone and the two would not begin together.
	// Once they have begun, the one goes on while the other is made anew.
	open := m.mayHear() && (h.recorder.stage == stageOn || h.words.live())
	if h.recorder.stage == stageStarting {
		open = m.mayHear() && h.begun
	}
	if open != h.gate {
		h.gate = open
		if open {
			h.begun = true
			m.do(OpenGate{})
		} else {
			m.do(CloseGate{})
		}
		m.changed()
	}
}

func (m *Machine) startRecorder() {
	r := &m.sound.recorder
	m.sound.touched = true
	r.stage, r.op, r.until, r.again, r.tries = stageStarting, m.nextOp(), m.now.Add(recorderStartTime), time.Time{}, r.tries+1
	m.do(StartRecorder{r.op})
	m.changed()
}

func (m *Machine) recorderStarted(ev RecorderStarted) {
	r := &m.sound.recorder
	if r.stage != stageStarting || ev.Op != r.op {
		return
	}
	if ev.Err != nil {
		m.recorderBroke(Fault{Part: PartRecorder, Kind: "start-failed", Err: ev.Err})
		return
	}
	r.stage, r.until, r.since = stageOn, time.Time{}, m.now
	m.sound.recorded = true
	m.note(LedgerEntry{What: "recording-started"})
	m.changed()
}

func (m *Machine) recorderFault(ev Fault) {
	if ev.Part == PartDisk {
		ev.Kind, ev.Fatal = or(ev.Kind, "disk-full"), true
	}
	if m.sound.recorder.live() {
		m.recorderBroke(ev)
	} else if !m.life.state.Over() {
		m.faulted(ev, "gave-up")
	}
}

// recorderBroke starts the next part: at once at first, later each time, and not for ever.
func (m *Machine) recorderBroke(ev Fault) {
	r := &m.sound.recorder
	if r.stage == stageOn && m.now.Sub(r.since) >= steadyTime {
		r.tries = 1
	}
	r.until, r.op = time.Time{}, m.nextOp() // what still comes of the old start is nobody's
	if ev.Fatal || r.tries > restartsAtMost {
		r.stage = stageFailed
		m.faulted(ev, "gave-up")
		// The parts that exist are a recording all the same.
		m.stopRecorder()
		return
	}
	r.stage = stageOff
	if r.tries > restartsAtOnce || ev.Kind == "start-failed" {
		r.again = m.now.Add(pause(r.tries))
	}
	m.faulted(ev, "restarted")
}

// pause grows with the number of starts: 1, 2, 4, … 32 s.
func pause(tries int) time.Duration { return time.Second << min(max(tries-1, 0), 5) }

func (m *Machine) stopRecorder() {
	r := &m.sound.recorder
	r.stage, r.op, r.until, r.again = stageStopping, m.nextOp(), m.now.Add(recorderStopTime), time.Time{}
	m.do(StopRecorder{r.op})
	m.changed()
}

func (m *Machine) recorderStopped(ev RecorderStopped) {
	r := &m.sound.recorder
	if r.stage != stageStopping || ev.Op != r.op {
		return
	}
	r.until = time.Time{}
	if ev.Err != nil {
		r.stage = stageFailed
		m.faulted(Fault{Part: PartRecorder, Kind: "stop-failed", Err: ev.Err}, "gave-up")
	} else {
		r.stage = stageDone
		file := ev.Recorded
		m.sound.file = &file
	}
	if m.sound.recorded {
		m.note(LedgerEntry{What: "recording-stopped"})
	}
	m.stopAnswered()
	m.changed()
}

// closeSound ends both in order: the gate first, then the last words and the file.
func (m *Machine) closeSound() {
	h := &m.sound
	if h.gate {
		h.gate = false
		m.do(CloseGate{})
		m.changed()
	}
	if m.consent.erased() {
		return // the deletion has taken care of both
	}
	switch h.recorder.stage {
	case stageStarting, stageOn:
		m.stopRecorder()
	case stageOff:
		if h.touched { // between two parts
			m.stopRecorder()
		}
		h.recorder.again = time.Time{}
	}
	if h.words.live() {
		h.words.stage, h.words.op, h.words.until = stageStopping, m.nextOp(), m.now.Add(transcriptStopTime)
		m.do(StopTranscript{h.words.op})
		m.changed()
	}
	h.words.again = time.Time{}
}

// eraseSound ends both without a trace.
func (m *Machine) eraseSound() {
	h := &m.sound
	if h.gate {
		h.gate = false
		m.do(CloseGate{})
	}
	if h.words.stage != stageOff {
		why := "stopped" // the agent or its owner asked for it
		if m.consent.objected() {
			why = "objection"
		}
		m.tell(wire.Report{TranscriptStopped: &wire.Stopped{Reason: why}})
	}
	m.do(ForgetHearing{})
	h.guess = transcript.Segment{}
	m.floorStep(turn.TranscriptDeleted{})
	h.recorder = runner{stage: stageGone, op: m.nextOp()}
	h.words = runner{stage: stageGone, op: m.nextOp()}
	h.file = nil
	h.stopped = true
	m.changed()
}

func (m *Machine) transcriptStarted(ev TranscriptStarted) {
	w := &m.sound.words
	if w.stage != stageStarting || ev.Op != w.op {
		return
	}
	if ev.Err != nil {
		m.transcriptBroke(Fault{Part: PartSpeech, Kind: "start-failed", Err: ev.Err})
		return
	}
	w.stage, w.until, w.since = stageOn, time.Time{}, m.now
	m.changed()
}

func (m *Machine) transcriptFault(ev Fault) {
	if m.sound.words.live() && ev.Fatal {
		m.transcriptBroke(ev)
		return
	}
	m.faulted(ev, "retrying")
}

// transcriptBroke: a stream is opened again as a recorder is; the meeting and the recording go on.
func (m *Machine) transcriptBroke(ev Fault) {
	w := &m.sound.words
	if w.stage == stageOn && m.now.Sub(w.since) >= steadyTime {
		w.tries = 1
	}
	w.until, w.op = time.Time{}, m.nextOp()
	final := ev.Kind == "auth" || ev.Kind == "quota" || ev.Kind == "input" || ev.Kind == "daily-cap"
	if final || w.tries > restartsAtMost {
		w.stage = stageFailed
		m.do(ForgetHearing{})
		reason := "error"
		if ev.Kind == "daily-cap" {
			reason = ev.Kind
		}
		m.faulted(ev, "gave-up")
		m.tell(wire.Report{TranscriptStopped: &wire.Stopped{Reason: reason, Kind: ev.Kind}})
		m.floorStep(turn.TranscriptStopped{})
		return
	}
	w.stage, w.again = stageOff, m.now.Add(pause(w.tries))
	m.faulted(ev, "restarted")
}

func (m *Machine) transcriptStopped(ev TranscriptStopped) {
	w := &m.sound.words
	if w.stage != stageStopping || ev.Op != w.op {
		return
	}
	w.stage, w.until = stageDone, time.Time{}
	if ev.Err != nil {
		m.transcriptUnfinished(ev.Err)
	}
	m.floorStep(turn.TranscriptStopped{})
	m.stopAnswered()
	m.changed()
}

// transcriptUnfinished: the recogniser did not come to the end. Its last guess is kept, marked as one, and it is told
// that words may be missing.
func (m *Machine) transcriptUnfinished(err error) {
	m.do(ForgetHearing{})
	m.sound.words.stage = stageFailed
	if s := m.sound.guess; s.Seq > 0 && s.Text != "" {
		if m.spokenObjection(s) { // the last thing that somebody said: nothing is kept then
			return
		}
		s.Unfinished = true
		m.people.segments++
		m.do(Append{s})
		m.tell(wire.Report{Transcript: &wire.Transcript{Final: true, Segment: s}})
	}
	m.sound.guess = transcript.Segment{}
	m.faulted(Fault{Part: PartSpeech, Kind: "unfinished", Err: err}, "gave-up")
	m.tell(wire.Report{TranscriptStopped: &wire.Stopped{Reason: "error", Kind: "unfinished"}})
}

// soundFault: a browser that lost its sound server never finds it again, so that the meeting is over for us.
func (m *Machine) soundFault(ev Fault) {
	if !ev.Fatal {
		m.faulted(ev, "retrying")
		return
	}
	m.faulted(ev, "ending")
	m.leave(ReasonSoundLost, Transition{})
}

func (m *Machine) expireSound() {
	h := &m.sound
	if m.due(h.recorder.until) {
		late := Fault{Part: PartRecorder, Kind: "late", Err: ErrLate}
		if h.recorder.stage == stageStopping {
			m.recorderStopped(RecorderStopped{Op: h.recorder.op, Err: ErrLate})
		} else {
			m.recorderBroke(late)
		}
	}
	if m.due(h.words.until) {
		if h.words.stage == stageStopping {
			m.transcriptStopped(TranscriptStopped{Op: h.words.op, Err: ErrLate})
		} else {
			m.transcriptBroke(Fault{Part: PartSpeech, Kind: "late", Err: ErrLate})
		}
	}
	if m.due(h.recorder.again) {
		h.recorder.again = time.Time{} // settleSound starts it
	}
	if m.due(h.words.again) {
		h.words.again = time.Time{}
	}
}

// heard is text of somebody. A final segment is kept before it is reported, so that its number can be looked up.
func (m *Machine) heard(ev Heard) {
	w := m.sound.words.stage
	if m.consent.objected() || !m.announce.cleared || (w != stageStarting && w != stageOn && w != stageStopping) {
		return
	}
	if ev.Final && !ev.Segment.Echo && m.spokenObjection(ev.Segment) {
		return
	}
	if !ev.Segment.Echo {
		m.people.heard(m.now)
	}
	if m.hearFloor(ev.Segment, ev.Final) {
		ev.Segment.Echo = true
	}
	if !ev.Final {
		m.sound.guess = transcript.Segment{}
		if !ev.Segment.Echo {
			m.sound.guess = ev.Segment
		}
		if m.o.Partials {
			m.tell(wire.Report{Transcript: &wire.Transcript{Segment: ev.Segment}})
		}
		return
	}
	if ev.Segment.Seq >= m.sound.guess.Seq {
		m.sound.guess = transcript.Segment{}
	}
	if ev.Segment.Rev == 0 {
		m.people.segments++
	}
	m.people.lag = ev.Lag
	m.do(Append{ev.Segment})
	m.tell(wire.Report{Transcript: &wire.Transcript{Final: true, LagMS: ev.Lag.Milliseconds(), Segment: ev.Segment}})
}
