package tool

import (
	"context"
	"slices"
	"time"

	"parley/tenant"
)

// Meetings is what the tools ask of the service's meetings. Every method may be called at any time, also at
// once, ends by its context's deadline, and gives an *Error (see Fail) where the caller can do something
// about it. A meeting of another tenant answers like one that never existed.
type Meetings interface {
	// Join starts attending. It returns when we are admitted, wait to be, or it ended; after 15 s at the
	// latest, at once with a.Wait false. A second join of the same meeting by the same tenant gives the first
	// one's status, with Existing set, unless a.AllowDuplicate.
	Join(ctx context.Context, by Caller, a JoinArgs) (Status, error)
	// Status tells how a meeting is now; an ended one is remembered.
	Status(ctx context.Context, t tenant.ID, meeting string) (Status, error)
	// List gives a tenant's meetings, the newest first.
	List(ctx context.Context, t tenant.ID, a ListArgs) (List, error)
	// Listen gives the events after a.Since; where there are none yet it waits up to a.Timeout for one.
	Listen(ctx context.Context, t tenant.ID, a ListenArgs) (Heard, error)
	// Transcript gives the newest revision of each final segment after a.Since.
	Transcript(ctx context.Context, t tenant.ID, a TranscriptArgs) (Transcript, error)
	// ChatRead gives chat messages after a.Since, ours included.
	ChatRead(ctx context.Context, t tenant.ID, a ChatReadArgs) (Chat, error)
	// Recording finds the file of a finished recording. It fails with CodeRecordingWriting before the worker
	// reported it closed, and with CodeNoRecording once it is deleted or where there never was one.
	Recording(ctx context.Context, t tenant.ID, meeting string) (RecordingFile, error)
	// Consent is the consent ledger of a meeting. It outlives the recording.
	Consent(ctx context.Context, t tenant.ID, meeting string) (Ledger, error)

	// The commands return when the meeting did it, or could not.
	Answer(ctx context.Context, t tenant.ID, a AnswerArgs) (Answered, error)
	ChatSend(ctx context.Context, t tenant.ID, a ChatSendArgs) (ChatSent, error)
	Speak(ctx context.Context, t tenant.ID, a SpeakArgs) (Spoken, error)
	StopSpeaking(ctx context.Context, t tenant.ID, meeting string) (SpeakingStopped, error)
	Mute(ctx context.Context, t tenant.ID, a MuteArgs) (Muted, error)
	RaiseHand(ctx context.Context, t tenant.ID, a HandArgs) (Hand, error)
	StopRecording(ctx context.Context, t tenant.ID, a StopRecordingArgs) (RecordingStopped, error)
	DeleteRecording(ctx context.Context, t tenant.ID, meeting string) (RecordingDeleted, error)
	Leave(ctx context.Context, t tenant.ID, meeting string) (Left, error)
}

// Watcher tells what happens at every tenant's meetings, for pushing it to clients.
type Watcher interface {
	// Watch gives the events from now on, until ctx ends; then the channel is closed. Its queue holds 1024
	// events: a reader that does not keep up loses partials first, then the oldest.
	Watch(ctx context.Context) <-chan Event
}

// State is where an attendance stands.
type State string

// The states.
const (
	Requested  State = "requested"
	Starting   State = "starting"
	Lobby      State = "lobby"
	Waiting    State = "waiting"
	Admitted   State = "admitted"
	Announcing State = "announcing"
	Attending  State = "attending"
	Rejoining  State = "rejoining"
	Leaving    State = "leaving"
	Ended      State = "ended"
)

