// Package toolfake is a simulated set of meetings for tests: they do as a script tells them, and no browser runs.
package toolfake

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/channel"
	"parley/tenant"
	"parley/tool"
	"parley/transcript"
)

// Meetings are simulated meetings. The zero value works. It is safe for concurrent use.
type Meetings struct {
	// Dir is where recordings are written when a meeting ends; empty: no recording is ready.
	Dir string
	// Max is how many meetings may run; zero: no limit.
	Max int
	// Lobby keeps joins waiting until Admit.
	Lobby bool
	// Speech is how long each utterance sounds; zero: it is over at once.
	Speech time.Duration
	// Speculative makes channels that may be spoken into before a publish.
	Speculative bool

	mu        sync.Mutex
	listeners map[chan channel.Update]bool
	byID      map[string]*meeting
	order     []string
	watchers  map[chan tool.Event]bool
	n         int
	emitted   int64
	set       map[tenant.ID]map[string]string // speech settings
}

type meeting struct {
	tenant  tenant.ID
	args    tool.JoinArgs
	status  tool.Status
	events  []tool.Event
	chat    []tool.ChatMessage
	lines   []tool.Line
	file    *tool.RecordingFile
	deleted bool
	speak   chan struct{} // closed to stop what is being said
	changed chan struct{} // closed and replaced at every event
	spoken  int
	talk    talk
}

// Consent implements tool.Meetings: the announcement, and the deletion where there was one.
func (f *Meetings) Consent(_ context.Context, t tenant.ID, id string) (tool.Ledger, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.find(t, id)
	if err != nil {
		return tool.Ledger{}, err
	}
	l := tool.Ledger{Meeting: id, Entries: []tool.LedgerEntry{{At: *m.status.RequestedAt, What: "announced", How: "chat", SentTo: "everyone"}}}
	if m.deleted {
		l.Entries = append(l.Entries, tool.LedgerEntry{At: time.Now(), What: "deleted", How: "tool"})
	}
	return l, nil
}

// Join implements tool.Meetings.
func (f *Meetings) Join(ctx context.Context, by tool.Caller, a tool.JoinArgs) (tool.Status, error) {
	if !strings.HasPrefix(a.URL, "http://") && !strings.HasPrefix(a.URL, "https://") {
		return tool.Status{}, tool.Fail(tool.CodeBadLink, "what", "it does not begin with https://")
	}
	if !strings.Contains(a.URL, "/room/") {
		return tool.Status{}, tool.Fail(tool.CodeUnknownPlatform, "known", "room")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	running := 0
	for _, m := range f.byID {
		if m.status.State == tool.Ended {
			continue
		}
		running++
		if m.tenant == by.Tenant.ID && m.args.URL == a.URL && !a.AllowDuplicate {
			s := m.status
			s.Existing = true
			return s, nil
		}
	}
	if f.Max > 0 && running >= f.Max {
		return tool.Status{}, tool.Fail(tool.CodeMeetingsFull, "running", running, "max", f.Max)
	}
	f.n++
	now := time.Now()
	id := fmt.Sprintf("m%012x", f.n)
	m := &meeting{tenant: by.Tenant.ID, args: a, changed: make(chan struct{}), status: tool.Status{
		Meeting: id, Platform: "room", State: tool.Requested, JoinedAs: "guest", Name: cmp.Or(a.Name, "Parley (AI notetaker)"),
		Title: "Simulated", Microphone: "off", Camera: "off", RecordingState: "none", RequestedAt: &now,
		Announce: &tool.Announced{Mode: a.Announce, SentTo: "pending"},
	}}
	if f.byID == nil {
		f.byID = map[string]*meeting{}
	}
	f.byID[id] = m
	f.order = append(f.order, id)
	for _, s := range []tool.State{tool.Starting, tool.Lobby, tool.Waiting} {
		f.state(m, s)
		tool.Report(ctx, tool.Progress{Text: string(s)})
	}
	if !f.Lobby {
		f.admit(m)
	}
	return m.status, nil
}

// Emitted counts the events so far, of all meetings.
func (f *Meetings) Emitted() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.emitted
}

// Admit lets a waiting meeting in.
func (f *Meetings) Admit(id string) { f.with(id, f.admit) }

