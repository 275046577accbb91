package ogg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"parley/internal/proc"
)

// work is the recorder's own goroutine and what only it touches.
type work struct {
	*Recorder
	time   timeline
	hist   *history
	enc    *encoder // nil between two parts
	number int      // of the next part
	parts  int      // that have any sound
	from   int64    // where the next part begins
	again  time.Time
	born   time.Time
	waits  time.Duration // before the next try, while encoders die young
	lost   int64
	losing int64 // lost in this stretch
	closed int64 // bytes of the parts before
	beats  int
	ticked time.Time // the last beat
	grace  time.Time // until then nothing is filled
	buf    []byte
}

const (
	// The loop looks at the clock that often.
	beat           = 100 * time.Millisecond
	beatsPerReport = 10
	longestGrace   = 2 * time.Second
	// Sound goes to the encoder in pieces of 40 ms, which is what it reads at once.
	piece = rate / 25
	// Waits between encoders that die young.
	young     = 2 * time.Second
	firstWait = 100 * time.Millisecond
	lastWait  = 3 * time.Second
)

// loop owns the recording until its end.
func (w *work) loop() {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		var died <-chan struct{}
		if w.enc != nil {
			died = w.enc.child.Done()
		}
		select {
		case <-w.abort:
			w.discard()
			return
		case ctx := <-w.stop:
			w.finish(ctx)
			return
		case <-w.ring.Ready():
			w.pull()
		case <-died:
			w.ended(FaultEncoder, nil)
		case <-tick.C:
			w.pull() // what waits comes before what is missing
			w.fill(time.Now())
			w.patrol()
			w.report()
		}
		w.feed(piece)
	}
}

// fill writes silence for what has not come. After a time in which we did not run ourselves it waits as long again:
// sound that was made meanwhile is on its way through goroutines that were held up too.
func (w *work) fill(now time.Time) {
	if held := now.Sub(w.ticked); held > 3*beat && !w.ticked.IsZero() {
		w.grace = now.Add(min(held, longestGrace))
	}
	w.ticked = now
	if now.After(w.grace) {
		w.time.fill(now)
	}
}

// report notes how far we are, once a second.
func (w *work) report() {
	if w.beats++; w.beats%beatsPerReport != 1 {
		return
	}
	p := Result{Path: w.o.Path, Bytes: w.closed, Parts: w.parts, Silence: w.time.silence, Late: w.time.late, Lost: w.lost + w.ring.Lost()}
	if w.enc != nil {
		p.Parts++
		if info, err := os.Stat(w.enc.path); err == nil {
			p.Bytes += info.Size()
		}
	}
	w.progress.Store(&p)
}

// pull takes what the ring has and puts it on the clock.
func (w *work) pull() {
	for {
		f, ok, _ := w.ring.TryRead()
		if !ok {
			return
		}
		w.time.frame(f)
		if p := w.offset.Load(); p == nil || *p != w.time.offset {
			offset := w.time.offset
			w.offset.Store(&offset)
		}
	}
}

// take is the timeline's output.
func (w *work) take(pcm []int16) {
	w.hist.add(pcm)
	w.samples.Add(int64(len(pcm)))
}

// feed gives the encoder what it has not got, once it is worth it.
func (w *work) feed(least int64) {
	if w.enc == nil {
		return
	}
	for w.hist.end-w.enc.fed() >= least {
		at := w.enc.fed()
		if at < w.hist.base { // it is so far behind that its sound is gone
			w.kill(FaultStalled)
			return
		}
		w.buf = w.hist.appendBytes(w.buf[:0], at, 8192)
		half := int(w.enc.sent % 2) // an encoder that died may have taken half a sample
		before := w.enc.sent
		if err := w.enc.write(w.buf[half:]); err != nil || w.enc.sent-before < int64(len(w.buf)-half) {
			return // full, or dead: its end comes by itself
		}
	}
}

// patrol looks after encoders that are due, stuck, or behind.
func (w *work) patrol() {
	now := time.Now()
	switch {
	case w.enc == nil && now.After(w.again):
		w.restart()
	case w.enc != nil && w.hist.end-w.enc.fed() > piece && now.Sub(w.enc.moved) > w.o.Stall:
		w.kill(FaultStalled)
	}
	// What nobody can take is lost once it leaves the history.
	if w.enc == nil && w.from < w.hist.base {
		w.losing += w.hist.base - w.from
		w.lost += w.hist.base - w.from
		w.from = (w.hist.base + packet16 - 1) / packet16 * packet16
	}
}

// kill ends an encoder that is stuck; it is dead for us whether it obeys or not.
func (w *work) kill(kind FaultKind) {
	w.enc.child.Kill()
	select {
	case <-w.enc.child.Done():
	case <-time.After(beat):
	}
	w.ended(kind, ErrStalled)
}

// ended notes the end of an encoder and starts the next part where the sound on disk ends.
func (w *work) ended(kind FaultKind, cause error) {
	e := w.enc
	w.enc = nil
	w.running(nil)
	_ = e.stdin.Close() // nothing can be lost by it any more
	if cause == nil {
		cause = e.why()
	}
	if errors.Is(cause, ErrDiskFull) {
		kind = FaultDisk
	}
	w.fault(Fault{Kind: kind, Err: cause, Part: e.n})
	w.account(e)
	if time.Since(w.born) > young {
		w.waits = 0 // it did its work: the next one starts at once
		w.restart()
		return
	}
	w.later()
}

