package replay

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley/transcript"
	"parley/turn"
)

// vocabulary is what people say in these tests; none of it may stand in a journal.
var vocabulary = strings.Fields("quarterly budget penguin release orchard meeting sandwich tomorrow violin harbor deadline " +
	"customer telescope invoice avalanche contract bicycle weather umbrella strategy")

var agreement = strings.Fields("mhm yeah okay right")

// record plays a random meeting with a voice that speaks in real time, and returns the journal.
func record(t *testing.T, seed uint64) (journal []byte, effects int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	set := turn.Default()
	set.AckOnFinal = r.IntN(2) == 0
	set.AgentPartials = r.IntN(2) == 0
	set.PrepareChunks = r.IntN(2) == 0
	set.SpeculativeSpeech = r.IntN(2) == 0
	set.AckPhrases = []string{"Penguin sandwich.", "Violin."}
	e := turn.New(set, nil)
	var b bytes.Buffer
	rec := NewRecorder(e, turn.Reference{}, &b)

	now := time.Duration(0)
	var voice []struct {
		at time.Duration
		ev turn.Event
	}
	busy := time.Duration(0)
	said := ""
	var step func(ev turn.Event)
	step = func(ev turn.Event) {
		for _, eff := range rec.Step(now, ev) {
			effects++
			switch f := eff.(type) {
			case turn.Say:
				begin := max(busy, now) + 80*time.Millisecond
				length := time.Duration(utf8.RuneCountInString(f.Text)+5) * time.Second / 14
				busy = begin + length
				said = f.Text
				voice = append(voice, struct {
					at time.Duration
					ev turn.Event
				}{begin, turn.Started{Utterance: f.Utterance, Piece: f.Piece, Length: length}}, struct {
					at time.Duration
					ev turn.Event
				}{busy, turn.Ended{Utterance: f.Utterance, Piece: f.Piece}})
			case turn.Stop:
				voice, busy = nil, now
			case turn.PlayClip:
				voice = append(voice, struct {
					at time.Duration
					ev turn.Event
				}{now + 400*time.Millisecond, turn.ClipEnded{}})
			}
		}
	}
	sleep := func(until time.Duration) {
		for {
			at, ok := e.Deadline()
			at += 3 * time.Millisecond // the loop is late
			ev := turn.Event(turn.Tick{})
			if len(voice) > 0 && (!ok || voice[0].at <= at) {
				at, ok, ev = voice[0].at, true, voice[0].ev
				if at <= until {
					voice = voice[1:]
				}
			}
			if !ok || at > until {
				now = max(now, until)
				return
			}
			now = max(now, at)
			step(ev)
		}
	}
	some := func(n int) string {
		var w []string
		for range n {
			w = append(w, vocabulary[r.IntN(len(vocabulary))])
		}
		w[0] = strings.ToUpper(w[0][:1]) + w[0][1:]
		return strings.Join(w, " ")
	}
	seq := transcript.Seq(0)
	people := []*transcript.Speaker{{ID: "x1", Name: "Penguin Harbor"}, {Name: "Violin"}, nil}
	for i := range 120 {
		sleep(now + time.Duration(300+r.IntN(4000))*time.Millisecond)
		switch r.IntN(9) {
		case 0, 1, 2, 3: // somebody speaks: partials that grow and change, then a final
			seq++
			who := people[r.IntN(len(people))]
			start := now
			words := strings.Fields(some(2 + r.IntN(9)))
			switch r.IntN(8) {
			case 0:
				words = agreement
			case 1:
				words = transcript.Words(said)
			case 2:
				words = append(words, "but", "not", "violin")
			}
			for n := 1; n < len(words); n += 1 + r.IntN(3) {
				sleep(now + time.Duration(200+r.IntN(500))*time.Millisecond)
				heard := slices.Clone(words[:n])
				if r.IntN(4) == 0 {
					heard[n-1] = "misheard"
				}
				step(turn.Partial{Seq: seq, Start: start, End: now, Text: strings.Join(heard, " "), Lang: "en", Speaker: who})
				if r.IntN(12) == 0 {
					step(turn.Draft{ID: fmt.Sprint("d", i), Text: some(5) + ". " + some(4) + ".", Ready: true})
				}
			}
			sleep(now + 500*time.Millisecond)
			end := []string{".", "?", "", "…", ", and."}[r.IntN(5)]
			step(turn.Final{Segment: transcript.Segment{Seq: seq, Start: start.Seconds(), End: (now - 300*time.Millisecond).Seconds(),
				Text: strings.Join(words, " ") + end, Lang: "en", Speaker: who}})
		case 4, 5:
			step(turn.Publish{ID: fmt.Sprint("p", i), Text: some(4+r.IntN(20)) + ", " + some(6) + ". " + some(4) + "?"})
		case 6:
			stream := fmt.Sprint("s", i)
			text := some(4) + ". " + some(5) + ". " + some(3) + "."
			for j := 0; j*17 < len(text); j++ {
				sleep(now + 150*time.Millisecond)
				step(turn.Chunk{Stream: stream, Index: j, Delta: text[j*17 : min(len(text), j*17+17)], Speculative: true})
			}
			if r.IntN(3) == 0 {
				step(turn.Complete{Stream: stream, Cancelled: true})
			} else {
				step(turn.Complete{Stream: stream, Text: text})
			}
			step(turn.Publish{ID: fmt.Sprint("q", i), Text: text, Stream: stream})
		case 7:
			step(turn.Speak{ID: fmt.Sprint("c", i), Text: some(8) + ".", Interrupt: r.IntN(2) == 0})
		case 8:
			step(turn.Shown{Who: [][]transcript.Person{nil, {{Name: "Violin"}}}[r.IntN(2)]})
		}
	}
	sleep(now + 30*time.Second)
	step(turn.Close{})
	if err := rec.Err(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), effects
}

