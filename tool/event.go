package tool

import (
	"fmt"
	"strings"
	"time"

	"parley/tenant"
)

// EventKind is what happened.
type EventKind string

// The kinds.
const (
	EventState             EventKind = "state"
	EventQuestion          EventKind = "question"
	EventChat              EventKind = "chat"
	EventOptout            EventKind = "optout"
	EventAnnounce          EventKind = "announce"
	EventPeople            EventKind = "people"
	EventTranscript        EventKind = "transcript"
	EventTranscriptStopped EventKind = "transcript-stopped"
	EventTurn              EventKind = "turn"
	EventTurnExtended      EventKind = "turn-extended"
	EventInterrupted       EventKind = "interrupted"
	EventSpeech            EventKind = "speech"
	EventMicOpen           EventKind = "mic-open"
	EventFault             EventKind = "fault"
	EventRejoined          EventKind = "rejoined"
	EventEnded             EventKind = "ended"
)

// Event is something that happened at a meeting. Besides Seq, At, Kind and Summary at most one of the
// pointers is set, the kind's own.
type Event struct {
	Tenant   tenant.ID `json:"-"`
	Meeting  string    `json:"-"`
	Platform string    `json:"-"`

	Seq     int64     `json:"seq" doc:"Its number in this meeting."`
	At      time.Time `json:"at" doc:"When it happened."`
	Kind    EventKind `json:"kind" doc:"What happened; see the list of kinds."`
	Summary string    `json:"summary,omitempty" doc:"The same in a sentence of ours; it never quotes anybody."`

	State    State        `json:"state,omitempty" doc:"Of state: the new state."`
	Chat     *ChatMessage `json:"chat,omitempty" doc:"Of chat: the message."`
	Optout   *Optout      `json:"optout,omitempty" doc:"Of optout: who objected and what became of the recording."`
	Line     *Line        `json:"transcript,omitempty" doc:"Of transcript: what was said."`
	Turn     *Turn        `json:"turn,omitempty" doc:"Of turn: what somebody said, as a whole, and what became of your draft."`
	Extended *Extended    `json:"turn_extended,omitempty" doc:"Of turn-extended: which turn went on."`
	Question *Question    `json:"question,omitempty" doc:"Of question."`
	Announce *Announced   `json:"announce,omitempty" doc:"Of announce."`
	People   *People      `json:"people,omitempty" doc:"Of people: who is there."`
	Speech   *Speech      `json:"speech,omitempty" doc:"Of speech, interrupted and mic-open."`
	Fault    *Fault       `json:"fault,omitempty" doc:"Of fault, transcript-stopped and rejoined."`
	End      *End         `json:"end,omitempty" doc:"Of ended."`
}

// Partial tells whether the event is unfinished speech, the first to be dropped when a queue is full.
func (e Event) Partial() bool { return e.Kind == EventTranscript && e.Line != nil && !e.Line.Final }

// Optout is an objection.
type Optout struct {
	By      string  `json:"by" doc:"chat, voice or tool."`
	Sender  string  `json:"sender,omitempty" arg:"untrusted" doc:"Who, as shown."`
	Lang    string  `json:"lang,omitempty" doc:"The language it was understood in."`
	Leaving bool    `json:"leaving" doc:"We leave because of it."`
	Deleted bool    `json:"deleted" doc:"The recording and the text are gone; false in the event that comes at once."`
	Seconds float64 `json:"recording_seconds,omitempty" doc:"How much had been recorded."`
}

// Turn is what somebody said, as a whole: one or more segments.
type Turn struct {
	Seq      int64     `json:"turn_seq" doc:"Its number: that of its last segment."`
	Text     string    `json:"text" arg:"untrusted" doc:"What was said."`
	Lang     string    `json:"lang,omitempty" doc:"Language."`
	Speaker  *Speaker  `json:"speaker,omitempty" doc:"Who said it, when known."`
	Speakers []Speaker `json:"speakers,omitempty" doc:"All who spoke meanwhile."`
	Start    float64   `json:"start_s" doc:"Seconds since the recording began."`
	End      float64   `json:"end_s" doc:"Seconds since the recording began."`
	Merged   []int64   `json:"merged_seqs,omitempty" doc:"Its segments, where there are several."`
	HeldMS   int64     `json:"held_ms" doc:"How long it waited for more after its last words."`
	Extends  int64     `json:"extends_turn,omitempty" doc:"The turn that it replaces: its speaker had gone on."`
	Echo     bool      `json:"echo_suspected,omitempty" doc:"Most likely our own voice coming back."`
	Draft    string    `json:"draft" doc:"What became of your draft: spoken, dropped or none."`
	DraftTxt string    `json:"draft_text,omitempty" doc:"Of spoken: the sentence that is being said. Go on after it."`
	DraftWhy string    `json:"draft_reason,omitempty" doc:"Of dropped: not-ready, other-turn, new-words, negation, speaking, barge-in, turn-reopened or off."`
}

