// Package turn decides who has the floor: when somebody's turn is over, when our voice yields, and what becomes
// of an answer that comes too late.
//
// The Engine is a function of its state, the time and an event; it has no clock, no goroutine and no I/O. Times
// are time.Durations on the meeting's clock (since the first recorded sample), the one that segments use.
package turn

import (
	"time"

	"parley/transcript"
)

// Engine owns the floor of one meeting. One goroutine uses it: it calls Step with every event, performs the
// effects in their order (outside, their results come back as events), and calls Step with a Tick at Deadline.
type Engine struct {
	now    time.Duration
	set    Settings
	policy Policy
	out    []Effect

	own    transcript.OwnVoice
	hear   hearing
	held   held
	last   given
	over   overlap
	speech speech
	clip   clip
	draft  draft
	stream streams

	// Gates: none of them opens again.
	deaf   bool // no more transcript
	shut   bool // no more channel
	closed bool

	counts Counts
}

// Counts are figures of one meeting, for status and journals.
type Counts struct {
	Turns, Reopened, Echoes     int
	Published, Refused, Dropped int // publishes said, not taken, dropped as superseded
	Interrupted                 int // utterances that somebody's voice stopped
	DraftsSpoken, DraftsDropped int
	Clips                       int
	Forgotten                   int // partials and streams dropped over a bound
}

// New makes an engine. A nil policy is Reference. The settings have to be sound (Settings.Check).
func New(s Settings, p Policy) *Engine {
	if p == nil {
		p = Reference{}
	}
	return &Engine{set: s, policy: p, hear: hearing{turnEnd: -1}}
}

// Load is how much an engine holds now, all of it bounded: for status and tests.
type Load struct {
	Open       int // segments being said
	Segments   int // of the turn that is held and the one given last
	Overheard  int // segments over our voice
	Streams    int
	Waiting    int // characters of the channel not audible yet
	Remembered int // finals, reopened turns and published texts kept to recognise what comes again
}

// Load is how much is held now.
func (e *Engine) Load() Load {
	chars, _ := e.waitingText()
	return Load{Open: len(e.hear.open), Segments: len(e.held.segs) + len(e.last.segs), Overheard: len(e.over.heard) + len(e.over.skip),
		Streams: len(e.stream.list), Waiting: chars, Remembered: len(e.hear.seen) + len(e.last.replaced) + len(e.stream.recent)}
}

// Counts are the figures so far.
func (e *Engine) Counts() Counts { return e.counts }

// Heard compares what was heard between two moments with what we say and said lately.
func (e *Engine) Heard(from, to time.Duration, text string) transcript.Echo {
	return e.own.Heard(from, to, text)
}

// Expecting says that something of ours is said as soon as the turn at hand is over: a draft stands ready. Whoever
// works the microphone may open it by now.
func (e *Engine) Expecting() bool {
	return !e.closed && !e.shut && e.draft.set && e.draft.ready && e.speech.cur == nil && e.someoneSpoke()
}

// Settings are the present settings.
func (e *Engine) Settings() Settings { return e.set }

// Step tells the engine what happened at a moment and returns what is to be done. What was due before comes
// first (an objection and a deletion come before everything). Time never goes back: an earlier now counts as the latest one. The slice is the caller's.
func (e *Engine) Step(now time.Duration, ev Event) []Effect {
	if e.closed {
		return nil
	}
	e.now = max(e.now, now)
	switch ev.(type) {
	case Objected, TranscriptDeleted: // nothing goes out any more, also not what is overdue
	default:
		e.due()
	}
	e.handle(ev)
	e.judgeFloor()
	e.due() // a hold of nothing is over at once
	out := e.out
	e.out = nil
	return out
}

func (e *Engine) do(effects ...Effect) { e.out = append(e.out, effects...) }

func (e *Engine) handle(ev Event) {
	switch ev := ev.(type) {
	case Partial:
		e.onPartial(ev)
	case Final:
		e.onFinal(ev.Segment, ev.Mine)
	case Activity:
		e.hear.voice, e.hear.voiceAt = ev.On, e.now
	case TurnEnd:
		e.hear.turnEnd = ev.Prob
	case Shown:
		e.onShown(ev.Who)
	case Publish:
		e.onPublish(ev)
	case Chunk:
		e.onChunk(ev)
	case Complete:
		e.onComplete(ev)
	case Speak:
		e.onSpeak(ev)
	case StopSpeaking:
		e.fallSilent(ending{state: SpeechInterrupted}, true)
	case Draft:
		e.onDraft(ev)
	case Started:
		e.onStarted(ev)
	case Progress:
		e.onProgress(ev)
	case Prepared:
		e.onPrepared(ev)
	case Ended:
		e.onEnded(ev)
	case Failed:
		e.onFailed(ev)
	case ClipEnded:
		e.onClipEnded()
	case Change:
		e.onChange(ev.Settings)
	case TranscriptStopped:
		e.onTranscriptStopped()
	case TranscriptDeleted:
		e.forget()
		e.deaf = true
	case Objected:
		e.onObjected()
	case Close:
		e.onClose()
	}
}

// due does what the time has come for.
func (e *Engine) due() {
	if e.closed {
		return
	}
	e.hear.age(e.now)
	e.duePartial()
	e.dueTurn()
	e.dueClip()
	e.dueSpeech()
	e.dueStreams()
}

// Deadline is when Step wants to be called again, whatever happens; ok is false when it need not be.
func (e *Engine) Deadline() (at time.Duration, ok bool) {
	if e.closed {
		return 0, false
	}
	for _, next := range []func() (time.Duration, bool){
		e.hear.next, e.nextPartial, e.nextTurn, e.nextClip, e.nextFloor, e.nextSpeech, e.nextStreams,
	} {
		if t, has := next(); has && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

func (e *Engine) onChange(s Settings) {
	if s.Check() != nil {
		return // whoever changes settings checks them; broken ones are not taken
	}
	e.set = s
	if !s.DraftEnabled {
		e.draft.drop(WhyOff)
	}
	if !s.AckOnFinal {
		e.clip.due = 0
		e.clip.waiting = false
	}
}

// onTranscriptStopped hands over what is held: no more will come.
func (e *Engine) onTranscriptStopped() {
	e.hear.open = nil
	e.release()
	e.deaf = true
}

// forget drops every text that people said.
func (e *Engine) forget() {
	e.hear.forget()
	e.held = held{}
	e.last = given{seq: e.last.seq}
	e.over.heard = nil
	e.clip.waiting = false
	e.draft = draft{}
}

// onObjected falls silent, forgets, and shuts the channel for good.
func (e *Engine) onObjected() {
	e.forget()
	e.fallSilent(ending{state: SpeechInterrupted}, true)
	e.stream = streams{}
	e.own.Forget()
	e.deaf, e.shut = true, true
}

// onClose hands over what is held, stops what is said, and ends.
func (e *Engine) onClose() {
	if !e.deaf {
		e.hear.open = nil
		e.draft = draft{} // nothing is said any more
		e.release()
	}
	e.clip.waiting = false
	e.fallSilent(ending{state: SpeechInterrupted}, true)
	e.forget()
	e.own.Forget()
	e.closed = true
}
