package guest

import (
	"errors"
	"os"
	"time"

	"github.com/pion/opus"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"parley/audio"
)

// Sound is what the guest heard of one participant: a frame at Rate. Its Pos counts from the first sample of the
// track; At is when the packet arrived.
type Sound struct {
	audio.Frame
	Participant string
	Track       string
}

// ear decodes one track.
type ear struct {
	track *webrtc.TrackRemote
	heard func(Sound)
	// deaf leaves out the decoding, for a guest whose ears nobody uses: frames come without samples.
	deaf bool

	order   order
	decoder *opus.Decoder
	pcm     []int16
	first   uint32
	last    uint32
	pos     int64
	started bool
}

// listen decodes until the track ends.
func (e *ear) listen() {
	e.pcm = make([]int16, Rate*120/1000)
	for {
		var until time.Time
		if len(e.order.held) > 0 {
			until = time.Now().Add(holdFor)
		}
		if err := e.track.SetReadDeadline(until); err != nil {
			return
		}
		p, _, err := e.track.ReadRTP()
		now := time.Now()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			e.decode(now, e.order.take(now))
		case err != nil:
			return
		case len(p.Payload) > 0:
			e.decode(now, e.order.push(now, p))
		}
	}
}

func (e *ear) decode(now time.Time, packets []*rtp.Packet) {
	for _, p := range packets {
		if !e.started {
			e.started, e.first, e.last = true, p.Timestamp, p.Timestamp
		}
		step := int64(int32(p.Timestamp - e.last))
		e.last = p.Timestamp
		e.pos += step
		if n := e.samples(p.Payload); (n > 0 || e.deaf) && e.pos >= 0 {
			e.heard(Sound{
				Frame:       audio.Frame{Pos: e.pos, PCM: e.pcm[:n], At: now},
				Participant: e.track.StreamID(), Track: e.track.ID(),
			})
		}
	}
}

// samples decodes a payload into pcm. What cannot be decoded is silence.
func (e *ear) samples(payload []byte) (n int) {
	defer func() { // the payload is a stranger's, the decoder is young
		if recover() != nil {
			e.decoder, n = nil, 0
		}
	}()
	if e.deaf {
		return 0
	}
	if e.decoder == nil {
		d, err := opus.NewDecoderWithOutput(Rate, 1)
		if err != nil {
			return 0
		}
		e.decoder = &d
	}
	n, err := e.decoder.DecodeToInt16(payload, e.pcm)
	if err != nil {
		return 0
	}
	return n
}
