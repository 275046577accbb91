// Package scribe writes down what is said at a meeting: it feeds the recogniser with the mix or, where participants
// can be heard one by one, with their own tracks, and says of each segment who spoke.
package scribe

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/audio"
	"parley/meeting"
	"parley/speech"
	"parley/transcript"
)

// Options are what a Scribe needs; Transcriber and OnSegment are required.
type Options struct {
	Transcriber speech.Transcriber
	// Label names the meeting in the engine's logs: its id, never a name.
	Label string
	// Lang is a language code; empty means: detect.
	Lang string
	// Silence ends a segment; zero means the engine's default.
	Silence time.Duration
	// Partials asks for text while somebody speaks.
	Partials bool
	// MixOnly ignores the participants' tracks for words and uses them for names only.
	MixOnly bool
	// NoTracks ignores the tracks altogether: names come from the page's marks alone.
	NoTracks bool
	// First is the number of the first segment; zero means 1.
	First transcript.Seq

	// OnSegment gets every partial (final false; it carries the number that its final will have), every final and
	// every correction of one (Rev above 0). It is called from one goroutine and must not wait.
	OnSegment func(s transcript.Segment, final bool)
	// OnBegin gives the moment of the first sample: the zero of every time that is given. It comes before all else.
	// May be nil.
	OnBegin func(at time.Time)
	// OnActivity says that somebody began to speak, or nobody does any more, at a time since the first sample. May be
	// nil.
	OnActivity func(on bool, at time.Duration)
	// OnTurnEnd gives the engine's probability that the speaker is done. May be nil.
	OnTurnEnd func(at time.Duration, prob float64)
	// OnFault says that the engine failed; with fatal there will be no more text. May be nil.
	OnFault func(kind speech.Kind, fatal bool, err error)
}

// Stats are the counters of a Scribe.
type Stats struct {
	Segments   int
	Streams    int           // open now
	Dropped    int64         // frames lost because the queue was full
	Lag        time.Duration // of the last final, as the engine saw it
	Streamed   time.Duration // sound that was given to recognisers
	FromTracks bool          // words come from the participants' own tracks
	LastSpoken time.Time     // when sound that could be speech was last heard
}

// queueLength bounds what waits for the scribe: about five seconds of a mix and two tracks. When it is full the
// newest frame is dropped and counted; the recording does not go through here.
const queueLength = 1024

// Scribe writes one meeting down. Write, Track, Shown and Said may be called at any time from any goroutine and
// never wait; before Start and after Stop or Forget they do nothing.
type Scribe struct {
	o     Options
	inbox chan any
	quit  chan struct{}
	done  chan struct{}

	mu      sync.Mutex
	running bool
	stats   Stats
}

// New makes a Scribe that does nothing yet.
func New(o Options) *Scribe {
	if o.First == 0 {
		o.First = 1
	}
	return &Scribe{o: o, inbox: make(chan any, queueLength), quit: make(chan struct{}), done: make(chan struct{})}
}

// ErrStopped means that a Scribe was started a second time.
var ErrStopped = errors.New("a scribe writes one meeting down, once")

// Start opens the recogniser for the mix and returns when it took it.
func (s *Scribe) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.quit:
		return ErrStopped
	default:
	}
	if s.running {
		return ErrStopped
	}
	d := newDesk(s)
	mix, err := d.open(ctx, "", transcript.Person{})
	if err != nil {
		return err
	}
	d.mix = mix
	s.running = true
	go d.run()
	return nil
}

// Write takes a frame of the mix. It is an audio.Sink; it copies the samples.
func (s *Scribe) Write(f audio.Frame) error {
	s.post(mixed{pos: f.Pos, pcm: append([]int16(nil), f.PCM...), at: f.At})
	return nil
}

// Track takes sound of one participant. It keeps the samples; the caller makes new ones.
func (s *Scribe) Track(t meeting.TrackFrame) {
	if !s.o.NoTracks {
		s.post(t)
	}
}

// Shown says whom the page shows speaking.
func (s *Scribe) Shown(v meeting.SeenSpeaking) { s.post(v) }

// Captioned notes whose words the platform's captions show.
func (s *Scribe) Captioned(v meeting.SeenCaption) { s.post(v) }

// People gives the roster, for names and to know ourselves.
func (s *Scribe) People(v meeting.SeenPeople) { s.post(v) }

// Said notes what we say ourselves, so that its echo is recognised.
func (s *Scribe) Said(at time.Time, length time.Duration, text string) {
	s.post(said{at, length, text})
}

// Silenced notes that what we were saying was cut off.
func (s *Scribe) Silenced(at time.Time) { s.post(silenced{at}) }

// Stats are the counters now.
func (s *Scribe) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

func (s *Scribe) count(f func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.stats)
}

func (s *Scribe) post(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return
	}
	select {
	case s.inbox <- v:
	default:
		s.stats.Dropped++
	}
}

// Stop ends the segments that are being said and returns when their finals were given, or with ctx.
func (s *Scribe) Stop(ctx context.Context) error { return s.end(ctx, stop{ctx}) }

// Forget ends at once: nothing is given after it returned, and what was kept is dropped.
func (s *Scribe) Forget() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = s.end(ctx, nil) // the only error is a desk that hangs in OnSegment, and its caller is us
}

func (s *Scribe) end(ctx context.Context, last any) error {
	s.mu.Lock()
	was := s.running
	s.running = false
	select {
	case <-s.quit:
		s.mu.Unlock()
		if was {
			<-s.done
		}
		return nil
	default:
	}
	if !was {
		close(s.quit)
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	if last != nil {
		select {
		case s.inbox <- last:
		case <-ctx.Done():
		case <-s.done:
		}
	} else {
		close(s.quit)
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	select {
	case <-s.quit:
	default:
		close(s.quit)
	}
	s.mu.Unlock()
	<-s.done
	return ctx.Err()
}

// What comes to the desk.
type (
	mixed struct {
		pos int64
		pcm []int16
		at  time.Time
	}
	said struct {
		at     time.Time
		length time.Duration
		text   string
	}
	silenced struct{ at time.Time }
	stop     struct{ ctx context.Context }
	heard    struct {
		from *line
		ev   speech.Event // nil: the stream is over
	}
)

var _ audio.Sink = (*Scribe)(nil)
