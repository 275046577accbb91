package turn

import (
	"slices"
	"strings"
	"time"

	"parley/transcript"
)

// segsMax bounds the segments of one turn.
const segsMax = 200

// held is the turn that waits for more speech. There is one at most: somebody else's final ends it.
type held struct {
	on        bool
	segs      []seg
	speaker   *transcript.Speaker
	began     time.Duration
	lastFinal time.Duration
	extends   transcript.Seq
}

// seg is a segment of a turn.
type seg struct {
	seq        transcript.Seq
	text, lang string
	speaker    *transcript.Speaker
	speakers   []transcript.Speaker
	start, end time.Duration
}

func (h *held) text() string { return textOf(h.segs) }

func (h *held) lang() string { return langOf(h.segs) }

func langOf(segs []seg) string {
	for i := len(segs) - 1; i >= 0; i-- {
		if segs[i].lang != "" {
			return segs[i].lang
		}
	}
	return ""
}

func textOf(segs []seg) string {
	text := ""
	for _, s := range segs {
		text = join(text, s.text)
	}
	return text
}

func join(a, b string) string {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// given is the last turn that the agent was given.
type given struct {
	seq      transcript.Seq
	segs     []seg
	speaker  *transcript.Speaker
	at       time.Duration
	answered bool
	replaced []transcript.Seq
}

// replacedMax is how many reopened turns are remembered for answers that come late.
const replacedMax = 64

// lang is the language of the last turn, in which the agent most likely answers.
func (g *given) lang() string { return langOf(g.segs) }

func (g *given) supersedes(seq transcript.Seq) bool {
	return slices.Contains(g.replaced, seq)
}

func secondsOf(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }

// onFinal is a finished segment, or a correction of one.
func (e *Engine) onFinal(s transcript.Segment, mine []bool) {
	e.hear.newest = max(e.hear.newest, s.Seq)
	e.hear.take(s.Seq)
	if e.deaf || s.Seq <= 0 {
		return
	}
	n := seg{seq: s.Seq, text: strings.TrimSpace(s.Text), lang: s.Lang, speaker: s.Speaker, speakers: s.Speakers,
		start: secondsOf(s.Start), end: secondsOf(s.End)}
	words := len(transcript.Words(n.text))
	switch {
	case words == 0:
		return // the recogniser took it back
	case e.hear.again(s.Seq):
		e.correct(n)
		return
	}
	echo := e.echoOf(mine, n.start, max(n.end, n.start), n.text)
	if s.Echo || echo.Suspected {
		e.echo(n)
		return
	}
	e.clip.waiting = false
	e.overheard(heard{seq: n.seq, text: n.text, lang: n.lang, speaker: n.speaker, start: n.start, at: e.now, words: words, mine: echo.Mine}, n.end)
	if e.held.on && (!samePerson(e.held.speaker, n.speaker) || len(e.held.segs) >= segsMax) {
		e.release()
	}
	if !e.held.on && e.continues(n.speaker) {
		e.reopen(n.text)
	}
	e.hold(n)
}

// hold adds a segment to the turn, or begins one.
func (e *Engine) hold(n seg) {
	if !e.held.on {
		e.held = held{on: true, began: min(n.start, e.now), speaker: n.speaker}
	}
	if e.held.speaker == nil || e.held.speaker.Name == "" && e.held.speaker.ID == "" {
		e.held.speaker = n.speaker
	}
	e.held.segs = append(e.held.segs, n)
	e.held.lastFinal = e.now
	if e.set.TurnHold <= 0 || e.now >= e.held.began+e.set.TurnLimit {
		e.release()
	}
}

// echo hands our own voice over by itself: it neither joins nor ends anybody's turn.
func (e *Engine) echo(n seg) {
	e.counts.Echoes++
	e.do(MarkEcho{Seq: n.seq})
	if e.shut {
		return
	}
	e.do(Deliver{Turn{Seq: n.seq, Merged: []transcript.Seq{n.seq}, Text: n.text, Lang: n.lang, Speaker: n.speaker,
		Speakers: n.speakers, Start: n.start, End: n.end, Echo: true, Draft: DraftNone}})
}

// correct puts a later revision where the segment still waits; a turn that was given is not given again.
func (e *Engine) correct(n seg) {
	for _, segs := range [][]seg{e.held.segs, e.last.segs} {
		for i := range segs {
			if segs[i].seq == n.seq {
				segs[i] = n
			}
		}
	}
	if e.held.on && len(e.held.segs) > 0 && e.held.speaker == nil {
		e.held.speaker = n.speaker
	}
}

// view is the held turn as the policy sees it.
func (e *Engine) view() Held {
	v := Held{Now: e.now, Settings: e.set, Text: e.held.text(), Lang: e.held.lang(), Began: e.held.began,
		LastFinal: e.held.lastFinal, Voice: e.hear.voice, VoiceAt: e.hear.voiceAt, TurnEnd: e.hear.turnEnd}
	if o := e.hear.by(e.held.speaker); o != nil {
		v.Open, v.OpenText, v.LastPartial = true, o.text, o.at
	}
	return v
}

func (e *Engine) dueTurn() {
	if at, ok := e.nextTurn(); ok && e.now >= at {
		e.release()
	}
}

func (e *Engine) nextTurn() (time.Duration, bool) {
	if !e.held.on {
		return 0, false
	}
	return e.policy.Hold(e.view())
}

// release hands the held turn to the agent.
func (e *Engine) release() {
	if !e.held.on {
		return
	}
	h := e.held
	e.held = held{}
	first, last := h.segs[0], h.segs[len(h.segs)-1]
	t := Turn{Seq: last.seq, Extends: h.extends, Text: h.text(), Lang: h.lang(), Speaker: h.speaker,
		Start: first.start, End: last.end, Held: e.now - h.lastFinal, Draft: DraftNone}
	for _, s := range h.segs {
		t.Merged = append(t.Merged, s.seq)
		t.Seq = max(t.Seq, s.seq)
		t.Speakers = addSpeakers(t.Speakers, s)
	}
	if len(t.Speakers) < 2 {
		t.Speakers = nil
	}
	if e.shut {
		return
	}
	e.counts.Turns++
	// A turn that was reopened for nothing stands again under its own number.
	replaced := slices.DeleteFunc(e.last.replaced, func(s transcript.Seq) bool { return s == t.Seq })
	e.last = given{seq: t.Seq, segs: h.segs, speaker: h.speaker, at: e.now, replaced: replaced}
	say := e.judgeDraft(&t)
	e.do(Deliver{t})
	if say != "" {
		e.sayDraft(say)
		return
	}
	e.armClip(t)
}

// addSpeakers lists everybody of a turn once.
func addSpeakers(list []transcript.Speaker, s seg) []transcript.Speaker {
	more := s.speakers
	if len(more) == 0 && s.speaker != nil {
		more = []transcript.Speaker{*s.speaker}
	}
	for _, m := range more {
		known := false
		for _, l := range list {
			known = known || l.ID == m.ID && l.Name == m.Name
		}
		if !known {
			list = append(list, m)
		}
	}
	return list
}
