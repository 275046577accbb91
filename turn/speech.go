package turn

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/transcript"
)

const (
	// ahead is how many pieces are given before they are due, so that synthesis never falls behind.
	ahead = 3
	// startLimit is how long the next piece may take to become audible before the utterance counts as failed,
	// endLimit how much longer than its length it may take to end.
	startLimit = 30 * time.Second
	endLimit   = 10 * time.Second
	// lettersPerSecond estimates a length that the voice does not tell.
	lettersPerSecond = 14
	// piecesMax bounds one utterance; channel text after that makes another.
	piecesMax = 400
	// speakMax is the longest text of the command.
	speakMax = 6000
)

// speech is what we say: one utterance at a time, and channel text that waits for a command to end.
type speech struct {
	cur   *utterance
	after []piece // of the channel
	n     int     // utterances so far
}

// utterance is one stretch of our voice; the microphone stays on through it.
type utterance struct {
	id      int
	kind    Kind
	command string // id of the Speak
	pieces  []piece
	given   int // how many were given to the voice
	began   bool
	beganAt time.Duration
	headAt  time.Duration // since when the next piece could have become audible
}

// piece is what is synthesized and played at once.
type piece struct {
	text, file string
	from       int // number of the stream that it was speculated from, 0 when of none
	nth        int // its number there
	state      pieceState
	at         time.Duration // started
	length     time.Duration
	played     time.Duration
	playedAt   time.Duration
}

type pieceState int

const (
	waiting pieceState = iota
	playing
	played
	gone // taken back
)

// ending is why an utterance ends before its time.
type ending struct {
	state   SpeechState
	bargeIn bool
	by      *transcript.Speaker
	text    string
}

// sayStream puts channel text in line: into the channel's utterance if that is what is being said, after a
// command otherwise.
func (e *Engine) sayStream(pieces []piece) {
	switch cur := e.speech.cur; {
	case len(pieces) == 0:
	case cur == nil:
		e.begin(KindStream, "", pieces)
	case cur.kind == KindStream && len(cur.pieces) < piecesMax:
		cur.pieces = append(cur.pieces, pieces...)
		e.give()
	default:
		e.speech.after = append(e.speech.after, pieces...)
	}
}

func (e *Engine) begin(kind Kind, command string, pieces []piece) {
	e.speech.n++
	e.speech.cur = &utterance{id: e.speech.n, kind: kind, command: command, pieces: pieces, headAt: e.now}
	e.clip.waiting = false
	if e.clip.playing && pieces[0].file == "" {
		e.do(Prepare{pieces[0].text}) // it waits for the clip; its sound need not
	}
	e.give()
}

// give hands pieces to the voice, a few ahead of what is heard.
func (e *Engine) give() {
	u := e.speech.cur
	if u == nil || e.clip.playing {
		return
	}
	for u.given < len(u.pieces) && u.given < u.heard()+ahead {
		p := u.pieces[u.given]
		if p.state == gone {
			u.given++
			continue
		}
		e.do(Say{Utterance: u.id, Piece: u.given, Kind: u.kind, Text: p.text, File: p.file})
		u.given++
	}
}

// heard counts the pieces that are over.
func (u *utterance) heard() int {
	n := 0
	for n < len(u.pieces) && u.pieces[n].state >= played {
		n++
	}
	return n
}

// at is a piece of the present utterance that was given; nil for what belongs to another, or is over.
func (e *Engine) pieceAt(utterance, i int) *piece {
	u := e.speech.cur
	if u == nil || u.id != utterance || i < 0 || i >= u.given || u.pieces[i].state == played {
		return nil
	}
	return &u.pieces[i]
}

func (e *Engine) onStarted(ev Started) {
	p := e.pieceAt(ev.Utterance, ev.Piece)
	if p == nil || p.state == playing {
		return
	}
	u := e.speech.cur
	for i := range ev.Piece {
		if u.pieces[i].state != gone {
			u.pieces[i].state = played // pieces are heard in order
		}
	}
	e.stream.audible(p.from, p.nth)
	p.state, p.at, p.playedAt = playing, e.now, e.now
	if ev.Length > 0 {
		p.length = ev.Length
	}
	if !u.began {
		u.began, u.beganAt = true, e.now
		e.weBegin()
	}
	length := p.length
	if length == 0 {
		length = time.Duration(utf8.RuneCountInString(p.text)) * time.Second / lettersPerSecond
	}
	e.own.Said(e.now, e.now+length, p.text)
	e.give()
}

