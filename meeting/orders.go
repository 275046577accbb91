package meeting

import (
	"time"

	"parley/meeting/wire"
)

// Bounds of commands.
const (
	ordersBound = 64
	orderTime   = 30 * time.Second
	orderLong   = 20 * time.Minute // one that waits for an utterance
	handTime    = 20 * time.Second
)

// order is a command that was not answered yet.
type order struct {
	name  string
	until time.Time
}

// orders are the commands that wait. Each is answered exactly once: by what it asked for, by its own time, by its
// cancellation, or by the end.
type orders struct {
	waiting map[string]order
	hands   []hand
	handNow Op
	handID  string
	handTo  time.Time
	up      bool
}

type hand struct {
	id string
	up bool
}

func (o *orders) deadline() time.Time {
	first := o.handTo
	for _, w := range o.waiting {
		first = earliest(first, w.until)
	}
	return first
}

// command takes an order. A second one under an id that still waits is not accepted, and not answered.
func (m *Machine) command(c Command) {
	if c.ID == "" { // nobody waits for an answer
		m.stream(c.Body)
		return
	}
	if _, twice := m.orders.waiting[c.ID]; twice {
		return
	}
	name := c.Body.Name()
	if len(m.orders.waiting) >= ordersBound {
		m.do(Answer{ID: c.ID, Body: wire.Answer{Error: &wire.Error{Code: wire.CodeBusy, Text: "too many commands wait for this meeting; try again in a moment"}}})
		return
	}
	limit := orderTime
	if c.Body.Speak != nil && c.Body.Speak.Wait {
		limit = orderLong
	}
	if t := time.Duration(c.Body.TimeoutMS) * time.Millisecond; t > 0 && t < orderLong {
		limit = t
	}
	m.orders.waiting[c.ID] = order{name: name, until: m.now.Add(limit)}
	var refused *wire.Error
	switch b := c.Body; {
	case b.Status != nil:
		s := m.Status(m.now)
		m.answer(c.ID, wire.Answer{Status: &s})
	case b.StopRecording != nil:
		m.stopRecording(c.ID, b.StopRecording.Delete)
	case b.Leave != nil:
		m.leave(ReasonLeft, Transition{})
		m.answer(c.ID, wire.Answer{})
	case b.StopSpeaking != nil:
		m.stopSpeaking(c.ID)
	case m.life.state.Over():
		refused = m.over()
	case b.Speak != nil:
		refused = m.speak(c.ID, *b.Speak)
	case b.Mute != nil:
		refused = m.mute(c.ID, b.Mute.On)
	case b.Hand != nil:
		refused = m.raiseHand(c.ID, b.Hand.On)
	case b.ChatSend != nil:
		refused = m.sendChat(c.ID, b.ChatSend.Text, Audience(b.ChatSend.To))
	case b.Answer != nil:
		m.answerQuestion(c.ID, *b.Answer)
	case b.Publish != nil:
		refused = m.publish(c.ID, *b.Publish)
	case b.Draft != nil:
		refused = m.draft(c.ID, *b.Draft)
	case b.Chunk != nil, b.Complete != nil:
		m.stream(b)
		m.answer(c.ID, wire.Answer{})
	case b.StopTranscript != nil:
		if w := &m.sound.words; w.live() || !w.again.IsZero() {
			m.transcriptBroke(Fault{Part: PartSpeech, Fatal: true, Kind: b.StopTranscript.Reason})
		}
		m.answer(c.ID, wire.Answer{})
	case b.Settings != nil:
		m.change(b.Settings.Turn)
		m.answer(c.ID, wire.Answer{})
	default:
		refused = &wire.Error{Code: wire.CodeBadInput, Text: "this worker does not know the command; it may be older than the service"}
	}
	if refused != nil {
		m.answer(c.ID, wire.Answer{Error: refused})
	}
}

// answer is the one way to answer: who was answered already is not answered again.
func (m *Machine) answer(id string, a wire.Answer) {
	if _, ok := m.orders.waiting[id]; !ok {
		return
	}
	delete(m.orders.waiting, id)
	m.do(Answer{ID: id, Body: a})
}

func (o *orders) answerAll(m *Machine) {
	for id, w := range o.waiting {
		a := wire.Answer{Error: m.over()}
		if w.name == "stop_speaking" || w.name == "leave" {
			a = wire.Answer{}
		}
		m.answer(id, a)
	}
}

// cancel withdraws a command. What has begun to act on the page is not taken back: the answer says so.
func (m *Machine) cancel(id string) {
	w, ok := m.orders.waiting[id]
	if !ok {
		return
	}
	m.giveUp(id, w)
}

func (m *Machine) giveUp(id string, w order) {
	e := &wire.Error{Code: wire.CodeCanceled, Text: "canceled before it was done"}
	switch w.name {
	case "speak":
		if u := m.voice.now; u != nil && u.order == id {
			u.order = ""
			m.hush("cancel")
		}
	case "chat_send":
		if m.chat.now != nil && m.chat.now.order == id {
			m.chat.now.order = ""
			e.Code, e.Text = wire.CodeUncertain, "canceled while the message was being written: it may be in the chat"
		} else {
			m.chat.keep(func(p post) bool { return p.order != id })
		}
	case "hand", "mute":
		e.Code, e.Text = wire.CodeUncertain, "canceled while the page was being worked: read the status"
	}
	m.answer(id, wire.Answer{Error: e})
}

func (m *Machine) expireOrders() {
	for id, w := range m.orders.waiting {
		if m.due(w.until) {
			m.giveUp(id, w)
		}
	}
	if m.due(m.orders.handTo) {
		m.handRaised(HandRaised{Op: m.orders.handNow, Err: ErrLate})
	}
}

// raiseHand is the command; one act on the page at a time.
func (m *Machine) raiseHand(id string, up bool) *wire.Error {
	if !m.life.state.In() {
		return &wire.Error{Code: wire.CodeNotYet, Text: "not in the meeting yet (state " + string(m.life.state) + ")"}
	}
	m.orders.hands = append(m.orders.hands, hand{id, up})
	m.nextHand()
	return nil
}

func (m *Machine) nextHand() {
	o := &m.orders
	if o.handNow != 0 || len(o.hands) == 0 {
		return
	}
	h := o.hands[0]
	o.hands = o.hands[1:]
	o.handNow, o.handID, o.handTo = m.nextOp(), h.id, m.now.Add(handTime)
	o.up = h.up
	m.do(RaiseHand{Op: o.handNow, Up: h.up})
}

func (m *Machine) handRaised(ev HandRaised) {
	o := &m.orders
	if o.handNow == 0 || ev.Op != o.handNow {
		return
	}
	a := wire.Answer{}
	if ev.Err != nil {
		o.up = !o.up
		a.Error = handError(ev.Err)
	}
	m.answer(o.handID, a)
	o.handNow, o.handID, o.handTo = 0, "", time.Time{}
	m.nextHand()
	m.changed()
}
