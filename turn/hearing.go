package turn

import (
	"slices"
	"time"

	"parley/transcript"
)

const (
	// openMax bounds the segments that are being said at once.
	openMax = 16
	// staleAfter is when a partial without a successor no longer means that somebody speaks. A recogniser gives
	// two a second; one that died must not hold a turn for ever. (Our addition; the source has no word on it.)
	staleAfter = 3 * time.Second
	// seenMax is in how many stretches of numbers finals are recognised when they come again.
	seenMax = 256
)

// hearing is who is heard now.
type hearing struct {
	open    []heard        // segments being said, the latest last
	seen    seqs           // finals
	newest  transcript.Seq // the highest number that anything heard has had
	voice   bool
	voiceAt time.Duration
	turnEnd float64

	asked    bool          // a partial waits to be given to the agent
	given    time.Duration // when the last one was given
	anyGiven bool
}

// heard is a segment that is being said.
type heard struct {
	seq     transcript.Seq
	text    string
	lang    string
	speaker *transcript.Speaker
	start   time.Duration
	at      time.Duration // of the last partial
	echo    bool
	words   int
	mine    []bool // which of its words are ours
}

func (h *hearing) find(seq transcript.Seq) *heard {
	for i := range h.open {
		if h.open[i].seq == seq {
			return &h.open[i]
		}
	}
	return nil
}

// put notes what a segment sounds like now; the oldest is dropped when there are too many.
func (h *hearing) put(n heard) (dropped bool) {
	h.take(n.seq)
	if len(h.open) >= openMax {
		h.open = h.open[1:]
		dropped = true
	}
	h.open = append(h.open, n)
	return dropped
}

func (h *hearing) take(seq transcript.Seq) {
	h.open = slices.DeleteFunc(h.open, func(o heard) bool { return o.seq == seq })
}

// age lets go of partials that nobody confirmed for long.
func (h *hearing) age(now time.Duration) {
	h.open = slices.DeleteFunc(h.open, func(o heard) bool { return now >= o.at+staleAfter })
	h.asked = h.asked && h.latest() != nil
}

func (h *hearing) next() (at time.Duration, ok bool) {
	for _, o := range h.open {
		if t := o.at + staleAfter; !ok || t < at {
			at, ok = t, true
		}
	}
	return at, ok
}

// latest is the segment heard last that is not our echo.
func (h *hearing) latest() *heard {
	for i := len(h.open) - 1; i >= 0; i-- {
		if !h.open[i].echo {
			return &h.open[i]
		}
	}
	return nil
}

// by is the segment that a speaker is saying.
func (h *hearing) by(s *transcript.Speaker) *heard {
	for i := len(h.open) - 1; i >= 0; i-- {
		if o := &h.open[i]; !o.echo && samePerson(o.speaker, s) {
			return o
		}
	}
	return nil
}

// again notes a final and says whether it was seen before.
func (h *hearing) again(seq transcript.Seq) bool {
	if h.seen.has(seq) {
		return true
	}
	h.seen.add(seq)
	return false
}

func (h *hearing) forget() {
	h.open, h.asked = nil, false
}

// samePerson says that two speakers may be one: where one of them is not known, they are taken for one.
func samePerson(a, b *transcript.Speaker) bool {
	switch {
	case a == nil || b == nil || a.ID == "" && a.Name == "" || b.ID == "" && b.Name == "":
		return true
	case a.ID != "" && b.ID != "":
		return a.ID == b.ID
	}
	return a.Name == b.Name
}

// echoOf compares what is heard with what we said, unless the teller did.
func (e *Engine) echoOf(mine []bool, from, to time.Duration, text string) transcript.Echo {
	if mine == nil {
		return e.own.Heard(from, to, text)
	}
	return transcript.EchoOf(transcript.Words(text), mine)
}

// onPartial is somebody speaking.
func (e *Engine) onPartial(p Partial) {
	e.hear.newest = max(e.hear.newest, p.Seq)
	words := len(transcript.Words(p.Text))
	if e.deaf || words == 0 || e.hear.seen.has(p.Seq) {
		return
	}
	h := heard{seq: p.Seq, text: p.Text, lang: p.Lang, speaker: p.Speaker, start: p.Start, at: e.now, words: words}
	echo := e.echoOf(p.Mine, p.Start, e.now, p.Text)
	h.echo, h.mine = echo.Suspected, echo.Mine
	if e.hear.put(h) {
		e.counts.Forgotten++
	}
	if h.echo {
		return
	}
	e.clip.waiting = false // somebody is speaking: no clip over them
	e.overheard(h, e.now)
	if !e.held.on && e.continues(p.Speaker) {
		e.reopen(p.Text)
	}
	e.hear.asked = e.set.AgentPartials && !e.shut
	e.duePartial()
}

// duePartial gives the agent the latest partial when it is time.
func (e *Engine) duePartial() {
	if at, ok := e.nextPartial(); !ok || e.now < at {
		return
	}
	h := e.hear.latest()
	e.hear.asked, e.hear.anyGiven, e.hear.given = false, true, e.now
	d := DeliverPartial{Seq: h.seq, Text: h.text, Lang: h.lang, Speaker: h.speaker, Start: h.start}
	if e.held.on && samePerson(e.held.speaker, h.speaker) {
		d.Text, d.Start = join(e.held.text(), h.text), e.held.segs[0].start
		if d.Speaker == nil {
			d.Speaker = e.held.speaker
		}
	}
	e.do(d)
}

func (e *Engine) nextPartial() (time.Duration, bool) {
	if !e.hear.asked || !e.set.AgentPartials || e.shut || e.hear.latest() == nil {
		return 0, false
	}
	if !e.hear.anyGiven {
		return e.now, true
	}
	return e.hear.given + e.set.AgentPartialsInterval, true
}

// someoneSpoke says that there is speech which the agent was not given yet.
func (e *Engine) someoneSpoke() bool { return e.held.on || e.hear.latest() != nil }