// JoinArgs are what meeting_join takes.
type JoinArgs struct {
	URL               string   `json:"url" arg:"required,maxlen=2048" doc:"The meeting's link, as people share it."`
	Name              string   `json:"name,omitempty" arg:"maxlen=80" doc:"Display name. Default: Parley (AI notetaker); a name that does not say it is an AI or notetaker gets that added, and is cut so that it fits in 60 characters with it. Ignored where a signed-in account sets the name."`
	Announce          string   `json:"announce,omitempty" arg:"enum=chat|host|none,default=chat" doc:"Who is told in the chat that we record: everyone, only the host, or nobody (needs the grant announce-none and the owner's word)."`
	AnnounceText      string   `json:"announce_text,omitempty" arg:"maxlen=1000" doc:"The announcement's text, instead of the built-in one."`
	AnnounceReason    string   `json:"announce_reason,omitempty" arg:"maxlen=300" doc:"With announce none: why nobody is told. Kept in the audit record."`
	OnAnnounceFailure string   `json:"on_announce_failure,omitempty" arg:"enum=refuse|host_only|record" doc:"What to do when the announcement cannot be confirmed: refuse (stay without recording, ask, leave), host_only (record once the host was told), record. Default: the tenant's setting, else refuse."`
	Wait              bool     `json:"wait,omitempty" arg:"default=true" doc:"Return only when admitted, waiting or ended (15 s at most). false returns at once."`
	MaxWaitAdmitMin   float64  `json:"max_wait_admit_min,omitempty" arg:"min=0.1,max=120,default=10" doc:"Minutes to wait for somebody to let us in."`
	AloneLeaveSec     int      `json:"alone_leave_sec,omitempty" arg:"min=5,max=7200,default=30" doc:"Seconds alone after everyone else left before we leave. While nobody has come yet it is at least 120."`
	LeaveOnOptout     bool     `json:"leave_on_optout,omitempty" arg:"default=true" doc:"Leave after somebody asked not to be recorded. false stays, without ever recording again."`
	Record            bool     `json:"record,omitempty" arg:"default=true" doc:"Record the audio."`
	LiveTranscript    *bool    `json:"live_transcript,omitempty" doc:"Write down speech as it is said. Default: true where a local engine is ready."`
	Partials          bool     `json:"transcript_partials,omitempty" arg:"default=true" doc:"Also report unfinished speech."`
	VADSilence        *float64 `json:"vad_silence_s,omitempty" arg:"min=0.2,max=3" doc:"Pause in seconds that ends a segment. Default: the tenant's setting, else 0.5."`
	Lang              string   `json:"lang,omitempty" arg:"maxlen=16" doc:"Language spoken, such as en or de. Default: detected."`
	Permits           []string `json:"permits,omitempty" arg:"enum=record|announce|speak|chat|accept_consent,max=5,default=record|announce|speak|chat" doc:"What may be done in the call without asking. Anything else comes as a question (meeting_answer)."`
	ConsentGate       string   `json:"consent_gate,omitempty" arg:"enum=ask|accept|leave" doc:"What to do where the page lets us in only after agreeing to something (others record, take notes, share audio): ask with a question, accept, or leave. Default: the tenant's setting, else ask."`
	AnnounceLangs     []string `json:"announce_langs,omitempty" arg:"enum=en|de|uk|ru|sk|es|fr|it|pl|pt|nl|cs,max=4" doc:"Languages of the announcement, one after another. Default: the service's setting, else en and de."`
	Inviter           string   `json:"inviter,omitempty" arg:"maxlen=120" doc:"The shown name of who invited us: we leave when nobody of that name has been there for 5 minutes."`
	SilentLeaveMin    float64  `json:"silent_leave_min,omitempty" arg:"min=1,max=600" doc:"Minutes without anybody heard after which we leave. Default: never."`
	MaxDurationMin    float64  `json:"max_duration_min,omitempty" arg:"min=1,max=1440" doc:"The longest time in the meeting, in minutes. Default: 480."`
	Profile           string   `json:"profile,omitempty" arg:"maxlen=64" doc:"Browser profile signed in to the platform, instead of joining as a guest."`
	Engine            string   `json:"engine,omitempty" arg:"maxlen=32" doc:"Browser engine. Default: chromium, or the profile's own."`
	AllowDuplicate    bool     `json:"allow_duplicate,omitempty" doc:"Join again although we are in this meeting already."`
	Rejoin            string   `json:"rejoin,omitempty" arg:"enum=never|once,default=never" doc:"After losing the connection: stay away, or try once more. Never after being removed."`
	AskHuman          bool     `json:"ask_human,omitempty" doc:"Let a person solve a challenge at the door through the live view, instead of ending with captcha."`
	DryRun            bool     `json:"dry_run,omitempty" doc:"Only load the lobby and tell what is seen there; nothing is asked, joined or recorded."`
	IdempotencyKey
}

// IdempotencyKey makes a call safe to repeat.
type IdempotencyKey struct {
	Key string `json:"idempotency_key,omitempty" arg:"maxlen=128" doc:"Any text of yours, new for each intent. Repeating a call with the same key within 24 h returns the first result instead of doing it again."`
}

// MeetingArgs name a meeting.
type MeetingArgs struct {
	Meeting string `json:"meeting_id" arg:"required,maxlen=64" doc:"The id that meeting_join gave."`
}

