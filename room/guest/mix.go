package guest

import "time"

// mix lays the sound of several tracks on one timeline. It is pure; the recorder takes from it by the clock.
type mix struct {
	// done is how many samples were taken.
	done int64
	// ahead holds the sums from done on.
	ahead []int32
	// late counts samples that came after their place was taken.
	late int64
}

// maxAhead bounds how far beyond what was taken sound may be laid: a stranger's timestamps decide where.
const maxAhead = 10 * Rate

// add lays samples at a position of the timeline.
func (m *mix) add(pos int64, pcm []int16) {
	if pos < m.done {
		cut := min(m.done-pos, int64(len(pcm)))
		m.late += cut
		pcm, pos = pcm[cut:], pos+cut
	}
	from := pos - m.done
	if len(pcm) == 0 || from+int64(len(pcm)) > maxAhead {
		m.late += int64(len(pcm))
		return
	}
	if need := int(from) + len(pcm); need > len(m.ahead) {
		m.ahead = append(m.ahead, make([]int32, need-len(m.ahead))...)
	}
	for i, s := range pcm {
		m.ahead[int(from)+i] += int32(s)
	}
}

// take gives what lies before a position and was not taken yet, with silence where there is nothing.
func (m *mix) take(until int64) []int16 {
	if until <= m.done {
		return nil
	}
	out := make([]int16, until-m.done)
	n := min(len(out), len(m.ahead))
	for i, s := range m.ahead[:n] {
		out[i] = int16(max(-32768, min(32767, s)))
	}
	m.ahead = append(m.ahead[:0:0], m.ahead[n:]...)
	m.done = until
	return out
}

// place finds where on a timeline the samples of one track lie. The first packet that arrives fixes it; from then on
// the track's own clock counts, so that the network's haste and delay do not move anything, until it is off by more
// than they can explain.
type place struct {
	fixed  bool
	offset int64 // of the track's sample 0 on the timeline
	moved  int   // how often it was fixed anew
}

// maxDrift is how far a track may be off before it is placed anew.
const maxDrift = 300 * time.Millisecond

// at gives the position on the timeline of a frame that begins at the track's sample pos, has n samples, and arrived
// when the timeline was at now.
func (p *place) at(now int64, pos int64, n int) int64 {
	offset := now - int64(n) - pos
	if drift := offset - p.offset; !p.fixed || drift > int64(maxDrift.Seconds()*Rate) || drift < -int64(maxDrift.Seconds()*Rate) {
		if p.fixed {
			p.moved++
		}
		p.fixed, p.offset = true, offset
	}
	return max(0, p.offset+pos)
}
