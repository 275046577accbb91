// Package worker is the process's side of an attendance: it reads what to attend, runs the meeting with the ports that
// the program gives it, and tells the service what happens.
package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/proc"
	"parley/meeting"
	"parley/meeting/files"
	"parley/meeting/wire"
	"parley/turn"
)

// Factory makes the ports of one attendance. What the ports have to say by themselves they post. It returns at once:
// whatever takes time belongs into Opener.Open. An error ends the attendance as start-failed.
type Factory func(ctx context.Context, s wire.Start, post func(meeting.Event) bool) (meeting.Ports, error)

// Exit codes of a worker.
const (
	ExitDone    = 0 // the meeting ended, and everything was reported
	ExitStart   = 2 // no start message, or one that cannot be used
	ExitStuck   = 3 // leaving politely took too long
	ExitUnheard = 4 // the meeting ended, but nobody read the reports
)

// Times of a worker.
const (
	startTime    = 10 * time.Second        // until the start message
	politeTime   = 25 * time.Second        // from being told to stop to the end of the process
	onceTime     = 3 * time.Second         // what tells us to stop within it is one and the same event
	hurriedTime  = 1500 * time.Millisecond // after being told a second time
	deliveryTime = 5 * time.Second         // for the last reports to be read
)

// Inherited gives the two pipes of a worker: descriptor 3 to read from and 4 to write to. It has to come before
// anything else in the process: it makes every inherited descriptor close-on-exec, so that no child can hold a pipe
// open whose end is a signal.
func Inherited() (in, out *os.File, err error) {
	if err := closeOnExec(); err != nil {
		return nil, nil, err
	}
	for fd := 3; fd <= 4; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			return nil, nil, errors.New("parley worker is started by parley itself, with two pipes; use parley join URL")
		}
		if err := unix.SetNonblock(fd, true); err != nil { // so that reads have deadlines and Close ends them
			return nil, nil, fmt.Errorf("pipe %d: %w", fd, err)
		}
	}
	return os.NewFile(3, "commands"), os.NewFile(4, "reports"), nil
}

// closeOnExec marks every descriptor from 3 on.
func closeOnExec() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list descriptors: %w", err)
	}
	for _, e := range entries {
		var fd int
		if _, err := fmt.Sscanf(e.Name(), "%d", &fd); err == nil && fd >= 3 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// Main attends one meeting and gives the exit code. It returns when the meeting has ended and everything is taken down;
// the caller exits then. SIGTERM, SIGINT, the end of the command pipe, the death of the service and the end of ctx are
// one cause: leave politely. Being told a second time ends the process within two seconds.
func Main(ctx context.Context, in, out *os.File, factory Factory) int {
	log := slog.Default()
	// The service has the parent's place: its death is a SIGTERM for us, beside the end of the pipe.
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0)
	_ = proc.Subreaper() // a grandchild that loses its parent falls to us and goes when we go

	r := wire.NewReader(in)
	start, err := readStart(in, r)
	if err != nil {
		log.Error("worker: no start", "err", err)
		return ExitStart
	}
	log = log.With("meeting", start.MeetingID)

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w := &worker{out: newOutbox(out, func(err error) { stop(fmt.Errorf("reports are not read: %w", err)) }), log: log, exit: os.Exit}
	defer w.out.close()

	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	done := make(chan struct{})
	var helpers sync.WaitGroup
	helpers.Go(func() { w.watch(ctx, stop, signals, done) })

	loop := w.loop(ctx, start, factory)
	helpers.Go(func() {
		stop(fmt.Errorf("commands ended: %w", w.commands(r, loop)))
	})
	reason := loop.Run(ctx)
	log.Info("worker: ended", "reason", string(reason))
	endSession(log)
	removeRun(start.Paths.Run, log)
	close(done)
	_ = in.Close() // ends the reading of commands
	helpers.Wait()
	if err := w.out.flush(deliveryTime); err != nil {
		log.Warn("worker: the last reports were not read", "err", err)
		return ExitUnheard
	}
	return ExitDone
}