// Status is how a meeting is now.
type Status struct {
	Meeting  string `json:"meeting_id" doc:"The meeting's id."`
	Platform string `json:"platform,omitempty" doc:"Whose room it is."`
	State    State  `json:"state" arg:"enum=requested|starting|lobby|waiting|admitted|announcing|attending|rejoining|leaving|ended" doc:"Where we stand. attending is in the call with everything running."`
	Existing bool   `json:"existing,omitempty" doc:"meeting_join found us in this meeting already; nothing new was started."`
	// Reason is one word of the table of ends; ReasonText is the sentence for a person.
	Reason     string `json:"reason,omitempty" doc:"Why it ended, in one word."`
	ReasonText string `json:"reason_text,omitempty" doc:"Why it ended, in a sentence, with what can be done."`
	HeldBy     string `json:"held_by,omitempty" doc:"What is in the way: consent-gate, dialog, challenge."`
	Breakout   bool   `json:"breakout,omitempty" doc:"We are in a breakout room."`
	JoinedAs   string `json:"joined_as,omitempty" doc:"account or guest."`
	Name       string `json:"name,omitempty" doc:"The name we go by."`
	Title      string `json:"title,omitempty" arg:"untrusted" doc:"The meeting's title, as the page shows it."`

	Participants *int     `json:"participants,omitempty" doc:"How many are in the call, ourselves included; absent when the page does not tell."`
	People       []Person `json:"people,omitempty" doc:"Who is in the call, as far as the page shows."`

	Recording        bool    `json:"recording" doc:"Sound is being written now."`
	RecordingSeconds float64 `json:"recording_seconds" doc:"How much was recorded so far, in seconds."`
	RecordingState   string  `json:"recording_state,omitempty" doc:"none, writing, ready, damaged, deleted."`
	EvidencePath     string  `json:"evidence_path,omitempty" doc:"The folder of the evidence on the service's machine, once it is written: how it came about, what the page showed, a picture; no chat and no speech. It goes with the recording."`
	RecordingPath    string  `json:"recording_path,omitempty" doc:"Where the file is on the service's machine; fetch it with recording_get."`
	RecordingBytes   int64   `json:"recording_bytes,omitempty" doc:"The file's size."`
	RecordingGapS    float64 `json:"recording_gap_s,omitempty" doc:"Seconds of it that were lost and are silence; 0 is as it should be."`

	Announce       *Announced  `json:"announce,omitempty" doc:"Who was told that we record."`
	Optout         bool        `json:"optout,omitempty" doc:"Somebody asked not to be recorded; nothing is recorded any more."`
	LiveTranscript *Transcribe `json:"live_transcript,omitempty" doc:"How the live transcript is doing."`
	SpeakerLabels  string      `json:"speaker_labels,omitempty" doc:"seen or none-seen: whether the page has shown who speaks."`

	Microphone string `json:"microphone,omitempty" doc:"on, off, blocked or unknown, as the page shows it."`
	Camera     string `json:"camera,omitempty" doc:"on, off, blocked or unknown."`
	MicOpen    bool   `json:"mic_open,omitempty" doc:"The microphone may still be on although it should be off. It carries only what we play."`
	MuteError  string `json:"mute_error,omitempty" arg:"untrusted" doc:"Why it could not be switched off."`
	Speaking   bool   `json:"speaking,omitempty" doc:"We are being heard now."`
	HostMuted  bool   `json:"host_muted,omitempty" doc:"Somebody else muted us. We stay muted until the host asks us to speak, or meeting_mute {on: false} does."`
	HandUp     bool   `json:"hand_up,omitempty" doc:"Our hand is up."`

	Incomplete bool `json:"incomplete,omitempty" doc:"Something of the recording or the transcript could not be kept; warnings says what."`

	Question *Question  `json:"question,omitempty" doc:"An open question; answer it with meeting_answer."`
	Warnings []string   `json:"warnings,omitempty" doc:"What is not as it should be, in sentences."`
	Lobby    *LobbySeen `json:"lobby,omitempty" doc:"With dry_run: what the lobby shows."`

	RequestedAt *time.Time `json:"requested_at,omitempty" doc:"When the join was asked for."`
	AdmittedAt  *time.Time `json:"admitted_at,omitempty" doc:"When we were let in."`
	EndedAt     *time.Time `json:"ended_at,omitempty" doc:"When it ended."`
	DurationS   float64    `json:"duration_s,omitempty" doc:"Seconds from being let in to the end, or to now."`
	Next        int64      `json:"next,omitempty" doc:"Give this to meeting_listen as since to hear what happens from here on."`
	Hint        string     `json:"hint,omitempty" doc:"What to call next."`
}

