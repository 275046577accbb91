// Package seat is the service's meetings as its tools see them: it turns a tool's wishes into a keeper's joins and
// commands, and what a keeper tells into a tool's results and events.
package seat

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"parley/cmd/parley/internal/station"
	"parley/meeting/keeper"
	"parley/meeting/wire"
	"parley/platforms"
	"parley/speech/settings"
	"parley/store"
	"parley/tenant"
	"parley/tool"
)

// Door knows whose a link is. Its errors are *platforms.LinkError.
type Door func(text string) (platforms.Platform, platforms.Link, error)

// Options are what a Seat needs.
type Options struct {
	Keeper *keeper.Keeper
	Door   Door
	// Platforms are the names of the platforms that can be joined.
	Platforms []string
	Data      string
	Models    string
	// SpeechRun is the run folder of the speech process; empty: no local speech.
	SpeechRun string
	// Ready says whether live transcripts can be made, and if not, why. It is asked at each join.
	Ready func(ctx context.Context) (ok bool, why string)
	// Missing says what keeps this machine from attending meetings; empty: nothing. It is asked at each join.
	Missing func() (what, remedy string)

	Name              string // default name
	Owner             string
	OnAnnounceFailure string
	ConsentGate       string   // ask, accept, leave; empty: ask
	AnnounceLangs     []string // empty: en, de
	// Captions switches a platform's own captions on, as a second source of who speaks.
	Captions bool
	// Speech keeps the tenants' speech settings; SpeechEnv are the service's own, by name.
	Speech    *settings.Store
	SpeechEnv map[string]string
	// Meter counts what paid recognisers are used; nil: nothing is counted.
	Meter *Meter
	// TTSURL is the HTTP service of the supertonic backend; empty: there is none.
	TTSURL string
	// ElevenLabs is the key of that backend, and ElevenLabsURL where it is; without a key there is none.
	ElevenLabs, ElevenLabsURL string
	// AudioFile finds an uploaded sound by its id; nil: there are no uploads.
	AudioFile func(ctx context.Context, t tenant.ID, id string) (path string, err error)
	// Profiles are the browser profiles that a join may use; nil: there are none.
	Profiles Profiles
	Account  string
	Sandbox  bool
	// NoTracks hears the mix only, and knows who speaks by the page's marks alone.
	NoTracks bool
	Chromium string
}

// engine is the recogniser of live transcripts: the local one, which costs nothing.
const engine = "local"

// Seat implements tool.Meetings and tool.Watcher.
type Seat struct{ o Options }

// New makes a Seat.
func New(o Options) *Seat { return &Seat{o} }

const (
	// joinWait is how long meeting_join waits to say more than "requested".
	joinWait = 15 * time.Second
	// leastRoom is the free disk space a join asks for: an hour of recording and some.
	leastRoom = 64 << 20
)

