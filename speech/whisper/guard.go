package whisper

// twinFrames is how near two tokens must look to be the same speech heard twice: 0.3 s.
const twinFrames = 15

// reread tells whether the last three tokens are the same as three earlier ones that looked at the same places: then
// the model has come to the end of the sound and reads it again. With two, real repetitions ("no no") would be cut.
func reread(tokens, places []int) bool {
	n := len(tokens)
	for i := n - 4; i >= 2; i-- {
		twin := true
		for k := range 3 {
			d := places[n-1-k] - places[i-k]
			if tokens[n-1-k] != tokens[i-k] || d > twinFrames || d < -twinFrames {
				twin = false
				break
			}
		}
		if twin {
			return true
		}
	}
	return false
}

// looping gives the length of a pattern that the last tokens repeat over and over, at least three times and over at
// least twelve tokens; 0 when they do not.
func looping(tokens []int) int {
	const most, least = 10, 12
	for size := 1; size <= most; size++ {
		times := max(3, (least+size-1)/size)
		if len(tokens) < size*times {
			return 0
		}
		tail := tokens[len(tokens)-size*times:]
		same := true
		for i := size; i < len(tail) && same; i++ {
			same = tail[i] == tail[i-size]
		}
		if same {
			return size
		}
	}
	return 0
}

// budget is the number of tokens that a text of so many samples may have. A fast English speaker needs six a second;
// in scripts whose characters take several tokens it is more.
func budget(samples int, lang string, room int) int {
	rate := 10
	if lang != "en" {
		rate = 25
	}
	return min(room, rate*samples/SampleRate+10)
}

// surelyNoSpeech is the doubt from which on no text is even tried. Recorded speech stays below 0.75.
const surelyNoSpeech = 0.9

// unspoken tells whether a text was made up: the model doubts that this was speech and guesses at each token. Neither
// says enough alone. Of 241 recordings some reach a doubt of 0.73, but with a log probability above -0.6; of 122
// noises, hums, tones and clicks those that gave text at all had a doubt above 0.5 and a log probability below -0.9.
func unspoken(noSpeech, logProb float64) bool {
	return noSpeech >= surelyNoSpeech || noSpeech >= 0.6 && logProb < -0.75 || noSpeech >= 0.4 && logProb < -1.5
}

// leftOver is the least stretch of sound behind the last place looked at that a decode must have missed: 2 s. After
// decodes that heard everything it is at most 1 s.
const leftOver = 100

// rest gives the sample from which on the text lacks what was said, or 0: sometimes the model ends the text after the
// first sentence of several. Places are where the tokens were looked for, sound is the end of the speech, in frames.
func rest(pcm []int16, places []int, sound int) int {
	last := 0
	for _, p := range places {
		last = max(last, p)
	}
	if len(places) == 0 || sound-last < leftOver {
		return 0
	}
	// The last word goes on a little behind that place: cut where it is quietest within a second.
	const frames, wide = 60, 5
	best, at := -1.0, 0
	for f := last; f < last+frames; f++ {
		var energy float64
		for _, v := range pcm[f*FrameSamples : min((f+wide)*FrameSamples, len(pcm))] {
			energy += float64(v) * float64(v)
		}
		if best < 0 || energy < best {
			best, at = energy, f+wide/2
		}
	}
	return at * FrameSamples
}
