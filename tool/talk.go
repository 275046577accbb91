package tool

import (
	"context"
	"errors"
	"fmt"

	"parley/channel"
	"parley/tenant"
	"parley/transcript"
	"parley/turn"
)

// DraftArgs prepare an answer.
type DraftArgs struct {
	MeetingArgs
	Text    string `json:"text,omitempty" arg:"maxlen=2000" doc:"What you will most likely say; its first sentence is made ready. Empty clears the draft."`
	Ready   bool   `json:"ready,omitempty" doc:"It may be said as soon as the turn ends, without asking again. Without it the draft only waits."`
	ForTurn int64  `json:"for_turn_seq,omitempty" arg:"min=0" doc:"The segment that it answers, as partials number it. Default: what is being said now."`
}

// Drafted is what became of a draft.
type Drafted struct {
	Meeting  string `json:"meeting_id" doc:"The meeting's id."`
	OK       bool   `json:"ok" doc:"It was taken."`
	Reason   string `json:"reason,omitempty" doc:"Why not: off, too-long, turn-was-given, channel-closed, meeting-ended, not-attending or not-permitted."`
	Sentence string `json:"sentence,omitempty" doc:"What will be said when the turn comes; absent when the draft was cleared."`
}

// TalkTable is the table of tools for talking in a meeting as in a channel.
func TalkTable(c channel.Meetings) []Tool {
	return []Tool{
		New(Spec[DraftArgs, Drafted]{
			Tool: Tool{
				Name: "meeting_draft", Title: "Prepare an answer", Idempotent: true, Needs: tenant.Meeting, OpenWorld: true,
				Doc: "Prepare your answer while somebody still speaks. With ready: true its first sentence is said the moment their turn ends, unless they added more than a few words or a \"not\" or \"but\". " +
					"The turn says what became of it (draft: spoken, dropped, none); after spoken, meeting_speak with turn_seq leaves it out.",
				Errors: []Code{CodeMeetingNotFound, CodeMeetingElsewhere},
			},
			Run: func(ctx context.Context, by Caller, a DraftArgs) (Drafted, error) {
				r, err := c.Draft(ctx, string(by.Tenant.ID), a.Meeting, channel.Drafted{Text: a.Text, Ready: a.Ready, ForTurn: transcript.Seq(a.ForTurn)})
				if errors.Is(err, channel.ErrNoMeeting) {
					return Drafted{}, Fail(CodeMeetingNotFound, "meeting_id", a.Meeting)
				}
				return Drafted{Meeting: a.Meeting, OK: r.OK, Reason: r.Reason, Sentence: r.Sentence}, err
			},
		}),
	}
}

// SpokenOf is a channel's receipt as meeting_speak with turn_seq tells it. An answer to a turn that never was is an error:
// the agent takes another number for a turn's.
func SpokenOf(meeting string, r channel.Receipt) (Spoken, error) {
	if r.Reason == turn.ReasonUnknownTurn {
		what := fmt.Sprintf("nothing was heard yet that turn %d could be", r.Turn)
		if r.LastTurn > 0 {
			what = fmt.Sprintf("there is no turn %d, the last one you were given is %d", r.Turn, r.LastTurn)
		}
		return Spoken{}, Fail(CodeBadArgument, "what", what+": give the turn_seq of a turn of meeting_listen, or leave it out to speak without answering one")
	}
	out := Spoken{Meeting: meeting, Utterance: r.MessageID, State: "queued",
		SpokenTo: SpokenTo{Superseded: r.Superseded, LastTurn: int64(r.LastTurn), PrefixSkipped: r.PrefixSkipped}}
	if !r.Delivered {
		out.State, out.Reason = "dropped", r.Reason
	}
	return out, nil
}

// TurnOf is what a message of a channel says as an event's turn; nil for one that is about something else, or about a
// turn that is still being said.
func TurnOf(m channel.Message) *Turn {
	d := m.Metadata
	if m.Partial || len(m.Text) == 0 || d.TurnSeq == 0 || d.Final == nil || !*d.Final {
		return nil
	}
	t := &Turn{Seq: int64(d.TurnSeq), Text: m.Text[0], Lang: d.Lang, Extends: int64(d.Extends), Echo: d.Echo,
		Draft: d.Draft, DraftTxt: d.DraftText, DraftWhy: d.DraftWhy}
	if d.Speaker != nil {
		t.Speaker = speakerOf(*d.Speaker)
	}
	for _, s := range d.Speakers {
		t.Speakers = append(t.Speakers, *speakerOf(s))
	}
	for _, s := range d.MergedSeqs {
		t.Merged = append(t.Merged, int64(s))
	}
	if d.Start != nil && d.End != nil {
		t.Start, t.End = *d.Start, *d.End
	}
	if d.HeldMS != nil {
		t.HeldMS = *d.HeldMS
	}
	return t
}

func speakerOf(s transcript.Speaker) *Speaker {
	return &Speaker{ID: s.ID, Name: s.Name, Confidence: s.Confidence, Source: s.Source}
}
