package wire

import "parley/transcript"

// Command is one thing to do; exactly one member is set.
type Command struct {
	// TimeoutMS is how long the caller waits for the answer; zero: 30 s. The command is canceled then.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`

	Speak         *Speak         `json:"speak,omitempty"`
	StopSpeaking  *Empty         `json:"stop_speaking,omitempty"`
	Mute          *Switch        `json:"mute,omitempty"`
	Hand          *Switch        `json:"hand,omitempty"`
	ChatSend      *ChatSend      `json:"chat_send,omitempty"`
	StopRecording *StopRecording `json:"stop_recording,omitempty"`
	Leave         *Empty         `json:"leave,omitempty"`
	Answer        *Choice        `json:"answer,omitempty"`
	Status        *Empty         `json:"status,omitempty"`

	// Of the conversation. A chunk and a completion that come without an id are not answered.
	Publish  *Publish  `json:"publish,omitempty"`
	Chunk    *Chunk    `json:"chunk,omitempty"`
	Complete *Complete `json:"complete,omitempty"`
	Draft    *Draft    `json:"draft,omitempty"`
	Settings *Settings `json:"settings,omitempty"`
	// StopTranscript ends the live transcript; the meeting and the recording go on.
	StopTranscript *StopTranscript `json:"stop_transcript,omitempty"`
}

// Name says which command it is; empty when this side knows none of its members.
func (c Command) Name() string {
	switch {
	case c.Speak != nil:
		return "speak"
	case c.StopSpeaking != nil:
		return "stop_speaking"
	case c.Mute != nil:
		return "mute"
	case c.Hand != nil:
		return "hand"
	case c.ChatSend != nil:
		return "chat_send"
	case c.StopRecording != nil:
		return "stop_recording"
	case c.Leave != nil:
		return "leave"
	case c.Answer != nil:
		return "answer"
	case c.Status != nil:
		return "status"
	case c.Publish != nil:
		return "publish"
	case c.Chunk != nil:
		return "chunk"
	case c.Complete != nil:
		return "complete"
	case c.Draft != nil:
		return "draft"
	case c.Settings != nil:
		return "settings"
	case c.StopTranscript != nil:
		return "stop_transcript"
	}
	return ""
}

// Publish is text of the agent for the channel. It is answered when it is in line, or refused.
type Publish struct {
	Text string `json:"text"`
	// Turn is the turn that it answers; 0: the current one.
	Turn int64 `json:"turn_seq,omitempty"`
	// Stream names the stream of chunks that it concludes.
	Stream string `json:"stream,omitempty"`
}

// Chunk is a piece of what the agent is writing.
type Chunk struct {
	Stream string `json:"stream"`
	Index  int    `json:"index"`
	Delta  string `json:"delta"`
	Turn   int64  `json:"turn_seq,omitempty"`
	// Speculative is the host's word that it may be said before it is published.
	Speculative bool `json:"speculative,omitempty"`
}

