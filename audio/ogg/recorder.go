// Package ogg writes a meeting's recording: a timeline without holes, encoded to Ogg/Opus as it happens,
// playable after any kill.
package ogg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"parley/audio"
	"parley/guard/spawn"
	"parley/internal/proc"
)

// The errors that callers tell apart.
var (
	ErrNoEncoder = errors.New("ffmpeg is not installed: run make setup, or install the package ffmpeg")
	ErrEncoder   = errors.New("the encoder ended")
	ErrStalled   = errors.New("the encoder takes no more sound")
	ErrDiskFull  = errors.New("the disk is full: free some space in the recordings folder")
	ErrExists    = errors.New("there is a recording of this name already")
	ErrStopped   = errors.New("the recording has ended")
	ErrDeleted   = errors.New("the recording was deleted")
	ErrNotJoined = errors.New("the recording is on disk in parts that could not be joined yet")
)

// Options say what to record into. Path is needed, the rest may be zero.
type Options struct {
	// Path is the recording: NAME.ogg in a folder that exists. Parts that follow a fault lie beside it until the end.
	Path string
	// Bitrate in bits per second; zero is 24000.
	Bitrate int
	// FFmpeg is the encoder's program; zero looks it up.
	FFmpeg string
	// Keep is how much sound is held back for an encoder that dies; zero is 10 s, the least is 5 s.
	Keep time.Duration
	// Stall is how long an encoder may take nothing before it is killed; zero is 2 s.
	Stall time.Duration
	// Resume goes on with a recording that is there already: its clock goes on, the time between is silence.
	Resume bool
	// Log gets faults, in kinds and counts; nil discards it.
	Log *slog.Logger

	began time.Time // of the first sample, on the wall clock
}

// minFree is the space below which a disk counts as full: some minutes of sound.
const minFree = 1 << 20

// Fault is something that went wrong while recording. The recording goes on.
type Fault struct {
	Kind FaultKind
	Err  error
	// Part is the number of the part it happened to.
	Part int
	// Lost is how many samples are gone for good; silence stands in their place.
	Lost int64
}

// FaultKind says what went wrong.
type FaultKind string

// The kinds of faults.
const (
	FaultEncoder  FaultKind = "encoder"   // it ended by itself; the next part follows
	FaultStalled  FaultKind = "stalled"   // it took nothing and was killed; the next part follows
	FaultDisk     FaultKind = "disk-full" // tried again every few seconds
	FaultOverflow FaultKind = "overflow"  // sound could be written nowhere for too long, and was lost
)

// Result is what a recording came to.
type Result struct {
	Path    string
	Bytes   int64
	Seconds float64
	// Parts is how many it was written in; they are one file now, unless the error is ErrNotJoined.
	Parts int
	// Silence, Late and Lost are samples that were made up, came too late to be used, or could not be written.
	Silence, Late, Lost int64
}

// Recorder records frames at 16 kHz. It is a Sink: Write never waits, and silence is put where nothing comes.
// All methods may be called from any goroutine.
type Recorder struct {
	o        Options
	ring     *audio.Ring
	samples  atomic.Int64
	offset   atomic.Pointer[int64]
	faults   chan Fault
	missed   atomic.Int64
	progress atomic.Pointer[Result]
	began    time.Time

	stop  chan context.Context // what the end may take; holds one
	abort chan struct{}
	once  sync.Once
	erase atomic.Bool // abort removes what other processes recorded, too
	done  chan struct{}

	mu    sync.Mutex
	child *proc.Child // the encoder that runs now, for Abort

	result Result // valid after done
	err    error
}

// Warm runs an encoder on nothing. The first one that a machine runs takes more than a second to start, as its libraries
// come from the disk; who calls Warm ahead of time has that behind him. It leaves nothing.
func Warm(ctx context.Context) error {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return ErrNoEncoder
	}
	child, err := spawn.Start(spawn.FFmpeg, proc.Spec{
		Name: "ffmpeg", Path: path,
		Args: []string{"-nostdin", "-v", "quiet", "-f", "lavfi", "-i", "anullsrc=r=16000:cl=mono", "-t", "0.1", "-c:a", "libopus", "-f", "null", "-"},
	}, spawn.Options{})
	if err != nil {
		return err
	}
	select {
	case <-child.Done():
		return child.Err()
	case <-ctx.Done():
		child.Kill()
		<-child.Done()
		return context.Cause(ctx)
	}
}

