package station

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"parley/audio"
	"parley/audio/ogg"
	"parley/meeting"
)

// recording is an ogg.Recorder as the meeting's Recorder. The parts that follow a fault are the ogg.Recorder's own
// business; a Start after one only says that it goes on.
type recording struct {
	path string
	tee  *audio.Tee
	post func(meeting.Event) bool
	log  *slog.Logger

	mu      sync.Mutex
	rec     *ogg.Recorder
	deleted bool
	result  meeting.Recorded
	first   time.Time
	giveUp  context.CancelFunc // the start that runs
}

// Start begins to record. The lock is free meanwhile: a disk may hang, and a deletion gives it up.
func (r *recording) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.mu.Lock()
	deleted, running := r.deleted, r.rec != nil
	r.giveUp = cancel
	r.mu.Unlock()
	if deleted {
		return ogg.ErrDeleted
	}
	if running {
		return nil
	}
	rec, err := ogg.Start(ctx, ogg.Options{Path: r.path, Log: r.log})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deleted {
		return errors.Join(ogg.ErrDeleted, rec.Delete(context.WithoutCancel(ctx)))
	}
	r.rec = rec
	r.tee.Add("recorder", audio.SinkFunc(r.write))
	go r.watch(rec)
	return nil
}

func (r *recording) write(f audio.Frame) error {
	r.mu.Lock()
	rec := r.rec
	if r.first.IsZero() {
		r.first = f.At.Add(-time.Duration(len(f.PCM)) * time.Second / audio.HearRate)
	}
	r.mu.Unlock()
	return rec.Write(f)
}

// watch tells the meeting of faults; it ends with the recorder.
func (r *recording) watch(rec *ogg.Recorder) {
	for f := range rec.Faults() {
		r.post(meeting.Fault{Part: meeting.PartRecorder, Kind: string(f.Kind), Err: f.Err})
	}
}

// Stop finishes the file.
func (r *recording) Stop(ctx context.Context) (meeting.Recorded, error) {
	r.mu.Lock()
	rec, deleted := r.rec, r.deleted
	r.mu.Unlock()
	if rec == nil || deleted {
		return meeting.Recorded{}, nil
	}
	r.tee.Remove("recorder")
	res, err := rec.Stop(ctx)
	if errors.Is(err, ogg.ErrDeleted) {
		return meeting.Recorded{}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result = recorded(res, r.first)
	return r.result, err
}

// Delete ends it at once and leaves nothing.
func (r *recording) Delete(ctx context.Context) error {
	r.mu.Lock()
	rec := r.rec
	r.deleted = true
	if r.giveUp != nil {
		r.giveUp()
	}
	r.mu.Unlock()
	r.tee.Remove("recorder")
	if rec == nil {
		return ogg.Remove(r.path)
	}
	return rec.Delete(ctx)
}

// Recorded is how much there is.
func (r *recording) Recorded() meeting.Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.rec == nil || r.deleted:
		return meeting.Recorded{}
	case r.result.Path != "":
		return r.result
	}
	now := recorded(r.rec.Progress(), r.first)
	now.Path = "" // it is not closed yet
	return now
}

func recorded(res ogg.Result, first time.Time) meeting.Recorded {
	return meeting.Recorded{
		Seconds: res.Seconds, Bytes: res.Bytes, Parts: res.Parts, Path: res.Path, First: first,
		Gap: float64(res.Lost) / audio.HearRate,
	}
}

var _ meeting.Recorder = (*recording)(nil)

// Arm has the encoder read from the disk, so that recording begins at once after the announcement.
func (r *recording) Arm(ctx context.Context) error { return ogg.Warm(ctx) }

var _ meeting.Armer = (*recording)(nil)