// endSession ends what ports have left running, so that nothing of a meeting outlives it. A worker leads a session of
// its own; where it does not (a test), there is nothing to end.
func endSession(log *slog.Logger) {
	self := os.Getpid()
	if sid, err := unix.Getsid(0); err != nil || sid != self {
		return
	}
	pids, err := proc.InSession(self)
	if err != nil {
		log.Warn("worker: what is left running cannot be listed", "err", err)
		return
	}
	left := 0
	for _, pid := range pids {
		if pid != self && unix.Kill(pid, unix.SIGKILL) == nil {
			left++
		}
	}
	if left > 0 {
		log.Warn("worker: ended what was left running", "processes", left)
	}
}

// removeRun removes the run folder. The service does it too, where it still lives.
func removeRun(dir string, log *slog.Logger) {
	if !strings.HasPrefix(filepath.Base(dir), "parley-") { // what proc.RunDir makes; nothing else is ours to remove
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		log.Warn("worker: the run folder is left", "err", err)
	}
}

type worker struct {
	out *outbox
	log *slog.Logger
	// exit ends the process where leaving takes too long.
	exit func(code int)
}

// readStart waits for the first message.
func readStart(in *os.File, r *wire.Reader) (wire.Start, error) {
	_ = in.SetReadDeadline(time.Now().Add(startTime)) // a file that has no deadlines waits as long as it lasts
	m, err := r.Read()
	if err != nil {
		return wire.Start{}, fmt.Errorf("read the start message: %w", err)
	}
	_ = in.SetReadDeadline(time.Time{})
	if m.Kind != wire.KindStart {
		return wire.Start{}, fmt.Errorf("the first message is %q, not start", m.Kind)
	}
	return wire.Decode[wire.Start](m)
}

// watch turns signals into the one cause, and makes sure that a polite end is an end. A service that dies tells us
// more than once, by the end of its pipe and by a signal: only somebody who tells us again later is in a hurry.
func (w *worker) watch(ctx context.Context, stop context.CancelCauseFunc, signals <-chan os.Signal, done <-chan struct{}) {
	var deadline <-chan time.Time
	told := ctx.Done()
	var since time.Time
	for {
		select {
		case s := <-signals:
			if told == nil && time.Since(since) < onceTime {
				continue
			}
			if told == nil {
				w.log.Warn("worker: told to stop again")
				deadline = time.After(hurriedTime)
				continue
			}
			stop(fmt.Errorf("signal: %v", s))
		case <-told:
			told, since = nil, time.Now()
			w.log.Info("worker: leaving", "cause", context.Cause(ctx).Error())
			deadline = time.After(politeTime)
		case <-deadline:
			w.log.Error("worker: leaving took too long")
			w.exit(ExitStuck)
			return
		case <-done:
			return
		}
	}
}

// loop makes the loop with its ports; a factory that fails becomes an attendance that ends at once.
func (w *worker) loop(ctx context.Context, start wire.Start, factory Factory) *meeting.Loop {
	ready := make(chan struct{})
	var loop *meeting.Loop
	post := func(ev meeting.Event) bool {
		select {
		case <-ready:
			return loop.Post(ev)
		case <-ctx.Done():
			return false
		}
	}
	ports, err := factory(ctx, start, post)
	if err != nil {
		w.log.Error("worker: ports", "err", err)
		ports = meeting.Ports{Opener: broken{err}}
	}
	if ports.Gate == nil {
		ports.Gate = noGate{}
	}
	var journal *meeting.Journal
	if set, err := files.Of(start.Paths.Data, start.Tenant, start.MeetingID); err != nil || start.Paths.Data == "" {
		w.log.Warn("worker: no files are kept", "err", err)
	} else {
		if ports.Files == nil {
			ports.Files = kept{set}
		}
		journal = w.journal(set)
	}
	loop = meeting.NewLoop(Options(start), ports, w.out, journal)
	close(ready)
	return loop
}

