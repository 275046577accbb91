package turn

import "parley/transcript"

// turnBytes is how long a turn may get by being reopened again and again; a longer one is left as it is.
const turnBytes = 20000

// continues says that speech of this person goes on with the turn that the agent was given last, and did not
// answer yet.
func (e *Engine) continues(s *transcript.Speaker) bool {
	l := &e.last
	return e.set.TurnExtend > 0 && !e.shut && len(l.segs) > 0 && !l.answered &&
		e.now <= l.at+e.set.TurnExtend && samePerson(l.speaker, s) &&
		len(l.segs) < segsMax && len(textOf(l.segs)) < turnBytes
}

// reopen takes the last turn back: the agent is told at once, and it is held again for what comes.
func (e *Engine) reopen(soFar string) {
	l := &e.last
	e.counts.Reopened++
	e.do(Extended{Turn: l.seq, TurnText: textOf(l.segs), SoFar: soFar, Speaker: l.speaker})
	if len(l.replaced) >= replacedMax {
		l.replaced = l.replaced[1:]
	}
	l.replaced = append(l.replaced, l.seq)
	// The limit counts from now on: the turn was over once, and is held anew.
	e.held = held{on: true, segs: l.segs, speaker: l.speaker, began: e.now, lastFinal: e.now, extends: l.seq}
	l.segs = nil
	e.draft.drop(WhyReopened)
}
