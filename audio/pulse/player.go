package pulse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jfreymuth/pulse/proto"

	"parley/audio"
)

// ErrTooMuch means that enough speech waits already.
var ErrTooMuch = errors.New("too much speech is waiting to be played")

// queueLimit bounds how many pieces of speech wait behind the one that plays.
const queueLimit = 4

// PlayerOptions say how to speak. Zero works.
type PlayerOptions struct {
	// Latency is how much sound lies ready on the server; zero is 40 ms. Less stutters on a busy machine.
	Latency time.Duration
	// OnEvent is told what happens, on the player's goroutine; it must not wait nor call the player.
	OnEvent func(PlayerEvent)
	// OnLevel is told the level of what is sent, some ten times a second while something plays; as OnEvent.
	OnLevel func(audio.Level)
}

// PlayerEvent is something that happened to a Playing.
type PlayerEvent struct {
	Kind    PlayerKind
	Playing *Playing
}

// PlayerKind says what happened.
type PlayerKind string

// The kinds of player events.
const (
	PlayerStarted  PlayerKind = "started"  // its first sample sounds
	PlayerFinished PlayerKind = "finished" // done, for whatever reason
	PlayerLate     PlayerKind = "late"     // the next piece has not come in time: a silence in the middle
	PlayerUnderrun PlayerKind = "underrun" // we were too slow ourselves
)

// Player speaks into the browser's microphone: one stream for the life of a meeting, which gives silence when there is
// nothing to say. Its methods may be called from any goroutine. Those that stop or lower it never wait; Play and
// Position may, for at most two seconds, while a server hangs.
//
// The server always holds some sound of ours. What is new goes over it, not behind it: speech begins, falls
// silent or gets lower at what the sink takes next.
type Player struct {
	server *Server
	link   *link
	o      PlayerOptions
	stream uint32
	done   chan struct{}
	wake   chan struct{}
	owed   atomic.Int64 // bytes that the server asked for
	starve atomic.Int64 // times that it ran out
	gaps   atomic.Int64 // of these, while we spoke

	fetchers sync.WaitGroup

	// What others ask of the loop, without waiting for it.
	counter atomic.Int64  // of speeches
	stopped atomic.Int64  // up to this one all are to stop
	wanted  atomic.Uint64 // the volume, a float64 in decibels

	mu     sync.Mutex
	queue  []*Playing // the first one plays
	err    error      // why the player is over
	gain   audio.Gain
	volume float64 // that the gain moves to
	hush   bool    // overwrite what the server still holds with a fade to silence
	lower  bool    // send what it holds again: the gain has changed
	clock  playclock
	end    int64   // stream index behind all that was sent, in samples
	loud   int64   // stream index behind all speech that was sent
	recent []int16 // what was sent last, before the gain, for sending it again; ends at end
	fresh  []int16
	pcm    []int16
	raw    []byte
	meter  *audio.Meter
	shown  time.Time // the level
	asked  time.Time // the server, for the time
	noted  int64     // underruns told
}

// keepRecent is how much was sent last at most: more than the server ever holds.
const keepRecent = audio.SpeakRate / 2

// Player opens the stream into the browser's microphone. The context bounds the opening only.
func (s *Server) Player(ctx context.Context, o PlayerOptions) (*Player, error) {
	return s.player(ctx, MicSink, o)
}

func (s *Server) player(ctx context.Context, sink string, o PlayerOptions) (*Player, error) {
	if o.Latency == 0 {
		o.Latency = 40 * time.Millisecond
	}
	if o.OnEvent == nil {
		o.OnEvent = func(PlayerEvent) {}
	}
	p := &Player{
		server: s, o: o, done: make(chan struct{}), wake: make(chan struct{}, 1),
		meter: audio.NewMeter(audio.SpeakRate),
	}
	l, err := s.dial(ctx, ownPrefix+"voice", nil, p.message)
	if err != nil {
		return nil, err
	}
	p.link = l
	length := uint32(o.Latency.Seconds()*audio.SpeakRate) * 2
	var reply proto.CreatePlaybackStreamReply
	err = l.request("open the voice", &proto.CreatePlaybackStream{
		SampleSpec:            proto.SampleSpec{Format: proto.FormatInt16LE, Channels: 1, Rate: audio.SpeakRate},
		ChannelMap:            proto.ChannelMap{proto.ChannelMono},
		SinkIndex:             proto.Undefined,
		SinkName:              sink,
		BufferMaxLength:       8 * length,
		BufferTargetLength:    length,
		BufferPrebufferLength: length / 4, // after an underrun: go on soon, and lose nothing
		BufferMinimumRequest:  length / 4,
		ChannelVolumes:        proto.ChannelVolumes{uint32(proto.VolumeNorm)},
		AdjustLatency:         true,
		NoMove:                true,
		Properties:            proto.PropList{"media.name": proto.PropListString("speak"), "media.role": proto.PropListString("phone")},
	}, &reply)
	if err == nil && (reply.Rate != audio.SpeakRate || reply.Channels != 1 || reply.Format != proto.FormatInt16LE) {
		err = fmt.Errorf("open the voice: the server gives %d Hz, %d channels", reply.Rate, reply.Channels)
	}
	if err != nil {
		s.hangUp(l)
		return nil, err
	}
	p.stream = reply.StreamIndex
	p.owed.Add(int64(reply.Missing))
	p.poke()
	go p.loop()
	return p, nil
}

