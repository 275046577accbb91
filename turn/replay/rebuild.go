package replay

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"parley/transcript"
	"parley/turn"
)

// player turns lines back into events. The words are made up, such that the engine cannot tell the difference:
// equal where they were equal, of the same class and length.
type player struct {
	heard   map[int64][]string // words of segments
	order   []int64
	fresh   uint64
	streams map[int]string // what came of streams so far
	exact   bool           // the words that were ours then are ours now
	said    []string       // of our utterances, the latest that became audible last

}

func newPlayer() *player {
	return &player{heard: map[int64][]string{}, streams: map[int]string{}}
}

// word makes a word up: ten letters that are like no other's.
func word(n uint64) string {
	n = (n + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
	n ^= n >> 29
	n *= 0x94D049BB133111EB
	n ^= n >> 32
	var b [10]byte
	for i := range b {
		set := "bdfgklmnprstvz"
		if i%2 == 1 {
			set = "aeiou"
		}
		b[i] = set[n%uint64(len(set))]
		n /= uint64(len(set))
	}
	return string(b[:])
}

// event is a line as an event; ok is false for lines that are none.
func (p *player) event(l line) (ev turn.Event, ok bool) {
	switch l.K {
	case "partial":
		return turn.Partial{Seq: transcript.Seq(l.Seq), Start: sec(l.From), End: sec(l.To), Text: p.speech(l), Lang: l.Lang, Speaker: l.Who.speaker(), Mine: p.mine(l)}, true
	case "final":
		s := transcript.Segment{Seq: transcript.Seq(l.Seq), Rev: l.Rev, Start: l.From, End: l.To, Text: p.speech(l), Lang: l.Lang, Speaker: l.Who.speaker(), Echo: l.Echo}
		for _, w := range l.All {
			s.Speakers = append(s.Speakers, *w.speaker())
		}
		return turn.Final{Segment: s, Mine: p.mine(l)}, true
	case "activity":
		return turn.Activity{On: l.Flag, Who: l.Who.person()}, true
	case "turn-end":
		return turn.TurnEnd{Prob: l.Prob}, true
	case "shown":
		var list []transcript.Person
		for _, w := range l.All {
			list = append(list, w.person())
		}
		return turn.Shown{Who: list}, true
	case "publish":
		return turn.Publish{ID: fmt.Sprint(l.ID), Text: p.text(l.Text), Turn: transcript.Seq(l.Turn), Stream: name(l.Stream)}, true
	case "chunk":
		delta := p.text(l.Text)
		if delta != "" {
			delta += " " // a sentence counts when something follows it
		}
		if len(p.streams) < 1000 && len(p.streams[l.Stream]) < 64<<10 {
			p.streams[l.Stream] += delta
		}
		return turn.Chunk{Stream: name(l.Stream), Index: l.Index, Delta: delta, Turn: transcript.Seq(l.Turn), Speculative: l.Flag}, true
	case "complete":
		// The last sentence comes with the end, as if its chunk had been lost.
		text := p.streams[l.Stream] + p.text(l.Text)
		delete(p.streams, l.Stream)
		return turn.Complete{Stream: name(l.Stream), Cancelled: l.Flag, Text: text}, true
	case "speak":
		s := turn.Speak{ID: fmt.Sprint(l.ID), Text: p.text(l.Text), Interrupt: l.Flag}
		if l.File {
			s.File = "file"
		}
		return s, true
	case "stop":
		return turn.StopSpeaking{}, true
	case "draft":
		return turn.Draft{ID: fmt.Sprint(l.ID), Text: p.text(l.Text), Ready: l.Flag, ForTurn: transcript.Seq(l.Turn)}, true
	case "started":
		return turn.Started{Utterance: l.Utterance, Piece: l.Piece, Length: sec(l.Length)}, true
	case "progress":
		return turn.Progress{Utterance: l.Utterance, Piece: l.Piece, Played: sec(l.Played), Length: sec(l.Length)}, true
	case "prepared":
		return turn.Prepared{Utterance: l.Utterance, Piece: l.Piece, Length: sec(l.Length)}, true
	case "ended":
		return turn.Ended{Utterance: l.Utterance, Piece: l.Piece}, true
	case "failed":
		return turn.Failed{Utterance: l.Utterance, Piece: l.Piece}, true
	case "clip-ended":
		return turn.ClipEnded{}, true
	case "change":
		s := settings(l.Settings)
		return turn.Change{Settings: s}, true
	case "transcript-stopped":
		return turn.TranscriptStopped{}, true
	case "transcript-deleted":
		return turn.TranscriptDeleted{}, true
	case "objected":
		return turn.Objected{}, true
	case "close":
		return turn.Close{}, true
	}
	return nil, false
}

func name(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint("s", n)
}

func (w *who) speaker() *transcript.Speaker {
	if w == nil {
		return nil
	}
	p := w.person()
	return &transcript.Speaker{ID: p.ID, Name: p.Name}
}

func (w *who) person() (p transcript.Person) {
	if w == nil {
		return p
	}
	if w.I != 0 {
		p.ID = fmt.Sprint("p", w.I)
	}
	if w.N != 0 {
		p.Name = fmt.Sprint("Person ", w.N)
	}
	return p
}

// settings are what a journal says of them; what it says wrong keeps its default.
func settings(m map[string]string) turn.Settings {
	s := turn.Default()
	for _, a := range turn.All {
		v, ok := m[a.Name]
		if !ok {
			continue
		}
		if a.Name == "ack_phrases" {
			var n int
			if _, err := fmt.Sscan(v, &n); err != nil || n < 0 || n > 20 {
				continue
			}
			var phrases []string
			for i := range n {
				phrases = append(phrases, word(uint64(i)+7777))
			}
			v = strings.Join(phrases, "|")
		}
		_ = s.Set(a.Name, v) // a value of another version: the default is as good
	}
	return s
}

// speech makes up what was said.
func (p *player) speech(l line) string {
	agree, not := turn.Samples(l.Lang)
	before := p.heard[l.Seq]
	var words []string
	ours := 0
	end := ""
	for i, c := range l.Shape {
		if i >= maxWords {
			break
		}
		from := -1
		switch {
		case i < len(l.Before):
			from = l.Before[i]
		case l.Before == nil && i < l.Kept:
			from = i
		}
		switch {
		case c == 'o' && len(p.said) > 0:
			words = append(words, p.said[ours%len(p.said)])
			ours++
		case c == 'a':
			words = append(words, agree)
		case c == 'n':
			words = append(words, not)
		case c == '.' || c == '?':
			end = string(c)
		case from >= 0 && from < len(before):
			words = append(words, before[from])
		default:
			p.fresh++
			words = append(words, word(p.fresh))
		}
	}
	if _, ok := p.heard[l.Seq]; !ok {
		p.order = append(p.order, l.Seq)
		if len(p.order) > heardMax {
			delete(p.heard, p.order[0])
			p.order = p.order[1:]
		}
	}
	p.heard[l.Seq] = words
	return strings.Join(words, " ") + end
}

// mine are the words that were ours when the journal was written.
func (p *player) mine(l line) []bool {
	if !p.exact {
		return nil
	}
	mine := []bool{}
	for _, c := range strings.TrimRight(l.Shape, ".?") {
		mine = append(mine, c == 'o')
	}
	return mine
}

// text makes up sentences.
func (p *player) text(pieces []piece) string {
	var out []string
	for i, s := range pieces {
		if i >= maxWords {
			break
		}
		out = append(out, p.sentence(s))
	}
	return strings.Join(out, " ")
}

// sentence makes a sentence up: as many words and characters, a comma where it had one, a full stop.
func (p *player) sentence(s piece) string {
	words := min(max(s.Words, 1), maxWords)
	letters := min(max(s.Chars, 2), 8000) - words // a space or a mark after each
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(letterWord(uint64(s.N)<<16+uint64(i), max(1, letters*(i+1)/words-letters*i/words)))
		if i+1 == s.Comma {
			b.WriteByte(',')
		}
	}
	text := b.String()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// letterWord makes up a word of some letters; digits help short ones to differ.
func letterWord(n uint64, length int) string {
	const set = "bcdfghjklmnpqrstvwxyz0123456789a"
	r := rand.New(rand.NewPCG(n, 1))
	b := make([]byte, min(length, 200))
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	if b[0] < 'a' {
		b[0] += 'b' - '0' // a sentence begins with a letter
	}
	return string(b)
}

// audible notes what of ours is heard now, so that its echo can be made up.
func (p *player) audible(text string) { p.said = transcript.Words(text) }
