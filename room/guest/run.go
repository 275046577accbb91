package guest

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/room/wire"
)

// Script says what a guest does once it is in.
type Script struct {
	// Delay is how long it waits after its sound was connected, besides the moment that the others need to hear it.
	Delay time.Duration
	// Chat is then written, unless empty.
	Chat string
	// Play are the files that are then played, one after another.
	Play []string
	// React is what it does about what others write, besides.
	React []Reaction
	// LeaveAfter lets it leave when everything was played; otherwise it stays until the context ends.
	LeaveAfter bool
}

// settle is how long those who are in the room already need until they hear a newcomer.
const settle = 300 * time.Millisecond

// maxReactions bounds how many reactions wait: what comes beyond is not reacted to.
const maxReactions = 16

// Run joins a room, follows a script, and stays until the context ends, which makes the guest leave politely, or
// until it is out. The files are read before it joins, so that nothing of them can fail in the meeting.
func Run(ctx context.Context, o Options, s Script, emit func(Event)) error {
	clips := make([]Clip, 0, len(s.Play))
	for _, file := range s.Play {
		c, err := Load(ctx, file)
		if err != nil {
			return err
		}
		clips = append(clips, c)
	}
	if emit == nil {
		emit = func(Event) {}
	}
	react := make(chan Reaction, maxReactions)
	g, err := Join(ctx, o, func(e Event) {
		emit(e)
		if e.Kind != Chat || e.Own {
			return
		}
		for _, r := range s.React {
			if r.Match != nil && r.Match.MatchString(e.Text) {
				select {
				case react <- r:
				default:
				}
			}
		}
	})
	if err != nil {
		return err
	}
	acting, stop := context.WithCancel(ctx)
	var acts sync.WaitGroup
	acts.Go(func() {
		if act(acting, g, s, clips) && s.LeaveAfter {
			g.sayGoodbye()
		}
	})
	acts.Go(func() {
		for {
			select {
			case <-acting.Done():
				return
			case r := <-react:
				if r.Say != "" {
					_ = g.Say(r.Say) // a guest that is out says so by itself
				}
				if r.Play.Length() > 0 {
					_ = g.Play(acting, r.Play)
				}
			}
		}
	})
	err = g.Wait()
	stop()
	acts.Wait()
	if out, ok := errors.AsType[*Out](err); ok && out.Reason == wire.ReasonLost && ctx.Err() != nil {
		return nil // it was leaving anyway
	}
	return err
}

// act follows the script to its end; false when the guest is out before.
func act(ctx context.Context, g *Guest, s Script, clips []Clip) bool {
	if g.Connected(ctx) != nil {
		return false
	}
	select {
	case <-time.After(s.Delay + settle):
	case <-ctx.Done():
		return false
	case <-g.Done():
		return false
	}
	if s.Chat != "" && g.Say(s.Chat) != nil {
		return false
	}
	for _, c := range clips {
		if g.Play(ctx, c) != nil {
			return false
		}
	}
	return true
}