func (e *Engine) onProgress(ev Progress) {
	if p := e.pieceAt(ev.Utterance, ev.Piece); p != nil && p.state == playing {
		p.played, p.playedAt = max(p.played, ev.Played), e.now
		if ev.Length > 0 {
			p.length = ev.Length
		}
	}
}

func (e *Engine) onPrepared(ev Prepared) {
	if p := e.pieceAt(ev.Utterance, ev.Piece); p != nil && p.state == waiting {
		p.length = max(0, ev.Length)
	}
}

func (e *Engine) onEnded(ev Ended) {
	p := e.pieceAt(ev.Utterance, ev.Piece)
	if p == nil || p.state != playing {
		return
	}
	p.state = played
	e.speech.cur.headAt = e.now
	e.give()
	e.finish()
}

func (e *Engine) onFailed(ev Failed) {
	if e.pieceAt(ev.Utterance, ev.Piece) != nil {
		e.fallSilent(ending{state: SpeechFailed}, false)
	}
}

// finish ends an utterance of which everything was heard and to which no stream adds any more.
func (e *Engine) finish() {
	u := e.speech.cur
	if u == nil || u.heard() < len(u.pieces) || u.kind == KindStream && e.stream.writing() {
		return
	}
	e.speech.cur = nil
	said, _ := u.split(e.now)
	if e.over.ducked {
		e.over.ducked = false
		e.do(Restore{u.id})
	}
	state := SpeechDone
	if !u.began { // all of it was taken back
		state = SpeechInterrupted
	}
	e.do(SpeechEnded{Utterance: u.id, ID: u.command, Kind: u.kind, State: state, Said: said})
	e.next()
}

// next begins what waited for the utterance before.
func (e *Engine) next() {
	if len(e.speech.after) > 0 && e.speech.cur == nil {
		pieces := e.speech.after
		e.speech.after = nil
		e.begin(KindStream, "", pieces)
	}
}

// fallSilent stops what is being said, at once. With all, channel text that waits is dropped, too.
func (e *Engine) fallSilent(w ending, all bool) {
	if all {
		if e.clip.playing {
			e.clip.playing = false
			e.own.Stopped(e.now)
			e.do(Stop{0})
		}
		e.stream.cutAll(e.speech.cur, e.now)
	}
	u := e.speech.cur
	e.speech.cur = nil
	var dropped []piece
	if all {
		dropped, e.speech.after = e.speech.after, nil
	}
	if u != nil {
		e.own.StoppedAfter(e.now, u.sounding(e.now))
		e.over.ducked = false
		said, unsaid := u.split(e.now)
		for _, p := range dropped {
			unsaid = join(unsaid, p.text)
		}
		e.do(Stop{u.id}, SpeechEnded{Utterance: u.id, ID: u.command, Kind: u.kind, State: w.state, BargeIn: w.bargeIn,
			Said: said, Unsaid: unsaid, By: w.by, ByText: w.text})
	}
	e.next()
}

// split gives the text that was heard, by the playback clock, and the rest.
func (u *utterance) split(now time.Duration) (said, unsaid string) {
	for _, p := range u.pieces {
		switch p.state {
		case played:
			said = join(said, p.text)
		case playing:
			head, tail := p.cut(now)
			said, unsaid = join(said, head), join(unsaid, tail)
		case waiting:
			unsaid = join(unsaid, p.text)
		}
	}
	return said, unsaid
}

// sounding is what was heard of the piece that is being played.
func (u *utterance) sounding(now time.Duration) string {
	for i := range u.pieces {
		if p := &u.pieces[i]; p.state == playing {
			head, _ := p.cut(now)
			return head
		}
	}
	return ""
}

