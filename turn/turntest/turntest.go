// Package turntest holds every turn policy to what must always be true, over random meetings.
package turntest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"parley/transcript"
	"parley/turn"
)

// Play plays a random meeting against an engine with a policy and checks, at each step: every final is in exactly
// one latest turn; every publish, command and draft has exactly one answer; utterances do not overlap and each
// ends once; nothing is said or told after an objection unless a command asks for it; nothing happens after the
// end; memory is bounded; and the engine does not want to be woken without end. kinds choose the events.
func Play(t testing.TB, p turn.Policy, set turn.Settings, seed uint64, kinds []byte) {
	t.Helper()
	newWorld(t, p, seed, set).play(kinds)
}

// Check plays as many random meetings, with random settings.
func Check(t testing.TB, p turn.Policy, meetings int) {
	t.Helper()
	for seed := range uint64(meetings) {
		r := rand.New(rand.NewPCG(seed, 7))
		kinds := make([]byte, 20+r.IntN(300))
		for i := range kinds {
			kinds[i] = byte(r.IntN(256))
		}
		Play(t, p, RandomSettings(r), seed, kinds)
	}
}

// RandomSettings are settings as somebody may choose them.
func RandomSettings(r *rand.Rand) turn.Settings {
	s := turn.Default()
	s.AckOnFinal = r.IntN(2) == 0
	s.AgentPartials = r.IntN(2) == 0
	s.PrepareChunks = r.IntN(2) == 0
	s.SpeculativeSpeech = r.IntN(2) == 0
	if r.IntN(4) == 0 {
		s.SupersededPublish = turn.SupersededSpeak
	}
	if r.IntN(6) == 0 {
		s.TurnHold = 0
	}
	return s
}

// world is a meeting that is played.
type world struct {
	t   testing.TB
	r   *rand.Rand
	e   *turn.Engine
	now time.Duration
	log []string

	seq      transcript.Seq
	finals   map[transcript.Seq]bool // accepted ones
	turnOf   map[transcript.Seq]transcript.Seq
	turns    map[transcript.Seq][]transcript.Seq // live turns and their segments
	asked    map[string]int                      // open questions: publishes, commands, drafts
	active   int                                 // utterance that is being said
	allowed  map[int]bool                        // utterances begun by a command after an objection
	given    map[[2]int]bool
	objected bool
	deleted  bool
	stopped  bool
	closed   bool
	spoken   []turn.Say
}

func newWorld(t testing.TB, p turn.Policy, seed uint64, set turn.Settings) *world {
	return &world{t: t, r: rand.New(rand.NewPCG(seed, 9)), e: turn.New(set, p), finals: map[transcript.Seq]bool{},
		turnOf: map[transcript.Seq]transcript.Seq{}, turns: map[transcript.Seq][]transcript.Seq{}, asked: map[string]int{},
		allowed: map[int]bool{}, given: map[[2]int]bool{}}
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, l := range w.log[max(0, len(w.log)-40):] {
		w.t.Log(l)
	}
	w.t.Fatalf(format, args...)
}

var phrases = []string{"yes", "mhm", "wait", "no stop that", "so what I think is", "When is the release?", "We ship it on Monday.",
	"On the fourth of March.", "and then", "…", "", "It depends on the tests, but not on us.", "Так, добре.", "ich weiß nicht", "会议。"}

func (w *world) text() string {
	s := phrases[w.r.IntN(len(phrases))]
	for w.r.IntN(3) == 0 {
		s += " " + phrases[w.r.IntN(len(phrases))]
	}
	if len(w.spoken) > 0 && w.r.IntN(4) == 0 {
		s = w.spoken[len(w.spoken)-1].Text // our own voice
	}
	return s
}

func (w *world) speaker() *transcript.Speaker {
	return []*transcript.Speaker{nil, {Name: "Ada"}, {Name: "Bob"}, {ID: "p3", Name: "Eve"}, {ID: "p3"}}[w.r.IntN(5)]
}

// piece is mostly one that was given, sometimes any.
func (w *world) piece() (int, int) {
	if len(w.spoken) > 0 && w.r.IntN(8) > 0 {
		s := w.spoken[max(0, len(w.spoken)-1-w.r.IntN(4))]
		return s.Utterance, s.Piece
	}
	return w.r.IntN(5), w.r.IntN(5)
}

