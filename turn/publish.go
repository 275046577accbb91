package turn

import (
	"unicode/utf8"

	"parley/transcript"
)

// answered notes that the agent answered a turn: its speaker no longer reopens it.
func (e *Engine) answered(turn transcript.Seq) {
	if turn != 0 && turn == e.last.seq {
		e.last.answered = true
	}
	e.clip.waiting = false
}

// onPublish answers a publish at once and, if it is taken, says it.
func (e *Engine) onPublish(p Publish) {
	answer := PublishAnswer{ID: p.ID, Turn: p.Turn, LastTurn: e.last.seq, Superseded: e.someoneSpoke()}
	if answer.Turn == 0 {
		answer.Turn = e.last.seq
	}
	s := e.stream.of(p, answer.Turn)
	if answer.Reason, answer.Dropped = e.refuse(p, answer.Turn, s); answer.Reason != "" {
		if answer.Dropped {
			answer.Superseded = answer.Superseded || answer.Reason == ReasonSuperseded
			e.counts.Dropped++
		} else {
			e.counts.Refused++
		}
		if s != nil {
			answer.AlreadySaid = s.heardText()
			e.takeBack(s.id, 0, false)
			e.stream.remove(s)
		}
		e.do(answer)
		e.finish()
		return
	}
	e.stream.published++
	answer.Delivered, answer.Message = true, e.stream.published
	answer.Superseded = answer.Superseded || e.last.supersedes(answer.Turn)
	e.counts.Published++

	text := p.Text
	text, answer.PrefixSkipped = e.skipDraft(text, answer.Turn)
	if s != nil {
		text, answer.AlreadySaid = e.reconcile(s, text)
	}
	e.stream.remember(p.Text)
	e.do(answer)
	e.answered(answer.Turn)
	if hasWord(text) {
		e.sayStream(piecesOf(text, e.last.lang(), e.speech.cur == nil))
	}
	e.finish()
}

// refuse says why a publish is not said, and whether that is because it came too late.
func (e *Engine) refuse(p Publish, turn transcript.Seq, s *stream) (reason string, dropped bool) {
	chars, sound := e.waitingText()
	switch {
	case e.shut:
		return ReasonClosed, false
	case !hasWord(p.Text):
		return ReasonEmpty, false
	case utf8.RuneCountInString(p.Text) > e.set.PublishMax:
		return ReasonTooLong, false
	case turn > e.hear.newest:
		return ReasonUnknownTurn, false
	case chars > e.set.WaitingMax || sound > e.set.WaitingMaxAudio:
		return ReasonWaiting, false
	case e.set.SupersededPublish == SupersededDrop && e.last.supersedes(turn):
		return ReasonSuperseded, true
	case s != nil && s.cut && len(s.said) > 0:
		return ReasonInterrupted, true
	}
	return "", false
}
