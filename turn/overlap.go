package turn

import (
	"slices"
	"time"

	"parley/transcript"
)

// overlap is what is heard of others while we speak.
type overlap struct {
	heard []overheard
	skip  []overheard // segments that were being said when we began, with their words so far

	who    []transcript.Person // shown speaking now
	since  time.Duration       // since when somebody is shown, or we speak
	total  time.Duration       // for how long before that, since we began
	names  bool                // the page has shown somebody at all
	ducked bool
}

// overheard is one segment over our voice.
type overheard struct {
	seq           transcript.Seq
	words, agreed int // new words, and merely agreeing ones
	text          string
	speaker       *transcript.Speaker
}

// onShown is the page showing who speaks.
func (e *Engine) onShown(who []transcript.Person) {
	o := &e.over
	if len(o.who) > 0 && len(who) == 0 {
		o.total += e.now - o.since
	}
	if len(o.who) == 0 && len(who) > 0 {
		o.since = e.now
	}
	o.names = o.names || len(who) > 0
	o.who = slices.Clone(who[:min(len(who), openMax)])
}

func (o *overlap) shown(now time.Duration) time.Duration {
	if len(o.who) == 0 {
		return o.total
	}
	return o.total + now - o.since
}

// weBegin starts counting anew: our voice became audible.
func (e *Engine) weBegin() {
	o := &e.over
	o.heard, o.skip, o.total, o.since, o.ducked = nil, nil, 0, e.now, false
	for _, h := range e.hear.open {
		o.skip = append(o.skip, overheard{seq: h.seq, words: h.words})
	}
}

// overheard counts the new words of a segment since our voice began. end is when its last word was said.
func (e *Engine) overheard(h heard, end time.Duration) {
	u := e.speech.cur
	if u == nil || !u.began {
		return
	}
	spans := transcript.Spans(h.text)
	skip := e.over.before(h, len(spans), u.beganAt, end)
	if skip >= len(spans) {
		return
	}
	n := overheard{seq: h.seq, text: h.text[spans[skip].Start:], speaker: h.speaker}
	words := make([]string, len(spans))
	for i, s := range spans {
		words[i] = s.Norm
	}
	for i, agrees := range Agreement(h.lang, words)[skip:] {
		switch {
		case skip+i < len(h.mine) && h.mine[skip+i]:
		case agrees:
			n.agreed++
		default:
			n.words++
		}
	}
	o := &e.over
	o.heard = slices.DeleteFunc(o.heard, func(x overheard) bool { return x.seq == n.seq })
	if len(o.heard) >= openMax {
		o.heard = o.heard[1:]
	}
	o.heard = append(o.heard, n)
}

// before is how many words of a segment were said before we began: those that a partial had then, else the
// share of its time.
func (o *overlap) before(h heard, words int, began, end time.Duration) int {
	for _, s := range o.skip {
		if s.seq == h.seq {
			return s.words
		}
	}
	switch {
	case h.start >= began:
		return 0
	case end <= began:
		return words
	}
	return int(float64(words)*float64(began-h.start)/float64(end-h.start) + 0.5)
}

// strongest is the segment with the most new words.
func (o *overlap) strongest() overheard {
	var best overheard
	for _, h := range o.heard {
		if h.words > best.words || h.words == best.words && h.agreed >= best.agreed {
			best = h
		}
	}
	return best
}

func (e *Engine) overlapView() (Overlap, overheard, bool) {
	u := e.speech.cur
	if u == nil || !u.began {
		return Overlap{}, overheard{}, false
	}
	h := e.over.strongest()
	return Overlap{Now: e.now, Settings: e.set, Began: u.beganAt, File: u.kind == KindFile,
		Words: h.words, Agreed: h.agreed, Speaker: h.speaker,
		Shown: e.over.shown(e.now), ShownNow: len(e.over.who) > 0, Names: e.over.names,
		Voice: e.hear.voice, VoiceAt: e.hear.voiceAt, Ducked: e.over.ducked}, h, true
}

// judgeFloor lets the policy decide over our voice.
func (e *Engine) judgeFloor() {
	view, h, speaking := e.overlapView()
	if !speaking || e.closed {
		return
	}
	verdict, _ := e.policy.Overlap(view)
	switch {
	case verdict == Yield:
		e.counts.Interrupted++
		e.draft.drop(WhyBargeIn)
		e.fallSilent(ending{state: SpeechInterrupted, bargeIn: true, by: e.interrupter(h), text: h.text}, true)
	case verdict == Lower && !e.over.ducked:
		e.over.ducked = true
		e.do(Duck{e.speech.cur.id})
	case verdict == Keep && e.over.ducked:
		e.over.ducked = false
		e.do(Restore{e.speech.cur.id})
	}
}

// interrupter is who speaks: as the segment says, else the one person whom the page shows.
func (e *Engine) interrupter(h overheard) *transcript.Speaker {
	if h.speaker != nil {
		return h.speaker
	}
	if len(e.over.who) == 1 {
		return &transcript.Speaker{ID: e.over.who[0].ID, Name: e.over.who[0].Name, Source: transcript.SourceHighlight, Confidence: 0.5}
	}
	return nil
}

func (e *Engine) nextFloor() (time.Duration, bool) {
	view, _, speaking := e.overlapView()
	if !speaking {
		return 0, false
	}
	_, again := e.policy.Overlap(view)
	return again, again > 0
}
