package keeper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/proc"
	"parley/meeting"
	"parley/meeting/files"
	"parley/meeting/meetingtest"
	"parley/meeting/wire"
	"parley/meeting/worker"
	"parley/store"
	"parley/tenant"
	"parley/testkit/need"
)

// TestMain lets the test binary play the worker, and a service that is killed.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "worker":
			playWorker()
		case "service":
			playService()
		}
	}
	if err := proc.Subreaper(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// playWorker attends a fake meeting; beside it run a child and a grandchild, as a browser has them.
func playWorker() {
	in, out, err := worker.Inherited()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(worker.ExitStart)
	}
	os.Exit(worker.Main(context.Background(), in, out, func(_ context.Context, s wire.Start, _ func(meeting.Event) bool) (meeting.Ports, error) {
		var script meetingtest.Script
		if raw := s.Extra["script"]; raw != nil {
			if err := json.Unmarshal(raw, &script); err != nil {
				return meeting.Ports{}, err
			}
		}
		set, err := files.Of(s.Paths.Data, s.Tenant, s.MeetingID)
		if err != nil {
			return meeting.Ports{}, err
		}
		w := meetingtest.New(script)
		w.File = set.Recording()
		w.Opened = func() error {
			_, err := proc.Start(proc.Spec{Path: "/bin/sh", Args: []string{"-c", "sleep 1000 & sleep 1000; true"}})
			return err
		}
		return w.Ports(), nil
	}))
}

// playService joins one meeting, says which, and waits to be killed.
func playService() {
	k := open(os.Args[2], 0)
	s, err := k.Join(context.Background(), request("me", "k", meetingtest.Script{}))
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	k.find("me", s.ID).until(context.Background(), func() bool { return k.find("me", s.ID).snapshot().Recording })
	for file := k.find("me", s.ID).set.Recording(); ; time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			break // some sound is on disk
		}
	}
	fmt.Println(s.ID, k.find("me", s.ID).child.PID())
	select {}
}

func open(data string, max int) *Keeper {
	st, err := store.Open(context.Background(), data)
	if err != nil {
		panic(err)
	}
	k, err := New(Options{Data: data, Book: st.Meetings, Path: self(), MaxMeetings: max, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		panic(err)
	}
	return k
}

func self() string {
	p, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return p
}

func request(_, key string, s meetingtest.Script) JoinRequest {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	p := wire.Permits{Record: true, Speak: true, Chat: true}
	return JoinRequest{Tenant: "me", Platform: "fake", Key: key, Wait: 10 * time.Second,
		Start: wire.Start{Name: "Parley (AI notetaker)", Link: "http://x/" + key, Permits: p, Wishes: wire.Wishes{Record: true}, Extra: map[string]json.RawMessage{"script": raw}}}
}

// keeper gives one on a new data folder, and checks that it leaves nothing behind.
func keeper(t *testing.T, max int) *Keeper {
	t.Helper()
	need.Real(t)
	k := open(t.TempDir(), max)
	t.Cleanup(func() {
		if err := k.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		clean(t, k)
	})
	return k
}

// clean says what a keeper has left: processes, notes, locks, descriptors of pipes.
func clean(t *testing.T, k *Keeper) {
	t.Helper()
	for _, a := range k.order {
		if a.child != nil {
			if pids, err := proc.InSession(a.child.PID()); err != nil || len(pids) > 0 {
				t.Errorf("%s has left the processes %v (%v)", a.row.ID, pids, err)
			}
		}
		if a.run != "" {
			if _, err := os.Stat(a.run); err == nil {
				t.Errorf("%s has left its run folder", a.row.ID)
			}
		}
	}
	if es, err := os.ReadDir(k.runDir()); err != nil || len(es) > 0 {
		t.Errorf("notes and locks are left: %v %v", es, err)
	}
	// What died while its parent did falls to us a moment later: the service reaps such from time to time.
	var adopted proc.Adopted
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		z := zombies(t)
		if len(z) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("zombies: %v", z)
			return
		}
		if _, err := adopted.Reap(); err != nil {
			t.Error(err)
		}
	}
}

