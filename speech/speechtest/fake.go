package speechtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"parley/speech"
	"parley/speech/outbox"
	"parley/speech/segment"
	"parley/speech/server"
	"parley/speech/whisper"
)

// Fake is an engine in memory that hears the tone language and hums: it answers inside Write, so that a test knows
// when everything was heard. It may be used inside a synctest bubble.
type Fake struct {
	mu      sync.Mutex
	err     error
	said    []speech.SpeakRequest
	streams map[*fakeStream]bool
}

// NewFake makes one.
func NewFake() *Fake { return &Fake{streams: map[*fakeStream]bool{}} }

// Refuse makes Open and Speak fail with err from now on; nil ends that.
func (f *Fake) Refuse(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// Break gives every open stream a fault.
func (f *Fake) Break(ft speech.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.streams {
		s.fault(ft)
	}
}

// Said lists what was to be spoken so far.
func (f *Fake) Said() []speech.SpeakRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]speech.SpeakRequest(nil), f.said...)
}

// Open starts a stream.
func (f *Fake) Open(ctx context.Context, o speech.StreamOptions) (speech.Stream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case f.err != nil:
		return nil, f.err
	case o.Silence != 0 && (o.Silence < 200*time.Millisecond || o.Silence > 3*time.Second):
		return nil, &speech.Error{Kind: speech.KindInput, Op: "open", Err: fmt.Errorf("silence of %v", o.Silence)}
	case o.Lang != "" && !Models().Knows(o.Lang):
		return nil, &speech.Error{Kind: speech.KindInput, Op: "open", Err: fmt.Errorf("language %q", o.Lang)}
	}
	silence := o.Silence
	if silence == 0 {
		silence = 500 * time.Millisecond
	}
	c := segment.Config{Silence: int64(silence * rate / time.Second)}
	if o.Partials {
		c.Partials = rate / 2
	}
	s := &fakeStream{f: f, o: o, m: segment.New(c, 0), out: outbox.New(), results: map[int64]whisper.Result{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	f.streams[s] = true
	s.over = make(chan struct{})
	go s.out.Deliver(s.ctx, s.over)
	return s, nil
}

// fakeStream does everything in Write.
type fakeStream struct {
	f    *Fake
	o    speech.StreamOptions
	ctx  context.Context
	stop context.CancelFunc
	over chan struct{}
	out  *outbox.Box

	mu      sync.Mutex
	m       *segment.Machine
	pcm     []int16 // from base on
	base    int64
	results map[int64]whisper.Result
	done    bool
}

func (s *fakeStream) Events() <-chan speech.Event { return s.out.Events() }

func (s *fakeStream) Write(pos int64, pcm []int16) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.done:
		return errFakeClosed("write")
	case pos < 0:
		return &speech.Error{Kind: speech.KindInput, Op: "write", Err: fmt.Errorf("position %d", pos)}
	}
	end := s.base + int64(len(s.pcm))
	if old := end - pos; old > 0 {
		pcm, pos = pcm[min(old, int64(len(pcm))):], end
	}
	switch missing := pos - end; {
	case len(pcm) == 0:
		return nil
	case missing > rate:
		s.apply(s.m.Gap(pos))
		s.base, s.pcm = pos, nil
	case missing > 0:
		s.pcm = append(s.pcm, make([]int16, missing)...)
	}
	s.pcm = append(s.pcm, pcm...)
	for s.m.Pos()+segment.Frame <= s.base+int64(len(s.pcm)) {
		frame := s.pcm[s.m.Pos()-s.base:][:segment.Frame]
		prob := 0.01
		if Loud(frame) {
			prob = 0.99
		}
		s.apply(s.m.Frame(frame, prob))
	}
	if keep := 30 * rate; len(s.pcm) > 2*keep {
		s.base += int64(len(s.pcm) - keep)
		s.pcm = append([]int16(nil), s.pcm[len(s.pcm)-keep:]...)
	}
	return nil
}

func errFakeClosed(op string) error {
	return &speech.Error{Kind: speech.KindUnavailable, Op: op, Err: errors.New("the stream was closed")}
}

