package meeting

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"parley/meeting/wire"
)

// Times of announcing.
const (
	lateGap    = time.Minute     // between two announcements
	lateGather = 3 * time.Second // people come in groups; one message tells them all
	lateTries  = 3
	refuseTime = time.Minute // how long we stay, not recording, when the announcement reached nobody
)

// announcement is who was told.
type announcement struct {
	// cleared is the permission to record: the announcement was tried, and what came of it suffices.
	cleared  bool
	mode     AnnounceMode
	sentTo   string // everyone, host, none, failed; empty while the first try runs
	reason   ChatFailure
	failures []string
	trying   Audience
	op       Op
	late     bool // the try that runs is for people who came later
	sending  bool

	told     map[string]bool // who was there when somebody was told
	count    int             // how many were there, where the page shows only the number
	blind    time.Time       // the page had shown nobody yet when we spoke: whom it shows until then was there
	pending  map[string]bool // who is there during the try that runs
	pendingN int
	lateAt   time.Time // when to tell those who came since
	last     time.Time // of the last try
	tries    int       // of telling latecomers, since the last success
}

// blindTime is how much later than we are let in a page may first show who is there.
const blindTime = 15 * time.Second

// ChatFailure is why a message did not reach whom it should.
type ChatFailure string

// The failures.
const (
	ChatRestricted   ChatFailure = "chat-restricted"  // the chat cannot be addressed to everyone
	ChatUnavailable  ChatFailure = "chat-unavailable" // there is no chat
	ChatPrivately    ChatFailure = "sent-privately"
	ChatNotSent      ChatFailure = "not-sent"      // still in the box
	ChatNotConfirmed ChatFailure = "not-confirmed" // it never showed up as ours
	HostUnreachable  ChatFailure = "host-unreachable"
)

// ChatError is an error of Call.SendChat that says which failure it was.
type ChatError struct {
	Failure ChatFailure
	Err     error
}

// Error names the failure.
func (e *ChatError) Error() string {
	if e.Err == nil {
		return string(e.Failure)
	}
	return string(e.Failure) + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *ChatError) Unwrap() error { return e.Err }

func chatFailure(ev ChatSent, to Audience) ChatFailure {
	var ce *ChatError
	switch {
	case errors.As(ev.Err, &ce) && ce.Failure != "":
		return ce.Failure
	case errors.Is(ev.Err, ErrCannot) && to == HostOnly:
		return HostUnreachable
	case errors.Is(ev.Err, ErrCannot):
		return ChatUnavailable
	case errors.Is(ev.Err, ErrLate):
		return ChatNotConfirmed
	case ev.Err != nil:
		return ChatNotSent
	case ev.Receipt.SentTo == to && !ev.Receipt.Private:
		return ""
	case to == HostOnly && ev.Receipt.SentTo == HostOnly:
		return "" // a message to the host is private by nature
	default:
		return ChatPrivately
	}
}

func (a *announcement) deadline() time.Time {
	if a.sending {
		return time.Time{}
	}
	return a.lateAt
}

func (a *announcement) report(late bool) *wire.Announced {
	return &wire.Announced{Mode: string(a.mode), SentTo: a.sentTo, Reason: string(a.reason), Failures: a.failures, Late: late}
}

// announceNow begins to tell who we are, or goes on at once where that has been done.
func (m *Machine) announceNow() {
	a := &m.announce
	if a.sentTo != "" { // back from a lobby
		m.enter(Announcing, limits[Announcing], Transition{})
		m.attend()
		return
	}
	m.enter(Announcing, limits[Announcing], Transition{})
	a.mode = m.o.Announce
	if a.mode == AnnounceNone && (!m.o.Permits.NoAnnounce || m.o.AnnounceReason == "") {
		a.mode = AnnounceChat // keeping silent needs a permit and a reason
	}
	switch a.mode {
	case AnnounceNone:
		a.sentTo, a.cleared = "none", true
		m.remember(m.people.here(), m.people.count)
		m.note(LedgerEntry{What: "not-announced", How: "none", SentTo: "none", Reason: m.o.AnnounceReason})
		m.tell(wire.Report{Announce: a.report(false)})
		m.attend()
	case AnnounceHost:
		m.sendAnnouncement(HostOnly, false)
	default:
		m.sendAnnouncement(Everyone, false)
	}
}

// announceAgain is the first announcement, once more (the agent asked for it).
func (m *Machine) announceAgain() {
	a := &m.announce
	if a.sending || m.consent.objected() {
		return
	}
	to := Everyone
	if a.mode == AnnounceHost {
		to = HostOnly
	}
	a.sentTo, a.failures = "", nil
	m.sendAnnouncement(to, false)
}

func (m *Machine) sendAnnouncement(to Audience, late bool) {
	a := &m.announce
	a.op, a.trying, a.late, a.sending, a.last = m.nextOp(), to, late, true, m.now
	a.pending, a.pendingN = m.people.here(), m.people.count
	a.lateAt = time.Time{}
	text, _ := m.announceText(late)
	m.chat.push(m, post{op: a.op, text: text, to: to, first: true})
}

// announceText is the text and the name of its variant.
func (m *Machine) announceText(late bool) (text, variant string) {
	kind := "announce"
	if late {
		kind = "late"
	}
	what := "presence"
	switch {
	case m.o.Transcribe && m.wantsRecording():
		what = "both"
	case m.wantsRecording():
		what = "record"
	case m.o.Transcribe:
		what = "transcript"
	}
	if m.o.AnnounceText != "" {
		return m.o.AnnounceText, "custom"
	}
	return Text(m.o.Langs, kind+"."+what, m.o.Name, m.o.Owner), kind + "." + what
}

