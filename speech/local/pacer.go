package local

// pacer decides when audio is worth sending. Each message wakes the speech process, and waking costs it more than
// listening does: so silence goes in long pieces, steady speech in middling ones, and whatever may be the beginning or
// the end of speech at once.
type pacer struct {
	floor float64 // the power of the background: falls at once, rises slowly
	level float64 // the power of speech, slowly following
	still int     // samples since it was last loud
	loud  bool
	news  bool // that changed, and was not sent yet
}

// The pieces, in samples at 16 kHz.
const (
	pieceSilence = 3200 // 200 ms
	pieceSpeech  = 1536 // 96 ms
	pieceChange  = 512  // 32 ms: a frame of the activity model
	tail         = 24000
)

const (
	floorLeast = 64    // power: below it is silence, whatever the background
	floorRise  = 1.005 // for each 20 ms: doubles in three seconds
	aboveFloor = 4     // 6 dB: may be speech
	dip        = 30    // 15 dB below the speech so far: may be its end
)

// due takes a chunk that was written and says whether so many pending samples should go out now.
func (p *pacer) due(pcm []int16, pending int) bool {
	if len(pcm) == 0 {
		return false
	}
	sum := 0.0
	for _, v := range pcm {
		sum += float64(v) * float64(v)
	}
	power := sum / float64(len(pcm))
	if p.floor == 0 || power < p.floor {
		p.floor = max(power, floorLeast)
	} else {
		p.floor *= 1 + (floorRise-1)*float64(len(pcm))/320
	}
	was := p.loud
	p.loud = power > aboveFloor*p.floor && power > p.level/dip
	if p.loud {
		p.still = 0
		p.level += 0.1 * (power - p.level)
	} else {
		p.still += len(pcm)
		if p.still > tail {
			p.level = 0
		}
	}
	p.news = p.news || p.loud != was
	enough := pieceSilence
	switch {
	case p.news, !p.loud && p.still < tail:
		enough = pieceChange
	case p.loud:
		enough = pieceSpeech
	}
	if pending < enough {
		return false
	}
	p.news = false
	return true
}
