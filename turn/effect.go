package turn

import (
	"time"

	"parley/transcript"
)

// Effect is something to be done, in the order given. It is one of the types of this file.
type Effect interface{ turnEffect() }

// Turn is what the agent hears: one or more segments of one speaker as one text.
type Turn struct {
	Seq        transcript.Seq   // of its last segment; the turn's own number, too
	Merged     []transcript.Seq // all its segments, in order
	Extends    transcript.Seq   // the turn it replaces, 0 when none; its own number when nothing was added
	Text       string
	Lang       string
	Speaker    *transcript.Speaker
	Speakers   []transcript.Speaker
	Start, End time.Duration
	Held       time.Duration // how long it waited after its last final
	Echo       bool          // most likely our own voice coming back
	Draft      DraftState
	DraftText  string // what was said of the draft
	DraftWhy   string // why it was dropped, one of the Why… constants
}

// DraftState says what became of the draft when its turn came.
type DraftState string

// The states of a draft.
const (
	DraftNone    DraftState = "none"
	DraftSpoken  DraftState = "spoken"
	DraftDropped DraftState = "dropped"
)

// Why a draft was dropped.
const (
	WhyNotReady  = "not-ready"     // it was never marked ready
	WhyOtherTurn = "other-turn"    // it was for another turn
	WhyNewWords  = "new-words"     // too much was said after it was ready
	WhyNegation  = "negation"      // a "not" or "but" came after it was ready
	WhySpeaking  = "speaking"      // something else is being said
	WhyBargeIn   = "barge-in"      // somebody interrupted us
	WhyReopened  = "turn-reopened" // the speaker went on
	WhyOff       = "off"           // drafts were switched off
)

// Deliver hands a turn to the agent.
type Deliver struct{ Turn Turn }

// DeliverPartial gives the agent a turn while it is being said.
type DeliverPartial struct {
	Seq     transcript.Seq // its final's
	Text    string         // of the whole turn so far
	Lang    string
	Speaker *transcript.Speaker
	Start   time.Duration
}

// Extended tells the agent that the speaker of a turn it was given goes on.
type Extended struct {
	Turn     transcript.Seq
	TurnText string // as it was given
	SoFar    string // what is heard of the addition
	Speaker  *transcript.Speaker
}

// Reasons why a publish, a command or a draft was not taken.
const (
	ReasonSuperseded  = "superseded_by_new_speech"
	ReasonTooLong     = "too-long"
	ReasonWaiting     = "too-much-waiting"
	ReasonEmpty       = "empty"
	ReasonClosed      = "channel-closed"
	ReasonInterrupted = "interrupted"
	ReasonBusy        = "speaking"
	ReasonOff         = "off"
	ReasonLate        = "turn-was-given"
	ReasonUnknownTurn = "unknown-turn" // it answers a turn of which nothing was heard
)

// PublishAnswer answers a Publish.
type PublishAnswer struct {
	ID        string
	Delivered bool
	Dropped   bool   // not delivered because what it answers is no longer what was said
	Reason    string // when not delivered
	Message   int    // number of the message, from 1 on, when delivered
	// Superseded is true when somebody has spoken since the last turn the agent was given.
	Superseded bool
	Turn       transcript.Seq // the turn that it answers, 0 when there was none
	LastTurn   transcript.Seq // the last turn given
	// PrefixSkipped is true when it began with the draft's sentence, which is not said again.
	PrefixSkipped bool
	// AlreadySaid is its beginning that was spoken speculatively, and is not said again.
	AlreadySaid string
}

// SpeakAnswer answers a Speak.
type SpeakAnswer struct {
	ID        string
	OK        bool
	Reason    string
	Utterance int
}

// DraftAnswer answers a Draft.
type DraftAnswer struct {
	ID     string
	OK     bool
	Reason string
	// Sentence is what would be said, "" when the draft was cleared.
	Sentence string
}

// Kind is what an utterance comes from.
type Kind string

// The kinds of utterances.
const (
	KindStream Kind = "stream" // the channel: publishes, drafts, speculation
	KindSpeak  Kind = "speak"  // the command, with a text
	KindFile   Kind = "file"   // the command, with an uploaded sound
)

// Say gives the next piece of an utterance: synthesize it (if Prepare did not) and play it after the piece
// before. The microphone stays on from the first piece to SpeechEnded.
type Say struct {
	Utterance, Piece int
	Kind             Kind
	Text             string
	File             string
}

// Unsay takes pieces back that were given but are not audible yet. One that is by now plays on.
type Unsay struct {
	Utterance int
	Pieces    []int
}

// Stop silences an utterance (0: the acknowledgement clip) at once; what is left of it is not played.
type Stop struct{ Utterance int }

// Duck lowers our voice, Restore brings it back. The reference policy never does.
type Duck struct{ Utterance int }

// Restore ends a Duck.
type Restore struct{ Utterance int }

// Prepare synthesizes a text that may be said soon.
type Prepare struct{ Text string }

// PlayClip plays an acknowledgement.
type PlayClip struct {
	Phrase int // index into the phrases
	Text   string
}

// SpeechState is how an utterance ended.
type SpeechState string

// How an utterance ends.
const (
	SpeechDone        SpeechState = "done"
	SpeechInterrupted SpeechState = "interrupted"
	SpeechFailed      SpeechState = "failed"
)

// SpeechEnded tells how an utterance ended, and how much of it was heard.
type SpeechEnded struct {
	Utterance int
	ID        string // of the Speak
	Kind      Kind
	State     SpeechState
	BargeIn   bool // somebody spoke
	Said      string
	Unsaid    string
	By        *transcript.Speaker // who interrupted, when known
	ByText    string              // with what
}

// MarkEcho says that a segment is most likely our own voice coming back.
type MarkEcho struct{ Seq transcript.Seq }

func (Deliver) turnEffect()        {}
func (DeliverPartial) turnEffect() {}
func (Extended) turnEffect()       {}
func (PublishAnswer) turnEffect()  {}
func (SpeakAnswer) turnEffect()    {}
func (DraftAnswer) turnEffect()    {}
func (Say) turnEffect()            {}
func (Unsay) turnEffect()          {}
func (Stop) turnEffect()           {}
func (Duck) turnEffect()           {}
func (Restore) turnEffect()        {}
func (Prepare) turnEffect()        {}
func (PlayClip) turnEffect()       {}
func (SpeechEnded) turnEffect()    {}
func (MarkEcho) turnEffect()       {}
