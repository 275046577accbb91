package meeting_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/meeting"
	"parley/meeting/files"
	"parley/meeting/meetingtest"
	"parley/meeting/wire"
	"parley/transcript"
)

// outlet hands over what the meeting says by channel, so that the race detector sees what the bubble's clock hides.
type outlet struct {
	reports chan wire.Report
	answers chan answer
}

type answer struct {
	id string
	wire.Answer
}

func newOutlet() *outlet {
	return &outlet{reports: make(chan wire.Report, 10_000), answers: make(chan answer, 1000)}
}

func (o *outlet) Report(r wire.Report)            { o.reports <- r }
func (o *outlet) Answer(id string, a wire.Answer) { o.answers <- answer{id, a} }

// until gives the first report that fits.
func (o *outlet) until(t *testing.T, what string, fits func(wire.Report) bool) wire.Report {
	t.Helper()
	deadline := time.After(24 * time.Hour)
	for {
		select {
		case r := <-o.reports:
			if fits(r) {
				return r
			}
		case <-deadline:
			t.Fatalf("no %s", what)
		}
	}
}

func inState(s meeting.State) func(wire.Report) bool {
	return func(r wire.Report) bool { return r.State != nil && r.State.State == string(s) }
}

func ended(r wire.Report) bool { return r.Ended != nil }

func options() meeting.Options {
	return meeting.Options{Name: "Parley (AI notetaker)", Record: true, Permits: meeting.Permits{Record: true, Speak: true, Chat: true}}
}

// attend runs a meeting in a bubble; the function given to do is the test.
func attend(t *testing.T, s meetingtest.Script, o meeting.Options, do func(*meeting.Loop, *meetingtest.World, *outlet, context.CancelCauseFunc)) {
	synctest.Test(t, func(t *testing.T) {
		w, out := meetingtest.New(s), newOutlet()
		l := meeting.NewLoop(o, w.Ports(), out, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan meeting.Reason, 1)
		go func() { done <- l.Run(ctx) }()
		do(l, w, out, cancel)
		cancel(errors.New("test over"))
		<-done
		if !w.Closed() {
			t.Error("not taken down")
		}
		if l.Post(meeting.Shutdown{}) {
			t.Error("an event was accepted after the end")
		}
	})
}

func TestLoopAttends(t *testing.T) {
	attend(t, meetingtest.Script{Waits: 3 * time.Second, Ends: time.Hour}, options(), func(l *meeting.Loop, w *meetingtest.World, out *outlet, _ context.CancelCauseFunc) {
		began := time.Now()
		out.until(t, "attending", inState(meeting.Attending))
		if took := time.Since(began); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("in after %v", took)
		}
		r := out.until(t, "end", ended)
		if r.Ended.Reason != string(meeting.ReasonEndedForAll) || r.Ended.Recording == nil {
			t.Errorf("%+v", r.Ended)
		}
		if got := r.Ended.DurationS; got < 3599 || got > 3602 {
			t.Errorf("lasted %v s", got)
		}
		if w.GateOpen() || w.Written() < 3_500_000 { // 10 bytes each 10 ms
			t.Errorf("gate open %t, %d bytes", w.GateOpen(), w.Written())
		}
	})
}

// The clocks of announcement and first sample are compared: nothing is written before the one was confirmed.
func TestNothingIsRecordedBeforeTheAnnouncement(t *testing.T) {
	attend(t, meetingtest.Script{}, options(), func(l *meeting.Loop, w *meetingtest.World, out *outlet, _ context.CancelCauseFunc) {
		out.until(t, "announcement", func(r wire.Report) bool {
			if w.Written() > 0 {
				t.Error("something was recorded before")
			}
			return r.Announce != nil
		})
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if w.Written() == 0 {
			t.Error("100 ms after the announcement nothing is recorded")
		}
	})
}

