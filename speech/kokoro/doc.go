// Package kokoro speaks English with the Kokoro model.
//
// A text is cut into clauses, each clause is made readable (numbers, abbreviations, addresses become words), words
// become phonemes (by espeak-ng, a process of its own, or by a word list), and phonemes become sound. Everything up
// to the model is plain Go and is tested without it.
package kokoro

// SampleRate of the sound.
const SampleRate = 24000
