package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"parley/meeting"
	"parley/meeting/meetingtest"
	"parley/meeting/wire"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	os.Exit(m.Run())
}

// A service that dies says so twice, which is no reason to hurry; somebody who tells again later is one.
func TestOnlyALaterSecondTellingHurries(t *testing.T) {
	for _, c := range []struct {
		name    string
		signals []time.Duration // after the pipe ended
		exit    time.Duration
	}{
		{"the pipe alone", nil, politeTime},
		{"the pipe and the death of the service", []time.Duration{0, 20 * time.Millisecond}, politeTime},
		{"just within", []time.Duration{onceTime - time.Millisecond}, politeTime},
		{"told again", []time.Duration{onceTime}, onceTime + hurriedTime},
		{"both", []time.Duration{time.Millisecond, 10 * time.Second}, 10*time.Second + hurriedTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancelCause(t.Context())
				signals, exited := make(chan os.Signal, 2), make(chan int, 1)
				w := &worker{log: slog.Default(), exit: func(code int) { exited <- code }}
				began := time.Now()
				stop(errors.New("commands ended"))
				go w.watch(ctx, stop, signals, nil)
				synctest.Wait()
				for _, at := range c.signals {
					time.Sleep(at - time.Since(began))
					signals <- syscall.SIGTERM
				}
				if code := <-exited; code != ExitStuck || time.Since(began) != c.exit {
					t.Errorf("exit %d after %v, want after %v", code, time.Since(began), c.exit)
				}
			})
		})
	}
}

// service is the other end of a worker that runs in this process.
type service struct {
	t    *testing.T
	in   *os.File // commands go in here
	w    *wire.Writer
	out  *os.File
	r    *wire.Reader
	code chan int
	data string
}

const id = "m0123456789ab"

func start(t *testing.T, script meetingtest.Script, factory Factory) *service {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, in: inW, w: wire.NewWriter(inW), out: outR, r: wire.NewReader(outR), code: make(chan int, 1), data: t.TempDir()}
	if factory == nil {
		factory = func(context.Context, wire.Start, func(meeting.Event) bool) (meeting.Ports, error) {
			return meetingtest.New(script).Ports(), nil
		}
	}
	go func() { s.code <- Main(context.Background(), inR, outW, factory) }()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return s
}

func (s *service) begin() {
	s.send(wire.KindStart, "", wire.Start{MeetingID: id, Tenant: "me", Name: "Parley (AI notetaker)", Paths: wire.Paths{Data: s.data},
		Permits: wire.Permits{Record: true, Speak: true, Chat: true}, Wishes: wire.Wishes{Record: true}})
}

func (s *service) send(kind wire.Kind, id string, body any) {
	s.t.Helper()
	if err := s.w.Write(kind, id, body); err != nil {
		s.t.Fatal(err)
	}
}

// until reads messages until one fits.
func (s *service) until(what string, fits func(wire.Message, wire.Report) bool) (wire.Message, wire.Report) {
	s.t.Helper()
	_ = s.out.SetReadDeadline(time.Now().Add(30 * time.Second))
	for {
		m, err := s.r.Read()
		if err != nil {
			s.t.Fatalf("no %s: %v", what, err)
		}
		var r wire.Report
		if m.Kind == wire.KindReport {
			if r, err = wire.Decode[wire.Report](m); err != nil {
				s.t.Fatal(err)
			}
		}
		if fits(m, r) {
			return m, r
		}
	}
}

func (s *service) attending() {
	s.t.Helper()
	s.until("attending", func(_ wire.Message, r wire.Report) bool {
		return r.State != nil && r.State.State == string(meeting.Attending)
	})
}

