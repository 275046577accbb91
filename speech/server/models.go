package server

import (
	"context"

	"parley/speech"
	"parley/speech/whisper"
)

// Models are what the process hears with.
type Models struct {
	// Ear gives a new ear for one stream.
	Ear func() Ear
	// TurnEnd gives the probability that a speaker has finished with the audio that ends here (16 kHz, some
	// seconds); nil means that nobody can tell.
	TurnEnd func(ctx context.Context, pcm []int16) (float64, error)
	// Small knows English and is quick; Large knows many languages. One of them may be nil: a weak machine has no
	// Large, and either stands in for the other when its files are damaged.
	Small, Large Decoder
	// Knows tells whether a language code can be asked for.
	Knows func(lang string) bool
	// Notes say what is missing and works less well without, each with its remedy.
	Notes []string
}

// Ear tells speech from silence in one stream, 512 samples at a time.
type Ear interface {
	Prob(ctx context.Context, pcm []int16) (float64, error)
	// Reset forgets what was heard: there was a gap.
	Reset()
}

// Decoder writes down speech. It is used by one goroutine.
type Decoder interface {
	Decode(ctx context.Context, r whisper.Request) (whisper.Result, error)
	// Agreed gives the tokens that two successive decodes of growing audio agree on, as a prefix for the next.
	Agreed(before, now []int) []int
}

// Voice speaks. Plan may be called from several goroutines, Say from one.
type Voice interface {
	Voices() []speech.Voice
	// Plan divides a text into clauses ready to be said; an error of KindInput says what this voice cannot do.
	Plan(ctx context.Context, r speech.SpeakRequest) ([]Clause, error)
	// Say gives the sound of one clause, at 24 kHz.
	Say(ctx context.Context, c Clause) ([]int16, error)
	Notes() []string
}

// Clause is a stretch of text that is synthesized in one go.
type Clause struct {
	Text     string // as the caller wrote it
	Phonemes string // in the voice's own symbols
	Voice    string
	Speed    float64
	// Common clauses are not anybody's words: their sound may be kept.
	Common bool
	// Pause is the silence after it, in samples.
	Pause int
}