// Complete ends a stream of chunks.
type Complete struct {
	Stream    string `json:"stream"`
	Text      string `json:"text,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
}

// Draft is an answer in preparation; an empty text clears it.
type Draft struct {
	Text    string `json:"text"`
	Ready   bool   `json:"ready,omitempty"`
	ForTurn int64  `json:"for_turn_seq,omitempty"`
}

// Settings are new settings of the turn engine, by name, as turn.Settings reads them. Names that are not known are
// ignored.
type Settings struct {
	Turn map[string]string `json:"turn"`
}

// StopTranscript says why.
type StopTranscript struct {
	Reason string `json:"reason"` // daily-cap
}

// Empty has nothing to say.
type Empty struct{}

// Switch turns something on or off.
type Switch struct {
	On bool `json:"on"`
}

// Speak says a text, or plays a file.
type Speak struct {
	Text    string  `json:"text,omitempty"`
	File    string  `json:"file,omitempty"`
	Lang    string  `json:"lang,omitempty"`
	Voice   string  `json:"voice,omitempty"`
	Backend string  `json:"backend,omitempty"`
	Model   string  `json:"model,omitempty"`
	Speed   float64 `json:"speed,omitempty"`
	// KeepOpen leaves the microphone on afterwards (auto_mute: false); for ten minutes at most.
	KeepOpen bool `json:"keep_open,omitempty"`
	// Interrupt replaces what is being said.
	Interrupt bool `json:"interrupt,omitempty"`
	// Wait answers when it was said rather than when it begins to sound.
	Wait bool `json:"wait,omitempty"`
}

// ChatSend posts a message.
type ChatSend struct {
	Text string `json:"text"`
	// To is everyone or host; empty: those who got the announcement.
	To string `json:"to,omitempty"`
}

// StopRecording stops recording and live transcript for good; Delete removes what there is.
type StopRecording struct {
	Delete bool `json:"delete,omitempty"`
}

// Choice answers a question.
type Choice struct {
	QuestionID string `json:"question_id"`
	Choice     string `json:"choice"`
}

// Answer is what came of a command. Error is nil when it was done.
type Answer struct {
	Error  *Error        `json:"error,omitempty"`
	Speech *SpeechResult `json:"speech,omitempty"`
	Chat   *Sent         `json:"chat,omitempty"`
	Mic    *Mic          `json:"mic,omitempty"`
	// Deleted is the receipt of a deletion.
	Deleted *Deleted `json:"deleted,omitempty"`
	Status  *Status  `json:"status,omitempty"`
	// Publish and Draft are receipts; a refusal is one, too, and no Error.
	Publish *Published `json:"publish,omitempty"`
	Draft   *Drafted   `json:"draft,omitempty"`
}

// Published is the receipt of a publish.
type Published struct {
	Delivered     bool   `json:"delivered"`
	Dropped       bool   `json:"dropped,omitempty"`
	Reason        string `json:"reason,omitempty"`
	Message       int    `json:"message,omitempty"` // its number, from 1 on
	Superseded    bool   `json:"superseded,omitempty"`
	Turn          int64  `json:"turn_seq,omitempty"`
	LastTurn      int64  `json:"last_turn_seq,omitempty"`
	PrefixSkipped bool   `json:"prefix_skipped,omitempty"`
	AlreadySaid   string `json:"already_said,omitempty"`
}

// Drafted is the receipt of a draft.
type Drafted struct {
	OK       bool   `json:"ok"`
	Reason   string `json:"reason,omitempty"`
	Sentence string `json:"sentence,omitempty"`
}

// Error is a refusal or a failure: a code for the agent and a sentence for a person.
type Error struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// Error gives the sentence.
func (e *Error) Error() string { return e.Text }

// Code sorts errors by what the caller can do.
type Code string

// The codes.
const (
	CodeNotYet      Code = "not-yet"     // too early: not admitted, not announced
	CodeOver        Code = "over"        // the meeting has ended or is on the way out
	CodeNotAllowed  Code = "not-allowed" // the join carries no permit for it
	CodeBusy        Code = "busy"        // something else is being said (interrupt replaces it), or too much waits
	CodeBadInput    Code = "bad-input"   // the arguments cannot work
	CodeUnavailable Code = "unavailable" // this machine or platform cannot do it
	CodeFailed      Code = "failed"      // tried, and it did not work
	CodeUncertain   Code = "uncertain"   // tried, and we cannot tell whether it worked
	CodeCanceled    Code = "canceled"    // withdrawn by the caller, or its time was over
	CodeInterrupted Code = "interrupted" // cut off while it was said
)

// SpeechResult is what came of speaking.
type SpeechResult struct {
	ID         string  `json:"id"`
	State      string  `json:"state"` // started, done, interrupted, failed
	DurationS  float64 `json:"duration_s,omitempty"`
	PrepareMS  int64   `json:"prepare_ms,omitempty"`
	StartMS    int64   `json:"start_ms,omitempty"`
	GapMS      int64   `json:"gap_ms,omitempty"`
	Said       string  `json:"said,omitempty"`
	Unsaid     string  `json:"unsaid,omitempty"`
	CutBy      string  `json:"cut_by,omitempty"` // stop, interrupt, barge-in, leave, objection
	CutAfterMS int64   `json:"cut_after_ms,omitempty"`
	Why        string  `json:"why,omitempty"` // of failed, where it is the text or the file that cannot be said
	MuteError  string  `json:"mute_error,omitempty"`
	MicOpen    bool    `json:"mic_open,omitempty"`
	// Kind is where it came from: speak, file, stream (the channel) or acknowledgement.
	Kind string `json:"kind,omitempty"`
	// BargeIn says that somebody's voice cut it off; By who, when known, and With with what.
	BargeIn bool                `json:"barge_in,omitempty"`
	By      *transcript.Speaker `json:"interrupted_by,omitempty"`
	With    string              `json:"interrupted_with,omitempty"`
	Proof   *Proof              `json:"proof,omitempty"`
}

// Proof is what shows that an utterance was heard in the meeting.
type Proof struct {
	Heard string `json:"heard"` // true, false, unknown
	// LevelDB is the loudest moment at the microphone's source while it played, in dBFS; nil: not measured.
	LevelDB *float64 `json:"level_db,omitempty"`
	// Microphone is the worst that the page showed meanwhile: on, off, blocked, unknown.
	Microphone string `json:"microphone"`
	// Shown is whether the page showed us speaking: yes, no, or empty where it never shows that.
	Shown string `json:"shown,omitempty"`
}

// Sent proves a chat message.
type Sent struct {
	ID      string `json:"id,omitempty"`
	SentTo  string `json:"sent_to"`
	Private bool   `json:"private,omitempty"`
}

// Mic is the microphone after the act: on, off, blocked, unknown.
type Mic struct {
	State string `json:"state"`
}

// Deleted is a receipt: the marker stands and nothing stands beside it.
type Deleted struct {
	AtUnixMS int64   `json:"at_ms"`
	Seconds  float64 `json:"seconds,omitempty"`
	Bytes    int64   `json:"bytes,omitempty"`
}
