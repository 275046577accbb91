package wire

import (
	"encoding/json"

	"parley/transcript"
)

// Report is one event of a meeting; exactly one member is set beside Seq and At. The process numbers them from 1 on.
type Report struct {
	Seq int64 `json:"seq"`
	At  int64 `json:"at_ms"` // Unix milliseconds

	State             *StateChange  `json:"state,omitempty"`
	Question          *Question     `json:"question,omitempty"`
	Chat              *Chat         `json:"chat,omitempty"`
	OptOut            *OptOut       `json:"optout,omitempty"`
	Announce          *Announced    `json:"announce,omitempty"`
	People            *People       `json:"people,omitempty"`
	Transcript        *Transcript   `json:"transcript,omitempty"`
	TranscriptStopped *Stopped      `json:"transcript_stopped,omitempty"`
	TurnExtended      *TurnExtended `json:"turn_extended,omitempty"`
	Interrupted       *SpeechResult `json:"interrupted,omitempty"`
	Speech            *SpeechResult `json:"speech,omitempty"`
	MicOpen           *MicOpen      `json:"mic_open,omitempty"`
	Fault             *Fault        `json:"fault,omitempty"`
	Rejoined          *Rejoined     `json:"rejoined,omitempty"`
	Ended             *Ended        `json:"ended,omitempty"`
	// Message is for whoever hears the meeting's channel: a channel.Message.
	Message *Told `json:"message,omitempty"`
	// Channel says that the conversation has begun or ended.
	Channel *Channel `json:"channel,omitempty"`
	// Status is the whole state after something changed. It is no event: only the last one matters.
	Status *Status `json:"status,omitempty"`
}

// Name is the kind of event, as in parley:meeting-<name>; empty when this side knows none of its members.
func (r Report) Name() string {
	switch {
	case r.State != nil:
		return "state"
	case r.Question != nil:
		return "question"
	case r.Chat != nil:
		return "chat"
	case r.OptOut != nil:
		return "optout"
	case r.Announce != nil:
		return "announce"
	case r.People != nil:
		return "people"
	case r.Transcript != nil:
		return "transcript"
	case r.TranscriptStopped != nil:
		return "transcript-stopped"
	case r.TurnExtended != nil:
		return "turn-extended"
	case r.Interrupted != nil:
		return "interrupted"
	case r.Speech != nil:
		return "speech"
	case r.MicOpen != nil:
		return "mic-open"
	case r.Fault != nil:
		return "fault"
	case r.Rejoined != nil:
		return "rejoined"
	case r.Ended != nil:
		return "ended"
	case r.Message != nil:
		return "message"
	case r.Channel != nil:
		return "channel"
	case r.Status != nil:
		return "status"
	}
	return ""
}

// Droppable says that a report may be lost when its reader does not keep up: another one follows soon that says more.
func (r Report) Droppable() bool {
	return r.Status != nil || r.People != nil || (r.Transcript != nil && !r.Transcript.Final) || (r.Message != nil && r.Message.Partial)
}

// Told is what the agent is told. Its text is what people said: it is kept in memory only, for a while, and goes with
// the transcript.
type Told struct {
	Partial bool            `json:"partial,omitempty"` // a newer one follows soon
	Body    json.RawMessage `json:"body"`              // a channel.Message
}

// Channel is the beginning or the end of a conversation.
type Channel struct {
	Open bool `json:"open"`
	// Speculative says that streamed text is said where the host marks it so.
	Speculative bool `json:"speculative,omitempty"`
	// Why it ended: ended, objection, off.
	Why string `json:"why,omitempty"`
}

// StateChange is a step of the lifecycle.
type StateChange struct {
	State  string `json:"state"`
	Before string `json:"before,omitempty"`
	Reason string `json:"reason,omitempty"`
	HeldBy string `json:"held_by,omitempty"` // consent-gate, dialog, challenge
	// Breakout is true in a breakout room.
	Breakout bool `json:"breakout,omitempty"`
}

