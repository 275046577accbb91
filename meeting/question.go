package meeting

import (
	"slices"
	"strconv"
	"time"

	"parley/meeting/wire"
)

// answerTime is how long a question stands, unless it says otherwise.
const answerTime = 2 * time.Minute

// questionsBound is how many may stand at once; a page that floods us with dialogs asks nobody more than that.
const questionsBound = 8

// The kinds of questions.
const (
	askAnnounce  = "announce-failed"
	askGate      = "consent-gate"
	askDialog    = "dialog"
	askChallenge = "challenge"
)

// question is something that only the agent or a person can decide. safe is what happens without an answer.
type question struct {
	id      string
	kind    string
	text    string
	choices []string
	safe    string
	until   time.Time
	dialog  string // the dialog it is about
}

type questions struct {
	n    int
	open []question
}

func (q *questions) deadline() time.Time {
	var first time.Time
	for _, a := range q.open {
		first = earliest(first, a.until)
	}
	return first
}

func (q *questions) put(m *Machine, a question) {
	if len(q.open) >= questionsBound {
		return
	}
	q.n++
	a.id = "q" + strconv.Itoa(q.n)
	if a.until.IsZero() {
		a.until = m.now.Add(answerTime)
	}
	q.open = append(q.open, a)
	m.tell(wire.Report{Question: m.wireQuestion(a)})
	m.changed()
}

func (m *Machine) wireQuestion(a question) *wire.Question {
	return &wire.Question{ID: a.id, Kind: a.kind, Text: a.text, Choices: a.choices, Default: a.safe, RemainingMS: max(a.until.Sub(m.now).Milliseconds(), 0)}
}

// close takes a question back and reports how it ended.
func (q *questions) close(m *Machine, id, how, choice string) (question, bool) {
	for i, a := range q.open {
		if a.id == id {
			q.open = slices.Delete(slices.Clone(q.open), i, i+1)
			w := m.wireQuestion(a)
			w.Closed, w.Choice = how, choice
			m.tell(wire.Report{Question: w})
			m.changed()
			return a, true
		}
	}
	return question{}, false
}

func (q *questions) closeAll(m *Machine, how string) {
	for _, a := range slices.Clone(q.open) {
		q.close(m, a.id, how, "")
	}
}

func (q *questions) closeKind(m *Machine, kind string) {
	for _, a := range slices.Clone(q.open) {
		if a.kind == kind {
			q.close(m, a.id, "withdrawn", "")
		}
	}
}

func (m *Machine) answerQuestion(id string, c wire.Choice) {
	i := slices.IndexFunc(m.ask.open, func(a question) bool { return a.id == c.QuestionID })
	if i < 0 {
		m.answer(id, wire.Answer{Error: &wire.Error{Code: wire.CodeBadInput, Text: "no open question " + strconv.Quote(c.QuestionID) + "; meeting_status lists those that stand"}})
		return
	}
	a := m.ask.open[i]
	if !slices.Contains(a.choices, c.Choice) {
		m.answer(id, wire.Answer{Error: &wire.Error{Code: wire.CodeBadInput, Text: "that is not one of the choices of the question"}})
		return
	}
	if a.kind == askGate && c.Choice != "leave" && !m.o.Permits.AcceptGates {
		m.answer(id, wire.Answer{Error: &wire.Error{Code: wire.CodeNotAllowed, Text: "this meeting was joined without the permission to accept consent gates; the choice left is leave"}})
		return
	}
	m.ask.close(m, a.id, "answered", c.Choice)
	m.answer(id, wire.Answer{})
	m.decide(a, c.Choice, ReasonDeclined)
}

// decide does what was chosen.
func (m *Machine) decide(a question, choice string, leaving Reason) {
	if choice == "leave" {
		if a.kind == askAnnounce && leaving == ReasonQuestionUnanswered {
			leaving = ReasonAnnounceFailed
		}
		if a.kind == askChallenge {
			leaving = ReasonCaptcha
		}
		m.leave(leaving, Transition{Text: a.text})
		return
	}
	switch a.kind {
	case askAnnounce:
		if choice == "retry" {
			m.announceAgain()
		}
	case askGate, askDialog:
		m.do(AnswerDialog{Op: m.nextOp(), ID: a.dialog, Choice: choice})
	}
}

