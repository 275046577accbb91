package channel

import (
	"context"
	"errors"

	"parley/transcript"
	"parley/turn"
)

// ErrNoMeeting says that a tenant has no such meeting; another tenant's answers the same.
var ErrNoMeeting = errors.New("channel: there is no such meeting")

// Meetings is what carries a conversation asks of the service's meetings. Every method may be called at any time and
// at once. A publish, a chunk and a completion of one meeting are taken in the order of the calls.
type Meetings interface {
	// Converse gives the conversations of all tenants from now on, those that are open already first, until ctx ends;
	// then the channel is closed. A reader that does not keep up loses partials first; an Opened and a Closed are never
	// lost, and an Opened may come twice.
	Converse(ctx context.Context) <-chan Update
	// Publish says something. It is answered when the text is in line, not when it was said, and within 2 s. A refusal is a
	// Receipt, not an error; the only errors are ErrNoMeeting and the context's.
	Publish(ctx context.Context, tenant, meeting string, p Publication) (Receipt, error)
	// Chunk takes a piece of what an agent is writing, and Complete its end. Nothing answers them; they wait only for room
	// in the meeting's queue. What comes for a meeting that is over is dropped.
	Chunk(ctx context.Context, tenant, meeting string, c Chunk) error
	Complete(ctx context.Context, tenant, meeting string, c Completion) error
	// Draft prepares an answer, or with an empty text clears it. Refusals are in the receipt.
	Draft(ctx context.Context, tenant, meeting string, d Drafted) (DraftReceipt, error)
	// Prefers are the settings of a tenant that carriers follow.
	Prefers(tenant string) Preferences
}

// Update is one thing that happens at a conversation; one member is set beside Tenant and Meeting.
type Update struct {
	Tenant  string
	Meeting string
	// Cursor numbers the events of a meeting, this one among them; 0 for what is not remembered (partials).
	Cursor int64
	// Opened says that there is a channel now: the announcement is out.
	Opened *Channel
	// Message is for whoever hears the channel.
	Message *Message
	// Closed says why there is no channel any more: ended, objection, off.
	Closed string
}

// Publication is text of the agent to be said.
type Publication struct {
	Text string
	// Turn is the turn that it answers; 0 means the current one.
	Turn transcript.Seq
	// Stream names the stream of chunks that it concludes, where the host says so.
	Stream string
}

// Chunk is a piece of what an agent is writing: advice, no answer yet.
type Chunk struct {
	Stream string // the inference, or whatever the host tells its texts apart by
	Index  int
	Delta  string
	Turn   transcript.Seq
	// Speculative is the host's explicit word that this may be said before it is published.
	Speculative bool
}

// Completion is the end of a stream of chunks.
type Completion struct {
	Stream    string
	Text      string // the whole text, which repairs lost chunks; empty when it is not known
	Cancelled bool
}

// Drafted is an answer in preparation.
type Drafted struct {
	Text  string
	Ready bool
	// ForTurn is the segment that it answers; 0 means what is being said now.
	ForTurn transcript.Seq
}

// DraftReceipt is the answer to a draft.
type DraftReceipt struct {
	OK bool `json:"ok"`
	// Reason is why it was not taken: off, too-long, turn-was-given, channel-closed, meeting-ended, not-attending,
	// not-permitted, muted-by-host, microphone-blocked.
	Reason string `json:"reason,omitempty"`
	// Sentence is what will be said when the turn comes; empty when the draft was cleared.
	Sentence string `json:"sentence,omitempty"`
}

// Preferences are what a tenant wants of carriers.
type Preferences struct {
	// Events says when transcript events are pushed beside a channel that takes the text.
	Events Events
	// Channel is false when meetings have no channel.
	Channel bool
}

// Events is the setting transcript_events.
type Events string

// When transcript events are pushed.
const (
	EventsAuto   Events = "auto" // where no channel takes the text
	EventsAlways Events = "always"
	EventsNever  Events = "never"
)

// Why the service refuses a publish or a draft, besides the reasons of package turn.
const (
	ReasonEnded        = "meeting-ended"
	ReasonNotAttending = "not-attending"      // not in yet, or nobody was told yet who we are
	ReasonNotPermitted = "not-permitted"      // joined without the permission to speak
	ReasonHostMuted    = "muted-by-host"      // until meeting_mute {on: false} asks again
	ReasonNoMicrophone = "microphone-blocked" // the page does not let us speak
	ReasonClosed       = turn.ReasonClosed
)