func (w *worker) journal(set files.Set) *meeting.Journal {
	if err := os.MkdirAll(filepath.Dir(set.Journal()), 0o700); err != nil {
		w.log.Warn("worker: no journal", "err", err)
		return nil
	}
	f, err := os.OpenFile(set.Journal(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.log.Warn("worker: no journal", "err", err)
		return nil
	}
	return meeting.NewJournal(f) // open for the life of the process
}

// commands posts what the service says until its pipe ends, and gives the cause of the end.
func (w *worker) commands(r *wire.Reader, loop *meeting.Loop) error {
	for {
		m, err := r.Read()
		if err != nil {
			if errors.Is(err, os.ErrClosed) {
				return io.EOF // we closed it ourselves
			}
			return err
		}
		switch m.Kind {
		case wire.KindCommand:
			c, err := wire.Decode[wire.Command](m)
			if err != nil {
				w.out.Answer(m.ID, wire.Answer{Error: &wire.Error{Code: wire.CodeBadInput, Text: "the command cannot be read"}})
				continue
			}
			if !loop.Post(meeting.Command{ID: m.ID, Body: c}) {
				w.out.Answer(m.ID, wire.Answer{Error: &wire.Error{Code: wire.CodeOver, Text: "the meeting is over"}})
			}
		case wire.KindCancel:
			loop.Post(meeting.Cancel{ID: m.ID})
		}
	}
}

// Options are a start message in the words of the machine.
func Options(s wire.Start) meeting.Options {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return meeting.Options{
		ID: meeting.ID(s.MeetingID), Platform: s.Platform, Name: s.Name, Owner: s.Owner, DryRun: s.DryRun,
		Permits: meeting.Permits(s.Permits),
		Record:  s.Wishes.Record, Transcribe: s.Wishes.Transcribe, Partials: s.Wishes.Partials,
		Announce: meeting.AnnounceMode(s.Wishes.Announce), AnnounceReason: s.Wishes.AnnounceReason,
		AnnounceText: s.Wishes.AnnounceText, Langs: s.Wishes.Langs,
		OnAnnounceFailure: meeting.AnnounceFailure(s.Wishes.OnAnnounceFailure),
		StayOnOptOut:      s.Wishes.StayOnOptOut, DeafToVoice: s.Wishes.DeafToVoice,
		ConsentGate: meeting.GatePolicy(s.Wishes.ConsentGate), AskHuman: s.Wishes.AskHuman, Inviter: s.Wishes.Inviter,
		AdmissionHold: ms(s.Limits.AdmissionHold), MaxWait: ms(s.Limits.MaxWait),
		AloneAfter: ms(s.Limits.AloneAfter), AloneAtFirst: ms(s.Limits.AloneAtFirst), OnlyBotsAfter: ms(s.Limits.OnlyBotsAfter),
		SilentAfter: ms(s.Limits.SilentAfter), MaxDuration: ms(s.Limits.MaxDuration), InviterAfter: ms(s.Limits.InviterAfter),
		MaxUtterance: s.Limits.MaxUtterance,
		Turn:         turnSettings(s.Speech.Turn), Policy: turn.Named(s.Speech.Policy), NoChannel: s.Speech.NoChannel, Silence: ms(s.Speech.SilenceMS),
	}
}

// turnSettings are the settings that the service sends; a name or a value of another version keeps its default.
func turnSettings(values map[string]string) *turn.Settings {
	set := turn.Default()
	set.SetAll(values)
	return &set
}

// broken is what is opened when the ports could not be made.
type broken struct{ err error }

func (b broken) Open(context.Context) (meeting.Call, error) { return nil, b.err }
func (b broken) Close(context.Context) error                { return nil }

// noGate is the gate where there is nothing to hear.
type noGate struct{}

func (noGate) Open()  {}
func (noGate) Close() {}

// kept are the files of one meeting as the machine's port.
type kept struct{ files.Set }

func (k kept) Mark(context.Context) error       { return k.Set.Mark() }
func (k kept) Unlink(context.Context) error     { return k.Set.Unlink() }
func (k kept) Note(e meeting.LedgerEntry) error { return k.Set.Note(e) }

var _ meeting.Files = kept{}