func (f *Meetings) admit(m *meeting) {
	now := time.Now()
	m.status.AdmittedAt = &now
	two := 2
	m.status.Participants = &two
	m.status.People = []tool.Person{{Name: m.status.Name, Self: true}, {ID: "p1", Name: "Ada", Host: true}}
	f.state(m, tool.Admitted)
	f.state(m, tool.Announcing)
	m.status.Announce.SentTo = "everyone"
	f.event(m, tool.Event{Kind: tool.EventAnnounce, Announce: m.status.Announce})
	m.status.Recording, m.status.RecordingState = m.args.Record, "writing"
	m.status.LiveTranscript = &tool.Transcribe{State: "on", Engine: "fake"}
	f.state(m, tool.Attending)
	f.begin(m)
}

// Say makes somebody say something.
func (f *Meetings) Say(id, name, text string) {
	f.with(id, func(m *meeting) {
		n := int64(len(m.lines) + 1)
		l := tool.Line{Seq: n, Start: float64(n), End: float64(n) + 0.8, Text: text, Lang: "en", Final: true,
			Speaker: &tool.Speaker{ID: "p1", Name: name, Confidence: 0.9, Source: "track"}}
		m.lines = append(m.lines, l)
		m.status.RecordingSeconds = l.End
		f.event(m, tool.Event{Kind: tool.EventTranscript, Line: &l})
		f.turned(m, l)
	})
}

// Mumble is unfinished speech.
func (f *Meetings) Mumble(id, text string) {
	f.with(id, func(m *meeting) {
		f.event(m, tool.Event{Kind: tool.EventTranscript, Line: &tool.Line{Seq: int64(len(m.lines) + 1), Text: text}})
	})
}

// Write makes somebody write in the chat.
func (f *Meetings) Write(id, sender, text string) {
	f.with(id, func(m *meeting) { f.message(m, tool.ChatMessage{Sender: sender, Text: text}) })
}

// Ask opens a question.
func (f *Meetings) Ask(id string, q tool.Question) {
	f.with(id, func(m *meeting) {
		m.status.Question = &q
		f.event(m, tool.Event{Kind: tool.EventQuestion, Question: &q})
	})
}

// Object makes somebody ask not to be recorded.
func (f *Meetings) Object(id, sender string) {
	f.with(id, func(m *meeting) {
		f.finish(m, "objection")
		f.forget(m)
		m.status.Optout = true
		f.event(m, tool.Event{Kind: tool.EventOptout, Optout: &tool.Optout{By: "chat", Sender: sender, Lang: "en", Deleted: true, Leaving: m.args.LeaveOnOptout}})
		if m.args.LeaveOnOptout {
			f.end(m, "objection")
		}
	})
}

// End ends a meeting.
func (f *Meetings) End(id, reason string) { f.with(id, func(m *meeting) { f.end(m, reason) }) }

func (f *Meetings) with(id string, do func(*meeting)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.byID[id]
	if m == nil {
		panic("toolfake: no meeting " + id)
	}
	do(m)
}

func (f *Meetings) state(m *meeting, s tool.State) {
	m.status.State = s
	f.event(m, tool.Event{Kind: tool.EventState, State: s})
}

func (f *Meetings) event(m *meeting, e tool.Event) {
	e.Tenant, e.Meeting, e.Platform = m.tenant, m.status.Meeting, "room"
	e.Seq, e.At = int64(len(m.events)+1), time.Now()
	m.events = append(m.events, e)
	m.status.Next = e.Seq
	close(m.changed)
	m.changed = make(chan struct{})
	f.emitted++
	for w := range f.watchers {
		select {
		case w <- e:
		default: // a test that does not read has lost it
		}
	}
}

func (f *Meetings) message(m *meeting, c tool.ChatMessage) tool.ChatMessage {
	c.Seq, c.At = int64(len(m.chat)+1), time.Now()
	m.chat = append(m.chat, c)
	if !c.Own {
		f.event(m, tool.Event{Kind: tool.EventChat, Chat: &c})
	}
	return c
}

