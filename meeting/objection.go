package meeting

import (
	"time"

	"parley/meeting/consent"
	"parley/meeting/wire"
	"parley/transcript"
	"parley/turn"
)

// Times of obeying an objection.
const (
	eraseTime     = 3 * time.Second // one try of deleting
	eraseTries    = 4
	confirmAfter  = 2500 * time.Millisecond // confirm by then, in words that are true then
	confirmedTime = 5 * time.Second
)

// objections are whether somebody asked not to be recorded, and what became of what there was.
type objections struct {
	by      string // chat, voice; empty: nobody
	erasing Op     // the deletion that runs; zero: none
	until   time.Time
	tries   int
	asked   bool // something is to be erased
	gone    bool // the receipt is here
	failed  bool // given up; the marker (or the next start) has to finish it
	stops   []string
	was     Recorded // what there had been
	sender  string
	confirm time.Time // when to confirm at the latest; zero: nothing to confirm
}

func (c *objections) objected() bool { return c.by != "" }

// erased says that what was recorded is gone or about to be.
func (c *objections) erased() bool { return c.asked }

// deleted says that there is a receipt.
func (c *objections) deleted() bool { return c.gone }

func (c *objections) finished() bool { return !c.asked || c.gone || c.failed }

func (c *objections) deadline() time.Time { return earliest(c.until, c.confirm) }

// object obeys somebody who does not want to be recorded.
func (m *Machine) object(by, id, sender, lang string) {
	c := &m.consent
	if c.objected() || m.life.state == Ended {
		return
	}
	c.by, c.sender = by, sender
	m.note(LedgerEntry{What: "objection", How: by, Lang: lang, People: []LedgerPerson{{ID: id, Name: sender}}})
	m.chat.dropAnnouncements()
	m.announce.sending, m.announce.lateAt = false, time.Time{}
	m.voice.cause = "objection"
	m.floorStep(turn.Objected{})
	m.voice.cause = ""
	m.closeChannel("objection")
	m.ask.closeKind(m, askAnnounce)
	m.tell(wire.Report{OptOut: &wire.OptOut{By: by, Sender: sender, Lang: lang, Leaving: !m.o.StayOnOptOut}})
	c.confirm = m.now.Add(confirmAfter)
	c.erase(m, "")
	if !m.o.StayOnOptOut {
		m.leave(ReasonObjection, Transition{})
	} else if m.life.state == Announcing {
		m.attend()
	}
}

// erase stops and deletes; who asked by a command is answered with the receipt.
func (c *objections) erase(m *Machine, id string) {
	if id != "" {
		if c.gone {
			m.answer(id, c.receipt(m))
			return
		}
		c.stops = append(c.stops, id)
	}
	if c.asked && !c.failed {
		return
	}
	c.asked, c.failed, c.tries = true, false, 0
	m.eraseSound()
	c.stops = append(c.stops, m.sound.stops...) // whoever waited for a closed file will not get one
	m.sound.stops = nil
	c.try(m)
}

func (c *objections) try(m *Machine) {
	c.tries++
	c.erasing, c.until = m.nextOp(), m.now.Add(eraseTime)
	m.do(DeleteRecording{c.erasing})
}

func (m *Machine) recordingDeleted(ev RecordingDeleted) {
	c := &m.consent
	if ev.Op != c.erasing || c.erasing == 0 {
		return
	}
	c.erasing, c.until = 0, time.Time{}
	if ev.Err != nil {
		m.eraseFailed(ev.Err)
		return
	}
	c.gone = true
	if c.was.Bytes == 0 { // a second try finds less than the first
		c.was = ev.Was
	}
	m.life.bundle = ""
	m.note(LedgerEntry{What: "deleted"})
	if c.objected() {
		m.tell(wire.Report{OptOut: &wire.OptOut{By: c.by, Sender: c.sender, Leaving: !m.o.StayOnOptOut, Deleted: true, Seconds: c.was.Seconds}})
	}
	c.answer(m, c.receipt(m))
	m.confirmNow()
	m.changed()
}

func (m *Machine) eraseFailed(err error) {
	c := &m.consent
	m.faulted(Fault{Part: PartDisk, Kind: "delete-failed", Err: err}, "retrying")
	if c.tries < eraseTries {
		c.until = m.now.Add(eraseTime / 2) // expireConsent tries again
		return
	}
	c.failed = true
	m.note(LedgerEntry{What: "delete-failed"})
	m.faulted(Fault{Part: PartDisk, Kind: "delete-failed", Err: err}, "gave-up")
	c.answer(m, wire.Answer{Error: &wire.Error{Code: wire.CodeFailed,
		Text: "recording has stopped, but the file could not be removed; the next start of the service tries again (see the log)"}})
	m.confirmNow()
}

func (c *objections) receipt(m *Machine) wire.Answer {
	return wire.Answer{Deleted: &wire.Deleted{AtUnixMS: m.now.UnixMilli(), Seconds: c.was.Seconds, Bytes: c.was.Bytes}}
}

func (c *objections) answer(m *Machine, a wire.Answer) {
	for _, id := range c.stops {
		m.answer(id, a)
	}
	c.stops = nil
}

func (m *Machine) expireConsent() {
	c := &m.consent
	if m.due(c.until) {
		c.until = time.Time{}
		if c.erasing != 0 {
			c.erasing = 0
			m.eraseFailed(ErrLate)
		} else {
			c.try(m)
		}
	}
	if m.due(c.confirm) {
		m.confirmNow()
	}
}

// confirmNow says in the chat what is true at this moment, once.
func (m *Machine) confirmNow() {
	c := &m.consent
	if c.confirm.IsZero() {
		return
	}
	c.confirm = time.Time{}
	if !m.life.state.In() && m.life.state != Leaving || m.life.admitted.IsZero() {
		return
	}
	key := "confirm.deleted"
	switch {
	case !m.sound.touched && !m.o.Transcribe:
		key = "confirm.nothing"
	case !c.gone:
		key = "confirm.stopped"
	case m.o.Transcribe:
		key = "confirm.both"
	}
	m.chat.push(m, post{op: m.nextOp(), text: Text(m.o.Langs, key, m.o.Name, m.o.Owner), to: m.audience(), first: true, confirms: true})
}

// stillToConfirm says that an objection was obeyed and nobody was told so yet.
func (m *Machine) stillToConfirm() bool {
	return m.chat.confirming() || !m.consent.confirm.IsZero()
}

// spokenObjection looks for an objection in what was said; who speaks of objections in general is not taken for one.
func (m *Machine) spokenObjection(s transcript.Segment) bool {
	if m.o.DeafToVoice {
		return false
	}
	yes, lang := consent.ObjectsAloud(s.Text)
	if !yes {
		return false
	}
	var id, name string
	if s.Speaker != nil {
		id, name = s.Speaker.ID, s.Speaker.Name
	}
	m.object("voice", id, name, lang)
	return true
}

func (m *Machine) note(e LedgerEntry) {
	e.At = m.now
	m.do(Note{e})
}
