package meeting

import (
	"time"

	"parley/meeting/wire"
	"parley/turn"
)

// leaving is the way out: what must be finished before we may go, each with the moment at which we go without it.
type leaving struct {
	open     bool      // there is a page to leave
	pageGone bool      // it is gone by itself, or showed its end
	picture  time.Time // a picture is being taken; until when it is worth waiting
	talk     time.Time // until when a confirmation in the chat is worth waiting
	hangUp   time.Time // LeaveCall runs; until when
	left     bool
}

const (
	pictureTime = 2 * time.Second
	talkTime    = 5 * time.Second
	hangUpTime  = 10 * time.Second
)

// leave starts the way out. The first reason wins: what comes later is a consequence.
func (m *Machine) leave(r Reason, why Transition) {
	if m.life.state.Over() {
		return
	}
	before := m.life.state
	m.life.reason = r
	if before == Requested || before == Starting {
		m.end(why) // there is no page yet; the opener takes back what it has begun
		return
	}
	m.enter(Leaving, limits[Leaving], why)
	m.ask.closeAll(m, "withdrawn")
	m.voice.cause = "leave"
	m.floorStep(turn.Draft{}) // nothing is said any more by itself
	m.floorStep(turn.StopSpeaking{})
	m.voice.cause = ""
	if m.stillToConfirm() {
		m.life.out.talk = m.now.Add(talkTime)
	}
	if !m.life.out.pageGone && !m.consent.erased() { // what the page showed, for the evidence
		m.life.out.picture = m.now.Add(pictureTime)
		m.do(KeepPicture{Name: "end"})
	}
	m.changed()
}

// settleLeaving takes the next step out as soon as the one before is done.
func (m *Machine) settleLeaving() {
	if m.life.state != Leaving {
		return
	}
	out := &m.life.out
	if out.pageGone || !out.open {
		out.left = true
	}
	if !out.left && out.hangUp.IsZero() && out.picture.IsZero() && (out.talk.IsZero() || !m.stillToConfirm()) && m.voice.quiet() {
		out.hangUp = m.now.Add(hangUpTime)
		m.do(LeaveCall{})
	}
	if out.left && out.picture.IsZero() && m.sound.finished() && m.consent.finished() && m.voice.quiet() {
		m.end()
	}
}

func (m *Machine) callLeft() {
	if m.life.state == Leaving {
		m.life.out.left = true
	}
}

func (m *Machine) leavingDeadline() time.Time {
	if m.life.state != Leaving {
		return time.Time{}
	}
	out := m.life.out
	if out.left {
		out.hangUp = time.Time{}
	}
	return earliest(out.picture, out.talk, out.hangUp)
}

func (m *Machine) expireLeaving() {
	if m.life.state != Leaving {
		return
	}
	out := &m.life.out
	if m.due(out.picture) {
		out.picture = time.Time{}
	}
	if m.due(out.talk) {
		out.talk = time.Time{}
		m.consent.confirm = time.Time{}
		m.chat.giveUpConfirming()
	}
	if !out.left && m.due(out.hangUp) {
		out.left = true // the page does not say so; taking the browser down will
	}
}

// end is the one way to ended.
func (m *Machine) end(why ...Transition) {
	if m.life.state == Ended {
		return
	}
	m.closeSound()
	m.endFloor()
	m.tellEnd()
	if u := m.voice.ending; u != nil {
		m.spoken(u, u.end.Said, u.end.Unsaid)
	}
	var t Transition
	if len(why) > 0 {
		t = why[0]
	}
	m.enter(Ended, 0, t)
	m.life.ended = m.now
	m.life.until = time.Time{}
	m.ask.closeAll(m, "withdrawn")
	m.dropChat()
	m.orders.answerAll(m)
	if !m.consent.erased() {
		m.do(KeepEvidence{Transitions: m.life.trail})
	}
	e := m.life.reason.Ending()
	ended := &wire.Ended{
		Reason: string(m.life.reason), What: e.What, Try: e.Try, Expected: e.Expected,
		DurationS: m.attended().Seconds(), Deleted: m.consent.deleted(), Evidence: m.life.bundle,
	}
	if f := m.sound.file; f != nil && !m.consent.erased() {
		ended.Recording = &wire.File{Path: f.Path, Bytes: f.Bytes, Seconds: f.Seconds, Parts: f.Parts, GapS: f.Gap}
	}
	s := m.Status(m.now)
	m.tell(wire.Report{Status: &s})
	m.tell(wire.Report{Ended: ended})
}

// attended is the time since we were let in.
func (m *Machine) attended() time.Duration {
	if m.life.admitted.IsZero() {
		return 0
	}
	until := m.now
	if !m.life.ended.IsZero() {
		until = m.life.ended
	}
	return until.Sub(m.life.admitted)
}
