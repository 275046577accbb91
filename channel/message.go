// Package channel is the conversation with an agent about a meeting, whatever carries it: what turns become on
// their way to the agent, what a publish is answered, and which connection has which channel.
package channel

import (
	"fmt"
	"strconv"
	"time"

	"parley/transcript"
	"parley/turn"
)

// ID is the channel of a meeting.
func ID(meeting string) string { return "parley:meeting:" + meeting }

// Message is one thing that the agent is told. It can cross a process's pipe as JSON.
type Message struct {
	// ID is new for each occurrence: <meeting>:<seq> for a turn, with :p<n>, :r<n>, or ext and int for the others.
	ID      string    `json:"messageId"`
	Channel string    `json:"channelId"`
	Thread  string    `json:"threadId"`
	Author  Author    `json:"author"`
	At      time.Time `json:"timestamp"`
	// Text are the text blocks. What people said is in the first one only.
	Text     []string `json:"text"`
	Metadata Metadata `json:"metadata"`
	Tags     []string `json:"tags"`
	// Partial says that a newer one follows soon: it is the first to be dropped when a reader does not keep up.
	Partial bool `json:"partial,omitempty"`
}

// Author is who a message is from.
type Author struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Us is the author of what we say about the meeting ourselves.
var Us = Author{ID: "parley", Name: "Parley"}

// Metadata is what a message says beside its text. Names and texts in it are from the meeting: untrusted.
type Metadata struct {
	Meeting    string               `json:"meeting_id"`
	Platform   string               `json:"platform,omitempty"`
	Seq        transcript.Seq       `json:"seq,omitempty"`
	TurnSeq    transcript.Seq       `json:"turn_seq,omitempty"`
	Start      *float64             `json:"start_s,omitempty"`
	End        *float64             `json:"end_s,omitempty"`
	Final      *bool                `json:"final,omitempty"`
	Lang       string               `json:"lang,omitempty"`
	Speaker    *transcript.Speaker  `json:"speaker,omitempty"`
	Speakers   []transcript.Speaker `json:"speakers,omitempty"`
	MergedSeqs []transcript.Seq     `json:"merged_seqs,omitempty"`
	HeldMS     *int64               `json:"held_ms,omitempty"`
	Extends    transcript.Seq       `json:"extends_turn,omitempty"`
	Echo       bool                 `json:"echo_suspected,omitempty"`
	Draft      string               `json:"draft,omitempty"`
	DraftText  string               `json:"draft_text,omitempty"`
	DraftWhy   string               `json:"draft_reason,omitempty"`

	TurnText string `json:"turn_text,omitempty"`
	SoFar    string `json:"text_so_far,omitempty"`

	Said          string              `json:"said,omitempty"`
	Unsaid        string              `json:"unsaid,omitempty"`
	InterruptedBy *transcript.Speaker `json:"interrupted_by,omitempty"`
	ByText        string              `json:"interrupted_with,omitempty"`
}

// The tags of messages.
const (
	TagTranscript   = "parley:meeting-transcript"
	TagPartial      = "parley:partial"
	TagExtended     = "parley:meeting-turn-extended"
	TagInterrupted  = "parley:meeting-interrupted"
	tagMeeting      = "parley:meeting="
	tagFromHuman    = "chat:from-human"
	tagFromSelf     = "chat:from-self"
	tagGroup        = "chat:group"
	nobodyNamed     = "Meeting"
	nobodyNamedID   = "meeting"
	speakerIDPrefix = "speaker:"
)

// Conversation turns what the turn engine does into messages. One goroutine uses it.
type Conversation struct {
	meeting, platform string
	partials, again   int
	extended, cut     int
}

// NewConversation begins the conversation about a meeting.
func NewConversation(meeting, platform string) *Conversation {
	return &Conversation{meeting: meeting, platform: platform}
}

// Tell gives the message that an effect is for the agent; ok is false for effects that are none.
func (c *Conversation) Tell(at time.Time, eff turn.Effect) (m Message, ok bool) {
	switch f := eff.(type) {
	case turn.Deliver:
		return c.turn(at, f.Turn), true
	case turn.DeliverPartial:
		return c.partial(at, f), true
	case turn.Extended:
		return c.reopened(at, f), true
	case turn.SpeechEnded:
		if f.BargeIn {
			return c.interrupted(at, f), true
		}
	}
	return Message{}, false
}

// base is what all messages have.
func (c *Conversation) base(at time.Time, id string, author Author, tags ...string) Message {
	return Message{ID: c.meeting + ":" + id, Channel: ID(c.meeting), Thread: c.meeting, Author: author, At: at,
		Metadata: Metadata{Meeting: c.meeting, Platform: c.platform}, Tags: append(tags, tagMeeting+c.meeting)}
}

