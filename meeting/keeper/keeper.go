// Package keeper is the service's side of the meetings it attends: it starts a process for each, hears what they
// report, passes commands on, and sees each of them to its end, whatever the cause.
package keeper

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"parley/internal/proc"
	"parley/meeting"
	"parley/meeting/files"
	"parley/meeting/wire"
	"parley/store"
	"parley/tenant"
)

// Times of a keeper.
const (
	politeTime    = 25 * time.Second // from telling a worker to leave to killing it
	commandTime   = 30 * time.Second // for an answer, unless the command says otherwise
	writeTime     = 5 * time.Second  // for a worker to read a message
	drainTime     = 3 * time.Second  // for the rest of the reports after the process has ended
	beatTime      = 10 * time.Second // between two questions how a worker is, and the longest that one may take
	beatsAtMost   = 3                // unanswered ones before it is killed: 40 s at most
	leftoverTime  = 30 * time.Second // between two looks for meetings of services that died
	retentionTime = time.Hour
	repairTime    = 2 * time.Minute
	tellTime      = 3 * time.Second        // the longest that the end of an interrupted meeting waits for its file
	doorTime      = 700 * time.Millisecond // how long a join that waits is given to be let in at once
	remembered    = 50                     // ended meetings whose events and chat stay in memory
)

// Errors of a keeper.
var (
	ErrNotFound = errors.New("no such meeting")
	ErrClosing  = errors.New("the service is shutting down")
	// ErrNothing is Repair's: the worker died before its first sound was on disk.
	ErrNothing   = errors.New("nothing was recorded")
	ErrElsewhere = errors.New("another process of this service on the same data folder attends this meeting; ask that one")
	ErrWriting   = errors.New("the recording is still being written; wait for the meeting to end, or stop the recording")
	ErrNoFile    = errors.New("there is no recording of this meeting")
)

// Book remembers meetings; store.Meetings is one.
type Book interface {
	Begin(ctx context.Context, n store.Meeting, allowDuplicate bool, max int) (got store.Meeting, existing bool, err error)
	Update(ctx context.Context, n store.Meeting) error
	Get(ctx context.Context, t tenant.ID, id string) (store.Meeting, error)
	List(ctx context.Context, t tenant.ID, limit int) ([]store.Meeting, error)
	Running(ctx context.Context) ([]store.Meeting, error)
}

// Options are what a keeper needs. Data, Book and Path are needed.
type Options struct {
	// Data is the data folder, which several services may share.
	Data string
	Book Book
	// Path and Args are the program that attends a meeting. Nil Args: "worker".
	Path string
	Args []string
	// Env is its environment. Nil: proc.BaseEnv and HOME. Secrets do not belong into it.
	Env []string
	// RunBase is where the short run folders are made; empty: the system's temporary folder.
	RunBase string
	// MaxMeetings is how many may run at once on this data folder. Zero: no limit.
	MaxMeetings int
	// Repair makes one playable file of what a dead worker left, or says with ErrNothing that there is no sound in it.
	// Nil: the first part is the recording.
	Repair func(ctx context.Context, set files.Set) (meeting.Recorded, error)
	// Ended is called once for each meeting, after everything of it is gone. It must not block.
	Ended func(Status)
	// Forget is called when the words of a meeting are to be forgotten wherever they wait. It must not block.
	Forget func(t tenant.ID, id string)
	// Retention says how long files stay. The zero value keeps them.
	Retention files.Policy
	// Instance names this process in the book. Empty: made up.
	Instance string
	Log      *slog.Logger
	// Stderr is where workers log. Nil: this process's.
	Stderr *os.File
}

// Keeper keeps the meetings of one service. It is safe for concurrent use.
type Keeper struct {
	o   Options
	log *slog.Logger

	mu      sync.Mutex
	byID    map[string]*attendance
	order   []*attendance // as they began; ended ones are forgotten from the front
	closing bool

	beatEvery time.Duration // beatTime, but for tests

	hub    hub
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // everything that Shutdown waits for
}

