package turn

import (
	"time"

	"parley/transcript"
)

// Event is something that happened, told to Engine.Step. It is one of the types of this file.
type Event interface{ turnEvent() }

// Partial is what a segment sounds like so far. Seq is the one its Final will have.
type Partial struct {
	Seq        transcript.Seq
	Start, End time.Duration
	Text       string
	Lang       string
	Speaker    *transcript.Speaker
	// Mine says of each word (transcript.Words) whether it is ours, where the teller knows it: a replay does.
	// Nil leaves it to the engine.
	Mine []bool
}

// Final is a segment that the recogniser finished, or (with a Seq that was final before) a correction of it.
type Final struct {
	transcript.Segment
	Mine []bool // as of Partial
}

// Activity says that voice was heard (On), or no more, on the mix or on somebody's own track.
// The reference policy does not use it.
type Activity struct {
	On  bool
	Who transcript.Person // zero for the mix
}

// TurnEnd is a model's probability that the speaker has finished. The reference policy does not use it.
type TurnEnd struct{ Prob float64 }

// Shown is who the page shows speaking now, ourselves left out. Nobody is an empty list.
type Shown struct{ Who []transcript.Person }

// Publish is text of the agent to be said. It is answered by exactly one PublishAnswer.
type Publish struct {
	ID   string // whoever carries it recognises the answer by it
	Text string
	// Turn is the turn that it answers, as the agent names it; 0 means the current one.
	Turn transcript.Seq
	// Stream is the name of the stream of Chunks that it concludes, if the host says so.
	Stream string
}

// Chunk is a piece of what the agent is writing. It is not yet an answer.
type Chunk struct {
	Stream string // names the stream (inference and channel, or the host's own id of the publish to come)
	Index  int    // grows within a stream; what does not grow is dropped
	Delta  string
	Turn   transcript.Seq
	// Speculative is the host's explicit word that this may be said before it is published.
	Speculative bool
}

// Complete ends a stream.
type Complete struct {
	Stream    string
	Text      string // the whole text, which repairs lost chunks; "" when it is not known
	Cancelled bool
}

// Speak is the agent's command to say a text or play a file. It is answered by one SpeakAnswer.
type Speak struct {
	ID   string
	Text string
	// File is an uploaded sound; it is played instead of Text, and nobody interrupts it by speaking.
	File string
	// Interrupt replaces what is being said; without it Speak is refused while something is.
	Interrupt bool
}

// StopSpeaking is the agent's command to fall silent and drop what waits.
type StopSpeaking struct{}

// Draft is an answer in preparation. Empty text clears it. It is answered by one DraftAnswer.
type Draft struct {
	ID    string
	Text  string
	Ready bool
	// ForTurn is the segment the draft answers, by the Seq that partials carry; 0 means what is being said now.
	ForTurn transcript.Seq
}

// Started says that a piece of an utterance became audible and how long it lasts (0 = not known).
type Started struct {
	Utterance, Piece int
	Length           time.Duration
}

// Progress says how much of a piece was played by the playback clock.
type Progress struct {
	Utterance, Piece int
	Played, Length   time.Duration
}

// Prepared says how long a piece will last, once it is synthesized.
type Prepared struct {
	Utterance, Piece int
	Length           time.Duration
}

// Ended says that a piece was played to its end.
type Ended struct{ Utterance, Piece int }

// Failed says that a piece could not be synthesized or played.
type Failed struct{ Utterance, Piece int }

// ClipEnded says that the acknowledgement clip is over (or could not be played).
type ClipEnded struct{}

// Change gives new settings.
type Change struct{ Settings Settings }

// TranscriptStopped says that no more is transcribed (the cap, a stopped recording); what was said stays.
type TranscriptStopped struct{}

// TranscriptDeleted says that the transcript was stopped and deleted: its text is forgotten here, too.
type TranscriptDeleted struct{}

// Objected says that somebody does not want to be recorded. Text is forgotten, the channel is closed, and nothing
// more is said unless the agent asks for it by Speak (if we stay at all).
type Objected struct{}

// Close ends everything. What is held is handed over, what is being said is stopped.
type Close struct{}

// Tick says nothing but that time has passed.
type Tick struct{}

func (Partial) turnEvent()           {}
func (Final) turnEvent()             {}
func (Activity) turnEvent()          {}
func (TurnEnd) turnEvent()           {}
func (Shown) turnEvent()             {}
func (Publish) turnEvent()           {}
func (Chunk) turnEvent()             {}
func (Complete) turnEvent()          {}
func (Speak) turnEvent()             {}
func (StopSpeaking) turnEvent()      {}
func (Draft) turnEvent()             {}
func (Started) turnEvent()           {}
func (Progress) turnEvent()          {}
func (Prepared) turnEvent()          {}
func (Ended) turnEvent()             {}
func (Failed) turnEvent()            {}
func (ClipEnded) turnEvent()         {}
func (Change) turnEvent()            {}
func (TranscriptStopped) turnEvent() {}
func (TranscriptDeleted) turnEvent() {}
func (Objected) turnEvent()          {}
func (Close) turnEvent()             {}
func (Tick) turnEvent()              {}