// message runs on the link's reading goroutine.
func (p *Player) message(m any) {
	switch m := m.(type) {
	case *proto.Request:
		p.owed.Add(int64(m.Length))
	case *proto.Underflow:
		p.starve.Add(1)
	case *proto.PlaybackStreamKilled:
		p.server.log.Warn("the server killed the voice's stream")
		p.link.fail(errors.New("the voice's stream was killed"))
	default:
		return
	}
	p.poke()
}

func (p *Player) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Play queues speech behind what is there and returns. Pieces are taken as they come, on a goroutine of the
// player's; ctx ends that, and stops the speech. Next must return when its context ends: Close waits for it.
func (p *Player) Play(ctx context.Context, pieces Pieces) (*Playing, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &Playing{
		player: p, started: make(chan struct{}), done: make(chan struct{}), cancel: cancel, room: sync.NewCond(&p.mu),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.number = p.counter.Add(1)
	if p.err != nil {
		cancel()
		return nil, p.err
	}
	if len(p.queue) > queueLimit {
		cancel()
		return nil, ErrTooMuch
	}
	p.queue = append(p.queue, s)
	p.fetchers.Add(1)
	go s.fetch(ctx, pieces)
	s.unhook = context.AfterFunc(ctx, func() { s.stop(context.Cause(ctx)) })
	return s, nil
}

// Stop silences everything, what plays and what waits, and returns at once.
func (p *Player) Stop() {
	// What was queued before now is over; the loop sees to it.
	raise(&p.stopped, p.counter.Load())
	p.poke()
}

// raise sets a number that only grows.
func raise(n *atomic.Int64, to int64) {
	for was := n.Load(); was < to && !n.CompareAndSwap(was, to); was = n.Load() {
	}
}

// drop forgets what is left of a speech. What the server holds of it is overwritten by the loop.
func (p *Player) drop(s *Playing, why error) {
	if s.dropped || (s.ended && s.waiting == 0 && p.clock.at(time.Now()) >= s.last()) {
		return // it is over anyhow; silencing it once more would cut off its fade
	}
	if s.failed == nil {
		s.failed = why
	}
	s.ended, s.dropped = true, true
	s.parts, s.waiting = nil, 0
	s.room.Broadcast()
	p.hush = p.hush || len(s.spans) > 0
}

// Duck lowers everything by decibels (audio.Duck) within some 20 ms, and returns at once.
func (p *Player) Duck(db float64) {
	p.wanted.Store(math.Float64bits(db))
	p.poke()
}

// Restore brings the volume back, and returns at once.
func (p *Player) Restore() { p.Duck(0) }

// ramp is how long a change of volume takes.
const ramp = 20 * time.Millisecond

// wishes takes what others asked for since the last turn: to stop, to be lower.
func (p *Player) wishes() {
	before := p.stopped.Load()
	for _, s := range p.queue {
		switch why := s.asked.Load(); {
		case why != nil:
			p.drop(s, *why)
		case s.number <= before:
			p.drop(s, ErrStopped)
		}
	}
	if db := math.Float64frombits(p.wanted.Load()); db != p.volume {
		p.volume, p.lower = db, true
		p.gain.SetOver(db, ramp, audio.SpeakRate)
	}
}

// Level is the level of what was sent last.
func (p *Player) Level() audio.Level { return p.meter.Level() }

// Underruns counts how often the server ran out of our sound, the silence that we send between speeches included.
func (p *Player) Underruns() int64 { return p.starve.Load() }

// Gaps counts how often it ran out while we spoke: only that is heard.
func (p *Player) Gaps() int64 { return p.gaps.Load() }

// Done is closed when the player is over: closed, or its server gone.
func (p *Player) Done() <-chan struct{} { return p.done }

// Close ends the player; what plays is cut.
func (p *Player) Close() error {
	p.server.hangUp(p.link)
	<-p.done
	p.fetchers.Wait()
	return nil
}

// loop owns the stream.
func (p *Player) loop() {
	defer close(p.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-p.link.done:
			p.over(p.link.err())
			return
		case <-p.wake:
		case <-timer.C:
		}
		events, level, next, err := p.turn()
		for _, e := range events {
			p.o.OnEvent(e)
		}
		if level != nil && p.o.OnLevel != nil {
			p.o.OnLevel(*level)
		}
		if err != nil {
			p.link.fail(err)
		}
		timer.Reset(next)
	}
}

// over ends everything that plays or waits.
func (p *Player) over(err error) {
	p.mu.Lock()
	p.err = err
	queue := p.queue
	p.queue = nil
	for _, s := range queue {
		if s.failed == nil {
			s.failed = err
		}
		s.ended = true
		p.settle(s)
	}
	p.mu.Unlock()
	for _, s := range queue {
		p.o.OnEvent(PlayerEvent{PlayerFinished, s})
	}
}

// settle closes a speech, with what the clock says of it.
func (p *Player) settle(s *Playing) {
	s.outcome.Played = s.heard(p.clock.at(time.Now()))
	s.outcome.Taken = s.taken
	s.outcome.Err = s.failed
	s.parts, s.waiting = nil, 0
	s.room.Broadcast()
	s.unhook()
	s.cancel()
	close(s.done)
}