// later puts the next try off, each time further.
func (w *work) later() {
	w.again = time.Now().Add(w.waits)
	w.waits = min(max(firstWait, 2*w.waits), lastWait)
}

// account finds out what the part on disk holds.
func (w *work) account(e *encoder) {
	next, ok, err := e.settled()
	w.from = next
	switch {
	case err != nil:
		// The disk does not even let us look: nothing is certain but what the encoder was not given.
		w.from = max(e.first, e.fed()/packet16*packet16)
		w.number, w.parts = e.n+1, w.parts+1
		w.fault(Fault{Kind: FaultDisk, Err: err, Part: e.n})
	case !ok:
		w.number = e.n // try the same part again
		if err := gone(os.Remove(e.path)); err != nil {
			w.number++
		}
	default:
		w.number, w.parts = e.n+1, w.parts+1
		if info, err := os.Stat(e.path); err == nil {
			w.closed += info.Size()
		}
	}
}

// restart starts the next part, or notes when to try again.
func (w *work) restart() {
	first := w.from
	if first < w.hist.base {
		first = (w.hist.base + packet16 - 1) / packet16 * packet16
		w.losing += first - w.from
		w.lost += first - w.from
	}
	if w.losing > 0 {
		w.fault(Fault{Kind: FaultOverflow, Err: errLost, Part: w.number, Lost: w.losing})
		w.losing = 0
	}
	if err := w.next(first); err != nil {
		w.waits = max(w.waits, firstWait)
		w.later()
		kind := FaultEncoder
		if errors.Is(err, ErrDiskFull) {
			kind = FaultDisk
		}
		w.fault(Fault{Kind: kind, Err: err, Part: w.number})
	}
}

var errLost = errors.New("sound could not be written in time and is lost")

// next starts the encoder of the next part.
func (w *work) next(first int64) error {
	if err := diskSpace(w.o.Path); err != nil {
		return err
	}
	e, err := startEncoder(w.o, w.number, first)
	if err != nil {
		return err
	}
	w.enc, w.from, w.born = e, first, time.Now()
	w.running(e.child)
	return nil
}

// running tells Delete whom to kill; a deletion that came in between kills here.
func (w *work) running(child *proc.Child) {
	w.mu.Lock()
	w.child = child
	w.mu.Unlock()
	select {
	case <-w.abort:
		if child != nil {
			child.Kill()
		}
	default:
	}
}

func (w *work) fault(f Fault) {
	w.o.Log.Warn("recording fault", "kind", string(f.Kind), "part", f.Part, "lost", f.Lost, "err", f.Err)
	select {
	case w.faults <- f:
	default:
		w.missed.Add(1)
	}
}

// discard ends without keeping anything.
func (w *work) discard() {
	w.err = ErrDeleted
	if w.enc != nil {
		w.enc.child.Kill()
		_ = w.enc.stdin.Close()
		<-w.enc.child.Done()
		w.running(nil)
	}
	var err error
	switch {
	case w.erase.Load():
		err = Remove(w.o.Path)
	case w.enc != nil:
		err = gone(os.Remove(w.enc.path))
	}
	if err != nil {
		w.o.Log.Warn("a recording that was given up could not be removed", "err", err) // Delete tries again and tells
	}
}

// finish writes what there is, closes the last part and joins them all.
func (w *work) finish(ctx context.Context) {
	w.pull()
	w.time.finish(time.Now())
	const tries = 3
	for range tries {
		if w.enc == nil {
			w.restart()
		}
		if (w.enc != nil && w.drain(ctx)) || ctx.Err() != nil {
			break
		}
	}
	w.result = Result{Path: w.o.Path, Silence: w.time.silence, Late: w.time.late}
	select {
	case <-w.abort:
		w.err = ErrDeleted
		return
	default:
	}
	info, err := Join(w.o.Path)
	if err != nil {
		w.err = fmt.Errorf("%w: %w", ErrNotJoined, err)
	}
	w.lost += max(0, w.hist.end-info.Samples)
	w.result.Bytes, w.result.Seconds, w.result.Parts = info.Valid, info.Seconds, w.parts
	w.result.Lost = w.lost + w.ring.Lost()
}

// drain gives the encoder the rest, closes its input and waits for its end. False: it died on the way, and the next
// part has to go on.
func (w *work) drain(ctx context.Context) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	e := w.enc
	whole := false // it has everything
	for {
		if !whole {
			w.feed(1)
			if w.enc == nil { // so far behind that feed gave it up
				return false
			}
			if whole = e.fed() >= w.hist.end; whole {
				_ = e.stdin.Close() // the encoder sees the end of its input
			}
		}
		stuck := false
		select {
		case <-e.child.Done():
		case <-ctx.Done():
			stuck = true
		case <-w.abort:
			stuck = true
		case <-tick.C:
			if stuck = time.Since(e.moved) > w.o.Stall; !stuck {
				continue
			}
		}
		if stuck {
			e.child.Kill()
			<-e.child.Done() // Stop and Delete have their own limit
		}
		w.enc = nil
		w.running(nil)
		_ = e.stdin.Close()
		if whole && e.child.Err() == nil {
			w.parts++
			return true
		}
		if !stuck {
			w.fault(Fault{Kind: FaultEncoder, Err: e.why(), Part: e.n})
		} else {
			w.fault(Fault{Kind: FaultStalled, Err: ErrStalled, Part: e.n})
		}
		w.account(e)
		return false
	}
}
