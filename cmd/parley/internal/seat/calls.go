package seat

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/channel"
	"parley/meeting/files"
	"parley/meeting/keeper"
	"parley/meeting/wire"
	"parley/tenant"
	"parley/tool"
	"parley/transcript"
)

// Status tells how a meeting is.
func (s *Seat) Status(ctx context.Context, t tenant.ID, id string) (tool.Status, error) {
	st, err := s.o.Keeper.Status(ctx, t, id)
	if err != nil {
		return tool.Status{}, s.fail(err, id)
	}
	return s.status(st), nil
}

// List gives a tenant's meetings.
func (s *Seat) List(ctx context.Context, t tenant.ID, a tool.ListArgs) (tool.List, error) {
	// Filtered here, since what runs is told best by the keeper; the store's list is bounded as well.
	all, err := s.o.Keeper.List(ctx, t, 1000)
	if err != nil {
		return tool.List{}, s.fail(err, "")
	}
	out := tool.List{Meetings: []tool.Summary{}}
	for _, st := range all {
		over := st.State == "ended"
		if a.State == "running" && over || a.State == "ended" && !over {
			continue
		}
		if len(out.Meetings) == a.Limit {
			out.More = true
			break
		}
		full := s.status(st)
		out.Meetings = append(out.Meetings, tool.Summary{
			Meeting: full.Meeting, Platform: full.Platform, State: full.State, Reason: full.Reason, Title: full.Title,
			Participants: full.Participants, Recording: full.Recording, RecordingState: full.RecordingState,
			RecordingSeconds: full.RecordingSeconds, Segments: int(st.Segments), RequestedAt: st.Requested, EndedAt: full.EndedAt,
		})
	}
	return out, nil
}

// Listen gives the events after a cursor.
func (s *Seat) Listen(ctx context.Context, t tenant.ID, a tool.ListenArgs) (tool.Heard, error) {
	cursor, until := a.Since, time.Now().Add(time.Duration(a.Timeout*float64(time.Second)))
	out := tool.Heard{Meeting: a.Meeting, Events: []tool.Event{}, Next: cursor}
	listen := s.o.Keeper.Listen
	if a.Partial {
		listen = s.o.Keeper.ListenLive
	}
	for {
		heard, err := listen(ctx, t, a.Meeting, cursor, a.Limit, max(0, time.Until(until)))
		if err != nil {
			return tool.Heard{}, s.fail(err, a.Meeting)
		}
		if heard.Missed {
			out.Missed++
		}
		cursor, out.Next, out.Ended = heard.Next, heard.Next, heard.Over
		for _, ev := range heard.Events {
			e, ok := event(ev)
			if ok && a.Wants(e) {
				s.fillLine(&e)
				out.Events = append(out.Events, e)
			}
		}
		if len(out.Events) > 0 || heard.Over || time.Until(until) <= 0 || ctx.Err() != nil {
			break
		}
	}
	if st, err := s.o.Keeper.Status(ctx, t, a.Meeting); err == nil {
		out.State = tool.State(st.State)
	}
	return out, nil
}

// fillLine reads a segment's text from the transcript's file where the keeper kept only its number.
func (s *Seat) fillLine(e *tool.Event) {
	if e.Line == nil || e.Line.Text != "" {
		return
	}
	set, err := files.Of(s.o.Data, string(e.Tenant), e.Meeting)
	if err != nil {
		return
	}
	segs, err := transcript.ReadAll(set.Transcript())
	if err != nil {
		return // deleted meanwhile: the number alone is told
	}
	for _, seg := range segs {
		if int64(seg.Seq) == e.Line.Seq {
			l := line(seg, true)
			e.Line = &l
		}
	}
}

