package station

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"parley/meeting"
	"parley/meeting/scribe"
	"parley/speech"
	"parley/transcript"
)

// hearing is a scribe as the meeting's live transcript. What the scribe says goes through a queue of its own: the
// scribe must not wait for the meeting's loop, which may be waiting for the scribe.
type hearing struct {
	scribe *scribe.Scribe
	post   func(meeting.Event) bool

	queue  chan meeting.Event
	ended  chan struct{} // closed when nothing more is posted
	once   sync.Once
	silent atomic.Bool
	// lost counts partials that found the queue full.
	lost atomic.Int64
}

// heardQueue holds what waits for the loop. Half of it is kept for finals: partials are dropped beyond it.
const heardQueue = 512

func newHearing(o scribe.Options, post func(meeting.Event) bool) *hearing {
	h := &hearing{post: post, queue: make(chan meeting.Event, heardQueue), ended: make(chan struct{})}
	o.OnSegment = func(s transcript.Segment, final bool) {
		if !final && len(h.queue) > heardQueue/2 {
			h.lost.Add(1)
			return
		}
		h.put(meeting.Heard{Segment: s, Final: final, Lag: h.scribe.Stats().Lag})
	}
	o.OnBegin = func(at time.Time) { h.put(meeting.HearingBegan{At: at}) }
	o.OnTurnEnd = func(_ time.Duration, prob float64) { h.put(meeting.HeardTurnEnd{Prob: prob}) }
	o.OnActivity = func(on bool, _ time.Duration) { h.put(meeting.HeardActivity{On: on}) }
	o.OnFault = func(kind speech.Kind, fatal bool, err error) {
		h.put(meeting.Fault{Part: meeting.PartSpeech, Fatal: fatal, Kind: string(kind), Err: err})
	}
	h.scribe = scribe.New(o)
	return h
}

// put queues an event; a queue full of finals means that the loop is dead, and then nobody misses them.
func (h *hearing) put(ev meeting.Event) {
	if h.silent.Load() {
		return
	}
	select {
	case h.queue <- ev:
	default:
		h.lost.Add(1)
	}
}

// carry is the goroutine that hands the queue to the loop. It ends with Stop or Forget.
func (h *hearing) carry() {
	defer close(h.ended)
	for ev := range h.queue {
		if ev == nil {
			return
		}
		if h.silent.Load() {
			continue
		}
		h.post(ev)
	}
}

// Start begins the transcript.
func (h *hearing) Start(ctx context.Context) error {
	if err := h.scribe.Start(ctx); err != nil {
		if errors.Is(err, scribe.ErrStopped) {
			return meeting.ErrCannot
		}
		return err
	}
	go h.carry()
	return nil
}

// Streamed is how much sound was given to recognisers.
func (h *hearing) Streamed() time.Duration { return h.scribe.Stats().Streamed }

// Stop ends it after the last words.
func (h *hearing) Stop(ctx context.Context) error {
	err := h.scribe.Stop(ctx)
	h.finish()
	select {
	case <-h.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	return err
}

// Forget ends it without another word. It is called by the loop, so that it never waits for it.
func (h *hearing) Forget() {
	h.silent.Store(true)
	h.scribe.Forget()
	h.finish()
}

// finish lets carry end behind what is queued.
func (h *hearing) finish() {
	h.once.Do(func() { go func() { h.queue <- nil }() })
}

var (
	_ meeting.Hearing = (*hearing)(nil)
	_ meeting.Metered = (*hearing)(nil)
)
