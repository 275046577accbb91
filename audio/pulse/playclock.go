package pulse

import (
	"time"

	"parley/audio"
)

// playclock tells which sample of a stream sounds at a time, from the server's latest answer about it.
type playclock struct {
	index int64 // that sounded at
	when  time.Time
	end   int64 // of what was sent: nothing behind it can sound
}

// at is the stream index that sounds at a time.
func (c playclock) at(t time.Time) int64 {
	if c.when.IsZero() {
		return 0
	}
	return min(c.end, c.index+int64(t.Sub(c.when)*audio.SpeakRate/time.Second))
}

// time is when an index will sound.
func (c playclock) time(index int64) time.Time {
	return c.when.Add(time.Duration(index-c.index)*time.Second/audio.SpeakRate + time.Millisecond/2)
}