func zombies(t *testing.T) []string {
	t.Helper()
	var z []string
	es, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		raw, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		f := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if f[0] == "Z" && f[1] == strconv.Itoa(os.Getpid()) {
			z = append(z, e.Name())
		}
	}
	return z
}

func pipes(t *testing.T) int {
	t.Helper()
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range es {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, "pipe:") {
			n++
		}
	}
	return n
}

func join(t *testing.T, k *Keeper, key string, s meetingtest.Script) Status {
	t.Helper()
	st, err := k.Join(t.Context(), request("me", key, s))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// reach waits until a meeting is as cond says.
func reach(t *testing.T, k *Keeper, id string, what string, cond func(Status) bool) Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	a := k.find("me", id)
	a.until(ctx, func() bool { return cond(a.snapshot()) })
	s := a.snapshot()
	if !cond(s) {
		t.Fatalf("%s never came: %+v", what, s)
	}
	return s
}

func recording(s Status) bool { return s.Recording }
func ended(s Status) bool     { return !s.EndedAt.IsZero() }

// gone waits for the very end of a meeting.
func gone(t *testing.T, k *Keeper, id string) Status {
	t.Helper()
	select {
	case <-k.find("me", id).done:
	case <-time.After(40 * time.Second):
		t.Fatal("it does not end")
	}
	return k.find("me", id).snapshot()
}

func TestAMeetingFromJoinToEnd(t *testing.T) {
	k := keeper(t, 0)
	before := pipes(t)
	watch := k.Watch(t.Context())
	s := join(t, k, "k", meetingtest.Script{Says: []string{"Hello", "How are you?"}})
	if st := meeting.State(s.State); !st.In() && st != meeting.Waiting {
		t.Errorf("joined: %s", s.State)
	}
	reach(t, k, s.ID, "recording", recording)
	reach(t, k, s.ID, "two messages", func(s Status) bool { return s.Chats == 2 })
	if _, err := k.Recording(t.Context(), "me", s.ID); !errors.Is(err, ErrWriting) {
		t.Errorf("the file while it is written: %v", err)
	}
	if _, err := k.Command(t.Context(), "me", s.ID, wire.Command{ChatSend: &wire.ChatSend{Text: "hi"}}); err != nil {
		t.Errorf("chat: %v", err)
	}
	ans, err := k.Command(t.Context(), "me", s.ID, wire.Command{Speak: &wire.Speak{Text: "good morning", Wait: true}})
	if err != nil || ans.Speech.State != "done" {
		t.Errorf("speak: %+v %v", ans, err)
	}
	if _, err := k.Command(t.Context(), "you", s.ID, wire.Command{Leave: &wire.Empty{}}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a stranger's command: %v", err)
	}
	msgs, _, err := k.Chat(t.Context(), "me", s.ID, 1, 0)
	if err != nil || len(msgs) != 1 || msgs[0].Text != "How are you?" {
		t.Errorf("chat: %v %v", msgs, err)
	}
	if _, err := k.Command(t.Context(), "me", s.ID, wire.Command{Leave: &wire.Empty{}}); err != nil {
		t.Errorf("leave: %v", err)
	}
	s = gone(t, k, s.ID)
	if s.Reason != string(meeting.ReasonLeft) || !s.RecordingClosed || s.RecordingBytes == 0 {
		t.Errorf("ended: %+v", s)
	}
	f, err := k.Recording(t.Context(), "me", s.ID)
	if err != nil || f.Bytes != s.RecordingBytes {
		t.Errorf("recording: %+v %v", f, err)
	}
	if info, _ := os.Stat(f.Path); info.Mode().Perm() != 0o600 {
		t.Errorf("recording: %v", info.Mode())
	}
	row, err := k.o.Book.Get(t.Context(), "me", s.ID)
	if err != nil || row.State != "ended" || row.Ended.IsZero() || row.RecordingState != "ready" || row.Admitted.IsZero() {
		t.Errorf("book: %+v %v", row, err)
	}
	var kinds []string
	for ev := range watch {
		kinds = append(kinds, ev.Report.Name())
		if ev.Report.Ended != nil {
			break
		}
	}
	if got := strings.Join(kinds, " "); !strings.HasPrefix(got, "state state") || !strings.Contains(got, "announce") || !strings.HasSuffix(got, "ended") {
		t.Errorf("events: %s", got)
	}
	h, err := k.Listen(t.Context(), "me", s.ID, 0, 0, 0)
	if err != nil || len(h.Events) != len(kinds) || !h.Over || h.Events[0].Cursor != 1 || h.Next != int64(len(kinds)) {
		t.Errorf("listen: %d events of %d, %+v %v", len(h.Events), len(kinds), h.Next, err)
	}
	if after := pipes(t); after != before {
		t.Errorf("%d pipes are left", after-before)
	}
	if _, err := k.Command(t.Context(), "me", s.ID, wire.Command{StopSpeaking: &wire.Empty{}}); err == nil {
		t.Error("a command after the end was accepted")
	}
}

