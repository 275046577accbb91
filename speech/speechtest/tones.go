package speechtest

import (
	"math"
	"strings"
)

// Words is the vocabulary of the tone language: a word is a tone of its own pitch, a sentence ends with a full stop
// that nobody hears. It stands for speech where only what is done with speech is tested.
var Words = strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa")

const (
	rate      = 16000
	wordTime  = rate * 24 / 100 // a word sounds this long
	wordGap   = rate * 4 / 100  // and this little lies between two
	lowest    = 400.0           // Hz, the first word
	interval  = 120.0           // Hz, from one word to the next
	amplitude = 8000
)

// Tone gives the sound of a sentence of Words, at 16 kHz.
func Tone(sentence string) []int16 {
	var pcm []int16
	for i, w := range strings.Fields(strings.Trim(sentence, ".")) {
		if i > 0 {
			pcm = append(pcm, make([]int16, wordGap)...)
		}
		hz := lowest + interval*float64(indexOf(w))
		for n := range wordTime {
			pcm = append(pcm, int16(amplitude*math.Sin(2*math.Pi*hz*float64(n)/rate)))
		}
	}
	return pcm
}

func indexOf(word string) int {
	for i, w := range Words {
		if w == word {
			return i
		}
	}
	panic("speechtest: not a word of the tone language: " + word)
}

// ToneWord is a word that was heard, in samples.
type ToneWord struct {
	Text       string
	Start, End int
}

// HearTones gives the words in a sound. A word of which less than half is there is not heard.
func HearTones(pcm []int16) []ToneWord {
	var words []ToneWord
	const step = 80 // 5 ms
	start := -1
	for at := 0; at < len(pcm)+step; at += step {
		loud := false
		for _, v := range pcm[min(at, len(pcm)):min(at+step, len(pcm))] {
			loud = loud || v > amplitude/2 || v < -amplitude/2
		}
		switch {
		case loud && start < 0:
			start = at
		case !loud && start >= 0:
			if w, ok := hearTone(pcm[start:min(at, len(pcm))]); ok {
				words = append(words, ToneWord{Text: w, Start: start, End: min(at, len(pcm))})
			}
			start = -1
		}
	}
	return words
}

// hearTone finds the pitch by counting how often the sign changes.
func hearTone(pcm []int16) (string, bool) {
	if len(pcm) < wordTime/2 {
		return "", false
	}
	changes, first, last := 0, -1, 0
	for i := 1; i < len(pcm); i++ {
		if (pcm[i-1] < 0) != (pcm[i] < 0) {
			if first < 0 {
				first = i
			}
			changes++
			last = i
		}
	}
	if changes < 2 {
		return "", false
	}
	hz := float64(changes-1) / 2 * rate / float64(last-first)
	n := int(math.Round((hz - lowest) / interval))
	if n < 0 || n >= len(Words) {
		return "", false
	}
	return Words[n], true
}

// Loud tells whether a frame has sound: what a fake takes for speech.
func Loud(pcm []int16) bool {
	for _, v := range pcm {
		if v > 500 || v < -500 {
			return true
		}
	}
	return false
}
