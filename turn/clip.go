package turn

import (
	"time"

	"parley/transcript"
)

// clipLimit is how long a clip may take (they last half a second) before it counts as over.
const clipLimit = 5 * time.Second

// clip is the acknowledgement ("mhm") that plays when somebody's turn ended.
type clip struct {
	waiting bool
	due     time.Duration
	playing bool
	at      time.Duration // when the last one began
	ever    bool
	n       int
}

// armClip lets a clip follow a turn that ended a sentence.
func (e *Engine) armClip(t Turn) {
	if !e.set.AckOnFinal || len(transcript.Words(t.Text)) < e.set.AckMinWords || !EndsSentence(t.Text, t.Lang) ||
		e.speech.cur != nil || e.someoneSpoke() {
		return
	}
	e.clip.waiting, e.clip.due = true, e.now+e.set.AckDelay
}

func (e *Engine) dueClip() {
	c := &e.clip
	if c.playing && e.now >= c.at+clipLimit {
		e.onClipEnded()
	}
	if !c.waiting || e.now < c.due {
		return
	}
	c.waiting = false
	phrases := e.phrases()
	if len(phrases) == 0 || e.speech.cur != nil || e.someoneSpoke() || c.playing ||
		c.ever && e.now < c.at+e.set.AckCooldown {
		return
	}
	i := c.n % len(phrases)
	c.n++
	c.playing, c.ever, c.at = true, true, e.now
	e.counts.Clips++
	e.own.Said(e.now, e.now+time.Second, phrases[i])
	e.do(PlayClip{i, phrases[i]})
}

// phrases are what clips say: the tenant's, else those of the language.
func (e *Engine) phrases() []string {
	if len(e.set.AckPhrases) > 0 {
		return e.set.AckPhrases
	}
	if l, ok := languages[base(e.set.AckLang)]; ok {
		return l.clips
	}
	return nil
}

// Phrases are what clips say under some settings, so that they can be synthesized beforehand.
func Phrases(s Settings) []string { return (&Engine{set: s}).phrases() }

// onClipEnded lets what waited for the clip begin.
func (e *Engine) onClipEnded() {
	if !e.clip.playing {
		return
	}
	e.clip.playing = false
	if u := e.speech.cur; u != nil {
		u.headAt = e.now
	}
	e.give()
}

func (e *Engine) nextClip() (time.Duration, bool) {
	switch c := &e.clip; {
	case c.waiting:
		return c.due, true
	case c.playing:
		return c.at + clipLimit, true
	}
	return 0, false
}
