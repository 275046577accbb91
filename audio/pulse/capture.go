package pulse

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jfreymuth/pulse/proto"

	"parley/audio"
)

// ErrNoCapture means that a source has stopped giving sound. Silence is sound: a monitor always gives some.
var ErrNoCapture = errors.New("no sound arrives from the sound server")

// CaptureOptions say how to listen. Zero works.
type CaptureOptions struct {
	// Latency is how much the server gathers before it sends; zero is 20 ms.
	Latency time.Duration
	// Queue bounds what waits for the reader; zero is 10 s. The oldest sound makes room and is counted.
	Queue time.Duration
	// Quiet is after how long without any data OnEvent is told; zero is 1 s.
	Quiet time.Duration
	// Dead is after how long without any data Read fails with ErrNoCapture; zero is 5 s.
	Dead time.Duration
	// OnEvent is told what happens to the capture, on a goroutine of the capture's; it must not wait.
	OnEvent func(CaptureEvent)
}

// CaptureEvent is something that happened to a capture.
type CaptureEvent struct {
	Kind CaptureKind
	// Samples is the length of a gap.
	Samples int64
}

// CaptureKind says what happened.
type CaptureKind string

// The kinds of capture events.
const (
	CaptureQuiet   CaptureKind = "quiet"   // no data at all for a while: not silence, but nothing
	CaptureResumed CaptureKind = "resumed" // data again
	CaptureGap     CaptureKind = "gap"     // the server lost sound; the frames' positions jump by its length
)

// Capture is a stream from a source of the server: an audio.Source at 16 kHz.
type Capture struct {
	server *Server
	link   *link
	o      CaptureOptions
	stream uint32
	ring   *audio.Ring
	stop   context.CancelFunc
	done   chan struct{}

	// Owned by the link's reading goroutine.
	pos  int64
	odd  []byte
	pcm  []int16
	late lateness

	heard   atomic.Int64 // nanoseconds since began of the last data
	suspect atomic.Int64 // samples that seem to be missing
	gap     atomic.Int64 // samples to jump over at the next data
	began   time.Time
	base    int64 // the server's lead over the clock in samples at the first look; owned by watch
	based   bool
}

// Capture listens to what the meeting plays.
func (s *Server) Capture(ctx context.Context, o CaptureOptions) (*Capture, error) {
	return s.record(ctx, outMonitor, o)
}

// Monitor listens to what we say, where the browser takes it from: proof that we speak.
func (s *Server) Monitor(ctx context.Context, o CaptureOptions) (*Capture, error) {
	return s.record(ctx, micMonitor, o)
}

// record opens a stream. The context bounds the opening only.
func (s *Server) record(ctx context.Context, source string, o CaptureOptions) (*Capture, error) {
	for _, d := range []struct {
		field *time.Duration
		zero  time.Duration
	}{{&o.Latency, 20 * time.Millisecond}, {&o.Queue, 10 * time.Second}, {&o.Quiet, time.Second}, {&o.Dead, 5 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.zero
		}
	}
	if o.OnEvent == nil {
		o.OnEvent = func(CaptureEvent) {}
	}
	c := &Capture{
		server: s, o: o, began: time.Now(), done: make(chan struct{}),
		ring: audio.NewRing(int(o.Queue.Seconds() * audio.HearRate)),
	}
	c.late.rate = audio.HearRate
	l, err := s.dial(ctx, ownPrefix+source, c.take, c.message)
	if err != nil {
		return nil, err
	}
	c.link = l
	var reply proto.CreateRecordStreamReply
	err = l.request("listen to "+source, &proto.CreateRecordStream{
		SampleSpec:         proto.SampleSpec{Format: proto.FormatInt16LE, Channels: 1, Rate: audio.HearRate},
		ChannelMap:         proto.ChannelMap{proto.ChannelMono},
		SourceIndex:        proto.Undefined,
		SourceName:         source,
		BufferMaxLength:    4 * 2 * audio.HearRate, // what waits for us on the server when we are slow: 4 s
		BufferFragSize:     uint32(o.Latency.Seconds()*audio.HearRate) * 2,
		AdjustLatency:      true,
		NoMove:             true,
		DirectOnInputIndex: proto.Undefined,
		Properties:         proto.PropList{"media.name": proto.PropListString("hear")},
		ChannelVolumes:     proto.ChannelVolumes{uint32(proto.VolumeNorm)},
	}, &reply)
	if err != nil {
		s.hangUp(l)
		return nil, err
	}
	if reply.Rate != audio.HearRate || reply.Channels != 1 || reply.Format != proto.FormatInt16LE {
		s.hangUp(l)
		return nil, fmt.Errorf("listen to %s: the server gives %d Hz, %d channels", source, reply.Rate, reply.Channels)
	}
	c.stream = reply.StreamIndex
	watch, stop := context.WithCancel(context.Background())
	c.stop = stop
	go c.watch(watch)
	return c, nil
}

