package meeting

import (
	"context"
	"time"

	"parley/transcript"
)

// Ports are what an attendance needs of the world. Adapters make them; the machine never sees them.
//
// What an adapter has to say by itself (a fault, text that was heard) it posts as an Event with the function its
// factory was given: Fault, Heard, HeardActivity. Everything else is the return of a call.
type Ports struct {
	// Opener brings up sound, display, browser and page. Needed.
	Opener Opener
	// Gate is the one way from the sound of the meeting to recorder and transcriber. Needed.
	Gate Gate
	// Recorder writes the recording; nil: this machine cannot record (the join says so).
	Recorder Recorder
	// Hearing is the live transcript; nil: there is none.
	Hearing Hearing
	// Log keeps final segments on disk; nil: they are not kept.
	Log Log
	// Voice speaks; nil: this attendance is mute.
	Voice Voice
	// Files keep markers, evidence and the consent ledger; nil: nothing is kept (tests).
	Files Files
}

// Opener makes what stands before the join.
type Opener interface {
	// Open brings up sound server, display, browser and page and gives the platform's Call; it has not navigated yet.
	// An *EndError names a reason of the table; any other error is start-failed. When ctx ends it takes
	// back whatever it had started.
	Open(ctx context.Context) (Call, error)
	// Close takes everything down, browser before sound. It is called once, after the end, also when Open failed
	// or still runs, and returns when nothing is left running (or by ctx).
	Close(ctx context.Context) error
}

// Gate lets the sound of the meeting through, or not. It is closed at first.
//
// Both methods return at once. After Close returned no further frame passes; a frame that is being written
// at that moment counts as before.
type Gate interface {
	Open()
	Close()
}

// Recorder writes the recording. Calls may come at any time and also at once: Delete above all must work while
// Start or Stop hang, and after the encoder died.
type Recorder interface {
	// Start begins a part (the first, or the next one after a Fault) and returns once an encoder stands, so that
	// the frames which the gate lets through from now on are kept.
	Start(ctx context.Context) error
	// Stop finishes the file: parts joined, flushed, closed. Stop of a recorder that never started gives zero.
	Stop(ctx context.Context) (Recorded, error)
	// Delete gives up at once: encoders killed, all parts unlinked, buffers forgotten. It does not wait for an
	// encoder that hangs, and nothing is written after it returned.
	Delete(ctx context.Context) error
	// Recorded is how much there is so far. It never waits.
	Recorded() Recorded
}

// Armer is a Recorder that can start its encoder before it is allowed to keep anything, so that recording begins
// at once after the announcement. Arm makes no file.
type Armer interface {
	Arm(ctx context.Context) error
}

// Recorded is a recording in numbers.
type Recorded struct {
	Seconds float64
	Bytes   int64
	Parts   int
	// Gap is the time, in seconds, that no part holds: an encoder had died.
	Gap float64
	// Path is the file, once it is closed.
	Path string
	// First is when the first sample was written, on this process's clock; zero while there is none.
	First time.Time
}

// Hearing is the live transcript: it takes what passes the gate and posts Heard and HeardActivity.
type Hearing interface {
	// Start begins the stream. It may take long; sound that passes meanwhile is kept (bounded) by the adapter.
	Start(ctx context.Context) error
	// Stop ends the stream; the last words are posted before it returns.
	Stop(ctx context.Context) error
	// Forget ends the stream without another word: audio, partials and replay buffers are dropped. It returns
	// at once and nothing is posted after it.
	Forget()
}

// Metered is a Hearing that counts the sound it gave to recognisers: what a paid one costs by.
type Metered interface {
	Streamed() time.Duration
}

// Log keeps final segments, a line each, as they come.
type Log interface {
	Append(transcript.Segment) error
	// Erase removes the file and whatever is buffered for it; later Appends are refused.
	Erase() error
	Close() error
}

// Voice makes utterances. Prepare may run for the next one while one plays.
type Voice interface {
	// Prepare synthesizes (or decodes) until the first piece stands ready, and returns.
	Prepare(ctx context.Context, u Utterance) (Spoken, error)
}

// Spender is a Voice that counts the characters it gave to a service that costs.
type Spender interface {
	Spent() int64
}

// Spoken is an utterance that stands ready.
type Spoken interface {
	// Play plays it into the virtual microphone and returns when the last sample has left the sink, when
	// Stop was called (Interrupted), or with an error. started is called once, when the first sample sounds.
	Play(ctx context.Context, started func()) (Played, error)
	// Stop silences it within milliseconds: what is queued is thrown away. It returns at once, may be called
	// at any time, and makes Play return.
	Stop()
	// Duck lowers the volume, or brings it back. It returns at once.
	Duck(on bool)
	// Duration is how long it will be, as far as is known; zero: not known yet.
	Duration() time.Duration
	// Close forgets it without playing.
	Close() error
}

// Utterance is something we are to say: a text, or a file.
type Utterance struct {
	ID      string
	Text    string
	File    string // path of an audio file; Text is empty then
	Lang    string
	Voice   string
	Backend string
	Model   string
	Speed   float64
	// Spoken is the language that was heard last: a voice that speaks several, and is told none, may take it.
	Spoken string
	// Clip is a short text that is said again and again: its sound may be kept.
	Clip bool
}

// Played is what came of an utterance.
type Played struct {
	Said        string        // the text that was played, as far as the play-back clock tells
	Unsaid      string        // the rest
	Sounded     time.Duration // how long it could be heard
	Gap         time.Duration // the longest pause because synthesis fell behind
	Interrupted bool
	// Level is the loudest moment that arrived at the microphone's source while it played, in dBFS; nil: not measured.
	Level *float64
}

// Warmer is a Voice that can synthesize short texts before they are wanted, and keep them.
type Warmer interface {
	Warm(ctx context.Context, texts []string)
}

// Maker is a Spoken that tells when all of it is synthesized: Duration says then how long it is.
type Maker interface {
	Made() <-chan struct{}
}

// DialogAnswerer is a Call that can click a choice of a dialog it has shown in a SeenDialog.
type DialogAnswerer interface {
	AnswerDialog(ctx context.Context, id, choice string) error
}

// Files are the files of one attendance. Calls may come at once.
type Files interface {
	// Mark writes the deletion marker and syncs it. It comes before anything is unlinked.
	Mark(ctx context.Context) error
	// Unlink removes everything that stands beside the marker (recording, parts, transcript, evidence).
	Unlink(ctx context.Context) error
	// Keep writes a file of the evidence bundle (0600) and gives its path.
	Keep(name string, data []byte) (string, error)
	// Note appends a line to the consent ledger.
	Note(LedgerEntry) error
}

// EndError is an error that says with which reason the attendance ends. Calls and Openers return it when the door
// says why ("invalid-meeting", "sign-in-required", "captcha", …).
type EndError struct {
	Reason Reason
	// Text is what the page said, untrusted; it goes into evidence and status, never into logs.
	Text string
	Err  error
}

// Error names the reason; the page's text is left out.
func (e *EndError) Error() string {
	if e.Err == nil {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *EndError) Unwrap() error { return e.Err }