// Join starts attending.
func (s *Seat) Join(ctx context.Context, by tool.Caller, a tool.JoinArgs) (tool.Status, error) {
	platform, link, err := s.o.Door(a.URL)
	if err != nil {
		return tool.Status{}, s.linkError(err)
	}
	if what, remedy := s.o.Missing(); what != "" {
		return tool.Status{}, tool.Fail(tool.CodeMissingDependency, "what", what, "remedy", remedy)
	}
	if a.Engine != "" && a.Engine != "chromium" {
		return tool.Status{}, tool.Fail(tool.CodeEngineUnavailable, "engine", a.Engine, "remedy", "Meetings are joined with chromium.")
	}
	if a.Lang != "" && !langForm.MatchString(a.Lang) {
		return tool.Status{}, tool.Fail(tool.CodeBadArgument, "what", "lang is a language's short name, such as en, de or pt-BR")
	}
	if a.Profile != "" && s.o.Profiles == nil {
		return tool.Status{}, tool.Fail(tool.CodeProfileUnknown, "profile", a.Profile)
	}
	if a.Rejoin == "once" {
		return tool.Status{}, tool.Fail(tool.CodeBadArgument, "what", "rejoin: once is not offered; never is the only way")
	}
	if a.Record && !a.DryRun {
		if free, ok := room(s.o.Data); ok && free < leastRoom {
			return tool.Status{}, tool.Fail(tool.CodeNoDiskSpace, "free", fmt.Sprintf("%d MB", free>>20))
		}
	}
	transcribe, why := false, ""
	if a.LiveTranscript == nil || *a.LiveTranscript {
		if transcribe, why = s.o.Ready(ctx); !transcribe && a.LiveTranscript == nil {
			why = "no live transcript: " + why
		} else if !transcribe {
			return tool.Status{}, tool.Fail(tool.CodeSpeechUnavailable, "what", why)
		}
	}
	speech, err := s.speech(by.Tenant.ID)
	if err != nil {
		return tool.Status{}, tool.Fail(tool.CodeStore).Because(err)
	}
	if transcribe && s.o.Meter != nil {
		if err := s.o.Meter.May(ctx, by.Tenant.ID, engine, time.Now()); err != nil {
			if a.LiveTranscript != nil {
				return tool.Status{}, tool.Fail(tool.CodeSpeechUnavailable, "what", err.Error())
			}
			transcribe, why = false, "no live transcript: "+err.Error()
		}
	}
	gate := orElse(a.ConsentGate, s.o.ConsentGate)
	langs := a.AnnounceLangs
	if len(langs) == 0 {
		langs = s.o.AnnounceLangs
	}
	permit := func(name string) bool { return slices.Contains(a.Permits, name) }
	start := wire.Start{
		Link: link.URL, Platform: platform.Name, Name: displayName(a.Name, s.o.Name), Owner: s.o.Owner, DryRun: a.DryRun,
		Permits: wire.Permits{
			Record: permit("record"), Speak: permit("speak"), Chat: permit("chat"), AcceptGates: permit("accept_consent") || gate == "accept",
			NoAnnounce: a.Announce == "none",
		},
		Wishes: wire.Wishes{
			Record: a.Record && permit("record"), Transcribe: transcribe && permit("record"), Partials: a.Partials,
			Announce: a.Announce, AnnounceReason: a.AnnounceReason, AnnounceText: a.AnnounceText,
			OnAnnounceFailure: orElse(a.OnAnnounceFailure, s.o.OnAnnounceFailure), StayOnOptOut: !a.LeaveOnOptout, AskHuman: a.AskHuman,
			ConsentGate: gate, Langs: langs, Inviter: a.Inviter, Captions: s.o.Captions,
		},
		Limits: wire.Limits{
			MaxWait:    int64(a.MaxWaitAdmitMin * 60_000),
			AloneAfter: int64(a.AloneLeaveSec) * 1000, AloneAtFirst: max(int64(a.AloneLeaveSec)*1000, 120_000),
			SilentAfter: int64(a.SilentLeaveMin * 60_000), MaxDuration: int64(a.MaxDurationMin * 60_000),
		},
		Paths:   wire.Paths{Models: s.o.Models},
		Speech:  s.wireSpeech(speech),
		Account: s.o.Account, Sandbox: s.o.Sandbox, Browser: wire.Browser{Path: s.o.Chromium},
	}
	if start.Extra, err = station.Carry(link); err != nil {
		return tool.Status{}, tool.Fail(tool.CodeInternal).Because(err)
	}
	if len(start.Speech.Keys) > 0 && s.o.Meter != nil {
		left, err := s.o.Meter.VoiceLeft(ctx, by.Tenant.ID, time.Now())
		if err != nil {
			return tool.Status{}, tool.Fail(tool.CodeStore).Because(err)
		}
		start.Speech.Allow = map[string]int64{settings.BackendElevenLabs: left}
	}
	start.Speech.Lang = a.Lang
	if a.VADSilence != nil {
		start.Speech.SilenceMS = int64(*a.VADSilence * 1000)
	}
	prepare := s.lend(by.Tenant.ID, a.Profile)
	wait := joinWait
	if !a.Wait {
		wait = 0
	}
	st, err := s.o.Keeper.Join(ctx, keeper.JoinRequest{
		Tenant: by.Tenant.ID, Platform: platform.Name, Key: link.Key, AllowDuplicate: a.AllowDuplicate, TenantMax: by.Tenant.Quota.Meetings, Wait: wait, Start: start, Prepare: prepare,
	})
	if err != nil {
		if e := profileError(err, a.Profile); e != nil {
			return tool.Status{}, e
		}
		return tool.Status{}, s.fail(err, "")
	}
	out := s.status(st)
	if why != "" && !st.Existing {
		out.Warnings = append(out.Warnings, why)
	}
	return out, nil
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

func room(dir string) (free int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}

// MaxMeetings is the limit that a setting of 0 stands for.
func MaxMeetings(setting int) int {
	if setting > 0 {
		return setting
	}
	return 2 * runtime.NumCPU()
}

var langForm = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)