// Extended is a turn whose speaker went on.
type Extended struct {
	TurnSeq  int64  `json:"turn_seq" doc:"The turn that is open again."`
	TurnText string `json:"turn_text,omitempty" arg:"untrusted" doc:"What it was."`
	Text     string `json:"text_so_far,omitempty" arg:"untrusted" doc:"What it is by now."`
	Speaker  string `json:"speaker,omitempty" arg:"untrusted" doc:"Whose it is."`
}

// People is who is there.
type People struct {
	Count  int      `json:"count" doc:"How many are in the call now, ourselves included; -1 when unknown."`
	People []Person `json:"people,omitempty" doc:"As far as the page shows."`
	Joined []string `json:"joined,omitempty" arg:"untrusted" doc:"Names that came."`
	Left   []string `json:"left,omitempty" arg:"untrusted" doc:"Names that went."`
}

// Speech is how an utterance of ours goes.
type Speech struct {
	Utterance string  `json:"utterance_id,omitempty" doc:"As meeting_speak gave it."`
	Kind      string  `json:"kind,omitempty" doc:"speak, stream, file or acknowledgement: where it came from."`
	State     string  `json:"state,omitempty" doc:"playing, done, interrupted or failed."`
	DurationS float64 `json:"duration_s,omitempty" doc:"How long it was."`
	BargeIn   bool    `json:"barge_in,omitempty" doc:"Somebody began to speak."`
	CutBy     string  `json:"cut_by,omitempty" doc:"stop, interrupt, barge-in, host-mute, cancel, cancelled, leave or objection."`
	CutAfter  int     `json:"cut_after_ms,omitempty" doc:"How long it had sounded when it was cut off."`
	GapMS     int     `json:"gap_ms,omitempty" doc:"The longest pause in it because synthesis fell behind."`
	Said      string  `json:"said,omitempty" doc:"What was heard of it."`
	Unsaid    string  `json:"unsaid,omitempty" doc:"What was not."`
	Why       string  `json:"reason,omitempty" doc:"Of failed: why the text or the file cannot be said; absent where the voice is at fault."`
	By        string  `json:"interrupted_by,omitempty" arg:"untrusted" doc:"Who began to speak."`
	MicOpen   bool    `json:"mic_open,omitempty" doc:"The microphone may still be on. It carries only what we play."`
	GaveUp    bool    `json:"gave_up,omitempty" doc:"Switching it off is not tried any more."`
	MuteError string  `json:"mute_error,omitempty" arg:"untrusted" doc:"Why it could not be switched off."`
	Proof     *Proof  `json:"proof,omitempty" doc:"When it is over: what shows that it was heard."`
}

// Fault is something that broke and what is done about it.
type Fault struct {
	Part   string  `json:"part" doc:"What broke: recorder, browser, sound, transcript, network or disk."`
	Kind   string  `json:"kind,omitempty" doc:"What happened to it, in one word."`
	Action string  `json:"action,omitempty" doc:"restarted, retrying, gave-up or ending."`
	Reason string  `json:"reason,omitempty" doc:"Of transcript-stopped: objection, stopped, daily-cap or error."`
	GapS   float64 `json:"gap_s,omitempty" doc:"Seconds that were missed."`
}

// End is how a meeting ended.
type End struct {
	Reason     string  `json:"reason" doc:"In one word."`
	ReasonText string  `json:"reason_text,omitempty" doc:"In a sentence, with what can be done."`
	DurationS  float64 `json:"duration_s" doc:"Seconds from being let in."`
	Bytes      int64   `json:"bytes" doc:"Size of the recording; 0 when there is none."`
	Seconds    float64 `json:"recording_seconds" doc:"Length of the recording."`
	Path       string  `json:"recording_path,omitempty" doc:"Where it is on the service's machine."`
	Deleted    bool    `json:"recording_deleted,omitempty" doc:"There was one, and it was deleted."`
	Hint       string  `json:"hint,omitempty" doc:"What to call next."`
}

