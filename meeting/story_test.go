package meeting

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/channel"
	"parley/meeting/wire"
	"parley/transcript"
	"parley/turn"
	"parley/turn/replay"
)

var update = flag.Bool("update", false, "rewrite the expected lines of stories and generated pages")

// TestStories plays testdata/*.txt. A line at the margin is what happens ("+5s chat Anna: please don't record"); the
// indented lines below it are what the machine did until the next one, and are rewritten by -update. Blank lines and
// those that begin with # are for the reader.
//
// A helpful world answers every effect a little later, unless a "world" line says how it fails or hangs.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { playFile(t, f) })
	}
}

func playFile(t *testing.T, file string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	s := newStory()
	for i, line := range strings.Split(strings.TrimRight(string(raw), "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "\t"):
			continue
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		default:
			if err := s.play(line); err != nil {
				t.Fatalf("%s:%d: %s: %v", file, i+1, line, err)
			}
			out.WriteString(line + "\n" + s.take())
		}
	}
	if err := s.wrong(); err != nil {
		t.Error(err)
	}
	s.replays(t, string(raw))
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := out.String(); got != string(raw) {
		t.Errorf("%s goes differently now (go test -run TestStories -update rewrites it):\n%s", file, diff(string(raw), got))
	}
}

// diff shows the first lines that differ.
func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d:\n- %s\n+ %s", i+1, a, b)
		}
	}
	return "no difference"
}

// story is a machine in a helpful world.
type story struct {
	o       Options
	m       *Machine
	now     time.Time
	start   time.Time
	queue   []coming
	lines   []string
	world   map[string]string
	orders  int
	watch   *watcher
	journal *Journal
	written bytes.Buffer
	playFor time.Duration
	level   float64 // at the microphone's source
	seq     transcript.Seq
	saying  bool // a partial came, its final did not
	from    float64
}

// coming is an answer of the world on its way.
type coming struct {
	at time.Time
	ev Event
}

func newStory() *story {
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	return &story{
		o: Options{ID: "m1", Name: "Parley (AI notetaker)", Record: true, Langs: []string{"en"},
			Permits: Permits{Record: true, Speak: true, Chat: true}},
		start: start, now: start, world: map[string]string{}, watch: newWatcher(),
		playFor: 3 * time.Second, level: -20,
	}
}

// play runs one line of the script.
func (s *story) play(line string) error {
	words := strings.Fields(line)
	if strings.HasPrefix(words[0], "+") {
		d, err := time.ParseDuration(words[0][1:])
		if err != nil {
			return err
		}
		s.pass(d)
		line = strings.TrimSpace(strings.TrimPrefix(line, words[0]))
		words = words[1:]
		if len(words) == 0 {
			return nil
		}
	}
	rest := strings.TrimSpace(strings.TrimPrefix(line, words[0]))
	switch words[0] {
	case "options":
		return s.options(words[1:])
	case "world":

		key, how, _ := strings.Cut(rest, ": ")
		s.world[key] = how
		return nil
	}
	ev, err := s.event(words, rest)
	if err != nil {
		return err
	}
	s.step(ev)
	return nil
}

