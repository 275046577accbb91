// Package speech says what a recogniser and a voice have to do, whoever makes them.
package speech

import (
	"context"
	"errors"
	"io"
	"time"
)

// Transcriber makes streams. It is safe for concurrent use.
type Transcriber interface {
	// Open starts a stream. It returns once the engine accepted it, or an error of a Kind.
	Open(ctx context.Context, o StreamOptions) (Stream, error)
}

// StreamOptions are the wishes for one stream; the zero value is a stream of unknown language with partials off.
type StreamOptions struct {
	// Label tells streams apart in the engine's own logs: a meeting id with an optional track, never a name.
	Label string
	// Lang is a language code ("en"); empty means: detect.
	Lang string
	// Partials asks for text while somebody speaks.
	Partials bool
	// Silence ends a segment after this pause at the latest; zero means 500 ms. Between 200 ms and 3 s. An engine that
	// takes the sentence for finished may end it after 250 ms, and a long segment is glad of any pause.
	Silence time.Duration
	// Words asks for a time for each word.
	Words bool
}

// Stream is one stretch of audio being written down: 16 kHz mono.
//
// Write and Events may be used from different goroutines; Write itself from one at a time.
type Stream interface {
	// Write takes samples; pos is the index of the first one since the stream's time zero. Samples already
	// written are ignored, a jump forward counts as silence. It copies pcm, and it never blocks on the engine:
	// the stream keeps what was not yet answered by a final (at most 30 s; older audio is dropped and reported).
	Write(pos int64, pcm []int16) error
	// Events is closed after the last event of a closed stream. The reader must keep up: partials are dropped
	// first when it does not, finals never are.
	Events() <-chan Event
	// Flush ends the segment that is being said and returns when its final was delivered, or with ctx.
	Flush(ctx context.Context) error
	// Close ends the stream without waiting for more text. Text and audio kept for it are forgotten.
	Close() error
}

// Event is one of Partial, Final, Activity, TurnEnd, Fault.
type Event interface{ event() }

// Partial is what the current segment sounds like so far.
type Partial struct {
	Start, End int64 // samples
	Text       string
	Lang       string
}

// Final is a segment that will not change. An empty Text takes back the partials of a segment in which, after all,
// nobody spoke.
type Final struct {
	Start, End int64 // samples
	Text       string
	Lang       string
	Words      []Word
	// NoSpeech is the engine's own doubt that this was speech, 0 to 1; negative means unknown.
	NoSpeech float64
	// LogProb is the mean log probability per token; zero means unknown.
	LogProb float64
	// Lag is the wall time between the end of the speech and this event, as the engine saw it.
	Lag time.Duration
}

// Activity says that somebody began (On) or stopped speaking at a sample.
type Activity struct {
	On bool
	At int64
}

// TurnEnd is the probability that the speaker has finished, judged at a sample.
type TurnEnd struct {
	At   int64
	Prob float64
}

// Fault is something that went wrong with the stream. With Fatal the stream is over.
type Fault struct {
	Kind  Kind
	Fatal bool
	Err   error
}

func (Partial) event()  {}
func (Final) event()    {}
func (Activity) event() {}
func (TurnEnd) event()  {}
func (Fault) event()    {}

// Word is a word and where it lies, in samples.
type Word struct {
	Text       string
	Start, End int64
	Prob       float64
}

// Synthesizer turns text into sound. It is safe for concurrent use.
type Synthesizer interface {
	// Speak starts the synthesis of one piece of text. The clip ends early when ctx does.
	Speak(ctx context.Context, r SpeakRequest) (Clip, error)
	// Voices lists what SpeakRequest.Voice may name.
	Voices(ctx context.Context) ([]Voice, error)
}

// SpeakRequest is a text and how to say it; the zero Voice, Lang and Speed are the engine's defaults.
type SpeakRequest struct {
	Text  string
	Voice string
	Lang  string
	Speed float64
	Model string
}

// Clip is speech on its way: 24 kHz mono, in pieces as they are ready.
type Clip interface {
	// Next gives the next piece; io.EOF after the last one. Other errors are an *Error, or say why ctx or the clip ended.
	Next(ctx context.Context) (Piece, error)
	// Close gives up what was not yet synthesized.
	Close() error
}

// Piece is a stretch of speech and the text it says.
type Piece struct {
	Text string
	PCM  []int16 // 24 kHz
}

// Voice is a voice that can be asked for.
type Voice struct {
	ID   string
	Lang string
	Note string
}

// Kind sorts what can go wrong by what the caller can do about it.
type Kind string

// The kinds of errors.
const (
	KindUnavailable Kind = "unavailable" // not installed, not running, or it died: the text says what to do
	KindBusy        Kind = "busy"        // over its bounds now: try later or slower
	KindAuth        Kind = "auth"        // the key was refused
	KindQuota       Kind = "quota"       // paid-for time is used up
	KindInput       Kind = "input"       // this request cannot work as it is
	KindNetwork     Kind = "network"     // the connection failed; the stream tries again by itself
	KindInternal    Kind = "internal"    // a defect of the engine
)

// Error is an error of a Kind.
type Error struct {
	Kind Kind
	Op   string
	Err  error
}

// Error says what failed.
func (e *Error) Error() string { return "speech: " + e.Op + ": " + e.Err.Error() }

// Unwrap gives the cause, unless that is io.EOF: the end of a connection is not the end of what came over it, for which
// io.EOF stands.
func (e *Error) Unwrap() error {
	if errors.Is(e.Err, io.EOF) {
		return nil
	}
	return e.Err
}

// KindOf is the kind of an error; an error without one is internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}