func (s *Seat) linkError(err error) error {
	var l *platforms.LinkError
	if !errors.As(err, &l) {
		return tool.Fail(tool.CodeBadLink, "what", err.Error())
	}
	known := strings.Join(s.o.Platforms, ", ")
	e := tool.Fail(tool.CodeBadLink)
	switch {
	case l.Kind == platforms.Unsupported && l.Platform == "":
		return tool.Fail(tool.CodeUnknownPlatform, "known", known)
	case l.Kind == platforms.NoModule:
		e = tool.Fail(tool.CodeUnsupported)
		e.Remedy = "It attends meetings of " + known + "."
	case l.Kind == platforms.Unsupported:
		e = tool.Fail(tool.CodeUnsupported)
	}
	e.Text = asSentence(l.Text) // it says already what the code's own sentence would
	return e
}

// asSentence makes one of a text that is written to stand in one.
func asSentence(text string) string {
	first, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[n:] + "."
}

// fail turns an error of the keeper into one of the catalogue.
func (s *Seat) fail(err error, id string) error {
	var full *store.FullError
	var w *wire.Error
	switch {
	case errors.As(err, &full) && full.OfTenant:
		return tool.Fail(tool.CodeQuotaFull, "running", full.Running, "max", full.Max)
	case errors.As(err, &full):
		return tool.Fail(tool.CodeMeetingsFull, "running", full.Running, "max", full.Max)
	case errors.Is(err, keeper.ErrNotFound), errors.Is(err, store.ErrNotFound):
		return tool.Fail(tool.CodeMeetingNotFound, "meeting_id", id)
	case errors.Is(err, keeper.ErrClosing):
		return tool.Fail(tool.CodeShuttingDown)
	case errors.Is(err, keeper.ErrElsewhere):
		return tool.Fail(tool.CodeMeetingElsewhere, "meeting_id", id)
	case errors.Is(err, keeper.ErrWriting):
		return tool.Fail(tool.CodeRecordingWriting, "meeting_id", id)
	case errors.Is(err, keeper.ErrNoFile):
		return tool.Fail(tool.CodeNoRecording, "meeting_id", id)
	case errors.As(err, &w):
		return s.refusal(w, id, "")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err // the choke point words it
	}
	return tool.Fail(tool.CodeWorkerFailed, "what", err.Error()).Because(err)
}

// refusal words what a meeting's process answered to a command.
func (s *Seat) refusal(w *wire.Error, id, command string) error {
	switch w.Code {
	case wire.CodeNotYet:
		return tool.Fail(tool.CodeNotAdmitted, "meeting_id", id, "state", w.Text)
	case wire.CodeOver:
		return tool.Fail(tool.CodeMeetingEnded, "meeting_id", id, "reason", w.Text)
	case wire.CodeNotAllowed:
		return tool.Fail(tool.CodeNotPermitted, "permit", w.Text)
	case wire.CodeBusy:
		if command == "speak" {
			return tool.Fail(tool.CodeAlreadySpeaking)
		}
	case wire.CodeBadInput:
		return tool.Fail(tool.CodeBadArgument, "what", w.Text).Because(w)
	case wire.CodeFailed:
		if command == "speak" {
			return tool.Fail(tool.CodeSpeechUnavailable, "what", w.Text)
		}
	case wire.CodeUnavailable:
		if command == "speak" || command == "mute" {
			return tool.Fail(tool.CodeMicrophoneBlocked, "reason", w.Text)
		}
		return tool.Fail(tool.CodeUnsupported, "platform", "This meeting", "what", w.Text)
	case wire.CodeUncertain:
		if command == "chat_send" {
			return tool.Fail(tool.CodeChatNotConfirmed)
		}
	}
	return tool.Fail(tool.CodeWorkerFailed, "what", w.Text)
}