// apply answers what the machine asks at once.
func (s *fakeStream) apply(effects []segment.Effect) {
	for _, e := range append([]segment.Effect(nil), effects...) {
		switch e := e.(type) {
		case segment.Activity:
			s.out.Push(s.ctx, speech.Activity{On: e.On, At: e.At})
		case segment.Judge:
			s.out.Push(s.ctx, speech.TurnEnd{At: e.At, Prob: 0.9})
		case segment.Decode:
			from, to := max(e.Start-s.base, 0), min(e.End-s.base, int64(len(s.pcm)))
			res, err := Decoder{}.Decode(s.ctx, whisper.Request{PCM: s.pcm[from:to], Lang: s.o.Lang, Words: s.o.Words})
			if err != nil {
				continue
			}
			s.results[e.ID] = res
			if e.Kind == segment.Partial {
				delete(s.results, e.ID)
				if res.Text != "" {
					s.out.Push(s.ctx, speech.Partial{Start: e.Start, End: e.End, Text: res.Text, Lang: res.Lang})
				}
			}
		case segment.Cancel:
			delete(s.results, e.ID)
		case segment.Close:
			res := s.results[e.ID]
			delete(s.results, e.ID)
			if res.Text == "" {
				continue
			}
			f := speech.Final{Start: e.Onset, End: e.End, Text: res.Text, Lang: res.Lang, NoSpeech: res.NoSpeech}
			for _, w := range res.Words {
				f.Words = append(f.Words, speech.Word{
					Text: w.Text, Prob: w.Prob, Start: max(e.Start+int64(w.Start), f.Start), End: min(e.Start+int64(w.End), f.End),
				})
			}
			s.out.Push(s.ctx, f)
		}
	}
}

func (s *fakeStream) Flush(ctx context.Context) error {
	s.mu.Lock()
	if s.done {
		s.mu.Unlock()
		return errFakeClosed("flush")
	}
	s.apply(s.m.Flush(1))
	done := make(chan struct{})
	s.out.Mark(done)
	s.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return errFakeClosed("flush")
	}
}

func (s *fakeStream) Close() error {
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	s.stop()
	s.f.mu.Lock()
	delete(s.f.streams, s)
	s.f.mu.Unlock()
	return nil
}

func (s *fakeStream) fault(f speech.Fault) {
	s.out.Push(s.ctx, f)
	if !f.Fatal {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.done = true
		close(s.over)
	}
}

// Voices lists one voice.
func (f *Fake) Voices(context.Context) ([]speech.Voice, error) { return Voice{}.Voices(), nil }

// Speak hums a second for each clause.
func (f *Fake) Speak(ctx context.Context, r speech.SpeakRequest) (speech.Clip, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	bad := func(err error) (speech.Clip, error) {
		return nil, &speech.Error{Kind: speech.KindInput, Op: "speak", Err: err}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case f.err != nil:
		return nil, f.err
	case len(r.Text) > 10_000:
		return bad(errors.New("the text is too long"))
	case !utf8.ValidString(r.Text):
		return bad(errors.New("the text is not valid UTF-8"))
	case r.Speed != 0 && (r.Speed < 0.5 || r.Speed > 2):
		return bad(fmt.Errorf("speed %v", r.Speed))
	}
	todo, err := Voice{}.Plan(ctx, r)
	if err != nil {
		return nil, err
	}
	f.said = append(f.said, r)
	c := &fakeClip{todo: todo}
	c.ctx, c.stop = context.WithCancel(ctx)
	return c, nil
}

type fakeClip struct {
	ctx  context.Context
	stop context.CancelFunc
	todo []server.Clause
}

func (c *fakeClip) Next(ctx context.Context) (speech.Piece, error) {
	switch {
	case c.ctx.Err() != nil:
		return speech.Piece{}, c.ctx.Err()
	case ctx.Err() != nil:
		return speech.Piece{}, ctx.Err()
	case len(c.todo) == 0:
		return speech.Piece{}, io.EOF
	}
	part := c.todo[0]
	c.todo = c.todo[1:]
	pcm, err := Voice{}.Say(ctx, part)
	return speech.Piece{Text: part.Text, PCM: pcm}, err
}

func (c *fakeClip) Close() error {
	c.stop()
	return nil
}