func TestTheSamePolicyDoesTheSame(t *testing.T) {
	var effects, different int
	for seed := range uint64(30) {
		journal, n := record(t, seed)
		rep, err := Run(bytes.NewReader(journal), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Recorded != "reference" || rep.Policy != "reference" || rep.Events == 0 || rep.Counts.Turns == 0 {
			t.Fatalf("%+v", rep)
		}
		effects += n
		different += rep.Different
		if rep.Different > 0 {
			t.Logf("seed %d: %d of %d: %v", seed, rep.Different, n, rep.First[:min(3, len(rep.First))])
		}
	}
	t.Logf("%d of %d effects differ", different, effects)
	if different > 0 {
		t.Errorf("%d of %d effects differ", different, effects)
	}
}

func TestAJournalHoldsNoWords(t *testing.T) {
	journal, _ := record(t, 1)
	text := strings.ToLower(string(journal))
	for _, w := range append(slices.Clone(vocabulary), "misheard", "mhm", "yeah") {
		if strings.Contains(text, w) {
			t.Errorf("the journal says %q", w)
		}
	}
}

func TestAnotherSettingShows(t *testing.T) {
	journal, _ := record(t, 2)
	same, err := Run(bytes.NewReader(journal), Options{})
	if err != nil {
		t.Fatal(err)
	}
	faster, err := Run(bytes.NewReader(journal), Options{Change: func(s *turn.Settings) { s.TurnHold, s.TurnHoldComplete = 200*time.Millisecond, 50*time.Millisecond }})
	if err != nil {
		t.Fatal(err)
	}
	if faster.Held >= same.Held || faster.Different == 0 {
		t.Errorf("held %v, with shorter holds %v, %d differences", same.Held, faster.Held, faster.Different)
	}
	if _, err := Run(bytes.NewReader(journal), Options{Change: func(s *turn.Settings) { s.TurnLimit = 0 }}); err == nil {
		t.Error("settings that are wrong are taken")
	}
}

func TestBadJournals(t *testing.T) {
	for _, c := range []struct {
		text string
		err  error
	}{
		{"", ErrFormat},
		{"hello\n", ErrFormat},
		{`{"t":0,"k":"partial"}` + "\n", ErrFormat},
		{`{"turn":[{"t":0,"k":"begin","v":99}]}` + "\n", ErrVersion},
	} {
		if _, err := Run(strings.NewReader(c.text), Options{}); !errors.Is(err, c.err) {
			t.Errorf("%q: %v", c.text, err)
		}
	}
	torn := `{"turn":[{"t":0,"k":"begin","v":2}]}` + "\n" + `{"turn":[{"t":1,"k":"final","seq":1,"shape":"www."}]}` + "\n" + `{"t":2,"k":"fi`
	rep, err := Run(strings.NewReader(torn), Options{})
	if err != nil || rep.Events != 1 || rep.Counts.Turns != 1 {
		t.Errorf("a torn journal: %+v, %v", rep, err)
	}
}

func FuzzRun(f *testing.F) {
	f.Add([]byte(`{"turn":[{"t":0,"k":"begin","v":2,"settings":{"ack_phrases":"3","turn_hold_ms":"0"}}]}
{"turn":[{"t":1,"k":"partial","seq":1,"shape":"wao","kept":9}]}
{"turn":[{"t":2,"k":"final","seq":1,"shape":"wwwn?","before":[0,-1,99,-5],"who":{"i":1,"n":2}}]}
{"turn":[{"t":3,"k":"publish","id":1,"text":[{"n":1,"c":90,"m":40},{"n":-1,"c":-5}]}]}
{"turn":[{"t":4,"k":"started","u":1,"len":1e300}]}
{"t":1e400,"k":"close"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = Run(bytes.NewReader(data), Options{Each: func(time.Duration, string) {}})
	})
}
