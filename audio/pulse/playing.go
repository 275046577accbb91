package pulse

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"parley/audio"
)

// Pieces is speech on its way, at 24 kHz: Next gives the next stretch, io.EOF after the last one. The samples stay
// the caller's to keep unchanged until the Playing is done.
type Pieces interface {
	Next(ctx context.Context) ([]int16, error)
}

// PiecesFunc is a Pieces that is a function.
type PiecesFunc func(ctx context.Context) ([]int16, error)

// Next calls f.
func (f PiecesFunc) Next(ctx context.Context) ([]int16, error) { return f(ctx) }

// Samples are Pieces of one piece.
func Samples(pcm []int16) Pieces {
	given := false
	return PiecesFunc(func(context.Context) ([]int16, error) {
		if given {
			return nil, io.EOF
		}
		given = true
		return pcm, nil
	})
}

// ErrStopped is the outcome of speech that was stopped.
var ErrStopped = errors.New("speech was stopped")

// Outcome is what came of a Playing. Times are in samples at 24 kHz.
type Outcome struct {
	// Played is how much was really played, by the sound server's clock.
	Played int64
	// Taken is how much the pieces had given.
	Taken int64
	// Gap is the longest silence in the middle, because the next piece was late.
	Gap int64
	// Gaps counts them.
	Gaps int
	// Err is nil when all was played, ErrStopped after Stop, else what Pieces or the server said.
	Err error
}

// Playing is speech that plays or waits for its turn.
type Playing struct {
	player  *Player
	started chan struct{}
	done    chan struct{}
	cancel  context.CancelFunc
	unhook  func() bool           // from its context
	number  int64                 // in the order of Play
	asked   atomic.Pointer[error] // to stop, and why

	// Everything below is guarded by the player's lock.
	parts   [][]int16 // what has come and was not sent yet
	waiting int       // samples in parts
	taken   int64
	sent    int64
	ended   bool  // no more will come
	failed  error // why it ended before its time
	dropped bool  // what the server holds of it is to be silenced, once
	spans   []span
	isOn    bool // started
	starved bool // the silence that is being sent is for want of the next piece
	outcome Outcome
	room    *sync.Cond // there is room for more pieces, or no need of any
}

// span is where a stretch of speech lies in the stream.
type span struct {
	at   int64 // stream index of its first sample
	from int64 // index in the speech
	n    int64
}

// ahead bounds what is taken from Pieces before it is needed.
const ahead = 30 * audio.SpeakRate

// Started is closed when the first sample sounds.
func (s *Playing) Started() <-chan struct{} { return s.started }

// Done is closed when all has sounded, or it was stopped or failed.
func (s *Playing) Done() <-chan struct{} { return s.done }

// Outcome is what came of it; only valid after Done.
func (s *Playing) Outcome() Outcome {
	select {
	case <-s.done:
		return s.outcome
	default:
		return Outcome{}
	}
}

// Position is how many samples of the speech have really been played by now.
func (s *Playing) Position() int64 {
	s.player.mu.Lock()
	defer s.player.mu.Unlock()
	select {
	case <-s.done:
		return s.outcome.Played
	default:
	}
	return s.heard(s.player.clock.at(time.Now()))
}

// Stop silences it within milliseconds and returns at once. What was queued is thrown away.
func (s *Playing) Stop() { s.stop(ErrStopped) }

func (s *Playing) stop(why error) {
	s.asked.CompareAndSwap(nil, &why)
	s.player.poke()
}

// heard is how much of the speech lies before a stream index.
func (s *Playing) heard(index int64) int64 {
	var n int64
	for _, p := range s.spans {
		if index <= p.at {
			break
		}
		n = p.from + min(p.n, index-p.at)
	}
	return n
}

// last is the stream index at the end of what was sent.
func (s *Playing) last() int64 {
	if len(s.spans) == 0 {
		return 0
	}
	p := s.spans[len(s.spans)-1]
	return p.at + p.n
}

// note remembers that a stretch was sent to a place in the stream.
func (s *Playing) note(at, n int64) {
	if k := len(s.spans); k > 0 {
		p := &s.spans[k-1]
		if p.at+p.n == at {
			p.n += n
			s.sent += n
			return
		}
		if gap := at - p.at - p.n; gap > 0 {
			s.outcome.Gap = max(s.outcome.Gap, gap)
			s.outcome.Gaps++
		}
	}
	s.spans = append(s.spans, span{at, s.sent, n})
	s.sent += n
}

// cut forgets what was sent to indexes from one on.
func (s *Playing) cut(index int64) {
	for k := len(s.spans) - 1; k >= 0; k-- {
		p := &s.spans[k]
		if p.at+p.n <= index {
			break
		}
		if p.at >= index {
			s.spans = s.spans[:k]
			continue
		}
		p.n = index - p.at
	}
}

// shift moves what was noted from an index on: it turned out to lie elsewhere.
func (s *Playing) shift(from, by int64) {
	for i := range s.spans {
		if s.spans[i].at >= from {
			s.spans[i].at += by
		}
	}
}

// unsend takes back what was sent to indexes from one on, which held is the sound of.
func (s *Playing) unsend(index int64, held []int16) {
	var back []int16
	for _, p := range s.spans {
		if lo, hi := max(p.at, index), p.at+p.n; lo < hi {
			back = append(back, held[lo-index:hi-index]...)
		}
	}
	if len(back) == 0 {
		return
	}
	s.cut(index)
	s.parts = append([][]int16{back}, s.parts...)
	s.waiting += len(back)
	s.sent -= int64(len(back))
}

// take moves up to len(pcm) samples out of what waits.
func (s *Playing) take(pcm []int16) int {
	n := 0
	for n < len(pcm) && len(s.parts) > 0 {
		k := copy(pcm[n:], s.parts[0])
		n += k
		if s.parts[0] = s.parts[0][k:]; len(s.parts[0]) == 0 {
			s.parts = s.parts[1:]
		}
	}
	s.waiting -= n
	if s.waiting < ahead {
		s.room.Broadcast()
	}
	return n
}

// fetch takes pieces as they come, not too far ahead. It is a goroutine of the player's.
func (s *Playing) fetch(ctx context.Context, pieces Pieces) {
	p := s.player
	defer p.fetchers.Done()
	for {
		pcm, err := pieces.Next(ctx)
		p.mu.Lock()
		if len(pcm) > 0 && !s.ended {
			s.parts = append(s.parts, pcm)
			s.waiting += len(pcm)
			s.taken += int64(len(pcm))
		}
		if err != nil && !s.ended {
			s.ended = true
			if !errors.Is(err, io.EOF) {
				s.failed = err
			}
		}
		for s.waiting >= ahead && !s.ended {
			s.room.Wait()
		}
		ended := s.ended
		p.mu.Unlock()
		p.poke()
		if ended {
			return
		}
	}
}
