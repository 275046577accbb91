package meeting

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/meeting/wire"
	"parley/turn"
)

// Times and bounds of speaking.
const (
	prepareTime = 30 * time.Second
	playTime    = 15 * time.Minute // the longest piece, a file included
	stopTime    = time.Second      // from Stop to the end of Play
	muteTime    = 20 * time.Second // how long the end of an utterance waits for the microphone
	preparedFor = time.Minute      // what was synthesized beforehand is kept for so long
	preparedMax = 24
	// leastLevel is the quietest that counts as heard at the microphone's source, in dBFS.
	leastLevel = -50.0
	// markTime is how long we have to speak before a page that shows speakers has to show us.
	markTime = time.Second
)

// phase is where a piece stands.
type phase int

const (
	phaseWaiting   phase = iota // not asked for yet
	phasePreparing              // being synthesized
	phaseReady                  // stands ready
	phasePlaying                // told to play
	phaseSounding               // its first sample was heard
	phaseOver
	phaseGone // taken back
)

// piece is what is synthesized and played at once: a sentence, mostly.
type piece struct {
	n      int
	id     string // of its effects
	text   string
	file   string
	phase  phase
	length time.Duration // zero: not known
	ready  time.Time
	failed error // it cannot be made, which ends the utterance when its turn has come
}

// utterance is one stretch of our voice; the microphone stays on through it.
type utterance struct {
	n        int
	kind     turn.Kind
	how      wire.Speak // of the command
	order    string     // command that is to be answered; empty: answered already
	wait     bool
	keepOpen bool
	pieces   []*piece
	asked    time.Time
	ready    time.Time
	started  time.Time
	edge     time.Time // when the piece that sounds began, or the one before it ended
	sounded  time.Duration
	gap      time.Duration
	cut      string // who cut it off
	failed   error
	broke    *broke
	micWasOn bool

	level   *float64 // the loudest moment of what sounded
	micSeen Device   // the worst that was seen while it sounded
	shown   bool     // the page showed us speaking

	// Of its end.
	end          turn.SpeechEnded
	until        time.Time
	said, unsaid string
}

// broke is the piece that broke off while it sounded, and how far it came.
type broke struct {
	p      *piece
	played Played
}

func (u *utterance) id() string { return "u" + strconv.Itoa(u.n) }

func (u *utterance) find(id string) *piece {
	for _, p := range u.pieces {
		if p.id == id {
			return p
		}
	}
	return nil
}

// head is the first piece that is not over.
func (u *utterance) head() *piece {
	for _, p := range u.pieces {
		if p.phase < phaseOver {
			return p
		}
	}
	return nil
}

// played is the piece that sounds, or is about to.
func (u *utterance) played() *piece {
	for _, p := range u.pieces {
		if p.phase == phasePlaying || p.phase == phaseSounding {
			return p
		}
	}
	return nil
}

func (u *utterance) sounding() bool {
	p := u.played()
	return p != nil && p.phase == phaseSounding
}

// prepared is a text that was synthesized before anybody wanted to hear it.
type prepared struct {
	piece
	until time.Time
}

// voice is the one utterance at a time, and the one before it while that falls silent. What is said, and when, is the
// turn engine's decision; here it is made, played, and accounted for.
type voice struct {
	now    *utterance
	ending *utterance // told to stop, its end is not reported yet
	clip   *piece     // an acknowledgement
	told   *utterance // said to its end, and told when the microphone was shut behind it (or could not be)
	ducked bool
	stops  []string // commands that wait for silence
	asking *wire.Speak
	cause  string // why what ends next ends

	prepared []*prepared
	made     int // texts prepared, and clips played, so far
	warmed   []string
}

func (v *voice) deadline() time.Time {
	var next time.Time
	for _, u := range []*utterance{v.ending, v.told} {
		if u != nil {
			next = earliest(next, u.until)
		}
	}
	for _, p := range v.prepared {
		next = earliest(next, p.until)
	}
	return next
}