func (s *story) options(words []string) error {
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		d, _ := time.ParseDuration(v)
		on := v != "no"
		switch k {
		case "record":
			s.o.Record = on
		case "transcribe":
			s.o.Transcribe = on
		case "partials":
			s.o.Partials = on
		case "announce":
			s.o.Announce = AnnounceMode(v)
		case "because":
			s.o.AnnounceReason = v
		case "failure":
			s.o.OnAnnounceFailure = AnnounceFailure(v)
		case "stay":
			s.o.StayOnOptOut = on
		case "owner":
			s.o.Owner = v
		case "langs":
			s.o.Langs = strings.Split(v, ",")
		case "hold":
			s.o.AdmissionHold = d
		case "maxwait":
			s.o.MaxWait = d
		case "alone":
			s.o.AloneAfter = d
		case "silent":
			s.o.SilentAfter = d
		case "max":
			s.o.MaxDuration = d
		case "inviter":
			s.o.Inviter = v
		case "gate":
			s.o.ConsentGate = GatePolicy(v)
		case "ask_human":
			s.o.AskHuman = on
		case "channel":
			s.o.NoChannel = !on
		case "play":
			s.playFor = d
		case "level":
			s.level, _ = strconv.ParseFloat(v, 64)
		case "dry_run":
			s.o.DryRun = on
		case "permit":
			switch v {
			case "no-speech":
				s.o.Permits.Speak = false
			case "no-chat":
				s.o.Permits.Chat = false
			case "no-record":
				s.o.Permits.Record = false
			case "silence":
				s.o.Permits.NoAnnounce = true
			case "gates":
				s.o.Permits.AcceptGates = true
			default:
				return fmt.Errorf("unknown permit %q", v)
			}
		default:
			set := turn.Default()
			if s.o.Turn != nil {
				set = *s.o.Turn
			}
			if err := set.Set(k, v); err != nil {
				return fmt.Errorf("unknown option %q: %w", k, err)
			}
			s.o.Turn = &set
		}
	}
	return nil
}

func (s *story) machine() *Machine {
	if s.m == nil {
		s.m = New(s.now, s.o)
	}
	return s.m
}

// pass lets time go by: deadlines and answers of the world happen in their order.
func (s *story) pass(d time.Duration) {
	until := s.now.Add(d)
	for {
		next := until
		var ev Event = Deadline{}
		i := -1
		for j, c := range s.queue {
			if c.at.Before(next) || (c.at.Equal(next) && i < 0 && !c.at.After(until)) {
				next, i = c.at, j
			}
		}
		if dl := s.machine().Deadline(); !dl.IsZero() && dl.Before(next) {
			next, i = dl, -1
		} else if i >= 0 {
			ev = s.queue[i].ev
		} else if dl.IsZero() || dl.After(until) {
			s.now = until
			return
		}
		if next.After(s.now) {
			s.now = next
		}
		if i >= 0 {
			s.queue = slices.Delete(s.queue, i, i+1)
		}
		s.step(ev)
	}
}

func (s *story) step(ev Event) {
	m := s.machine()
	effects := m.Step(s.now, ev)
	s.watch.saw(m, ev, effects)
	if s.journal == nil {
		s.journal = NewJournal(&s.written)
	}
	s.journal.write(s.now, m, ev, effects)
	for _, e := range effects {
		if say := sentence(e); say != "" {
			s.lines = append(s.lines, fmt.Sprintf("\t%s %s\n", clock(s.now.Sub(s.start)), say))
		}
		s.answer(e)
	}
}

func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%05.2f", int(d.Minutes()), (d % time.Minute).Seconds())
}

func (s *story) take() string {
	out := strings.Join(s.lines, "")
	s.lines = nil
	return out
}

