package room

// loudness finds out from the levels of packets whether somebody speaks. It is quick to say yes, and says so again
// and again while it stays so; the meeting decides when it is over.
type loudness struct {
	// heard has a bit for each of the last packets, the newest lowest: was it loud?
	heard uint8
}

// loudLevel is the level, in dB below full scale, from which on a packet is loud. Quiet speech close to a
// microphone is at 45, room noise after a browser's noise suppression beyond 60.
const loudLevel = 50

// step takes the level of a packet in dB below full scale, 127 being silence. It is true when two of the last
// three packets were loud: a single click is not speech.
func (l *loudness) step(level uint8) bool {
	l.heard = l.heard << 1 & 0b111
	if level < loudLevel {
		l.heard |= 1
	}
	return l.heard&1 == 1 && l.heard&0b110 != 0
}