func TestAnObjectionStopsWithinASecond(t *testing.T) {
	attend(t, meetingtest.Script{}, options(), func(l *meeting.Loop, w *meetingtest.World, out *outlet, _ context.CancelCauseFunc) {
		out.until(t, "attending", inState(meeting.Attending))
		time.Sleep(time.Minute)
		w.See(meeting.SeenChat{Sender: "Anna", Text: "please don't record"})
		r := out.until(t, "opt-out", func(r wire.Report) bool { return r.OptOut != nil })
		if r.OptOut.Sender != "Anna" || w.GateOpen() {
			t.Errorf("%+v, gate open %t", r.OptOut, w.GateOpen())
		}
		r = out.until(t, "receipt", func(r wire.Report) bool { return r.OptOut != nil && r.OptOut.Deleted })
		if r.OptOut.Seconds < 59 || w.Written() != 0 {
			t.Errorf("%+v, %d bytes are left", r.OptOut, w.Written())
		}
		r = out.until(t, "end", ended)
		if r.Ended.Reason != string(meeting.ReasonObjection) || !r.Ended.Deleted || r.Ended.Recording != nil {
			t.Errorf("%+v", r.Ended)
		}
		if sent := w.Sent(); len(sent) != 2 || !strings.Contains(sent[1], "stopped and deleted") {
			t.Errorf("said: %q", sent)
		}
	})
}

func TestCommandsAreAnswered(t *testing.T) {
	attend(t, meetingtest.Script{Speech: 3 * time.Second}, options(), func(l *meeting.Loop, w *meetingtest.World, out *outlet, _ context.CancelCauseFunc) {
		out.until(t, "attending", inState(meeting.Attending))
		ask := func(id string, c wire.Command) {
			if !l.Post(meeting.Command{ID: id, Body: c}) {
				t.Fatal("not taken")
			}
		}
		began := time.Now()
		ask("1", wire.Command{Speak: &wire.Speak{Text: "hello", Wait: true}})
		time.Sleep(3200 * time.Millisecond)
		synctest.Wait()
		if !w.Mic() {
			t.Error("the microphone went off at once")
		}
		a := <-out.answers // the end of an utterance waits until the microphone is shut behind it
		if a.id != "1" || a.Speech == nil || a.Speech.State != "done" || time.Since(began) < 3*time.Second || time.Since(began) > 4*time.Second {
			t.Errorf("%+v after %v", a.Speech, time.Since(began))
		}
		if w.Mic() {
			t.Error("the microphone stays on")
		}
		ask("2", wire.Command{Speak: &wire.Speak{Text: "hello"}})
		if a := <-out.answers; a.id != "2" || a.Speech.State != "started" {
			t.Errorf("%+v", a)
		}
		ask("3", wire.Command{StopSpeaking: &wire.Empty{}})
		if a := <-out.answers; a.id != "3" || a.Speech.State != "interrupted" || a.Speech.Unsaid != "hello" {
			t.Errorf("%+v", a.Speech)
		}
		ask("4", wire.Command{Status: &wire.Empty{}})
		if a := <-out.answers; a.Status == nil || !a.Status.Recording || a.Status.RecordingSeconds <= 0 {
			t.Errorf("%+v", a.Status)
		}
		ask("5", wire.Command{Leave: &wire.Empty{}})
		if a := <-out.answers; a.id != "5" || a.Error != nil {
			t.Errorf("%+v", a)
		}
		out.until(t, "end", ended)
	})
}

// Whatever hangs, being told to stop is an end within 25 s.
func TestPoliteEndsAreBounded(t *testing.T) {
	for _, s := range []meetingtest.Script{
		{}, {Waits: -1}, {OpenHangs: true}, {LeaveHangs: true}, {StopHangs: true}, {LeaveHangs: true, StopHangs: true, DeleteHangs: true}, {ChatFails: meeting.ChatRestricted},
	} {
		for _, after := range []time.Duration{0, time.Millisecond, 50 * time.Millisecond, 2 * time.Second} {
			t.Run(fmt.Sprintf("%+v after %v", s, after), func(t *testing.T) {
				attend(t, s, options(), func(l *meeting.Loop, w *meetingtest.World, out *outlet, stop context.CancelCauseFunc) {
					time.Sleep(after)
					told := time.Now()
					stop(errors.New("told to stop"))
					r := out.until(t, "end", ended)
					if r.Ended.Reason != string(meeting.ReasonShutdown) {
						t.Errorf("%s", r.Ended.Reason)
					}
					if took := time.Since(told); took > 19*time.Second {
						t.Errorf("took %v", took)
					}
				})
			})
		}
	}
}

