package local

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"

	"parley/speech/wire"
)

// What the process writes when it comes up and when it ends as planned, and what a client adds to a log that an error
// has pointed to.
const (
	lineStart  = `msg="speech process"`
	lineEnd    = `msg="nobody left"`
	keepReason = "somebody was told to look here"
)

// keepLog marks the log as one that an error has pointed somebody to: then it outlives its clients.
func (e *Engine) keepLog() {
	f, err := os.OpenFile(filepath.Join(e.o.RunDir, wire.LogName), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return // there is none to look at
	}
	defer f.Close()
	slog.New(slog.NewTextHandler(f, nil)).Warn(keepReason, "client", os.Getpid())
}

// explained tells whether a log says nothing that is not known from the errors clients got: every process in it ended
// as planned or with a sentence for its client, and nobody was told to look.
func explained(log []byte) bool {
	started, ended := 0, 0
	for line := range bytes.Lines(log) {
		switch {
		case bytes.HasPrefix(line, []byte(BinaryName+": ")):
			ended++
		case !bytes.HasPrefix(line, []byte("time=")): // native code, or a crash
			return false
		case bytes.Contains(line, []byte(keepReason)):
			return false
		case bytes.Contains(line, []byte(lineStart)):
			started++
		case bytes.Contains(line, []byte(lineEnd)):
			ended++
		}
	}
	return started <= ended
}

// tidy removes the run folder if it holds nothing more than what a process that did not come up has left.
func (e *Engine) tidy() error {
	if e.o.RunDir == "" {
		return nil
	}
	return wire.Clear(e.o.RunDir, explained)
}
