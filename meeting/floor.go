package meeting

import (
	"encoding/json"
	"time"

	"parley/channel"
	"parley/meeting/wire"
	"parley/transcript"
	"parley/turn"
	"parley/turn/replay"
)

// floor is who has the floor: the turn engine with its own clock, and the conversation that comes of it. The engine's
// clock begins when we attend; the transcript's, whose times segments carry, with the first sample that passed the gate.
type floor struct {
	engine *turn.Engine
	rec    *replay.Recorder
	conv   *channel.Conversation

	zero    time.Time     // of the engine's clock; zero: nothing has begun
	ahead   time.Duration // of the transcript's zero over the engine's
	waiting []turn.Event  // while the engine's effects are worked
	working bool

	open   bool // the channel is known to the agent
	closed bool // and is not any more

	lang      string // of the last turn
	shownSelf bool   // the page has shown us speaking: it can
	echoes    map[transcript.Seq]bool
}

func newFloor(o Options) floor {
	set, policy := turn.Default(), o.Policy
	if o.Turn != nil && o.Turn.Check() == nil {
		set = *o.Turn
	}
	if policy == nil {
		policy = turn.TwoStep{Policy: turn.Reference{}}
	}
	e := turn.New(set, policy)
	return floor{engine: e, rec: replay.NewRecorder(e, policy, nil), conv: channel.NewConversation(string(o.ID), o.Platform)}
}

// begin starts the engine's clock, once.
func (f *floor) begin(now time.Time) {
	if f.zero.IsZero() {
		f.zero = now
	}
}

// clock is the engine's time.
func (f *floor) clock(now time.Time) time.Duration {
	if f.zero.IsZero() {
		return 0
	}
	return now.Sub(f.zero)
}

func (f *floor) deadline() time.Time {
	if f.zero.IsZero() || f.closed {
		return time.Time{}
	}
	at, ok := f.engine.Deadline()
	if !ok {
		return time.Time{}
	}
	return f.zero.Add(at)
}

// entries are what the journal is to keep of this step.
func (f *floor) entries() []json.RawMessage { return f.rec.Take() }

// floorStep tells the engine and does what it wants. What comes up meanwhile is told when that is done.
func (m *Machine) floorStep(ev turn.Event) {
	f := &m.floor
	f.waiting = append(f.waiting, ev)
	if f.working {
		return
	}
	f.working = true
	for len(f.waiting) > 0 {
		ev := f.waiting[0]
		f.waiting = f.waiting[1:]
		for _, eff := range f.rec.Step(f.clock(m.now), ev) {
			m.floorDo(eff)
		}
	}
	f.working = false
}

func (m *Machine) expireFloor() {
	if m.due(m.floor.deadline()) {
		m.floorStep(turn.Tick{})
	}
}

// floorDo does one thing that the engine wants.
func (m *Machine) floorDo(eff turn.Effect) {
	switch eff := eff.(type) {
	case turn.Deliver:
		m.floor.lang = eff.Turn.Lang
		eff.Turn.Start, eff.Turn.End = m.floor.said(eff.Turn.Start), m.floor.said(eff.Turn.End)
		m.converse(eff)
	case turn.DeliverPartial:
		eff.Start = m.floor.said(eff.Start)
		m.converse(eff)
	case turn.Extended:
		m.tell(wire.Report{TurnExtended: &wire.TurnExtended{TurnSeq: int64(eff.Turn), TurnText: eff.TurnText, SoFar: eff.SoFar, Speaker: eff.Speaker}})
		m.converse(eff)
	case turn.MarkEcho:
		if m.floor.echoes == nil {
			m.floor.echoes = map[transcript.Seq]bool{}
		}
		m.floor.echoes[eff.Seq] = true
	case turn.PublishAnswer:
		m.answer(eff.ID, wire.Answer{Publish: &wire.Published{Delivered: eff.Delivered, Dropped: eff.Dropped, Reason: eff.Reason,
			Message: eff.Message, Superseded: eff.Superseded, Turn: int64(eff.Turn), LastTurn: int64(eff.LastTurn),
			PrefixSkipped: eff.PrefixSkipped, AlreadySaid: eff.AlreadySaid}})
	case turn.DraftAnswer:
		m.answer(eff.ID, wire.Answer{Draft: &wire.Drafted{OK: eff.OK, Reason: eff.Reason, Sentence: eff.Sentence}})
	case turn.SpeakAnswer:
		m.speakAnswered(eff)
	case turn.Say:
		m.say(eff)
	case turn.Unsay:
		m.unsay(eff)
	case turn.Stop:
		m.stopVoice(eff.Utterance)
	case turn.Duck:
		m.duck(eff.Utterance, true)
	case turn.Restore:
		m.duck(eff.Utterance, false)
	case turn.Prepare:
		m.prepareText(eff.Text)
	case turn.PlayClip:
		m.playClip(eff)
	case turn.SpeechEnded:
		m.utteranceOver(eff)
	}
}

// said is a time of the engine's on the transcript's clock.
func (f *floor) said(at time.Duration) time.Duration { return max(at-f.ahead, 0) }

// converse tells the agent.
func (m *Machine) converse(eff turn.Effect) {
	msg, ok := m.floor.conv.Tell(m.now, eff)
	if !ok || m.consent.objected() {
		return
	}
	body, err := json.Marshal(msg)
	if err != nil {
		return // texts and numbers: it can be written
	}
	m.tell(wire.Report{Message: &wire.Told{Partial: msg.Partial, Body: body}})
}