// An objection while the recorder is wedged: the file is unlinked at once, and again when the recorder lets go.
func TestAWedgedRecorderHoldsUpNoDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := files.Of(t.TempDir(), "me", "m0123456789ab")
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Prepare(); err != nil {
			t.Fatal(err)
		}
		w, out := meetingtest.New(meetingtest.Script{DeleteHangs: true}), newOutlet()
		w.File = set.Recording()
		ports := w.Ports()
		ports.Files = setFiles{set}
		l := meeting.NewLoop(options(), ports, out, nil)
		done := make(chan meeting.Reason, 1)
		go func() { done <- l.Run(t.Context()) }()
		out.until(t, "attending", inState(meeting.Attending))
		time.Sleep(time.Second)
		if _, err := os.Stat(set.Recording()); err != nil {
			t.Fatal(err)
		}
		w.See(meeting.SeenChat{Sender: "Anna", Text: "please don't record"})
		out.until(t, "opt-out", func(r wire.Report) bool { return r.OptOut != nil })
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if _, err := os.Stat(set.Recording()); !errors.Is(err, os.ErrNotExist) || !set.Deleted() {
			t.Errorf("the file is still there: %v", err)
		}
		if reason := <-done; reason != meeting.ReasonObjection {
			t.Errorf("%s", reason)
		}
		entries, _ := os.ReadDir(set.Dir())
		if len(entries) != 1 || entries[0].Name() != filepath.Base(set.Marker()) {
			t.Errorf("left: %v", entries)
		}
	})
}

// setFiles are real files as the port.
type setFiles struct{ files.Set }

func (f setFiles) Mark(context.Context) error       { return f.Set.Mark() }
func (f setFiles) Unlink(context.Context) error     { return f.Set.Unlink() }
func (f setFiles) Note(e meeting.LedgerEntry) error { return f.Set.Note(e) }

// slowFiles are files on a disk that takes its time for the ledger.
type slowFiles struct{ setFiles }

func (f slowFiles) Note(e meeting.LedgerEntry) error {
	time.Sleep(300 * time.Millisecond)
	return f.setFiles.Note(e)
}

// Whoever holds the receipt of a deletion finds the deletion in the ledger, however slow the disk is.
func TestAReceiptComesBehindItsLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := files.Of(t.TempDir(), "me", "m0123456789ab")
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Prepare(); err != nil {
			t.Fatal(err)
		}
		w, out := meetingtest.New(meetingtest.Script{}), newOutlet()
		w.File = set.Recording()
		ports := w.Ports()
		ports.Files = slowFiles{setFiles{set}}
		l := meeting.NewLoop(options(), ports, out, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { l.Run(ctx); close(done) }()
		out.until(t, "attending", inState(meeting.Attending))
		time.Sleep(time.Second)
		l.Post(meeting.Command{ID: "1", Body: wire.Command{StopRecording: &wire.StopRecording{Delete: true}}})
		if a := <-out.answers; a.Deleted == nil {
			t.Fatalf("%+v", a)
		}
		notes, err := set.Notes()
		if err != nil || len(notes) == 0 || !strings.Contains(string(notes[len(notes)-1]), `"deleted"`) {
			t.Errorf("the receipt is out, the ledger says %s %v", notes, err)
		}
		cancel()
		<-done
	})
}

// slowLog is a transcript on a disk that hangs until it is let go.
type slowLog struct{ wait chan struct{} }

func (l slowLog) Append(transcript.Segment) error { <-l.wait; return nil }
func (l slowLog) Erase() error                    { return nil }
func (l slowLog) Close() error                    { return nil }

// quietHearing hears what the test posts.
type quietHearing struct{}

func (quietHearing) Start(context.Context) error { return nil }
func (quietHearing) Stop(context.Context) error  { return nil }
func (quietHearing) Forget()                     {}

