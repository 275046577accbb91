package meeting

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/meeting/wire"
	"parley/transcript"
)

// chance makes random worlds from a source of numbers: a generator, or the bytes of the fuzzer.
type chance interface{ n(below int) int }

type generator struct{ *rand.Rand }

func (g generator) n(below int) int { return g.IntN(below) }

// bytesChance is what the fuzzer plays with; it gives zeros when it is used up.
type bytesChance struct{ b []byte }

func (c *bytesChance) n(below int) int {
	if len(c.b) == 0 {
		return 0
	}
	v := int(c.b[0])
	c.b = c.b[1:]
	return v % below
}

func pick[T any](c chance, of ...T) T { return of[c.n(len(of))] }

func randomOptions(c chance) Options {
	return Options{
		Name: "Parley", Langs: []string{"en"}, Record: c.n(8) > 0, Transcribe: c.n(2) > 0, Partials: c.n(2) > 0,
		Permits:           Permits{Record: c.n(8) > 0, Speak: c.n(4) > 0, Chat: c.n(4) > 0, NoAnnounce: c.n(2) > 0, AcceptGates: c.n(2) > 0},
		Announce:          pick(c, AnnounceChat, AnnounceChat, AnnounceHost, AnnounceNone),
		AnnounceReason:    pick(c, "", "told"),
		OnAnnounceFailure: pick(c, FailRefuse, FailRefuse, FailHostOnly, FailRecord),
		StayOnOptOut:      c.n(2) > 0, ConsentGate: pick(c, GateAsk, GateAccept, GateLeave), AskHuman: c.n(2) > 0,
		AdmissionHold: pick(c, 0, 250*time.Millisecond, 2*time.Second), DryRun: c.n(20) == 1,
		SilentAfter: pick(c, 0, 0, 20*time.Minute), Inviter: pick(c, "", "", "Anna"),
	}
}

// world remembers what was asked, so that it can answer sometimes in order, sometimes late, twice or never.
type world struct {
	c     chance
	asked []Effect
	n     int
	seq   int
	now   time.Time
}

var errRandom = errors.New("random")

func (w *world) err() error {
	switch w.c.n(6) {
	case 0:
		return errRandom
	case 1:
		return ErrLate
	}
	return nil
}

func (w *world) remember(effects []Effect) {
	for _, e := range effects {
		switch e.(type) {
		case Open, Join, SendChat, SetMicrophone, RaiseHand, AnswerDialog, LeaveCall, StartRecorder, StopRecorder, DeleteRecording,
			StartTranscript, StopTranscript, PrepareSpeech, PlaySpeech, KeepPicture:
			w.asked = append(w.asked, e)
		}
	}
	if len(w.asked) > 20 {
		w.asked = w.asked[len(w.asked)-20:]
	}
}

// answer answers one of the last effects, mostly the last.
func (w *world) answer() Event {
	if len(w.asked) == 0 {
		return Begin{}
	}
	i := len(w.asked) - 1 - w.c.n(min(len(w.asked), 3))
	if w.c.n(10) == 0 {
		i = w.c.n(len(w.asked))
	}
	switch e := w.asked[i].(type) {
	case Open:
		return Opened{Err: w.err()}
	case Join:
		return Joined{Err: w.err()}
	case SendChat:
		r := ChatReceipt{SentTo: pick(w.c, e.To, e.To, e.To, HostOnly), Private: w.c.n(8) == 1}
		err := w.err()
		if err == errRandom {
			err = &ChatError{Failure: pick(w.c, ChatRestricted, ChatUnavailable, ChatNotConfirmed)}
		}
		return ChatSent{Op: e.Op, Receipt: r, Err: err}
	case SetMicrophone:
		d := DeviceOff
		if e.On {
			d = DeviceOn
		}
		return MicrophoneSet{Op: e.Op, Device: pick(w.c, d, d, d, DeviceUnknown, DeviceBlocked, DeviceOn), Err: w.err()}
	case RaiseHand:
		return HandRaised{Op: e.Op, Err: w.err()}
	case AnswerDialog:
		return DialogAnswered{Op: e.Op, Err: w.err()}
	case LeaveCall:
		return CallLeft{Err: w.err()}
	case StartRecorder:
		return RecorderStarted{Op: e.Op, Err: w.err()}
	case StopRecorder:
		return RecorderStopped{Op: e.Op, Recorded: Recorded{Seconds: 1}, Err: w.err()}
	case DeleteRecording:
		return RecordingDeleted{Op: e.Op, Marked: true, Err: w.err()}
	case StartTranscript:
		return TranscriptStarted{Op: e.Op, Err: w.err()}
	case StopTranscript:
		return TranscriptStopped{Op: e.Op, Err: w.err()}
	case PrepareSpeech:
		return SpeechReady{ID: e.ID, Duration: time.Duration(w.c.n(20)) * time.Second, Err: w.err()}
	case PlaySpeech:
		switch w.c.n(4) {
		case 0, 1:
			return SpeechStarted{ID: e.ID}
		case 2:
			return SpeechMade{ID: e.ID, Duration: time.Second}
		}
		return SpeechEnded{ID: e.ID, Err: w.err(), Played: Played{Interrupted: w.c.n(4) == 0}}
	case KeepPicture:
		return EvidenceKept{Path: "x", Err: w.err()}
	}
	return Deadline{}
}

