package ogg

import (
	"time"

	"parley/audio"
)

// timeline puts frames on the clock of a recording: one sample for each 1/16000 s since it began, whatever arrives.
// It is pure: time comes in with the frames, samples go out through emit.
type timeline struct {
	began time.Time
	emit  func([]int16)
	end   int64 // samples emitted

	anchored bool
	offset   int64 // recording sample = source position + offset
	next     int64 // source position that would follow without a gap

	// How far the source's samples lag behind the clock, at the least, in this window. A source's clock may drift.
	low   int64
	until time.Time
	slip  int64 // samples to put in (or leave out) one by one
	since int64 // samples since the last slip

	silence int64 // samples made up
	late    int64 // samples that came when their time had been filled already
}

const (
	// Where nothing comes, silence is written this long after its time, so that sound that is merely late finds its
	// place still free. A source that lives gives silence itself, so that nothing is later for it.
	patience = rate
	// driftWindow is how long the lag is watched before it is believed.
	driftWindow = 5 * time.Second
	// Less lag than tolerance stays; more is made up one sample in slipEvery; beyond jump at once.
	tolerance = rate / 100
	jump      = rate / 10
	slipEvery = 320
)

func (t *timeline) wall(at time.Time) int64 {
	return int64(at.Sub(t.began) / (time.Second / rate)) // a sample is a whole number of nanoseconds
}

// frame places a frame. What belongs to a time before the recording began is left out.
func (t *timeline) frame(f audio.Frame) {
	n := int64(len(f.PCM))
	if n == 0 {
		return
	}
	wall := t.wall(f.At)
	switch {
	case !t.anchored, f.Pos < t.next, f.End()+t.offset > wall+rate:
		// The first frame, another source, or a position that is no gap: it ended when it arrived.
		t.anchored = true
		t.offset = wall - f.End()
		t.until, t.low, t.slip = f.At.Add(driftWindow), 0, 0
	default:
		t.drift(f, wall)
	}
	t.next = f.End()

	at, pcm := f.Pos+t.offset, f.PCM
	if at > t.end {
		t.quiet(at - t.end)
	}
	if at < t.end {
		k := min(t.end-at, n)
		if at+n > 0 {
			t.late += min(k, at+n)
		}
		pcm = pcm[k:]
	}
	t.put(pcm)
	t.nudge(n, pcm)
}

func (t *timeline) put(pcm []int16) {
	if len(pcm) > 0 {
		t.emit(pcm)
		t.end += int64(len(pcm))
	}
}

// drift watches the lag, and decides at the end of each window.
func (t *timeline) drift(f audio.Frame, wall int64) {
	lag := wall - (f.End() + t.offset)
	t.low = min(t.low, lag)
	if f.At.Before(t.until) {
		return
	}
	low := t.low
	t.until, t.low = f.At.Add(driftWindow), lag
	switch {
	case low >= jump || low <= -jump:
		t.offset += low
		t.low -= low
		t.slip = 0
	case low >= tolerance || low <= -tolerance:
		t.slip = low
	default:
		t.slip = 0
	}
}

// nudge repeats or takes back one sample now and then, which nobody hears.
func (t *timeline) nudge(n int64, pcm []int16) {
	t.since += n
	if t.slip == 0 || t.since < slipEvery || len(pcm) == 0 {
		return
	}
	t.since = 0
	if t.slip > 0 {
		t.slip--
		t.offset++
		t.put(pcm[len(pcm)-1:])
		t.low--
		return
	}
	t.slip++
	t.offset-- // the next frame begins one sample inside what is there
	t.low++
}

// fill writes silence for what has not come, up to now less the patience.
func (t *timeline) fill(now time.Time) { t.quiet(t.wall(now) - patience - t.end) }

// finish writes silence up to now.
func (t *timeline) finish(now time.Time) { t.quiet(t.wall(now) - t.end) }

var nothing [rate / 10]int16

func (t *timeline) quiet(n int64) {
	for n > 0 {
		k := min(n, int64(len(nothing)))
		t.put(nothing[:k])
		t.silence += k
		n -= k
	}
}
