package turn

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/transcript"
)

// The bounds of what hosts stream before they publish.
const (
	streamsMax   = 8
	streamChars  = 6000
	streamLife   = 60 * time.Second // without a word or a publish, a stream is forgotten
	streamQuiet  = 5 * time.Second  // without a word, our voice no longer waits for the rest of one
	preparedMax  = 20               // sentences of a stream that are synthesized beforehand
	rememberedPb = 8
)

// streams is what agents are writing.
type streams struct {
	list      []*stream
	recent    []string // what was published lately
	published int
	n         int // streams so far
}

// stream is one text while it is written.
type stream struct {
	name        string
	id          int // of our own: hosts use names again
	turn        transcript.Seq
	index       int
	chars       int
	rest        string   // after the last whole sentence
	sentences   []string // whole ones
	said        []string // pieces that were put in line to be said
	begun       int      // how many of them became audible
	gap         bool     // a sentence was left out: nothing after it makes sense
	speculative bool
	done        bool
	cut         bool   // somebody interrupted it
	heard       string // until then
	cancelled   bool
	at          time.Duration
}

// heardText is what of a stream was heard, or is being said to the end of its sentence: the rest is taken back.
func (s *stream) heardText() string {
	if s.cut {
		return s.heard
	}
	return strings.Join(s.said[:min(s.begun, len(s.said))], " ")
}

func (st *streams) find(name string) *stream {
	for _, s := range st.list {
		if s.name == name {
			return s
		}
	}
	return nil
}

func (st *streams) remove(s *stream) {
	st.list = slices.DeleteFunc(st.list, func(o *stream) bool { return o == s })
}

// of is the stream that a publish concludes: the one it names, else one for its turn of which something was
// said that it begins with.
func (st *streams) of(p Publish, turn transcript.Seq) *stream {
	if p.Stream != "" {
		return st.find(p.Stream)
	}
	for i := len(st.list) - 1; i >= 0; i-- {
		s := st.list[i]
		if len(s.said) > 0 && s.turn == turn {
			if _, ok := afterPrefix(p.Text, s.said[0]); ok {
				return s
			}
		}
	}
	return nil
}

// remember keeps a published text, so that chunks which come after it are not said or synthesized again.
func (st *streams) remember(text string) {
	if len(st.recent) >= rememberedPb {
		st.recent = st.recent[1:]
	}
	st.recent = append(st.recent, text)
}

func (st *streams) wasPublished(text string) bool {
	return slices.ContainsFunc(st.recent, func(p string) bool { _, ok := afterPrefix(p, text); return ok })
}

// writing says that more of what is being said may come.
func (st *streams) writing() bool {
	return slices.ContainsFunc(st.list, func(s *stream) bool { return len(s.said) > 0 && !s.done && !s.cut })
}

// audible notes that the nth piece of a stream is heard.
func (st *streams) audible(id, nth int) {
	for _, s := range st.list {
		if s.id == id {
			s.begun = max(s.begun, nth+1)
		}
	}
}

// cutAll stops speculation: what is still written of these streams is not said. u is what is being said, or nil.
func (st *streams) cutAll(u *utterance, now time.Duration) {
	for _, s := range st.list {
		if !s.speculative || s.cut {
			continue
		}
		s.heard, s.cut = s.heardText(), true
		if u == nil {
			continue
		}
		for i := range u.pieces {
			if p := &u.pieces[i]; p.from == s.id && p.state == playing && s.begun > 0 { // its last, and not all of it
				head, _ := p.cut(now)
				s.heard = join(strings.Join(s.said[:max(0, min(s.begun, len(s.said))-1)], " "), head)
			}
		}
	}
}

// onChunk takes a piece of what is being written.
func (e *Engine) onChunk(c Chunk) {
	if e.shut || c.Stream == "" {
		return
	}
	s := e.stream.find(c.Stream)
	if s == nil {
		if len(e.stream.list) >= streamsMax {
			e.stream.list = e.stream.list[1:]
			e.counts.Forgotten++
		}
		e.stream.n++
		s = &stream{name: c.Stream, id: e.stream.n, turn: c.Turn, index: c.Index - 1, speculative: c.Speculative}
		if s.turn == 0 {
			s.turn = e.last.seq
		}
		s.gap = s.turn > e.hear.newest // the publish will be refused
		e.stream.list = append(e.stream.list, s)
	}
	if c.Index <= s.index || s.done || s.chars > streamChars {
		return
	}
	s.index, s.at = c.Index, e.now
	s.speculative = s.speculative && c.Speculative
	s.chars += utf8.RuneCountInString(c.Delta)
	whole, rest := SplitStream(s.rest+c.Delta, e.last.lang())
	s.rest = rest
	e.whole(s, whole)
}

