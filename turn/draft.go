package turn

import (
	"slices"
	"unicode/utf8"

	"parley/transcript"
)

// draft is the answer that the agent prepares while somebody talks.
type draft struct {
	set      bool
	sentence string
	ready    bool
	forTurn  transcript.Seq
	heard    []string // what had been said when it was marked ready
	dropped  string   // why the last one was, until a turn tells it

	spoken    string // the sentence that was said
	spokenFor transcript.Seq
}

// drop lets go of the draft and remembers why.
func (d *draft) drop(why string) {
	if d.set {
		d.set, d.dropped = false, why
	}
}

// onDraft sets or clears the draft.
func (e *Engine) onDraft(ev Draft) {
	answer := DraftAnswer{ID: ev.ID}
	first := Sentences(ev.Text, e.lang(), true)
	switch {
	case e.shut:
		answer.Reason = ReasonClosed
	case !e.set.DraftEnabled:
		answer.Reason = ReasonOff
	case utf8.RuneCountInString(ev.Text) > e.set.PublishMax:
		answer.Reason = ReasonTooLong
	case len(first) == 0:
		answer.OK = true
		e.draft.set, e.draft.dropped = false, ""
	case ev.ForTurn != 0 && ev.ForTurn <= e.last.seq && !e.heldHas(ev.ForTurn) && e.hear.find(ev.ForTurn) == nil:
		answer.Reason = ReasonLate
	default:
		answer.OK, answer.Sentence = true, first[0]
		d := &e.draft
		d.set, d.sentence, d.ready, d.forTurn, d.dropped = true, first[0], ev.Ready, ev.ForTurn, ""
		if ev.Ready {
			d.heard = e.heardSoFar()
			e.do(answer, Prepare{first[0]})
			return
		}
	}
	e.do(answer)
}

// lang is the language that is spoken at the moment.
func (e *Engine) lang() string {
	if h := e.hear.latest(); h != nil && h.lang != "" {
		return h.lang
	}
	if l := e.held.lang(); l != "" {
		return l
	}
	return e.last.lang()
}

// heldHas says that a segment is part of the turn that is held.
func (e *Engine) heldHas(seq transcript.Seq) bool {
	return e.held.on && slices.ContainsFunc(e.held.segs, func(s seg) bool { return s.seq == seq })
}

// heardSoFar is everything that was said of the turn at hand.
func (e *Engine) heardSoFar() []string {
	text := ""
	if e.held.on {
		text = e.held.text()
	}
	for _, h := range e.hear.open {
		if !h.echo && (!e.held.on || samePerson(h.speaker, e.held.speaker)) {
			text = join(text, h.text)
		}
	}
	return transcript.Words(text)
}

// judgeDraft says what becomes of the draft now that a turn is handed over; it returns what is to be said.
func (e *Engine) judgeDraft(t *Turn) string {
	d := &e.draft
	if d.dropped != "" {
		t.Draft, t.DraftWhy = DraftDropped, d.dropped
		d.dropped = ""
		e.counts.DraftsDropped++
		return ""
	}
	if !d.set {
		return ""
	}
	d.set = false
	if why := e.stale(t); why != "" {
		t.Draft, t.DraftWhy = DraftDropped, why
		e.counts.DraftsDropped++
		return ""
	}
	t.Draft, t.DraftText = DraftSpoken, d.sentence
	e.counts.DraftsSpoken++
	return d.sentence
}

// stale says why a draft does not answer a turn; "" when it does.
func (e *Engine) stale(t *Turn) string {
	d := &e.draft
	switch {
	case d.forTurn != 0 && !slices.Contains(t.Merged, d.forTurn):
		return WhyOtherTurn
	case !d.ready:
		return WhyNotReady
	case e.speech.cur != nil || e.clip.playing:
		return WhySpeaking
	}
	added := newWords(transcript.Words(t.Text), d.heard)
	if slices.ContainsFunc(added, func(w string) bool { return Negates(t.Lang, w) }) {
		return WhyNegation
	}
	if len(added) > e.set.DraftMaxNewWords {
		return WhyNewWords
	}
	return ""
}

// newWords are the words that were not heard before: those outside a longest common subsequence.
func newWords(now, before []string) []string {
	const most = 400
	now, before = now[max(0, len(now)-most):], before[max(0, len(before)-most):]
	w := len(before) + 1
	table := make([]int, (len(now)+1)*w)
	for i := len(now) - 1; i >= 0; i-- {
		for j := len(before) - 1; j >= 0; j-- {
			if transcript.Alike(now[i], before[j]) {
				table[i*w+j] = table[(i+1)*w+j+1] + 1
			} else {
				table[i*w+j] = max(table[(i+1)*w+j], table[i*w+j+1])
			}
		}
	}
	var added []string
	for i, j := 0, 0; i < len(now); {
		switch {
		case j < len(before) && transcript.Alike(now[i], before[j]):
			i, j = i+1, j+1
		case j < len(before) && table[i*w+j+1] > table[(i+1)*w+j]:
			j++
		default:
			added = append(added, now[i])
			i++
		}
	}
	return added
}

// sayDraft says the sentence of the draft: that is an answer to the turn.
func (e *Engine) sayDraft(sentence string) {
	e.draft.spoken, e.draft.spokenFor = sentence, e.last.seq
	e.answered(e.last.seq)
	e.sayStream([]piece{{text: sentence}})
}

// skipDraft takes the draft's sentence from the front of the first publish for its turn.
func (e *Engine) skipDraft(text string, turn transcript.Seq) (rest string, skipped bool) {
	d := &e.draft
	if d.spoken == "" || d.spokenFor != turn {
		return text, false
	}
	sentence := d.spoken
	d.spoken = ""
	return afterPrefix(text, sentence)
}
