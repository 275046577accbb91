package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
)

// order is something for the guest to do: the flags make some, and with --orders every line that it reads is one.
type order struct {
	Say  string `json:"say"`  // write this into the chat
	On   bool   `json:"on"`   // switch the microphone on, for good
	Play string `json:"play"` // play this file, switching the microphone on first; told as "played" when it is over
}

// maxOrder bounds a line.
const maxOrder = 64 << 10

// read gives the lines of in as orders until it or the context ends.
func read(ctx context.Context, in io.Reader, orders chan<- order) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxOrder)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			fmt.Fprintln(os.Stderr, "parley-livekit: not an order:", err)
			continue
		}
		select {
		case orders <- o:
		case <-ctx.Done():
			return
		}
	}
}

// lead is the silence before the first sound: the others need a moment to subscribe.
const lead = time.Second

// silent is an Opus packet of 20 ms of silence.
var silent = packet{[]byte{0xf8, 0xff, 0xfe}, 127}

// obey does what it is told until the context ends. While the microphone is on a packet goes out every 20 ms by the
// clock, silence where there is nothing to play.
func obey(ctx context.Context, room *lksdk.Room, orders <-chan order, out *printer) error {
	type clip struct {
		file    string
		packets []packet
		length  float64
	}
	var track *lksdk.LocalTrack
	var queue []clip
	var begin time.Time
	sent := 0
	tick := time.NewTimer(time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case o := <-orders:
			if o.Say != "" {
				room.LocalParticipant.SendText(o.Say, lksdk.StreamTextOptions{Topic: chatTopic})
			}
			if o.Play != "" {
				packets, err := encode(ctx, o.Play)
				if err != nil {
					return err
				}
				queue = append(queue, clip{o.Play, packets, float64(len(packets)) / 50})
			}
			if (o.On || o.Play != "") && track == nil {
				var err error
				if track, err = publish(ctx, room); err != nil {
					return err
				}
				begin = time.Now()
				tick.Reset(0)
			}
			continue
		case <-tick.C:
		}
		p := silent
		if time.Since(begin) >= lead && len(queue) > 0 {
			p, queue[0].packets = queue[0].packets[0], queue[0].packets[1:]
		}
		if err := track.WriteSample(media.Sample{Data: p.payload, Duration: 20 * time.Millisecond}, &lksdk.SampleWriteOptions{AudioLevel: &p.level}); err != nil {
			return err
		}
		if len(queue) > 0 && len(queue[0].packets) == 0 {
			out.tell(event{Kind: "played", File: queue[0].file, Seconds: queue[0].length})
			queue = queue[1:]
		}
		sent++
		tick.Reset(time.Until(begin.Add(time.Duration(sent) * 20 * time.Millisecond)))
	}
}

// publish switches the microphone on and waits until the server takes it.
func publish(ctx context.Context, room *lksdk.Room) (*lksdk.LocalTrack, error) {
	track, err := lksdk.NewLocalTrack(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: rate, Channels: 2})
	if err != nil {
		return nil, err
	}
	bound := make(chan struct{}, 1)
	track.OnBind(func() {
		select {
		case bound <- struct{}{}:
		default:
		}
	})
	if _, err := room.LocalParticipant.PublishTrack(track, &lksdk.TrackPublicationOptions{Name: "microphone", Source: livekit.TrackSource_MICROPHONE}); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-bound:
		return track, nil
	}
}
