package meeting

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/meeting/wire"
)

// Times of speaking.
const (
	prepareTime = 30 * time.Second
	playTime    = 15 * time.Minute // the longest utterance, a file included
	playSlack   = 10 * time.Second // over what the utterance said it would last
	stopTime    = time.Second      // from Stop to the end of Play
)

// phase is where an utterance stands.
type phase int

const (
	phasePreparing phase = iota
	phaseReady           // stands ready, the microphone is not on yet
	phasePlaying         // told to play
	phaseSounding        // its first sample was heard
)

// utterance is what is being said.
type utterance struct {
	Utterance
	order    string // command that is to be answered; empty: answered already
	wait     bool
	keepOpen bool
	phase    phase
	asked    time.Time
	ready    time.Time
	started  time.Time
	duration time.Duration
	until    time.Time
	cut      string // who cut it off
	micWasOn bool
}

// voice is the one utterance at a time, and the one before it while that falls silent.
type voice struct {
	n      int
	now    *utterance
	ending *utterance // told to stop, its end is not reported yet
	stops  []string   // commands that wait for silence
}

func (v *voice) deadline() time.Time {
	var ts [2]time.Time
	for i, u := range []*utterance{v.now, v.ending} {
		if u != nil {
			ts[i] = u.until
		}
	}
	return earliest(ts[:]...)
}

// wantsMic: from the moment an utterance is accepted, so that the switch is on when its first piece stands ready.
func (v *voice) wantsMic() bool { return v.now != nil }

// quiet says that nothing sounds and nothing is about to.
func (v *voice) quiet() bool { return v.now == nil && v.ending == nil }

func (m *Machine) speak(id string, s wire.Speak) *wire.Error {
	switch {
	case !m.life.state.In():
		return &wire.Error{Code: wire.CodeNotYet, Text: "not in the meeting yet (state " + string(m.life.state) + "); wait until it is attending"}
	case m.life.state != Attending:
		return &wire.Error{Code: wire.CodeNotYet, Text: "nobody was told yet who we are; wait until the state is attending"}
	case !m.o.Permits.Speak:
		return &wire.Error{Code: wire.CodeNotAllowed, Text: "this meeting was joined without the permission to speak"}
	case (strings.TrimSpace(s.Text) == "") == (s.File == ""):
		return &wire.Error{Code: wire.CodeBadInput, Text: "say a text, or play a file: exactly one of them"}
	case utf8.RuneCountInString(s.Text) > m.o.MaxUtterance:
		return &wire.Error{Code: wire.CodeBadInput, Text: "the text is longer than " + strconv.Itoa(m.o.MaxUtterance) + " characters; say it in parts"}
	case m.mic.device == DeviceBlocked:
		return micError(true, DeviceBlocked)
	}
	if m.voice.now != nil {
		if !s.Interrupt {
			return &wire.Error{Code: wire.CodeBusy, Text: "something is being said already; wait for the speech event, or pass interrupt"}
		}
		m.silence("interrupt")
	}
	m.voice.n++
	u := &utterance{
		Utterance: Utterance{ID: "u" + strconv.Itoa(m.voice.n), Text: s.Text, File: s.File, Lang: s.Lang, Voice: s.Voice, Backend: s.Backend, Model: s.Model, Speed: s.Speed},
		order:     id, wait: s.Wait, keepOpen: s.KeepOpen, asked: m.now, until: m.now.Add(prepareTime),
		micWasOn: m.mic.device == DeviceOn && !m.mic.hold.IsZero(),
	}
	m.voice.now = u
	m.mic.failedOn, m.mic.linger, m.mic.retries = false, time.Time{}, 0
	m.do(PrepareSpeech{u.Utterance})
	m.changed()
	return nil
}

func (m *Machine) speechReady(ev SpeechReady) {
	u := m.voice.now
	if u == nil || ev.ID != u.ID || u.phase != phasePreparing {
		return
	}
	if ev.Err != nil {
		m.spoken(u, Played{}, ev.Err)
		return
	}
	u.phase, u.ready, u.duration = phaseReady, m.now, ev.Duration
	m.settleVoice()
}

// settleVoice plays when both the first piece and the microphone stand ready.
func (m *Machine) settleVoice() {
	u := m.voice.now
	if u == nil {
		return
	}
	if m.mic.failedOn && m.mic.op == 0 && u.phase < phasePlaying {
		u.cut = "microphone"
		m.do(DropSpeech{u.ID})
		m.spoken(u, Played{}, ErrCannot)
		return
	}
	if u.phase == phaseReady && m.mic.device == DeviceOn && m.mic.op == 0 && m.voice.ending == nil {
		u.phase, u.until = phasePlaying, m.now.Add(playTime)
		if u.duration > 0 {
			u.until = m.now.Add(u.duration + playSlack)
		}
		m.do(PlaySpeech{u.ID})
	}
}

