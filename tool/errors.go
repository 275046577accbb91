package tool

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/tool/schema"
)

// Code is what an agent tells errors apart by. The catalogue errors.json has the sentence and the remedy of each.
type Code string

// The codes that code names.
const (
	CodeUnauthenticated     Code = "unauthenticated"
	CodeNotAllowed          Code = "not_allowed"
	CodeGrantMissing        Code = "grant_missing"
	CodeUnknownTool         Code = "unknown_tool"
	CodeRateLimited         Code = "rate_limited"
	CodeTooManyCalls        Code = "too_many_calls"
	CodeBadArgument         Code = "bad_argument"
	CodeTextTooLong         Code = "text_too_long"
	CodeDenied              Code = "denied_by_policy"
	CodeNobodyToAsk         Code = "nobody_to_ask"
	CodeApprovalNeeded      Code = "approval_needed"
	CodeDeclined            Code = "declined"
	CodeNotReleasable       Code = "secret_not_releasable"
	CodeSecretExpired       Code = "secret_expired"
	CodeSecretElsewhere     Code = "secret_elsewhere"
	CodeIdempotencyConflict Code = "idempotency_conflict"
	CodeStillRunning        Code = "still_running"
	CodeOutcomeUnknown      Code = "outcome_unknown"
	CodeOutcomeErased       Code = "outcome_erased"
	CodeDeadline            Code = "deadline"
	CodeCancelled           Code = "cancelled"
	CodeShuttingDown        Code = "shutting_down"
	CodeAuditFailed         Code = "audit_failed"
	CodeStore               Code = "store_failed"
	CodeInternal            Code = "internal"

	CodeMeetingsOff       Code = "meetings_off"
	CodeMeetingNotFound   Code = "meeting_not_found"
	CodeMeetingEnded      Code = "meeting_ended"
	CodeMeetingElsewhere  Code = "meeting_elsewhere"
	CodeMeetingsFull      Code = "meetings_full"
	CodeQuotaFull         Code = "quota_full"
	CodeBadLink           Code = "bad_link"
	CodeUnknownPlatform   Code = "unknown_platform"
	CodeUnreachable       Code = "unreachable"
	CodeMissingDependency Code = "missing_dependency"
	CodeNoDiskSpace       Code = "no_disk_space"
	CodeWorkerFailed      Code = "worker_failed"
	CodeProfileUnknown    Code = "profile_unknown"
	CodeProfileInUse      Code = "profile_in_use"
	CodeEngineUnavailable Code = "engine_unavailable"
	CodeNotAdmitted       Code = "not_admitted"
	CodeNotAnnounced      Code = "not_announced"
	CodeNotPermitted      Code = "not_permitted"
	CodeUnsupported       Code = "unsupported"

	CodeChatUnavailable  Code = "chat_unavailable"
	CodeChatNotConfirmed Code = "chat_not_confirmed"

	CodeNothingToSay      Code = "nothing_to_say"
	CodeAlreadySpeaking   Code = "already_speaking"
	CodeMicrophoneBlocked Code = "microphone_blocked"
	CodeSpeechUnavailable Code = "speech_unavailable"
	CodeVoiceUnknown      Code = "voice_unknown"
	CodeFileNotFound      Code = "file_not_found"
	CodeFileWaiting       Code = "file_not_there_yet"
	CodeFileTooLarge      Code = "file_too_large"
	CodeTooManyFiles      Code = "too_many_files"
	CodeFileUnplayable    Code = "file_unplayable"

	CodeRecordingWriting Code = "recording_writing"
	CodeNoRecording      Code = "no_recording"
	CodeRecordingDeleted Code = "recording_deleted"
	CodeNoLinks          Code = "no_links"

	CodeSessionNotFound  Code = "session_not_found"
	CodeSessionNeeded    Code = "session_needed"
	CodeSessionsFull     Code = "sessions_full"
	CodeSessionGone      Code = "session_gone"
	CodeSessionBusy      Code = "session_busy"
	CodeProfileMismatch  Code = "profile_mismatch"
	CodeBrowserFailed    Code = "browser_failed"
	CodeTabNotFound      Code = "tab_not_found"
	CodeTooManyTabs      Code = "too_many_tabs"
	CodeBadURL           Code = "bad_url"
	CodeNavigationFailed Code = "navigation_failed"
	CodeNoHistory        Code = "no_history"
	CodeDialogOpen       Code = "dialog_open"
	CodeNoDialog         Code = "no_dialog"
	CodePageCrashed      Code = "page_crashed"
	CodePageSlow         Code = "page_slow"
	CodePageStopped      Code = "page_stopped"
	CodePageReplaced     Code = "page_replaced"
	CodePageWedged       Code = "page_wedged"
	CodePageMoved        Code = "page_moved"
	CodeRefStale         Code = "ref_stale"
	CodeRefUnknown       Code = "ref_unknown"
	CodeRefOtherTab      Code = "ref_other_tab"
	CodeElementNotReady  Code = "element_not_ready"
	CodeElementUnfit     Code = "element_unfit"
	CodeNotTyped         Code = "not_typed"
	CodeNoOption         Code = "no_option"
	CodeElementNotFound  Code = "element_not_found"
	CodeNothingToSee     Code = "nothing_to_see"

	CodeAgentUnavailable Code = "agent_unavailable"
	CodeAgentFailed      Code = "agent_failed"
	CodeAgentUnsafe      Code = "agent_unsafe"
	CodeNoTranscript     Code = "no_transcript"

	CodeQuestionUnknown Code = "question_unknown"
	CodeBadChoice       Code = "bad_choice"
)

