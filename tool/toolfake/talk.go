package toolfake

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/channel"
	"parley/tenant"
	"parley/tool"
	"parley/transcript"
	"parley/turn"
)

// talk is a meeting's conversation: the plainest that a carrier can be tested with. Every line is a turn at once, a
// draft that is ready is spoken when the next turn comes, and what is published is said in no time.
type talk struct {
	open  bool
	conv  *channel.Conversation
	turn  transcript.Seq
	draft channel.Drafted
	said  []string // what was published
	skip  string   // the draft that was spoken for the turn
	note  []string // chunks and completions
	seq   int64    // of updates
}

// Converse implements channel.Meetings.
func (f *Meetings) Converse(ctx context.Context) <-chan channel.Update {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(chan channel.Update, 1024)
	for _, id := range f.order {
		if m := f.byID[id]; m.talk.open {
			out <- f.opened(m)
		}
	}
	if f.listeners == nil {
		f.listeners = map[chan channel.Update]bool{}
	}
	f.listeners[out] = true
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, out)
		close(out)
	})
	return out
}

func (f *Meetings) opened(m *meeting) channel.Update {
	id := m.status.Meeting
	return channel.Update{Tenant: string(m.tenant), Meeting: id, Opened: &channel.Channel{ID: channel.ID(id), Tenant: string(m.tenant),
		Meeting: id, Platform: "room", Label: "Meeting " + id, Speculative: f.Speculative}}
}

func (f *Meetings) update(m *meeting, u channel.Update) {
	m.talk.seq++
	u.Tenant, u.Meeting, u.Cursor = string(m.tenant), m.status.Meeting, m.talk.seq
	for l := range f.listeners {
		select {
		case l <- u:
		default: // a test that does not read has lost it
		}
	}
}

// begin opens the conversation, with the lock held; finish ends it.
func (f *Meetings) begin(m *meeting) {
	m.talk.open, m.talk.conv = true, channel.NewConversation(m.status.Meeting, "room")
	f.update(m, f.opened(m))
}

func (f *Meetings) finish(m *meeting, why string) {
	if m.talk.open {
		m.talk.open = false
		f.update(m, channel.Update{Closed: why})
	}
}

// tell gives an effect to whoever hears the channel.
func (f *Meetings) tell(m *meeting, e turn.Effect) {
	if !m.talk.open {
		return
	}
	msg, ok := m.talk.conv.Tell(time.Now(), e)
	if !ok {
		return
	}
	if t := tool.TurnOf(msg); t != nil {
		f.event(m, tool.Event{Kind: tool.EventTurn, Turn: t})
	}
	f.update(m, channel.Update{Message: &msg})
}

// turned makes a turn of a line.
func (f *Meetings) turned(m *meeting, l tool.Line) {
	t := turn.Turn{Seq: transcript.Seq(l.Seq), Merged: []transcript.Seq{transcript.Seq(l.Seq)}, Text: l.Text, Lang: l.Lang, Draft: turn.DraftNone,
		Start: time.Duration(l.Start * float64(time.Second)), End: time.Duration(l.End * float64(time.Second))}
	if l.Speaker != nil {
		t.Speaker = &transcript.Speaker{ID: l.Speaker.ID, Name: l.Speaker.Name, Confidence: l.Speaker.Confidence, Source: l.Speaker.Source}
	}
	d := m.talk.draft
	m.talk.draft, m.talk.skip, m.talk.turn = channel.Drafted{}, "", t.Seq
	switch {
	case d.Text != "" && d.Ready:
		t.Draft, t.DraftText = turn.DraftSpoken, firstSentence(d.Text)
		m.talk.skip = t.DraftText
		m.talk.said = append(m.talk.said, t.DraftText)
	case d.Text != "":
		t.Draft, t.DraftWhy = turn.DraftDropped, turn.WhyNotReady
	}
	f.tell(m, turn.Deliver{Turn: t})
}

func firstSentence(text string) string { return turn.Sentences(text, "en", true)[0] }

// Interrupt makes somebody cut us off.
func (f *Meetings) Interrupt(id, said, unsaid string) {
	f.with(id, func(m *meeting) {
		f.event(m, tool.Event{Kind: tool.EventInterrupted, Speech: &tool.Speech{State: "interrupted", BargeIn: true, Said: said, Unsaid: unsaid}})
		f.tell(m, turn.SpeechEnded{State: turn.SpeechInterrupted, BargeIn: true, Said: said, Unsaid: unsaid})
	})
}

