package meeting

import (
	"time"

	"parley/meeting/wire"
	"parley/transcript"
)

// Op numbers an effect, so that what comes back can be matched.
type Op int64

// Effect is something the machine wants done. The loop performs effects in their order; those that are Immediate
// before all others of a step, and on the spot. All the others run outside the loop, each with its deadline, and
// come back as one Event each (except Tell, Answer, Note and Append, which nothing answers).
type Effect interface{ effect() }

// Immediate effects wait for nobody and return at once.
type Immediate interface {
	Effect
	immediate()
}

// At once: these jump every queue.
type (
	// OpenGate lets sound through to recorder and transcriber.
	OpenGate struct{}
	// CloseGate lets no further frame through.
	CloseGate struct{}
	// ForgetHearing ends the live transcript without another word.
	ForgetHearing struct{}
	// StopSpeech silences an utterance.
	StopSpeech struct{ ID string }
	// DuckSpeech lowers or restores the volume of an utterance.
	DuckSpeech struct {
		ID string
		On bool
	}
)

// On the page.
type (
	Open     struct{}              // → Opened
	Join     struct{ JoinRequest } // → Joined
	SendChat struct {              // → ChatSent
		Op   Op
		Text string
		To   Audience
	}
	SetMicrophone struct { // → MicrophoneSet
		Op Op
		On bool
	}
	RaiseHand struct { // → HandRaised
		Op Op
		Up bool
	}
	AnswerDialog struct { // → DialogAnswered
		Op         Op
		ID, Choice string
	}
	LeaveCall struct{} // → CallLeft
)

// On sound and text.
type (
	ArmRecorder   struct{}        // no answer: it only saves time later
	StartRecorder struct{ Op Op } // → RecorderStarted
	StopRecorder  struct{ Op Op } // → RecorderStopped
	// DeleteRecording: marker first, then recorder and files → RecordingDeleted.
	DeleteRecording struct{ Op Op }
	StartTranscript struct{ Op Op } // → TranscriptStarted
	StopTranscript  struct{ Op Op } // → TranscriptStopped
	// Append keeps a final segment on disk.
	Append        struct{ Segment transcript.Segment }
	PrepareSpeech struct{ Utterance } // → SpeechReady
	PlaySpeech    struct{ ID string } // → SpeechStarted, SpeechEnded
	// DropSpeech forgets an utterance that was prepared and will not be played.
	DropSpeech struct{ ID string }
	// WarmSpeech synthesizes short texts that are played again and again; nothing answers it.
	WarmSpeech struct{ Texts []string }
)

// To whom it concerns.
type (
	// Tell reports to the service.
	Tell struct{ Report wire.Report }
	// Answer answers a command.
	Answer struct {
		ID   string
		Body wire.Answer
	}
	// Note writes a line of the consent ledger.
	Note struct{ Entry LedgerEntry }
	// KeepPicture takes a picture of the page for the evidence bundle → EvidenceKept.
	KeepPicture struct{ Name string }
	// KeepEvidence writes the transitions with their signs → EvidenceKept.
	KeepEvidence struct{ Transitions []Transition }
)

// Transition is one step of the lifecycle, with what made us believe it.
type Transition struct {
	At     time.Time `json:"at"`
	From   State     `json:"from"`
	To     State     `json:"to"`
	Reason Reason    `json:"reason,omitempty"`
	Signs  []string  `json:"signs,omitempty"`
	// Text is what the page said, untrusted.
	Text string `json:"text,omitempty"`
}

func (OpenGate) effect()        {}
func (CloseGate) effect()       {}
func (ForgetHearing) effect()   {}
func (StopSpeech) effect()      {}
func (DuckSpeech) effect()      {}
func (Open) effect()            {}
func (Join) effect()            {}
func (SendChat) effect()        {}
func (SetMicrophone) effect()   {}
func (RaiseHand) effect()       {}
func (AnswerDialog) effect()    {}
func (LeaveCall) effect()       {}
func (ArmRecorder) effect()     {}
func (StartRecorder) effect()   {}
func (StopRecorder) effect()    {}
func (DeleteRecording) effect() {}
func (StartTranscript) effect() {}
func (StopTranscript) effect()  {}
func (Append) effect()          {}
func (PrepareSpeech) effect()   {}
func (PlaySpeech) effect()      {}
func (DropSpeech) effect()      {}
func (WarmSpeech) effect()      {}
func (Tell) effect()            {}
func (Answer) effect()          {}
func (Note) effect()            {}
func (KeepPicture) effect()     {}
func (KeepEvidence) effect()    {}

func (OpenGate) immediate()      {}
func (CloseGate) immediate()     {}
func (ForgetHearing) immediate() {}
func (StopSpeech) immediate()    {}
func (DuckSpeech) immediate()    {}
