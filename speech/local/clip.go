package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"parley/speech"
	"parley/speech/wire"
)

// aheadPieces is how many pieces are made before they are asked for: one that plays next, one in reserve.
const aheadPieces = 2

// maxText is the longest text that is taken at once, in bytes: some twelve minutes of speech.
const maxText = 10_000

// Speak starts the synthesis of a text.
func (e *Engine) Speak(ctx context.Context, r speech.SpeakRequest) (speech.Clip, error) {
	if err := checkText(r); err != nil {
		return nil, wrap("speak", speech.KindInput, err)
	}
	if !e.enter() {
		return nil, wrap("speak", speech.KindUnavailable, errClosed)
	}
	say := wire.Say{Text: r.Text, Voice: r.Voice, Lang: r.Lang, Speed: r.Speed, Credit: aheadPieces}
	c, err := e.ask(ctx, say)
	if err != nil {
		e.leave()
		return nil, wrap("speak", speech.KindUnavailable, err)
	}
	cl := &clip{c: c, pieces: make(chan speech.Piece, aheadPieces+1)}
	cl.ctx, cl.stop = context.WithCancelCause(ctx)
	cl.again = func() (*conn, error) { return e.ask(cl.ctx, say) }
	cl.detach = []func() bool{
		context.AfterFunc(cl.ctx, cl.hangUp),
		context.AfterFunc(e.ctx, func() { cl.stop(errClosed) }),
	}
	go func() {
		defer e.leave()
		cl.read()
	}()
	return cl, nil
}

func checkText(r speech.SpeakRequest) error {
	switch {
	case len(r.Text) > maxText:
		return fmt.Errorf("a text of %d bytes: at most %d are said at once; send it in parts", len(r.Text), maxText)
	case !utf8.ValidString(r.Text):
		return errors.New("the text is not valid UTF-8")
	case r.Speed != 0 && !(r.Speed >= 0.5 && r.Speed <= 2):
		return fmt.Errorf("speed %v: it lies between 0.5 and 2", r.Speed)
	}
	return nil
}

// ask makes a connection on which the process accepted say.
func (e *Engine) ask(ctx context.Context, say wire.Say) (*conn, error) {
	for {
		c, err := e.connect(ctx, "voice")
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, c.close)
		if err = c.write(wire.AppendJSON(nil, wire.TypeSay, say)); err == nil {
			_, err = c.expect(wire.TypeAccepted)
		}
		stop()
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			c.close()
			return nil, context.Cause(ctx)
		}
		c.close()
		if kindOf(err, "") != "" || errors.Is(err, wire.ErrFrame) {
			return nil, err
		}
		if err := e.obituary(ctx); err != nil {
			return nil, err
		}
	}
}

// Prepare loads the voice, so that the first Speak need not wait for it, and keeps it until the engine is closed or
// the process dies. An empty name is the default voice.
func (e *Engine) Prepare(ctx context.Context, voice string) error {
	if !e.enter() {
		return wrap("prepare", speech.KindUnavailable, errClosed)
	}
	c, err := e.ask(ctx, wire.Say{Prepare: true, Voice: voice})
	if err != nil {
		e.leave()
		return wrap("prepare", speech.KindUnavailable, err)
	}
	loaded := make(chan error, 1)
	go func() {
		defer e.leave()
		defer c.close()
		defer context.AfterFunc(e.ctx, c.close)()
		_, err := c.expect(wire.TypeSaid)
		if err == nil {
			e.keep(c)
		}
		loaded <- err
		for err == nil { // nothing more comes; this waits for the end of either side
			_, _, err = c.r.Next()
		}
	}()
	select {
	case err := <-loaded:
		return wrap("prepare", speech.KindUnavailable, err)
	case <-ctx.Done():
		c.close()
		return context.Cause(ctx)
	}
}

// keep makes c the connection that holds the voice, instead of an earlier one.
func (e *Engine) keep(c *conn) {
	e.mu.Lock()
	old := e.hold
	e.hold = c
	e.mu.Unlock()
	if old != nil {
		old.close()
	}
}

