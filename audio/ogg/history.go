package ogg

// history keeps the latest samples of a recording until they are certain to be on disk.
type history struct {
	buf  []int16
	base int64 // the oldest sample kept
	end  int64
}

func newHistory(samples int, at int64) *history {
	return &history{buf: make([]int16, samples), base: at, end: at}
}

// add appends samples; the oldest make room. It returns how many were dropped from the front.
func (h *history) add(pcm []int16) (dropped int64) {
	size := int64(len(h.buf))
	for _, s := range pcm {
		h.buf[h.end%size] = s
		h.end++
	}
	if over := h.end - h.base - size; over > 0 {
		h.base += over
		return over
	}
	return 0
}

// appendBytes appends the samples from an index on, as little-endian bytes, at most n of them.
func (h *history) appendBytes(dst []byte, from int64, n int) []byte {
	size := int64(len(h.buf))
	for i := from; i < min(h.end, from+int64(n)); i++ {
		s := uint16(h.buf[i%size])
		dst = append(dst, byte(s), byte(s>>8))
	}
	return dst
}