func (f *Meetings) end(m *meeting, reason string) {
	if m.status.State == tool.Ended {
		return
	}
	now := time.Now()
	m.status.EndedAt, m.status.Reason, m.status.Recording, m.status.Question = &now, reason, false, nil
	end := &tool.End{Reason: reason, Seconds: m.status.RecordingSeconds}
	if f.Dir != "" && m.args.Record && !m.deleted {
		m.file = f.record(m)
		m.status.RecordingState, m.status.RecordingPath, m.status.RecordingBytes = "ready", m.file.Path, m.file.Bytes
		end.Path, end.Bytes, end.Hint = m.file.Path, m.file.Bytes, "call recording_get"
	}
	if m.speak != nil {
		close(m.speak)
		m.speak = nil
	}
	f.state(m, tool.Leaving)
	m.status.State = tool.Ended
	f.finish(m, "ended")
	f.event(m, tool.Event{Kind: tool.EventEnded, End: end})
}

func (f *Meetings) record(m *meeting) *tool.RecordingFile {
	path := filepath.Join(f.Dir, m.status.Meeting+".ogg")
	body := strings.Repeat("OggS", 1000)
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		panic(err)
	}
	return &tool.RecordingFile{Path: path, Bytes: int64(len(body)), Seconds: m.status.RecordingSeconds, Name: m.status.Meeting + ".ogg", MIME: "audio/ogg"}
}

func (f *Meetings) forget(m *meeting) {
	m.deleted, m.lines, m.status.Recording, m.status.RecordingState = true, nil, false, "deleted"
	if m.file != nil {
		if err := os.Remove(m.file.Path); err != nil {
			panic(err)
		}
		m.file = nil
	}
}

// find is the caller's own meeting, with the lock held.
func (f *Meetings) find(t tenant.ID, id string) (*meeting, error) {
	m := f.byID[id]
	if m == nil || m.tenant != t {
		return nil, tool.Fail(tool.CodeMeetingNotFound, "meeting_id", id)
	}
	return m, nil
}

// running is find for what needs a meeting that goes on.
func (f *Meetings) running(t tenant.ID, id string) (*meeting, error) {
	m, err := f.find(t, id)
	if err == nil && m.status.State == tool.Ended {
		err = tool.Fail(tool.CodeMeetingEnded, "meeting_id", id, "reason", m.status.Reason)
	}
	return m, err
}

// attending is running for what needs us to be in the call.
func (f *Meetings) attending(t tenant.ID, id string) (*meeting, error) {
	m, err := f.running(t, id)
	if err == nil && m.status.State != tool.Attending {
		err = tool.Fail(tool.CodeNotAdmitted, "meeting_id", id, "state", m.status.State)
	}
	return m, err
}

// Status implements tool.Meetings.
func (f *Meetings) Status(_ context.Context, t tenant.ID, id string) (tool.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.find(t, id)
	if err != nil {
		return tool.Status{}, err
	}
	return m.status, nil
}

// List implements tool.Meetings.
func (f *Meetings) List(_ context.Context, t tenant.ID, a tool.ListArgs) (tool.List, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := tool.List{Meetings: []tool.Summary{}}
	for _, id := range slices.Backward(f.order) {
		m := f.byID[id]
		ended := m.status.State == tool.Ended
		if m.tenant != t || a.State == "running" && ended || a.State == "ended" && !ended {
			continue
		}
		if len(l.Meetings) == a.Limit {
			l.More = true
			break
		}
		l.Meetings = append(l.Meetings, tool.Summary{Meeting: id, Platform: "room", State: m.status.State, Title: m.status.Title,
			Recording: m.status.Recording, RecordingState: m.status.RecordingState, RequestedAt: *m.status.RequestedAt, EndedAt: m.status.EndedAt,
			Reason: m.status.Reason, Segments: len(m.lines), RecordingSeconds: m.status.RecordingSeconds})
	}
	return l, nil
}

// Listen implements tool.Meetings.
func (f *Meetings) Listen(ctx context.Context, t tenant.ID, a tool.ListenArgs) (tool.Heard, error) {
	timeout := time.NewTimer(time.Duration(a.Timeout * float64(time.Second)))
	defer timeout.Stop()
	for {
		f.mu.Lock()
		m, err := f.find(t, a.Meeting)
		if err != nil {
			f.mu.Unlock()
			return tool.Heard{}, err
		}
		h := tool.Heard{Meeting: a.Meeting, State: m.status.State, Events: []tool.Event{}, Next: a.Since, Ended: m.status.State == tool.Ended}
		for _, e := range m.events {
			if e.Seq <= a.Since {
				continue
			}
			if len(h.Events) == a.Limit {
				h.Ended = false
				break
			}
			h.Next = e.Seq
			if a.Wants(e) {
				h.Events = append(h.Events, e)
			}
		}
		changed := m.changed
		f.mu.Unlock()
		if len(h.Events) > 0 || h.Ended || a.Timeout == 0 {
			return h, nil
		}
		a.Since = h.Next
		select {
		case <-changed:
		case <-timeout.C:
			a.Timeout = 0
		case <-ctx.Done():
			return tool.Heard{}, ctx.Err()
		}
	}
}

