package guest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"parley/room/rtc"
)

// mouth sends what the guest plays, one packet every 20 ms by the clock, silence where there is nothing to play: so
// its stream has no holes and those who hear it need not guess.
type mouth struct {
	track *webrtc.TrackLocalStaticRTP

	mu    sync.Mutex
	queue []*playing
	muted bool
	open  bool // the connection carries sound
	ext   uint8
}

// playing is a clip in the queue.
type playing struct {
	clip Clip
	next int
	done chan struct{} // closed when it was played or dropped
	full bool          // it was played to its end; read after done
}

// silence is what an encoder makes of 20 ms of nothing.
var silence = []byte{0xf8, 0xff, 0xfe}

func newMouth(muted bool) (*mouth, error) {
	t, err := webrtc.NewTrackLocalStaticRTP(rtc.Opus, "microphone", "guest")
	if err != nil {
		return nil, err
	}
	return &mouth{track: t, muted: muted}, nil
}

// play puts a clip in the queue.
func (m *mouth) play(c Clip) *playing {
	p := &playing{clip: c, done: make(chan struct{})}
	m.mu.Lock()
	m.queue = append(m.queue, p)
	m.mu.Unlock()
	return p
}

// drop takes a clip out of the queue, also in the middle of it.
func (m *mouth) drop(p *playing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, q := range m.queue {
		if q == p {
			m.queue = append(m.queue[:i:i], m.queue[i+1:]...)
			close(p.done)
			return
		}
	}
}

func (m *mouth) mute(on bool) {
	m.mu.Lock()
	m.muted = on
	m.mu.Unlock()
}

// connected says whether the connection carries sound: what is in the queue waits until it does.
func (m *mouth) connected(on bool) {
	m.mu.Lock()
	m.open = on
	m.mu.Unlock()
}

func (m *mouth) extension(id uint8) {
	m.mu.Lock()
	m.ext = id
	m.mu.Unlock()
}

// next gives the packet to send now, nil when the guest is muted or not connected: what is in the queue then waits.
func (m *mouth) next() (payload []byte, level uint8, ext uint8) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.muted || !m.open {
		return nil, 127, m.ext
	}
	for len(m.queue) > 0 {
		p := m.queue[0]
		if p.next == len(p.clip.packets) {
			p.full = true
			m.queue = m.queue[1:]
			close(p.done)
			continue
		}
		p.next++
		return p.clip.packets[p.next-1], p.clip.levels[p.next-1], m.ext
	}
	return silence, 127, m.ext
}

// run sends until the context ends.
func (m *mouth) run(ctx context.Context) {
	seq, ts := uint16(rand.Uint32()), rand.Uint32()
	speaking := false
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; ; n++ {
		due := start.Add(time.Duration(n) * frame)
		timer.Reset(time.Until(due))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if late := time.Since(due) / frame; late > 25 {
			// The machine stood still: what was not sent then is not sent in a burst now.
			n += int(late)
			ts += uint32(late) * frameSamples
		}
		payload, level, ext := m.next()
		ts += frameSamples
		if payload == nil {
			speaking = false
			continue
		}
		seq++
		p := &rtp.Packet{
			Header:  rtp.Header{Version: 2, Marker: !speaking, PayloadType: 111, SequenceNumber: seq, Timestamp: ts},
			Payload: payload,
		}
		speaking = true
		if ext != 0 {
			raw, err := rtp.AudioLevelExtension{Level: level, Voice: level < 50}.Marshal()
			if err == nil {
				err = p.SetExtension(ext, raw)
			}
			if err != nil {
				continue // cannot be: the level and the number are in range
			}
		}
		_ = m.track.WriteRTP(p) // a connection that is gone is made anew by the guest
	}
}
