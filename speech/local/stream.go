package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"parley/speech"
	"parley/speech/outbox"
	"parley/speech/tape"
	"parley/speech/wire"
)

// keepSamples is how much unanswered audio a stream keeps: thirty seconds, as the contract says.
const keepSamples = 30 * 16000

// sendSamples is how much goes into one frame: less than a quarter of a second, so that streams interleave.
const sendSamples = 3200

// stuckLimit is how many processes in a row may crash over the same audio before it is given up: then it is likely
// the audio that does it. Only crashes of our own processes count, for only of those we know that nobody killed them.
const stuckLimit = 3

// stream is a speech.Stream. Its run goroutine owns the connection; a reader of its own for each connection turns
// frames into events.
type stream struct {
	e    *Engine
	o    speech.StreamOptions
	ctx  context.Context
	stop context.CancelCauseFunc
	out  *outbox.Box
	wake chan struct{} // there is more to send

	mu      sync.Mutex
	pace    pacer
	tape    *tape.Tape
	flushes []*flush
	lastID  int64
	dead    error // set when the stream is over
	lost    int64 // samples dropped before they were sent, not yet reported
	told    time.Time
}

// flush is a call of Flush that waits.
type flush struct {
	id   int64
	at   int64
	sent bool
	done chan struct{}
}

func newStream(e *Engine, o speech.StreamOptions) *stream {
	s := &stream{e: e, o: o, out: outbox.New(), wake: make(chan struct{}, 1), tape: tape.New(keepSamples)}
	s.ctx, s.stop = context.WithCancelCause(e.ctx)
	return s
}

// Events gives what was heard.
func (s *stream) Events() <-chan speech.Event { return s.out.Events() }

var errStreamClosed = errors.New("the stream was closed")

// Write takes samples.
func (s *stream) Write(pos int64, pcm []int16) error {
	if pos < 0 {
		return wrap("write", speech.KindInput, fmt.Errorf("position %d", pos))
	}
	s.mu.Lock()
	if s.dead != nil {
		defer s.mu.Unlock()
		return wrap("write", speech.KindUnavailable, s.dead)
	}
	s.lost += s.tape.Write(pos, pcm)
	lost := s.lost
	if now := time.Now(); lost > 0 && now.Sub(s.told) >= lostEvery {
		s.lost, s.told = 0, now
	} else {
		lost = 0
	}
	due := s.pace.due(pcm, int(s.tape.End()-s.tape.Sent()))
	s.mu.Unlock()
	if due {
		signal(s.wake)
	}
	if lost > 0 {
		s.e.log.Warn("speech falls behind: audio dropped", "stream", s.o.Label, "ms", lost/16)
		s.out.TryPush(lostFault(speech.KindBusy, lost, "the recogniser is too slow for what it is given"))
	}
	return nil
}

// lostEvery spaces the reports of a stream that keeps losing audio.
const lostEvery = 5 * time.Second

func lostFault(kind speech.Kind, samples int64, why string) speech.Fault {
	return speech.Fault{Kind: kind, Err: fmt.Errorf("%.1f s of audio were not written down: %s", float64(samples)/16000, why)}
}

// Flush ends the segment that is being said.
func (s *stream) Flush(ctx context.Context) error {
	s.mu.Lock()
	if s.dead != nil {
		defer s.mu.Unlock()
		return wrap("flush", speech.KindUnavailable, s.dead)
	}
	s.lastID++
	f := &flush{id: s.lastID, at: s.tape.End(), done: make(chan struct{})}
	s.flushes = append(s.flushes, f)
	s.mu.Unlock()
	signal(s.wake)
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return wrap("flush", speech.KindUnavailable, context.Cause(s.ctx))
	}
}

// Close ends the stream.
func (s *stream) Close() error {
	s.end(errStreamClosed)
	return nil
}

// end marks the stream as over and forgets its audio.
func (s *stream) end(cause error) {
	s.mu.Lock()
	if s.dead == nil {
		s.dead = cause
	}
	s.tape = tape.New(keepSamples)
	s.mu.Unlock()
	s.stop(cause)
}