// New makes a keeper, and looks after what services that died have left: their workers are ended, their recordings
// repaired, interrupted deletions finished. It does so in the background; the meetings are reported as interrupted.
func New(o Options) (*Keeper, error) {
	if o.Data == "" || o.Book == nil || o.Path == "" {
		return nil, errors.New("keeper: data folder, book and program are needed")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Args == nil {
		o.Args = []string{"worker"}
	}
	if o.Env == nil {
		o.Env = proc.BaseEnv()
		if home, ok := os.LookupEnv("HOME"); ok {
			o.Env = append(o.Env, "HOME="+home)
		}
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.Instance == "" {
		o.Instance = fmt.Sprintf("%d-%s", os.Getpid(), random(4))
	}
	k := &Keeper{o: o, log: o.Log, byID: map[string]*attendance{}, beatEvery: beatTime}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	if err := os.MkdirAll(k.runDir(), 0o700); err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	k.leftovers()
	k.retention()
	k.wg.Go(k.tick)
	return k, nil
}

// tick looks after leftovers and retention until the keeper closes.
func (k *Keeper) tick() {
	left, old := time.NewTicker(leftoverTime), time.NewTicker(retentionTime)
	defer left.Stop()
	defer old.Stop()
	for {
		select {
		case <-left.C:
			k.leftovers()
		case <-old.C:
			k.retention()
		case <-k.ctx.Done():
			return
		}
	}
}

// retention finishes interrupted deletions and removes what is too old.
func (k *Keeper) retention() {
	p := k.o.Retention
	p.Busy = func(id string) bool {
		l, err := k.lock(id)
		if err != nil {
			return true
		}
		k.unlock(id, l)
		return false
	}
	done, err := files.Sweep(k.o.Data, time.Now(), p)
	if err != nil {
		k.log.Error("keeper: retention", "err", err)
	}
	if len(done.Finished)+len(done.Expired)+done.Markers+done.Ledgers > 0 {
		k.log.Info("keeper: retention", "finished", len(done.Finished), "expired", len(done.Expired), "markers", done.Markers, "ledgers", done.Ledgers)
	}
}

// JoinRequest asks for an attendance.
type JoinRequest struct {
	Tenant   tenant.ID
	Platform string
	// Key tells two joins of one meeting: the normalised link.
	Key            string
	AllowDuplicate bool
	// TenantMax is how many meetings the tenant may have at once; zero: no ceiling of its own.
	TenantMax int
	// Wait is how long Join waits to be able to say more than "requested". Zero: it returns at once.
	Wait time.Duration
	// Start is the message for the worker. The keeper fills in MeetingID, Tenant, Paths.Data and Paths.Run.
	Start wire.Start
	// Prepare takes what this meeting alone may have, such as a browser's profile, once it is certain that a process will be
	// started: it may change the start message, and gives further files for the worker. done is called when the worker
	// has them or did not start. Nil: there is nothing to take.
	Prepare func(id string, s *wire.Start) (files []*os.File, done func(), err error)
	// Files are inherited by the worker as descriptors 5, 6, …; the caller closes its own.
	Files []*os.File
}

// Join starts to attend. It returns when we wait to be let in, are in, or it ended; after r.Wait at the latest. A second
// join of one meeting by one tenant gives the first one's status with Existing set. A *store.FullError says that no
// more meetings may run.
func (k *Keeper) Join(ctx context.Context, r JoinRequest) (Status, error) {
	a, existing, err := k.begin(ctx, r)
	if err != nil {
		return Status{}, err
	}
	if a == nil {
		return existing, nil
	}
	if r.Wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, r.Wait)
		defer cancel()
		a.until(ctx, a.settled)
		if a.snapshot().State == string(meeting.Waiting) { // an open door takes a moment, too
			moment, cancel := context.WithTimeout(ctx, doorTime)
			a.until(moment, func() bool { return a.settled() && a.snapshot().State != string(meeting.Waiting) })
			cancel()
		}
	}
	s := a.snapshot()
	s.Existing = existing.Existing
	return s, nil
}