// clip is a speech.Clip. Its read goroutine owns the reading side of the connection.
type clip struct {
	again  func() (*conn, error) // asks for the same text anew
	ctx    context.Context
	stop   context.CancelCauseFunc
	detach []func() bool
	pieces chan speech.Piece

	mu  sync.Mutex
	c   *conn
	err error // valid when pieces is closed
}

var errClipClosed = errors.New("the clip was closed")

// read collects pieces until the last one.
func (cl *clip) read() {
	err := cl.collect()
	cl.mu.Lock()
	cl.err = err
	cl.mu.Unlock()
	close(cl.pieces)
	for _, f := range cl.detach {
		f()
	}
	cl.hangUp()
	cl.stop(err)
}

func (cl *clip) conn() *conn {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.c
}

func (cl *clip) hangUp() { cl.conn().close() }

// renew asks another process for the whole text.
func (cl *clip) renew() error {
	cl.hangUp()
	c, err := cl.again()
	if err != nil {
		return err
	}
	cl.mu.Lock()
	cl.c = c
	cl.mu.Unlock()
	if cl.ctx.Err() != nil { // who ended it did so to the old one
		cl.hangUp()
	}
	return nil
}

// collect passes pieces on. A process that ends before the first one costs another try: nobody has heard anything yet.
func (cl *clip) collect() error {
	heard, renewed := false, false
	for {
		typ, body, err := cl.conn().r.Next()
		switch {
		case cl.ctx.Err() != nil:
			return context.Cause(cl.ctx)
		case errors.Is(err, wire.ErrFrame):
			return wrap("speak", speech.KindInternal, err)
		case err != nil && !heard && !renewed:
			renewed = true
			if err := cl.renew(); err != nil {
				return wrap("speak", speech.KindUnavailable, err)
			}
			continue
		case err != nil:
			return wrap("speak", speech.KindNetwork, fmt.Errorf("the speech process ended in the middle of the text: %w", err))
		}
		switch typ {
		case wire.TypePiece:
			heard = true
			text, pcm, err := wire.ParsePiece(body)
			if err != nil {
				return wrap("speak", speech.KindInternal, err)
			}
			select {
			case cl.pieces <- speech.Piece{Text: text, PCM: pcm}: // the credit keeps it from filling
			case <-cl.ctx.Done():
				return context.Cause(cl.ctx)
			}
		case wire.TypeSaid:
			return io.EOF
		case wire.TypeFault:
			return wrap("speak", speech.KindInternal, faultError(body))
		}
	}
}

// Next gives the next piece.
func (cl *clip) Next(ctx context.Context) (speech.Piece, error) {
	select {
	case p, ok := <-cl.pieces:
		if !ok {
			cl.mu.Lock()
			defer cl.mu.Unlock()
			return speech.Piece{}, cl.err
		}
		// A connection that fails here fails the reader as well, which says why.
		_ = cl.conn().write(wire.Append(nil, wire.TypeMore, nil))
		return p, nil
	case <-ctx.Done():
		return speech.Piece{}, context.Cause(ctx)
	}
}

// Close gives up what was not yet synthesized.
func (cl *clip) Close() error {
	cl.stop(errClipClosed)
	return nil
}

// Voices lists the voices that are installed. It starts the process when needed.
func (e *Engine) Voices(ctx context.Context) ([]speech.Voice, error) {
	if !e.enter() {
		return nil, wrap("voices", speech.KindUnavailable, errClosed)
	}
	defer e.leave()
	c, err := e.connect(ctx, "voices")
	if err != nil {
		return nil, wrap("voices", speech.KindUnavailable, err)
	}
	defer c.close()
	st, err := c.state(ctx)
	if err != nil {
		return nil, wrap("voices", speech.KindUnavailable, err)
	}
	var out []speech.Voice
	for _, v := range st.Voices {
		out = append(out, speech.Voice{ID: v.ID, Lang: v.Lang, Note: v.Note})
	}
	return out, nil
}