func (m *Machine) speechStarted(ev SpeechStarted) {
	u := m.voice.now
	if u == nil || ev.ID != u.ID || u.phase != phasePlaying {
		return
	}
	u.phase, u.started = phaseSounding, m.now
	if !u.wait {
		m.answerSpeech(u, wire.Answer{Speech: m.speechResult(u, "started", Played{})})
	}
	m.changed()
}

func (m *Machine) speechEnded(ev SpeechEnded) {
	v := &m.voice
	switch {
	case v.ending != nil && ev.ID == v.ending.ID:
		m.spoken(v.ending, ev.Played, ev.Err)
	case v.now != nil && ev.ID == v.now.ID && v.now.phase >= phasePlaying:
		m.spoken(v.now, ev.Played, ev.Err)
	}
}

// silence stops what is being said, wherever it stands.
func (m *Machine) silence(by string) {
	u := m.voice.now
	if u == nil {
		return
	}
	u.cut = by
	if u.phase < phasePlaying {
		m.do(DropSpeech{u.ID})
		m.spoken(u, Played{Unsaid: u.Text, Interrupted: true}, nil)
		return
	}
	m.do(StopSpeech{u.ID})
	if old := m.voice.ending; old != nil {
		m.spoken(old, Played{Interrupted: true}, nil)
	}
	u.until = m.now.Add(stopTime)
	m.voice.now, m.voice.ending = nil, u
	m.changed()
}

// spoken is the one end of every utterance.
func (m *Machine) spoken(u *utterance, p Played, err error) {
	v := &m.voice
	if v.now == u {
		v.now = nil
	}
	if v.ending == u {
		v.ending = nil
	}
	state := "done"
	switch {
	case err != nil:
		state = "failed"
	case u.cut != "" || p.Interrupted:
		state = "interrupted"
	}
	r := m.speechResult(u, state, p)
	a := wire.Answer{Speech: r}
	switch {
	case u.cut == "microphone":
		a.Error = micError(true, m.mic.device)
	case err != nil:
		a.Error = &wire.Error{Code: wire.CodeFailed, Text: "it could not be said: the voice failed (the log of the service says how)"}
	case state == "interrupted" && u.order != "":
		a.Error = &wire.Error{Code: wire.CodeInterrupted, Text: "cut off by " + r.CutBy}
	}
	m.answerSpeech(u, a)
	m.tell(wire.Report{Speech: r})
	if err != nil && u.cut == "" {
		m.faulted(Fault{Part: PartVoice, Kind: "utterance-failed", Err: err}, "gave-up")
	}
	if m.life.state.In() && v.now == nil {
		switch {
		case u.keepOpen && u.cut == "":
			m.mic.hold = m.now.Add(micHoldBound)
		case u.micWasOn && !m.mic.hold.IsZero():
			m.mic.hold = m.now.Add(micHoldBound)
		case u.cut == "" && (m.mic.device == DeviceOn || m.mic.op != 0):
			m.mic.linger = m.now.Add(micLinger)
		}
	}
	if v.quiet() {
		for _, id := range v.stops {
			m.answer(id, wire.Answer{Speech: r})
		}
		v.stops = nil
	}
	m.changed()
}

func (m *Machine) answerSpeech(u *utterance, a wire.Answer) {
	if u.order != "" {
		m.answer(u.order, a)
		u.order = ""
	}
}

func (m *Machine) speechResult(u *utterance, state string, p Played) *wire.SpeechResult {
	r := &wire.SpeechResult{ID: u.ID, State: state, DurationS: u.duration.Seconds(), Said: p.Said, Unsaid: p.Unsaid,
		CutBy: u.cut, GapMS: p.Gap.Milliseconds(), MuteError: m.mic.err, MicOpen: m.mic.warned}
	if p.Sounded > 0 {
		r.DurationS = p.Sounded.Seconds()
	}
	if !u.ready.IsZero() {
		r.PrepareMS = u.ready.Sub(u.asked).Milliseconds()
	}
	if !u.started.IsZero() {
		r.StartMS = u.started.Sub(u.asked).Milliseconds()
		if state == "interrupted" {
			r.CutAfterMS = m.now.Sub(u.started).Milliseconds()
		}
	}
	return r
}

// stopSpeaking is the command: it is answered when it is silent.
func (m *Machine) stopSpeaking(id string) {
	if m.voice.quiet() {
		m.answer(id, wire.Answer{Speech: &wire.SpeechResult{State: "idle"}})
		return
	}
	m.voice.stops = append(m.voice.stops, id)
	m.silence("stop")
}

func (m *Machine) expireVoice() {
	v := &m.voice
	if u := v.ending; u != nil && m.due(u.until) {
		m.spoken(u, Played{Interrupted: true}, nil)
	}
	u := v.now
	if u == nil || !m.due(u.until) {
		return
	}
	switch u.phase {
	case phasePreparing:
		m.do(DropSpeech{u.ID})
	case phaseReady: // the microphone does not come on
		u.cut = "microphone"
		m.do(DropSpeech{u.ID})
	default:
		m.do(StopSpeech{u.ID})
	}
	m.spoken(u, Played{}, ErrLate)
}