// begin enters the meeting into the book and starts its process. A nil attendance means that it runs elsewhere.
func (k *Keeper) begin(ctx context.Context, r JoinRequest) (*attendance, Status, error) {
	id := "m" + random(6)
	set, err := files.Of(k.o.Data, string(r.Tenant), id)
	if err != nil {
		return nil, Status{}, err
	}
	lock, err := k.lock(id)
	if err != nil {
		return nil, Status{}, err
	}
	row := store.Meeting{ID: id, Tenant: r.Tenant, Platform: r.Platform, Link: store.LinkHash(r.Tenant, r.Key), Instance: k.o.Instance, Requested: time.Now(), TenantMax: r.TenantMax}
	got, existing, err := k.enter(ctx, row, r.AllowDuplicate)
	if err != nil || existing {
		k.unlock(id, lock)
		if err != nil {
			return nil, Status{}, err
		}
		s, err := k.Status(ctx, r.Tenant, got.ID)
		if err != nil {
			return nil, Status{}, err
		}
		s.Existing = true
		k.mu.Lock()
		a := k.byID[got.ID]
		k.mu.Unlock()
		return a, s, nil
	}

	if r.Prepare != nil {
		taken, done, err := r.Prepare(id, &r.Start)
		if err != nil {
			row.State, row.Reason, row.Ended = string(meeting.Ended), string(meeting.ReasonStartFailed), time.Now()
			if err := k.o.Book.Update(context.WithoutCancel(ctx), row); err != nil { // it would look like another service's
				k.log.Error("keeper: book", "meeting", id, "err", err)
			}
			k.unlock(id, lock)
			return nil, Status{}, err
		}
		defer done()
		r.Files = append(slices.Clone(r.Files), taken...)
	}
	a := newAttendance(k, row, set, r.Start.Name)
	a.lock = lock
	a.wmu.Lock() // commands wait until the start message is out
	k.mu.Lock()
	if k.closing {
		k.mu.Unlock()
		a.wmu.Unlock()
		row.State, row.Reason, row.Ended = string(meeting.Ended), string(meeting.ReasonShutdown), time.Now()
		_ = k.o.Book.Update(context.WithoutCancel(ctx), row)
		k.unlock(id, lock)
		return nil, Status{}, ErrClosing
	}
	k.byID[id] = a
	k.order = append(k.order, a)
	k.wg.Add(1) // follow, or concluding at once
	k.mu.Unlock()
	err = a.start(r)
	a.wmu.Unlock()
	if err != nil {
		k.log.Error("keeper: start a worker", "meeting", id, "err", err)
		a.failed = meeting.ReasonStartFailed
		a.conclude()
		k.wg.Done()
		return a, Status{}, nil
	}
	go func() { defer k.wg.Done(); a.follow() }()
	return a, Status{}, nil
}

// enter writes the row. When there is no room, meetings of services that died make room first, and those that are
// about to be gone.
func (k *Keeper) enter(ctx context.Context, row store.Meeting, dup bool) (store.Meeting, bool, error) {
	for try := 0; ; try++ {
		got, existing, err := k.o.Book.Begin(ctx, row, dup, k.o.MaxMeetings)
		var full *store.FullError
		switch {
		case errors.As(err, &full) && try == 0:
			k.leftovers()
			k.awaitEnding(ctx)
			continue
		case err == nil && existing && try == 0 && k.stale(got):
			k.leftovers()
			k.awaitEnding(ctx)
			continue
		}
		return got, existing, err
	}
}

// stale says that a row which has not ended belongs to nobody that lives, or to one that is ending.
func (k *Keeper) stale(row store.Meeting) bool {
	k.mu.Lock()
	a := k.byID[row.ID]
	k.mu.Unlock()
	if a != nil {
		return a.ending()
	}
	l, err := k.lock(row.ID)
	if err != nil {
		return false
	}
	k.unlock(row.ID, l)
	return true
}

// awaitEnding waits a moment for meetings that have said they ended.
func (k *Keeper) awaitEnding(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	k.mu.Lock()
	all := append([]*attendance(nil), k.order...)
	k.mu.Unlock()
	for _, a := range all {
		if a.ending() {
			select {
			case <-a.done:
			case <-ctx.Done():
				return
			}
		}
	}
}

// find gives a tenant's meeting of this process; nil when it is not here.
func (k *Keeper) find(t tenant.ID, id string) *attendance {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a := k.byID[id]; a != nil && a.row.Tenant == t {
		return a
	}
	return nil
}

