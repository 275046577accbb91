package room

import (
	"time"

	"parley/room/rtc"
)

// splice joins the RTP streams that one participant sends over time into one stream that never looks broken to
// those who hear it: a new connection, or the packets that were held back while the participant was muted, leave no
// hole in the sequence numbers, and the timestamps go on with the time that passed.
type splice struct {
	started bool
	// seq and ts are what is added to the numbers of the incoming stream now.
	seq uint16
	ts  uint32
	// first is the incoming number before which a packet belongs to what was cut away.
	first uint16
	// last are the highest outgoing number, its timestamp, and when it went out.
	lastSeq uint16
	lastTS  uint32
	lastAt  time.Time
	// cut is set when the next packet does not follow the last one.
	cut  bool
	ssrc uint32
}

// next gives the outgoing numbers of an incoming packet, whether it starts a stretch of sound after a cut, and
// whether it goes out at all.
func (s *splice) next(now time.Time, ssrc uint32, seq uint16, ts uint32) (outSeq uint16, outTS uint32, start, ok bool) {
	if !s.started {
		s.started, s.ssrc, s.first = true, ssrc, seq
		s.lastSeq, s.lastTS, s.lastAt = seq, ts, now
		return seq, ts, true, true
	}
	if s.ssrc != ssrc || s.cut {
		if s.ssrc == ssrc && int16(seq+s.seq-s.lastSeq) <= 0 {
			return 0, 0, false, false // an old packet, late, while the stretch after the cut has not begun
		}
		s.ssrc, s.cut, s.first = ssrc, false, seq
		passed := uint32(max(now.Sub(s.lastAt).Microseconds(), 0) * (rtc.ClockRate / 1000) / 1000)
		s.seq = s.lastSeq + 1 - seq
		s.ts = s.lastTS + passed - ts
		s.lastSeq, s.lastTS, s.lastAt = seq+s.seq, ts+s.ts, now
		return s.lastSeq, s.lastTS, true, true
	}
	if int16(seq-s.first) < 0 {
		return 0, 0, false, false // from before the cut
	}
	outSeq, outTS = seq+s.seq, ts+s.ts
	if int16(outSeq-s.lastSeq) > 0 {
		s.lastSeq, s.lastTS, s.lastAt = outSeq, outTS, now
	}
	return outSeq, outTS, false, true
}

// hold says that the packets from here on are not sent.
func (s *splice) hold() { s.cut = s.started }
