package whisper

import (
	"errors"
	"fmt"
	"time"
)

// MaxSamples is the most that one decode hears: half a minute. What comes after it is left out.
const MaxSamples = 30 * SampleRate

// The usual silence behind the sound. A longer one makes the model surer that the speech is over, and costs time: on
// 241 recordings base had 2.7 % of the words wrong with 5, 7 or 15 s and 3.2 % with 3 s, tiny.en 4.9, 5.0, 4.5 and 5.7.
const (
	FinalPad   = 5 * time.Second
	PartialPad = 3 * time.Second
)

// ErrLanguage means that the model does not know the language asked for.
var ErrLanguage = errors.New("whisper: the model does not know this language")

// Request is one piece of speech to write down.
type Request struct {
	// PCM is the sound: 16 kHz mono, at most MaxSamples.
	PCM []int16
	// Lang is a language code; empty means: find out (a model that knows English only then takes English).
	Lang string
	// Pad is the silence added behind the sound; zero means FinalPad.
	Pad time.Duration
	// Prefix are tokens that are known already: those on which two partials agreed (Agreed). They are taken over
	// unchanged, so the final text is best decoded without.
	Prefix []int
	// Words asks for the time of each word.
	Words bool
}

// Result is what was heard.
type Result struct {
	// Text is empty when there was no speech. Descriptions of sounds ("[static]") are left out.
	Text string
	// Lang is the language asked for or found, also when there is no text.
	Lang string
	// LangProb is how sure the language found is, among all of them; 1 when it was asked for. In loud noise or on a
	// single word it is low: then a language known from before is the better guess.
	LangProb float64
	// Tokens are the text's tokens, with the prefix and with those of the descriptions left out of Text.
	Tokens []int
	// Words are the words of Text with their times, when they were asked for.
	Words []Word
	// NoSpeech is the model's own doubt that this was speech, 0 to 1.
	NoSpeech float64
	// LogProb is the mean log probability of the tokens after the prefix: -0.1 when clear, below -0.7 when guessed.
	LogProb float64
	// Truncated tells that the text may lack its end: the sound was too long, or the model ran in circles.
	Truncated bool
}

// Word is a word and the samples at which it begins and ends, counted from the request's first.
type Word struct {
	Text       string
	Start, End int
	Prob       float64
}

// shape gives the number of feature frames for a sound of so many samples: with the silence, even, at most 30 s.
func shape(samples int, pad time.Duration) int {
	if pad <= 0 {
		pad = FinalPad
	}
	n := samples + int(pad.Seconds()*SampleRate)
	frames := (n + Hop - 1) / Hop
	frames += frames % 2
	return min(frames, MaxSamples/Hop)
}

// prompt gives the tokens before the text, without the first one, which is always Start.
func (c Config) prompt(lang string) ([]int, error) {
	if !c.Multilingual() {
		if lang != "en" {
			return nil, fmt.Errorf("%w: %q (%s knows English only)", ErrLanguage, lang, c.Name)
		}
		return []int{c.NoTimestamps}, nil
	}
	id, ok := c.Languages[lang]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrLanguage, lang)
	}
	return []int{id, c.Transcribe, c.NoTimestamps}, nil
}