// wantsMic: from the moment an utterance is accepted, so that the switch is on when its first piece stands ready.
func (v *voice) wantsMic() bool { return v.now != nil || v.clip != nil }

// quiet says that nothing sounds and nothing is about to.
func (v *voice) quiet() bool { return v.now == nil && v.ending == nil && v.clip == nil }

// speak is the command.
func (m *Machine) speak(id string, s wire.Speak) *wire.Error {
	if e := m.maySpeak(); e != nil {
		return e
	}
	switch {
	case m.mic.hostMuted:
		return &wire.Error{Code: wire.CodeUnavailable, Text: "the host has muted us; meeting_mute {on: false} asks for the microphone again"}
	case (strings.TrimSpace(s.Text) == "") == (s.File == ""):
		return &wire.Error{Code: wire.CodeBadInput, Text: "say a text, or play a file: exactly one of them"}
	case utf8.RuneCountInString(s.Text) > m.o.MaxUtterance:
		return &wire.Error{Code: wire.CodeBadInput, Text: "the text is longer than " + strconv.Itoa(m.o.MaxUtterance) + " characters; say it in parts"}
	}
	m.voice.asking, m.voice.cause = &s, "interrupt"
	m.floorStep(turn.Speak{ID: id, Text: s.Text, File: s.File, Interrupt: s.Interrupt})
	m.voice.asking, m.voice.cause = nil, ""
	return nil
}

// speakAnswered is what the engine says to the command.
func (m *Machine) speakAnswered(a turn.SpeakAnswer) {
	if !a.OK {
		e := &wire.Error{Code: wire.CodeBadInput, Text: "there is nothing in this text that can be said"}
		switch a.Reason {
		case turn.ReasonBusy:
			e = &wire.Error{Code: wire.CodeBusy, Text: "something is being said already; wait for the speech event, or pass interrupt"}
		case turn.ReasonTooLong:
			e.Text = "the text is too long; say it in parts"
		}
		m.answer(a.ID, wire.Answer{Error: e})
		return
	}
	s := *m.voice.asking
	u := m.newUtterance(a.Utterance, turn.KindSpeak)
	u.how, u.order, u.wait, u.keepOpen = s, a.ID, s.Wait, s.KeepOpen
}

func (m *Machine) newUtterance(n int, kind turn.Kind) *utterance {
	m.tellEnd() // the microphone stays on: nothing is to be waited for
	u := &utterance{n: n, kind: kind, asked: m.now, micWasOn: m.mic.device == DeviceOn && !m.mic.hold.IsZero()}
	m.voice.now = u
	m.mic.failedOn, m.mic.linger, m.mic.retries = false, time.Time{}, 0
	m.changed()
	return u
}

// say takes the next piece of an utterance.
func (m *Machine) say(s turn.Say) {
	v := &m.voice
	if m.life.state.Over() || m.mic.hostMuted {
		if v.now == nil || v.now.n != s.Utterance {
			m.newUtterance(s.Utterance, s.Kind)
		}
		if v.now.cut = "leave"; m.mic.hostMuted {
			v.now.cut = "host-mute"
		}
		m.floorStep(turn.Failed{Utterance: s.Utterance, Piece: s.Piece})
		return
	}
	if v.now == nil || v.now.n != s.Utterance {
		m.newUtterance(s.Utterance, s.Kind)
	}
	u := v.now
	u.kind = s.Kind
	p := &piece{n: s.Piece, id: u.id() + "." + strconv.Itoa(s.Piece), text: s.Text, file: s.File}
	if u.how == (wire.Speak{}) || s.File == "" && u.how.Voice == "" && u.how.Backend == "" && u.how.Model == "" && u.how.Lang == "" && u.how.Speed == 0 {
		if ready := v.takePrepared(s.Text); ready != nil {
			p.id, p.phase, p.length, p.ready = ready.id, ready.phase, ready.length, ready.ready
		}
	}
	u.pieces = append(u.pieces, p)
	if p.length > 0 {
		m.floorStep(turn.Prepared{Utterance: u.n, Piece: p.n, Length: p.length})
	}
}

