// Package sentences says a text by an engine that makes one sentence at a time, the next one while one plays.
package sentences

import (
	"context"
	"errors"
	"io"

	"parley/speech"
	"parley/turn"
)

// ahead is how many sentences are made before they are asked for.
const ahead = 2

// Make gives the sound of one sentence at the speaking rate.
type Make func(ctx context.Context, sentence string) ([]int16, error)

// Speak begins with the first sentence at once. The clip ends with the text, with Close, or with the context.
func Speak(ctx context.Context, text, lang string, m Make) speech.Clip {
	c := &clip{pieces: make(chan speech.Piece, ahead), done: make(chan struct{})}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	go c.make(m, turn.Sentences(text, lang, true))
	return c
}

// clip is a text on its way. make is its one goroutine, which Close waits for.
type clip struct {
	ctx    context.Context
	stop   context.CancelCauseFunc
	pieces chan speech.Piece
	done   chan struct{}
	err    error // when done is closed
}

var errClosed = errors.New("the clip was closed")

func (c *clip) make(m Make, texts []string) {
	defer close(c.done)
	c.err = io.EOF
	for _, text := range texts {
		pcm, err := m(c.ctx, text)
		if c.ctx.Err() != nil {
			c.err = context.Cause(c.ctx)
			return
		}
		if err != nil {
			c.err = err
			return
		}
		select {
		case c.pieces <- speech.Piece{Text: text, PCM: pcm}:
		case <-c.ctx.Done():
			c.err = context.Cause(c.ctx)
			return
		}
	}
}

// Next gives the next sentence.
func (c *clip) Next(ctx context.Context) (speech.Piece, error) {
	if c.ctx.Err() != nil {
		return speech.Piece{}, context.Cause(c.ctx)
	}
	select {
	case p := <-c.pieces:
		return p, nil
	default:
	}
	select {
	case p := <-c.pieces:
		return p, nil
	case <-c.done:
		select {
		case p := <-c.pieces: // it was put there before the end
			return p, nil
		default:
		}
		return speech.Piece{}, c.err
	case <-ctx.Done():
		return speech.Piece{}, context.Cause(ctx)
	}
}

// Close gives up what was not yet synthesized.
func (c *clip) Close() error {
	c.stop(errClosed)
	<-c.done
	return nil
}
