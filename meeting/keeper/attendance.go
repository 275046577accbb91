package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"parley/guard/spawn"
	"parley/internal/proc"
	"parley/meeting"
	"parley/meeting/files"
	"parley/meeting/wire"
	"parley/store"
)

// attendance is one meeting of ours: its process, what it has said, and who waits for it.
//
// follow is the one goroutine that reads the reports; conclude, at its end, is the one function that handles the end.
type attendance struct {
	k   *Keeper
	row store.Meeting // fixed fields only; the changing ones are made by save
	set files.Set

	lock  *os.File
	child *proc.Child
	began uint64 // the worker's start time
	run   string // the worker's run folder
	rep   *os.File

	failed meeting.Reason // set before follow: it never started

	wmu sync.Mutex // the command pipe
	cmd *os.File
	w   *wire.Writer

	done  chan struct{} // closed when everything is gone
	dirty chan struct{} // the row is to be saved
	saved sync.WaitGroup

	mu       sync.Mutex
	changed  chan struct{} // closed, and made anew, whenever something below changes
	status   wire.Status
	at       time.Time // of the status
	name     string
	admitted time.Time
	ended    time.Time
	final    *wire.Ended
	log      eventLog
	pending  map[string]chan wire.Answer
	nextID   int
	gone     bool // concluded
	lastSeq  int64
	channel  *Event // that opened the conversation; nil: there is none
}

func newAttendance(k *Keeper, row store.Meeting, set files.Set, name string) *attendance {
	a := &attendance{k: k, row: row, set: set, name: name, done: make(chan struct{}), dirty: make(chan struct{}, 1),
		changed: make(chan struct{}), pending: map[string]chan wire.Answer{}, at: time.Now()}
	a.status = wire.Status{State: string(meeting.Requested), Transcript: "off", Microphone: string(meeting.DeviceUnknown), Camera: string(meeting.DeviceUnknown)}
	return a
}

// start starts the process and sends it the start message. Its caller holds wmu, so that no command can come first.
func (a *attendance) start(r JoinRequest) (err error) {
	if err := a.set.Prepare(); err != nil {
		return err
	}
	if a.run, err = proc.RunDir(a.k.o.RunBase, nil); err != nil {
		return err
	}
	cmdR, cmdW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe for commands: %w", err)
	}
	defer cmdR.Close()
	a.cmd, a.w = cmdW, wire.NewWriter(cmdW)
	repR, repW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe for reports: %w", err)
	}
	defer repW.Close()
	a.rep = repR
	// In a session of its own: whatever it starts stays in it, so that the whole of it can be found and ended. It gives
	// itself a parent-death signal that lets it leave politely.
	a.child, err = spawn.Start(spawn.Worker, proc.Spec{Name: "worker", Path: a.k.o.Path, Args: a.k.o.Args, Env: a.k.o.Env, Stderr: a.k.o.Stderr,
		ExtraFiles: append([]*os.File{cmdR, repW}, r.Files...), Outlive: true}, spawn.Options{})
	if err != nil {
		return err
	}
	if err := a.writeInfo(); err != nil {
		return err
	}
	a.saved.Go(a.save)
	s := r.Start
	s.MeetingID, s.Tenant, s.Paths.Data, s.Paths.Run = a.row.ID, string(a.row.Tenant), a.k.o.Data, a.run
	if s.Platform == "" {
		s.Platform = r.Platform
	}
	return a.write(wire.KindStart, "", s)
}

// send writes a message. A worker that does not read for a while is as good as dead: its pipe is closed, which tells
// it to leave if it can still hear.
func (a *attendance) send(kind wire.Kind, id string, body any) error {
	a.wmu.Lock()
	defer a.wmu.Unlock()
	return a.write(kind, id, body)
}

// write needs wmu.
func (a *attendance) write(kind wire.Kind, id string, body any) error {
	if a.cmd == nil {
		return io.ErrClosedPipe
	}
	_ = a.cmd.SetWriteDeadline(time.Now().Add(writeTime))
	err := a.w.Write(kind, id, body)
	if err != nil && !errors.Is(err, wire.ErrTooLong) {
		_ = a.cmd.Close()
		a.cmd = nil
	}
	return err
}

// hangUp ends the command pipe: the worker leaves politely.
func (a *attendance) hangUp() {
	a.wmu.Lock()
	defer a.wmu.Unlock()
	if a.cmd != nil {
		_ = a.cmd.Close()
		a.cmd = nil
	}
}

