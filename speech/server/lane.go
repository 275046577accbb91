package server

import (
	"context"
	"runtime"
	"sync"
	"time"

	"parley/speech/segment"
	"parley/speech/whisper"
)

// job is one decode. done is called exactly once for a job that ran, from the lane's goroutine, and never for one
// that was cancelled before it began; it must not block.
type job struct {
	owner any
	id    int64
	seg   int64
	kind  segment.Kind
	large bool
	req   whisper.Request
	done  func(*job, whisper.Result, error)

	start, onset int64 // where its audio lies in the stream, and where the speech in it begins
	took         time.Duration
}

// lane is the recogniser's thread: it does one job at a time.
type lane struct {
	models *Models
	stuck  func() // called when one decode takes longer than stuckAfter

	mu      sync.Mutex
	q       queue
	running *job
	cancel  context.CancelFunc // of the running job
	ran     [segment.Final + 1]int64
	spent   [segment.Final + 1]time.Duration // processor time
	work    chan struct{}
}

// stuckAfter is far beyond the slowest decode on the slowest machine: whoever takes longer will never end.
const stuckAfter = 2 * time.Minute

func newLane(m *Models, stuck func()) *lane {
	return &lane{models: m, stuck: stuck, work: make(chan struct{}, 1)}
}

// run works until ctx ends. It keeps a thread to itself, on which the models run, so that its time can be told apart.
func (l *lane) run(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		j, jctx, cancel := l.next(ctx)
		if j == nil {
			select {
			case <-l.work:
				continue
			case <-ctx.Done():
				return
			}
		}
		dec := l.models.Small
		if dec == nil || j.large && l.models.Large != nil {
			dec = l.models.Large
		}
		alarm := time.AfterFunc(stuckAfter, l.stuck)
		began, spent := time.Now(), threadCPU()
		res, err := dec.Decode(jctx, j.req)
		j.took = time.Since(began)
		alarm.Stop()
		cancel()
		l.mu.Lock()
		l.running, l.cancel = nil, nil
		l.ran[j.kind]++
		l.spent[j.kind] += threadCPU() - spent
		l.mu.Unlock()
		j.done(j, res, err)
	}
}

func (l *lane) next(ctx context.Context) (*job, context.Context, context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.q.take()
	if j == nil {
		return nil, nil, nil
	}
	jctx, cancel := context.WithCancel(ctx)
	l.running, l.cancel = j, cancel
	return j, jctx, cancel
}

// submit queues a job. A draft or final breaks off the partial of its own stream that runs: nobody waits for it any
// more.
func (l *lane) submit(j *job) {
	l.mu.Lock()
	l.q.add(j)
	if r := l.running; r != nil && j.kind != segment.Partial && r.kind == segment.Partial && r.owner == j.owner {
		l.cancel()
		l.q.dropped[segment.Partial]++
	}
	l.mu.Unlock()
	l.wake()
}

// drop gives a draft up, whether it waits or runs.
func (l *lane) drop(owner any, id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.q.remove(owner, id)
	if r := l.running; j == nil && r != nil && r.owner == owner && r.id == id {
		l.cancel()
		j = r
	}
	if j != nil {
		l.q.dropped[j.kind]++
	}
}

// promote makes a final of a draft that still waits.
func (l *lane) promote(owner any, id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if j := l.q.remove(owner, id); j != nil {
		j.kind = segment.Final
		l.q.add(j)
	}
}

// busy tells whether more waits than can be done at once.
func (l *lane) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.q.waiting(segment.Final)+l.q.waiting(segment.Draft) >= busyJobs
}

// busyJobs is the length of the queue from which on decodes are made shorter.
const busyJobs = 3

// forget gives up everything of a stream that has ended.
func (l *lane) forget(owner any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.q.removeAll(owner)
	if l.running != nil && l.running.owner == owner {
		l.cancel()
	}
}

// counts are what waits, what was done and what was given up, by kind.
func (l *lane) counts() (waiting, ran, dropped [segment.Final + 1]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range waiting {
		waiting[k] = int64(l.q.waiting(segment.Kind(k)))
	}
	return waiting, l.ran, l.q.dropped
}

// used is the processor time of all that was decoded, by kind.
func (l *lane) used() [segment.Final + 1]time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

func (l *lane) wake() {
	select {
	case l.work <- struct{}{}:
	default:
	}
}