// Entry is a line of the catalogue.
type Entry struct {
	Code Code `json:"code"`
	// Text is the sentence for a person, with {names} for what Fail fills in.
	Text string `json:"text"`
	// Remedy is what to do about it.
	Remedy string `json:"remedy"`
	// Retry is "no" (the same call will fail again), "later" (it may work), or "after" (it works once the
	// remedy is done).
	Retry string `json:"retry"`
	// Effect is true when the call may have taken effect all the same.
	Effect bool `json:"effect,omitempty"`
}

//go:embed errors.json
var catalogueJSON []byte

var catalogue = func() map[Code]Entry {
	var list []Entry
	if err := json.Unmarshal(catalogueJSON, &list); err != nil {
		panic("tool/errors.json: " + err.Error())
	}
	m := map[Code]Entry{}
	for _, e := range list {
		if _, twice := m[e.Code]; twice {
			panic("tool/errors.json: " + string(e.Code) + " stands twice")
		}
		m[e.Code] = e
	}
	return m
}()

// Catalogue is every error code, by name.
func Catalogue() []Entry {
	out := make([]Entry, 0, len(catalogue))
	for _, c := range slices.Sorted(maps.Keys(catalogue)) {
		out = append(out, catalogue[c])
	}
	return out
}

// Error is what a call answers with when it could not do what was asked.
type Error struct {
	Code Code
	// Text and Remedy are our own sentences.
	Text, Remedy string
	// Quoted is what a page or a person in the meeting said about it: untrusted.
	Quoted string
	// RetryAfter is when trying again makes sense; zero is unknown.
	RetryAfter time.Duration
	// Err has the details for the log. It is never shown to the caller.
	Err error
}

// Error is the sentence with what to do.
func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Text
	}
	return e.Text + " " + e.Remedy
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Quoting adds what a page said.
func (e *Error) Quoting(untrusted string) *Error { e.Quoted = untrusted; return e }

// Because adds the cause, for the log.
func (e *Error) Because(err error) *Error { e.Err = err; return e }

// After says when to try again.
func (e *Error) After(d time.Duration) *Error { e.RetryAfter = d; return e }

// Fail makes an error of the catalogue; pairs are names and values for the sentence's {names}.
// A code that is not in the catalogue becomes CodeInternal: a test keeps that from happening.
func Fail(code Code, pairs ...any) *Error {
	entry, ok := catalogue[code]
	if !ok {
		entry = catalogue[CodeInternal]
	}
	fill := func(s string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			s = strings.ReplaceAll(s, "{"+fmt.Sprint(pairs[i])+"}", shorten(fmt.Sprint(pairs[i+1]), 400))
		}
		return s
	}
	return &Error{Code: entry.Code, Text: fill(entry.Text), Remedy: fill(entry.Remedy)}
}

// asError turns whatever a handler gave into an *Error. What it does not know is CodeInternal, with the
// cause for the log only.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Fail(CodeInternal).Because(err)
}

func badArgument(err error) *Error {
	var long *schema.TooLong
	if errors.As(err, &long) {
		return Fail(CodeTextTooLong, "argument", long.Argument, "length", long.Length, "max", long.Max)
	}
	return Fail(CodeBadArgument, "what", err)
}

func shorten(s string, max int) string {
	if r := []rune(s); len(r) > max {
		return string(r[:max]) + "…"
	}
	return s
}
