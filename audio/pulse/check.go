package pulse

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jfreymuth/pulse/proto"
)

// Stream is a stream of the browser's.
type Stream struct {
	Index   uint32
	Device  string // the sink it plays into, or the source it records from
	App     string // what it calls itself
	PID     int    // whose it says it is; 0 when it does not say
	Corked  bool
	Muted   bool
	Percent int // volume
}

// Problem is something that is not as it must be.
type Problem struct {
	Kind ProblemKind
	// What is the stream or device.
	What string
	// Mended says that it is right again; the page may do it once more.
	Mended bool
	// Percent is the volume that was found.
	Percent int
}

// ProblemKind says what is wrong.
type ProblemKind string

// The kinds of problems.
const (
	WrongSink   ProblemKind = "plays-elsewhere"   // not into our speakers: we would not hear the meeting
	WrongSource ProblemKind = "records-elsewhere" // not from our microphone: the meeting would hear itself, or nothing
	WrongVolume ProblemKind = "volume"            // of a device or stream; a page's gain control writes it, and it stays
	Silenced    ProblemKind = "muted"
	Stranger    ProblemKind = "stranger" // a stream of a process that is not the browser's
)

// String is for logs and people.
func (p Problem) String() string {
	text := string(p.Kind) + ": " + p.What
	if p.Kind == WrongVolume {
		text += fmt.Sprintf(" at %d %%", p.Percent)
	}
	if p.Mended {
		text += " (mended)"
	}
	return text
}

// Streams is what the server's clients do, ourselves left out.
type Streams struct {
	Playing   []Stream
	Recording []Stream
	Problems  []Problem
}

// ownPrefix begins the name that our own links give themselves.
const ownPrefix = "parley "

// CheckStreams looks whether everything that the browser plays goes into our speakers, everything it records comes
// from our microphone, and all volumes are 100 %; it puts right what is not, and reports it. pids, if any, are the
// browser's processes: streams of others are reported.
func (s *Server) CheckStreams(ctx context.Context, pids ...int) (Streams, error) {
	l, err := s.dial(ctx, ownPrefix+"check", nil, nil)
	if err != nil {
		return Streams{}, err
	}
	defer s.hangUp(l)
	c := &check{link: l, pids: map[int]bool{}}
	for _, pid := range pids {
		c.pids[pid] = true
	}
	for _, step := range []func() error{c.devices, c.playing, c.recording} {
		if err := step(); err != nil {
			return c.found, fmt.Errorf("check the streams: %w", err)
		}
	}
	return c.found, nil
}

type check struct {
	link    *link
	pids    map[int]bool
	sinks   map[uint32]string
	sources map[uint32]string
	found   Streams
}

func (c *check) problem(kind ProblemKind, what string, percent int, mend proto.RequestArgs) {
	p := Problem{Kind: kind, What: what, Percent: percent}
	if mend != nil {
		p.Mended = c.link.request("mend "+what, mend, nil) == nil // if not, the report says so
	}
	c.found.Problems = append(c.found.Problems, p)
}

// devices checks the volumes of sinks and sources.
func (c *check) devices() error {
	c.sinks, c.sources = map[uint32]string{}, map[uint32]string{}
	var sinks proto.GetSinkInfoListReply
	if err := c.link.request("list the sinks", &proto.GetSinkInfoList{}, &sinks); err != nil {
		return err
	}
	for _, d := range sinks {
		c.sinks[d.SinkIndex] = d.SinkName
		if v := percent(d.ChannelVolumes); v != 100 {
			c.problem(WrongVolume, d.SinkName, v, &proto.SetSinkVolume{SinkIndex: d.SinkIndex, ChannelVolumes: full(d.ChannelVolumes)})
		}
		if d.Mute {
			c.problem(Silenced, d.SinkName, 0, &proto.SetSinkMute{SinkIndex: d.SinkIndex})
		}
	}
	var sources proto.GetSourceInfoListReply
	if err := c.link.request("list the sources", &proto.GetSourceInfoList{}, &sources); err != nil {
		return err
	}
	for _, d := range sources {
		c.sources[d.SourceIndex] = d.SourceName
		if v := percent(d.ChannelVolumes); v != 100 {
			c.problem(WrongVolume, d.SourceName, v, &proto.SetSourceVolume{SourceIndex: d.SourceIndex, ChannelVolumes: full(d.ChannelVolumes)})
		}
		if d.Mute {
			c.problem(Silenced, d.SourceName, 0, &proto.SetSourceMute{SourceIndex: d.SourceIndex})
		}
	}
	return nil
}

// playing checks what goes into the sinks.
func (c *check) playing() error {
	var list proto.GetSinkInputInfoListReply
	if err := c.link.request("list what plays", &proto.GetSinkInputInfoList{}, &list); err != nil {
		return err
	}
	for _, i := range list {
		st, ours := describe(i.Properties, i.ClientIndex)
		if ours {
			continue
		}
		st.Index, st.Device, st.Corked, st.Muted, st.Percent = i.SinkInputIndex, c.sinks[i.SinkIndex], i.Corked, i.Muted, percent(i.ChannelVolumes)
		c.found.Playing = append(c.found.Playing, st)
		c.stranger(st)
		if st.Device != OutSink {
			c.problem(WrongSink, st.App, 0, &proto.MoveSinkInput{SinkInputIndex: st.Index, DeviceIndex: proto.Undefined, DeviceName: OutSink})
		}
		if st.Percent != 100 {
			c.problem(WrongVolume, st.App, st.Percent, &proto.SetSinkInputVolume{SinkInputIndex: st.Index, ChannelVolumes: full(i.ChannelVolumes)})
		}
		if st.Muted {
			c.problem(Silenced, st.App, 0, &proto.SetSinkInputMute{SinkInputIndex: st.Index})
		}
	}
	return nil
}