// takePrepared finds a text that was synthesized beforehand.
func (v *voice) takePrepared(text string) *prepared {
	for i, p := range v.prepared {
		if p.text == text {
			v.prepared = append(v.prepared[:i:i], v.prepared[i+1:]...)
			return p
		}
	}
	return nil
}

// unsay takes pieces back that nobody hears yet.
func (m *Machine) unsay(e turn.Unsay) {
	u := m.voice.now
	if u == nil || u.n != e.Utterance {
		return
	}
	for _, n := range e.Pieces {
		for _, p := range u.pieces {
			if p.n == n && p.phase < phasePlaying {
				m.drop(p)
			}
		}
	}
}

// drop forgets a piece that is not to be played.
func (m *Machine) drop(p *piece) {
	if p.phase == phasePreparing || p.phase == phaseReady {
		m.do(DropSpeech{p.id})
	}
	p.phase = phaseGone
}

// prepareText synthesizes what may be said soon.
func (m *Machine) prepareText(text string) {
	v := &m.voice
	for _, p := range v.prepared {
		if p.text == text {
			p.until = m.now.Add(preparedFor)
			return
		}
	}
	if len(v.prepared) >= preparedMax {
		m.drop(&v.prepared[0].piece)
		v.prepared = v.prepared[1:]
	}
	v.made++
	p := &prepared{piece: piece{id: "p" + strconv.Itoa(v.made), text: text, phase: phasePreparing}, until: m.now.Add(preparedFor)}
	v.prepared = append(v.prepared, p)
	m.do(PrepareSpeech{Utterance{ID: p.id, Text: text, Spoken: m.floor.lang}})
}

// playClip plays an acknowledgement.
func (m *Machine) playClip(c turn.PlayClip) {
	v := &m.voice
	if v.clip != nil || m.life.state.Over() || m.mic.hostMuted || m.maySpeak() != nil {
		m.floorStep(turn.ClipEnded{})
		return
	}
	v.made++
	v.clip = &piece{id: "c" + strconv.Itoa(v.made), text: c.Text, phase: phasePreparing}
	m.mic.failedOn, m.mic.linger, m.mic.retries = false, time.Time{}, 0
	m.do(PrepareSpeech{Utterance{ID: v.clip.id, Text: c.Text, Clip: true}})
	m.changed()
}

// clipOver lets what waited for the clip begin.
func (m *Machine) clipOver() {
	m.voice.clip = nil
	m.lingerMic()
	m.floorStep(turn.ClipEnded{})
	m.hushed(wire.SpeechResult{State: "idle"})
	m.changed()
}

// warmClips has the acknowledgements synthesized before the first is wanted.
func (m *Machine) warmClips() {
	set := m.floor.engine.Settings()
	if !set.AckOnFinal || !m.o.Permits.Speak || m.life.state != Attending {
		return
	}
	phrases := turn.Phrases(set)
	if strings.Join(phrases, "|") == strings.Join(m.voice.warmed, "|") {
		return
	}
	m.voice.warmed = phrases
	m.do(WarmSpeech{Texts: phrases})
}

// speechReady is the first sound of a piece standing ready.
func (m *Machine) speechReady(ev SpeechReady) {
	v := &m.voice
	if c := v.clip; c != nil && c.id == ev.ID {
		if ev.Err != nil {
			m.clipOver()
			return
		}
		c.phase = phaseReady
		return
	}
	for i, p := range v.prepared {
		if p.id == ev.ID {
			if ev.Err != nil { // whoever wants it asks again
				v.prepared = append(v.prepared[:i:i], v.prepared[i+1:]...)
				return
			}
			p.phase, p.length, p.ready = phaseReady, ev.Duration, m.now
			return
		}
	}
	u := v.now
	if u == nil {
		return
	}
	p := u.find(ev.ID)
	if p == nil || p.phase != phasePreparing {
		return
	}
	if ev.Err != nil {
		p.failed = ev.Err // what stands before it is said to its end
		return
	}
	p.phase, p.length, p.ready = phaseReady, ev.Duration, m.now
	if u.ready.IsZero() {
		u.ready = m.now
	}
	if ev.Duration > 0 {
		m.floorStep(turn.Prepared{Utterance: u.n, Piece: p.n, Length: ev.Duration})
	}
}

