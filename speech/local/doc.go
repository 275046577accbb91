// Package local hears and speaks with the models on this machine, in a process of their own that many clients share.
//
// The process (parley-speech) is started by the first client that needs it, serves all clients of a run folder, and
// ends some seconds after the last one. A stream keeps the audio that no final has answered; when the process dies,
// the stream starts it again and sends that audio again, so nothing is lost and nothing comes twice.
package local
