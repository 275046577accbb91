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