// No child of a worker holds one of its pipes: their ends are signals.
func TestPipesAreNotInherited(t *testing.T) {
	k := keeper(t, 0)
	s := join(t, k, "k", meetingtest.Script{})
	reach(t, k, s.ID, "recording", recording)
	leader := k.find("me", s.ID).child.PID()
	// The grandchild is started by the child, in its own time.
	var pids []int
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var err error
		pids, err = proc.InSession(leader)
		if err == nil && len(pids) >= 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v %v: the worker, its child and grandchild", pids, err)
		}
	}
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid) + "/fd"
		es, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			n, _ := strconv.Atoi(e.Name())
			to, _ := os.Readlink(dir + "/" + e.Name())
			if pid != leader && n > 2 && (strings.HasPrefix(to, "pipe:") || strings.HasPrefix(to, k.o.Data)) {
				t.Errorf("process %d holds %s as %d", pid, to, n)
			}
			if pid == leader && strings.HasSuffix(to, ".lock") {
				t.Errorf("the worker holds %s", to)
			}
		}
	}
}

func TestTenJoinsAtOnce(t *testing.T) {
	k := keeper(t, 4)
	type result struct {
		s   Status
		err error
	}
	results := make(chan result)
	for i := range 10 {
		go func() {
			s, err := k.Join(t.Context(), request("me", strconv.Itoa(i%5), meetingtest.Script{}))
			results <- result{s, err}
		}()
	}
	ids := map[string]int{}
	full := 0
	for range 10 {
		r := <-results
		var f *store.FullError
		switch {
		case errors.As(r.err, &f):
			full++
		case r.err != nil:
			t.Error(r.err)
		default:
			ids[r.s.ID]++
		}
	}
	if len(ids) != 4 || full == 0 {
		t.Errorf("%d meetings, %d refused", len(ids), full)
	}
	if n := k.Running(); n != 4 {
		t.Errorf("%d run", n)
		for _, a := range k.order {
			t.Errorf("%+v", a.snapshot())
		}
	}
}

// Commands that race with the end are answered: done, over, or uncertain, but answered.
func TestCommandsAroundTheEnd(t *testing.T) {
	k := keeper(t, 0)
	s := join(t, k, "k", meetingtest.Script{})
	reach(t, k, s.ID, "recording", recording)
	answered := make(chan error)
	for i := range 20 {
		go func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			_, err := k.Command(t.Context(), "me", s.ID, wire.Command{ChatSend: &wire.ChatSend{Text: "hi"}})
			answered <- err
		}()
	}
	time.Sleep(8 * time.Millisecond)
	if err := syscall.Kill(k.find("me", s.ID).child.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done := 0
	for range 20 {
		err := <-answered
		var we *wire.Error
		switch {
		case err == nil:
			done++
		case !errors.As(err, &we) || (we.Code != wire.CodeOver && we.Code != wire.CodeNotYet):
			t.Errorf("%v", err)
		}
	}
	if s := gone(t, k, s.ID); s.Reason != string(meeting.ReasonShutdown) {
		t.Errorf("%s", s.Reason)
	}
	t.Logf("%d of 20 were done", done)
}