// kill ends the worker and all that it started.
func (a *attendance) kill() {
	if a.child != nil {
		endSession(a.child.PID(), a.began, drainTime)
	}
}

// follow hears the worker to the end of its reports, then sees it die, then concludes.
func (a *attendance) follow() {
	beats := make(chan struct{})
	var helpers sync.WaitGroup
	helpers.Go(func() { a.beat(beats) })
	helpers.Go(func() { // a grandchild that holds the pipe would keep us here for ever
		select {
		case <-a.child.Done():
			_ = a.rep.SetReadDeadline(time.Now().Add(drainTime))
		case <-beats:
		}
	})
	r := wire.NewReader(a.rep)
	for {
		m, err := r.Read()
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
				a.k.log.Error("keeper: reports of a worker cannot be read", "meeting", a.row.ID, "err", err)
			}
			break
		}
		switch m.Kind {
		case wire.KindAnswer:
			a.answered(m)
		case wire.KindReport:
			if rep, err := wire.Decode[wire.Report](m); err == nil {
				a.reported(rep)
			}
		}
	}
	close(beats)
	a.hangUp()
	select {
	case <-a.child.Done():
	case <-time.After(politeTime):
		a.k.log.Error("keeper: a worker does not end and is killed", "meeting", a.row.ID)
		a.kill()
		<-a.child.Done()
	}
	helpers.Wait()
	a.conclude()
}

// beat asks now and then how the worker is. One that does not answer is stuck, and nobody else would notice.
func (a *attendance) beat(stop <-chan struct{}) {
	every := a.k.beatEvery
	t := time.NewTicker(every)
	defer t.Stop()
	missed := 0
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), every)
		err := a.ask(ctx)
		cancel()
		if err == nil {
			missed = 0
			continue
		}
		if missed++; missed >= beatsAtMost && !a.ending() {
			a.k.log.Error("keeper: a worker does not answer and is killed", "meeting", a.row.ID, "missed", missed)
			a.kill()
			return
		}
	}
}

// ask gets a fresh status.
func (a *attendance) ask(ctx context.Context) error {
	ans, err := a.command(ctx, wire.Command{Status: &wire.Empty{}})
	if err != nil {
		return err
	}
	if ans.Status != nil {
		a.mu.Lock()
		a.take(*ans.Status)
		a.mu.Unlock()
	}
	return nil
}

// refresh asks for a status where that is quick.
func (a *attendance) refresh(ctx context.Context) {
	if a.over() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = a.ask(ctx) // the last known one is told instead
}

// command sends a command and waits for its answer.
func (a *attendance) command(ctx context.Context, c wire.Command) (wire.Answer, error) {
	limit := commandTime
	if c.TimeoutMS > 0 {
		limit = time.Duration(c.TimeoutMS) * time.Millisecond
	} else if c.Speak != nil && c.Speak.Wait {
		limit = 20 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit+2*time.Second) // the worker answers at the limit by itself
	defer cancel()
	answer := make(chan wire.Answer, 1)
	a.mu.Lock()
	if a.gone {
		r := meeting.Reason(a.status.Reason)
		a.mu.Unlock()
		return wire.Answer{}, over(r)
	}
	a.nextID++
	id := strconv.Itoa(a.nextID)
	a.pending[id] = answer
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.pending, id)
		a.mu.Unlock()
	}()
	if err := a.send(wire.KindCommand, id, c); err != nil {
		if errors.Is(err, wire.ErrTooLong) {
			return wire.Answer{}, &wire.Error{Code: wire.CodeBadInput, Text: "the command is longer than a message to a meeting may be"}
		}
		return wire.Answer{}, &wire.Error{Code: wire.CodeOver, Text: "the meeting is ending"}
	}
	select {
	case ans := <-answer:
		if ans.Error != nil {
			return ans, ans.Error
		}
		return ans, nil
	case <-ctx.Done():
		_ = a.send(wire.KindCancel, id, nil)
		if c.Status != nil {
			return wire.Answer{}, context.Cause(ctx)
		}
		why := "the meeting's process did not answer in time"
		if errors.Is(ctx.Err(), context.Canceled) {
			why = "the call was taken back"
		}
		return wire.Answer{}, &wire.Error{Code: wire.CodeUncertain, Text: why + "; the command was canceled, but it may have been done: read the status"}
	}
}

