package seat

import (
	"math"
	"time"

	"parley/meeting"
	"parley/meeting/keeper"
	"parley/meeting/wire"
	"parley/tool"
)

// status words how a meeting is.
func (s *Seat) status(st keeper.Status) tool.Status {
	out := tool.Status{
		Meeting: st.ID, Platform: st.Platform, State: tool.State(st.State), Existing: st.Existing,
		Reason: st.Reason, HeldBy: st.HeldBy, Breakout: st.Breakout, JoinedAs: st.JoinedAs, Name: st.Name,
		Recording: st.Recording, RecordingSeconds: st.RecordingSeconds, RecordingState: keeper.RecordingState(st.Status),
		RecordingGapS: st.RecordingGapS, RecordingPath: st.RecordingPath, EvidencePath: st.Evidence, RecordingBytes: st.RecordingBytes,
		Optout: st.Objected, SpeakerLabels: st.Speakers, Microphone: st.Microphone, Camera: st.Camera,
		MicOpen: st.MicOpen, MuteError: st.MuteError, HostMuted: st.HostMuted, HandUp: st.HandUp, Speaking: st.Speaking != "",
		Warnings: st.Warnings, DurationS: st.DurationS, Next: st.Next,
	}
	if st.Reason != "" {
		out.ReasonText = sentence(st.What, st.Try)
	}
	if st.People != nil && st.People.Count >= 0 {
		n := st.People.Count
		out.Participants = &n
	}
	if st.People != nil {
		out.People = people(st.People.People)
	}
	if st.Announce != nil {
		out.Announce = announced(st.Announce)
	}
	if st.Transcript != "" {
		out.LiveTranscript = &tool.Transcribe{State: st.Transcript, Segments: int(st.Segments)}
		if st.Transcript != "off" {
			private := true // the local engine keeps nothing
			out.LiveTranscript.Engine, out.LiveTranscript.ZeroRetention = "local", &private
		}
		if st.SilenceMS > 0 {
			silence := float64(st.SilenceMS) / 1000
			out.LiveTranscript.VADSilenceS = &silence
		}
		out.LiveTranscript.StreamedMin = math.Round(st.StreamedS/0.6) / 100
		s.capped(st.Tenant, out.LiveTranscript)
		if st.LagMS > 0 {
			lag := float64(st.LagMS) / 1000
			out.LiveTranscript.FinalLagS = &lag
		}
	}
	for _, q := range st.Questions {
		if q.Closed == "" {
			out.Question = question(q, time.Now())
		}
	}
	if l := st.Lobby; l != nil {
		out.Lobby = &tool.LobbySeen{Kind: l.As, JoinButton: l.JoinButton, Challenge: l.Challenge, Page: l.Page}
		if l.SignedIn != "" {
			in := l.SignedIn == "yes"
			out.Lobby.SignedIn = &in
			if l.Profile && !in {
				out.Warnings = append(out.Warnings, "The profile is signed out here, so that this is a guest's visit. Open a session with it (session_open), and have a person sign in again (request_human).")
			}
		}
	}
	out.RequestedAt, out.AdmittedAt, out.EndedAt = timeOf(st.Requested), timeOf(st.Admitted), timeOf(st.EndedAt)
	lost := losses(st.Faults)
	out.Warnings, out.Incomplete = append(out.Warnings, lost...), len(lost) > 0
	if out.RecordingState == "damaged" {
		out.Warnings = append(out.Warnings, "The recording could not be made whole after its process died; what there is was kept, and recording_get gives it as it is.")
	}
	if st.Elsewhere {
		out.Warnings = append(out.Warnings, "Another service on the same data folder attends this meeting; what is told here comes from the disk.")
	}
	out.Hint = hint(out, st.Elsewhere)
	return out
}

func hint(s tool.Status, elsewhere bool) string {
	switch {
	case elsewhere:
		return "ask the service that attends it; meeting_transcript works here, too"
	case s.Question != nil:
		return "answer the question with meeting_answer"
	case s.State == tool.Ended && s.RecordingState == "ready":
		return "call recording_get {meeting_id}"
	case s.State == tool.Ended:
		return ""
	case s.State == tool.Attending:
		return "meeting_listen {meeting_id, since} tells what happens"
	}
	return "meeting_listen {meeting_id, since} tells when we are let in"
}

func sentence(what, try string) string {
	if try == "" {
		return what
	}
	return what + " " + try
}

func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func people(list []wire.Person) []tool.Person {
	out := make([]tool.Person, 0, len(list))
	for _, p := range list {
		out = append(out, tool.Person(p))
	}
	return out
}

func announced(a *wire.Announced) *tool.Announced {
	return &tool.Announced{Mode: a.Mode, SentTo: a.SentTo, Reason: a.Reason, Failures: a.Failures, Late: a.Late}
}

func question(q *wire.Question, at time.Time) *tool.Question {
	out := &tool.Question{ID: q.ID, Kind: q.Kind, Text: q.Text, Choices: q.Choices, Default: q.Default}
	if q.RemainingMS > 0 {
		d := at.Add(time.Duration(q.RemainingMS) * time.Millisecond)
		out.Deadline = &d
	}
	return out
}

// losses says what was given up for good, and so is missing from what the meeting leaves behind.
func losses(faults []*wire.Fault) []string {
	var out []string
	for _, f := range faults {
		if f.Action != "gave-up" {
			continue
		}
		switch meeting.Part(f.Part) {
		case meeting.PartRecorder:
			out = append(out, "The recording broke off ("+f.Kind+"); what was written until then is kept.")
		case meeting.PartDisk:
			if f.Kind == "delete-failed" {
				out = append(out, "The recording could not be removed; the next start of the service tries again. The log says why.")
				continue
			}
			out = append(out, "The disk did not take all of it ("+f.Kind+"): recording and transcript may be cut short. Make room in the data folder.")
		case meeting.PartSpeech:
			if f.Kind == "unfinished" {
				out = append(out, "The recogniser did not come to the end: the last words may be missing from the transcript. They are in the recording.")
			} else {
				out = append(out, "The live transcript broke off ("+f.Kind+"); the recording has what was said since.")
			}
		}
	}
	return out
}