func (w *world) event(kind int) turn.Event {
	r := w.r
	id := fmt.Sprint("q", len(w.log))
	stream := fmt.Sprint("s", r.IntN(3))
	length := time.Duration(r.IntN(4000)) * time.Millisecond
	answers := transcript.Seq(0)
	if r.IntN(3) == 0 {
		answers = transcript.Seq(r.IntN(int(w.seq) + 2))
	}
	switch kind % 24 {
	case 0, 1, 2:
		seq := w.seq + transcript.Seq(r.IntN(3))
		return turn.Partial{Seq: seq, Text: w.text(), Lang: []string{"en", "de", "uk", ""}[r.IntN(4)], Speaker: w.speaker(),
			Start: w.now - length/4, End: w.now}
	case 3, 4, 5:
		w.seq += transcript.Seq(1 + r.IntN(2))
		seq := w.seq
		if r.IntN(8) == 0 {
			seq = transcript.Seq(r.IntN(int(w.seq) + 1))
		}
		s := transcript.Segment{Seq: seq, Text: w.text(), Lang: "en", Speaker: w.speaker(), Start: (w.now - length/2).Seconds(), End: w.now.Seconds()}
		return turn.Final{Segment: s}
	case 6:
		return turn.Shown{Who: [][]transcript.Person{nil, {{Name: "Ada"}}, {{Name: "Ada"}, {Name: "Bob"}}}[r.IntN(3)]}
	case 7, 8:
		w.asked[id]++
		return turn.Publish{ID: id, Text: w.text(), Turn: answers, Stream: []string{"", stream}[r.IntN(2)]}
	case 9, 10:
		return turn.Chunk{Stream: stream, Index: r.IntN(20), Delta: w.text() + " ", Turn: answers, Speculative: r.IntN(4) > 0}
	case 11:
		return turn.Complete{Stream: stream, Text: []string{"", w.text()}[r.IntN(2)], Cancelled: r.IntN(3) == 0}
	case 12:
		w.asked[id]++
		return turn.Speak{ID: id, Text: w.text(), File: []string{"", "", "f"}[r.IntN(3)], Interrupt: r.IntN(2) == 0}
	case 13:
		return turn.StopSpeaking{}
	case 14, 15:
		w.asked[id]++
		return turn.Draft{ID: id, Text: w.text(), Ready: r.IntN(3) > 0, ForTurn: answers}
	case 16, 17, 18:
		u, p := w.piece()
		return turn.Started{Utterance: u, Piece: p, Length: length}
	case 19:
		u, p := w.piece()
		if r.IntN(2) == 0 {
			return turn.Progress{Utterance: u, Piece: p, Played: length / 2, Length: length}
		}
		return turn.Prepared{Utterance: u, Piece: p, Length: length}
	case 20, 21:
		u, p := w.piece()
		return turn.Ended{Utterance: u, Piece: p}
	case 22:
		if r.IntN(3) == 0 {
			u, p := w.piece()
			return turn.Failed{Utterance: u, Piece: p}
		}
		return turn.ClipEnded{}
	default:
		switch r.IntN(60) {
		case 0:
			return turn.Objected{}
		case 1:
			return turn.TranscriptDeleted{}
		case 2:
			return turn.TranscriptStopped{}
		case 3:
			return turn.Close{}
		case 4, 5, 6, 7:
			s := w.e.Settings()
			if err := s.Set(turn.All[r.IntN(len(turn.All))].Name, []string{"0", "1", "true", "false", "3", "drop"}[r.IntN(6)]); err == nil {
				return turn.Change{Settings: s}
			}
		}
		return turn.Tick{}
	}
}

func (w *world) step(ev turn.Event) {
	w.log = append(w.log, fmt.Sprintf("%.3f %T %+v", w.now.Seconds(), ev, ev))
	was := w.closed
	switch ev := ev.(type) {
	case turn.Objected:
		w.objected = true
	case turn.TranscriptDeleted:
		w.deleted = true
	case turn.Final:
		if !w.objected && !w.deleted && !w.stopped && !was && ev.Seq > 0 && len(transcript.Words(ev.Text)) > 0 && !w.finals[ev.Seq] {
			w.finals[ev.Seq] = true
		}
	}
	out := w.e.Step(w.now, ev)
	for _, eff := range out {
		w.log = append(w.log, fmt.Sprintf("    %.3f %T %+v", w.now.Seconds(), eff, eff))
		w.effect(eff)
	}
	if was && len(out) > 0 {
		w.fail("something happens after the end")
	}
	switch ev := ev.(type) {
	case turn.TranscriptStopped:
		w.stopped = true
	case turn.Close:
		w.closed = true
	case turn.Publish:
		if w.asked[ev.ID] != 0 && !was {
			w.fail("a publish without an answer")
		}
	case turn.Speak:
		if w.asked[ev.ID] != 0 && !was {
			w.fail("a command without an answer")
		}
	case turn.Draft:
		if w.asked[ev.ID] != 0 && !was {
			w.fail("a draft without an answer")
		}
	}
	w.bounded()
}