// replays plays the journal again: every effect of the turn engine has to come again, and no word of anybody is in it.
func (s *story) replays(t *testing.T, script string) {
	rep, err := replay.Run(bytes.NewReader(s.written.Bytes()), replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Different > 0 {
		t.Errorf("the journal replays otherwise: %q", rep.First)
	}
	for _, word := range []string{"release", "Ada", "Anna", "Ben", "plan", "second part", "record this"} {
		if strings.Contains(script, word) && strings.Contains(s.written.String(), word) {
			t.Errorf("the journal holds %q", word)
		}
	}
}

func (s *story) wrong() error { return errors.Join(s.watch.errs...) }

// soon posts an event a little later.
func (s *story) soon(d time.Duration, ev Event) {
	s.queue = append(s.queue, coming{s.now.Add(d), ev})
}

// how is what the world does about something: "" helpful, "hangs", "fails", or words of its own.
func (s *story) how(what string) string { return s.world[what] }

var errWorld = errors.New("the world would not")

// answer is the helpful world.
func (s *story) answer(e Effect) {
	fail := func(what string) (error, bool) {
		switch h := s.how(what); h {
		case "", "works":
			return nil, true
		case "hangs":
			return nil, false
		case "fails":
			return errWorld, true
		default:
			return &EndError{Reason: Reason(h), Text: "what the page said"}, true
		}
	}
	switch e := e.(type) {
	case Open:
		if err, ok := fail("open"); ok {
			s.soon(800*time.Millisecond, Opened{Err: err})
		}
	case Join:
		if err, ok := fail("join"); ok {
			s.soon(500*time.Millisecond, Joined{Err: err})
		}
	case SendChat:
		h := s.how("chat " + string(e.To))
		ev := ChatSent{Op: e.Op, Receipt: ChatReceipt{SentTo: e.To, ID: "c" + strconv.Itoa(int(e.Op))}}
		switch h {
		case "", "works":
		case "hangs":
			return
		case "private":
			ev.Receipt.Private = true
		case "fails":
			ev.Err = errWorld
		default:
			ev.Err = &ChatError{Failure: ChatFailure(h)}
		}
		s.soon(200*time.Millisecond, ev)
	case SetMicrophone:
		ev := MicrophoneSet{Op: e.Op, Device: DeviceOff}
		if e.On {
			ev.Device = DeviceOn
		}
		switch h := s.how(fmt.Sprintf("microphone %s", map[bool]string{true: "on", false: "off"}[e.On])); h {
		case "", "works":
		case "hangs":
			return
		default:
			ev.Device, ev.Err = Device(h), errWorld
		}
		s.soon(100*time.Millisecond, ev)
	case RaiseHand:
		if err, ok := fail("hand"); ok {
			s.soon(100*time.Millisecond, HandRaised{Op: e.Op, Err: err})
		}
	case AnswerDialog:
		if err, ok := fail("dialog"); ok {
			s.soon(100*time.Millisecond, DialogAnswered{Op: e.Op, Err: err})
		}
	case LeaveCall:
		if err, ok := fail("leave"); ok {
			s.soon(300*time.Millisecond, CallLeft{Err: err})
		}
	case StartRecorder:
		if err, ok := fail("recorder start"); ok {
			s.soon(60*time.Millisecond, RecorderStarted{Op: e.Op, Err: err})
		}
	case StopRecorder:
		if err, ok := fail("recorder stop"); ok {
			s.soon(80*time.Millisecond, RecorderStopped{Op: e.Op, Recorded: Recorded{Seconds: 60, Bytes: 180000, Parts: 1, Path: "m.ogg"}, Err: err})
		}
	case DeleteRecording:
		if err, ok := fail("delete"); ok {
			s.soon(30*time.Millisecond, RecordingDeleted{Op: e.Op, Marked: true, Err: err})
		}
	case StartTranscript:
		if err, ok := fail("transcript start"); ok {
			s.soon(150*time.Millisecond, TranscriptStarted{Op: e.Op, Err: err})
		}
	case StopTranscript:
		if err, ok := fail("transcript stop"); ok {
			s.soon(100*time.Millisecond, TranscriptStopped{Op: e.Op, Err: err})
		}
	case PrepareSpeech:
		if err, ok := fail("prepare"); ok {
			s.soon(400*time.Millisecond, SpeechReady{ID: e.ID, Duration: s.playFor, Err: err})
		}
	case PlaySpeech:
		if err, ok := fail("play"); ok {
			s.soon(15*time.Millisecond, SpeechStarted{ID: e.ID})
			s.soon(15*time.Millisecond+s.playFor, SpeechEnded{ID: e.ID, Played: Played{Said: "all of it", Sounded: s.playFor, Level: &s.level}, Err: err})
		}
	case StopSpeech:
		s.queue = slices.DeleteFunc(s.queue, func(c coming) bool {
			end, ok := c.ev.(SpeechEnded)
			return ok && end.ID == e.ID
		})
		if _, ok := fail("stop"); ok {
			s.soon(20*time.Millisecond, SpeechEnded{ID: e.ID, Played: Played{Said: "half of it", Unsaid: "the rest", Interrupted: true, Sounded: time.Second}})
		}
	case KeepPicture:
		if err, ok := fail("picture"); ok {
			s.soon(90*time.Millisecond, EvidenceKept{Path: "evidence/" + e.Name + ".png", Err: err})
		}
	}
}

// event reads what happens.
func (s *story) event(words []string, rest string) (Event, error) {
	is := func(i int, w string) bool { return len(words) > i && words[i] == w }
	arg := func(i int) string {
		if len(words) > i {
			return words[i]
		}
		return ""
	}
	order := func(c wire.Command) Event {
		s.orders++
		return Command{ID: "#" + strconv.Itoa(s.orders), Body: c}
	}
	switch words[0] {
	case "begin":
		return Begin{}, nil
	case "page":
		ev := SeenPlace{Place: Place(arg(1)), Signs: []string{"sign-of-" + arg(1)}}
		if is(1, "gone") {
			return PageGone{}, nil
		}
		if is(1, "crashed") {
			ev.Place, ev.Signs = PlaceUnknown, []string{SignCrashed}
		}
		if ev.Place == PlaceOut {
			ev.Reason = arg(2)
		}
		return Seen{ev}, nil
	case "people":
		ev := SeenPeople{Count: -1}
		for _, w := range words[1:] {
			if n, err := strconv.Atoi(w); err == nil {
				ev.Count = n
				continue
			}
			name, kind, _ := strings.Cut(w, ":")
			ev.People = append(ev.People, Person{ID: strings.ToLower(name), Name: name, Self: kind == "us", LikelyAI: kind == "bot", Host: kind == "host"})
		}
		return Seen{ev}, nil
	case "speaking":
		ev := SeenSpeaking{At: s.now}
		for _, w := range words[1:] {
			if w == "us" {
				ev.Self = true
			} else {
				ev.Names = append(ev.Names, w)
			}
		}
		return Seen{ev}, nil
	case "chat":
		who, text, ok := strings.Cut(rest, ": ")
		if !ok {
			return nil, errors.New("want: chat NAME: TEXT")
		}
		return Seen{SeenChat{ID: "x", Sender: who, Text: text, Own: who == "us"}}, nil
	case "device":
		return Seen{SeenDevice{Microphone: Device(arg(1)), Camera: DeviceOff}}, nil
	case "dialog":
		// dialog d1 consent [Accept,Decline] text…
		if is(2, "closed") {
			return Seen{SeenDialog{ID: arg(1)}}, nil
		}
		unsure := is(2, "unsure") // dialog d1 unsure consent [Leave,Join] text…
		if unsure {
			words = slices.Delete(words, 2, 3)
		}
		return Seen{SeenDialog{ID: arg(1), Kind: words[2], Choices: strings.Split(words[3], ","), Text: strings.Join(words[4:], " "), Open: true, Unsure: unsure}}, nil
	case "lacks", "has":
		return Seen{SeenFault{Part: Part(arg(1)), Kind: arg(2), Mended: words[0] == "has"}}, nil
	case "heard", "partly":
		who, text, ok := strings.Cut(rest, ": ")
		if !ok {
			return nil, errors.New("want: heard NAME: TEXT")
		}
		now := s.machine().floor.clock(s.now).Seconds()
		if !s.saying {
			s.seq++
			s.from = max(now-1, 0)
		}
		s.saying = words[0] == "partly"
		seg := transcript.Segment{Seq: s.seq, Start: s.from, End: now, Text: text, Lang: "en", Speaker: &transcript.Speaker{Name: who, Confidence: 1}, Echo: who == "echo"}
		if who == "somebody" {
			seg.Speaker = nil
		}
		return Heard{Segment: seg, Final: !s.saying, Lag: 300 * time.Millisecond}, nil
	case "sound":
		return HeardActivity{On: is(1, "on")}, nil
	case "fault":
		return Fault{Part: Part(arg(1)), Kind: arg(2), Fatal: is(3, "fatal"), Err: errWorld}, nil
	case "shutdown":
		return Shutdown{Cause: "told to stop"}, nil
	case "told":
		// told to leave, told to speak …: commands
		c := strings.TrimPrefix(rest, "to ")
		return order(command(c)), nil
	case "chunk": // chunk s1 2 text, chunk! s1 2 text: speculative
		n, _ := strconv.Atoi(arg(2))
		return Command{Body: wire.Command{Chunk: &wire.Chunk{Stream: arg(1), Index: n, Delta: strings.Join(words[3:], " ") + " "}}}, nil
	case "chunk!":
		n, _ := strconv.Atoi(arg(2))
		return Command{Body: wire.Command{Chunk: &wire.Chunk{Stream: arg(1), Index: n, Delta: strings.Join(words[3:], " ") + " ", Speculative: true}}}, nil
	case "complete", "cancelled":
		return Command{Body: wire.Command{Complete: &wire.Complete{Stream: arg(1), Cancelled: words[0] == "cancelled"}}}, nil
	case "made": // the length of a piece is known
		return SpeechMade{ID: arg(1), Duration: s.playFor}, nil
	case "cancel":
		return Cancel{ID: arg(1)}, nil
	}
	return nil, fmt.Errorf("nobody knows what %q means", words[0])
}

func command(c string) wire.Command {
	verb, rest, _ := strings.Cut(c, " ")
	switch verb {
	case "say", "say-and-wait", "say-instead":
		return wire.Command{Speak: &wire.Speak{Text: rest, Wait: verb == "say-and-wait", Interrupt: verb == "say-instead"}}
	case "play":
		return wire.Command{Speak: &wire.Speak{File: rest}}
	case "publish":
		return wire.Command{Publish: &wire.Publish{Text: rest}}
	case "publish-long":
		n, _ := strconv.Atoi(rest)
		return wire.Command{Publish: &wire.Publish{Text: strings.Repeat("so long ", n/8)}}
	case "draft", "draft-ready":
		return wire.Command{Draft: &wire.Draft{Text: rest, Ready: verb == "draft-ready"}}
	case "set":
		k, v, _ := strings.Cut(rest, "=")
		return wire.Command{Settings: &wire.Settings{Turn: map[string]string{k: v}}}
	case "cap":
		return wire.Command{StopTranscript: &wire.StopTranscript{Reason: "daily-cap"}}
	case "hush":
		return wire.Command{StopSpeaking: &wire.Empty{}}
	case "mute":
		return wire.Command{Mute: &wire.Switch{On: true}}
	case "unmute":
		return wire.Command{Mute: &wire.Switch{On: false}}
	case "raise":
		return wire.Command{Hand: &wire.Switch{On: true}}
	case "write":
		return wire.Command{ChatSend: &wire.ChatSend{Text: rest}}
	case "stop":
		return wire.Command{StopRecording: &wire.StopRecording{}}
	case "delete":
		return wire.Command{StopRecording: &wire.StopRecording{Delete: true}}
	case "leave":
		return wire.Command{Leave: &wire.Empty{}}
	case "answer":
		q, choice, _ := strings.Cut(rest, " ")
		return wire.Command{Answer: &wire.Choice{QuestionID: q, Choice: choice}}
	case "report":
		return wire.Command{Status: &wire.Empty{}}
	}
	return wire.Command{}
}

// sentence says what an effect does; empty for what a reader of a story does not miss.
func sentence(e Effect) string {
	switch e := e.(type) {
	case OpenGate:
		return "LETS SOUND THROUGH"
	case CloseGate:
		return "LETS NO SOUND THROUGH"
	case ForgetHearing:
		return "forgets what it was hearing"
	case StopSpeech:
		return "falls silent (" + e.ID + ")"
	case Open:
		return "opens sound, display and browser"
	case Join:
		return "asks to join as " + e.Name
	case SendChat:
		return "writes to " + string(e.To) + ": " + cut(e.Text, 70)
	case SetMicrophone:
		return "switches the microphone " + map[bool]string{true: "on", false: "off"}[e.On]
	case RaiseHand:
		return "raises the hand"
	case AnswerDialog:
		return "clicks " + e.Choice + " in " + e.ID
	case LeaveCall:
		return "leaves the call"
	case ArmRecorder:
		return "arms the recorder"
	case StartRecorder:
		return "starts the recorder"
	case StopRecorder:
		return "stops the recorder"
	case DeleteRecording:
		return "DELETES THE RECORDING"
	case StartTranscript:
		return "starts the transcript"
	case StopTranscript:
		return "stops the transcript"
	case Append:
		return "writes down: " + e.Segment.Text
	case DuckSpeech:
		return map[bool]string{true: "gets quieter (", false: "comes back ("}[e.On] + e.ID + ")"
	case WarmSpeech:
		return "has acknowledgements made: " + strconv.Itoa(len(e.Texts))
	case PrepareSpeech:
		if e.Clip || strings.HasPrefix(e.ID, "p") {
			return "prepares " + e.ID + ": " + e.Text
		}
		return "prepares " + e.ID
	case PlaySpeech:
		return "plays " + e.ID
	case DropSpeech:
		return "drops " + e.ID
	case Note:
		return strings.TrimSpace("ledger: " + e.Entry.What + " " + strings.Join(names(e.Entry.People), ", ") + " " + e.Entry.SentTo + " " + e.Entry.Reason)
	case KeepPicture:
		return "takes a picture"
	case Answer:
		return "answers " + e.ID + ": " + answered(e.Body)
	case Tell:
		return told(e.Report)
	}
	return ""
}

func names(ps []LedgerPerson) []string {
	var ns []string
	for _, p := range ps {
		ns = append(ns, p.Name)
	}
	return ns
}

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

func answered(a wire.Answer) string {
	switch {
	case a.Error != nil:
		return string(a.Error.Code) + " (" + a.Error.Text + ")"
	case a.Speech != nil:
		return speech(a.Speech)
	case a.Publish != nil:
		p := a.Publish
		s := map[bool]string{true: "taken as say-" + strconv.Itoa(p.Message), false: "not taken (" + p.Reason + ")"}[p.Delivered]
		if p.Superseded {
			s += ", superseded"
		}
		if p.PrefixSkipped {
			s += ", its beginning was the draft"
		}
		if p.AlreadySaid != "" {
			s += fmt.Sprintf(", said before: %q", p.AlreadySaid)
		}
		return s
	case a.Draft != nil:
		return strings.TrimSpace(fmt.Sprintf("draft taken %t, says %q %s", a.Draft.OK, a.Draft.Sentence, a.Draft.Reason))
	case a.Chat != nil:
		return "sent to " + a.Chat.SentTo
	case a.Mic != nil:
		return "microphone " + a.Mic.State
	case a.Deleted != nil:
		return "deleted"
	case a.Status != nil:
		return "state " + a.Status.State
	}
	return "done"
}

func speech(r *wire.SpeechResult) string {
	s := strings.TrimSpace(r.ID + " " + r.State)
	if r.CutBy != "" {
		s += " by " + r.CutBy
	}
	if r.Said != "" {
		s += ", said " + strconv.Quote(cut(r.Said, 80))
	}
	if r.Unsaid != "" {
		s += ", not said " + strconv.Quote(cut(r.Unsaid, 80))
	}
	if r.Proof != nil {
		s += ", heard " + r.Proof.Heard
	}
	if r.MuteError != "" {
		s += ", " + r.MuteError
	}
	return s
}

func heardBy(m *wire.Told) string {
	var msg channel.Message
	if err := json.Unmarshal(m.Body, &msg); err != nil {
		return err.Error()
	}
	d := msg.Metadata
	s := msg.ID + " " + msg.Author.Name + ": " + strings.Join(msg.Text, " ")
	if msg.Partial {
		s = "(partly) " + s
	}
	if len(d.MergedSeqs) > 0 {
		s += fmt.Sprintf(" %v", d.MergedSeqs)
	}
	if d.Extends != 0 {
		s += fmt.Sprintf(" extends %d", d.Extends)
	}
	if d.HeldMS != nil {
		s += fmt.Sprintf(" held %d ms", *d.HeldMS)
	}
	if d.Echo {
		s += " (echo)"
	}
	return s
}

func told(r wire.Report) string {
	pre := "tells: "
	switch {
	case r.State != nil && r.State.Before == r.State.State:
		return pre + strings.TrimSpace("held by "+or(r.State.HeldBy, "nothing"))
	case r.State != nil:
		return strings.ToUpper(r.State.State) + map[bool]string{true: " (" + r.State.Reason + ")"}[r.State.Reason != ""]
	case r.Question != nil && r.Question.Closed != "":
		return pre + "question " + r.Question.ID + " " + r.Question.Closed + " " + r.Question.Choice
	case r.Question != nil:
		return fmt.Sprintf("%squestion %s %s %v, else %s in %d s", pre, r.Question.ID, r.Question.Kind, r.Question.Choices, r.Question.Default, r.Question.RemainingMS/1000)
	case r.Chat != nil:
		return pre + "chat of " + r.Chat.Sender + map[bool]string{true: " (ours)"}[r.Chat.Own]
	case r.OptOut != nil:
		return fmt.Sprintf("%soptout by %s of %s, leaving %t, deleted %t", pre, r.OptOut.By, r.OptOut.Sender, r.OptOut.Leaving, r.OptOut.Deleted)
	case r.Announce != nil:
		return fmt.Sprintf("%sannounced to %s %s", pre, r.Announce.SentTo, r.Announce.Reason) + map[bool]string{true: " (latecomers)"}[r.Announce.Late]
	case r.People != nil:
		return pre + "people " + strconv.Itoa(r.People.Count)
	case r.Transcript != nil:
		return pre + map[bool]string{true: "final: ", false: "partly: "}[r.Transcript.Final] + r.Transcript.Segment.Text
	case r.TranscriptStopped != nil:
		return pre + "transcript stopped (" + r.TranscriptStopped.Reason + ")"
	case r.Message != nil:
		return "AGENT HEARS " + heardBy(r.Message)
	case r.Channel != nil && r.Channel.Open:
		return "OPENS THE CHANNEL"
	case r.Channel != nil:
		return "CLOSES THE CHANNEL (" + r.Channel.Why + ")"
	case r.TurnExtended != nil:
		return pre + fmt.Sprintf("turn %d goes on: %s", r.TurnExtended.TurnSeq, r.TurnExtended.SoFar)
	case r.Interrupted != nil:
		by := "somebody"
		if r.Interrupted.By != nil {
			by = r.Interrupted.By.Name
		}
		return pre + r.Interrupted.ID + " interrupted by " + by
	case r.Speech != nil:
		return pre + "speech " + speech(r.Speech)
	case r.MicOpen != nil:
		return pre + "microphone may be open: " + r.MicOpen.State + map[bool]string{true: ", gave up"}[r.MicOpen.GaveUp] + map[bool]string{true: ", closed now"}[r.MicOpen.Closed]
	case r.Fault != nil:
		return pre + "fault of " + r.Fault.Part + " (" + r.Fault.Kind + "): " + r.Fault.Action
	case r.Ended != nil:
		s := pre + "ended (" + r.Ended.Reason + ") after " + strconv.FormatFloat(r.Ended.DurationS, 'f', 1, 64) + " s"
		switch {
		case r.Ended.Deleted:
			s += ", recording deleted"
		case r.Ended.Recording != nil:
			s += ", recording of " + strconv.FormatFloat(r.Ended.Recording.Seconds, 'f', 0, 64) + " s"
		}
		return s
	}
	return ""
}