// speechMade is a piece that is synthesized to its end, so that its length is known.
func (m *Machine) speechMade(ev SpeechMade) {
	for _, p := range m.voice.prepared {
		if p.id == ev.ID {
			p.length = ev.Duration
		}
	}
	u := m.voice.now
	if u == nil {
		return
	}
	switch p := u.find(ev.ID); {
	case p == nil || p.length > 0:
	case p.phase == phaseReady || p.phase == phasePlaying:
		p.length = ev.Duration
		m.floorStep(turn.Prepared{Utterance: u.n, Piece: p.n, Length: p.length})
	case p.phase == phaseSounding:
		p.length = ev.Duration
		m.floorStep(turn.Progress{Utterance: u.n, Piece: p.n, Played: m.now.Sub(u.edge), Length: p.length})
	}
}

// failHead ends an utterance whose next piece cannot be made.
func (m *Machine) failHead() {
	u := m.voice.now
	if u == nil {
		return
	}
	p := u.head()
	if p == nil || p.failed == nil {
		return
	}
	u.failed = p.failed
	m.drop(p)
	m.floorStep(turn.Failed{Utterance: u.n, Piece: p.n})
}

// pieceBroke ends an utterance in the middle of a piece.
func (m *Machine) pieceBroke(u *utterance, p *piece, played Played, err error) {
	p.phase = phaseOver
	u.failed, u.broke = err, &broke{p, played}
	m.floorStep(turn.Failed{Utterance: u.n, Piece: p.n})
}

// settleVoice synthesizes what comes next, and plays when both a piece and the microphone stand ready.
func (m *Machine) settleVoice() {
	v := &m.voice
	if v.told != nil && (m.mic.linger.IsZero() && m.mic.op == 0 || !m.life.state.In()) {
		m.tellEnd() // the microphone was shut, or could not be: both are told
	}
	if m.mic.failedOn && m.mic.op == 0 {
		m.cannotBeHeard()
	}
	open := m.mic.device == DeviceOn && m.mic.op == 0 && v.ending == nil
	if c := v.clip; c != nil {
		if c.phase == phaseReady && open {
			c.phase = phasePlaying
			m.do(PlaySpeech{c.id})
		}
		return
	}
	u := v.now
	if u == nil {
		return
	}
	for _, p := range u.pieces { // one after the other, so that the one that is heard first is made first
		if p.phase == phasePreparing {
			break
		}
		if p.phase == phaseWaiting {
			p.phase = phasePreparing
			m.do(PrepareSpeech{Utterance{ID: p.id, Text: p.text, File: p.file, Lang: u.how.Lang, Spoken: m.floor.lang, Voice: u.how.Voice,
				Backend: u.how.Backend, Model: u.how.Model, Speed: u.how.Speed}})
			break
		}
	}
	if p := u.head(); p != nil && p.phase == phaseReady && open {
		if u.ready.IsZero() {
			u.ready = m.now // it was synthesized beforehand
		}
		p.phase = phasePlaying
		m.do(PlaySpeech{p.id})
	}
}

// cannotBeHeard gives up what waits for a microphone that does not come on.
func (m *Machine) cannotBeHeard() {
	v := &m.voice
	if c := v.clip; c != nil && c.phase < phasePlaying {
		m.do(DropSpeech{c.id})
		m.clipOver()
	}
	u := v.now
	if u == nil || u.played() != nil {
		return
	}
	if p := u.head(); p != nil {
		u.cut = "microphone"
		m.drop(p)
		m.floorStep(turn.Failed{Utterance: u.n, Piece: p.n})
	}
}