// Own says in our own words what happened; empty where there are only others' words to tell.
func (e Event) Own() string {
	switch {
	case e.Summary != "":
		return e.Summary
	case e.Kind == EventTranscript, e.Kind == EventChat:
		return ""
	case e.Turn != nil:
		return e.Turn.own()
	case e.State != "":
		return "state: " + string(e.State)
	case e.Optout != nil:
		s := "somebody asked not to be recorded (" + e.Optout.By + ")"
		if e.Optout.Deleted {
			s += "; the recording and the text are deleted"
		}
		if e.Optout.Leaving {
			s += "; we leave"
		}
		return s
	case e.Question != nil:
		return fmt.Sprintf("question %s (%s), answer it with meeting_answer", e.Question.ID, e.Question.Kind)
	case e.Announce != nil:
		return "announcement sent to " + e.Announce.SentTo + because(e.Announce.Reason)
	case e.People != nil:
		return fmt.Sprintf("%d people in the call", e.People.Count)
	case e.Extended != nil:
		return fmt.Sprintf("the speaker goes on: turn %d is open again", e.Extended.TurnSeq)
	case e.Kind == EventMicOpen:
		return "WARNING: our microphone may still be on (it carries only what we play); meeting_mute or meeting_leave if it must be off"
	case e.Speech != nil:
		s := "our speech " + e.Speech.Utterance + ": " + e.Speech.State
		if e.Speech.Said != "" && e.Speech.State == "interrupted" {
			s += fmt.Sprintf(" after %q", e.Speech.Said)
		}
		return s
	case e.Fault != nil:
		words := strings.Fields(e.Fault.Part + " " + e.Fault.Kind + " " + e.Fault.Action) // any may be empty
		return string(e.Kind) + ": " + strings.Join(words, " ") + because(e.Fault.Reason)
	case e.End != nil:
		s := "the meeting ended: " + e.End.Reason
		if e.End.ReasonText != "" {
			s += " (" + e.End.ReasonText + ")"
		}
		if e.End.Hint != "" {
			s += "; " + e.End.Hint
		}
		return s
	}
	return string(e.Kind)
}

// Quoted is what others said or wrote in it, for the inside of a fence; empty where there is nothing.
func (e Event) Quoted() string {
	switch {
	case e.Line != nil:
		return spokenLine(*e.Line)
	case e.Turn != nil:
		return spokenLine(Line{Start: e.Turn.Start, Text: e.Turn.Text, Speaker: e.Turn.Speaker, Echo: e.Turn.Echo, Final: true})
	case e.Chat != nil:
		return "chat, " + chatLine(*e.Chat)
	case e.Question != nil:
		return e.Question.Text + "\nchoices: " + strings.Join(e.Question.Choices, " | ") + "\nwithout an answer: " + e.Question.Default
	case e.Optout != nil && e.Optout.Sender != "":
		return "it was " + e.Optout.Sender
	case e.People != nil && len(e.People.Joined)+len(e.People.Left) > 0:
		return strings.TrimSpace(list("came: ", e.People.Joined) + list("went: ", e.People.Left))
	case e.Extended != nil:
		return e.Extended.Speaker + ": " + e.Extended.Text
	case e.Speech != nil && e.Speech.By != "":
		return "interrupted by " + e.Speech.By
	case e.Speech != nil && e.Speech.MuteError != "":
		return "it could not be switched off: " + e.Speech.MuteError
	case e.Announce != nil && len(e.Announce.Failures) > 0:
		return "tried: " + strings.Join(e.Announce.Failures, "; ")
	}
	return ""
}

// own says of a turn what is ours to say.
func (t Turn) own() string {
	s := fmt.Sprintf("turn %d", t.Seq)
	if t.Extends != 0 {
		s += fmt.Sprintf(" (in place of turn %d)", t.Extends)
	}
	switch t.Draft {
	case "spoken":
		s += fmt.Sprintf("; your draft is being said: %q. Say only what follows it", t.DraftTxt)
	case "dropped":
		s += "; your draft was dropped" + because(t.DraftWhy)
	}
	return s
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

func list(label string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return label + strings.Join(names, ", ") + "\n"
}
