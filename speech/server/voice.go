package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/speech"
	"parley/speech/wire"
)

// voice is the thread that speaks. It serves clips in turn, clause by clause, and a clip only as far ahead of its
// listener as the listener allows, so that an interruption wastes little.
type voice struct {
	o    Options
	wake chan struct{}

	mu      sync.Mutex
	state   string // idle, loading, ready, failed, missing
	err     error
	v       Voice
	load    chan struct{} // closed when loaded; nil before anybody asked
	clips   []*clip       // in turn
	next    int
	warms   []Clause // common clauses to make while nobody speaks
	clauses int64
}

// clip is a text being said. Its connection's goroutine makes it; the voice's goroutine says it.
type clip struct {
	ctx    context.Context
	c      *client
	todo   []Clause
	credit int
	done   chan error // gets one value when nothing is left to say
}

func newVoice(o Options) *voice {
	v := &voice{o: o, wake: make(chan struct{}, 1), state: "idle"}
	if o.LoadVoice == nil {
		v.state, v.err = "missing", errors.New("the voice is not installed: run make setup, or parley models fetch")
	}
	return v
}

// run loads the voice when it is needed, then speaks, until ctx ends.
func (v *voice) run(ctx context.Context) {
	for {
		v.mu.Lock()
		load := v.load
		v.mu.Unlock()
		if load != nil {
			break
		}
		select {
		case <-v.wake:
		case <-ctx.Done():
			return
		}
	}
	began := time.Now()
	loaded, err := v.o.LoadVoice(ctx)
	v.mu.Lock()
	v.v, v.err, v.state = loaded, err, "ready"
	if err != nil {
		v.state = "failed"
	}
	close(v.load)
	v.mu.Unlock()
	if err != nil {
		v.o.Log.Error("voice not loaded", "err", err)
		return
	}
	v.o.Log.Info("voice loaded", "after", time.Since(began).Round(time.Millisecond))
	for {
		if cl, c := v.pick(); cl != nil {
			v.say(cl, c)
			continue
		}
		// Common clauses are made when nobody has spoken for a while, and with a rest after each.
		var spare <-chan time.Time
		if v.waiting() {
			spare = time.After(warmRest)
		}
		select {
		case <-v.wake:
		case <-spare:
			v.warmOne(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// ready waits for the voice, and has it loaded when nobody has asked before.
func (v *voice) ready(ctx context.Context) (Voice, error) {
	v.mu.Lock()
	if v.state == "idle" {
		v.state, v.load = "loading", make(chan struct{})
		signal(v.wake)
	}
	load := v.load
	v.mu.Unlock()
	if load != nil {
		select {
		case <-load:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return nil, &speech.Error{Kind: speech.KindUnavailable, Op: "voice", Err: v.err}
	}
	return v.v, nil
}

// pick gives the next clause of the clip whose turn it is and that may go on.
func (v *voice) pick() (*clip, Clause) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.clips {
		at := (v.next + i) % len(v.clips)
		cl := v.clips[at]
		if cl.credit <= 0 || len(cl.todo) == 0 || cl.ctx.Err() != nil {
			continue
		}
		c := cl.todo[0]
		cl.todo = cl.todo[1:]
		cl.credit--
		v.next = at + 1
		return cl, c
	}
	return nil, Clause{}
}

// warmRest is how long the voice rests before each common clause.
const warmRest = 2 * time.Second

// waiting tells whether common clauses are still to be made.
func (v *voice) waiting() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.warms) > 0
}

// warmOne makes the next common clause.
func (v *voice) warmOne(ctx context.Context) {
	v.mu.Lock()
	if len(v.warms) == 0 {
		v.mu.Unlock()
		return
	}
	c := v.warms[0]
	v.warms = v.warms[1:]
	v.mu.Unlock()
	if _, err := v.sound(ctx, c); err != nil && ctx.Err() == nil {
		v.o.Log.Warn("a common clause was not made", "err", err)
	}
}

// warm queues common clauses. Another client that asks for the same makes nothing twice: their sound is known then.
func (v *voice) warm(todo []Clause) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.warms) > 0 {
		return
	}
	for _, c := range todo {
		if v.o.Sounds.get(c) == nil {
			v.warms = append(v.warms, c)
		}
	}
	signal(v.wake)
}