// SplitStream gives the sentences of a text that goes on whose end has arrived, and the rest; the white space before the rest is kept, it may part two words.
func SplitStream(text, lang string) (whole []string, rest string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	whole, rest = split(text, lang, false)
	if rest == "" {
		return whole, ""
	}
	return whole, text[strings.LastIndex(text, rest):]
}

// whole takes sentences that are complete.
func (e *Engine) whole(s *stream, sentences []string) {
	for _, text := range sentences {
		s.sentences = append(s.sentences, text)
		if e.stream.wasPublished(strings.Join(s.sentences, " ")) {
			s.gap = true
			continue
		}
		switch {
		case s.cut || s.cancelled:
		case s.speculative && e.set.SpeculativeSpeech:
			e.speculate(s, text)
		case e.set.PrepareChunks && len(s.sentences) <= preparedMax:
			for _, p := range limit(text) {
				e.do(Prepare{p})
			}
		}
	}
}

// speculate says a sentence before it is published, unless its turn was reopened or too much waits.
func (e *Engine) speculate(s *stream, text string) {
	chars, sound := e.waitingText()
	s.gap = s.gap || e.last.supersedes(s.turn) && e.set.SupersededPublish == SupersededDrop ||
		chars > e.set.WaitingMax || sound > e.set.WaitingMaxAudio
	if s.gap {
		return
	}
	e.answered(s.turn)
	var pieces []piece
	for _, p := range limit(text) {
		pieces = append(pieces, piece{text: p, from: s.id, nth: len(s.said)})
		s.said = append(s.said, p)
	}
	e.sayStream(pieces)
}

// onComplete is the end of a stream.
func (e *Engine) onComplete(c Complete) {
	s := e.stream.find(c.Stream)
	if s == nil || s.done {
		return
	}
	s.at, s.done = e.now, true
	if c.Cancelled {
		e.cancel(s)
		return
	}
	rest := s.rest
	if c.Text != "" && utf8.RuneCountInString(c.Text) <= streamChars {
		if tail, ok := afterPrefix(c.Text, strings.Join(s.sentences, " ")); ok || len(s.sentences) == 0 {
			rest = tail // also what chunks lost
		}
	}
	s.rest = ""
	e.whole(s, Sentences(rest, e.last.lang(), false))
	e.finish()
}

// cancel stops what is said of a stream at once and keeps in mind what of it was heard.
func (e *Engine) cancel(s *stream) {
	s.cancelled = true
	s.said = s.said[:s.begun]
	e.takeBack(s.id, s.begun-1, true)
	e.finish()
}

// reconcile compares a publish with what was said of it beforehand: what it begins with is not said again, what
// it does not contain is taken back as far as nobody heard it. It returns what is left to be said.
func (e *Engine) reconcile(s *stream, text string) (rest, said string) {
	rest = text
	n := 0
	for _, sentence := range s.said {
		tail, ok := afterPrefix(rest, sentence)
		if !ok {
			break
		}
		rest, n = tail, n+1
	}
	e.stream.remove(s)
	if n < len(s.said) {
		e.takeBack(s.id, n, false)
	}
	return rest, strings.Join(s.said[:n], " ")
}

func (e *Engine) dueStreams() {
	quiet := false
	e.stream.list = slices.DeleteFunc(e.stream.list, func(s *stream) bool { return e.now >= s.at+streamLife })
	for _, s := range e.stream.list {
		if !s.done && len(s.said) > 0 && e.now >= s.at+streamQuiet {
			s.done, quiet = true, true
		}
	}
	if quiet {
		e.finish()
	}
}

func (e *Engine) nextStreams() (at time.Duration, ok bool) {
	for _, s := range e.stream.list {
		t := s.at + streamLife
		if !s.done && len(s.said) > 0 {
			t = s.at + streamQuiet
		}
		if !ok || t < at {
			at, ok = t, true
		}
	}
	return at, ok
}