// A final that waits for the disk while somebody objects is neither kept nor told.
func TestNoTextIsToldAfterAnObjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out := meetingtest.New(meetingtest.Script{}), newOutlet()
		log := slowLog{make(chan struct{})}
		ports := w.Ports()
		ports.Log, ports.Hearing = log, quietHearing{}
		o := options()
		o.Transcribe, o.StayOnOptOut = true, true
		l := meeting.NewLoop(o, ports, out, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { l.Run(ctx); close(done) }()
		out.until(t, "transcript", func(r wire.Report) bool { return r.Status != nil && r.Status.Transcript == "on" })
		for i := range 3 {
			l.Post(meeting.Heard{Final: true, Segment: transcript.Segment{Seq: transcript.Seq(i + 1), Text: "the secret plan"}})
		}
		w.See(meeting.SeenChat{Sender: "Anna", Text: "please don't record"})
		out.until(t, "opt-out", func(r wire.Report) bool { return r.OptOut != nil })
		close(log.wait)
		synctest.Wait()
		cancel()
		<-done
		close(out.reports)
		for r := range out.reports {
			if r.Transcript != nil {
				t.Error("text was told after the objection")
			}
		}
	})
}

// Many ask at once, some of them while it ends: each of those that were taken is answered once.
func TestEveryTakenCommandIsAnsweredOnce(t *testing.T) {
	attend(t, meetingtest.Script{}, options(), func(l *meeting.Loop, w *meetingtest.World, out *outlet, stop context.CancelCauseFunc) {
		out.until(t, "attending", inState(meeting.Attending))
		var wg sync.WaitGroup
		var mu sync.Mutex
		taken := map[string]int{}
		for i := range 40 {
			wg.Go(func() {
				time.Sleep(time.Duration(i*i) * time.Millisecond)
				id := fmt.Sprint(i)
				if l.Post(meeting.Command{ID: id, Body: wire.Command{ChatSend: &wire.ChatSend{Text: "hi"}}}) {
					mu.Lock()
					taken[id]++
					mu.Unlock()
				}
			})
		}
		time.Sleep(700 * time.Millisecond)
		stop(errors.New("told to stop"))
		wg.Wait()
		out.until(t, "end", ended)
		synctest.Wait()
		close(out.answers)
		for a := range out.answers {
			taken[a.id]--
		}
		for id, n := range taken {
			if n != 0 {
				t.Errorf("%s: %+d answers", id, -n)
			}
		}
	})
}

// The journal holds kinds, times and numbers, and no word of anybody.
func TestTheJournalHasNoWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer
		w, out := meetingtest.New(meetingtest.Script{Waits: time.Second, Says: []string{"SECRETWORD one", "SECRETWORD two"}, Ends: time.Minute}), newOutlet()
		l := meeting.NewLoop(options(), w.Ports(), out, meeting.NewJournal(&buf))
		if got := l.Run(t.Context()); got != meeting.ReasonEndedForAll {
			t.Errorf("%s", got)
		}
		text := buf.String()
		for _, word := range []string{"SECRETWORD", "Anna", "notes", "hello"} {
			if strings.Contains(text, word) {
				t.Errorf("%q is in the journal", word)
			}
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		var last meeting.JournalLine
		for i, line := range lines {
			var j meeting.JournalLine
			if err := json.Unmarshal([]byte(line), &j); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if j.N != int64(i+1) || j.T < last.T {
				t.Errorf("line %d: %+v", i+1, j)
			}
			last = j
		}
		if last.State != meeting.Ended || len(lines) < 10 {
			t.Errorf("%d lines, the last: %+v", len(lines), last)
		}
	})
}

func TestReportsAreNumbered(t *testing.T) {
	attend(t, meetingtest.Script{Ends: time.Second}, options(), func(l *meeting.Loop, w *meetingtest.World, out *outlet, _ context.CancelCauseFunc) {
		var next int64
		out.until(t, "end", func(r wire.Report) bool {
			if r.Status != nil {
				if r.Seq != 0 {
					t.Error("a status has a number")
				}
				return false
			}
			if next++; r.Seq != next {
				t.Errorf("number %d, want %d", r.Seq, next)
			}
			return r.Ended != nil
		})
	})
}