// Person is somebody in the call.
type Person struct {
	ID       string `json:"id,omitempty" arg:"untrusted" doc:"The platform's id, where there is one."`
	Name     string `json:"name" arg:"untrusted" doc:"As shown."`
	Self     bool   `json:"self,omitempty" doc:"That is us."`
	Host     bool   `json:"host,omitempty" doc:"Host or co-host."`
	Muted    bool   `json:"muted,omitempty" doc:"Their microphone is off."`
	HandUp   bool   `json:"hand_up,omitempty" doc:"Their hand is up."`
	LikelyAI bool   `json:"likely_ai,omitempty" doc:"Most likely another bot."`
}

// Announced is how the announcement went.
type Announced struct {
	Mode     string   `json:"mode" doc:"chat, host or none: what was asked for."`
	SentTo   string   `json:"sent_to" doc:"everyone, host, none, failed, or pending."`
	Reason   string   `json:"reason,omitempty" doc:"Why it did not reach everyone: chat-restricted, chat-unavailable, sent-privately, not-sent, not-confirmed, host-unreachable."`
	Failures []string `json:"failures,omitempty" arg:"untrusted" doc:"What each attempt ran into."`
	Late     bool     `json:"late,omitempty" doc:"It was said again, to people who came later."`
}

// Ledger is who was told what, how and when; who objected; what was deleted. It holds no content.
type Ledger struct {
	Meeting string        `json:"meeting_id" doc:"The meeting."`
	Entries []LedgerEntry `json:"entries" doc:"In the order in which they happened."`
}

// LedgerEntry is a line of the consent ledger.
type LedgerEntry struct {
	At      time.Time      `json:"at" doc:"When."`
	What    string         `json:"what" doc:"announced, announce-failed, not-announced, present, joined-late, recording-started, recording-stopped, objection, deletion-asked, deleted, delete-failed, confirmed, confirm-failed."`
	How     string         `json:"how,omitempty" doc:"chat, host, voice, tool or none."`
	SentTo  string         `json:"sent_to,omitempty" doc:"everyone, host, none or failed."`
	Text    string         `json:"text,omitempty" doc:"Which announcement it was, by its name; custom is one of the tenant's own."`
	TextSum string         `json:"text_sha256,omitempty" doc:"The SHA-256 of what was sent, so that the wording can be proven."`
	People  []LedgerPerson `json:"people,omitempty" doc:"Whom the page showed at that moment; for an objection, who objected."`
	Count   int            `json:"count,omitempty" doc:"How many others the page counted."`
	Lang    string         `json:"lang,omitempty" doc:"Language of an objection."`
	Reason  string         `json:"reason,omitempty" doc:"Why it failed, or why nobody was told."`
}

// LedgerPerson is somebody as the page named them.
type LedgerPerson struct {
	ID   string `json:"id,omitempty" arg:"untrusted" doc:"The page's id."`
	Name string `json:"name,omitempty" arg:"untrusted" doc:"The shown name."`
}

// Transcribe is how the live transcript is doing.
type Transcribe struct {
	State         string   `json:"state" doc:"off, starting, on, stopped, failed."`
	Engine        string   `json:"engine,omitempty" doc:"Who recognises the speech."`
	ZeroRetention *bool    `json:"zero_retention,omitempty" doc:"Nothing is kept by the engine; absent when unknown."`
	Segments      int      `json:"segments,omitempty" doc:"Finals so far."`
	StreamedMin   float64  `json:"streamed_min,omitempty" doc:"Minutes of audio given to the engine."`
	TodayMin      *float64 `json:"today_min,omitempty" doc:"Minutes used today, for a paid engine."`
	DailyCapMin   *float64 `json:"daily_cap_min,omitempty" doc:"Minutes allowed per day, for a paid engine."`
	FinalLagS     *float64 `json:"final_lag_s,omitempty" doc:"Seconds from the end of speech to its final text, lately."`
	VADSilenceS   *float64 `json:"vad_silence_s,omitempty" doc:"The pause that ends a segment."`
	Warning       string   `json:"warning,omitempty" doc:"Why it is off or worse than usual."`
}

// Question is something only the agent or a person can decide.
type Question struct {
	ID       string     `json:"question_id" doc:"Give this to meeting_answer."`
	Kind     string     `json:"kind" doc:"What it is about: announce-failed, consent-gate, dialog or challenge."`
	Text     string     `json:"text" arg:"untrusted" doc:"What is asked, quoting the page where the page asks."`
	Choices  []string   `json:"choices" arg:"untrusted" doc:"The answers there are."`
	Default  string     `json:"default,omitempty" arg:"untrusted" doc:"What happens when nobody answers in time."`
	Deadline *time.Time `json:"deadline,omitempty" doc:"Until when."`
}