// Start makes the file and begins to record: it returns when an encoder stands. The clock starts at the call; sound
// from before is left out. When ctx ends first, on a disk that hangs, whatever comes of it later is removed.
func Start(ctx context.Context, o Options) (*Recorder, error) {
	if err := checkPath(o.Path); err != nil {
		return nil, err
	}
	if o.Bitrate == 0 {
		o.Bitrate = 24000
	}
	if o.Bitrate < 6000 || o.Bitrate > 256000 {
		return nil, fmt.Errorf("recording: bitrate %d is not between 6000 and 256000", o.Bitrate)
	}
	if o.Keep == 0 {
		o.Keep = 10 * time.Second
	}
	o.Keep = max(o.Keep, 5*time.Second)
	if o.Stall == 0 {
		o.Stall = 2 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.FFmpeg == "" {
		path, err := exec.LookPath("ffmpeg")
		if err != nil {
			return nil, ErrNoEncoder
		}
		o.FFmpeg = path
	}
	r := &Recorder{
		o: o, ring: audio.NewRing(10 * rate), faults: make(chan Fault, 32),
		stop: make(chan context.Context, 1), abort: make(chan struct{}), done: make(chan struct{}),
	}
	r.progress.Store(&Result{Path: o.Path})
	opened := make(chan error, 1)
	go func() {
		defer close(r.done)
		defer close(r.faults)
		w, err := r.open()
		opened <- err
		if err == nil {
			w.loop()
		}
	}()
	select {
	case err := <-opened:
		if err != nil {
			return nil, err
		}
		return r, nil
	case <-ctx.Done():
		r.giveUp()
		return nil, fmt.Errorf("begin the recording: %w", context.Cause(ctx))
	}
}

// open makes the first part.
func (r *Recorder) open() (*work, error) {
	if err := diskSpace(r.o.Path); err != nil {
		return nil, err
	}
	n, first, err := place(&r.o)
	if err != nil {
		return nil, err
	}
	w := &work{Recorder: r, hist: newHistory(int(r.o.Keep.Seconds()*rate), first), number: n, parts: n - 1}
	if err := w.next(first); err != nil {
		return nil, err
	}
	r.began = r.o.began
	w.time = timeline{began: r.began, end: first, emit: w.take}
	r.samples.Store(first)
	return w, nil
}

// giveUp ends without a trace of what it did, now or whenever the disk lets go of us.
func (r *Recorder) giveUp() {
	r.ring.Fail(ErrDeleted)
	r.once.Do(func() { close(r.abort) })
	r.mu.Lock()
	child := r.child
	r.mu.Unlock()
	if child != nil {
		child.Kill()
	}
}

// place finds where the first part of this run goes: its number and its first sample, and the recording's beginning.
func place(o *Options) (n int, first int64, err error) {
	list, err := parts(o.Path)
	if err != nil {
		return 0, 0, err
	}
	if len(list) == 0 {
		o.began = time.Now()
		return 1, 0, nil
	}
	if !o.Resume {
		return 0, 0, fmt.Errorf("%w: %s", ErrExists, filepath.Base(o.Path))
	}
	for _, k := range list {
		info, err := Info(partPath(o.Path, k))
		if errors.Is(err, ErrNotOpus) {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		if o.began.IsZero() {
			o.began = info.Began
		}
		first = max(first, info.First+info.Samples)
	}
	now := time.Now()
	if since := now.Sub(o.began); !o.began.IsZero() && since >= samplesTime(first) {
		o.began = now.Add(-since) // with the clock that nobody sets
	} else {
		o.began = now.Add(-samplesTime(first)) // it does not say, or the clock was set back
	}
	first = max(first, int64(now.Sub(o.began)/samplesTime(1)))
	return list[len(list)-1] + 1, (first + packet16 - 1) / packet16 * packet16, nil
}

func samplesTime(n int64) time.Duration { return time.Duration(n) * (time.Second / rate) }

// diskSpace tells whether the disk of a path has room; not knowing is no error.
func diskSpace(path string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &s); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("recordings folder: %w", err)
		}
		return nil
	}
	if s.Bavail*uint64(s.Bsize) < minFree {
		return ErrDiskFull
	}
	return nil
}

// Write takes a frame. It fails only after the end.
func (r *Recorder) Write(f audio.Frame) error {
	if err := r.ring.Write(f); err != nil {
		return ErrStopped
	}
	return nil
}

// Began is when the first sample of the recording was: the zero of every time in the transcript.
func (r *Recorder) Began() time.Time { return r.began }

// Seconds is how long the recording is by now.
func (r *Recorder) Seconds() float64 { return float64(r.samples.Load()) / rate }

// Progress is how far it is. It never waits; the size of the files is looked at each second.
func (r *Recorder) Progress() Result {
	p := *r.progress.Load()
	p.Seconds = r.Seconds()
	return p
}

// Sample tells where a position of the source stands in the recording; false before its first frame came.
func (r *Recorder) Sample(pos int64) (int64, bool) {
	p := r.offset.Load()
	if p == nil {
		return 0, false
	}
	return pos + *p, true
}

// Faults tells what goes wrong. It is closed at the end; who does not read it loses the newest ones, nothing else.
func (r *Recorder) Faults() <-chan Fault { return r.faults }

// Done is closed when the recording has ended and its file is closed.
func (r *Recorder) Done() <-chan struct{} { return r.done }

// Stop ends the recording: what was written so far is encoded, the parts become one file. Sound that is still on its
// way is replaced by silence. When ctx ends first the encoder is killed and what it had finished stays. A second Stop
// waits for the first.
func (r *Recorder) Stop(ctx context.Context) (Result, error) {
	r.ring.Close()
	select {
	case r.stop <- ctx:
	default: // somebody stops already
	}
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
	}
	// A grace for the loop to give up on its encoder; a disk that answers nobody is left behind.
	select {
	case <-r.done:
		return r.result, r.err
	case <-time.After(time.Second):
		return Result{Path: r.o.Path}, fmt.Errorf("end the recording: %w", context.Cause(ctx))
	}
}

// Delete ends the recording at once and removes every file of it, stuck encoder or not. It returns when nothing is
// left, or with an error when ctx ends first.
func (r *Recorder) Delete(ctx context.Context) error {
	r.erase.Store(true)
	r.giveUp()
	// The files go at once; the loop removes what it may be making in this moment. On a disk that hangs either may
	// take for ever.
	removed := make(chan error, 1)
	go func() {
		first := Remove(r.o.Path)
		<-r.done
		removed <- errors.Join(first, Remove(r.o.Path))
	}()
	select {
	case err := <-removed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("delete the recording: %w", context.Cause(ctx))
	}
}