// Transcript implements tool.Meetings.
func (f *Meetings) Transcript(_ context.Context, t tenant.ID, a tool.TranscriptArgs) (tool.Transcript, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.find(t, a.Meeting)
	if err != nil {
		return tool.Transcript{}, err
	}
	tr := tool.Transcript{Meeting: a.Meeting, State: m.status.State, Segments: []tool.Line{}, Next: a.Since, Deleted: m.deleted}
	for _, l := range m.lines {
		if l.Seq > a.Since {
			if len(tr.Segments) == a.Limit {
				tr.More = true
				break
			}
			tr.Segments = append(tr.Segments, l)
			tr.Next = l.Seq
		}
	}
	return tr, nil
}

// ChatRead implements tool.Meetings.
func (f *Meetings) ChatRead(_ context.Context, t tenant.ID, a tool.ChatReadArgs) (tool.Chat, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.find(t, a.Meeting)
	if err != nil {
		return tool.Chat{}, err
	}
	c := tool.Chat{Meeting: a.Meeting, Messages: []tool.ChatMessage{}, Next: a.Since}
	for _, msg := range m.chat {
		if msg.Seq > a.Since && len(c.Messages) < a.Limit {
			c.Messages = append(c.Messages, msg)
			c.Next = msg.Seq
		}
	}
	return c, nil
}

// Recording implements tool.Meetings.
func (f *Meetings) Recording(_ context.Context, t tenant.ID, id string) (tool.RecordingFile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.find(t, id)
	switch {
	case err != nil:
		return tool.RecordingFile{}, err
	case m.deleted:
		return tool.RecordingFile{}, tool.Fail(tool.CodeRecordingDeleted, "meeting_id", id)
	case m.status.Recording:
		return tool.RecordingFile{}, tool.Fail(tool.CodeRecordingWriting, "meeting_id", id)
	case m.file == nil:
		return tool.RecordingFile{}, tool.Fail(tool.CodeNoRecording, "meeting_id", id)
	}
	return *m.file, nil
}

// Answer implements tool.Meetings.
func (f *Meetings) Answer(_ context.Context, t tenant.ID, a tool.AnswerArgs) (tool.Answered, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.running(t, a.Meeting)
	if err != nil {
		return tool.Answered{}, err
	}
	q := m.status.Question
	if q == nil || q.ID != a.Question {
		return tool.Answered{}, tool.Fail(tool.CodeQuestionUnknown, "question_id", a.Question)
	}
	if !slices.Contains(q.Choices, a.Choice) {
		return tool.Answered{}, tool.Fail(tool.CodeBadChoice, "choice", a.Choice).Quoting(strings.Join(q.Choices, " | "))
	}
	m.status.Question = nil
	return tool.Answered{Meeting: a.Meeting, Question: a.Question, Choice: a.Choice, State: m.status.State}, nil
}

// ChatSend implements tool.Meetings.
func (f *Meetings) ChatSend(_ context.Context, t tenant.ID, a tool.ChatSendArgs) (tool.ChatSent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.attending(t, a.Meeting)
	if err != nil {
		return tool.ChatSent{}, err
	}
	c := f.message(m, tool.ChatMessage{Sender: m.status.Name, Text: a.Text, Own: true})
	return tool.ChatSent{Meeting: a.Meeting, SentTo: cmp.Or(a.To, "everyone"), Seq: c.Seq}, nil
}

