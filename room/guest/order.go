package guest

import (
	"time"

	"github.com/pion/rtp"
)

// order puts packets into the order in which they were sent. A packet that follows the last one is given out at once;
// one that does not waits for those in between, but not for long.
type order struct {
	started bool
	next    uint16
	held    map[uint16]*rtp.Packet
	since   time.Time // when the oldest hole was seen
	lost    int
}

const (
	// holdFor is how long a hole may delay what follows: the room asks for a lost packet after 40 ms and again.
	holdFor = 120 * time.Millisecond
	// holdMax is how many packets may wait.
	holdMax = 16
)

// push takes a packet and gives those that are due, in order.
func (o *order) push(now time.Time, p *rtp.Packet) []*rtp.Packet {
	if !o.started {
		o.started, o.next, o.held = true, p.SequenceNumber, map[uint16]*rtp.Packet{}
	}
	ahead := int16(p.SequenceNumber - o.next)
	switch {
	case ahead < -1000 || ahead > 1000:
		// Another stream in the same place.
		*o = order{lost: o.lost}
		return o.push(now, p)
	case ahead < 0:
		return nil // came twice, or too late
	case ahead > 0 && len(o.held) == 0:
		o.since = now
	}
	o.held[p.SequenceNumber] = p
	return o.take(now)
}

// take gives the packets that are due at this moment.
func (o *order) take(now time.Time) []*rtp.Packet {
	var out []*rtp.Packet
	for len(o.held) > 0 {
		if p := o.held[o.next]; p != nil {
			out = append(out, p)
			delete(o.held, o.next)
			o.next++
			o.since = now
			continue
		}
		if now.Sub(o.since) < holdFor && len(o.held) < holdMax {
			break
		}
		o.next++
		o.lost++
	}
	return out
}