// openChannel lets the conversation begin: people were told who we are.
func (m *Machine) openChannel() {
	f := &m.floor
	f.begin(m.now)
	if f.open || f.closed || m.o.NoChannel || m.consent.objected() {
		return
	}
	f.open = true
	m.tell(wire.Report{Channel: &wire.Channel{Open: true, Speculative: f.engine.Settings().SpeculativeSpeech}})
}

// closeChannel ends the conversation for the agent; the command to speak still works.
func (m *Machine) closeChannel(why string) {
	f := &m.floor
	if f.open && !f.closed {
		m.tell(wire.Report{Channel: &wire.Channel{Why: why}})
	}
	f.closed = f.closed || why == "ended"
	f.open = false
}

// endFloor hands over what is held and ends the engine.
func (m *Machine) endFloor() {
	if m.floor.closed {
		return
	}
	m.voice.cause = "leave"
	m.floorStep(turn.Close{})
	m.closeChannel("ended")
	m.floor.closed = true
}

// hearFloor tells the engine what was heard, and says whether it takes it for our own voice.
func (m *Machine) hearFloor(s transcript.Segment, final bool) (echo bool) {
	f := &m.floor
	s.Start += f.ahead.Seconds()
	s.End += f.ahead.Seconds()
	if !final {
		m.floorStep(turn.Partial{Seq: s.Seq, Start: seconds(s.Start), End: seconds(s.End), Text: s.Text, Lang: s.Lang, Speaker: s.Speaker})
		return false
	}
	m.floorStep(turn.Final{Segment: s})
	echo = f.echoes[s.Seq]
	delete(f.echoes, s.Seq)
	return echo
}

func seconds(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }

// hearingBegan sets the transcript's clock.
func (m *Machine) hearingBegan(at time.Time) {
	m.floor.begin(m.now)
	m.floor.ahead = max(at.Sub(m.floor.zero), 0)
}

// showFloor tells the engine whom the page shows speaking, and keeps in mind what it shows of ourselves.
func (m *Machine) showFloor(ev SeenSpeaking) {
	if ev.Self {
		m.floor.shownSelf = true
		if u := m.voice.now; u != nil && u.sounding() {
			u.shown = true
		}
	}
	if m.floor.zero.IsZero() || ev.Always { // a stage shows somebody in silence too
		return
	}
	who := make([]transcript.Person, 0, len(ev.IDs))
	for i, id := range ev.IDs {
		p := transcript.Person{ID: id}
		if i < len(ev.Names) {
			p.Name = ev.Names[i]
		}
		who = append(who, p)
	}
	if len(ev.IDs) == 0 {
		for _, name := range ev.Names {
			who = append(who, transcript.Person{Name: name})
		}
	}
	m.floorStep(turn.Shown{Who: who})
}

// The commands of the conversation.

// maySpeak says why nothing can be said; nil when it can.
func (m *Machine) maySpeak() *wire.Error {
	switch {
	case !m.life.state.In():
		return &wire.Error{Code: wire.CodeNotYet, Text: "not in the meeting yet (state " + string(m.life.state) + "); wait until it is attending"}
	case m.life.state != Attending:
		return &wire.Error{Code: wire.CodeNotYet, Text: "nobody was told yet who we are; wait until the state is attending"}
	case !m.o.Permits.Speak:
		return &wire.Error{Code: wire.CodeNotAllowed, Text: "this meeting was joined without the permission to speak"}
	case m.mic.device == DeviceBlocked:
		return micError(true, DeviceBlocked)
	}
	return nil
}

func (m *Machine) publish(id string, p wire.Publish) *wire.Error {
	if e := m.maySpeak(); e != nil {
		return e
	}
	if m.mic.hostMuted {
		m.answer(id, wire.Answer{Publish: &wire.Published{Reason: channel.ReasonHostMuted}})
		return nil
	}
	m.floorStep(turn.Publish{ID: id, Text: p.Text, Turn: transcript.Seq(p.Turn), Stream: p.Stream})
	return nil
}

func (m *Machine) draft(id string, d wire.Draft) *wire.Error {
	if e := m.maySpeak(); e != nil {
		return e
	}
	if m.mic.hostMuted && d.Text != "" {
		m.answer(id, wire.Answer{Draft: &wire.Drafted{Reason: channel.ReasonHostMuted}})
		return nil
	}
	m.floorStep(turn.Draft{ID: id, Text: d.Text, Ready: d.Ready, ForTurn: transcript.Seq(d.ForTurn)})
	return nil
}

// stream takes a piece of what the agent is writing, or its end. Nothing comes of it where nothing can be said.
func (m *Machine) stream(c wire.Command) {
	if m.maySpeak() != nil || m.mic.hostMuted {
		return
	}
	if k := c.Chunk; k != nil {
		m.floorStep(turn.Chunk{Stream: k.Stream, Index: k.Index, Delta: k.Delta, Turn: transcript.Seq(k.Turn), Speculative: k.Speculative})
	}
	if k := c.Complete; k != nil {
		m.voice.cause = "cancelled"
		defer func() { m.voice.cause = "" }()
		m.floorStep(turn.Complete{Stream: k.Stream, Text: k.Text, Cancelled: k.Cancelled})
	}
}

// change takes new settings; a name or value that is not known is left out.
func (m *Machine) change(values map[string]string) {
	set := m.floor.engine.Settings()
	before := set
	set.SetAll(values) // the service has checked them
	m.floorStep(turn.Change{Settings: set})
	if m.floor.open && set.SpeculativeSpeech != before.SpeculativeSpeech {
		m.tell(wire.Report{Channel: &wire.Channel{Open: true, Speculative: set.SpeculativeSpeech}})
	}
	m.warmClips()
}