func (m *Machine) speechStarted(ev SpeechStarted) {
	v := &m.voice
	if c := v.clip; c != nil && c.id == ev.ID {
		c.phase = phaseSounding
		return
	}
	u := v.now
	if u == nil {
		return
	}
	p := u.find(ev.ID)
	if p == nil || p.phase != phasePlaying {
		return
	}
	p.phase = phaseSounding
	if u.started.IsZero() {
		u.started = m.now
		u.micSeen = m.mic.device
		if !u.wait {
			m.answerSpeech(u, wire.Answer{Speech: m.speechResult(u, "started", "", "")})
		}
	} else if p.ready.After(u.edge) {
		u.gap = max(u.gap, m.now.Sub(u.edge))
	}
	u.edge = m.now
	if v.ducked {
		m.do(DuckSpeech{ID: p.id, On: true})
	}
	m.floorStep(turn.Started{Utterance: u.n, Piece: p.n, Length: p.length})
	m.changed()
}

// speechEnded is a piece that fell silent, for whatever reason.
func (m *Machine) speechEnded(ev SpeechEnded) {
	v := &m.voice
	if c := v.clip; c != nil && c.id == ev.ID {
		m.clipOver()
		return
	}
	if u := v.ending; u != nil {
		if p := u.find(ev.ID); p != nil {
			u.account(ev.Played)
			p.phase = phaseOver
			said, unsaid := u.heard(p, ev.Played)
			m.spoken(u, said, unsaid)
			return
		}
	}
	u := v.now
	if u == nil {
		return
	}
	p := u.find(ev.ID)
	if p == nil || p.phase != phasePlaying && p.phase != phaseSounding {
		return
	}
	u.account(ev.Played)
	switch {
	case ev.Err != nil:
		m.pieceBroke(u, p, ev.Played, ev.Err)
	case ev.Played.Interrupted: // nobody of us did it: the player is gone
		m.pieceBroke(u, p, ev.Played, ErrCannot)
	default:
		if p.phase == phasePlaying { // its beginning was not told
			m.speechStarted(SpeechStarted{ID: ev.ID})
		}
		p.phase = phaseOver
		u.edge = m.now
		m.floorStep(turn.Ended{Utterance: u.n, Piece: p.n})
	}
}

// account adds what was heard of a piece.
func (u *utterance) account(p Played) {
	u.sounded += p.Sounded
	u.gap = max(u.gap, p.Gap)
	if p.Level != nil && (u.level == nil || *p.Level > *u.level) {
		u.level = p.Level
	}
}

// heard corrects what the engine reckoned by what the player counted: so many words of the piece that was cut.
func (u *utterance) heard(cut *piece, played Played) (said, unsaid string) {
	words := len(strings.Fields(played.Said))
	if played.Said == "" && played.Unsaid == "" { // it does not tell
		return u.end.Said, u.end.Unsaid
	}
	for _, p := range u.pieces {
		if p.phase == phaseOver && p != cut {
			words += len(strings.Fields(p.text))
		}
	}
	all := strings.Fields(u.end.Said + " " + u.end.Unsaid)
	words = min(words, len(all))
	return strings.Join(all[:words], " "), strings.Join(all[words:], " ")
}

// stopVoice silences an utterance, or with 0 the clip.
func (m *Machine) stopVoice(n int) {
	v := &m.voice
	if n == 0 {
		if c := v.clip; c != nil {
			if c.phase >= phasePlaying {
				m.do(StopSpeech{c.id})
			} else {
				m.do(DropSpeech{c.id})
			}
			v.clip = nil
			m.lingerMic()
			m.hushed(wire.SpeechResult{State: "interrupted"})
		}
		return
	}
	u := v.now
	if u == nil || u.n != n {
		return
	}
	if p := u.played(); p != nil {
		m.do(StopSpeech{p.id})
	}
}

