// Package whisper writes down speech with our own decoder of the Whisper models.
//
// What decides (features, tokens, the loop over tokens, the guards, word times) is plain Go and is tested without a
// model; only Load and what it returns need cgo and ONNX Runtime.
package whisper