func (a *attendance) answered(m wire.Message) {
	ans, err := wire.Decode[wire.Answer](m)
	if err != nil {
		ans = wire.Answer{Error: &wire.Error{Code: wire.CodeFailed, Text: "the answer of the meeting's process cannot be read"}}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if ch := a.pending[m.ID]; ch != nil {
		delete(a.pending, m.ID)
		ch <- ans
	}
}

// reported takes a report into account and passes it on.
func (a *attendance) reported(r wire.Report) {
	if r.Name() == "" {
		return // of a newer worker
	}
	a.mu.Lock()
	if r.Status != nil {
		if !a.gone && RecordingState(*r.Status) != RecordingState(a.status) {
			a.saveSoon() // another service on this data folder reads the row, and must not call us silent while we record
		}
		a.take(*r.Status)
		a.wake()
		a.mu.Unlock()
		return
	}
	if r.Seq <= a.lastSeq { // told twice
		a.mu.Unlock()
		return
	}
	a.lastSeq = r.Seq
	switch {
	case r.State != nil:
		a.status.State, a.status.HeldBy = r.State.State, r.State.HeldBy
		if r.State.Reason != "" {
			a.status.Reason = r.State.Reason
		}
		if meeting.State(r.State.State) == meeting.Admitted && a.admitted.IsZero() {
			a.admitted = time.Now()
		}
		a.saveSoon()
	case r.Chat != nil:
		a.status.Chats = r.Chat.N
	case r.People != nil:
		a.status.People = r.People
	case r.Transcript != nil && r.Transcript.Final:
		a.status.Segments++
		a.status.LagMS = r.Transcript.LagMS
	case r.Ended != nil:
		if a.final != nil {
			a.mu.Unlock()
			return
		}
		a.final, a.ended = r.Ended, time.Now()
	}
	ev := a.note(r)
	if r.OptOut != nil {
		a.log.forgetText()
	}
	if r.Channel != nil {
		if a.channel = nil; r.Channel.Open {
			opened := ev
			a.channel = &opened
		}
	}
	a.mu.Unlock()
	if r.OptOut != nil {
		a.k.forget(a.row.Tenant, a.row.ID)
	}
	a.k.hub.publish(ev)
}

// note numbers an event and remembers it. It needs the lock.
func (a *attendance) note(r wire.Report) Event {
	ev := Event{Tenant: a.row.Tenant, Meeting: a.row.ID, Platform: a.row.Platform, Report: r}
	a.log.add(&ev)
	a.wake()
	return ev
}

// take replaces the status. It needs the lock.
func (a *attendance) take(s wire.Status) {
	if a.gone {
		return
	}
	a.status, a.at = s, time.Now()
}

// wake tells everybody who waits. It needs the lock.
func (a *attendance) wake() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// until waits until cond holds, or ctx ends. cond is called without the lock.
func (a *attendance) until(ctx context.Context, cond func() bool) {
	for {
		a.mu.Lock()
		changed := a.changed
		a.mu.Unlock()
		if cond() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// settled says that there is something to say about a join.
func (a *attendance) settled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch meeting.State(a.status.State) {
	case meeting.Requested, meeting.Starting, meeting.Lobby:
		return a.gone
	case meeting.Leaving: // its end is near, and says more
		return a.gone || a.final != nil
	}
	return true
}

// over says that everything is gone.
func (a *attendance) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone
}

// ending says that the worker has said its last, or is on the way out.
func (a *attendance) ending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone || a.final != nil || meeting.State(a.status.State).Over()
}

// deleted notes that the files are gone.
func (a *attendance) deleted() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status.Deleted, a.status.RecordingClosed, a.status.RecordingPath = true, false, ""
	a.status.RecordingSeconds, a.status.RecordingBytes = 0, 0
	a.log.forgetText()
	a.wake()
}

