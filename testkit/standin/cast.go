package standin

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"

	"parley/room/guest"
)

// roomID is the one room that a stand-in's people meet in. Its link is nobody's to know but the page's.
const roomID = "standin"

// silence is the level of nothing, in dB of full scale.
const silence = -120

// cast is the simulated people's presence in the room, and an observer who sees who speaks and hears the visitors.
//
// The server's loop calls enter, exit, hush and speak, which wait for nobody; what comes of them is reported.
type cast struct {
	link   string
	report func(event)
	log    *slog.Logger

	ctx  context.Context
	work sync.WaitGroup

	mu    sync.Mutex
	parts map[string]*part
	heard map[string]*voiceHeard // by the name of the seat
	names map[string]string      // seat's id in the room → its name
}

// part is one person in the room.
type part struct {
	cancel context.CancelFunc
	// orders are carried out one after another: 64 may wait, further ones are refused.
	orders chan func(context.Context, *guest.Guest)
}

// voiceHeard is what the observer heard of a seat.
type voiceHeard struct {
	samples int64
	peak    float64
	pcm     []int16 // the last keptSound of it, at guest.Rate
}

// keptSound bounds the sound that is kept of a visitor's voice.
const keptSound = 120 * guest.Rate

// loud is the level above which a frame counts as heard, in dB of full scale.
const loud = -50

func newCast(ctx context.Context, link string, report func(event), log *slog.Logger) (*cast, error) {
	c := &cast{link: link, report: report, log: log, ctx: ctx, parts: map[string]*part{}, heard: map[string]*voiceHeard{}, names: map[string]string{}}
	g, err := guest.Join(ctx, guest.Options{URL: link, Name: "observer", Muted: true, OnAudio: c.hear, Log: log}, c.see)
	if err != nil {
		return nil, fmt.Errorf("stand-in: the observer: %w", err)
	}
	c.work.Go(func() {
		if err := g.Wait(); err != nil && ctx.Err() == nil {
			log.Error("the stand-in's observer is out of the room", "err", err)
		}
	})
	return c, nil
}

// close waits until everybody has left.
func (c *cast) close() { c.work.Wait() }

// see takes what the observer sees.
func (c *cast) see(e guest.Event) {
	switch e.Kind {
	case guest.People:
		now := map[string]string{}
		for _, p := range e.People {
			now[p.ID] = p.Name
		}
		c.mu.Lock()
		before := c.names
		c.names = now
		c.mu.Unlock()
		for id, name := range now {
			if _, was := before[id]; !was {
				c.report(seatedAt{name, true})
			}
		}
		for id, name := range before {
			if _, is := now[id]; !is {
				c.report(seatedAt{name, false})
				c.report(voiced{name, false})
			}
		}
	case guest.Speaking:
		if e.On != nil {
			c.report(voiced{e.Name, *e.On})
		}
	}
}

// hear measures what a visitor says.
func (c *cast) hear(s guest.Sound) {
	var sum float64
	for _, x := range s.PCM {
		sum += float64(x) * float64(x)
	}
	level := float64(silence)
	if len(s.PCM) > 0 && sum > 0 {
		level = max(silence, 10*math.Log10(sum/float64(len(s.PCM))/(32768*32768)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	name := c.names[s.Participant]
	if len(name) == 0 || name[0] != 'v' {
		return
	}
	h := c.heard[name]
	if h == nil {
		h = &voiceHeard{peak: silence}
		c.heard[name] = h
	}
	h.peak = max(h.peak, level)
	if level > loud {
		h.samples += int64(len(s.PCM))
	}
	h.pcm = append(h.pcm, s.PCM...)
	if over := len(h.pcm) - keptSound; over > 0 {
		h.pcm = append(h.pcm[:0], h.pcm[over:]...)
	}
}

// of gives what was heard of a seat: seconds and the loudest level.
func (c *cast) of(voice string) (seconds, peak float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.heard[voice]
	if h == nil {
		return 0, silence
	}
	return float64(h.samples) / guest.Rate, h.peak
}

// sound gives the last of what was heard of a seat, at guest.Rate.
func (c *cast) sound(voice string) []int16 {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.heard[voice]
	if h == nil {
		return nil
	}
	return append([]int16(nil), h.pcm...)
}

func (c *cast) enter(e enter) {
	ctx, cancel := context.WithCancel(c.ctx)
	p := &part{cancel: cancel, orders: make(chan func(context.Context, *guest.Guest), 64)}
	c.mu.Lock()
	c.parts[e.voice] = p
	c.mu.Unlock()
	c.work.Go(func() {
		defer cancel()
		g, err := guest.Join(ctx, guest.Options{URL: c.link, Name: e.voice, Muted: e.muted, Record: e.record, Log: c.log}, nil)
		if err != nil {
			c.log.Error("a person of the stand-in cannot enter the room", "err", err)
			return
		}
		if g.Connected(ctx) == nil {
			p.live(ctx, g)
		}
		if err := g.Leave(); err != nil && c.ctx.Err() == nil {
			c.log.Error("a person of the stand-in is out of the room", "err", err)
		}
	})
}

// live carries out a person's orders until they are told to leave, or are out of the room.
func (p *part) live(ctx context.Context, g *guest.Guest) {
	for {
		select {
		case order := <-p.orders:
			order(ctx, g)
		case <-g.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

func (c *cast) part(voice string) *part {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parts[voice]
}

func (c *cast) order(voice string, what func(context.Context, *guest.Guest)) {
	p := c.part(voice)
	if p == nil {
		return
	}
	select {
	case p.orders <- what:
	default:
		c.log.Warn("a person of the stand-in has too much to do", "voice", voice)
	}
}

func (c *cast) exit(e exit) {
	if p := c.part(e.voice); p != nil {
		p.cancel()
	}
}

func (c *cast) hush(e hush) {
	c.order(e.voice, func(_ context.Context, g *guest.Guest) {
		if err := g.Mute(e.muted); err != nil {
			c.log.Warn("a person of the stand-in cannot be muted", "err", err)
		}
	})
}

func (c *cast) speak(e speak) {
	c.order(e.voice, func(ctx context.Context, g *guest.Guest) {
		clip, err := clipOf(ctx, e)
		if err == nil {
			c.work.Go(func() { // what comes after need not wait for the end
				if err := g.Play(ctx, clip); err != nil && ctx.Err() == nil {
					c.log.Warn("a person of the stand-in was broken off", "err", err)
				}
			})
			return
		}
		if ctx.Err() == nil {
			c.log.Error("a person of the stand-in cannot speak", "err", err)
		}
	})
}

func clipOf(ctx context.Context, e speak) (guest.Clip, error) {
	if e.file != "" {
		return guest.Load(ctx, e.file)
	}
	pcm := make([]int16, int(e.seconds*guest.Rate))
	for i := range pcm {
		pcm[i] = int16(8000 * math.Sin(2*math.Pi*e.hz*float64(i)/guest.Rate))
	}
	return guest.Encode(ctx, fmt.Sprint(e.hz), pcm)
}