// LobbySeen is what a dry run saw at the door.
type LobbySeen struct {
	Kind       string `json:"kind" doc:"account or guest."`
	JoinButton string `json:"join_button,omitempty" arg:"untrusted" doc:"The button that a join would click."`
	Challenge  bool   `json:"challenge" doc:"A challenge is shown."`
	SignedIn   *bool  `json:"signed_in,omitempty" doc:"The profile is signed in; absent when unknown."`
	Page       string `json:"page,omitempty" arg:"untrusted" doc:"Where the page is, without its query."`
}

// ListArgs choose meetings.
type ListArgs struct {
	State string `json:"state,omitempty" arg:"enum=running|ended|all,default=all" doc:"Which meetings."`
	Limit int    `json:"limit,omitempty" arg:"min=1,max=200,default=20" doc:"How many at most."`
}

// List is a tenant's meetings.
type List struct {
	Meetings []Summary `json:"meetings" doc:"The newest first."`
	More     bool      `json:"more,omitempty" doc:"There are older ones; raise limit."`
}

// Summary is a meeting in a list.
type Summary struct {
	Meeting          string     `json:"meeting_id" doc:"The meeting's id."`
	Platform         string     `json:"platform,omitempty" doc:"Whose room it is."`
	State            State      `json:"state" doc:"As in meeting_status."`
	Reason           string     `json:"reason,omitempty" doc:"Why it ended."`
	Title            string     `json:"title,omitempty" arg:"untrusted" doc:"The meeting's title."`
	Participants     *int       `json:"participants,omitempty" doc:"How many are in the call."`
	Recording        bool       `json:"recording" doc:"Sound is being written now."`
	RecordingState   string     `json:"recording_state,omitempty" doc:"none, writing, ready, damaged, deleted."`
	RecordingSeconds float64    `json:"recording_seconds" doc:"How much was recorded."`
	Segments         int        `json:"segments,omitempty" doc:"Finals in the transcript."`
	RequestedAt      time.Time  `json:"requested_at" doc:"When the join was asked for."`
	EndedAt          *time.Time `json:"ended_at,omitempty" doc:"When it ended."`
}

// ListenArgs say from where on and how long to listen.
type ListenArgs struct {
	MeetingArgs
	Cursor  *int64   `json:"cursor,omitempty" arg:"min=0,max=9007199254740991" doc:"The cursor of the last answer; 0 is from the beginning. With it (or wait_s) what was said comes as turns: whole thoughts, as a conversation wants them."`
	WaitS   *float64 `json:"wait_s,omitempty" arg:"min=0,max=50" doc:"How long to wait in seconds when nothing has happened yet; 0 returns at once. Default: 25."`
	Turns   *bool    `json:"turns,omitempty" doc:"What was said as turns instead of segment by segment. Default: true with cursor or wait_s, else false."`
	Since   int64    `json:"since,omitempty" arg:"min=0,max=9007199254740991" doc:"The same as cursor, without turns: for following a meeting rather than talking in it."`
	Timeout float64  `json:"timeout_sec,omitempty" arg:"min=0,max=50,default=25" doc:"The same as wait_s."`
	Kinds   []string `json:"kinds,omitempty" arg:"max=20,enum=state|question|chat|optout|announce|people|transcript|transcript-stopped|turn|turn-extended|interrupted|speech|mic-open|fault|rejoined|ended" doc:"Only these kinds. Default: all, with transcript or turn as turns says."`
	Partial bool     `json:"partials,omitempty" doc:"Also give unfinished speech that comes while this waits, the newest only."`
	Limit   int      `json:"limit,omitempty" arg:"min=1,max=500,default=100" doc:"How many events at most."`
}

// Heard is what happened.
type Heard struct {
	Meeting string  `json:"meeting_id" doc:"The meeting's id."`
	State   State   `json:"state" doc:"Where we stand now."`
	Events  []Event `json:"events" doc:"The oldest first."`
	Next    int64   `json:"next" doc:"Give this as since next time."`
	Cursor  int64   `json:"cursor" doc:"The same number, to give as cursor."`
	Missed  int     `json:"missed,omitempty" doc:"So many events are no longer kept; meeting_transcript and meeting_chat_read have what is left of them."`
	Ended   bool    `json:"ended,omitempty" doc:"Nothing will follow."`
}

// AnswerArgs answer a question.
type AnswerArgs struct {
	MeetingArgs
	Question string `json:"question_id" arg:"required,maxlen=64" doc:"From the question."`
	Choice   string `json:"choice" arg:"required,maxlen=200" doc:"One of its choices."`
	IdempotencyKey
}