// connect makes a connection on which the process accepted this stream.
func (s *stream) connect(ctx context.Context) (*conn, error) {
	for {
		c, err := s.e.connect(ctx, s.o.Label)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, c.close)
		stop2 := context.AfterFunc(s.ctx, c.close)
		s.mu.Lock()
		lost := s.tape.Rewind()
		from := s.tape.Upto()
		for _, f := range s.flushes {
			f.sent = false
		}
		s.mu.Unlock()
		if lost > 0 {
			s.out.TryPush(lostFault(speech.KindInternal, lost, "the speech process died while it was far behind"))
		}
		err = c.write(wire.AppendJSON(nil, wire.TypeListen, wire.Listen{
			Label: s.o.Label, Lang: s.o.Lang, Partials: s.o.Partials, Words: s.o.Words,
			SilenceMS: int(s.o.Silence / time.Millisecond), From: from,
		}))
		if err == nil {
			_, err = c.expect(wire.TypeAccepted)
		}
		stop()
		stop2()
		if err == nil {
			return c, nil
		}
		c.close()
		switch {
		case s.ctx.Err() != nil:
			return nil, context.Cause(s.ctx)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case kindOf(err, "") != "" || errors.Is(err, wire.ErrFrame):
			return nil, err
		}
		// It ended between greeting and answer: at the end of its idle time, or while it loaded.
		if err := s.e.obituary(ctx); err != nil {
			return nil, err
		}
	}
}

// run owns the stream from its first connection to its end.
func (s *stream) run(c *conn) {
	over := make(chan struct{})
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		s.out.Deliver(s.ctx, over)
	}()
	defer func() {
		close(over)
		<-delivered
		s.end(errStreamClosed) // the run may end by a fault that the reader has only now seen
	}()
	seen := &seen{}
	stuck := 0
	for {
		before, crashes := seen.upto, s.e.crashCount()
		err := s.session(c, seen)
		c.close()
		if s.ctx.Err() != nil {
			return
		}
		if fatal(err) && kindOf(err, "") != speech.KindUnavailable {
			s.fail(err)
			return
		}
		s.e.log.Info("speech connection lost", "stream", s.o.Label, "cause", cutShort(err))
		s.out.Push(s.ctx, speech.Fault{Kind: speech.KindNetwork, Err: errors.New("the speech process ended; it is started again and hears the rest")})
		if c, err = s.reconnect(); err != nil {
			if s.ctx.Err() == nil {
				s.fail(err)
			}
			return
		}
		switch {
		case seen.upto != before:
			stuck = 0
		case s.e.crashCount() > crashes:
			stuck++
		}
		if stuck >= stuckLimit {
			stuck = 0
			s.skip()
		}
	}
}

// patience is how long a stream that worked before waits for a process that says it cannot: a program or a model that
// is just being replaced looks like one that is missing.
const patience = 2 * time.Minute

// reconnect tries until there is a connection or trying makes no sense.
func (s *stream) reconnect() (*conn, error) {
	began := time.Now()
	for {
		c, err := s.connect(s.ctx)
		if err == nil || s.ctx.Err() != nil {
			return c, err
		}
		pause := time.Second
		if fatal(err) {
			if kindOf(err, "") == speech.KindInput || time.Since(began) >= patience {
				return nil, err
			}
			pause = s.e.retry
		}
		s.e.log.Warn("speech process cannot be reached", "stream", s.o.Label, "cause", cutShort(err))
		if err := sleep(s.ctx, pause); err != nil {
			return nil, err
		}
	}
}

// fatal tells errors that trying again does not cure.
func fatal(err error) bool {
	switch kindOf(err, "") {
	case speech.KindUnavailable, speech.KindInput:
		return true
	}
	return errors.Is(err, wire.ErrFrame)
}

// cutShort keeps the log to the cause: an error of the process may be long.
func cutShort(err error) string {
	text := err.Error()
	return text[:min(len(text), 200)]
}

// fail tells the reader that the stream is over.
func (s *stream) fail(err error) {
	s.mu.Lock()
	s.dead = err
	s.tape = tape.New(keepSamples)
	s.mu.Unlock()
	s.out.Push(s.ctx, speech.Fault{Kind: kindOf(err, speech.KindInternal), Fatal: true, Err: err})
}

