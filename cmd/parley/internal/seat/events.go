package seat

import (
	"context"
	"encoding/json"
	"time"

	"parley/channel"
	"parley/meeting/keeper"
	"parley/meeting/wire"
	"parley/tool"
	"parley/transcript"
)

// Watch gives what happens at all meetings from now on.
func (s *Seat) Watch(ctx context.Context) <-chan tool.Event {
	in := s.o.Keeper.Watch(ctx)
	out := make(chan tool.Event) // the queue is the keeper's
	go func() {
		defer close(out)
		for ev := range in {
			e, ok := event(ev)
			if !ok {
				continue
			}
			select {
			case out <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// event words what a keeper tells; false for what is no event.
func event(ev keeper.Event) (tool.Event, bool) {
	r := ev.Report
	at := time.UnixMilli(r.At)
	e := tool.Event{Tenant: ev.Tenant, Meeting: ev.Meeting, Platform: ev.Platform, Seq: ev.Cursor, At: at, Kind: tool.EventKind(r.Name())}
	switch {
	case r.State != nil:
		e.State = tool.State(r.State.State)
	case r.Question != nil:
		e.Question = question(r.Question, at)
		if r.Question.Closed != "" {
			e.Summary = "question " + r.Question.ID + " is closed: " + r.Question.Closed
		}
	case r.Chat != nil:
		e.Chat = chat(*r.Chat, at)
	case r.OptOut != nil:
		o := r.OptOut
		e.Optout = &tool.Optout{By: o.By, Sender: o.Sender, Lang: o.Lang, Leaving: o.Leaving, Deleted: o.Deleted, Seconds: o.Seconds}
	case r.Announce != nil:
		e.Announce = announced(r.Announce)
	case r.People != nil:
		e.People = &tool.People{Count: r.People.Count, People: people(r.People.People)}
	case r.Transcript != nil:
		l := line(r.Transcript.Segment, r.Transcript.Final)
		e.Line = &l
	case r.Message != nil:
		var m channel.Message
		if json.Unmarshal(r.Message.Body, &m) == nil { // of a worker of another version; its segments are events all the same
			e.Turn = tool.TurnOf(m)
		}
		if e.Turn == nil {
			return tool.Event{}, false // what else is told in a channel has events of its own
		}
		e.Kind = tool.EventTurn
	case r.TranscriptStopped != nil:
		e.Fault = &tool.Fault{Part: "transcript", Kind: r.TranscriptStopped.Kind, Reason: r.TranscriptStopped.Reason}
	case r.TurnExtended != nil:
		x := r.TurnExtended
		e.Extended = &tool.Extended{TurnSeq: x.TurnSeq, TurnText: x.TurnText, Text: x.SoFar, Speaker: nameOf(x.Speaker)}
	case r.Interrupted != nil:
		e.Speech = speechOf(r.Interrupted)
	case r.Speech != nil:
		e.Speech = speechOf(r.Speech)
	case r.MicOpen != nil:
		m := r.MicOpen
		e.Speech = &tool.Speech{MicOpen: !m.Closed, GaveUp: m.GaveUp, MuteError: m.Error}
	case r.Fault != nil:
		e.Fault = &tool.Fault{Part: part(r.Fault.Part), Kind: r.Fault.Kind, Action: r.Fault.Action}
	case r.Rejoined != nil:
		e.Fault = &tool.Fault{Part: "network", Action: "restarted", GapS: float64(r.Rejoined.GapMS) / 1000}
	case r.Ended != nil:
		e.End = ended(r.Ended)
	default:
		return tool.Event{}, false
	}
	return e, true
}

// part is a part's name as the tools say it.
func part(p string) string {
	switch p {
	case "speech":
		return "transcript"
	case "display":
		return "browser"
	}
	return p
}

func ended(r *wire.Ended) *tool.End {
	e := &tool.End{Reason: r.Reason, ReasonText: sentence(r.What, r.Try), DurationS: r.DurationS, Deleted: r.Deleted}
	if r.Recording != nil {
		e.Bytes, e.Seconds, e.Path = r.Recording.Bytes, r.Recording.Seconds, r.Recording.Path
		e.Hint = "call recording_get {meeting_id}"
	}
	return e
}

func speechOf(r *wire.SpeechResult) *tool.Speech {
	state := r.State
	if state == "started" {
		state = "playing"
	}
	return &tool.Speech{
		Utterance: r.ID, Kind: r.Kind, State: state, DurationS: r.DurationS, CutBy: r.CutBy, BargeIn: r.BargeIn, CutAfter: int(r.CutAfterMS),
		GapMS: int(r.GapMS), Said: r.Said, Unsaid: r.Unsaid, By: nameOf(r.By), Why: r.Why, MuteError: r.MuteError, MicOpen: r.MicOpen, Proof: (*tool.Proof)(r.Proof),
	}
}

func nameOf(s *transcript.Speaker) string {
	if s == nil {
		return ""
	}
	return s.Name
}

func chat(c wire.Chat, at time.Time) *tool.ChatMessage {
	return &tool.ChatMessage{Seq: c.N, At: at, Sender: c.Sender, Text: c.Text, Own: c.Own, Private: c.Private}
}

func line(s transcript.Segment, final bool) tool.Line {
	l := tool.Line{
		Seq: int64(s.Seq), Rev: s.Rev, Start: s.Start, End: s.End, Text: s.Text, Lang: s.Lang, Final: final, Echo: s.Echo, Unfinished: s.Unfinished,
	}
	if s.Speaker != nil {
		sp := tool.Speaker(*s.Speaker)
		l.Speaker = &sp
	}
	for _, sp := range s.Speakers {
		l.Speakers = append(l.Speakers, tool.Speaker(sp))
	}
	return l
}