func (w *world) seen() CallEvent {
	c := w.c
	switch c.n(11) {
	case 10:
		return SeenLobby{As: "guest"}
	case 0, 1, 2, 3:
		return SeenPlace{Breakout: c.n(4) == 0, Place: pick(c, PlaceLobby, PlaceWaiting, PlaceIn, PlaceIn, PlaceIn, PlaceIn, PlaceUnknown)}
	case 4:
		if c.n(6) == 0 {
			return SeenPlace{Place: PlaceOut, Reason: pick(c, "", "denied", "removed", "ended-for-all", "made-up")}
		}
		return SeenPlace{Place: PlaceIn}
	case 5:
		all := []Person{{ID: "1", Name: "Anna"}, {ID: "2", Name: "Ben", LikelyAI: c.n(3) == 0}, {ID: "3", Name: "us", Self: true}, {Name: "Parley"}}
		return SeenPeople{Count: c.n(5) - 1, People: all[:c.n(len(all)+1)]}
	case 6:
		return SeenSpeaking{Names: pick(c, []string{"Anna"}, nil), Self: c.n(2) > 0}
	case 7:
		return SeenChat{Sender: "Anna", Text: pick(c, "hello", "hello", "don't stop recording", "please don't record", "OK"), Own: c.n(6) == 0}
	case 8:
		return SeenDevice{Microphone: pick(c, DeviceOn, DeviceOff, DeviceBlocked, DeviceUnknown, "")}
	}
	return SeenDialog{ID: pick(c, "d1", "d2"), Kind: pick(c, "consent", "challenge", "unknown", "tip"), Choices: []string{"OK"}, Open: c.n(3) > 0}
}

func (w *world) command() Event {
	c := w.c
	w.n++
	id := strconv.Itoa(w.n)
	if c.n(12) == 0 && w.n > 1 {
		id = strconv.Itoa(1 + c.n(w.n)) // one that was used before
	}
	if c.n(8) == 0 {
		return Cancel{ID: id}
	}
	all := []wire.Command{
		{Speak: &wire.Speak{Text: "hi", Wait: c.n(2) > 0, Interrupt: c.n(2) > 0, KeepOpen: c.n(4) == 0}}, {Speak: &wire.Speak{Text: "hi"}}, {Speak: &wire.Speak{}},
		{StopSpeaking: &wire.Empty{}}, {Mute: &wire.Switch{On: true}}, {Mute: &wire.Switch{}}, {Hand: &wire.Switch{On: true}}, {ChatSend: &wire.ChatSend{Text: "OK"}},
		{Publish: &wire.Publish{Text: pick(c, "Sure. It is the first. And then some.", "Well.", "", strings.Repeat("long ", 800))}},
		{Publish: &wire.Publish{Text: "An answer to it.", Turn: int64(c.n(4)), Stream: pick(c, "", "s1")}},
		{Draft: &wire.Draft{Text: pick(c, "A draft of it. More.", ""), Ready: c.n(3) > 0}}, {Draft: &wire.Draft{Text: "Another one.", Ready: true, ForTurn: int64(c.n(5))}},
		{Chunk: &wire.Chunk{Stream: "s1", Index: c.n(20), Delta: "An answer to it. And ", Speculative: c.n(2) > 0}}, {Complete: &wire.Complete{Stream: "s1", Cancelled: c.n(2) > 0}},
		{StopTranscript: &wire.StopTranscript{Reason: "daily-cap"}},
		{Settings: &wire.Settings{Turn: map[string]string{pick(c, "ack_on_final", "barge_in", "speculative_speech", "turn_hold_ms"): pick(c, "true", "false", "0", "500")}}},
		{Answer: &wire.Choice{QuestionID: "q" + strconv.Itoa(1+c.n(4)), Choice: pick(c, "stay", "retry", "leave", "OK", "solved")}}, {Status: &wire.Empty{}}, {}, {TimeoutMS: int64(1 + c.n(5000)), Speak: &wire.Speak{Text: "x", Wait: true}},
	}
	if c.n(10) == 0 {
		all = append(all, wire.Command{Leave: &wire.Empty{}}, wire.Command{StopRecording: &wire.StopRecording{Delete: c.n(2) > 0}})
	}
	return Command{ID: id, Body: all[c.n(len(all))]}
}