// Speak implements tool.Meetings.
func (f *Meetings) Speak(ctx context.Context, t tenant.ID, a tool.SpeakArgs) (tool.Spoken, error) {
	if a.Turn != 0 {
		r, err := f.Publish(ctx, string(t), a.Meeting, channel.Publication{Text: a.Text, Turn: transcript.Seq(a.Turn)})
		if err != nil {
			return tool.Spoken{}, err
		}
		return tool.SpokenOf(a.Meeting, r)
	}
	f.mu.Lock()
	m, err := f.attending(t, a.Meeting)
	if err == nil && m.speak != nil && !a.Interrupt {
		err = tool.Fail(tool.CodeAlreadySpeaking)
	}
	if err != nil {
		f.mu.Unlock()
		return tool.Spoken{}, err
	}
	if m.speak != nil {
		close(m.speak)
	}
	stop := make(chan struct{})
	m.speak = stop
	m.spoken++
	out := tool.Spoken{Meeting: a.Meeting, Utterance: fmt.Sprintf("u%d", m.spoken), State: "playing", DurationS: f.Speech.Seconds()}
	f.mu.Unlock()
	finish := func() string {
		state := "done"
		select {
		case <-stop:
			state = "interrupted"
		case <-time.After(f.Speech):
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if m.speak == stop {
			m.speak = nil
		}
		f.event(m, tool.Event{Kind: tool.EventSpeech, Speech: &tool.Speech{Utterance: out.Utterance, Kind: "speak", State: state}})
		return state
	}
	if a.Wait || f.Speech == 0 {
		out.State = finish()
	} else {
		go finish()
	}
	return out, ctx.Err()
}

// StopSpeaking implements tool.Meetings.
func (f *Meetings) StopSpeaking(_ context.Context, t tenant.ID, id string) (tool.SpeakingStopped, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.running(t, id)
	if err != nil {
		return tool.SpeakingStopped{}, err
	}
	out := tool.SpeakingStopped{Meeting: id, Stopped: m.speak != nil}
	if m.speak != nil {
		close(m.speak)
		m.speak = nil
	}
	return out, nil
}

// Mute implements tool.Meetings.
func (f *Meetings) Mute(_ context.Context, t tenant.ID, a tool.MuteArgs) (tool.Muted, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.attending(t, a.Meeting)
	if err != nil {
		return tool.Muted{}, err
	}
	m.status.Microphone = "on"
	if a.On {
		m.status.Microphone = "off"
	}
	return tool.Muted{Meeting: a.Meeting, Microphone: m.status.Microphone}, nil
}

// RaiseHand implements tool.Meetings.
func (f *Meetings) RaiseHand(_ context.Context, t tenant.ID, a tool.HandArgs) (tool.Hand, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.attending(t, a.Meeting)
	if err != nil {
		return tool.Hand{}, err
	}
	m.status.HandUp = a.On
	return tool.Hand{Meeting: a.Meeting, Up: a.On}, nil
}

// StopRecording implements tool.Meetings.
func (f *Meetings) StopRecording(_ context.Context, t tenant.ID, a tool.StopRecordingArgs) (tool.RecordingStopped, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.find(t, a.Meeting)
	if err != nil {
		return tool.RecordingStopped{}, err
	}
	out := tool.RecordingStopped{Meeting: a.Meeting, Stopped: m.status.Recording, Seconds: m.status.RecordingSeconds}
	if m.status.Recording && f.Dir != "" && !a.Delete {
		m.file = f.record(m)
	}
	m.status.Recording = false
	if a.Delete {
		f.forget(m)
		out.Deleted, out.Seconds = true, 0
	}
	return out, nil
}

// DeleteRecording implements tool.Meetings.
func (f *Meetings) DeleteRecording(_ context.Context, t tenant.ID, id string) (tool.RecordingDeleted, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.find(t, id)
	if err != nil {
		return tool.RecordingDeleted{}, err
	}
	f.forget(m)
	return tool.RecordingDeleted{Meeting: id, Deleted: true}, nil
}

// Leave implements tool.Meetings.
func (f *Meetings) Leave(_ context.Context, t tenant.ID, id string) (tool.Left, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.find(t, id)
	if err != nil {
		return tool.Left{}, err
	}
	f.end(m, "left")
	return tool.Left{Meeting: id, State: m.status.State, Reason: m.status.Reason, RecordingSeconds: m.status.RecordingSeconds}, nil
}

// Watch implements tool.Watcher.
func (f *Meetings) Watch(ctx context.Context) <-chan tool.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := make(chan tool.Event, 1024)
	if f.watchers == nil {
		f.watchers = map[chan tool.Event]bool{}
	}
	f.watchers[w] = true
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.watchers, w)
		close(w)
	})
	return w
}

var (
	_ tool.Meetings = (*Meetings)(nil)
	_ tool.Watcher  = (*Meetings)(nil)
)
