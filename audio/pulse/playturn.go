package pulse

import (
	"context"
	"errors"
	"time"

	"github.com/jfreymuth/pulse/proto"

	"parley/audio"
)

const (
	// The clock is asked that often while something plays.
	clockEvery = 250 * time.Millisecond
	levelEvery = 100 * time.Millisecond
	// A fade to silence that nobody hears as a click.
	fadeOut = audio.SpeakRate * 4 / 1000
	// margin is left alone when what the server holds is sent again: the sink may take it while we ask and answer.
	margin = audio.SpeakRate / 1000
	// nextBlock is how near the sink's next block may be for a change still to come before it.
	nextBlock = 2 * time.Millisecond
)

// turn does all that is due: it is the whole work of the loop, under the lock. The error means that the link is gone.
func (p *Player) turn() (events []PlayerEvent, level *audio.Level, next time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.wishes()
	switch {
	case p.hush:
		err = p.silence()
	case p.quiet(now) && p.ready():
		err = p.begin()
	case p.lower && !p.quiet(now):
		err = p.again()
	default:
		p.lower = false
	}
	var late *Playing
	if err == nil {
		late, err = p.feed()
	}
	if err == nil && len(p.queue) > 0 && now.Sub(p.asked) > clockEvery {
		err = p.ask()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // the server hangs: it may come back, and what was to be done is still noted
	}
	now = time.Now()
	if late != nil {
		events = append(events, PlayerEvent{PlayerLate, late})
	}
	if n := p.starve.Load(); n > p.noted {
		more := n - p.noted
		p.noted = n
		if len(p.queue) > 0 && p.queue[0].isOn {
			p.gaps.Add(more)
			events = append(events, PlayerEvent{PlayerUnderrun, p.queue[0]})
		}
	}
	events = append(events, p.progress(now)...)
	if !p.quiet(now) && now.Sub(p.shown) >= levelEvery {
		p.shown = now
		l := p.meter.Level()
		level = &l
	}
	return events, level, p.pause(now), err
}

// quiet says that all speech that was sent has sounded: what the server holds is silence.
func (p *Player) quiet(now time.Time) bool { return p.clock.at(now) >= p.loud }

// ready says that there is speech to send.
func (p *Player) ready() bool {
	for _, s := range p.queue {
		if s.waiting > 0 {
			return true
		}
		if !s.ended {
			return false
		}
	}
	return false
}

// progress tells what has begun and ended by the clock.
func (p *Player) progress(now time.Time) (events []PlayerEvent) {
	at := p.clock.at(now)
	for len(p.queue) > 0 {
		s := p.queue[0]
		if len(s.spans) > 0 && !s.isOn && at > s.spans[0].at {
			s.isOn = true
			close(s.started)
			events = append(events, PlayerEvent{PlayerStarted, s})
		}
		if !s.ended || s.waiting > 0 || (len(s.spans) > 0 && at < s.last()) || p.hush {
			break
		}
		p.queue = p.queue[1:]
		p.settle(s)
		events = append(events, PlayerEvent{PlayerFinished, s})
	}
	return events
}

// pause is how long there is nothing to do unless somebody pokes us.
func (p *Player) pause(now time.Time) time.Duration {
	next := clockEvery
	if len(p.queue) == 0 || len(p.queue[0].spans) == 0 {
		if p.hush || p.lower {
			return next // the server hung: try again
		}
		return time.Hour
	}
	s := p.queue[0]
	if !s.isOn {
		next = min(next, p.clock.time(s.spans[0].at).Sub(now))
	}
	if s.ended && s.waiting == 0 {
		next = min(next, p.clock.time(s.last()).Sub(now))
	}
	return max(next, time.Millisecond)
}

// begin puts the first sound over the silence that the server holds.
func (p *Player) begin() error {
	if err := p.ask(); err != nil || !p.quiet(time.Now()) {
		return err // the stream had paused: there is speech yet, and this goes behind it
	}
	raw, pcm, _ := p.next(p.end, firstPiece)
	p.owed.Add(-2 * int64(len(pcm)))
	if err := p.link.sendAt(p.stream, seek{mode: seekOnRead}, p.bytes(pcm)); err != nil {
		return err
	}
	// Only now it is certain where that was; what was noted of it moves there.
	was := p.end
	if err := p.ask(); err != nil {
		return err
	}
	by := p.end - int64(len(pcm)) - was
	for _, s := range p.queue {
		s.shift(was, by)
	}
	p.loud += by
	p.recent = p.recent[:0]
	p.keep(raw)
	return nil
}

// firstPiece is what goes out at once: enough until the server asks for more.
const firstPiece = audio.SpeakRate / 50