// Status tells how a meeting is. An ended one, and one of another service on this data folder, is told from the book.
func (k *Keeper) Status(ctx context.Context, t tenant.ID, id string) (Status, error) {
	if a := k.find(t, id); a != nil {
		a.refresh(ctx)
		return a.snapshot(), nil
	}
	row, err := k.o.Book.Get(ctx, t, id)
	if errors.Is(err, store.ErrNotFound) {
		return Status{}, ErrNotFound
	}
	if err != nil {
		return Status{}, err
	}
	return k.withEvidence(k.fromRow(row)), nil
}

// List gives a tenant's meetings, the newest first.
func (k *Keeper) List(ctx context.Context, t tenant.ID, limit int) ([]Status, error) {
	rows, err := k.o.Book.List(ctx, t, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Status, 0, len(rows))
	for _, row := range rows {
		if a := k.find(t, row.ID); a != nil {
			out = append(out, a.snapshot())
		} else {
			out = append(out, k.fromRow(row))
		}
	}
	return out, nil
}

// Conversations are the channels that are open now, as the events that opened them. Who watches and then asks misses
// none, but may hear of one twice.
func (k *Keeper) Conversations() []Event {
	k.mu.Lock()
	all := append([]*attendance(nil), k.order...)
	k.mu.Unlock()
	var out []Event
	for _, a := range all {
		a.mu.Lock()
		if a.channel != nil && !a.gone {
			out = append(out, *a.channel)
		}
		a.mu.Unlock()
	}
	return out
}

// Attending are the meetings that this process attends, with a fresh status of each where that is quick.
func (k *Keeper) Attending(ctx context.Context) []Status {
	k.mu.Lock()
	all := append([]*attendance(nil), k.order...)
	k.mu.Unlock()
	var out []Status
	for _, a := range all {
		if !a.over() {
			a.refresh(ctx)
			out = append(out, a.snapshot())
		}
	}
	return out
}

// Running is how many meetings this process attends.
func (k *Keeper) Running() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, a := range k.byID {
		if !a.over() {
			n++
		}
	}
	return n
}

// Command passes a command on and gives the answer. An answer that carries an error is given as *wire.Error. When ctx
// or the command's own time ends first, the command is canceled.
func (k *Keeper) Command(ctx context.Context, t tenant.ID, id string, c wire.Command) (wire.Answer, error) {
	a := k.find(t, id)
	if a == nil {
		row, err := k.o.Book.Get(ctx, t, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return wire.Answer{}, ErrNotFound
		case err != nil:
			return wire.Answer{}, err
		case row.Ended.IsZero():
			return wire.Answer{}, ErrElsewhere
		}
		return wire.Answer{}, over(meeting.Reason(row.Reason))
	}
	return a.command(ctx, c)
}

// Tell passes on what nobody answers: a chunk or a completion. What comes for a meeting that is not here is dropped.
func (k *Keeper) Tell(ctx context.Context, t tenant.ID, id string, c wire.Command) error {
	a := k.find(t, id)
	if a == nil {
		_, err := k.o.Book.Get(ctx, t, id)
		if errors.Is(err, store.ErrNotFound) {
			return ErrNotFound
		}
		return err
	}
	_ = a.send(wire.KindCommand, "", c) // a worker that is gone hears nothing, and what is too long is no chunk
	return nil
}

func over(r meeting.Reason) *wire.Error {
	return &wire.Error{Code: wire.CodeOver, Text: "the meeting is over: " + r.Ending().What}
}

