package attend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"parley/meeting"
)

// Times of the chat.
const (
	openTime = 6 * time.Second // for the panel to come
	missTime = 2 * time.Second // for it to come after a click that may not have arrived
	sendTime = 1500 * time.Millisecond
)

// SendChat writes a message and waits until it stands among the messages as ours, which is the only proof that it went
// out. What is longer than the platform takes goes out in numbered parts, each proven.
func (c *Call) SendChat(ctx context.Context, text string, to meeting.Audience) (meeting.ChatReceipt, error) {
	none := meeting.ChatReceipt{}
	c.chatting.Lock()
	defer c.chatting.Unlock()
	if err := c.OpenChat(ctx); err != nil {
		return none, err
	}
	receipt := meeting.ChatReceipt{SentTo: meeting.Everyone}
	if c.m.Receiver != nil {
		var err error
		if receipt, err = c.m.Receiver(ctx, c, to); err != nil {
			return none, err
		}
	} else if to != meeting.Everyone {
		return none, &meeting.ChatError{Failure: meeting.HostUnreachable, Err: meeting.ErrCannot}
	}
	for _, part := range Split(text, c.m.ChatLength) {
		row, id, err := c.send(ctx, part)
		if err != nil {
			return none, err
		}
		receipt.ID = id
		if row.private {
			receipt.Private = true
		}
	}
	return receipt, nil
}

func (c *Call) send(ctx context.Context, text string) (ownRow, string, error) {
	fail := func(f meeting.ChatFailure, err error) (ownRow, string, error) {
		return ownRow{}, "", &meeting.ChatError{Failure: f, Err: err}
	}
	before := map[string]bool{}
	c.update(func(s *State) {
		for id := range s.own {
			before[id] = true
		}
		s.sending = append(s.sending, Fold(text))
		if len(s.sending) > ownKept {
			s.sending = s.sending[1:]
		}
	})
	_, field, err := c.Find(ctx, "message")
	if err != nil {
		return fail(meeting.ChatNotSent, err)
	}
	if err := c.Page.Type(ctx, field, text); err != nil {
		return fail(meeting.ChatNotSent, err)
	}
	if err := c.Page.Press(ctx, "Enter"); err != nil {
		return fail(meeting.ChatNotSent, err)
	}
	short, done := context.WithTimeout(ctx, sendTime)
	row, id, err := c.proof(short, before, Fold(text))
	done()
	if err == nil {
		return row, id, nil
	}
	// Enter may make a new line here. Only what still stands in the field is sent again.
	if f, _, err := c.Find(ctx, "message"); err == nil && f.OK && strings.TrimSpace(f.Value) != "" {
		if ok, err := c.Click(ctx, "send"); err != nil || !ok {
			return fail(meeting.ChatNotSent, errors.Join(err, errors.New("the message still stands in the field")))
		}
	}
	row, id, err = c.proof(ctx, before, Fold(text))
	if err != nil {
		if f, _, ferr := c.Find(context.WithoutCancel(ctx), "message"); ferr == nil && f.OK && strings.TrimSpace(f.Value) != "" {
			return fail(meeting.ChatNotSent, errors.New("the message still stands in the field"))
		}
		return fail(meeting.ChatNotConfirmed, err)
	}
	return row, id, nil
}

// proof waits for a message of ours with this text that was not there before.
func (c *Call) proof(ctx context.Context, before map[string]bool, text string) (row ownRow, id string, err error) {
	out := false
	// The last second of the caller's time is for saying how it went.
	if d, ok := ctx.Deadline(); ok && time.Until(d) > 4*time.Second {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, d.Add(-time.Second))
		defer cancel()
	}
	err = c.Until(ctx, func(s *State) bool {
		out = s.Decision.Place == meeting.PlaceOut
		for _, have := range s.ownOrder {
			if !before[have] && s.own[have].text == text {
				id, row = have, s.own[have]
			}
		}
		return id != "" || out
	})
	if id == "" && err == nil {
		err = errNotInside
	}
	return row, id, err
}