// Lobby is what the lobby offers.
type Lobby struct {
	As         string `json:"as,omitempty"`          // account or guest
	JoinButton string `json:"join_button,omitempty"` // untrusted
	Challenge  bool   `json:"challenge,omitempty"`
	SignedIn   string `json:"signed_in,omitempty"` // yes, no; empty: unknown
	Page       string `json:"page,omitempty"`      // untrusted
	Profile    bool   `json:"profile,omitempty"`
}

// Question asks the agent or a person; meeting_answer answers it.
type Question struct {
	ID   string `json:"question_id"`
	Kind string `json:"kind"` // announce-failed, consent-gate, dialog, challenge
	// Text is from the page: untrusted.
	Text    string   `json:"text,omitempty"`
	Choices []string `json:"choices"`
	Default string   `json:"default"`
	// RemainingMS is how long the question stands before the default is taken.
	RemainingMS int64 `json:"remaining_ms"`
	// Closed is how it ended: answered, unanswered, withdrawn; empty while it stands.
	Closed string `json:"closed,omitempty"`
	Choice string `json:"choice,omitempty"`
	// Picture is a file of the evidence bundle.
	Picture string `json:"picture,omitempty"`
}

// Chat is a message of somebody. All of it is from the page: untrusted.
type Chat struct {
	N       int64  `json:"n"` // numbers the messages of a meeting from 1 on
	ID      string `json:"id,omitempty"`
	Sender  string `json:"sender,omitempty"`
	Text    string `json:"text"`
	Own     bool   `json:"own,omitempty"`
	Private bool   `json:"private,omitempty"`
}

// OptOut says that somebody objected, and what became of the recording.
type OptOut struct {
	By      string `json:"by"` // chat, voice, tool
	Sender  string `json:"sender,omitempty"`
	Lang    string `json:"lang,omitempty"`
	Leaving bool   `json:"leaving"`
	// Deleted is false in the event that comes at once, true in the one that follows the deletion.
	Deleted bool    `json:"deleted"`
	Seconds float64 `json:"seconds,omitempty"` // how much had been recorded
}

// Announced is what came of an announcement.
type Announced struct {
	Mode   string `json:"mode"`    // chat, host, none
	SentTo string `json:"sent_to"` // everyone, host, none, failed
	// Reason is why it did not reach everyone: chat-restricted, chat-unavailable, sent-privately, not-sent,
	// not-confirmed, host-unreachable.
	Reason   string   `json:"reason,omitempty"`
	Failures []string `json:"failures,omitempty"`
	Late     bool     `json:"late,omitempty"` // told again, to people who came later
}

// People is the roster.
type People struct {
	Count  int      `json:"count"` // ourselves included; -1: the page does not tell
	People []Person `json:"people,omitempty"`
}

// Person is somebody in the call, as the page names them.
type Person struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name,omitempty"`
	Self     bool   `json:"self,omitempty"`
	Host     bool   `json:"host,omitempty"`
	Muted    bool   `json:"muted,omitempty"`
	HandUp   bool   `json:"hand_up,omitempty"`
	LikelyAI bool   `json:"likely_ai,omitempty"`
}

// Transcript is a segment. A final one is on disk before it is reported; the service pushes the text on and keeps
// only the number.
type Transcript struct {
	Final   bool               `json:"final"`
	LagMS   int64              `json:"lag_ms,omitempty"`
	Segment transcript.Segment `json:"segment"`
}

// Stopped says that the live transcript ended before the meeting did.
type Stopped struct {
	Reason string `json:"reason"` // objection, stopped, daily-cap, error
	Kind   string `json:"kind,omitempty"`
}

// TurnExtended says that a speaker went on after their turn had been given to the agent.
type TurnExtended struct {
	TurnSeq  int64               `json:"turn_seq"`
	TurnText string              `json:"turn_text,omitempty"`
	SoFar    string              `json:"text_so_far,omitempty"`
	Speaker  *transcript.Speaker `json:"speaker,omitempty"`
}

