package meeting

import (
	"errors"
	"time"

	"parley/meeting/wire"
	"parley/transcript"
)

// Event is something that happened: one of the types of this file. Whoever learns of it posts it to the Loop.
type Event interface{ meetingEvent() }

// From outside.
type (
	// Begin starts the attendance.
	Begin struct{}
	// Command is something we are told to do. Every command gets exactly one Answer.
	Command struct {
		ID   string
		Body wire.Command
	}
	// Cancel withdraws a command that was not answered yet.
	Cancel struct{ ID string }
	// Shutdown asks us to leave politely: the process was told to stop, or nobody reads its reports any more.
	Shutdown struct{ Cause string }
	// Deadline is the passing of time: the loop posts it when the machine's deadline has come.
	Deadline struct{}
)

// From the page.
type (
	// Seen is what the page shows.
	Seen struct{ Event CallEvent }
	// PageGone means that the page, its tab or the browser died.
	PageGone struct{}
)

// From ports, unasked.
type (
	// Fault is something below the meeting that broke.
	Fault struct {
		Part Part
		// Fatal means that the part does not come back by itself.
		Fatal bool
		// Kind sorts faults of a part ("disk-full", "quota", "died"); it is safe to log.
		Kind string
		Err  error
	}
	// Heard is text of somebody: a final segment, or a partial (Final false) that replaces the one before.
	Heard struct {
		Segment transcript.Segment
		Final   bool
		// Lag is the time between the end of the speech and this event.
		Lag time.Duration
	}
	// HeardActivity says that somebody can be heard, or no longer.
	HeardActivity struct{ On bool }
	// HeardTurnEnd is a model's probability that the speaker has finished.
	HeardTurnEnd struct{ Prob float64 }
	// HearingBegan is when the transcript's clock began: its first sample.
	HearingBegan struct{ At time.Time }
)

// Part is a part of the machinery below a meeting.
type Part string

// The parts.
const (
	PartBrowser  Part = "browser"
	PartSound    Part = "sound"
	PartDisplay  Part = "display"
	PartRecorder Part = "recorder"
	PartSpeech   Part = "speech" // the live transcript
	PartVoice    Part = "voice"
	PartDisk     Part = "disk"
)

// What came of effects. Op names the effect that is answered.
type (
	Opened   struct{ Err error }
	Joined   struct{ Err error }
	ChatSent struct {
		Op      Op
		Receipt ChatReceipt
		Err     error
	}
	MicrophoneSet struct {
		Op     Op
		Device Device
		Err    error
	}
	HandRaised struct {
		Op  Op
		Err error
	}
	DialogAnswered struct {
		Op  Op
		Err error
	}
	CallLeft struct{ Err error }

	RecorderStarted struct {
		Op  Op
		Err error
	}
	RecorderStopped struct {
		Op       Op
		Recorded Recorded
		Err      error
	}
	// RecordingDeleted is the receipt of a deletion: the marker stands, and what stood beside it is gone.
	RecordingDeleted struct {
		Op     Op
		Marked bool
		// Was is what there had been.
		Was Recorded
		Err error
	}
	TranscriptStarted struct {
		Op  Op
		Err error
	}
	TranscriptStopped struct {
		Op  Op
		Err error
	}

	// SpeechReady means that the first piece of an utterance stands ready.
	SpeechReady struct {
		ID       string
		Duration time.Duration
		Err      error
	}
	// SpeechMade means that all of it is synthesized, and how long it will be.
	SpeechMade struct {
		ID       string
		Duration time.Duration
	}
	// SpeechStarted means that its first sample sounds.
	SpeechStarted struct{ ID string }
	// SpeechEnded means that it is over, whatever the reason.
	SpeechEnded struct {
		ID     string
		Played Played
		Err    error
	}
	// EvidenceKept names a file of the evidence bundle.
	EvidenceKept struct {
		Path string
		Err  error
	}
)

func (Begin) meetingEvent()             {}
func (Command) meetingEvent()           {}
func (Cancel) meetingEvent()            {}
func (Shutdown) meetingEvent()          {}
func (Deadline) meetingEvent()          {}
func (Seen) meetingEvent()              {}
func (PageGone) meetingEvent()          {}
func (Fault) meetingEvent()             {}
func (Heard) meetingEvent()             {}
func (HeardActivity) meetingEvent()     {}
func (HeardTurnEnd) meetingEvent()      {}
func (HearingBegan) meetingEvent()      {}
func (SpeechMade) meetingEvent()        {}
func (Opened) meetingEvent()            {}
func (Joined) meetingEvent()            {}
func (ChatSent) meetingEvent()          {}
func (MicrophoneSet) meetingEvent()     {}
func (HandRaised) meetingEvent()        {}
func (DialogAnswered) meetingEvent()    {}
func (CallLeft) meetingEvent()          {}
func (RecorderStarted) meetingEvent()   {}
func (RecorderStopped) meetingEvent()   {}
func (RecordingDeleted) meetingEvent()  {}
func (TranscriptStarted) meetingEvent() {}
func (TranscriptStopped) meetingEvent() {}
func (SpeechReady) meetingEvent()       {}
func (SpeechStarted) meetingEvent()     {}
func (SpeechEnded) meetingEvent()       {}
func (EvidenceKept) meetingEvent()      {}

// Errors of effects.
var (
	// ErrCannot means that the platform or this machine has no way to do it.
	ErrCannot = errors.New("not possible here")
	// ErrLate means that an effect did not come back in its time.
	ErrLate = errors.New("took too long")
)

// SoundError means that what was asked for cannot be played: a file is no sound, or the voice has no such name or
// language. It is the caller's to mend, not the machine's.
type SoundError struct {
	What string // our own words, for the agent; nothing of a file, its name or the text is in them
}

func (e *SoundError) Error() string { return e.What }
