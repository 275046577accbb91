package ogg

import (
	"encoding/binary"
	"strconv"
	"strings"
	"time"
)

// The comments that a part carries, so that parts can be joined by whoever finds them.
const (
	firstTag = "PARLEY_FIRST_SAMPLE" // where it begins in its recording, in 16 kHz samples
	beganTag = "PARLEY_BEGAN"        // when the recording's first sample was
)

// maxFirst bounds where a part may begin: a week into a recording.
const maxFirst = 7 * 24 * 3600 * rate

// readTags finds our comments in a packet of tags; what is not there or makes no sense is zero.
func readTags(tags []byte) (first int64, began time.Time) {
	rest := tags[len("OpusTags"):]
	take := func() (string, bool) {
		if len(rest) < 4 {
			return "", false
		}
		n := binary.LittleEndian.Uint32(rest)
		rest = rest[4:]
		if uint64(n) > uint64(len(rest)) {
			return "", false
		}
		text := string(rest[:n])
		rest = rest[n:]
		return text, true
	}
	if _, ok := take(); !ok || len(rest) < 4 { // the vendor
		return 0, time.Time{}
	}
	count := binary.LittleEndian.Uint32(rest)
	rest = rest[4:]
	for range count {
		text, ok := take()
		if !ok {
			break
		}
		name, value, _ := strings.Cut(text, "=")
		switch strings.ToUpper(name) {
		case firstTag:
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 && n <= maxFirst {
				first = n
			}
		case beganTag:
			if t, err := time.Parse(time.RFC3339Nano, value); err == nil {
				began = t
			}
		}
	}
	return first, began
}

// packTags makes the packet.
func packTags(tags []string) []byte {
	b := []byte("OpusTags")
	put := func(s string) {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	put("parley")
	b = binary.LittleEndian.AppendUint32(b, uint32(len(tags)))
	for _, t := range tags {
		put(t)
	}
	return b
}
