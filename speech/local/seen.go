package local

import (
	"time"

	"parley/speech"
	"parley/speech/wire"
)

// seen remembers how far a stream's events went, so that a process which is told the same audio again adds nothing
// that was said before. It only compares positions.
type seen struct {
	upto   int64 // answered
	on     bool
	onAt   int64 // the last activity event
	any    bool  // there was one
	turnAt int64
}

// final gives the event, unless it is about audio that was answered before.
func (s *seen) final(f wire.Final) (speech.Final, bool) {
	if f.Upto <= s.upto || f.End <= s.upto && f.Text != "" {
		s.upto = max(s.upto, f.Upto)
		return speech.Final{}, false
	}
	f.Start = max(f.Start, s.upto)
	s.upto = f.Upto
	out := speech.Final{
		Start: f.Start, End: max(f.End, f.Start), Text: f.Text, Lang: f.Lang,
		NoSpeech: f.NoSpeech, LogProb: f.LogProb, Lag: time.Duration(f.LagMS) * time.Millisecond,
	}
	for _, w := range f.Words {
		out.Words = append(out.Words, speech.Word{Text: w.Text, Start: w.Start, End: w.End, Prob: w.Prob})
	}
	return out, true
}

// partial gives the event, unless its segment was answered before.
func (s *seen) partial(p wire.Partial) (speech.Partial, bool) {
	if p.End <= s.upto {
		return speech.Partial{}, false
	}
	return speech.Partial{Start: max(p.Start, s.upto), End: p.End, Text: p.Text, Lang: p.Lang}, true
}

// activity gives the event when it is a change that comes later than the last one.
func (s *seen) activity(a wire.Activity) (speech.Activity, bool) {
	if s.any && (a.On == s.on || a.At <= s.onAt) || !s.any && !a.On {
		return speech.Activity{}, false
	}
	s.on, s.onAt, s.any = a.On, a.At, true
	return speech.Activity{On: a.On, At: a.At}, true
}

// turnEnd gives the event when it judges a later moment than the last one.
func (s *seen) turnEnd(t wire.TurnEnd) (speech.TurnEnd, bool) {
	if t.At <= s.turnAt {
		return speech.TurnEnd{}, false
	}
	s.turnAt = t.At
	return speech.TurnEnd{At: t.At, Prob: t.Prob}, true
}
