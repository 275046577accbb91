package room

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/meeting"
)

// refusalTime is how long the page may take to say that it does not take a message.
const refusalTime = 300 * time.Millisecond

// SendChat writes a message to everyone and waits until it stands in the log as ours. The room knows no private messages.
func (c *Call) SendChat(ctx context.Context, text string, to meeting.Audience) (meeting.ChatReceipt, error) {
	none := meeting.ChatReceipt{}
	if to != meeting.Everyone {
		return none, &meeting.ChatError{Failure: meeting.HostUnreachable, Err: meeting.ErrCannot}
	}
	c.chatting.Lock()
	defer c.chatting.Unlock()
	if err := c.openChat(ctx); err != nil {
		return none, err
	}
	before := map[string]bool{}
	c.read(func(s *state) {
		for id := range s.own {
			before[id] = true
		}
	})
	if err := c.page.Type(ctx, target("message"), text); err != nil {
		return none, &meeting.ChatError{Failure: meeting.ChatNotSent, Err: err}
	}
	if err := c.page.Click(ctx, target("send")); err != nil {
		return none, &meeting.ChatError{Failure: meeting.ChatNotSent, Err: err}
	}
	return c.proof(ctx, before, fold(text))
}

// proof waits for a message of ours with this text that was not there before.
func (c *Call) proof(ctx context.Context, before map[string]bool, text string) (meeting.ChatReceipt, error) {
	var id string
	arrived := func(s *state) bool {
		for _, have := range s.ownOrder {
			if !before[have] && s.own[have] == text {
				id = have
				return true
			}
		}
		return false
	}
	for {
		step, done := context.WithTimeout(ctx, refusalTime)
		err := c.await(step, arrived)
		done()
		if err == nil {
			return meeting.ChatReceipt{SentTo: meeting.Everyone, ID: id}, nil
		}
		if ctx.Err() != nil {
			return meeting.ChatReceipt{}, &meeting.ChatError{Failure: meeting.ChatNotConfirmed, Err: context.Cause(ctx)}
		}
		f, err := c.page.Find(ctx, target("problem"))
		switch {
		case err != nil:
			return meeting.ChatReceipt{}, &meeting.ChatError{Failure: meeting.ChatNotConfirmed, Err: err}
		case f.OK && f.Text != "":
			return meeting.ChatReceipt{}, &meeting.ChatError{Failure: meeting.ChatNotSent, Err: errors.New("the room did not take the message")}
		case c.place() == meeting.PlaceOut:
			return meeting.ChatReceipt{}, &meeting.ChatError{Failure: meeting.ChatNotConfirmed, Err: errNotInside}
		}
	}
}

// openChat opens the chat's panel if it is folded away.
func (c *Call) openChat(ctx context.Context) error {
	f, err := c.page.Find(ctx, target("chat"))
	switch {
	case err != nil:
		return fmt.Errorf("chat: %w", err)
	case !f.OK:
		return &meeting.ChatError{Failure: meeting.ChatUnavailable, Err: errNotInside}
	case f.Attrs["aria-expanded"] == "true":
		return nil
	}
	if err := c.page.Click(ctx, target("chat")); err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	return nil
}
