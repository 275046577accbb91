package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/speech"
	"parley/speech/segment"
	"parley/speech/whisper"
	"parley/speech/wire"
)

// The pace of things.
const (
	silenceDefault = 500 * time.Millisecond
	partialEvery   = 500 * time.Millisecond
	// earlyProb is the end-of-turn probability from which a finished sentence need not wait for the whole silence.
	earlyProb = 0.5
	// turnContext is what the end-of-turn model looks at.
	turnContext = 8 * 16000
	// maxBacklog is how many closed segments of a stream may wait for their text; with more, its client waits.
	maxBacklog = 4
	// stallAfter is how long a segment waits for audio that does not come.
	stallAfter = 2 * time.Second
	// fillGap is the longest gap that is heard as silence; over a longer one the stream is cut.
	fillGap = 8000
)

// errTooMany ends a stream that asks for more than one may.
var errTooMany = errors.New("too many streams at once")

// stream hears one stream. Its run goroutine owns everything but the channels.
type stream struct {
	srv     *Server
	c       *client
	o       wire.Listen
	in      chan input  // from the connection
	results chan result // from the lane and the judge
	judges  sync.WaitGroup

	ear       Ear
	m         *segment.Machine
	tongue    tongue
	ring      ring
	part      []int16 // less than a frame
	still     int     // soundless frames in a row
	clarity   clarity
	arrived   time.Time     // when the latest audio came
	order     []entry       // what must go out in order
	ended     int64         // the latest segment that was closed
	judging   bool          // a turn is being judged
	judgeNext segment.Judge // the next turn to judge, if any
	done      map[int64]whisper.Result
	failed    map[int64]error
	speech    map[int64]int64 // of drafts and finals, in samples
	partial   partial
	rest      time.Time // no partial before it
}

// input is audio, or a flush.
type input struct {
	pos   int64
	pcm   []int16
	flush *wire.Flush
}

// result is a decoded job, or a judged turn.
type result struct {
	job  *job
	res  whisper.Result
	err  error
	at   int64
	turn float64
}

// entry is a segment.Close, segment.Quiet or segment.Flushed in the order in which they happened.
type entry struct {
	effect segment.Effect
	spoke  time.Time // when the end of the speech came in
}

// partial is what is known of the open segment.
type partial struct {
	seg    int64
	shown  bool // a text was sent
	large  bool // by which model
	tokens []int
	prefix []int
}

// partialShare keeps partials from taking over a slow machine: after one, the next waits for this many times as long
// as it took.
const partialShare = 2

func newStream(srv *Server, c *client, o wire.Listen, m *Models) *stream {
	silence := silenceDefault
	if o.SilenceMS > 0 {
		silence = time.Duration(o.SilenceMS) * time.Millisecond
	}
	conf := segment.Config{Silence: samples(silence), Early: earlyProb}
	if o.Partials {
		conf.Partials = samples(partialEvery)
	}
	s := &stream{
		srv: srv, c: c, o: o, in: make(chan input, 32), results: make(chan result, 64),
		ear: m.Ear(), m: segment.New(conf, o.From), tongue: tongue{fixed: o.Lang, weak: m.Large == nil, slow: m.Small == nil},
		done: map[int64]whisper.Result{}, failed: map[int64]error{}, speech: map[int64]int64{},
	}
	s.ring.end = o.From
	return s
}

func samples(d time.Duration) int64 { return int64(d * 16000 / time.Second) }