// announced is what came of a try.
func (m *Machine) announced(ev ChatSent) {
	a := &m.announce
	a.sending = false
	failure := chatFailure(ev, a.trying)
	text, variant := m.announceText(a.late)
	sum := sha256.Sum256([]byte(text))
	entry := LedgerEntry{What: "announced", How: "chat", SentTo: string(a.trying), Text: variant, TextSum: hex.EncodeToString(sum[:]),
		People: m.people.ledger(a.pending), Count: max(a.pendingN-1, 0)}
	if failure != "" {
		entry.What, entry.SentTo, entry.Reason = "announce-failed", "failed", string(failure)
		m.note(entry)
		a.failures = append(a.failures, string(a.trying)+": "+string(failure))
		if a.late {
			m.lateFailed(failure)
			return
		}
		if a.reason == "" || a.trying == Everyone {
			a.reason = failure
		}
		if a.trying == Everyone && !m.life.state.Over() {
			m.sendAnnouncement(HostOnly, false)
			return
		}
		a.sentTo = "failed"
	} else {
		m.note(entry)
		m.remember(a.pending, a.pendingN)
		if a.late {
			a.tries = 0
			m.tell(wire.Report{Announce: a.report(true)})
			m.lateCheck()
			return
		}
		a.sentTo = string(a.trying)
		if a.trying == Everyone || a.mode == AnnounceHost {
			a.reason = ""
		}
	}
	m.tell(wire.Report{Announce: a.report(false)})
	m.announceDecided()
}

// announceDecided applies on_announce_failure.
func (m *Machine) announceDecided() {
	a := &m.announce
	m.changed()
	if m.life.state.Over() {
		return
	}
	enough := a.sentTo == string(Everyone) || (a.sentTo == string(HostOnly) && a.mode == AnnounceHost)
	switch m.o.OnAnnounceFailure {
	case FailRecord:
		enough = true
	case FailHostOnly:
		enough = enough || a.sentTo == string(HostOnly)
	}
	if enough {
		a.cleared = true
	}
	if m.life.state == Announcing {
		m.attend()
	}
	if !enough && (m.wantsRecording() || m.o.Transcribe) && !m.consent.objected() {
		m.ask.put(m, question{kind: askAnnounce, choices: []string{"leave", "stay", "retry"}, safe: "leave", until: m.now.Add(refuseTime)})
	}
	m.lateCheck()
}

// announceGaveUp: the state's deadline came before the tries were over.
func (m *Machine) announceGaveUp() {
	a := &m.announce
	if a.sending {
		m.chat.drop(a.op)
		m.announced(ChatSent{Op: a.op, Err: ErrLate})
		if m.life.state == Announcing && a.sending { // the second try, which has no time left
			m.chat.drop(a.op)
			m.announced(ChatSent{Op: a.op, Err: ErrLate})
		}
		return
	}
	m.attend()
}

// attend is the meeting proper.
func (m *Machine) attend() {
	m.enter(Attending, m.attendFor(), Transition{})
	m.openChannel()
	m.warmClips()
	m.lateCheck()
}

func (m *Machine) attendFor() time.Duration {
	return max(m.life.admitted.Add(m.o.MaxDuration).Sub(m.now), 0)
}

func (m *Machine) remember(who map[string]bool, n int) {
	a := &m.announce
	if a.told == nil {
		a.told = map[string]bool{}
	}
	for id := range who {
		a.told[id] = true
	}
	a.count = n
	if !m.people.seen {
		a.blind = m.now.Add(blindTime)
	}
}

// lateCheck looks whether somebody has come who was not told, and sets the time at which they will be.
func (m *Machine) lateCheck() {
	a := &m.announce
	if a.sending || !a.cleared || a.mode != AnnounceChat || a.sentTo != string(Everyone) || m.life.state != Attending {
		return
	}
	if (!m.wantsRecording() && !m.o.Transcribe) || m.sound.stopped {
		return // nothing is recorded, or no longer
	}
	late := false
	for id := range m.people.here() {
		late = late || !a.told[id]
	}
	if len(m.people.list) == 0 && m.people.count >= 0 {
		late = m.people.count > a.count
		a.count = min(a.count, m.people.count) // who leaves and comes back is told again
	}
	switch {
	case !late:
		a.lateAt = time.Time{}
	case a.lateAt.IsZero():
		a.lateAt = m.now.Add(lateGather)
		if next := a.last.Add(lateGap); next.After(a.lateAt) {
			a.lateAt = next
		}
	}
}

func (m *Machine) lateFailed(failure ChatFailure) {
	a := &m.announce
	a.tries++
	m.tell(wire.Report{Announce: &wire.Announced{Mode: string(a.mode), SentTo: "failed", Reason: string(failure), Late: true}})
	if a.tries >= lateTries {
		m.remember(a.pending, a.pendingN) // they could not be told; the ledger says so
		a.tries = 0
		return
	}
	m.lateCheck()
}

func (m *Machine) expireAnnouncement() {
	a := &m.announce
	if a.sending || !m.due(a.lateAt) {
		return
	}
	a.lateAt = time.Time{}
	if m.life.state != Attending || m.consent.objected() || m.sound.stopped {
		return
	}
	m.note(LedgerEntry{What: "joined-late", People: m.people.ledger(m.people.newcomers(a.told)), Count: max(m.people.count-1, 0)})
	m.sendAnnouncement(Everyone, true)
}
