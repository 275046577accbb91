package wire

import "encoding/json"

// Start is everything a worker needs in order to attend one meeting. It is the first message, and the only way in for
// secrets: they are never in arguments or in the environment.
type Start struct {
	MeetingID string `json:"meeting_id"`
	Tenant    string `json:"tenant"`
	// Link is where the meeting is, as the platform's module rewrote it. It may hold a passcode: never log it.
	Link     string `json:"link"`
	Platform string `json:"platform"`
	Name     string `json:"name"`
	Owner    string `json:"owner,omitempty"`
	Engine   string `json:"engine,omitempty"`
	DryRun   bool   `json:"dry_run,omitempty"`

	Permits  Permits  `json:"permits"`
	Wishes   Wishes   `json:"wishes"`
	Limits   Limits   `json:"limits"`
	Paths    Paths    `json:"paths"`
	Speech   Speech   `json:"speech"`
	Browser  Browser  `json:"browser,omitzero"`
	Account  string   `json:"account,omitempty"` // system user for display, sound and browser; empty: as we are
	Sandbox  bool     `json:"sandbox"`
	Profile  *Profile `json:"profile,omitempty"`
	LiveSock string   `json:"live_socket,omitempty"` // Unix socket on which the live view is to be served
	// Secrets by name (API keys of engines).
	Secrets map[string]string `json:"secrets,omitempty"`
	// Egress holds the rules for the proxy of the browser, in the form of guard/egress; empty: no proxy.
	Egress json.RawMessage `json:"egress,omitempty"`
	// Extra is for adapters that this package does not know about.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Permits are what the caller of the join allowed.
type Permits struct {
	Record      bool `json:"record,omitempty"`
	Speak       bool `json:"speak,omitempty"`
	Chat        bool `json:"chat,omitempty"`
	NoAnnounce  bool `json:"no_announce,omitempty"`
	AcceptGates bool `json:"accept_gates,omitempty"`
}

// Wishes are how the meeting is to be attended. The words are those of meeting.Options.
type Wishes struct {
	Record            bool     `json:"record"`
	Transcribe        bool     `json:"transcribe,omitempty"`
	Partials          bool     `json:"partials,omitempty"`
	Announce          string   `json:"announce,omitempty"`
	AnnounceReason    string   `json:"announce_reason,omitempty"`
	AnnounceText      string   `json:"announce_text,omitempty"`
	Langs             []string `json:"langs,omitempty"`
	OnAnnounceFailure string   `json:"on_announce_failure,omitempty"`
	StayOnOptOut      bool     `json:"stay_on_optout,omitempty"`
	DeafToVoice       bool     `json:"deaf_to_voice,omitempty"`
	ConsentGate       string   `json:"consent_gate,omitempty"`
	AskHuman          bool     `json:"ask_human,omitempty"`
	Inviter           string   `json:"inviter,omitempty"`
	// Captions switches the platform's own captions on, as a second source of who speaks.
	Captions bool `json:"captions,omitempty"`
}

// Limits are the bounds of the attendance, in milliseconds; zero is the default of meeting.Options.
type Limits struct {
	AdmissionHold int64 `json:"admission_hold_ms,omitempty"`
	MaxWait       int64 `json:"max_wait_ms,omitempty"`
	AloneAfter    int64 `json:"alone_after_ms,omitempty"`
	AloneAtFirst  int64 `json:"alone_at_first_ms,omitempty"`
	OnlyBotsAfter int64 `json:"only_bots_after_ms,omitempty"`
	SilentAfter   int64 `json:"silent_after_ms,omitempty"`
	MaxDuration   int64 `json:"max_duration_ms,omitempty"`
	InviterAfter  int64 `json:"inviter_after_ms,omitempty"`
	MaxUtterance  int   `json:"max_utterance,omitempty"` // characters
}

// Paths are where things lie on the machine of the worker.
type Paths struct {
	// Data is the data folder of the service.
	Data string `json:"data"`
	// Run is a short folder for sockets and temporary files of this meeting; the worker removes it.
	Run string `json:"run"`
	// Models is where speech models lie.
	Models string `json:"models,omitempty"`
}

// Speech are the effective speech settings of the tenant and the join.
type Speech struct {
	// RunDir is the run folder of the machine's speech process; empty: there is none.
	RunDir string `json:"run_dir,omitempty"`
	// NoTracks hears the mix only, although the platform may give a track for each participant.
	NoTracks    bool    `json:"no_tracks,omitempty"`
	Transcriber string  `json:"transcriber,omitempty"` // engine of the live transcript; empty: local
	Lang        string  `json:"lang,omitempty"`        // empty: detect
	SilenceMS   int64   `json:"silence_ms,omitempty"`
	Backend     string  `json:"backend,omitempty"` // engine of the voice; empty: local
	Voice       string  `json:"voice,omitempty"`
	Model       string  `json:"model,omitempty"`
	Speed       float64 `json:"speed,omitempty"`
	// Turn are the settings of the turn engine by name, as turn.Settings reads them; what is left out has its default.
	Turn map[string]string `json:"turn,omitempty"`
	// Policy names the policy that decides over turns; empty: the default.
	Policy string `json:"policy,omitempty"`
	// NoChannel keeps the meeting from becoming a channel.
	NoChannel bool `json:"no_channel,omitempty"`
	// Voices are the voices that are used when nothing else is said, by backend.
	Voices map[string]string `json:"voices,omitempty"`
	// URLs are where the services of other backends are, by name.
	URLs map[string]string `json:"urls,omitempty"`
	// Models are the models that are used when nothing else is said, by backend.
	Models map[string]string `json:"models,omitempty"`
	// Keys are what the services of other backends are shown, by name. The start message is the only place where they are
	// outside of the service, and it is kept nowhere.
	Keys map[string]string `json:"keys,omitempty"`
	// Allow is how many characters a backend that costs may still be given, by name; one that is not named costs nothing.
	Allow map[string]int64 `json:"allow,omitempty"`
}

// Profile is a browser profile that the service has locked; the locked descriptor is inherited.
type Profile struct {
	Name string `json:"name"`
	Path string `json:"path"`
	FD   int    `json:"fd"`
}

// Browser says which browser attends.
type Browser struct {
	// Path is the program; empty: the system's.
	Path string `json:"path,omitempty"`
}