func (w *world) effect(eff turn.Effect) {
	switch f := eff.(type) {
	case turn.Deliver:
		t := f.Turn
		if w.objected || w.deleted {
			w.fail("a turn after an objection or deletion")
		}
		if t.Extends != 0 {
			if _, ok := w.turns[t.Extends]; !ok {
				w.fail("turn %d extends %d, which is not there", t.Seq, t.Extends)
			}
			delete(w.turns, t.Extends)
		}
		if _, ok := w.turns[t.Seq]; ok {
			w.fail("turn %d comes twice", t.Seq)
		}
		w.turns[t.Seq] = t.Merged
		if !slices.Contains(t.Merged, t.Seq) || t.Held < 0 || t.Text == "" {
			w.fail("turn %+v", t)
		}
		if (t.Draft == turn.DraftSpoken) != (t.DraftText != "") || (t.Draft == turn.DraftDropped) != (t.DraftWhy != "") {
			w.fail("draft %+v", t)
		}
	case turn.DeliverPartial, turn.Extended:
		if w.objected || w.deleted {
			w.fail("speech is told after an objection or deletion")
		}
	case turn.PublishAnswer:
		w.answer(f.ID)
		if f.Delivered == (f.Reason != "") || f.Dropped && f.Delivered || f.Delivered != (f.Message > 0) {
			w.fail("answer %+v", f)
		}
		if f.Delivered && w.objected {
			w.fail("a publish is taken after an objection")
		}
	case turn.SpeakAnswer:
		w.answer(f.ID)
		if f.OK {
			w.allowed[f.Utterance] = true
		}
	case turn.DraftAnswer:
		w.answer(f.ID)
	case turn.Say:
		if w.active != 0 && w.active != f.Utterance {
			w.fail("utterance %d begins while %d is said", f.Utterance, w.active)
		}
		if w.objected && !w.allowed[f.Utterance] {
			w.fail("we speak after an objection")
		}
		if w.given[[2]int{f.Utterance, f.Piece}] || f.Text == "" && f.File == "" {
			w.fail("piece %+v", f)
		}
		w.given[[2]int{f.Utterance, f.Piece}] = true
		w.active = f.Utterance
		w.spoken = append(w.spoken, f)
	case turn.SpeechEnded:
		if w.active != 0 && f.Utterance != w.active {
			w.fail("utterance %d ends while %d is said", f.Utterance, w.active)
		}
		w.active = 0
	case turn.PlayClip:
		if w.active != 0 || w.objected {
			w.fail("a clip over our own voice, or after an objection")
		}
	case turn.MarkEcho:
		if !w.finals[f.Seq] {
			w.fail("an echo that was never heard")
		}
	}
}

func (w *world) answer(id string) {
	if w.asked[id] != 1 {
		w.fail("%q is answered, asked %d times", id, w.asked[id])
	}
	delete(w.asked, id)
}

func (w *world) bounded() {
	l := w.e.Load()
	if l.Open > 16 || l.Segments > 400 || l.Overheard > 32 || l.Streams > 8 || l.Waiting > 20000 || l.Remembered > 2000 {
		w.fail("a bound is exceeded: %+v", l)
	}
}

// rest wakes the engine until it has nothing to do at this moment.
func (w *world) rest(until time.Duration) {
	for range 200 {
		at, ok := w.e.Deadline()
		if !ok || at > until {
			w.now = max(w.now, until)
			return
		}
		w.now = max(w.now, at)
		w.step(turn.Tick{})
	}
	w.fail("the engine wants to be woken without end")
}

// end closes the meeting and counts.
func (w *world) end() {
	w.step(turn.Close{})
	if w.active != 0 {
		w.fail("utterance %d never ended", w.active)
	}
	if w.objected || w.deleted {
		return
	}
	where := map[transcript.Seq]int{}
	for _, segs := range w.turns {
		for _, s := range segs {
			where[s]++
		}
	}
	for s := range w.finals {
		if where[s] != 1 {
			w.fail("segment %d is in %d turns", s, where[s])
		}
		delete(where, s)
	}
	if len(where) > 0 {
		w.fail("turns have segments that nobody said: %v", where)
	}
}

func (w *world) play(kinds []byte) {
	for i, k := range kinds {
		gap := time.Duration(0)
		if i%2 == 1 {
			gap = time.Duration(w.r.IntN(700)) * time.Millisecond
			if k > 250 {
				gap = time.Duration(w.r.IntN(70)) * time.Second
			}
		}
		w.rest(w.now + gap)
		w.step(w.event(int(k)))
	}
	w.end()
}
