package station

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"parley/audio"
	"parley/audio/pulse"
)

// earIdle is how long the ear stays open after the last utterance.
const earIdle = 10 * time.Second

// ear hears what arrives at the microphone's source, where the browser takes it from: the proof that we speak. It
// listens only while something is said.
type ear struct {
	server *pulse.Server
	log    *slog.Logger
	wg     sync.WaitGroup

	mu      sync.Mutex
	opening bool
	capture *pulse.Capture
	idle    *time.Timer
	closed  bool
	heard   bool // some sound was measured since listen
	peak    float64
}

func newEar(s *pulse.Server, log *slog.Logger) *ear { return &ear{server: s, log: log} }

// listen begins to measure. It returns at once: the voice does not wait for its proof.
func (e *ear) listen() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard, e.peak = false, 0
	if e.idle != nil {
		e.idle.Stop()
	}
	if e.closed || e.opening || e.capture != nil {
		return
	}
	e.opening = true
	e.wg.Go(e.run)
}

// run opens the capture and measures until it is closed.
func (e *ear) run() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	c, err := e.server.Monitor(ctx, pulse.CaptureOptions{Queue: time.Second})
	cancel()
	e.mu.Lock()
	e.opening = false
	if err != nil || e.closed {
		e.mu.Unlock()
		if err != nil {
			e.log.Warn("our own voice cannot be measured", "err", err)
		} else {
			_ = c.Close()
		}
		return
	}
	e.capture = c
	e.mu.Unlock()
	for {
		f, err := c.Read(context.Background()) // Close of the capture ends it
		if err != nil {
			e.mu.Lock()
			if e.capture == c {
				e.capture = nil
			}
			e.mu.Unlock()
			return
		}
		level := audio.RMS(f.PCM)
		e.mu.Lock()
		if !e.heard || level > e.peak {
			e.heard, e.peak = true, level
		}
		e.mu.Unlock()
	}
}

// loudest is the loudest moment since listen, in dBFS; nil: nothing was measured. The ear closes when nothing is said
// for a while.
func (e *ear) loudest() *float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.idle != nil {
		e.idle.Stop()
	}
	if !e.closed {
		e.idle = time.AfterFunc(earIdle, e.rest)
	}
	if !e.heard {
		return nil
	}
	peak := e.peak
	return &peak
}

func (e *ear) rest() {
	e.mu.Lock()
	c := e.capture
	e.capture = nil
	e.mu.Unlock()
	if c != nil {
		_ = c.Close()
	}
}

// close ends it and waits for its goroutine.
func (e *ear) close() {
	e.mu.Lock()
	e.closed = true
	if e.idle != nil {
		e.idle.Stop()
	}
	e.mu.Unlock()
	e.rest()
	e.wg.Wait()
}