// cut splits a piece where it is being played: after the last whole word that was heard.
func (p *piece) cut(now time.Duration) (head, tail string) {
	if p.length <= 0 {
		return "", p.text // nothing is known of it, so nothing is claimed
	}
	share := float64(p.played+now-p.playedAt) / float64(p.length)
	if share >= 1 {
		return p.text, ""
	}
	letters := int(share * float64(utf8.RuneCountInString(p.text)))
	at, n := 0, 0
	for i, r := range p.text {
		if n > letters {
			break
		}
		if r == ' ' {
			at = i
		}
		n++
	}
	return strings.TrimSpace(p.text[:at]), strings.TrimSpace(p.text[at:])
}

// waitingText is how much channel text is not audible yet, in characters and in sound already made.
func (e *Engine) waitingText() (chars int, sound time.Duration) {
	add := func(pieces []piece) {
		for _, p := range pieces {
			if p.state == waiting {
				chars += utf8.RuneCountInString(p.text)
				sound += p.length
			}
		}
	}
	add(e.speech.after)
	if u := e.speech.cur; u != nil && u.kind == KindStream {
		add(u.pieces)
	}
	return chars, sound
}

// onSpeak is the command to say something.
func (e *Engine) onSpeak(ev Speak) {
	answer := SpeakAnswer{ID: ev.ID}
	switch {
	case ev.File == "" && !hasWord(ev.Text):
		answer.Reason = ReasonEmpty
	case utf8.RuneCountInString(ev.Text) > speakMax:
		answer.Reason = ReasonTooLong
	case e.speech.cur != nil && !ev.Interrupt:
		answer.Reason = ReasonBusy
	default:
		answer.OK, answer.Utterance = true, e.speech.n+1
	}
	if !answer.OK {
		e.do(answer)
		return
	}
	after := e.speech.after
	e.speech.after = nil // what waits goes on waiting, for the new command
	e.fallSilent(ending{state: SpeechInterrupted}, false)
	e.do(answer)
	e.answered(e.last.seq)
	if ev.File != "" {
		e.begin(KindFile, ev.ID, []piece{{file: ev.File}})
	} else {
		e.begin(KindSpeak, ev.ID, piecesOf(ev.Text, e.lang(), true))
	}
	e.speech.after = after
}

func piecesOf(text, lang string, first bool) []piece {
	var out []piece
	for _, s := range Sentences(text, lang, first) {
		out = append(out, piece{text: s})
	}
	return out
}

// takeBack removes the pieces of a stream from its keep-th on, as far as they are not audible yet. With cut an
// audible one stops the utterance, and what others said to it goes on in a new one.
func (e *Engine) takeBack(stream int, keep int, cut bool) {
	mine := func(p piece) bool { return p.from == stream && p.nth >= keep }
	e.speech.after = slices.DeleteFunc(e.speech.after, mine)
	u := e.speech.cur
	if u == nil || u.kind != KindStream {
		return
	}
	if cut && slices.ContainsFunc(u.pieces, func(p piece) bool { return mine(p) && p.state == playing }) {
		var rest []piece
		for i := range u.pieces {
			if p := &u.pieces[i]; p.state == waiting && !mine(*p) {
				rest = append(rest, *p)
				p.state = gone // it is not this utterance's any more
			}
		}
		e.fallSilent(ending{state: SpeechInterrupted}, false)
		e.sayStream(rest)
		return
	}
	var back []int
	for i := range u.pieces {
		if p := &u.pieces[i]; mine(*p) && p.state == waiting {
			p.state = gone
			if i < u.given {
				back = append(back, i)
			}
		}
	}
	if len(back) > 0 {
		e.do(Unsay{u.id, back})
	}
	e.give()
}

func (e *Engine) dueSpeech() {
	if at, ok := e.nextSpeech(); ok && e.now >= at {
		e.fallSilent(ending{state: SpeechFailed}, false)
	}
}

// nextSpeech is when a voice that hangs is given up.
func (e *Engine) nextSpeech() (time.Duration, bool) {
	u := e.speech.cur
	if u == nil || e.clip.playing {
		return 0, false
	}
	i := u.heard()
	if i >= len(u.pieces) {
		return 0, false
	}
	p := &u.pieces[i]
	if p.state != playing {
		return u.headAt + startLimit, true
	}
	length := p.length
	if length == 0 {
		length = time.Minute
	}
	return max(p.at+length, p.playedAt+length-p.played) + endLimit, true
}
