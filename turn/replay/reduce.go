package replay

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/transcript"
	"parley/turn"
)

// in is an event as a line; a tick is none.
func (r *Recorder) in(now time.Duration, ev turn.Event) (line, bool) {
	switch ev := ev.(type) {
	case turn.Partial:
		l := r.speech(ev.Seq, ev.Start, ev.End, now, ev.Text, ev.Lang)
		l.K, l.Who = "partial", r.speaker(ev.Speaker)
		return l, true
	case turn.Final:
		l := r.speech(ev.Seq, sec(ev.Start), sec(ev.End), max(sec(ev.End), sec(ev.Start)), ev.Text, ev.Lang)
		l.K, l.Rev, l.Echo, l.Who = "final", ev.Rev, ev.Echo, r.speaker(ev.Speaker)
		for _, s := range ev.Speakers {
			l.All = append(l.All, *r.speaker(&s))
		}
		return l, true
	case turn.Activity:
		return line{K: "activity", Flag: ev.On, Who: &who{r.people.of(key("id", ev.Who.ID)), r.people.of(key("name", ev.Who.Name))}}, true
	case turn.TurnEnd:
		return line{K: "turn-end", Prob: ev.Prob}, true
	case turn.Shown:
		l := line{K: "shown"}
		for _, p := range ev.Who {
			l.All = append(l.All, who{r.people.of(key("id", p.ID)), r.people.of(key("name", p.Name))})
		}
		return l, true
	case turn.Publish:
		return line{K: "publish", ID: r.ids.of(ev.ID), Turn: int64(ev.Turn), Stream: r.streams.of(ev.Stream), Text: r.text(ev.Text)}, true
	case turn.Chunk:
		return line{K: "chunk", Stream: r.streams.of(ev.Stream), Index: ev.Index, Turn: int64(ev.Turn), Flag: ev.Speculative, Text: r.delta(ev.Stream, ev.Delta)}, true
	case turn.Complete:
		rest := r.rest[ev.Stream]
		delete(r.rest, ev.Stream)
		return line{K: "complete", Stream: r.streams.of(ev.Stream), Flag: ev.Cancelled, Text: r.text(rest)}, true
	case turn.Speak:
		return line{K: "speak", ID: r.ids.of(ev.ID), Text: r.text(ev.Text), File: ev.File != "", Flag: ev.Interrupt}, true
	case turn.StopSpeaking:
		return line{K: "stop"}, true
	case turn.Draft:
		return line{K: "draft", ID: r.ids.of(ev.ID), Text: r.text(ev.Text), Flag: ev.Ready, Turn: int64(ev.ForTurn)}, true
	case turn.Started:
		return line{K: "started", Utterance: ev.Utterance, Piece: ev.Piece, Length: ev.Length.Seconds()}, true
	case turn.Progress:
		return line{K: "progress", Utterance: ev.Utterance, Piece: ev.Piece, Length: ev.Length.Seconds(), Played: ev.Played.Seconds()}, true
	case turn.Prepared:
		return line{K: "prepared", Utterance: ev.Utterance, Piece: ev.Piece, Length: ev.Length.Seconds()}, true
	case turn.Ended:
		return line{K: "ended", Utterance: ev.Utterance, Piece: ev.Piece}, true
	case turn.Failed:
		return line{K: "failed", Utterance: ev.Utterance, Piece: ev.Piece}, true
	case turn.ClipEnded:
		return line{K: "clip-ended"}, true
	case turn.Change:
		return line{K: "change", Settings: settingsOf(ev.Settings)}, true
	case turn.TranscriptStopped:
		return line{K: "transcript-stopped"}, true
	case turn.TranscriptDeleted:
		return line{K: "transcript-deleted"}, true
	case turn.Objected:
		return line{K: "objected"}, true
	case turn.Close:
		return line{K: "close"}, true
	}
	return line{}, false
}

func sec(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func key(kind, s string) string {
	if s == "" {
		return ""
	}
	return kind + ":" + s
}

func (r *Recorder) speaker(s *transcript.Speaker) *who {
	if s == nil {
		return nil
	}
	return &who{r.people.of(key("id", s.ID)), r.people.of(key("name", s.Name))}
}

// speech reduces what was said to the classes of its words, and to which of them stood there before.
func (r *Recorder) speech(seq transcript.Seq, from, to, until time.Duration, text, lang string) line {
	l := line{Seq: int64(seq), From: from.Seconds(), To: to.Seconds(), Lang: lang}
	words := transcript.Words(text)
	mine := r.e.Heard(from, until, text).Mine
	var b strings.Builder
	agrees := turn.Agreement(lang, words)
	for i, w := range words {
		switch {
		case i < len(mine) && mine[i]:
			b.WriteByte('o')
		case agrees[i]:
			b.WriteByte('a')
		case turn.Negates(lang, w):
			b.WriteByte('n')
		default:
			b.WriteByte('w')
		}
	}
	switch {
	case turn.IsQuestion(text, lang):
		b.WriteByte('?')
	case turn.EndsSentence(text, lang):
		b.WriteByte('.')
	}
	l.Shape = b.String()
	l.Before = matches(words, r.heard[seq])
	for l.Kept < len(l.Before) && l.Before[l.Kept] == l.Kept {
		l.Kept++
	}
	if !slices.ContainsFunc(l.Before[l.Kept:], func(i int) bool { return i >= 0 }) {
		l.Before = nil // the short form says it all
	}
	if _, ok := r.heard[seq]; !ok {
		r.order = append(r.order, seq)
		if len(r.order) > heardMax {
			delete(r.heard, r.order[0])
			r.order = r.order[1:]
		}
	}
	r.heard[seq] = words
	return l
}

// matches says for each word which word of the version before it is, in order; -1 for none.
func matches(now, before []string) []int {
	const most = 400
	out := make([]int, len(now))
	for i := range out {
		out[i] = -1
	}
	a, b := now[:min(len(now), most)], before[:min(len(before), most)]
	w := len(b) + 1
	table := make([]int16, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if transcript.Alike(a[i], b[j]) {
				table[i*w+j] = table[(i+1)*w+j+1] + 1
			} else {
				table[i*w+j] = max(table[(i+1)*w+j], table[i*w+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case transcript.Alike(a[i], b[j]):
			out[i] = j
			i, j = i+1, j+1
		case table[(i+1)*w+j] >= table[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// text reduces a text of the agent to its sentences.
func (r *Recorder) text(text string) []piece {
	var out []piece
	for _, s := range turn.Sentences(text, "", false) {
		out = append(out, r.sentence(s))
	}
	return out
}

func (r *Recorder) sentence(s string) piece {
	words := transcript.Words(s)
	p := piece{N: r.texts.of(strings.Join(words, " ")), Words: len(words), Chars: utf8.RuneCountInString(s)}
	if head := turn.Sentences(s, "", true); len(head) > 1 && utf8.RuneCountInString(s) <= 300 {
		p.Comma = len(transcript.Words(head[0]))
	}
	return p
}

// delta reduces a chunk to the sentences that it completes.
func (r *Recorder) delta(stream, delta string) []piece {
	r.chars[stream] += len(delta)
	const most = 64 << 10
	if r.chars[stream] > most || len(r.rest) > 64 {
		return nil
	}
	whole, rest := turn.SplitStream(r.rest[stream]+delta, "")
	r.rest[stream] = rest
	var out []piece
	for _, s := range whole {
		out = append(out, r.sentence(s))
	}
	return out
}
