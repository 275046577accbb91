package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/proc"
	"parley/meeting"
	"parley/meeting/files"
	"parley/meeting/wire"
	"parley/store"
	"parley/tenant"
)

// info is what a keeper writes down about a running meeting, so that the next start can finish its job.
type info struct {
	ID        string    `json:"meeting_id"`
	Tenant    tenant.ID `json:"tenant"`
	Platform  string    `json:"platform"`
	Worker    int       `json:"worker_pid"` // also the number of its session
	Started   uint64    `json:"worker_start"`
	Service   int       `json:"service_pid"`
	Run       string    `json:"run"`
	Requested time.Time `json:"requested"`
}

func (k *Keeper) infoPath(id string) string { return filepath.Join(k.runDir(), id+".json") }
func (k *Keeper) lockPath(id string) string { return filepath.Join(k.runDir(), id+".lock") }

var errLocked = errors.New("another process keeps this meeting")

// lock takes the lock of a meeting without waiting. It is freed by unlock, or by the death of this process: no child
// inherits it.
func (k *Keeper) lock(id string) (*os.File, error) {
	f, err := os.OpenFile(k.lockPath(id), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of meeting %s: %w", id, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("meeting %s: %w", id, errLocked)
	}
	// Whoever held it before may have removed it under our hands.
	held, err1 := f.Stat()
	there, err2 := os.Stat(k.lockPath(id))
	if err1 != nil || err2 != nil || !os.SameFile(held, there) {
		_ = f.Close()
		return nil, fmt.Errorf("meeting %s: %w", id, errLocked)
	}
	return f, nil
}

func (k *Keeper) unlock(id string, f *os.File) {
	if f != nil {
		_ = os.Remove(k.lockPath(id))
		_ = f.Close()
	}
}

func (a *attendance) writeInfo() error {
	started, err := proc.StartTime(a.child.PID())
	if err != nil && !errors.Is(err, proc.ErrGone) {
		return fmt.Errorf("worker of %s: %w", a.row.ID, err)
	}
	a.began = started
	raw, err := json.Marshal(info{ID: a.row.ID, Tenant: a.row.Tenant, Platform: a.row.Platform, Worker: a.child.PID(), Started: started,
		Service: os.Getpid(), Run: a.run, Requested: a.row.Requested})
	if err != nil {
		return err
	}
	path := a.k.infoPath(a.row.ID)
	if err := os.WriteFile(path+".tmp", raw, 0o600); err != nil {
		return fmt.Errorf("note of meeting %s: %w", a.row.ID, err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("note of meeting %s: %w", a.row.ID, err)
	}
	return nil
}

func (k *Keeper) removeInfo(id string) { _ = os.Remove(k.infoPath(id)) }

// leftovers takes over the meetings of services that died. It marks them at once and cleans up in the background.
func (k *Keeper) leftovers() {
	k.mu.Lock()
	closing := k.closing
	k.mu.Unlock()
	if closing {
		return
	}
	entries, err := os.ReadDir(k.runDir())
	if err != nil {
		k.log.Error("keeper: leftovers", "err", err)
		return
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || k.own(id) {
			continue
		}
		lock, err := k.lock(id)
		if err != nil {
			continue // its service lives
		}
		var left info
		raw, err := os.ReadFile(k.infoPath(id))
		if err == nil {
			err = json.Unmarshal(raw, &left)
		}
		if err != nil || left.ID != id {
			k.log.Error("keeper: a note of a meeting cannot be read and is removed", "meeting", id, "err", err)
			k.removeInfo(id)
			k.unlock(id, lock)
			continue
		}
		k.takeOver(left, lock)
	}
	k.orphanRows()
}

func (k *Keeper) own(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byID[id] != nil
}

// orphanRows ends rows of the book that nobody keeps: their service died before it had started anything.
func (k *Keeper) orphanRows() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	rows, err := k.o.Book.Running(ctx)
	if err != nil {
		k.log.Error("keeper: book", "err", err)
		return
	}
	for _, row := range rows {
		if k.own(row.ID) {
			continue
		}
		if _, err := os.Stat(k.infoPath(row.ID)); err == nil {
			continue // above, or its service lives
		}
		lock, err := k.lock(row.ID)
		if err != nil {
			continue
		}
		k.takeOver(info{ID: row.ID, Tenant: row.Tenant, Platform: row.Platform, Requested: row.Requested}, lock)
	}
}