func (m *Machine) expireQuestions() {
	for _, a := range slices.Clone(m.ask.open) {
		if m.due(a.until) && !m.life.state.Over() {
			m.ask.close(m, a.id, "unanswered", a.safe)
			m.decide(a, a.safe, ReasonQuestionUnanswered)
		}
	}
}

// seenDialog is a dialog that the platform's own policy leaves to us: consent, a challenge, and what nobody knows.
func (m *Machine) seenDialog(ev SeenDialog) {
	if m.life.state.Over() {
		return
	}
	if !ev.Open {
		m.dialogClosed(ev.ID)
		return
	}
	if slices.ContainsFunc(m.ask.open, func(a question) bool { return a.dialog == ev.ID && a.dialog != "" }) {
		return
	}
	switch ev.Kind {
	case "unmute-request":
		m.askedToSpeak()
	case "consent":
		m.consentGate(ev)
	case "challenge":
		m.challenge(ev)
	case "unknown", "sign-in":
		m.hold("dialog")
		m.lobbyWaits()
		m.ask.put(m, question{kind: askDialog, text: ev.Text, choices: withLeave(ev.Choices), safe: "leave", dialog: ev.ID})
	}
}

// lobbyWaits gives a person their time to answer, whatever the lobby's own is.
func (m *Machine) lobbyWaits() {
	if m.life.state == Lobby {
		m.life.until = m.now.Add(answerTime + limits[Lobby])
	}
}

func withLeave(choices []string) []string {
	out := slices.DeleteFunc(slices.Clone(choices), func(c string) bool { return c == "leave" })
	return append(out, "leave")
}

func (m *Machine) consentGate(ev SeenDialog) {
	switch {
	case m.o.ConsentGate == GateLeave:
		m.leave(ReasonDeclined, Transition{Text: ev.Text})
	case m.o.ConsentGate == GateAccept && m.o.Permits.AcceptGates && len(ev.Choices) > 0 && !ev.Unsure:
		// The module lists the accepting choice first.
		m.do(AnswerDialog{Op: m.nextOp(), ID: ev.ID, Choice: ev.Choices[0]})
	default:
		m.hold("consent-gate")
		m.lobbyWaits()
		m.ask.put(m, question{kind: askGate, text: ev.Text, choices: withLeave(ev.Choices), safe: "leave", dialog: ev.ID})
	}
}

func (m *Machine) challenge(ev SeenDialog) {
	if !m.life.state.In() && !m.o.AskHuman {
		m.leave(ReasonCaptcha, Transition{Text: ev.Text})
		return
	}
	m.hold("challenge")
	m.lobbyWaits()
	m.ask.put(m, question{kind: askChallenge, text: ev.Text, choices: []string{"solved", "leave"}, safe: "leave", dialog: ev.ID})
}

// dialogClosed: it went away by itself, or somebody dealt with it.
func (m *Machine) dialogClosed(id string) {
	for _, a := range slices.Clone(m.ask.open) {
		if a.dialog == id && id != "" {
			m.ask.close(m, a.id, "withdrawn", "")
		}
	}
	if !slices.ContainsFunc(m.ask.open, func(a question) bool { return a.dialog != "" }) {
		m.hold("")
	}
}

// hold says what is in our way.
func (m *Machine) hold(by string) {
	if m.life.held == by {
		return
	}
	m.life.held = by
	m.tell(wire.Report{State: &wire.StateChange{State: string(m.life.state), Before: string(m.life.state), HeldBy: by}})
	m.changed()
}

func (m *Machine) dialogAnswered(ev DialogAnswered) {
	if ev.Err != nil {
		m.faulted(Fault{Part: PartBrowser, Kind: "dialog-not-answered", Err: ev.Err}, "retrying")
		return
	}
	if !slices.ContainsFunc(m.ask.open, func(a question) bool { return a.dialog != "" }) {
		m.hold("")
	}
}