// Transcript gives what was said after a cursor.
func (s *Seat) Transcript(ctx context.Context, t tenant.ID, a tool.TranscriptArgs) (tool.Transcript, error) {
	st, err := s.o.Keeper.Status(ctx, t, a.Meeting)
	if err != nil {
		return tool.Transcript{}, s.fail(err, a.Meeting)
	}
	out := tool.Transcript{Meeting: a.Meeting, State: tool.State(st.State), Segments: []tool.Line{}, Next: a.Since, Deleted: st.Deleted}
	if st.Deleted {
		return out, nil
	}
	set, err := files.Of(s.o.Data, string(t), a.Meeting)
	if err != nil {
		return out, s.fail(keeper.ErrNotFound, a.Meeting)
	}
	page, err := transcript.ReadPage(set.Transcript(), transcript.Cursor(a.Since), a.Limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return out, nil // nobody has said anything yet
	case errors.Is(err, transcript.ErrCursor):
		return out, tool.Fail(tool.CodeBadArgument, "what", "since is no place in this transcript: give the next of an earlier answer, or 0 for the beginning")
	case errors.Is(err, transcript.ErrErased):
		out.Deleted = true
		return out, nil
	case err != nil:
		return out, tool.Fail(tool.CodeStore).Because(err)
	}
	at := map[int64]int{}
	for _, seg := range page.Segments {
		l := line(seg, true)
		if i, ok := at[l.Seq]; ok { // a correction within this page
			out.Segments[i] = l
			continue
		}
		at[l.Seq] = len(out.Segments)
		out.Segments = append(out.Segments, l)
	}
	out.Next, out.More = int64(page.Next), page.More
	return out, nil
}

// ChatRead gives chat messages after a number.
func (s *Seat) ChatRead(ctx context.Context, t tenant.ID, a tool.ChatReadArgs) (tool.Chat, error) {
	messages, missed, err := s.o.Keeper.Chat(ctx, t, a.Meeting, a.Since, a.Limit)
	if err != nil {
		return tool.Chat{}, s.fail(err, a.Meeting)
	}
	out := tool.Chat{Meeting: a.Meeting, Messages: []tool.ChatMessage{}, Next: a.Since}
	if missed {
		out.Missed = 1
	}
	for _, m := range messages {
		out.Messages = append(out.Messages, *chat(m.Chat, m.At))
		out.Next = m.N
	}
	return out, nil
}

// Recording finds the file of a finished recording.
func (s *Seat) Recording(ctx context.Context, t tenant.ID, id string) (tool.RecordingFile, error) {
	st, err := s.o.Keeper.Status(ctx, t, id)
	if err != nil {
		return tool.RecordingFile{}, s.fail(err, id)
	}
	if st.Deleted {
		return tool.RecordingFile{}, tool.Fail(tool.CodeRecordingDeleted, "meeting_id", id)
	}
	f, err := s.o.Keeper.Recording(ctx, t, id)
	if err != nil {
		return tool.RecordingFile{}, s.fail(err, id)
	}
	return tool.RecordingFile{Path: f.Path, Bytes: f.Bytes, Seconds: f.Seconds, Name: filepath.Base(f.Path), MIME: "audio/ogg"}, nil
}

// Consent is the consent ledger of a meeting.
func (s *Seat) Consent(ctx context.Context, t tenant.ID, id string) (tool.Ledger, error) {
	entries, err := s.o.Keeper.Consent(ctx, t, id)
	if err != nil {
		return tool.Ledger{}, s.fail(err, id)
	}
	l := tool.Ledger{Meeting: id, Entries: make([]tool.LedgerEntry, 0, len(entries))}
	for _, e := range entries {
		line := tool.LedgerEntry{At: e.At, What: e.What, How: e.How, SentTo: e.SentTo, Text: e.Text, TextSum: e.TextSum, Count: e.Count, Lang: e.Lang, Reason: e.Reason}
		for _, p := range e.People {
			line.People = append(line.People, tool.LedgerPerson(p))
		}
		l.Entries = append(l.Entries, line)
	}
	return l, nil
}

func (s *Seat) command(ctx context.Context, t tenant.ID, id string, c wire.Command) (wire.Answer, error) {
	if d, ok := ctx.Deadline(); ok {
		c.TimeoutMS = max(1, time.Until(d).Milliseconds()-250) // the answer has to come before the caller gives up
	}
	a, err := s.o.Keeper.Command(ctx, t, id, c)
	var w *wire.Error
	switch {
	case errors.As(err, &w) && endedSo(w, a.Speech):
		return a, nil
	case w != nil:
		return a, s.refusal(w, id, c.Name())
	case err != nil:
		return a, s.fail(err, id)
	}
	return a, nil
}

// endedSo says that an error is how a speech may end, rather than that nothing was done: it was cut off, or broke after
// something of it was heard. The answer says what.
func endedSo(w *wire.Error, r *wire.SpeechResult) bool {
	return r != nil && (w.Code == wire.CodeInterrupted || r.StartMS > 0 || r.DurationS > 0)
}

func (s *Seat) stateOf(ctx context.Context, t tenant.ID, id string) keeper.Status {
	st, err := s.o.Keeper.Status(ctx, t, id)
	if err != nil {
		return keeper.Status{} // the command was done; its state is only a courtesy
	}
	return st
}