// skip gives up the audio that process after process died over.
func (s *stream) skip() {
	s.mu.Lock()
	lost := s.tape.Skip()
	s.mu.Unlock()
	s.e.log.Error("speech process died over the same audio again and again: skipped", "stream", s.o.Label, "ms", lost/16)
	s.out.Push(s.ctx, lostFault(speech.KindInternal, lost, "the speech process died over them several times"))
}

// session sends audio until the connection ends, and gives the reason.
func (s *stream) session(c *conn, seen *seen) error {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, c.close)()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cancel(s.read(ctx, c, seen))
	}()
	defer func() { <-ended }()
	defer c.close()
	var frames []byte
	for {
		frames = s.pending(frames[:0])
		if len(frames) == 0 {
			select {
			case <-s.wake:
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if err := c.write(frames); err != nil {
			// What the process said before it went matters more than that it went: read to the end, but not for
			// ever, for it may hang.
			if c.net.SetReadDeadline(time.Now().Add(time.Second)) != nil {
				c.close()
			}
			<-ended
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
	}
}

// pending appends the next audio, and the flushes whose audio has all been sent.
func (s *stream) pending(frames []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	pos, pcm, more := s.tape.Next(sendSamples)
	if more {
		frames = wire.AppendAudio(frames, pos, pcm)
	}
	for _, f := range s.flushes {
		if !f.sent && (!more || f.at <= s.tape.Sent()) {
			f.sent = true
			frames = wire.AppendJSON(frames, wire.TypeFlush, wire.Flush{ID: f.id, At: f.at})
		}
	}
	return frames
}

// read turns frames into events until the connection ends.
func (s *stream) read(ctx context.Context, c *conn, seen *seen) error {
	for {
		typ, body, err := c.r.Next()
		if errors.Is(err, io.EOF) {
			return errors.New("the speech process closed the connection")
		}
		if err != nil {
			return err
		}
		if err := s.handle(ctx, typ, body, seen); err != nil {
			return err
		}
	}
}

func (s *stream) handle(ctx context.Context, typ wire.Type, body []byte, seen *seen) error {
	switch typ {
	case wire.TypeFinal:
		f, err := wire.Parse[wire.Final](body)
		if err != nil {
			return err
		}
		if ev, ok := seen.final(f); ok {
			s.out.Push(ctx, ev) // ctx ends before this only when the whole stream does
		}
		s.answered(f.Upto)
	case wire.TypeHeard:
		h, err := wire.Parse[wire.Heard](body)
		if err != nil {
			return err
		}
		seen.upto = max(seen.upto, h.Upto)
		s.answered(h.Upto)
	case wire.TypePartial:
		p, err := wire.Parse[wire.Partial](body)
		if err != nil {
			return err
		}
		if ev, ok := seen.partial(p); ok {
			s.out.Push(ctx, ev)
		}
	case wire.TypeActivity:
		a, err := wire.Parse[wire.Activity](body)
		if err != nil {
			return err
		}
		if ev, ok := seen.activity(a); ok {
			s.out.Push(ctx, ev)
		}
	case wire.TypeTurnEnd:
		t, err := wire.Parse[wire.TurnEnd](body)
		if err != nil {
			return err
		}
		if ev, ok := seen.turnEnd(t); ok {
			s.out.Push(ctx, ev)
		}
	case wire.TypeFlushed:
		f, err := wire.Parse[wire.Flush](body)
		if err != nil {
			return err
		}
		s.flushed(f.ID)
	case wire.TypeFault:
		f, err := wire.Parse[wire.Fault](body)
		if err != nil {
			return err
		}
		if f.Fatal {
			return &speech.Error{Kind: f.Kind, Op: "speech process", Err: errors.New(f.Text)}
		}
		s.out.Push(ctx, speech.Fault{Kind: f.Kind, Err: errors.New(f.Text)})
	}
	return nil
}

func (s *stream) answered(upto int64) {
	s.mu.Lock()
	s.tape.Answered(upto)
	s.mu.Unlock()
}

// flushed ends the calls of Flush up to id, after their finals.
func (s *stream) flushed(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.flushes) > 0 && s.flushes[0].id <= id {
		s.out.Mark(s.flushes[0].done)
		s.flushes = s.flushes[1:]
	}
}