// OpenChat opens the chat's panel if it is folded away.
func (c *Call) OpenChat(ctx context.Context) error {
	c.opening.Lock() // the button opens and closes: two who press it undo each other
	defer c.opening.Unlock()
	unavailable := func(err error) error {
		return &meeting.ChatError{Failure: meeting.ChatUnavailable, Err: err}
	}
	if p := c.Place(); p == meeting.PlaceOut || p == meeting.PlaceLobby {
		return unavailable(errNotInside)
	}
	var missed error // a click that nothing shows to have arrived
	for try, arrived := 0, 0; try < 3 && arrived < 2; try++ {
		f, _, err := c.Find(ctx, "message")
		if err != nil {
			return fmt.Errorf("chat: %w", err)
		}
		if f.OK && f.Enabled {
			return nil
		}
		off := false
		c.Look(func(s *State) { off = s.Shown.Chat.Off })
		if f.OK || off {
			return unavailable(errors.New("the chat takes no messages"))
		}
		if err := c.Nudge(ctx); err != nil {
			return fmt.Errorf("chat: %w", err)
		}
		b, t, err := c.Await(ctx, "chat", 2*time.Second)
		if err != nil {
			return fmt.Errorf("chat: %w", err)
		}
		if !b.OK || !b.Enabled {
			return unavailable(errors.New("the page has no chat"))
		}
		wait := openTime
		if missed = c.Page.Click(ctx, t); missed != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("chat: %w", missed)
			}
			wait = missTime // a toolbar may have gone from under the pointer; or the click did arrive
		} else {
			arrived++
		}
		if f, _, err := c.Await(ctx, "message", wait); err != nil { // pressed again too soon it would close
			return fmt.Errorf("chat: %w", err)
		} else if f.OK && f.Enabled {
			return nil
		}
	}
	return unavailable(errors.Join(errors.New("the chat does not open"), missed))
}

// Split cuts a text into numbered parts of at most n letters, at sentences or words. One part bears no number.
func Split(text string, n int) []string {
	if n <= 0 || utf8.RuneCountInString(text) <= n {
		return []string{text}
	}
	const mark = 10 // room for "(12/34) "
	var bare []string
	rest := []rune(strings.TrimSpace(text))
	for len(rest) > n-mark {
		cut := cutAt(rest, n-mark)
		bare = append(bare, strings.TrimSpace(string(rest[:cut])))
		rest = []rune(strings.TrimSpace(string(rest[cut:])))
	}
	if len(rest) > 0 {
		bare = append(bare, string(rest))
	}
	for i := range bare {
		bare[i] = fmt.Sprintf("(%d/%d) %s", i+1, len(bare), bare[i])
	}
	return bare
}

// cutAt is where to cut within the first n letters: after a line, a sentence, a word, or in the middle of one.
func cutAt(r []rune, n int) int {
	for _, ends := range []string{"\n", ".!?", " "} {
		for i := n - 1; i > n/3; i-- {
			if strings.ContainsRune(ends, r[i]) && (ends != ".!?" || i+1 < len(r) && r[i+1] == ' ') {
				return i + 1
			}
		}
	}
	return n
}

// Aside does something in the place of the chat, which cannot be written to meanwhile. Nothing is done while somebody
// writes.
func (c *Call) Aside(f func()) {
	if c.chatting.TryLock() {
		defer c.chatting.Unlock()
		f()
	}
}

// LookUp opens the list of people, where the page counts more of them than it names, and the chat again after it: not
// every page has room for both. Messages that come meanwhile stand in the chat when it is back.
func (c *Call) LookUp(ctx context.Context) {
	if time.Since(c.lookedUp) < lookUpEvery {
		return
	}
	c.lookedUp = time.Now()
	if err := c.Nudge(ctx); err != nil || !c.Try(ctx, "people-open") {
		return
	}
	step, done := context.WithTimeout(ctx, 2*time.Second)
	_ = c.Until(step, func(s *State) bool { return s.Shown.Whole }) // a list that does not come is not there to be read
	done()
	if err := c.OpenChat(ctx); err != nil {
		c.Log.Debug("the chat is not open", "error", err)
	}
}

// lookUpEvery bounds how often the list of people is looked up.
const lookUpEvery = 6 * time.Second