// Answer answers a question.
func (s *Seat) Answer(ctx context.Context, t tenant.ID, a tool.AnswerArgs) (tool.Answered, error) {
	st, err := s.o.Keeper.Status(ctx, t, a.Meeting)
	if err != nil {
		return tool.Answered{}, s.fail(err, a.Meeting)
	}
	if err := choosable(st.Questions, a); err != nil {
		return tool.Answered{}, err
	}
	if _, err := s.command(ctx, t, a.Meeting, wire.Command{Answer: &wire.Choice{QuestionID: a.Question, Choice: a.Choice}}); err != nil {
		return tool.Answered{}, err
	}
	return tool.Answered{Meeting: a.Meeting, Question: a.Question, Choice: a.Choice, State: tool.State(s.stateOf(ctx, t, a.Meeting).State)}, nil
}

// choosable says why an answer is none to any of the questions.
func choosable(questions []*wire.Question, a tool.AnswerArgs) error {
	for _, q := range questions {
		if q.ID != a.Question || q.Closed != "" {
			continue
		}
		if !slices.Contains(q.Choices, a.Choice) {
			return tool.Fail(tool.CodeBadChoice, "choice", a.Choice).Quoting(strings.Join(q.Choices, " | ")) // a page's own words
		}
		return nil
	}
	return tool.Fail(tool.CodeQuestionUnknown, "question_id", a.Question)
}

// ChatSend writes into the chat.
func (s *Seat) ChatSend(ctx context.Context, t tenant.ID, a tool.ChatSendArgs) (tool.ChatSent, error) {
	ans, err := s.command(ctx, t, a.Meeting, wire.Command{ChatSend: &wire.ChatSend{Text: a.Text, To: a.To}})
	if err != nil {
		return tool.ChatSent{}, err
	}
	out := tool.ChatSent{Meeting: a.Meeting, SentTo: "everyone"}
	if ans.Chat != nil {
		out.SentTo = ans.Chat.SentTo
	}
	return out, nil
}

// Speak says something.
func (s *Seat) Speak(ctx context.Context, t tenant.ID, a tool.SpeakArgs) (tool.Spoken, error) {
	if a.Turn != 0 {
		r, err := s.Publish(ctx, string(t), a.Meeting, channel.Publication{Text: a.Text, Turn: transcript.Seq(a.Turn)})
		switch {
		case errors.Is(err, channel.ErrNoMeeting):
			return tool.Spoken{}, tool.Fail(tool.CodeMeetingNotFound, "meeting_id", a.Meeting)
		case err != nil:
			return tool.Spoken{}, s.fail(err, a.Meeting)
		}
		return tool.SpokenOf(a.Meeting, r)
	}
	file := ""
	if a.AudioFile != "" {
		if s.o.AudioFile == nil {
			return tool.Spoken{}, tool.Fail(tool.CodeFileNotFound, "file_id", a.AudioFile)
		}
		var err error
		if file, err = s.o.AudioFile(ctx, t, a.AudioFile); err != nil {
			return tool.Spoken{}, err
		}
	}
	if err := s.backend(a.Backend); err != nil {
		return tool.Spoken{}, err
	}
	ans, err := s.command(ctx, t, a.Meeting, wire.Command{Speak: &wire.Speak{
		Text: a.Text, File: file, Lang: a.Lang, Voice: a.Voice, Backend: a.Backend, Model: a.Model, KeepOpen: !a.AutoMute, Interrupt: a.Interrupt, Wait: a.Wait,
	}})
	var w *wire.Error
	if file != "" && errors.As(err, &w) && w.Code == wire.CodeBadInput {
		return tool.Spoken{}, tool.Fail(tool.CodeFileUnplayable, "file_id", a.AudioFile, "what", w.Text)
	}
	if err != nil {
		return tool.Spoken{}, err
	}
	out := tool.Spoken{Meeting: a.Meeting}
	if r := ans.Speech; r != nil {
		sp := speechOf(r)
		out.Utterance, out.State, out.DurationS, out.Said, out.MuteError = r.ID, sp.State, r.DurationS, r.Said, r.MuteError
		out.Unsaid, out.CutBy, out.CutAfter, out.MicOpen, out.Proof = r.Unsaid, r.CutBy, int(r.CutAfterMS), r.MicOpen, sp.Proof
		out.Reason = r.Why
		out.PrepareMS, out.StartMS, out.GapMS = int(r.PrepareMS), int(r.StartMS), int(r.GapMS)
	}
	return out, nil
}

