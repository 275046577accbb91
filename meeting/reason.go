package meeting

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Reason is why an attendance ended: a code of the table in reasons.json.
type Reason string

// The reasons that code names. The table says what each means and what to try.
const (
	ReasonDenied             Reason = "denied"
	ReasonNoAnswer           Reason = "no-answer"
	ReasonRefusedByPlatform  Reason = "refused-by-platform"
	ReasonSignInRequired     Reason = "sign-in-required"
	ReasonCaptcha            Reason = "captcha"
	ReasonBotWall            Reason = "bot-wall"
	ReasonInvalidMeeting     Reason = "invalid-meeting"
	ReasonNotStarted         Reason = "not-started"
	ReasonPasscodeWrong      Reason = "passcode-wrong"
	ReasonWebClientOff       Reason = "web-client-off"
	ReasonUnsupportedVariant Reason = "unsupported-variant"
	ReasonUnreachable        Reason = "unreachable"
	ReasonStartFailed        Reason = "start-failed"
	ReasonJoinFailed         Reason = "join-failed"
	ReasonDevicesOn          Reason = "devices-on"
	ReasonAnnounceFailed     Reason = "announce-failed"
	ReasonPageLost           Reason = "page-lost"
	ReasonSoundLost          Reason = "sound-lost"
	ReasonTimeout            Reason = "timeout"
	ReasonRemoved            Reason = "removed"
	ReasonEndedForAll        Reason = "ended-for-all"
	ReasonAlone              Reason = "alone"
	ReasonOnlyBots           Reason = "only-bots"
	ReasonSilent             Reason = "silent"
	ReasonMaxDuration        Reason = "max-duration"
	ReasonInviterAbsent      Reason = "inviter-absent"
	ReasonObjection          Reason = "objection"
	ReasonQuestionUnanswered Reason = "question-unanswered"
	ReasonDeclined           Reason = "declined"
	ReasonLeft               Reason = "left"
	ReasonDryRun             Reason = "dry-run"
	ReasonCapacity           Reason = "capacity"
	ReasonShutdown           Reason = "shutdown"
	ReasonCrashed            Reason = "crashed"
	ReasonInterrupted        Reason = "interrupted"
)

// Ending explains a Reason to a person.
type Ending struct {
	Reason Reason `json:"reason"`
	// What happened, in one sentence.
	What string `json:"what"`
	// Try says what to do about it; empty when there is nothing to do.
	Try string `json:"try,omitempty"`
	// Expected ends are how meetings end; the others went wrong.
	Expected bool `json:"expected,omitempty"`
	// Where it is decided: "door" (before we are in), "inside", "service".
	Where string `json:"where"`
}

//go:embed reasons.json
var reasonsJSON []byte

// Endings is the table of ends, in the order of the documentation.
var Endings = func() []Ending {
	var t []Ending
	if err := json.Unmarshal(reasonsJSON, &t); err != nil {
		panic(fmt.Sprintf("meeting/reasons.json: %v", err)) // embedded: a test reads it first
	}
	return t
}()

var endings = func() map[Reason]Ending {
	m := make(map[Reason]Ending, len(Endings))
	for _, e := range Endings {
		m[e.Reason] = e
	}
	return m
}()

// Known says whether the reason stands in the table. refused_by_google and its like are refused-by-platform.
func (r Reason) Known() bool { _, ok := endings[r]; return ok }

// Ending looks the reason up. A reason that is not in the table explains itself by its code.
func (r Reason) Ending() Ending {
	if e, ok := endings[r]; ok {
		return e
	}
	return Ending{Reason: r, What: "The meeting ended: " + string(r) + ".", Where: "door"}
}
