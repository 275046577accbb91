package transcript

import "time"

// EchoWindow is how long after we said something it may still come back through somebody's loudspeaker.
const EchoWindow = 8 * time.Second

// The bounds of what OwnVoice remembers. Over them the oldest is forgotten.
const (
	ownUtterances = 256
	ownWords      = 2048
)

// mostly is the share of heard words that have to be ours for the whole to be our echo.
const mostly = 0.6

// OwnVoice remembers what we said lately, so that our own voice coming back through somebody's loudspeaker
// is recognised by its words. Times are on the meeting's clock. It is not safe for concurrent use.
type OwnVoice struct {
	said []utterance
	n    int // words in said
}

type utterance struct {
	words    []string
	from, to time.Duration
}

// Said notes that text sounds (or sounded) from one moment to another. A text that is still playing is given
// with the end that it will have.
func (o *OwnVoice) Said(from, to time.Duration, text string) {
	words := Words(text)
	if len(words) == 0 {
		return
	}
	o.said = append(o.said, utterance{words: words, from: from, to: to})
	o.n += len(words)
	for len(o.said) > 1 && (len(o.said) > ownUtterances || o.n > ownWords) {
		o.n -= len(o.said[0].words)
		o.said = o.said[1:]
	}
}

// Stopped notes that we fell silent at a moment: what was still to come was never heard by anybody.
func (o *OwnVoice) Stopped(at time.Duration) { o.StoppedAfter(at, "") }

// StoppedAfter is Stopped where it is known what of the text that was sounding had been heard ("" when not).
func (o *OwnVoice) StoppedAfter(at time.Duration, heard string) {
	kept := o.said[:0]
	o.n = 0
	for _, u := range o.said {
		if u.from >= at {
			continue
		}
		if n := len(Words(heard)); u.to > at && n > 0 {
			u.words = u.words[:min(len(u.words), n+1)] // and perhaps the word in the middle of which it stopped
		}
		u.to = min(u.to, at)
		kept = append(kept, u)
		o.n += len(u.words)
	}
	o.said = kept
}

// Forget forgets everything.
func (o *OwnVoice) Forget() { *o = OwnVoice{} }

// Heard compares what was heard between two moments with what we said in the EchoWindow before or during it.
func (o *OwnVoice) Heard(from, to time.Duration, text string) Echo {
	heard := Words(text)
	if len(heard) == 0 {
		return Echo{}
	}
	return EchoOf(heard, align(heard, o.recent(from, to)))
}

// EchoOf counts the words of which mine says that they are ours.
func EchoOf(heard []string, mine []bool) Echo {
	e := Echo{Words: len(heard), New: make([]string, 0, len(heard)), Mine: mine}
	for i, w := range heard {
		if i < len(mine) && mine[i] {
			e.Ours++
		} else {
			e.New = append(e.New, w)
		}
	}
	e.Suspected = e.Words > 0 && float64(e.Ours) >= mostly*float64(e.Words)
	return e
}

// recent is what we said and may still be heard between two moments.
func (o *OwnVoice) recent(from, to time.Duration) []string {
	var words []string
	for _, u := range o.said {
		if u.from <= to && u.to+EchoWindow >= from {
			words = append(words, u.words...)
		}
	}
	return words
}

// Echo is the answer of OwnVoice.
type Echo struct {
	// Suspected is true when most of the words are ours.
	Suspected bool
	// Words counts what was heard, Ours those that we said.
	Words, Ours int
	// New are the folded words that were not ours, in the order heard.
	New []string
	// Mine says it for each word.
	Mine []bool
}

// align marks the heard words that stand in the said ones in the same order, close together: a window of the
// said text twice as long as the heard one (recognisers drop and split words) is slid over it and the best
// common subsequence counts. Equal words scattered over a long speech are therefore not an echo.
func align(heard, said []string) []bool {
	best := make([]bool, len(heard))
	const longest = 200 // words of one segment; more than half a minute of speech never comes in one
	if len(heard) > longest {
		heard = heard[:longest]
	}
	if len(said) == 0 || len(heard) == 0 {
		return best
	}
	a := aligner{alike: alikes(heard, said), heard: len(heard), said: len(said)}
	bestN := 0
	window := 2*len(heard) + 4
	step := max(1, len(heard)/2)
	for at := 0; ; at += step {
		end := min(at+window, len(said))
		if marks, n := a.common(at, end); n > bestN {
			bestN = n
			copy(best, marks)
		}
		if end == len(said) || bestN == len(heard) {
			return best
		}
	}
}

// alikes says which heard word is like which said one; words that come again are compared once.
func alikes(heard, said []string) []bool {
	column := map[string]int{}
	var tokens []token
	columns := make([]int, len(said))
	for j, w := range said {
		c, ok := column[w]
		if !ok {
			c = len(tokens)
			column[w] = c
			tokens = append(tokens, tokenOf(w))
		}
		columns[j] = c
	}
	out := make([]bool, len(heard)*len(said))
	row := make([]bool, len(tokens))
	for i, w := range heard {
		t := tokenOf(w)
		for c := range tokens {
			row[c] = t.word == tokens[c].word || t.near(tokens[c])
		}
		for j, c := range columns {
			out[i*len(said)+j] = row[c]
		}
	}
	return out
}

type aligner struct {
	alike       []bool // heard × said
	heard, said int
	table       []int16
}

// common marks a longest common subsequence of the heard words and a stretch of the said ones.
func (a *aligner) common(from, to int) ([]bool, int) {
	n := to - from
	w := n + 1
	if size := (a.heard + 1) * w; cap(a.table) < size {
		a.table = make([]int16, size)
	}
	table := a.table[:(a.heard+1)*w]
	clear(table)
	alike := func(i, j int) bool { return a.alike[i*a.said+from+j] }
	for i := a.heard - 1; i >= 0; i-- {
		for j := n - 1; j >= 0; j-- {
			if alike(i, j) {
				table[i*w+j] = table[(i+1)*w+j+1] + 1
			} else {
				table[i*w+j] = max(table[(i+1)*w+j], table[i*w+j+1])
			}
		}
	}
	marks := make([]bool, a.heard)
	for i, j := 0, 0; i < a.heard && j < n; {
		switch {
		case alike(i, j):
			marks[i] = true
			i, j = i+1, j+1
		case table[(i+1)*w+j] >= table[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return marks, int(table[0])
}
