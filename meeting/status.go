package meeting

import (
	"errors"
	"sort"
	"time"

	"parley/meeting/wire"
)

// Status is everything about the attendance at this moment. Seconds and bytes of a recording that still runs are
// filled in by the loop, which can ask the recorder.
func (m *Machine) Status(now time.Time) wire.Status {
	h := &m.sound
	s := wire.Status{
		State:           string(m.life.state),
		HeldBy:          m.life.held,
		Recording:       h.gate && h.recorder.stage == stageOn,
		RecordingClosed: h.recorder.stage == stageDone,
		Deleted:         m.consent.deleted(),
		Objected:        m.consent.objected(),
		Transcript:      transcriptState(h.words.stage, !h.words.again.IsZero()),
		Segments:        m.people.segments,
		LagMS:           m.people.lag.Milliseconds(),
		People:          m.wirePeople(),
		Speakers:        "none-seen",
		Microphone:      string(m.mic.device),
		Camera:          string(m.mic.camera),
		MicOpen:         m.mic.warned,
		MuteError:       m.mic.err,
		HandUp:          m.orders.up,
		Chats:           m.chat.n,
		DurationS:       m.attended().Seconds(),
		Evidence:        m.life.bundle,
	}
	if l := m.door.lobby; l != nil {
		s.JoinedAs = l.As
		s.Lobby = &wire.Lobby{As: l.As, JoinButton: l.JoinButton, Challenge: l.Challenge, SignedIn: l.SignedIn, Page: l.Page, Profile: l.Profile}
	}
	s.Breakout = m.door.broken
	if m.o.Transcribe {
		s.SilenceMS = m.o.Silence.Milliseconds()
	}
	s.HostMuted = m.mic.hostMuted
	if m.people.speakers {
		s.Speakers = "seen"
	}
	if m.life.reason != "" {
		e := m.life.reason.Ending()
		s.Reason, s.What, s.Try = string(m.life.reason), e.What, e.Try
	}
	if !m.life.until.IsZero() {
		s.RemainingMS = max(m.life.until.Sub(now).Milliseconds(), 0)
	}
	if f := h.file; f != nil {
		s.RecordingSeconds, s.RecordingBytes, s.RecordingGapS, s.RecordingParts, s.RecordingPath = f.Seconds, f.Bytes, f.Gap, f.Parts, f.Path
	}
	if m.announce.sentTo != "" {
		s.Announce = m.announce.report(false)
	}
	if u := m.voice.now; u != nil {
		s.Speaking = u.id()
	}
	for _, q := range m.ask.open {
		s.Questions = append(s.Questions, m.wireQuestion(q))
	}
	for _, f := range m.faults {
		f := *f
		s.Faults = append(s.Faults, &f)
	}
	sort.Slice(s.Faults, func(i, j int) bool { return s.Faults[i].Part < s.Faults[j].Part })
	return s
}

func transcriptState(s stage, again bool) string {
	switch s {
	case stageStarting:
		return "starting"
	case stageOn:
		return "on"
	case stageStopping, stageDone, stageGone:
		return "stopped"
	case stageFailed:
		return "failed"
	}
	if again {
		return "starting"
	}
	return "off"
}

func handError(err error) *wire.Error {
	switch {
	case errors.Is(err, ErrCannot):
		return &wire.Error{Code: wire.CodeUnavailable, Text: "this platform has no hand to raise"}
	case errors.Is(err, ErrLate):
		return &wire.Error{Code: wire.CodeUncertain, Text: "the page did not say in time whether the hand is up"}
	}
	return &wire.Error{Code: wire.CodeFailed, Text: "the hand could not be raised or lowered"}
}