func TestAnObjectionLeavesTheMarkerAlone(t *testing.T) {
	k := keeper(t, 0)
	forgot := make(chan string, 4)
	k.o.Forget = func(_ tenant.ID, id string) { forgot <- id }
	s := join(t, k, "k", meetingtest.Script{})
	reach(t, k, s.ID, "recording", recording)
	if _, err := k.Command(t.Context(), "me", s.ID, wire.Command{StopRecording: &wire.StopRecording{Delete: true}}); err != nil {
		t.Fatal(err)
	}
	ledger, err := k.Consent(t.Context(), "me", s.ID)
	if err != nil || len(ledger) < 3 || ledger[len(ledger)-1].What != "deleted" {
		t.Errorf("ledger: %+v %v", ledger, err)
	}
	es, err := os.ReadDir(filepath.Join(k.o.Data, "recordings", "me"))
	if err != nil || len(es) != 1 || es[0].Name() != s.ID+".deleted" {
		t.Errorf("left: %v %v", es, err)
	}
	if _, err := k.Recording(t.Context(), "me", s.ID); !errors.Is(err, ErrNoFile) {
		t.Errorf("recording: %v", err)
	}
}

func TestDeletingAfterTheEnd(t *testing.T) {
	k := keeper(t, 0)
	s := join(t, k, "k", meetingtest.Script{Ends: 300 * time.Millisecond})
	s = gone(t, k, s.ID)
	if s.Reason != string(meeting.ReasonEndedForAll) {
		t.Errorf("%s", s.Reason)
	}
	for range 2 {
		if err := k.DeleteRecording(t.Context(), "me", s.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.Recording(t.Context(), "me", s.ID); !errors.Is(err, ErrNoFile) {
		t.Errorf("%v", err)
	}
	es, _ := os.ReadDir(filepath.Join(k.o.Data, "recordings", "me"))
	if len(es) != 1 {
		t.Errorf("left: %v", es)
	}
	if row, _ := k.o.Book.Get(t.Context(), "me", s.ID); row.RecordingState != "deleted" {
		t.Errorf("book: %s", row.RecordingState)
	}
}

func TestTwoJoinsOfOneMeeting(t *testing.T) {
	k := keeper(t, 2)
	a := join(t, k, "same", meetingtest.Script{})
	b := join(t, k, "same", meetingtest.Script{})
	if b.ID != a.ID || !b.Existing || a.Existing {
		t.Errorf("%s %s %t", a.ID, b.ID, b.Existing)
	}
	r := request("me", "same", meetingtest.Script{})
	r.AllowDuplicate = true
	c, err := k.Join(t.Context(), r)
	if err != nil || c.ID == a.ID {
		t.Fatalf("%v %v", c.ID, err)
	}
	var full *store.FullError
	if _, err := k.Join(t.Context(), request("me", "other", meetingtest.Script{})); !errors.As(err, &full) {
		t.Errorf("a third one: %v", err)
	}
	if _, err := k.Command(t.Context(), "me", a.ID, wire.Command{Leave: &wire.Empty{}}); err != nil {
		t.Fatal(err)
	}
	// There is room as soon as one is on its way out.
	if d := join(t, k, "other", meetingtest.Script{}); d.Existing {
		t.Errorf("%+v", d)
	}
}

func TestHowJoinsEnd(t *testing.T) {
	k := keeper(t, 0)
	for _, c := range []struct {
		script meetingtest.Script
		reason meeting.Reason
	}{
		{meetingtest.Script{OpenFails: meeting.ReasonUnreachable}, meeting.ReasonUnreachable},
		{meetingtest.Script{Waits: 20 * time.Millisecond, Denied: meeting.ReasonDenied}, meeting.ReasonDenied},
	} {
		s := join(t, k, string(c.reason), c.script)
		s = gone(t, k, s.ID)
		if s.Reason != string(c.reason) || s.What == "" || s.Try == "" {
			t.Errorf("%+v", s)
		}
	}
	k.o.Path = "/nowhere/parley"
	s, err := k.Join(t.Context(), request("me", "x", meetingtest.Script{}))
	if err != nil || s.Reason != string(meeting.ReasonStartFailed) {
		t.Errorf("no program: %+v %v", s, err)
	}
	k.o.Path = "/bin/true" // a worker that says nothing
	s = join(t, k, "y", meetingtest.Script{})
	if s = gone(t, k, s.ID); s.Reason != string(meeting.ReasonCrashed) {
		t.Errorf("a silent worker: %s", s.Reason)
	}
}

// Killed at random moments, a worker leaves nothing running, and its end is told with the reason.
func TestKilledWorkers(t *testing.T) {
	k := keeper(t, 0)
	n := 12
	if more, err := strconv.Atoi(os.Getenv("PARLEY_TEST_KILLS")); err == nil {
		n = more // make accept asks for two hundred
	}
	for i := range n {
		s := join(t, k, "k"+strconv.Itoa(i), meetingtest.Script{})
		a := k.find("me", s.ID)
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond) // the random moment
		if err := syscall.Kill(a.child.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		s = gone(t, k, s.ID)
		if s.Reason != string(meeting.ReasonCrashed) || s.State != "ended" {
			t.Errorf("%s %s", s.State, s.Reason)
		}
		h, _ := k.Listen(t.Context(), "me", s.ID, 0, 0, 0)
		if len(h.Events) == 0 || h.Events[len(h.Events)-1].Report.Ended == nil {
			t.Error("the end was not told")
		}
		if pids, _ := proc.InSession(a.child.PID()); len(pids) > 0 {
			t.Errorf("left running: %v", pids)
		}
	}
}

// A worker that dies before its first sound is on disk has recorded nothing, and what cannot be made whole is kept.
func TestWhatADeadWorkerLeft(t *testing.T) {
	for _, c := range []struct {
		repair error
		state  string
		kept   bool
	}{
		{ErrNothing, "none", false},
		{errors.New("the disk is full"), "damaged", true},
	} {
		k := keeper(t, 0)
		k.o.Repair = func(context.Context, files.Set) (meeting.Recorded, error) { return meeting.Recorded{}, c.repair }
		s := join(t, k, "k", meetingtest.Script{})
		reach(t, k, s.ID, "recording", recording)
		if err := syscall.Kill(k.find("me", s.ID).child.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		s = gone(t, k, s.ID)
		if got := RecordingState(s.Status); got != c.state || (s.RecordingPath != "") != c.kept {
			t.Errorf("%v: %s at %q", c.repair, got, s.RecordingPath)
		}
		row, err := k.o.Book.Get(t.Context(), "me", s.ID)
		if err != nil || row.RecordingState != c.state {
			t.Errorf("%v: the book says %s %v", c.repair, row.RecordingState, err)
		}
		if later := k.fromRow(row); RecordingState(later.Status) != c.state || (later.RecordingPath != "") != c.kept {
			t.Errorf("%v: read again: %s at %q", c.repair, RecordingState(later.Status), later.RecordingPath)
		}
		set, err := files.Of(k.o.Data, "me", s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(set.Recording()); (err == nil) != c.kept {
			t.Errorf("%v: the file: %v", c.repair, err)
		}
		if _, err := k.Recording(t.Context(), "me", s.ID); (err == nil) != c.kept {
			t.Errorf("%v: recording: %v", c.repair, err)
		}
	}
}

func TestShutdownLeavesPolitely(t *testing.T) {
	need.Real(t)
	k := open(t.TempDir(), 0)
	var ids []string
	for i := range 3 {
		s := join(t, k, "k"+strconv.Itoa(i), meetingtest.Script{})
		reach(t, k, s.ID, "recording", recording)
		ids = append(ids, s.ID)
	}
	waiting := join(t, k, "w", meetingtest.Script{Waits: -1})
	if err := k.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for _, id := range append(ids, waiting.ID) {
		if s := k.find("me", id).snapshot(); s.Reason != string(meeting.ReasonShutdown) || (id != waiting.ID && !s.RecordingClosed) {
			t.Errorf("%+v", s)
		}
	}
	clean(t, k)
	if _, err := k.Join(t.Context(), request("me", "late", meetingtest.Script{})); !errors.Is(err, ErrClosing) {
		t.Errorf("a join after the end: %v", err)
	}
}

// A service that is killed takes its meetings along politely, and the next start says what became of them.
func TestKilledService(t *testing.T) {
	need.Real(t)
	data := t.TempDir()
	service := exec.Command(self(), "service", data)
	out, err := service.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var id string
	var pid int
	if _, err := fmt.Sscan(line, &id, &pid); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	// While it lives, nobody takes its meeting away.
	other := open(data, 0)
	if s, err := other.Status(t.Context(), "me", id); err != nil || ended(s) {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := other.Command(t.Context(), "me", id, wire.Command{Leave: &wire.Empty{}}); !errors.Is(err, ErrElsewhere) {
		t.Errorf("%v", err)
	}
	if _, _, err := other.Chat(t.Context(), "me", id, 0, 0); !errors.Is(err, ErrElsewhere) {
		t.Errorf("chat: %v", err)
	}
	if s, err := other.Status(t.Context(), "me", id); err != nil || !s.Elsewhere {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := other.Join(t.Context(), request("me", "k", meetingtest.Script{})); err != nil || !s.Existing || s.ID != id {
		t.Errorf("%+v %v", s, err)
	}

	if err := service.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = service.Wait()
	killed := time.Now()
	next := open(data, 0)
	watch := next.Watch(t.Context())
	s, err := next.Status(t.Context(), "me", id)
	if err != nil || s.Reason != string(meeting.ReasonInterrupted) || s.State != "ended" {
		t.Fatalf("%+v %v", s, err)
	}
	for ev := range watch {
		if ev.Report.Ended != nil {
			break
		}
	}
	if took := time.Since(killed); took > 15*time.Second {
		t.Errorf("the end was told after %v", took)
	}
	gone(t, next, id)
	if pids, err := proc.InSession(pid); err != nil || len(pids) > 0 {
		t.Errorf("still running: %v %v", pids, err)
	}
	f, err := next.Recording(t.Context(), "me", id)
	if err != nil || f.Bytes == 0 {
		t.Errorf("recording: %+v %v", f, err)
	}
	for _, k := range []*Keeper{other, next} {
		if err := k.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	clean(t, next)
}

// A worker that hangs is noticed and killed, and its end is told.
func TestAHangingWorkerIsNoticed(t *testing.T) {
	k := keeper(t, 0)
	k.beatEvery = 200 * time.Millisecond
	s := join(t, k, "k", meetingtest.Script{})
	reach(t, k, s.ID, "recording", recording)
	if err := syscall.Kill(k.find("me", s.ID).child.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if s := gone(t, k, s.ID); s.Reason != string(meeting.ReasonCrashed) {
		t.Errorf("%s", s.Reason)
	}
}

// A worker that is stopped does not hold up the end of the service.
func TestAStoppedWorkerIsKilled(t *testing.T) {
	need.Real(t)
	k := open(t.TempDir(), 0)
	s := join(t, k, "k", meetingtest.Script{})
	reach(t, k, s.ID, "recording", recording)
	a := k.find("me", s.ID)
	if err := syscall.Kill(a.child.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for !stopped(t, a.child.PID()) {
		time.Sleep(time.Millisecond)
	}
	// A command to it ends with the caller's patience, and says which way.
	short, enough := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer enough()
	taken, back := context.WithCancel(t.Context())
	back()
	for want, ctx := range map[string]context.Context{"did not answer in time": short, "was taken back": taken} {
		var e *wire.Error
		if _, err := k.Command(ctx, "me", s.ID, wire.Command{Mute: &wire.Switch{On: true}}); !errors.As(err, &e) || e.Code != wire.CodeUncertain || !strings.Contains(e.Text, want) {
			t.Errorf("%v, want that it %s", err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := k.Shutdown(ctx); err == nil {
		t.Error("a stopped worker ended politely")
	}
	if s := gone(t, k, s.ID); s.Reason != string(meeting.ReasonCrashed) {
		t.Errorf("%s", s.Reason)
	}
	clean(t, k)
}

func stopped(t *testing.T, pid int) bool {
	t.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))[0] == "T"
}