// say makes and sends one clause.
func (v *voice) say(cl *clip, c Clause) {
	pcm, err := v.sound(cl.ctx, c)
	if err == nil && c.Pause > 0 {
		pcm = append(pcm[:len(pcm):len(pcm)], make([]int16, c.Pause)...)
	}
	for first := true; err == nil && (first || len(pcm) > 0); first = false {
		n := min(len(pcm), wire.MaxPiece)
		text := c.Text
		if !first {
			text = ""
		}
		err = cl.c.piece(text, pcm[:n])
		pcm = pcm[n:]
	}
	v.mu.Lock()
	v.clauses++
	over := err != nil || len(cl.todo) == 0
	v.mu.Unlock()
	if over {
		cl.done <- err // buffered, and sent once: nothing is picked after the last clause or an error
		v.remove(cl)
	}
}

// sound makes the sound of a clause, or finds it.
func (v *voice) sound(ctx context.Context, c Clause) ([]int16, error) {
	if c.Common {
		if pcm := v.o.Sounds.get(c); pcm != nil {
			return pcm, nil
		}
	}
	pcm, err := v.v.Say(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Common {
		if err := v.o.Sounds.put(c, pcm); err != nil {
			v.o.Log.Warn("a common clause was not kept", "err", err)
		}
	}
	return pcm, nil
}

func (v *voice) add(cl *clip) {
	v.mu.Lock()
	v.clips = append(v.clips, cl)
	v.mu.Unlock()
	signal(v.wake)
}

func (v *voice) more(cl *clip) {
	v.mu.Lock()
	cl.credit++
	v.mu.Unlock()
	signal(v.wake)
}

func (v *voice) remove(cl *clip) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, x := range v.clips {
		if x == cl {
			v.clips = append(v.clips[:i], v.clips[i+1:]...)
			if v.next > i {
				v.next--
			}
			return
		}
	}
}

func (v *voice) describe(st *wire.State) {
	v.mu.Lock()
	defer v.mu.Unlock()
	st.Voice = wire.Load{State: v.state}
	if v.err != nil {
		st.Voice.Text = v.err.Error()
	}
	st.Done.Clauses = v.clauses
	for _, cl := range v.clips {
		st.Queued.Clauses += int64(len(cl.todo))
	}
	if v.v != nil {
		st.Notes = append(st.Notes, v.v.Notes()...)
	}
	if v.o.Voices != nil {
		for _, x := range v.o.Voices() {
			st.Voices = append(st.Voices, wire.Voice{ID: x.ID, Lang: x.Lang, Note: x.Note})
		}
	}
}

// say serves a text.
func (s *Server) say(ctx context.Context, c *client, o wire.Say) error {
	if o.Prepare {
		return s.prepare(ctx, c, o)
	}
	v, err := s.voice.ready(ctx)
	if err != nil {
		return err
	}
	todo, err := v.Plan(ctx, speech.SpeakRequest{Text: o.Text, Voice: o.Voice, Lang: o.Lang, Speed: o.Speed})
	if err != nil {
		return err
	}
	if err := c.sign(wire.TypeAccepted); err != nil {
		return err
	}
	if len(todo) == 0 {
		return c.sign(wire.TypeSaid)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cl := &clip{ctx: ctx, c: c, todo: todo, credit: max(1, min(o.Credit, 8)), done: make(chan error, 1)}
	s.voice.add(cl)
	defer s.voice.remove(cl)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer c.conn.Close()
	reader.Go(func() {
		defer cancel() // the client is gone: so is its wish
		for {
			typ, _, err := c.r.Next()
			if err != nil {
				return
			}
			if typ == wire.TypeMore {
				s.voice.more(cl)
			}
		}
	})
	select {
	case err := <-cl.done:
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			c.fault(speech.KindInternal, err.Error())
			return nil
		}
		return c.sign(wire.TypeSaid)
	case <-ctx.Done():
		return nil
	}
}

// prepare loads the voice, makes the common clauses of it while nobody speaks, and stays a client until it hangs up.
func (s *Server) prepare(ctx context.Context, c *client, o wire.Say) error {
	if err := c.sign(wire.TypeAccepted); err != nil {
		return err
	}
	v, err := s.voice.ready(ctx)
	if err != nil {
		return err
	}
	if err := c.sign(wire.TypeSaid); err != nil {
		return err
	}
	if w, ok := v.(warmer); ok {
		if todo, err := w.Common(ctx, o.Voice); err == nil {
			s.voice.warm(todo)
		} else {
			s.log.Warn("common clauses not prepared", "err", err)
		}
	}
	for {
		if _, _, err := c.r.Next(); err != nil {
			return err
		}
	}
}

// warmer is a Voice that knows clauses worth keeping.
type warmer interface {
	// Common gives them for a voice; an empty name is the default voice.
	Common(ctx context.Context, voice string) ([]Clause, error)
}

// signal leaves a token, if none is there.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