// Answered confirms an answer.
type Answered struct {
	Meeting  string `json:"meeting_id" doc:"The meeting's id."`
	Question string `json:"question_id" doc:"The question."`
	Choice   string `json:"choice" doc:"What was chosen."`
	State    State  `json:"state" doc:"Where we stand now."`
}

// ChatReadArgs say from where on to read.
type ChatReadArgs struct {
	MeetingArgs
	Since int64 `json:"since,omitempty" arg:"min=0" doc:"The next of the last answer; 0 is from the beginning."`
	Limit int   `json:"limit,omitempty" arg:"min=1,max=500,default=100" doc:"How many messages at most."`
}

// Chat is a stretch of a meeting's chat.
type Chat struct {
	Meeting  string        `json:"meeting_id" doc:"The meeting's id."`
	Messages []ChatMessage `json:"messages" doc:"The oldest first."`
	Next     int64         `json:"next" doc:"Give this as since next time."`
	Missed   int           `json:"missed,omitempty" doc:"So many older messages are no longer kept."`
}

// ChatMessage is one message.
type ChatMessage struct {
	Seq     int64     `json:"seq" doc:"Its number in this meeting."`
	At      time.Time `json:"at" doc:"When it was seen."`
	Sender  string    `json:"sender" arg:"untrusted" doc:"As shown."`
	Text    string    `json:"text" arg:"untrusted" doc:"What was written."`
	Own     bool      `json:"own,omitempty" doc:"We wrote it."`
	Private bool      `json:"private,omitempty" doc:"To us alone."`
}

// ChatSendArgs are a message to send.
type ChatSendArgs struct {
	MeetingArgs
	Text string `json:"text" arg:"required,maxlen=2000" doc:"What to write."`
	To   string `json:"to,omitempty" arg:"enum=everyone|host" doc:"Default: those who got the announcement."`
	IdempotencyKey
}

// ChatSent proves a message.
type ChatSent struct {
	Meeting string `json:"meeting_id" doc:"The meeting's id."`
	SentTo  string `json:"sent_to" doc:"everyone or host: who was really reached."`
	Seq     int64  `json:"seq,omitempty" doc:"Its number in meeting_chat_read."`
}

// TranscriptArgs say from where on to read.
type TranscriptArgs struct {
	MeetingArgs
	Since int64 `json:"since,omitempty" arg:"min=0" doc:"The next of the last answer; 0 is from the beginning."`
	Limit int   `json:"limit,omitempty" arg:"min=1,max=2000,default=500" doc:"How many segments at most."`
}

// Transcript is a stretch of what was said.
type Transcript struct {
	Meeting  string `json:"meeting_id" doc:"The meeting's id."`
	State    State  `json:"state" doc:"Where we stand now."`
	Segments []Line `json:"segments" doc:"In the order in which they began."`
	Next     int64  `json:"next" doc:"Give this as since next time. It is a place in the transcript file, so that a later correction is seen too."`
	More     bool   `json:"more,omitempty" doc:"There is more now; call again."`
	Deleted  bool   `json:"deleted,omitempty" doc:"The text was deleted."`
}

// Line is one finished segment.
type Line struct {
	Seq      int64     `json:"seq" doc:"Its number; a correction has the same one."`
	Rev      int       `json:"rev,omitempty" doc:"Which version this is."`
	Start    float64   `json:"start_s" doc:"Seconds since the recording began."`
	End      float64   `json:"end_s" doc:"Seconds since the recording began."`
	Text     string    `json:"text" arg:"untrusted" doc:"What was said."`
	Lang     string    `json:"lang,omitempty" doc:"Language."`
	Final    bool      `json:"final" doc:"false while it is still being said."`
	Speaker  *Speaker  `json:"speaker,omitempty" doc:"Who said it, when known."`
	Speakers []Speaker `json:"speakers,omitempty" doc:"All who spoke meanwhile."`
	Echo     bool      `json:"echo_suspected,omitempty" doc:"Most likely our own voice coming back."`

	Unfinished bool `json:"unfinished,omitempty" doc:"The recogniser did not come to the end of it; words behind it may be missing."`
}

// Speaker is who said something.
type Speaker struct {
	ID         string  `json:"id,omitempty" arg:"untrusted" doc:"The platform's id."`
	Name       string  `json:"name,omitempty" arg:"untrusted" doc:"As shown."`
	Confidence float64 `json:"confidence,omitempty" doc:"0 to 1."`
	Source     string  `json:"source,omitempty" doc:"track, highlight or captions: what told us."`
}