// run hears until ctx ends or the connection fails. The connection's goroutine feeds in.
func (s *stream) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.judges.Wait()
	defer s.srv.lane.forget(s)
	defer cancel()
	// When audio stops coming in the middle of speech, that is its end: a participant was muted, or has left.
	stalled := time.NewTimer(stallAfter)
	defer stalled.Stop()
	for {
		in := s.in
		if s.backlog() >= maxBacklog {
			in = nil
		}
		var err error
		select {
		case <-stalled.C:
			if in == nil {
				stalled.Reset(stallAfter)
				continue
			}
			err = s.apply(ctx, s.m.Flush(0))
		case x := <-in:
			stalled.Reset(stallAfter)
			err = s.take(ctx, x)
		case r := <-s.results:
			err = s.answer(ctx, r)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// backlog is how many closed segments wait for their text.
func (s *stream) backlog() (n int) {
	for _, e := range s.order {
		if _, ok := e.effect.(segment.Close); ok {
			n++
		}
	}
	return n
}

// take hears what came from the client.
func (s *stream) take(ctx context.Context, x input) error {
	if x.flush != nil {
		if err := s.fill(ctx, x.flush.At); err != nil {
			return err
		}
		if err := s.wholeFrame(ctx); err != nil {
			return err
		}
		return s.apply(ctx, s.m.Flush(x.flush.ID))
	}
	s.arrived = time.Now()
	if old := s.end() - x.pos; old > 0 {
		x.pcm = x.pcm[min(old, int64(len(x.pcm))):]
		x.pos += old
	}
	if len(x.pcm) == 0 {
		return nil
	}
	if err := s.fill(ctx, x.pos); err != nil {
		return err
	}
	return s.hear(ctx, x.pcm)
}

// end is the position after everything that was taken.
func (s *stream) end() int64 { return s.m.Pos() + int64(len(s.part)) }

// fill stands for audio that never came: a little of it is silence, more is a cut.
func (s *stream) fill(ctx context.Context, to int64) error {
	gap := to - s.end()
	switch {
	case gap <= 0:
		return nil
	case gap <= fillGap:
		return s.hear(ctx, make([]int16, gap))
	}
	if err := s.wholeFrame(ctx); err != nil {
		return err
	}
	s.ear.Reset()
	s.ring.skip(to)
	return s.apply(ctx, s.m.Gap(to))
}

// wholeFrame completes the last frame with silence.
func (s *stream) wholeFrame(ctx context.Context) error {
	if len(s.part) == 0 {
		return nil
	}
	return s.hear(ctx, make([]int16, segment.Frame-len(s.part)))
}

// hear takes the samples that follow.
func (s *stream) hear(ctx context.Context, pcm []int16) error {
	s.part = append(s.part, pcm...)
	for len(s.part) >= segment.Frame {
		frame := s.part[:segment.Frame]
		s.ring.write(frame)
		prob, err := s.prob(ctx, frame)
		if err != nil {
			return &speech.Error{Kind: speech.KindInternal, Op: "voice activity", Err: err}
		}
		s.clarity.hear(frame, prob)
		if err := s.apply(ctx, s.m.Frame(frame, prob)); err != nil {
			return err
		}
		s.part = s.part[:copy(s.part, s.part[segment.Frame:])]
	}
	return nil
}

// A muted participant's track is digital silence, for hours, and a quiet one nearly so: after a second of it the ear
// need not listen until there is a sound.
const (
	muted     = 32 // frames
	soundless = 40 // samples smaller than this are 58 dB below full scale: no voice is
)

// prob is the probability that a frame is speech.
func (s *stream) prob(ctx context.Context, frame []int16) (float64, error) {
	if slices.ContainsFunc(frame, func(v int16) bool { return v >= soundless || v <= -soundless }) {
		s.still = 0 // the ear remembers silence, which is what there was
	} else if s.still++; s.still > muted {
		return 0, nil
	}
	return s.ear.Prob(ctx, frame)
}

// apply does what the machine decided. The list is the machine's: it is copied before the machine is asked again.
func (s *stream) apply(ctx context.Context, effects []segment.Effect) error {
	for _, e := range effects {
		switch e := e.(type) {
		case segment.Activity:
			if err := s.c.send(wire.TypeActivity, wire.Activity{On: e.On, At: e.At}); err != nil {
				return err
			}
		case segment.Judge:
			s.judge(ctx, e)
		case segment.Decode:
			s.decode(ctx, e)
		case segment.Cancel:
			s.srv.lane.drop(s, e.ID)
			delete(s.done, e.ID)
			delete(s.failed, e.ID)
			delete(s.speech, e.ID)
		case segment.Close:
			s.srv.lane.promote(s, e.ID)
			s.ended = e.Seg
			late := time.Duration(s.m.Pos()-e.End) * time.Second / 16000
			s.order = append(s.order, entry{effect: e, spoke: s.arrived.Add(-late)})
		case segment.Quiet, segment.Flushed:
			s.order = append(s.order, entry{effect: e})
		}
	}
	return s.settle()
}

// judge asks whether the turn has ended, beside the loop: it takes some ten milliseconds. While one is judged, only
// the newest of the next ones waits.
func (s *stream) judge(ctx context.Context, j segment.Judge) {
	m := s.srv.lane.models
	switch {
	case m.TurnEnd == nil:
		return
	case s.judging:
		s.judgeNext = j
		return
	}
	s.judging, s.judgeNext = true, segment.Judge{}
	pcm := s.ring.read(max(j.Start, j.At-turnContext), j.At)
	s.judges.Go(func() {
		s.srv.judge.Lock() // one at a time in the whole process
		turn, err := m.TurnEnd(ctx, pcm)
		s.srv.judge.Unlock()
		s.post(ctx, result{at: j.At, turn: turn, err: err})
	})
}

// judged takes the answer.
func (s *stream) judged(ctx context.Context, r result) error {
	s.judging = false
	if s.judgeNext.At != 0 {
		s.judge(ctx, s.judgeNext)
	}
	if r.err != nil {
		s.srv.log.Warn("end of turn not judged", "stream", s.o.Label, "err", r.err)
		return nil
	}
	if err := s.c.send(wire.TypeTurnEnd, wire.TurnEnd{At: r.at, Prob: r.turn}); err != nil {
		return err
	}
	return s.apply(ctx, s.m.Judged(r.at, r.turn))
}

// post hands an answer to the loop.
func (s *stream) post(ctx context.Context, r result) {
	select {
	case s.results <- r:
	case <-ctx.Done():
	}
}

// decode asks the lane for a text.
func (s *stream) decode(ctx context.Context, d segment.Decode) {
	if d.Kind == segment.Partial && time.Now().Before(s.rest) {
		s.srv.skipped.Add(1)
		return
	}
	lang, large := s.tongue.choose(d.Kind, d.Speech)
	j := &job{
		owner: s, id: d.ID, seg: d.Seg, kind: d.Kind, large: large, start: d.Start, onset: d.Onset,
		req: whisper.Request{PCM: s.ring.read(d.Start, d.End), Lang: lang, Pad: s.clarity.pad(), Words: s.o.Words},
		done: func(j *job, res whisper.Result, err error) {
			// The loop asks for few at a time, so the channel has room and the lane does not wait.
			s.post(ctx, result{job: j, res: res, err: err})
		},
	}
	if d.Kind == segment.Partial {
		s.newSegment(d.Seg, large)
		j.req.Pad, j.req.Words, j.req.Prefix = whisper.PartialPad, false, s.partial.prefix
	} else {
		s.speech[d.ID] = d.Speech
		if s.srv.lane.busy() {
			j.req.Pad = whisper.PartialPad // a third less work for nearly the same text
		}
	}
	s.srv.lane.submit(j)
}

// newSegment forgets the partials of an earlier segment, and of another model, whose tokens mean something else.
func (s *stream) newSegment(seg int64, large bool) {
	switch {
	case s.partial.seg != seg:
		s.partial = partial{seg: seg, large: large}
	case s.partial.large != large:
		s.partial.large, s.partial.tokens, s.partial.prefix = large, nil, nil
	}
}

// answer takes what a model said.
func (s *stream) answer(ctx context.Context, r result) error {
	if r.job == nil {
		return s.judged(ctx, r)
	}
	if r.job.kind == segment.Partial {
		return s.showPartial(r)
	}
	speech, wanted := s.speech[r.job.id]
	if !wanted {
		return nil // it was cancelled while it ran
	}
	if r.err != nil {
		s.failed[r.job.id] = r.err
		return s.settle()
	}
	s.done[r.job.id] = r.res
	if r.res.Text != "" {
		s.tongue.heard(r.res.Lang, speech)
	}
	if err := s.apply(ctx, s.m.Drafted(r.job.id, complete(r.res.Text))); err != nil {
		return err
	}
	if r.job.seg <= s.ended || !s.o.Partials {
		return nil // it is a final, sent or on its way
	}
	// The pause may still end without the segment: until then this is the best text there is.
	s.newSegment(r.job.seg, r.job.large)
	return s.show(r, r.res.Text)
}

// showPartial sends what the open segment sounds like so far.
func (s *stream) showPartial(r result) error {
	s.rest = time.Now().Add(partialShare * r.job.took)
	if r.err != nil || s.partial.seg != r.job.seg || r.job.seg <= s.ended {
		if r.err != nil && !errors.Is(r.err, context.Canceled) {
			s.srv.log.Warn("partial failed", "stream", s.o.Label, "err", r.err)
			s.partial.tokens, s.partial.prefix = nil, nil
		}
		return nil
	}
	if r.job.large == s.partial.large {
		dec := s.srv.lane.models.Small
		if r.job.large {
			dec = s.srv.lane.models.Large
		}
		s.partial.prefix = dec.Agreed(s.partial.tokens, r.res.Tokens)
		s.partial.tokens = r.res.Tokens
	}
	if r.res.Text == "" {
		return nil
	}
	if r.job.req.Lang == "" && s.tongue.known == "" {
		s.tongue.known = r.res.Lang // until a final knows better
	}
	return s.show(r, r.res.Text)
}

func (s *stream) show(r result, text string) error {
	if text == "" {
		return nil
	}
	s.partial.shown = true
	end := r.job.start + int64(len(r.job.req.PCM))
	return s.c.send(wire.TypePartial, wire.Partial{Start: r.job.onset, End: end, Text: text, Lang: r.res.Lang})
}

// settle sends what is complete, in order.
func (s *stream) settle() error {
	for len(s.order) > 0 {
		e := s.order[0]
		switch x := e.effect.(type) {
		case segment.Quiet:
			if err := s.c.send(wire.TypeHeard, wire.Heard{Upto: x.Upto}); err != nil {
				return err
			}
		case segment.Flushed:
			if x.ID == 0 {
				break // nobody asked: the audio had stopped
			}
			if err := s.c.send(wire.TypeFlushed, wire.Flush{ID: x.ID}); err != nil {
				return err
			}
		case segment.Close:
			res, ok := s.done[x.ID]
			err, bad := s.failed[x.ID]
			if !ok && !bad {
				return nil
			}
			delete(s.done, x.ID)
			delete(s.failed, x.ID)
			delete(s.speech, x.ID)
			if bad {
				err = s.lost(x, err)
			} else {
				err = s.final(x, res, e.spoke)
			}
			if err != nil {
				return err
			}
		}
		s.order = s.order[1:]
	}
	return nil
}

// final sends the text of a closed segment. A segment in which there was nothing to write down is silence, but for a
// client that was shown partials: it gets an empty final, which takes them back.
func (s *stream) final(c segment.Close, res whisper.Result, spoke time.Time) error {
	shown := s.partial.seg == c.Seg && s.partial.shown
	if res.Text == "" && !shown {
		return s.c.send(wire.TypeHeard, wire.Heard{Upto: c.Upto})
	}
	lag := time.Since(spoke)
	f := wire.Final{
		Start: c.Onset, End: c.End, Upto: c.Upto, Text: res.Text, Lang: res.Lang,
		NoSpeech: res.NoSpeech, LogProb: res.LogProb, LagMS: lag.Milliseconds(),
	}
	for _, w := range res.Words {
		f.Words = append(f.Words, wire.Word{
			Text: w.Text, Prob: w.Prob,
			Start: min(c.Start+int64(w.Start), c.Upto), End: min(c.Start+int64(w.End), c.Upto),
		})
	}
	if len(f.Words) > 0 {
		f.Start = min(f.Start, f.Words[0].Start)
		f.End = max(f.End, f.Words[len(f.Words)-1].End)
	}
	s.srv.noteLag(lag)
	return s.c.send(wire.TypeFinal, f)
}

// lost says that a segment could not be written down.
func (s *stream) lost(c segment.Close, err error) error {
	s.srv.log.Error("segment lost", "stream", s.o.Label, "err", err)
	kind := speech.KindInternal
	if errors.Is(err, whisper.ErrLanguage) {
		kind = speech.KindInput
	}
	text := fmt.Sprintf("%.1f s of speech could not be written down: %v", float64(c.End-c.Start)/16000, err)
	if e := s.c.send(wire.TypeFault, wire.Fault{Kind: kind, Text: text, Fatal: kind == speech.KindInput}); e != nil {
		return e
	}
	return s.c.send(wire.TypeHeard, wire.Heard{Upto: c.Upto})
}
