package livekit

import (
	"context"
	"fmt"

	"parley/meeting"
)

// SendChat writes a message to everyone and waits until it stands among the messages as ours, which is when the page has
// handed it to the server. The field has one line: breaks become blanks. There are no private messages.
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
	id, out := "", false
	err := c.await(ctx, func(s *state) bool {
		out = s.decision.Place == meeting.PlaceOut
		for _, have := range s.ownOrder {
			if !before[have] && s.own[have] == text {
				id = have
			}
		}
		return id != "" || out
	})
	switch {
	case id != "":
		return meeting.ChatReceipt{SentTo: meeting.Everyone, ID: id}, nil
	case err == nil && out:
		err = errNotInside
	}
	return meeting.ChatReceipt{}, &meeting.ChatError{Failure: meeting.ChatNotConfirmed, Err: err}
}

// openChat opens the chat's panel if it is folded away.
func (c *Call) openChat(ctx context.Context) error {
	f, err := c.page.Find(ctx, target("chat"))
	switch {
	case err != nil:
		return fmt.Errorf("chat: %w", err)
	case !f.OK:
		return &meeting.ChatError{Failure: meeting.ChatUnavailable, Err: errNotInside}
	case f.Attrs["aria-pressed"] == "true":
		return nil
	}
	if err := c.page.Click(ctx, target("chat")); err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	return nil
}