func (m *Machine) duck(n int, on bool) {
	v := &m.voice
	v.ducked = on
	if u := v.now; u != nil && u.n == n {
		if p := u.played(); p != nil {
			m.do(DuckSpeech{ID: p.id, On: on})
		}
	}
}

// utteranceOver is the engine's word that an utterance has ended. One that still sounds is reported when it is silent.
func (m *Machine) utteranceOver(e turn.SpeechEnded) {
	v := &m.voice
	u := v.now
	if u == nil || u.n != e.Utterance {
		return
	}
	v.now, v.ducked = nil, false
	u.end = e
	if e.State == turn.SpeechInterrupted && u.cut == "" {
		u.cut = or(v.cause, "stop")
		if e.BargeIn {
			u.cut = "barge-in"
		}
	}
	if e.State == turn.SpeechFailed && u.failed == nil && u.cut == "" {
		u.failed = ErrLate // the engine gave up waiting
	}
	sounding := u.played()
	for _, p := range u.pieces {
		if p != sounding && p.phase < phaseOver {
			m.drop(p)
		}
	}
	if sounding == nil {
		said, unsaid := e.Said, e.Unsaid
		if b := u.broke; b != nil {
			said, unsaid = u.heard(b.p, b.played)
		}
		m.spoken(u, said, unsaid)
		return
	}
	if old := v.ending; old != nil {
		m.spoken(old, old.end.Said, old.end.Unsaid)
	}
	u.until = m.now.Add(stopTime)
	v.ending = u
	m.changed()
}

// hush stops what is being said, wherever it stands, and drops what waits.
func (m *Machine) hush(by string) {
	m.voice.cause = by
	m.floorStep(turn.StopSpeaking{})
	m.voice.cause = ""
}

// spoken is the one end of every utterance.
func (m *Machine) spoken(u *utterance, said, unsaid string) {
	v := &m.voice
	if v.ending == u {
		v.ending = nil
	}
	state := string(u.end.State)
	if u.cut == "microphone" {
		state = string(turn.SpeechFailed)
	}
	if v.now == nil && m.life.state.In() {
		switch {
		case u.keepOpen && u.cut == "":
			m.mic.hold = m.now.Add(micHoldBound)
		case u.micWasOn && !m.mic.hold.IsZero():
			m.mic.hold = m.now.Add(micHoldBound)
		case u.end.State == turn.SpeechDone:
			m.lingerMic()
		}
	}
	u.said, u.unsaid = said, unsaid
	if state == string(turn.SpeechDone) && !m.mic.linger.IsZero() && v.told == nil {
		v.told, u.until = u, m.now.Add(muteTime)
		m.hushed(*m.speechResult(u, state, said, unsaid))
		m.changed()
		return
	}
	m.tellSpoken(u, state)
}

// tellEnd tells of an utterance that waited for the microphone.
func (m *Machine) tellEnd() {
	if u := m.voice.told; u != nil {
		m.voice.told = nil
		m.tellSpoken(u, string(u.end.State))
	}
}

// tellSpoken answers and reports the end of an utterance.
func (m *Machine) tellSpoken(u *utterance, state string) {
	said, unsaid := u.said, u.unsaid
	r := m.speechResult(u, state, said, unsaid)
	a := wire.Answer{Speech: r}
	var bad *SoundError
	switch {
	case u.cut == "microphone":
		a.Error = micError(true, m.mic.device)
	case errors.As(u.failed, &bad):
		r.Why = bad.What
		a.Error = &wire.Error{Code: wire.CodeBadInput, Text: bad.What}
	case u.failed != nil:
		a.Error = &wire.Error{Code: wire.CodeFailed, Text: "it could not be said: the voice failed (the log of the service says how)"}
	case state == string(turn.SpeechInterrupted) && u.order != "":
		a.Error = &wire.Error{Code: wire.CodeInterrupted, Text: "cut off by " + r.CutBy}
	}
	m.answerSpeech(u, a)
	if u.end.BargeIn {
		m.tell(wire.Report{Interrupted: r})
		told := u.end
		told.Said, told.Unsaid = said, unsaid
		m.converse(told)
	}
	m.tell(wire.Report{Speech: r})
	if u.failed != nil && u.cut == "" && bad == nil {
		m.faulted(Fault{Part: PartVoice, Kind: "utterance-failed", Err: u.failed}, "gave-up")
	}
	m.hushed(*r)
	m.changed()
}

