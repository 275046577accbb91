// Package audio has the values that sound travels in: frames, their sources and sinks, gates and tees.
package audio

import (
	"context"
	"time"
)

// HearRate is the sample rate of everything that is heard, in Hz: mono, signed 16 bit.
const HearRate = 16000

// SpeakRate is the sample rate of everything that is spoken, in Hz: mono, signed 16 bit.
const SpeakRate = 24000

// Frame is a run of mono samples that follow one another.
//
// The receiver may read PCM until its next call to the source; who keeps it longer copies it.
type Frame struct {
	// Pos is the index of the first sample since the source began. Positions never go back;
	// a jump forward is a gap, and its length is exact.
	Pos int64
	// PCM holds the samples at the source's rate.
	PCM []int16
	// At is when the last sample arrived, on this process's monotonic clock.
	At time.Time
}

// End is the position right after the frame.
func (f Frame) End() int64 { return f.Pos + int64(len(f.PCM)) }

// Source gives frames. Read blocks until there is one, the context ends, or the source does
// (io.EOF when it was closed, another error when it broke). One goroutine reads at a time.
type Source interface {
	Read(ctx context.Context) (Frame, error)
}

// Sink takes frames. Write never waits for anything slower than memory: a sink with slow work
// behind it has a bounded queue and counts what it drops.
type Sink interface {
	Write(Frame) error
}

// SinkFunc is a Sink that is a function.
type SinkFunc func(Frame) error

// Write calls f.
func (f SinkFunc) Write(frame Frame) error { return f(frame) }
