package audio

import (
	"math"
	"time"
)

// Mix adds src to dst, sample by sample, without wrapping around; the shorter one decides the length.
func Mix(dst, src []int16) {
	for i := range min(len(dst), len(src)) {
		dst[i] = int16(min(max(int(dst[i])+int(src[i]), math.MinInt16), math.MaxInt16))
	}
}

// Mixer adds up tracks that arrive each at its own pace, on one clock: what people say in turn or at once becomes one
// sound. It is pure, time comes in as a value, and it belongs to one goroutine.
//
// Sound waits for that of other tracks for some time (Wait); what comes later than that is dropped and counted. A track
// that gives nothing is silent.
type Mixer struct {
	rate   int64
	wait   int64 // samples
	began  time.Time
	out    int64   // position of the next sample that goes out
	sums   []int32 // a ring of what is to go out, from out on
	tracks map[string]*mixTrack
	pcm    []int16
	late   int64
}

type mixTrack struct {
	offset int64 // position in the mix = position in the track + offset
	next   int64 // position in the track
}

const (
	// A track is put in its place anew when it has strayed this far from when it arrived.
	mixStray = 200 * time.Millisecond
	mixAhead = time.Second
)

// NewMixer makes a mixer whose position 0 is at began. Wait is how long sound waits for others: 60 ms when zero.
func NewMixer(rate int, wait time.Duration, began time.Time) *Mixer {
	if wait == 0 {
		wait = 60 * time.Millisecond
	}
	m := &Mixer{rate: int64(rate), began: began, tracks: map[string]*mixTrack{}}
	m.wait = m.samples(wait)
	m.sums = make([]int32, m.wait+m.samples(mixAhead))
	return m
}

func (m *Mixer) samples(d time.Duration) int64 { return int64(d) * m.rate / int64(time.Second) }

// Write adds a frame of a track. The mixer copies.
func (m *Mixer) Write(track string, f Frame) {
	arrived := m.samples(f.At.Sub(m.began))
	t := m.tracks[track]
	if t == nil {
		t = &mixTrack{next: math.MaxInt64}
		m.tracks[track] = t
	}
	stray := arrived - (f.End() + t.offset)
	if f.Pos < t.next || stray < -m.samples(mixStray) || stray > m.samples(mixStray) {
		t.offset = arrived - f.End()
	}
	t.next = f.End()
	at := f.Pos + t.offset
	for i, s := range f.PCM {
		p := at + int64(i)
		switch {
		case p < m.out:
			m.late++
		case p < m.out+int64(len(m.sums)):
			m.sums[p%int64(len(m.sums))] += int32(s)
		}
	}
}

// Remove forgets a track; what it gave stays.
func (m *Mixer) Remove(track string) { delete(m.tracks, track) }

// Advance gives what has waited long enough at a time, in frames of 20 ms that follow one another from position 0.
func (m *Mixer) Advance(now time.Time, give func(Frame)) {
	size := m.rate / 50
	for end := m.samples(now.Sub(m.began)) - m.wait; m.out+size <= end; {
		m.pcm = m.pcm[:0]
		for range size {
			sum := &m.sums[m.out%int64(len(m.sums))]
			m.pcm = append(m.pcm, int16(min(max(*sum, math.MinInt16), math.MaxInt16)))
			*sum = 0
			m.out++
		}
		give(Frame{Pos: m.out - size, PCM: m.pcm, At: now})
	}
}

// Late is how many samples came too late.
func (m *Mixer) Late() int64 { return m.late }