// RecordingFile is a finished recording on disk.
type RecordingFile struct {
	Path    string
	Bytes   int64
	Seconds float64
	Name    string // to download as
	MIME    string
}

// RecordingLink is where to fetch a recording.
type RecordingLink struct {
	Meeting  string  `json:"meeting_id" doc:"The meeting's id."`
	URL      string  `json:"get_url" arg:"verbatim" doc:"Works once, until the whole file was sent."`
	Size     int64   `json:"size" doc:"Bytes."`
	Seconds  float64 `json:"seconds" doc:"Length of the recording."`
	ValidMin int     `json:"valid_min" doc:"Minutes until the link ends."`
	Curl     string  `json:"curl" arg:"verbatim" doc:"The command that downloads it."`
}

// SpeakArgs are what to say and how.
type SpeakArgs struct {
	MeetingArgs
	Text      string `json:"text,omitempty" arg:"maxlen=2000" doc:"What to say. Start with a short sentence for a quick answer."`
	AudioFile string `json:"audio_file_id,omitempty" arg:"maxlen=64" doc:"An uploaded sound file to play instead of text."`
	Lang      string `json:"lang,omitempty" arg:"maxlen=16" doc:"Language of the text, such as en or de. Default: the voice's."`
	Voice     string `json:"voice,omitempty" arg:"maxlen=64" doc:"Which voice. Default: the tenant's setting."`
	Backend   string `json:"backend,omitempty" arg:"maxlen=32" doc:"Who makes the voice. Default: the tenant's setting, else the local engine."`
	Model     string `json:"model,omitempty" arg:"maxlen=64" doc:"The backend's model."`
	AutoMute  bool   `json:"auto_mute,omitempty" arg:"default=true" doc:"Mute again when it was said. A microphone that was on before stays on."`
	Interrupt bool   `json:"interrupt,omitempty" doc:"Replace what is being said now, instead of being refused."`
	Wait      bool   `json:"wait,omitempty" doc:"Return when it was said, rather than when it begins to sound."`
	Turn      int64  `json:"turn_seq,omitempty" arg:"min=1" doc:"The turn of meeting_listen that the text answers. Then it returns at once, is said behind what is being said, leaves out what a draft has said already, and is dropped if that speaker went on. With text alone."`
	IdempotencyKey
}

// Spoken is how speaking went.
type Spoken struct {
	Meeting   string  `json:"meeting_id" doc:"The meeting's id."`
	Utterance string  `json:"utterance_id" doc:"Its id in speech events."`
	State     string  `json:"state" doc:"playing, done, interrupted or failed; with turn_seq queued, or dropped with the reason."`
	DurationS float64 `json:"duration_s,omitempty" doc:"How long it is, as far as it is synthesized."`
	PrepareMS int     `json:"prepare_ms" doc:"Synthesis and unmuting until the first sound was ready."`
	StartMS   int     `json:"start_ms" doc:"From the call to the first sound."`
	GapMS     int     `json:"gap_ms" doc:"The longest pause between pieces because synthesis fell behind."`
	Said      string  `json:"said,omitempty" doc:"The text that was played, by the playback clock; with wait, or when it was interrupted."`
	Unsaid    string  `json:"unsaid,omitempty" doc:"With interrupted: the text that was not."`
	CutBy     string  `json:"cut_by,omitempty" doc:"With interrupted: stop, interrupt, barge-in, host-mute, cancel, leave or objection."`
	CutAfter  int     `json:"cut_after_ms,omitempty" doc:"With interrupted: how long it had sounded."`
	MicOpen   bool    `json:"mic_open,omitempty" doc:"The microphone may still be on. It carries only what we play."`
	MuteError string  `json:"mute_error,omitempty" arg:"untrusted" doc:"Why the microphone could not be switched off again."`
	Proof     *Proof  `json:"proof,omitempty" doc:"When it is over: what shows that it was heard."`
	SpokenTo
}

// SpokenTo is what became of a text that answers a turn.
type SpokenTo struct {
	Reason        string `json:"reason,omitempty" doc:"With dropped: why, such as superseded_by_new_speech, interrupted or too-much-waiting. With failed: why the rest of the text cannot be said."`
	Superseded    bool   `json:"superseded_by_new_speech,omitempty" doc:"Somebody has spoken since that turn."`
	LastTurn      int64  `json:"last_turn_seq,omitempty" doc:"The last turn that you were given."`
	PrefixSkipped bool   `json:"draft_prefix_skipped,omitempty" doc:"It begins with the draft that was said, so only what follows is said."`
}