// MicOpen warns that the microphone may still be on although nothing plays.
type MicOpen struct {
	State  string `json:"state"` // on, unknown
	Error  string `json:"error,omitempty"`
	GaveUp bool   `json:"gave_up,omitempty"`
	Closed bool   `json:"closed,omitempty"` // it is off now
}

// Fault is something below the meeting that broke, and what is done about it.
type Fault struct {
	Part string `json:"part"`
	Kind string `json:"kind,omitempty"`
	// Action is restarted, retrying, gave-up, ending.
	Action string `json:"action"`
	Count  int    `json:"count,omitempty"`
}

// Rejoined says that we are back after a fault.
type Rejoined struct {
	GapMS int64 `json:"gap_ms"`
}

// Ended is the last event of a meeting.
type Ended struct {
	Reason    string  `json:"reason"`
	What      string  `json:"what"`
	Try       string  `json:"try,omitempty"`
	Expected  bool    `json:"expected"`
	DurationS float64 `json:"duration_s"`
	Recording *File   `json:"recording,omitempty"`
	Deleted   bool    `json:"deleted,omitempty"`
	Evidence  string  `json:"evidence,omitempty"`
}

// File is a recording that is closed.
type File struct {
	Path    string  `json:"path"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	Parts   int     `json:"parts,omitempty"`
	GapS    float64 `json:"gap_s,omitempty"`
}

// Status is everything about an attendance at one moment.
type Status struct {
	State    string   `json:"state"`
	Reason   string   `json:"reason,omitempty"`
	What     string   `json:"what,omitempty"`
	Try      string   `json:"try,omitempty"`
	HeldBy   string   `json:"held_by,omitempty"`
	JoinedAs string   `json:"joined_as,omitempty"`
	Lobby    *Lobby   `json:"lobby,omitempty"`
	Breakout bool     `json:"breakout,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// RemainingMS is the time until this state's deadline.
	RemainingMS int64 `json:"remaining_ms"`

	Recording        bool    `json:"recording"`
	RecordingSeconds float64 `json:"recording_seconds"`
	RecordingBytes   int64   `json:"recording_bytes,omitempty"`
	RecordingGapS    float64 `json:"recording_gap_s,omitempty"`
	RecordingParts   int     `json:"recording_parts,omitempty"`
	// RecordingClosed means that the file is whole and may be fetched.
	RecordingClosed bool `json:"recording_closed"`
	// RecordingDamaged means that a dead worker left a file that could not be made whole.
	RecordingDamaged bool   `json:"recording_damaged,omitempty"`
	RecordingPath    string `json:"recording_path,omitempty"`
	Deleted          bool   `json:"deleted,omitempty"`
	Objected         bool   `json:"objected,omitempty"`

	Announce   *Announced  `json:"announce,omitempty"`
	Transcript string      `json:"live_transcript"` // off, starting, on, stopped, failed
	Segments   int64       `json:"segments,omitempty"`
	LagMS      int64       `json:"final_lag_ms,omitempty"`
	StreamedS  float64     `json:"streamed_s,omitempty"`  // sound given to recognisers
	VoiceChars int64       `json:"voice_chars,omitempty"` // characters given to a voice that costs
	SilenceMS  int64       `json:"silence_ms,omitempty"`  // the pause that ends a segment
	People     *People     `json:"people,omitempty"`
	Speakers   string      `json:"speaker_labels,omitempty"` // seen, none-seen
	Microphone string      `json:"microphone"`
	Camera     string      `json:"camera"`
	MicOpen    bool        `json:"mic_open,omitempty"`
	MuteError  string      `json:"mute_error,omitempty"`
	HostMuted  bool        `json:"host_muted,omitempty"` // somebody else shut it; it stays shut until we are asked
	HandUp     bool        `json:"hand_up,omitempty"`
	Speaking   string      `json:"speaking,omitempty"` // id of the utterance
	Questions  []*Question `json:"questions,omitempty"`
	Faults     []*Fault    `json:"faults,omitempty"`
	Chats      int64       `json:"chats"`
	DurationS  float64     `json:"duration_s"` // since admission
	Evidence   string      `json:"evidence,omitempty"`
}