// conclude is the one end of every attendance, whatever the cause: the rest of its processes goes, its file is made
// whole, the end is told if the worker could not, and everybody who waits is answered.
func (a *attendance) conclude() {
	if a.child != nil {
		endSession(a.child.PID(), a.began, drainTime)
	}
	if a.rep != nil {
		_ = a.rep.Close()
	}
	a.hangUp()
	a.mu.Lock()
	final, closed := a.final, a.status.RecordingClosed
	reason := a.failed
	if reason == "" {
		reason = meeting.ReasonCrashed
	}
	a.mu.Unlock()
	found := a.k.salvageFiles(a.set, closed)

	a.mu.Lock()
	a.gone = true
	a.status.State = string(meeting.Ended)
	a.status.Recording, a.status.RemainingMS, a.status.Speaking, a.status.Questions = false, 0, "", nil
	if a.set.Deleted() {
		a.status.Deleted, a.status.RecordingClosed, a.status.RecordingPath = true, false, ""
	} else {
		found.into(&a.status)
	}
	var told []Event
	if a.channel != nil { // the worker could not say it
		a.channel = nil
		told = append(told, a.note(wire.Report{At: time.Now().UnixMilli(), Channel: &wire.Channel{Why: "ended"}}))
	}
	if final == nil {
		a.ended = time.Now()
		e := reason.Ending()
		final = &wire.Ended{Reason: string(reason), What: e.What, Try: e.Try, Expected: e.Expected, Deleted: a.status.Deleted, Evidence: a.status.Evidence}
		if !a.admitted.IsZero() {
			final.DurationS = a.ended.Sub(a.admitted).Seconds()
		}
		final.Recording = found.file()
		a.final = final
		now := a.ended.UnixMilli()
		told = append(told, a.note(wire.Report{At: now, State: &wire.StateChange{State: string(meeting.Ended), Reason: string(reason)}}),
			a.note(wire.Report{At: now, Ended: final}))
	}
	a.status.Reason, a.status.What, a.status.Try, a.status.DurationS = final.Reason, final.What, final.Try, final.DurationS
	waiting := a.pending
	a.pending = map[string]chan wire.Answer{}
	a.wake()
	a.mu.Unlock()
	for _, ch := range waiting {
		ch <- wire.Answer{Error: over(meeting.Reason(final.Reason))}
	}
	for _, ev := range told {
		a.k.hub.publish(ev)
	}
	close(a.dirty)
	a.saved.Wait()
	a.saveNow()
	if a.run != "" {
		_ = os.RemoveAll(a.run)
	}
	a.k.removeInfo(a.row.ID)
	a.k.unlock(a.row.ID, a.lock)
	a.k.log.Info("keeper: ended", "meeting", a.row.ID, "reason", final.Reason)
	close(a.done)
	a.k.concluded(a)
}

// saveSoon asks for the row to be written. It needs the lock, and comes before conclude.
func (a *attendance) saveSoon() {
	select {
	case a.dirty <- struct{}{}:
	default:
	}
}

// save writes the row whenever it changed: a slow disk must not hold up the reports.
func (a *attendance) save() {
	for range a.dirty {
		a.saveNow()
	}
}

func (a *attendance) saveNow() {
	a.mu.Lock()
	row := a.row
	row.State, row.Reason, row.Admitted = a.status.State, a.status.Reason, a.admitted
	row.RecordingSeconds, row.RecordingBytes = a.status.RecordingSeconds, a.status.RecordingBytes
	row.RecordingState = RecordingState(a.status)
	if a.gone {
		row.Ended = a.ended
	}
	row.Data = rowData{Name: a.name, Announce: a.status.Announce, Gap: a.status.RecordingGapS, Parts: a.status.RecordingParts, Objected: a.status.Objected}.bytes()
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := a.k.o.Book.Update(ctx, row); err != nil {
		a.k.log.Error("keeper: book", "meeting", a.row.ID, "err", err)
	}
}

// RecordingState is how a recording is, in a word: none, writing, ready, damaged, deleted.
func RecordingState(s wire.Status) string {
	switch {
	case s.Deleted:
		return "deleted"
	case s.RecordingClosed && (s.RecordingBytes > 0 || s.RecordingSeconds > 0):
		return "ready"
	case s.RecordingDamaged:
		return "damaged"
	case s.Recording || s.RecordingSeconds > 0:
		return "writing"
	}
	return "none"
}

// concluded tells whoever asked to be told, and forgets the oldest meetings that have ended.
func (k *Keeper) concluded(a *attendance) {
	if k.o.Ended != nil {
		k.o.Ended(a.snapshot())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	ended := 0
	for _, b := range k.order {
		if b.over() {
			ended++
		}
	}
	kept := k.order[:0:0]
	for _, b := range k.order {
		if ended > remembered && b.over() {
			ended--
			delete(k.byID, b.row.ID)
			continue
		}
		kept = append(kept, b)
	}
	k.order = kept
}