// takeOver finishes the job of a service that died: the meeting is told to be interrupted, its worker (which has seen
// the end of its pipe and is leaving) is given its time and then ended, its file is made whole.
func (k *Keeper) takeOver(left info, lock *os.File) {
	set, err := files.Of(k.o.Data, string(left.Tenant), left.ID)
	if err != nil {
		k.log.Error("keeper: a note of a meeting cannot be used and is removed", "meeting", left.ID, "err", err)
		k.removeInfo(left.ID)
		k.unlock(left.ID, lock)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	row, err := k.o.Book.Get(ctx, left.Tenant, left.ID)
	if err != nil {
		row = store.Meeting{ID: left.ID, Tenant: left.Tenant, Platform: left.Platform, Requested: left.Requested}
	}
	news := row.Ended.IsZero()
	var d rowData
	_ = json.Unmarshal(row.Data, &d)
	a := newAttendance(k, row, set, d.Name)
	a.lock, a.run, a.admitted = lock, left.Run, row.Admitted
	a.gone = true
	a.status = k.withEvidence(k.fromRow(row)).Status
	e := meeting.ReasonInterrupted.Ending()
	if news {
		a.ended = endOf(left, set)
		a.final = &wire.Ended{Reason: string(meeting.ReasonInterrupted), What: e.What, Try: e.Try}
		if !row.Admitted.IsZero() {
			a.final.DurationS = a.ended.Sub(row.Admitted).Seconds()
		}
	} else {
		a.ended = row.Ended
		old := meeting.Reason(row.Reason).Ending()
		a.final = &wire.Ended{Reason: row.Reason, What: old.What, Try: old.Try}
	}
	a.status.State, a.status.Recording = string(meeting.Ended), false
	a.status.Reason, a.status.What, a.status.Try, a.status.DurationS = a.final.Reason, a.final.What, a.final.Try, a.final.DurationS

	k.mu.Lock()
	if k.closing || k.byID[left.ID] != nil {
		k.mu.Unlock()
		k.unlock(left.ID, lock) // the next start does it
		return
	}
	k.byID[left.ID] = a
	k.order = append(k.order, a)
	k.wg.Add(1)
	k.mu.Unlock()
	k.log.Warn("keeper: a meeting was interrupted by the death of its service", "meeting", left.ID, "worker", left.Worker)
	a.saveNow()
	go func() {
		defer k.wg.Done()
		k.cleanUp(a, left, news)
	}()
}

// endOf is when a meeting ended that nobody saw ending: where its worker is gone, what it wrote last tells.
func endOf(left info, set files.Set) time.Time {
	now := time.Now()
	if last := set.Last(); !proc.Alive(left.Worker, left.Started) && last.After(left.Requested) && last.Before(now) {
		return last
	}
	return now
}

// cleanUp is the slow part of takeOver. The end is told when the file is whole, and within a few seconds in any case.
func (k *Keeper) cleanUp(a *attendance, left info, news bool) {
	tell := func() {
		if !news {
			return
		}
		news = false
		a.mu.Lock()
		final := *a.final
		evs := []Event{a.note(wire.Report{At: a.ended.UnixMilli(), State: &wire.StateChange{State: string(meeting.Ended), Reason: final.Reason}}),
			a.note(wire.Report{At: a.ended.UnixMilli(), Ended: &final})}
		a.mu.Unlock()
		for _, ev := range evs {
			k.hub.publish(ev)
		}
	}
	if left.Worker > 0 && leads(left.Worker, left.Started) {
		if !awaitProcess(left.Worker, left.Started, tellTime) {
			tell() // the worker is leaving, and the end is known; the file is not whole yet
			if !awaitProcess(left.Worker, left.Started, politeTime-tellTime) {
				k.log.Error("keeper: a worker of a dead service does not end and is killed", "meeting", left.ID)
			}
		}
		endSession(left.Worker, left.Started, drainTime)
	}
	found := k.salvageFiles(a.set, false)
	a.mu.Lock()
	if a.set.Deleted() {
		a.status.Deleted, a.status.RecordingClosed = true, false
		a.final.Deleted = true
	} else {
		found.into(&a.status)
		if f := found.file(); f != nil {
			a.final.Recording = f
		}
	}
	a.mu.Unlock()
	a.saveNow()
	if a.run != "" {
		_ = os.RemoveAll(a.run)
	}
	k.removeInfo(left.ID)
	k.unlock(left.ID, a.lock)
	tell()
	close(a.done)
	k.concluded(a)
}

// salvage is what became of the files of a meeting whose process is gone.
type salvage struct {
	rec     *meeting.Recorded // nil: the worker has told all, or there is nothing
	nothing bool              // no sound had reached the disk
	damaged string            // what there is could not be made whole; it is kept here
}

// into puts it in a status.
func (v salvage) into(s *wire.Status) {
	switch {
	case v.rec != nil:
		s.RecordingClosed, s.RecordingPath = true, v.rec.Path
		s.RecordingSeconds, s.RecordingBytes, s.RecordingParts, s.RecordingGapS = v.rec.Seconds, v.rec.Bytes, v.rec.Parts, v.rec.Gap
	case v.nothing:
		s.RecordingSeconds, s.RecordingBytes, s.RecordingParts, s.RecordingPath = 0, 0, 0, ""
	case v.damaged != "":
		s.RecordingDamaged, s.RecordingPath = true, v.damaged
	}
}

// file is the recording as the end tells it; nil where there is none that can be played.
func (v salvage) file() *wire.File {
	if v.rec == nil {
		return nil
	}
	return &wire.File{Path: v.rec.Path, Bytes: v.rec.Bytes, Seconds: v.rec.Seconds, Parts: v.rec.Parts, GapS: v.rec.Gap}
}

// salvageFiles finishes an interrupted deletion, or makes one file of what there is.
func (k *Keeper) salvageFiles(set files.Set, closed bool) salvage {
	if set.Deleted() {
		if err := set.Unlink(); err != nil {
			k.log.Error("keeper: finish a deletion", "err", err)
		}
		return salvage{}
	}
	parts := set.Parts()
	if len(parts) == 0 || closed { // closed: the worker has said all about it
		return salvage{nothing: !closed}
	}
	if k.o.Repair == nil {
		size := int64(0)
		if st, err := os.Stat(parts[0]); err == nil {
			size = st.Size()
		}
		return salvage{rec: &meeting.Recorded{Path: parts[0], Bytes: size, Parts: len(parts)}}
	}
	ctx, cancel := context.WithTimeout(context.Background(), repairTime)
	defer cancel()
	rec, err := k.o.Repair(ctx, set)
	switch {
	case errors.Is(err, ErrNothing):
		for _, part := range parts {
			if err := os.Remove(part); err != nil {
				k.log.Error("keeper: remove a recording without sound", "err", err)
			}
		}
		return salvage{nothing: true}
	case err != nil:
		k.log.Error("keeper: repair a recording; it is kept as it is", "err", err)
		return salvage{damaged: parts[0]}
	}
	return salvage{rec: &rec}
}

// leads says whether the process that leads a session is the one that was written down, or its session lives on
// without it. A number that was given to somebody else since belongs to a later start time.
func leads(pid int, started uint64) bool {
	now, err := proc.StartTime(pid)
	if errors.Is(err, proc.ErrGone) {
		return true // the leader is gone; its number cannot be another's while members of the session live
	}
	return err == nil && now == started
}

// awaitProcess waits until a process that is not our child has ended, and says whether it has.
func awaitProcess(pid int, started uint64, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for proc.Alive(pid, started) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(50 * time.Millisecond)
	}
	return true
}

// endSession kills a session until it is empty, and reaps those of it that fell to us. A session whose leader began
// at another time is somebody else's.
func endSession(sid int, started uint64, limit time.Duration) {
	if !leads(sid, started) {
		return
	}
	deadline := time.Now().Add(limit)
	for {
		pids, err := proc.InSession(sid)
		if err == nil && len(pids) == 0 {
			proc.ReapSession(sid)
			return
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		proc.ReapSession(sid)
		if time.Now().After(deadline) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