// recording checks what is taken from the sources.
func (c *check) recording() error {
	var list proto.GetSourceOutputInfoListReply
	if err := c.link.request("list what records", &proto.GetSourceOutputInfoList{}, &list); err != nil {
		return err
	}
	for _, o := range list {
		st, ours := describe(o.Properties, o.ClientIndex)
		if ours {
			continue
		}
		st.Index, st.Device, st.Corked, st.Muted, st.Percent = o.SourceOutpuIndex, c.sources[o.SourceIndex], o.Corked, o.Muted, percent(o.ChannelVolumes)
		c.found.Recording = append(c.found.Recording, st)
		c.stranger(st)
		if st.Device != MicSource {
			c.problem(WrongSource, st.App, 0, &proto.MoveSourceOutput{SourceOutputIndex: st.Index, DeviceIndex: proto.Undefined, DeviceName: MicSource})
		}
		if st.Percent != 100 {
			c.problem(WrongVolume, st.App, st.Percent, &proto.SetSourceOutputVolume{SourceOutputIndex: st.Index, ChannelVolumes: full(o.ChannelVolumes)})
		}
		if st.Muted {
			c.problem(Silenced, st.App, 0, &proto.SetSourceOutputMute{SourceOutputIndex: st.Index})
		}
	}
	return nil
}

func (c *check) stranger(s Stream) {
	if len(c.pids) > 0 && s.PID > 0 && !c.pids[s.PID] {
		c.problem(Stranger, s.App+" (process "+strconv.Itoa(s.PID)+")", 0, nil)
	}
}

// describe reads what a stream says of itself. ours also covers the server's own remapping, which has no client.
func describe(props proto.PropList, client uint32) (Stream, bool) {
	app := props["application.name"].String()
	if client == proto.Undefined || strings.HasPrefix(app, ownPrefix) {
		return Stream{}, true
	}
	pid, err := strconv.Atoi(props["application.process.id"].String())
	if err != nil {
		pid = 0
	}
	return Stream{App: app, PID: pid}, false
}

// percent is the lowest of the channels' volumes.
func percent(v proto.ChannelVolumes) int {
	low := 100
	for i, c := range v {
		p := int((uint64(c)*100 + uint64(proto.VolumeNorm)/2) / uint64(proto.VolumeNorm))
		if i == 0 || p < low {
			low = p
		}
	}
	return low
}

func full(v proto.ChannelVolumes) proto.ChannelVolumes {
	out := make(proto.ChannelVolumes, len(v))
	for i := range out {
		out[i] = uint32(proto.VolumeNorm)
	}
	return out
}

// Guard runs CheckStreams whenever the server says that streams, volumes or devices have changed, and tells each problem.
type Guard struct {
	stop context.CancelFunc
	done chan struct{}
}

// Guard begins to watch. pids may be asked for at any time; nil means all processes are right. tell runs on the
// guard's goroutine.
func (s *Server) Guard(ctx context.Context, pids func() []int, tell func(Problem)) (*Guard, error) {
	changed := make(chan struct{}, 1)
	l, err := s.dial(ctx, ownPrefix+"guard", nil, func(m any) {
		if _, ok := m.(*proto.SubscribeEvent); ok {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	})
	if err != nil {
		return nil, err
	}
	const mask = proto.SubscriptionMaskSink | proto.SubscriptionMaskSource | proto.SubscriptionMaskSinkInput | proto.SubscriptionMaskSourceInput
	if err := l.request("watch the streams", &proto.Subscribe{Mask: mask}, nil); err != nil {
		s.hangUp(l)
		return nil, err
	}
	run, stop := context.WithCancel(context.Background())
	g := &Guard{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		defer s.hangUp(l)
		pause := guardPause
		for {
			// Changes come in swarms, our own mending and checking among them.
			select {
			case <-changed:
			case <-l.done:
				return
			case <-run.Done():
				return
			}
			select {
			case <-time.After(pause):
			case <-run.Done():
				return
			}
			select {
			case <-changed:
			default:
			}
			var who []int
			if pids != nil {
				who = pids()
			}
			found, err := s.CheckStreams(run, who...)
			if err != nil {
				s.log.Warn("the streams could not be checked", "err", err)
				continue
			}
			for _, p := range found.Problems {
				tell(p)
			}
			if pause = guardPause; len(found.Problems) > 0 {
				pause = guardCalm // a page that insists is put right once a second
			}
		}
	}()
	return g, nil
}

const (
	// guardPause lets a swarm of changes pass.
	guardPause = 50 * time.Millisecond
	guardCalm  = time.Second
)

// Close ends the watch.
func (g *Guard) Close() error {
	g.stop()
	<-g.done
	return nil
}