// lingerMic leaves the microphone on for a moment after the last sound.
func (m *Machine) lingerMic() {
	if m.voice.now == nil && m.life.state.In() && (m.mic.device == DeviceOn || m.mic.op != 0) {
		m.mic.linger = m.now.Add(micLinger)
	}
}

// hushed answers those who wait for silence.
func (m *Machine) hushed(r wire.SpeechResult) {
	v := &m.voice
	if !v.quiet() {
		return
	}
	for _, id := range v.stops {
		m.answer(id, wire.Answer{Speech: &r})
	}
	v.stops = nil
}

func (m *Machine) answerSpeech(u *utterance, a wire.Answer) {
	if u.order != "" {
		m.answer(u.order, a)
		u.order = ""
	}
}

func (m *Machine) speechResult(u *utterance, state, said, unsaid string) *wire.SpeechResult {
	r := &wire.SpeechResult{ID: u.id(), State: state, Kind: string(u.kind), Said: said, Unsaid: unsaid, CutBy: u.cut,
		GapMS: u.gap.Milliseconds(), MuteError: m.mic.err, MicOpen: m.mic.warned,
		BargeIn: u.end.BargeIn, By: u.end.By, With: u.end.ByText}
	r.DurationS = u.sounded.Seconds()
	if state == "started" {
		for _, p := range u.pieces {
			r.DurationS += p.length.Seconds()
		}
	} else {
		r.Proof = m.proof(u)
	}
	if !u.ready.IsZero() {
		r.PrepareMS = u.ready.Sub(u.asked).Milliseconds()
	}
	if !u.started.IsZero() {
		r.StartMS = u.started.Sub(u.asked).Milliseconds()
		if state == string(turn.SpeechInterrupted) {
			r.CutAfterMS = m.now.Sub(u.started).Milliseconds()
		}
	}
	return r
}

// proof says whether an utterance was heard in the meeting: sound at the microphone's source, a microphone that was on,
// and the page showing us speaking where it can. Whoever of them says no makes it false; without all of them it is
// unknown.
func (m *Machine) proof(u *utterance) *wire.Proof {
	p := &wire.Proof{LevelDB: u.level, Microphone: string(or(u.micSeen, DeviceUnknown))}
	if m.floor.shownSelf && u.sounded >= markTime {
		p.Shown = map[bool]string{true: "yes", false: "no"}[u.shown]
	}
	switch {
	case u.started.IsZero(), u.level != nil && *u.level < leastLevel, u.micSeen == DeviceOff, u.micSeen == DeviceBlocked:
		p.Heard = "false"
	case u.level == nil, u.micSeen != DeviceOn, p.Shown == "no":
		p.Heard = "unknown"
	default:
		p.Heard = "true"
	}
	return p
}

// stopSpeaking is the command: it is answered when it is silent.
func (m *Machine) stopSpeaking(id string) {
	if m.voice.quiet() {
		m.answer(id, wire.Answer{Speech: &wire.SpeechResult{State: "idle"}})
		return
	}
	m.voice.stops = append(m.voice.stops, id)
	m.hush("stop")
}

func (m *Machine) expireVoice() {
	v := &m.voice
	if u := v.ending; u != nil && m.due(u.until) {
		m.spoken(u, u.end.Said, u.end.Unsaid)
	}
	if u := v.told; u != nil && m.due(u.until) {
		m.tellEnd()
	}
	for i := 0; i < len(v.prepared); i++ {
		if p := v.prepared[i]; m.due(p.until) {
			m.drop(&p.piece)
			v.prepared = append(v.prepared[:i:i], v.prepared[i+1:]...)
			i--
		}
	}
}
