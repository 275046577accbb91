package meeting

import (
	"parley/meeting/wire"
)

// stopRecording is the command: recording and live transcript end for good. With del nothing of them stays.
func (m *Machine) stopRecording(id string, del bool) {
	h := &m.sound
	if del {
		m.note(LedgerEntry{What: "deletion-asked", How: "tool"})
		m.consent.erase(m, id)
		return
	}
	if m.consent.erased() {
		m.answer(id, wire.Answer{})
		return
	}
	h.stopped = true
	h.stops = append(h.stops, id)
	if h.words.live() {
		m.tell(wire.Report{TranscriptStopped: &wire.Stopped{Reason: "stopped"}})
	}
	m.closeSound()
	m.stopAnswered()
}

// stopAnswered answers those who wait for the recording to be closed.
func (m *Machine) stopAnswered() {
	if !m.sound.finished() {
		return
	}
	for _, id := range m.sound.stops {
		a := wire.Answer{}
		if m.sound.recorder.stage == stageFailed {
			a.Error = &wire.Error{Code: wire.CodeFailed, Text: "recording has stopped, but the file could not be finished; what was written until then is kept"}
		}
		m.answer(id, a)
	}
	m.sound.stops = nil
}