// Recording is the file of a recording that is closed. ErrWriting, ErrNoFile.
func (k *Keeper) Recording(ctx context.Context, t tenant.ID, id string) (wire.File, error) {
	s, err := k.Status(ctx, t, id)
	if err != nil {
		return wire.File{}, err
	}
	set, err := files.Of(k.o.Data, string(t), id)
	if err != nil {
		return wire.File{}, ErrNotFound
	}
	if s.Deleted || set.Deleted() {
		return wire.File{}, ErrNoFile
	}
	gone := !s.EndedAt.IsZero()
	if a := k.find(t, id); a != nil && gone { // interrupted ones end before their file is whole
		select {
		case <-a.done:
		default:
			gone = false
		}
	}
	if !gone && !s.RecordingClosed {
		if s.Recording || s.RecordingSeconds > 0 || !s.EndedAt.IsZero() {
			return wire.File{}, ErrWriting
		}
		return wire.File{}, ErrNoFile
	}
	info, err := os.Stat(set.Recording())
	if errors.Is(err, fs.ErrNotExist) {
		return wire.File{}, ErrNoFile
	}
	if err != nil {
		return wire.File{}, fmt.Errorf("recording of %s: %w", id, err)
	}
	return wire.File{Path: set.Recording(), Bytes: info.Size(), Seconds: s.RecordingSeconds, Parts: s.RecordingParts, GapS: s.RecordingGapS}, nil
}

// DeleteRecording removes recording, transcript and evidence for good, while the meeting runs or afterwards. Deleting
// what is deleted is no error.
func (k *Keeper) DeleteRecording(ctx context.Context, t tenant.ID, id string) error {
	s, err := k.Status(ctx, t, id)
	if err != nil {
		return err
	}
	if s.EndedAt.IsZero() {
		_, err := k.Command(ctx, t, id, wire.Command{StopRecording: &wire.StopRecording{Delete: true}})
		var we *wire.Error
		if !errors.As(err, &we) || we.Code != wire.CodeOver {
			return err
		}
		if a := k.find(t, id); a != nil { // it ended under our hands
			select {
			case <-a.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	set, err := files.Of(k.o.Data, string(t), id)
	if err != nil {
		return ErrNotFound
	}
	if err := set.Delete(); err != nil {
		return err
	}
	if err := set.Note(meeting.LedgerEntry{At: time.Now(), What: "deleted", How: "tool"}); err != nil {
		k.log.Error("keeper: consent ledger", "meeting", id, "err", err)
	}
	k.forget(t, id)
	if a := k.find(t, id); a != nil {
		a.deleted()
	}
	row, err := k.o.Book.Get(ctx, t, id)
	if err != nil {
		return nil // the files are gone, which is what was asked
	}
	row.RecordingState = "deleted"
	return k.o.Book.Update(ctx, row)
}

// Consent is the consent ledger of a meeting: who was told what, how and when; objections; deletions. It outlives the
// recording, and holds neither chat nor speech.
func (k *Keeper) Consent(ctx context.Context, t tenant.ID, id string) ([]meeting.LedgerEntry, error) {
	if _, err := k.Status(ctx, t, id); err != nil {
		return nil, err
	}
	set, err := files.Of(k.o.Data, string(t), id)
	if err != nil {
		return nil, ErrNotFound
	}
	notes, err := set.Notes()
	if err != nil {
		return nil, err
	}
	entries := make([]meeting.LedgerEntry, 0, len(notes))
	for _, raw := range notes {
		var e meeting.LedgerEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("consent ledger of %s: %w", id, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (k *Keeper) forget(t tenant.ID, id string) {
	if k.o.Forget != nil {
		k.o.Forget(t, id)
	}
}

// Shutdown takes no more joins and lets all meetings end politely; it returns when everything is gone, which takes
// 25 s at most and a little more for what had to be killed. When ctx ends, the workers are killed.
func (k *Keeper) Shutdown(ctx context.Context) error {
	k.mu.Lock()
	k.closing = true
	all := append([]*attendance(nil), k.order...)
	k.mu.Unlock()
	for _, a := range all {
		a.hangUp()
	}
	k.cancel()
	done := make(chan struct{})
	go func() { k.wg.Wait(); close(done) }()
	polite, cancel := context.WithTimeout(ctx, politeTime+2*time.Second)
	defer cancel()
	select {
	case <-done:
		k.hub.close()
		return nil
	case <-polite.Done():
	}
	for _, a := range all {
		a.kill()
	}
	select {
	case <-done:
		k.hub.close()
		return fmt.Errorf("keeper: some meetings did not end politely: %w", context.Cause(polite))
	case <-time.After(drainTime + 5*time.Second):
		return errors.New("keeper: some processes of meetings do not die")
	}
}

func (k *Keeper) runDir() string { return filepath.Join(k.o.Data, "run", "meetings") }

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
