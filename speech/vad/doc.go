// Package vad tells speech from everything else, 32 ms at a time, with the Silero model.
package vad

// Frame is how many samples one judgement takes: 32 ms at 16 kHz.
const Frame = 512

// history is how many samples of the past the model wants before each frame.
const history = 64
