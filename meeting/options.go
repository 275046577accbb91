package meeting

import (
	"time"

	"parley/turn"
)

// Options are what one attendance was asked to do. The zero value of each field is its default.
type Options struct {
	ID       ID
	Platform string
	// Name is our name in the meeting.
	Name string
	// Owner is whose notetaker we are, for the announcement; empty: nobody is named.
	Owner string
	// DryRun looks at the lobby and leaves.
	DryRun bool

	Permits Permits

	// Record keeps the sound. Without it nothing passes the gate unless Transcribe is set.
	Record bool
	// Transcribe writes down what is said, live.
	Transcribe bool
	// Silence is the pause that ends a segment, for the status.
	Silence time.Duration
	// Partials are reported while somebody speaks.
	Partials bool

	// Announce is who is told: chat (everyone), host, none. Zero: chat.
	Announce AnnounceMode
	// AnnounceReason is why nobody is told; needed with none.
	AnnounceReason string
	// AnnounceText replaces the text; empty: the built-in one in Langs.
	AnnounceText string
	// Langs are the languages of the built-in texts, in order; nil: en, de.
	Langs []string
	// OnAnnounceFailure says what happens when the announcement reached nobody. Zero: refuse.
	OnAnnounceFailure AnnounceFailure

	// StayOnOptOut keeps us in the meeting after an objection, never recording again.
	StayOnOptOut bool
	// DeafToVoice ignores objections that are spoken; those in the chat always count.
	DeafToVoice bool

	// ConsentGate answers dialogs that ask us to consent on behalf of our owner. Zero: ask.
	ConsentGate GatePolicy
	// AskHuman lets a challenge at the door wait for a person instead of ending the join.
	AskHuman bool

	// AdmissionHold is how long the page has to say "in" before we believe it.
	AdmissionHold time.Duration
	// MaxWait is how long we wait to be let in. Zero: 10 min.
	MaxWait time.Duration
	// AloneAfter is how long we stay when everybody else has left. Zero: 30 s.
	AloneAfter time.Duration
	// AloneAtFirst is how long we stay when nobody has come yet. Zero: 2 min.
	AloneAtFirst time.Duration
	// OnlyBotsAfter is how long we stay when only other bots are left. Zero: 2 min; negative: for ever.
	OnlyBotsAfter time.Duration
	// SilentAfter is how long we stay when nobody can be heard. Zero: for ever.
	SilentAfter time.Duration
	// MaxDuration is the longest time from admission. Zero: 8 h.
	MaxDuration time.Duration
	// Inviter is a shown name; we leave when nobody of that name is there for InviterAfter (zero: 5 min).
	Inviter      string
	InviterAfter time.Duration

	// Turn are the settings of the turn engine; nil: turn.Default.
	Turn *turn.Settings
	// Policy decides over turns; nil: the reference policy, with our voice lowered while somebody is heard.
	Policy turn.Policy
	// NoChannel keeps the conversation from becoming a channel; its messages are reported all the same.
	NoChannel bool

	// MaxUtterance is the longest text to be said at once, in characters. Zero: 2000.
	MaxUtterance int
}

// Permits are what the caller of the join allowed. Stop, mute, leave and delete never need one.
type Permits struct {
	Record      bool `json:"record,omitempty"`
	Speak       bool `json:"speak,omitempty"`
	Chat        bool `json:"chat,omitempty"`
	NoAnnounce  bool `json:"no_announce,omitempty"`  // may keep silent about recording
	AcceptGates bool `json:"accept_gates,omitempty"` // may accept consent gates
}

// AnnounceMode is who is told that we record.
type AnnounceMode string

// The ways to announce.
const (
	AnnounceChat AnnounceMode = "chat"
	AnnounceHost AnnounceMode = "host"
	AnnounceNone AnnounceMode = "none"
)

// AnnounceFailure is what happens when the announcement reached nobody.
type AnnounceFailure string

// The ways to go on.
const (
	FailRefuse   AnnounceFailure = "refuse"    // stay 60 s without recording, ask, then leave
	FailHostOnly AnnounceFailure = "host_only" // record when at least the host was told, else refuse
	FailRecord   AnnounceFailure = "record"    // record all the same, and say so
)

// GatePolicy is what to do at a consent gate.
type GatePolicy string

// The policies.
const (
	GateAsk    GatePolicy = "ask"
	GateAccept GatePolicy = "accept"
	GateLeave  GatePolicy = "leave"
)

func or[T comparable](v, zero T) T {
	var none T
	if v == none {
		return zero
	}
	return v
}

func (o *Options) fill() {
	o.Announce = or(o.Announce, AnnounceChat)
	o.OnAnnounceFailure = or(o.OnAnnounceFailure, FailRefuse)
	o.ConsentGate = or(o.ConsentGate, GateAsk)
	o.MaxWait = or(o.MaxWait, 10*time.Minute)
	o.AloneAfter = or(o.AloneAfter, 30*time.Second)
	o.AloneAtFirst = or(o.AloneAtFirst, 2*time.Minute)
	o.OnlyBotsAfter = or(o.OnlyBotsAfter, 2*time.Minute)
	o.MaxDuration = or(o.MaxDuration, 8*time.Hour)
	o.InviterAfter = or(o.InviterAfter, 5*time.Minute)
	o.MaxUtterance = or(o.MaxUtterance, 2000)
	if len(o.Langs) == 0 {
		o.Langs = []string{"en", "de"}
	}
}
