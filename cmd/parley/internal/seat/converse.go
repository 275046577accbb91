package seat

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"parley/channel"
	"parley/meeting/keeper"
	"parley/meeting/wire"
	"parley/speech/settings"
	"parley/tenant"
	"parley/transcript"
)

// publishTime is how long a publish or a draft may take to be put in line.
const publishTime = 2 * time.Second

// Converse gives the conversations of all tenants.
func (s *Seat) Converse(ctx context.Context) <-chan channel.Update {
	in := s.o.Keeper.Converse(ctx)
	out := make(chan channel.Update) // the queue is the keeper's
	go func() {
		defer close(out)
		for _, ev := range s.o.Keeper.Conversations() {
			if u, ok := s.update(ev); ok && !send(ctx, out, u) {
				return
			}
		}
		for ev := range in {
			if u, ok := s.update(ev); ok && !send(ctx, out, u) {
				return
			}
		}
	}()
	return out
}

func send(ctx context.Context, out chan<- channel.Update, u channel.Update) bool {
	select {
	case out <- u:
		return true
	case <-ctx.Done():
		return false
	}
}

// update words what a keeper tells of a conversation; false for all else.
func (s *Seat) update(ev keeper.Event) (channel.Update, bool) {
	u := channel.Update{Tenant: string(ev.Tenant), Meeting: ev.Meeting, Cursor: ev.Cursor}
	switch r := ev.Report; {
	case r.Channel != nil && r.Channel.Open:
		u.Opened = &channel.Channel{ID: channel.ID(ev.Meeting), Tenant: u.Tenant, Meeting: ev.Meeting, Platform: ev.Platform,
			Label: label(ev), Speculative: r.Channel.Speculative}
	case r.Channel != nil:
		u.Closed = r.Channel.Why
	case r.Message != nil:
		var m channel.Message
		if err := json.Unmarshal(r.Message.Body, &m); err != nil {
			return u, false // of a worker of another version; its turns are in the transcript all the same
		}
		u.Message = &m
	default:
		return u, false
	}
	return u, true
}

// label is a channel's name for people.
func label(ev keeper.Event) string { return "Meeting " + ev.Meeting + " (" + ev.Platform + ")" }

// Publish says something.
func (s *Seat) Publish(ctx context.Context, t, id string, p channel.Publication) (channel.Receipt, error) {
	ans, reason, err := s.converse(ctx, t, id, wire.Command{Publish: &wire.Publish{Text: p.Text, Turn: int64(p.Turn), Stream: p.Stream}})
	if err != nil || ans.Publish == nil {
		return channel.Receipt{Reason: reason}, err
	}
	a := ans.Publish
	r := channel.Receipt{Delivered: a.Delivered, Dropped: a.Dropped, Reason: a.Reason, Superseded: a.Superseded,
		Turn: transcript.Seq(a.Turn), LastTurn: transcript.Seq(a.LastTurn), PrefixSkipped: a.PrefixSkipped, AlreadySaid: a.AlreadySaid}
	if a.Delivered {
		r.MessageID = channel.MessageID(a.Message)
	}
	return r, nil
}

// Chunk takes a piece of what an agent is writing.
func (s *Seat) Chunk(ctx context.Context, t, id string, c channel.Chunk) error {
	return s.told(s.o.Keeper.Tell(ctx, tenant.ID(t), id, wire.Command{Chunk: &wire.Chunk{
		Stream: c.Stream, Index: c.Index, Delta: c.Delta, Turn: int64(c.Turn), Speculative: c.Speculative}}))
}

// Complete takes its end.
func (s *Seat) Complete(ctx context.Context, t, id string, c channel.Completion) error {
	return s.told(s.o.Keeper.Tell(ctx, tenant.ID(t), id, wire.Command{Complete: &wire.Complete{
		Stream: c.Stream, Text: c.Text, Cancelled: c.Cancelled}}))
}

func (s *Seat) told(err error) error {
	if errors.Is(err, keeper.ErrNotFound) {
		return channel.ErrNoMeeting
	}
	return err
}

// Draft prepares an answer.
func (s *Seat) Draft(ctx context.Context, t, id string, d channel.Drafted) (channel.DraftReceipt, error) {
	ans, reason, err := s.converse(ctx, t, id, wire.Command{Draft: &wire.Draft{Text: d.Text, Ready: d.Ready, ForTurn: int64(d.ForTurn)}})
	if err != nil || ans.Draft == nil {
		return channel.DraftReceipt{Reason: reason}, err
	}
	return channel.DraftReceipt(*ans.Draft), nil
}

// converse passes a publish or a draft on; a refusal comes back as the reason for it.
func (s *Seat) converse(ctx context.Context, t, id string, c wire.Command) (wire.Answer, string, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	c.TimeoutMS = publishTime.Milliseconds()
	ans, err := s.o.Keeper.Command(ctx, tenant.ID(t), id, c)
	var w *wire.Error
	switch {
	case err == nil:
		return ans, "", nil
	case errors.Is(err, keeper.ErrNotFound):
		return ans, "", channel.ErrNoMeeting
	case errors.As(err, &w):
		return ans, refusalReason(w), nil
	}
	return ans, "", err
}

// refusalReason is a worker's refusal as the reason of a receipt.
func refusalReason(w *wire.Error) string {
	switch w.Code {
	case wire.CodeOver:
		return channel.ReasonEnded
	case wire.CodeNotYet:
		return channel.ReasonNotAttending
	case wire.CodeNotAllowed:
		return channel.ReasonNotPermitted
	case wire.CodeUnavailable:
		return channel.ReasonNoMicrophone
	}
	return string(w.Code)
}

// Prefers are the settings of a tenant that carriers follow.
func (s *Seat) Prefers(t string) channel.Preferences {
	v, err := s.speech(tenant.ID(t))
	if err != nil {
		v = settings.Resolve(nil, s.o.SpeechEnv) // the file is broken: speech_settings_get says so
	}
	return channel.Preferences{Events: channel.Events(v.Get(settings.TranscriptEvents)), Channel: v.Bool(settings.MeetingChannel)}
}

var _ channel.Meetings = (*Seat)(nil)