// take owns the samples on their way in.
func (c *Capture) take(b []byte) {
	now := time.Now()
	c.heard.Store(int64(now.Sub(c.began)) + 1)
	if len(c.odd) > 0 { // half a sample of the last packet
		b = append(c.odd, b...)
		c.odd = nil
	}
	if len(b)%2 == 1 {
		c.odd = []byte{b[len(b)-1]}
		b = b[:len(b)-1]
	}
	if len(b) == 0 {
		return
	}
	c.pcm = c.pcm[:0]
	for i := 0; i < len(b); i += 2 {
		c.pcm = append(c.pcm, int16(binary.LittleEndian.Uint16(b[i:])))
	}
	if gap := c.gap.Swap(0); gap > 0 {
		c.pos += gap
		c.late.skip(gap)
	}
	if missing := c.late.arrive(now, c.pos+int64(len(c.pcm))); missing > 0 {
		c.suspect.Store(missing)
	}
	// The ring copies; it fails only after it was closed.
	_ = c.ring.Write(audio.Frame{Pos: c.pos, PCM: c.pcm, At: now})
	c.pos += int64(len(c.pcm))
}

func (c *Capture) message(m any) {
	switch m.(type) {
	case *proto.RecordStreamKilled, *proto.RecordStreamSuspended, *proto.RecordStreamMoved:
		c.server.log.Warn("capture stream changed by the server", "kind", fmt.Sprintf("%T", m))
	}
	if _, ok := m.(*proto.RecordStreamKilled); ok {
		c.ring.Fail(fmt.Errorf("%w: the stream was killed", ErrNoCapture))
	}
}

// watch owns the events and the end of the capture.
func (c *Capture) watch(ctx context.Context) {
	defer close(c.done)
	tick := time.NewTicker(c.o.Quiet / 4)
	defer tick.Stop()
	c.missing(0)
	quiet := false
	for {
		select {
		case <-ctx.Done():
			c.ring.Close()
			return
		case <-c.link.done:
			c.ring.Fail(c.link.err())
			return
		case <-tick.C:
		}
		since := time.Since(c.began) - time.Duration(c.heard.Load())
		switch {
		case since >= c.o.Dead:
			c.ring.Fail(fmt.Errorf("%w for %v", ErrNoCapture, since.Round(time.Second)))
			return
		case since >= c.o.Quiet && !quiet:
			quiet = true
			c.o.OnEvent(CaptureEvent{Kind: CaptureQuiet})
		case since < c.o.Quiet && quiet:
			quiet = false
			c.o.OnEvent(CaptureEvent{Kind: CaptureResumed})
		}
		if seems := c.suspect.Swap(0); seems > 0 {
			if gap := c.missing(seems); gap > 0 {
				c.gap.Add(gap)
				c.o.OnEvent(CaptureEvent{Kind: CaptureGap, Samples: gap})
			}
		}
	}
}

// missing asks the server how much it has ever taken from the source, which tells sound that is late from sound
// that is lost. The first call only notes where server and clock stand.
func (c *Capture) missing(seems int64) int64 {
	before := time.Now()
	var r proto.GetRecordLatencyReply
	if err := c.link.request("ask for the timing", &proto.GetRecordLatency{StreamIndex: c.stream}, &r); err != nil {
		return 0 // the link's end is told elsewhere
	}
	after := time.Now()
	middle := before.Add(after.Sub(before) / 2)
	wall := int64(middle.Sub(c.began).Seconds() * audio.HearRate)
	ahead := r.WriteIndex/2 + int64(time.Duration(r.Latency)*time.Microsecond*audio.HearRate/time.Second) - wall
	if !c.based {
		c.base, c.based = ahead, true
		return 0
	}
	slack := int64(after.Sub(before).Seconds()*audio.HearRate) + minGap/2
	lost := c.base - ahead
	if lost < slack {
		return 0
	}
	c.base = ahead
	return min(lost, seems)
}

// Read gives the next sound. When it fails, the capture is over: ErrServerGone, ErrNoCapture, or io.EOF after Close.
func (c *Capture) Read(ctx context.Context) (audio.Frame, error) { return c.ring.Read(ctx) }

// Lost is how many samples the reader was too slow for.
func (c *Capture) Lost() int64 { return c.ring.Lost() }

// Close ends the capture.
func (c *Capture) Close() error {
	c.stop()
	c.server.hangUp(c.link)
	<-c.done
	return nil
}