// Reopen makes the speaker of the last turn go on.
func (f *Meetings) Reopen(id, soFar string) {
	f.with(id, func(m *meeting) {
		f.event(m, tool.Event{Kind: tool.EventTurnExtended, Extended: &tool.Extended{TurnSeq: int64(m.talk.turn), Text: soFar}})
		f.tell(m, turn.Extended{Turn: m.talk.turn, SoFar: soFar})
		m.talk.turn++ // what answers the old one is stale
	})
}

// Talked is what was said by publishing and by drafts, in order.
func (f *Meetings) Talked(id string) (said []string) {
	f.with(id, func(m *meeting) { said = slices.Clone(m.talk.said) })
	return said
}

// Publish implements channel.Meetings.
func (f *Meetings) Publish(_ context.Context, t, id string, p channel.Publication) (channel.Receipt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.find(tenant.ID(t), id)
	if err != nil {
		return channel.Receipt{}, channel.ErrNoMeeting
	}
	a := turn.PublishAnswer{Turn: p.Turn, LastTurn: m.talk.turn}
	if a.Turn == 0 {
		a.Turn = m.talk.turn
	}
	switch {
	case m.status.State == tool.Ended:
		return channel.Ended(), nil
	case !m.talk.open:
		a.Reason = channel.ReasonClosed
	case utf8.RuneCountInString(p.Text) > turn.Default().PublishMax:
		a.Reason = turn.ReasonTooLong
	case a.Turn > m.talk.turn:
		a.Reason = turn.ReasonUnknownTurn
	case a.Turn != m.talk.turn:
		a.Reason, a.Dropped, a.Superseded = turn.ReasonSuperseded, true, true
	default:
		text := p.Text
		if rest, ok := strings.CutPrefix(text, m.talk.skip); ok && m.talk.skip != "" {
			text, a.PrefixSkipped = strings.TrimSpace(rest), true
		}
		m.talk.skip = ""
		if text != "" {
			m.talk.said = append(m.talk.said, text)
		}
		m.spoken++
		a.Delivered, a.Message = true, m.spoken
		f.event(m, tool.Event{Kind: tool.EventSpeech, Speech: &tool.Speech{Kind: "stream", State: "done", Said: text}})
	}
	return channel.ReceiptOf(a), nil
}

// Chunk implements channel.Meetings.
func (f *Meetings) Chunk(_ context.Context, t, id string, c channel.Chunk) error {
	return f.jot(t, id, c)
}

// Complete implements channel.Meetings.
func (f *Meetings) Complete(_ context.Context, t, id string, c channel.Completion) error {
	return f.jot(t, id, c)
}

func (f *Meetings) jot(t, id string, what any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.find(tenant.ID(t), id)
	if err != nil {
		return channel.ErrNoMeeting
	}
	raw, err := json.Marshal(what)
	m.talk.note = append(m.talk.note, string(raw))
	return err
}

// Draft implements channel.Meetings.
func (f *Meetings) Draft(_ context.Context, t, id string, d channel.Drafted) (channel.DraftReceipt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.find(tenant.ID(t), id)
	switch {
	case err != nil:
		return channel.DraftReceipt{}, channel.ErrNoMeeting
	case m.status.State == tool.Ended:
		return channel.DraftReceipt{Reason: channel.ReasonEnded}, nil
	case !m.talk.open:
		return channel.DraftReceipt{Reason: channel.ReasonClosed}, nil
	case d.ForTurn != 0 && d.ForTurn <= m.talk.turn:
		return channel.DraftReceipt{Reason: turn.ReasonLate}, nil
	}
	m.talk.draft = d
	r := channel.DraftReceipt{OK: true}
	if d.Text != "" {
		r.Sentence = firstSentence(d.Text)
	}
	return r, nil
}

// Prefers implements channel.Meetings.
func (f *Meetings) Prefers(string) channel.Preferences {
	return channel.Preferences{Events: channel.EventsAuto, Channel: true}
}

var _ channel.Meetings = (*Meetings)(nil)

// Drafted is the draft that waits.
func (f *Meetings) Drafted(id string) (text string) {
	f.with(id, func(m *meeting) { text = m.talk.draft.Text })
	return text
}
