// Package models brings the speech models and the library that runs them onto this machine.
//
// Everything lies below one folder, by default models/ in the data folder:
//
//	whisper/tiny.en/   encoder.onnx decoder.onnx tokens.txt whisper.json   English, small: partials
//	whisper/base/      the same four files                                 many languages: finals
//	kokoro/            kokoro.int8.onnx vocab.json voices/<id>.bin         the voice (24 kHz)
//	vad/               silero_vad.onnx                                     voice activity
//	turn/              smart_turn.onnx                                     end of turn
//	lexicon/           us_gold.json us_silver.json gb_gold.json gb_silver.json   words to phonemes
//	embedder/          embedder.int8.onnx                                  speaker embedding (optional)
//	runtime/           libonnxruntime.so                                   ONNX Runtime
//	licenses/          the licence texts the packages carry
//	cache/             packages as downloaded, until everything is installed
//	installed.json     what was verified: size, time of change, sha256
//
// Programs find files through At; nothing else spells these names.
package models