func (c *Conversation) turn(at time.Time, t turn.Turn) Message {
	id := strconv.FormatInt(int64(t.Seq), 10)
	if t.Extends == t.Seq { // it was reopened for nothing: the same turn, told again
		c.again++
		id += ":r" + strconv.Itoa(c.again)
	}
	human := tagFromHuman
	if t.Echo {
		human = tagFromSelf
	}
	m := c.base(at, id, authorOf(t.Speaker), TagTranscript, human, tagGroup)
	start, end, held, final := t.Start.Seconds(), t.End.Seconds(), t.Held.Milliseconds(), true
	m.Text = []string{t.Text}
	d := &m.Metadata
	d.Seq, d.TurnSeq, d.Start, d.End, d.Final, d.HeldMS = t.Seq, t.Seq, &start, &end, &final, &held
	d.Lang, d.Speaker, d.Speakers, d.Echo = t.Lang, t.Speaker, t.Speakers, t.Echo
	if len(t.Merged) > 1 {
		d.MergedSeqs = t.Merged
	}
	d.Extends = t.Extends
	if d.Draft = string(t.Draft); t.Draft != turn.DraftNone {
		d.DraftText, d.DraftWhy = t.DraftText, t.DraftWhy
		m.Text = append(m.Text, draftNote(t))
	}
	return m
}

// draftNote says in words what became of the draft.
func draftNote(t turn.Turn) string {
	if t.Draft == turn.DraftSpoken {
		return fmt.Sprintf("(Your draft is being said: %q. Publish what follows it, or begin with it: it is not said twice.)", t.DraftText)
	}
	return "(Your draft was dropped: " + t.DraftWhy + ".)"
}

func (c *Conversation) partial(at time.Time, p turn.DeliverPartial) Message {
	c.partials++
	id := fmt.Sprintf("%d:p%d", p.Seq, c.partials)
	m := c.base(at, id, authorOf(p.Speaker), TagTranscript, TagPartial, tagFromHuman, tagGroup)
	start, final := p.Start.Seconds(), false
	m.Text, m.Partial = []string{p.Text}, true
	m.Metadata.Seq, m.Metadata.Start, m.Metadata.Final, m.Metadata.Lang, m.Metadata.Speaker = p.Seq, &start, &final, p.Lang, p.Speaker
	return m
}

func (c *Conversation) reopened(at time.Time, f turn.Extended) Message {
	c.extended++
	m := c.base(at, fmt.Sprint("ext:", c.extended), Us, TagExtended)
	m.Text = []string{fmt.Sprintf("(The speaker goes on after turn %d, so far: %q. The whole turn comes again; an answer to the old one is not said.)", f.Turn, f.SoFar)}
	m.Metadata.TurnSeq, m.Metadata.TurnText, m.Metadata.SoFar, m.Metadata.Speaker = f.Turn, f.TurnText, f.SoFar, f.Speaker
	return m
}

func (c *Conversation) interrupted(at time.Time, f turn.SpeechEnded) Message {
	c.cut++
	m := c.base(at, fmt.Sprint("int:", c.cut), Us, TagInterrupted)
	m.Text = []string{fmt.Sprintf("(interrupted at %q)", tail(f.Said, 80))}
	m.Metadata.Said, m.Metadata.Unsaid, m.Metadata.InterruptedBy, m.Metadata.ByText = f.Said, f.Unsaid, f.By, f.ByText
	return m
}

// tail is the end of a text, from a word on.
func tail(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	r = r[len(r)-most:]
	for i, c := range r {
		if c == ' ' {
			return "…" + string(r[i:])
		}
	}
	return "…" + string(r)
}

// authorOf is the speaker, or the meeting when nobody knows.
func authorOf(s *transcript.Speaker) Author {
	switch {
	case s == nil || s.Name == "" && s.ID == "":
		return Author{ID: nobodyNamedID, Name: nobodyNamed}
	case s.Name == "":
		return Author{ID: speakerIDPrefix + s.ID, Name: nobodyNamed}
	case s.ID == "":
		return Author{ID: speakerIDPrefix + s.Name, Name: s.Name}
	}
	return Author{ID: speakerIDPrefix + s.ID, Name: s.Name}
}

// Receipt is the answer to a publish, as hosts and tools read it. A refusal has no message id: nothing happened.
type Receipt struct {
	Delivered     bool           `json:"delivered"`
	MessageID     string         `json:"messageId,omitempty"`
	Dropped       bool           `json:"dropped,omitempty"`
	Reason        string         `json:"reason,omitempty"`
	Superseded    bool           `json:"superseded_by_new_speech"`
	Turn          transcript.Seq `json:"turn_seq,omitempty"`
	LastTurn      transcript.Seq `json:"last_turn_seq,omitempty"`
	PrefixSkipped bool           `json:"draft_prefix_skipped,omitempty"`
	AlreadySaid   string         `json:"already_said,omitempty"`
}

// ReceiptOf is the receipt of an answer.
func ReceiptOf(a turn.PublishAnswer) Receipt {
	r := Receipt{Delivered: a.Delivered, Dropped: a.Dropped, Reason: a.Reason, Superseded: a.Superseded, Turn: a.Turn,
		LastTurn: a.LastTurn, PrefixSkipped: a.PrefixSkipped, AlreadySaid: a.AlreadySaid}
	if a.Delivered {
		r.MessageID = MessageID(a.Message)
	}
	return r
}

// MessageID is what a host knows a publish by that was taken; n counts those of a meeting, from 1 on.
func MessageID(n int) string { return "say-" + strconv.Itoa(n) }

// Ended is the receipt for a publish to a meeting that is over.
func Ended() Receipt { return Receipt{Reason: ReasonEnded} }