// Proof is what shows that an utterance was heard in the meeting.
type Proof struct {
	Heard      string   `json:"heard" doc:"true, false or unknown: sound at the microphone's source, the microphone on, and the page showing us speaking where it can."`
	LevelDB    *float64 `json:"level_db,omitempty" doc:"The loudest moment at the microphone's source, in dBFS; absent when it was not measured."`
	Microphone string   `json:"microphone" doc:"The worst that the page showed meanwhile: on, off, blocked or unknown."`
	Shown      string   `json:"shown_speaking,omitempty" doc:"yes or no: whether the page showed us speaking; absent where it never does."`
}

// SpeakingStopped is what was cut off.
type SpeakingStopped struct {
	Meeting string `json:"meeting_id" doc:"The meeting's id."`
	Stopped bool   `json:"stopped" doc:"Something was being said or waited."`
	Said    string `json:"said,omitempty" doc:"What was heard of it."`
	Unsaid  string `json:"unsaid,omitempty" doc:"What was not."`
}

// MuteArgs switch the microphone.
type MuteArgs struct {
	MeetingArgs
	On bool `json:"on" arg:"required" doc:"true mutes, false opens the microphone (it carries only what we play)."`
}

// exposes tells a call that opens the microphone from one that protects people.
func (a MuteArgs) exposes() bool { return !a.On }

// Muted is the microphone as the page shows it.
type Muted struct {
	Meeting    string `json:"meeting_id" doc:"The meeting's id."`
	Microphone string `json:"microphone" doc:"on, off, blocked or unknown."`
}

// HandArgs raise or lower the hand.
type HandArgs struct {
	MeetingArgs
	On bool `json:"on" arg:"required" doc:"true raises the hand, false lowers it."`
}

// Hand is the hand as the page shows it.
type Hand struct {
	Meeting string `json:"meeting_id" doc:"The meeting's id."`
	Up      bool   `json:"hand_up" doc:"Whether it is up."`
}

// StopRecordingArgs stop a recording.
type StopRecordingArgs struct {
	MeetingArgs
	Delete bool `json:"delete,omitempty" doc:"Also delete what was recorded and written down so far."`
}

// RecordingStopped is a recording that stopped.
type RecordingStopped struct {
	Meeting string  `json:"meeting_id" doc:"The meeting's id."`
	Stopped bool    `json:"stopped" doc:"false when nothing was being recorded."`
	Deleted bool    `json:"deleted" doc:"The recording and the transcript's text are gone."`
	Seconds float64 `json:"recording_seconds" doc:"How much is kept."`
}

// RecordingDeleted is a recording that is gone.
type RecordingDeleted struct {
	Meeting string `json:"meeting_id" doc:"The meeting's id."`
	Deleted bool   `json:"deleted" doc:"It is gone, also when it was before."`
}

// Left is a meeting that we left.
type Left struct {
	Meeting          string  `json:"meeting_id" doc:"The meeting's id."`
	State            State   `json:"state" doc:"leaving or ended."`
	Reason           string  `json:"reason,omitempty" doc:"Why it ended."`
	RecordingSeconds float64 `json:"recording_seconds" doc:"How much was recorded."`
	Hint             string  `json:"hint,omitempty" doc:"What to call next."`
}

func (m MeetingArgs) meetingID() string { return m.Meeting }

func (k IdempotencyKey) idempotencyKey() string { return k.Key }

func (a ListenArgs) wait() time.Duration {
	return time.Duration(a.settled().Timeout * float64(time.Second))
}

// settled makes one of the two ways to say the same: Since, Timeout and Turns are set.
func (a ListenArgs) settled() ListenArgs {
	conversing := a.Cursor != nil || a.WaitS != nil
	if a.Cursor != nil {
		a.Since = *a.Cursor
	}
	if a.WaitS != nil {
		a.Timeout = *a.WaitS
	}
	if a.Turns == nil {
		a.Turns = &conversing
	}
	a.Cursor, a.WaitS = nil, nil
	return a
}

// Wants tells whether an event is of a kind that was asked for.
func (a ListenArgs) Wants(e Event) bool {
	if e.Partial() && !a.Partial {
		return false
	}
	if len(a.Kinds) > 0 {
		return slices.Contains(a.Kinds, string(e.Kind))
	}
	turns := a.Turns != nil && *a.Turns
	return !(e.Kind == EventTurn && !turns) && !(e.Kind == EventTranscript && turns && !e.Partial())
}

func (a SpeakArgs) wait() time.Duration {
	if !a.Wait {
		return 0
	}
	return MaxDeadline
}