func (s *service) answer(id string) wire.Answer {
	s.t.Helper()
	m, _ := s.until("answer to "+id, func(m wire.Message, _ wire.Report) bool { return m.Kind == wire.KindAnswer && m.ID == id })
	a, err := wire.Decode[wire.Answer](m)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// end checks how it ends.
func (s *service) end(reason meeting.Reason, code int) {
	s.t.Helper()
	if reason != "" {
		_, r := s.until("end", func(_ wire.Message, r wire.Report) bool { return r.Ended != nil })
		if r.Ended.Reason != string(reason) {
			s.t.Errorf("ended: %s, want %s", r.Ended.Reason, reason)
		}
	}
	select {
	case got := <-s.code:
		if got != code {
			s.t.Errorf("exit code %d, want %d", got, code)
		}
	case <-time.After(30 * time.Second):
		s.t.Fatal("it does not end")
	}
}

func TestEndOfPipeIsAPoliteEnd(t *testing.T) {
	s := start(t, meetingtest.Script{}, nil)
	s.begin()
	s.attending()
	s.in.Close()
	s.end(meeting.ReasonShutdown, ExitDone)
	if _, err := s.r.Read(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	for _, name := range []string{"recordings/me/" + id + ".evidence/journal.jsonl", "recordings/me/" + id + ".evidence/evidence.json", "consents/me/" + id + ".jsonl"} {
		if info, err := os.Stat(filepath.Join(s.data, name)); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

// SIGTERM and the end of the pipe are one cause, in whichever order and number they come.
func TestSIGTERMIsTheSame(t *testing.T) {
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, syscall.SIGTERM)
	defer signal.Stop(arrived)
	s := start(t, meetingtest.Script{}, nil)
	s.begin()
	s.attending()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.in.Close()
	s.end(meeting.ReasonShutdown, ExitDone)
	<-arrived // where the pipe was faster: it would be the next worker's
}

func TestAServiceThatDoesNotReadIsGone(t *testing.T) {
	s := start(t, meetingtest.Script{}, nil)
	s.begin()
	s.attending()
	s.out.Close()
	s.send(wire.KindCommand, "1", wire.Command{Status: &wire.Empty{}}) // something to say
	s.end("", ExitUnheard)
}

func TestStartsThatCannotBeUsed(t *testing.T) {
	for name, write := range map[string]func(*service){
		"nothing":        func(s *service) { s.in.Close() },
		"garbage":        func(s *service) { s.in.Write([]byte("hello, this is no frame")); s.in.Close() },
		"a command":      func(s *service) { s.send(wire.KindCommand, "1", wire.Command{}) },
		"other version":  func(s *service) { s.in.Write([]byte("\x00\x00\x00\x16" + `{"v":9,"kind":"start"}`)); s.in.Close() },
		"not an object":  func(s *service) { s.send(wire.KindStart, "", []int{1}) },
		"half a message": func(s *service) { s.in.Write([]byte{0, 0, 1, 0, '{'}); s.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, meetingtest.Script{}, nil)
			write(s)
			s.end("", ExitStart)
		})
	}
}

func TestAFactoryThatFailsIsReported(t *testing.T) {
	s := start(t, meetingtest.Script{}, func(context.Context, wire.Start, func(meeting.Event) bool) (meeting.Ports, error) {
		return meeting.Ports{}, errors.New("nothing to attend with")
	})
	s.begin()
	s.end(meeting.ReasonStartFailed, ExitDone)
}

func TestCommandsOfAllKinds(t *testing.T) {
	s := start(t, meetingtest.Script{Speech: time.Minute}, nil)
	s.begin()
	s.attending()
	s.send("gossip", "9", map[string]int{"x": 1}) // of a newer service
	s.send(wire.KindCommand, "1", wire.Command{})
	if a := s.answer("1"); a.Error == nil || a.Error.Code != wire.CodeBadInput {
		t.Errorf("an unknown command: %+v", a)
	}
	s.send(wire.KindCommand, "2", json.RawMessage(`"leave"`))
	if a := s.answer("2"); a.Error == nil || a.Error.Code != wire.CodeBadInput {
		t.Errorf("a malformed command: %+v", a)
	}
	s.send(wire.KindCommand, "3", wire.Command{Speak: &wire.Speak{Text: "a long one", Wait: true}})
	s.until("its sound", func(_ wire.Message, r wire.Report) bool { return r.Status != nil && r.Status.Speaking != "" })
	s.send(wire.KindCancel, "3", nil)
	if a := s.answer("3"); a.Error == nil || a.Error.Code != wire.CodeCanceled {
		t.Errorf("a canceled one: %+v", a)
	}
	s.send(wire.KindCommand, "4", wire.Command{Status: &wire.Empty{}})
	if a := s.answer("4"); a.Status == nil || a.Status.State != string(meeting.Attending) || !a.Status.Recording {
		t.Errorf("status: %+v", a.Status)
	}
	s.send(wire.KindCommand, "5", wire.Command{Leave: &wire.Empty{}})
	s.end(meeting.ReasonLeft, ExitDone)
}

// What a port posts before the loop runs waits for it.
func TestPortsMayPostEarly(t *testing.T) {
	posted := make(chan bool, 1)
	s := start(t, meetingtest.Script{}, func(_ context.Context, _ wire.Start, post func(meeting.Event) bool) (meeting.Ports, error) {
		go func() { posted <- post(meeting.Fault{Part: meeting.PartVoice, Kind: "early"}) }()
		time.Sleep(10 * time.Millisecond)
		return meetingtest.New(meetingtest.Script{}).Ports(), nil
	})
	s.begin()
	s.until("the fault", func(_ wire.Message, r wire.Report) bool { return r.Fault != nil && r.Fault.Kind == "early" })
	if !<-posted {
		t.Error("it was not taken")
	}
	s.in.Close()
	s.end(meeting.ReasonShutdown, ExitDone)
}

func TestOptionsCarryEverything(t *testing.T) {
	s := wire.Start{MeetingID: "m", Platform: "p", Name: "n", Owner: "o", DryRun: true,
		Permits: wire.Permits{Record: true, Speak: true, Chat: true, NoAnnounce: true, AcceptGates: true},
		Wishes: wire.Wishes{Record: true, Transcribe: true, Partials: true, Announce: "a", AnnounceReason: "r", AnnounceText: "t", Langs: []string{"l"},
			OnAnnounceFailure: "f", StayOnOptOut: true, DeafToVoice: true, ConsentGate: "g", AskHuman: true, Inviter: "i"},
		Limits: wire.Limits{AdmissionHold: 1, MaxWait: 2, AloneAfter: 3, AloneAtFirst: 4, OnlyBotsAfter: 5, SilentAfter: 6, MaxDuration: 7, InviterAfter: 8, MaxUtterance: 9},
		Speech: wire.Speech{Turn: map[string]string{"turn_hold_ms": "1234", "of_another_version": "x"}, Policy: "reference", NoChannel: true, SilenceMS: 700}}
	if got := Options(s).Turn.TurnHold; got != 1234*time.Millisecond {
		t.Errorf("the settings of turns did not arrive: %v", got)
	}
	raw, err := json.Marshal(Options(s))
	if err != nil {
		t.Fatal(err)
	}
	var flat func(prefix string, v any)
	flat = func(prefix string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if prefix == ".Turn" {
				return // a setting may well be zero
			}
			for k, e := range v {
				flat(prefix+"."+k, e)
			}
		case nil, bool, string, float64:
			if v == nil || v == false || v == "" || v == 0.0 {
				t.Errorf("%s did not arrive", prefix)
			}
		}
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	flat("", v)
}

// outbox against a reader that is slow.
func TestOutboxUnderASlowReader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	o := newOutbox(w, func(err error) { gone <- err })
	big := strings.Repeat("x", 32<<10)
	o.Report(wire.Report{Seq: 1, Chat: &wire.Chat{Text: big}})
	o.Report(wire.Report{Seq: 2, Chat: &wire.Chat{Text: big}})
	o.Report(wire.Report{Seq: 3, Chat: &wire.Chat{Text: big}}) // the pipe is full now
	for i := range 2000 {
		o.Report(wire.Report{Status: &wire.Status{Chats: int64(i)}})
		o.Report(wire.Report{Seq: int64(4 + i), Transcript: &wire.Transcript{}})
	}
	o.Report(wire.Report{Seq: 9999, Transcript: &wire.Transcript{Final: true}})
	o.Answer("1", wire.Answer{})
	finals, partials, statuses, answers := 0, 0, 0, 0
	var last wire.Status
	done := make(chan error, 1)
	go func() { done <- o.flush(20 * time.Second) }()
	go func() { <-o.ended; w.Close() }()
	for rd := wire.NewReader(r); ; {
		m, err := rd.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rep, _ := wire.Decode[wire.Report](m)
		switch {
		case m.Kind == wire.KindAnswer:
			answers++
		case rep.Status != nil:
			statuses++
			last = *rep.Status
		case rep.Transcript != nil && rep.Transcript.Final:
			finals++
		case rep.Transcript != nil:
			partials++
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if finals != 1 || answers != 1 || last.Chats != 1999 || statuses > 20 || partials > outboxSoft+1 || partials < 100 {
		t.Errorf("%d finals, %d answers, %d partials, %d statuses, the last of them %d", finals, answers, partials, statuses, last.Chats)
	}
	select {
	case err := <-gone:
		t.Errorf("the reader was given up: %v", err)
	default:
	}
}

func TestOutboxGivesUpAReaderThatIsDead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	gone := make(chan error, 1)
	o := newOutbox(w, func(err error) { gone <- err })
	big := strings.Repeat("x", 1<<10)
	for i := range outboxHard + 200 {
		o.Report(wire.Report{Seq: int64(i), Chat: &wire.Chat{Text: big}})
	}
	select {
	case err := <-gone:
		if !errors.Is(err, errUnread) {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for ever")
	}
	o.close()
	if err := o.flush(time.Second); err == nil {
		t.Error("flush of a dead reader succeeded")
	}
}

// An answer that does not fit is still an answer.
func TestAnAnswerThatIsTooLong(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := newOutbox(w, func(error) {})
	o.Answer("1", wire.Answer{Speech: &wire.SpeechResult{Said: string(bytes.Repeat([]byte("x"), wire.MaxFrame))}})
	m, err := wire.NewReader(r).Read()
	if err != nil || m.ID != "1" {
		t.Fatalf("%+v %v", m, err)
	}
	if a, _ := wire.Decode[wire.Answer](m); a.Error == nil {
		t.Errorf("%+v", a)
	}
	if err := o.flush(time.Second); err != nil {
		t.Error(err)
	}
}
