package server

// ring holds the latest audio of a stream: enough for the longest segment and for what the end of turn looks at.
type ring struct {
	buf []int16
	end int64 // the position after the last sample
}

// ringSize is 32 s.
const ringSize = 32 * 16000

// write adds samples at the end.
func (r *ring) write(pcm []int16) {
	if r.buf == nil {
		r.buf = make([]int16, ringSize)
	}
	for len(pcm) > 0 {
		n := copy(r.buf[r.end%ringSize:], pcm)
		pcm = pcm[n:]
		r.end += int64(n)
	}
}

// skip adds silence up to a position.
func (r *ring) skip(to int64) {
	var zeros [4096]int16
	if to-r.end > ringSize { // all that is held is silence
		clear(r.buf)
		r.end = to
		return
	}
	for r.end < to {
		r.write(zeros[:min(int64(len(zeros)), to-r.end)])
	}
}

// read copies the samples from start to end; what is not held any more, or not yet, is left out.
func (r *ring) read(start, end int64) []int16 {
	start, end = max(start, r.end-ringSize, 0), min(end, r.end)
	if start >= end {
		return nil
	}
	out := make([]int16, end-start)
	for n := 0; n < len(out); {
		n += copy(out[n:], r.buf[(start+int64(n))%ringSize:])
	}
	return out
}