func (w *world) event() Event {
	c := w.c
	switch c.n(12) {
	case 0, 1, 2, 3, 4:
		return w.answer()
	case 5, 6, 7:
		return Seen{w.seen()}
	case 8, 9:
		return w.command()
	case 10:
		if c.n(2) == 0 {
			w.seq++
		}
		seg := transcript.Segment{Seq: transcript.Seq(max(w.seq-c.n(2), 1)), Text: pick(c, "so then", "so then", "please stop recording", "ok", "what do you say to it?", "It is the first. And then some."), Echo: c.n(4) == 0}
		if c.n(3) > 0 {
			seg.Speaker = &transcript.Speaker{Name: pick(c, "Anna", "Ben")}
		}
		return pick[Event](c, Heard{Segment: seg, Final: c.n(2) > 0}, Heard{Segment: seg, Final: c.n(2) > 0}, HeardActivity{On: c.n(2) > 0},
			HeardTurnEnd{Prob: 0.5}, HearingBegan{At: w.now})
	}
	if c.n(30) == 0 {
		return pick[Event](c, PageGone{}, Shutdown{})
	}
	return Fault{Part: pick(c, PartRecorder, PartRecorder, PartSpeech, PartSpeech, PartVoice, PartDisk, PartSound, PartBrowser), Fatal: c.n(6) == 0, Kind: pick(c, "died", "auth")}
}

// live plays a random attendance and gives what the watcher found wrong.
func live(c chance, steps int) (*Machine, []error) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	m := New(now, randomOptions(c))
	w, watch := &world{c: c}, newWatcher()
	step := func(ev Event) {
		effects := m.Step(now, ev)
		watch.saw(m, ev, effects)
		w.remember(effects)
	}
	step(Begin{})
	for range steps {
		switch c.n(6) {
		case 0: // until the deadline
			if d := m.Deadline(); !d.IsZero() {
				now = d
				step(Deadline{})
			}
		case 1:
			now = now.Add(time.Duration(c.n(3000)) * time.Millisecond)
		}
		w.now = now
		step(w.event())
		if len(watch.errs) > 0 {
			return m, watch.errs
		}
	}
	// Whatever has happened: with nothing but time it comes to an end.
	for i := 0; m.State() != Ended; i++ {
		if i > 10_000 {
			watch.fail("it does not end: %s", m.State())
			break
		}
		now = m.Deadline()
		step(Deadline{})
	}
	return m, watch.errs
}

func TestRandomLives(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 400
	}
	reached := map[State]int{}
	reasons := map[Reason]int{}
	for seed := range uint64(n) {
		m, errs := live(generator{rand.New(rand.NewPCG(seed, 1))}, 150)
		for _, err := range errs {
			t.Errorf("seed %d: %v", seed, err)
		}
		if t.Failed() {
			return
		}
		for _, tr := range m.Trail() {
			reached[tr.To]++
		}
		reasons[m.Reason()]++
	}
	for _, s := range States[1:] {
		if reached[s] < n/20 {
			t.Errorf("the random worlds reach %s only %d times: they test little", s, reached[s])
		}
	}
	if len(reasons) < 12 {
		t.Errorf("only %d kinds of ends: %v", len(reasons), reasons)
	}
}

func FuzzMachine(f *testing.F) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 2))
		b := make([]byte, 600)
		for i := range b {
			b[i] = byte(r.UintN(256))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, errs := live(&bytesChance{b}, min(len(b), 400))
		for _, err := range errs {
			t.Error(err)
		}
	})
}