// StopSpeaking cuts off what is being said.
func (s *Seat) StopSpeaking(ctx context.Context, t tenant.ID, id string) (tool.SpeakingStopped, error) {
	ans, err := s.command(ctx, t, id, wire.Command{StopSpeaking: &wire.Empty{}})
	if err != nil {
		return tool.SpeakingStopped{}, err
	}
	out := tool.SpeakingStopped{Meeting: id}
	if ans.Speech != nil && ans.Speech.ID != "" {
		out.Stopped, out.Said, out.Unsaid = true, ans.Speech.Said, ans.Speech.Unsaid
	}
	return out, nil
}

// Mute switches the microphone. On mutes, as the tool says.
func (s *Seat) Mute(ctx context.Context, t tenant.ID, a tool.MuteArgs) (tool.Muted, error) {
	ans, err := s.command(ctx, t, a.Meeting, wire.Command{Mute: &wire.Switch{On: a.On}})
	if err != nil {
		return tool.Muted{}, err
	}
	out := tool.Muted{Meeting: a.Meeting, Microphone: "unknown"}
	if ans.Mic != nil {
		out.Microphone = ans.Mic.State
	}
	return out, nil
}

// RaiseHand raises or lowers the hand.
func (s *Seat) RaiseHand(ctx context.Context, t tenant.ID, a tool.HandArgs) (tool.Hand, error) {
	if _, err := s.command(ctx, t, a.Meeting, wire.Command{Hand: &wire.Switch{On: a.On}}); err != nil {
		return tool.Hand{}, err
	}
	return tool.Hand{Meeting: a.Meeting, Up: a.On}, nil
}

// StopRecording stops recording and transcript for good.
func (s *Seat) StopRecording(ctx context.Context, t tenant.ID, a tool.StopRecordingArgs) (tool.RecordingStopped, error) {
	before := s.stateOf(ctx, t, a.Meeting)
	if _, err := s.command(ctx, t, a.Meeting, wire.Command{StopRecording: &wire.StopRecording{Delete: a.Delete}}); err != nil {
		return tool.RecordingStopped{}, err
	}
	after := s.stateOf(ctx, t, a.Meeting)
	out := tool.RecordingStopped{Meeting: a.Meeting, Stopped: before.Recording, Deleted: a.Delete, Seconds: after.RecordingSeconds}
	if a.Delete {
		out.Seconds = 0
	}
	return out, nil
}

// DeleteRecording deletes recording, transcript and evidence.
func (s *Seat) DeleteRecording(ctx context.Context, t tenant.ID, id string) (tool.RecordingDeleted, error) {
	if err := s.o.Keeper.DeleteRecording(ctx, t, id); err != nil {
		return tool.RecordingDeleted{}, s.fail(err, id)
	}
	return tool.RecordingDeleted{Meeting: id, Deleted: true}, nil
}

// leaveWait is how long meeting_leave waits for the end of the meeting.
const leaveWait = 15 * time.Second

// ended waits for a meeting's end, and gives how it is then, or when the time is over.
func (s *Seat) ended(ctx context.Context, t tenant.ID, id string, within time.Duration) (keeper.Status, error) {
	deadline := time.Now().Add(within)
	for {
		st, err := s.o.Keeper.Status(ctx, t, id)
		left := time.Until(deadline)
		if err != nil || st.State == "ended" || left <= 0 || ctx.Err() != nil {
			return st, err
		}
		if _, err := s.o.Keeper.Listen(ctx, t, id, st.Next, 1, left); err != nil {
			return st, err
		}
	}
}

// Leave leaves a meeting.
func (s *Seat) Leave(ctx context.Context, t tenant.ID, id string) (tool.Left, error) {
	_, err := s.command(ctx, t, id, wire.Command{Leave: &wire.Empty{}})
	var e *tool.Error
	if err != nil && !(errors.As(err, &e) && e.Code == tool.CodeMeetingEnded) {
		return tool.Left{}, err
	}
	// The file is closed a moment after we have left, and recording_get is what most callers want next.
	st, err := s.ended(ctx, t, id, leaveWait)
	if err != nil {
		return tool.Left{}, s.fail(err, id)
	}
	out := tool.Left{Meeting: id, State: tool.State(st.State), Reason: st.Reason, RecordingSeconds: st.RecordingSeconds}
	if st.RecordingClosed && !st.Deleted {
		out.Hint = "call recording_get {meeting_id}"
	}
	return out, nil
}

var (
	_ tool.Meetings = (*Seat)(nil)
	_ tool.Watcher  = (*Seat)(nil)
)