// silence puts a fade and silence over what the server holds of speech that was dropped.
func (p *Player) silence() error {
	if p.quiet(time.Now()) {
		p.hush = false
		return nil
	}
	at, err := p.rewind()
	if err != nil {
		return err
	}
	p.hush = false
	from := p.end
	for _, s := range p.queue {
		if s.dropped && len(s.spans) > 0 {
			from = min(from, max(at, s.spans[0].at))
		}
	}
	held := p.recent[len(p.recent)-int(p.end-from):]
	for _, s := range p.queue {
		if !s.dropped {
			s.unsend(from, held)
		} else {
			s.cut(from + fadeOut)
		}
	}
	p.pcm = append(p.pcm[:0], held...)
	p.gain.Apply(p.pcm)
	var out audio.Gain
	out.Set(audio.Floor, fadeOut)
	out.Apply(p.pcm)
	clear(held)
	p.loud = min(p.loud, from+fadeOut)
	return p.overwrite(from)
}

// again sends what the server holds once more: the gain has changed.
func (p *Player) again() error {
	at, err := p.rewind()
	if err != nil {
		return err
	}
	p.lower = false
	p.pcm = append(p.pcm[:0], p.recent[len(p.recent)-int(p.end-at):]...)
	p.gain.Apply(p.pcm)
	return p.overwrite(at)
}

// overwrite sends pcm over what lies at an index, up to the end.
func (p *Player) overwrite(at int64) error {
	if len(p.pcm) == 0 {
		return nil
	}
	// The server counts what is sent, wherever it goes, and asks for as much again.
	p.owed.Add(-2 * int64(len(p.pcm)))
	return p.link.sendAt(p.stream, seek{seekAbsolute, 2 * at}, p.bytes(p.pcm))
}

// rewind finds the first index that can still be changed. The sink takes a block at a time, and what is sent for a
// place that it has just taken is lost, the first part of a fade with it: when it is about to take one, that is
// waited for.
func (p *Player) rewind() (int64, error) {
	at, err := p.timing()
	for range 2 {
		left := time.Until(p.clock.time(at))
		if err != nil || left > nextBlock {
			break
		}
		time.Sleep(max(left, 0) + nextBlock/4)
		at, err = p.timing()
	}
	return min(p.end, max(at+margin, p.end-int64(len(p.recent)))), err
}

// feed sends what the server asked for. late is a speech whose next piece has not come in time.
func (p *Player) feed() (late *Playing, err error) {
	for owed := p.owed.Load() / 2; owed > 0; owed = p.owed.Load() / 2 {
		raw, pcm, starved := p.next(p.end, min(owed, 2048))
		if starved != nil {
			late = starved
		}
		p.owed.Add(-2 * int64(len(pcm)))
		if err := p.link.send(p.stream, p.bytes(pcm)); err != nil {
			return late, err
		}
		p.end += int64(len(pcm))
		p.clock.end = p.end
		p.keep(raw)
	}
	return late, nil
}

// next takes n samples of speech, silence where there is none, for an index on: as they are, and as they go out.
// late is a speech that begins to wait for its next piece.
func (p *Player) next(at, n int64) (raw, pcm []int16, late *Playing) {
	if int64(len(p.fresh)) < n {
		p.fresh = make([]int16, n)
	}
	raw = p.fresh[:n]
	clear(raw)
	k := 0
	for _, s := range p.queue {
		for k < len(raw) && s.waiting > 0 {
			got := s.take(raw[k:])
			s.note(at+int64(k), int64(got))
			k += got
			p.loud = at + int64(k)
			s.starved = false
		}
		if !s.ended {
			if k < len(raw) && len(s.spans) > 0 && !s.starved {
				s.starved = true
				late = s
			}
			break
		}
	}
	p.pcm = append(p.pcm[:0], raw...)
	p.gain.Apply(p.pcm)
	_ = p.meter.Write(audio.Frame{Pos: at, PCM: p.pcm}) // a meter takes everything
	return raw, p.pcm, late
}

// keep remembers what was sent, as it was before the gain.
func (p *Player) keep(raw []int16) {
	if len(p.recent)+len(raw) > cap(p.recent) && len(p.recent) > keepRecent {
		p.recent = append(p.recent[:0], p.recent[len(p.recent)-keepRecent:]...)
	}
	p.recent = append(p.recent, raw...)
}

// bytes is how samples go out.
func (p *Player) bytes(pcm []int16) []byte {
	p.raw = p.raw[:0]
	for _, s := range pcm {
		p.raw = append(p.raw, byte(s), byte(uint16(s)>>8))
	}
	return p.raw
}

// ask sets clock and end by the server's own account.
func (p *Player) ask() error {
	_, err := p.timing()
	return err
}

// timing asks what the sink has taken, and sets the clock by the answer.
func (p *Player) timing() (taken int64, err error) {
	before := time.Now()
	var r proto.GetPlaybackLatencyReply
	if err := p.link.request("ask for the timing", &proto.GetPlaybackLatency{StreamIndex: p.stream}, &r); err != nil {
		return 0, err
	}
	after := time.Now()
	p.asked = after
	p.end = r.WriteIndex / 2
	taken = r.ReadIndex / 2
	p.clock = playclock{
		index: taken - int64(r.Latency)*audio.SpeakRate/1e6,
		when:  before.Add(after.Sub(before) / 2),
		end:   p.end,
	}
	return taken, nil
}
