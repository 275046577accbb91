package room

import (
	"sync"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"parley/room/rtc"
)

// source is the sound of one seat as the others hear it. It outlives the seat's media connections.
type source struct {
	track *webrtc.TrackLocalStaticRTP

	mu    sync.Mutex
	muted bool
	join  splice
}

func newSource(seat string) (*source, error) {
	t, err := webrtc.NewTrackLocalStaticRTP(rtc.Opus, "audio-"+seat, seat)
	if err != nil {
		return nil, err
	}
	return &source{track: t}, nil
}

func (s *source) hush(muted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.muted = muted
	if muted {
		s.join.hold()
	}
}

// forward sends a packet on to everybody who hears the seat, unless the seat is muted. It changes the packet.
func (s *source) forward(now time.Time, p *rtp.Packet) (sent bool) {
	s.mu.Lock()
	if s.muted {
		s.mu.Unlock()
		return false
	}
	seq, ts, start, ok := s.join.next(now, p.SSRC, p.SequenceNumber, p.Timestamp)
	s.mu.Unlock()
	if !ok {
		return false
	}
	p.SequenceNumber, p.Timestamp = seq, ts
	p.Marker = p.Marker || start
	// An error is about one listener whose connection is going; that connection's own end reports it.
	_ = s.track.WriteRTP(p)
	return true
}
