package turn

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley/transcript"
)

var update = flag.Bool("update", false, "write the expected lines and docs/turns.md anew")

// TestStories runs testdata/*.txt. A story begins with "story TITLE" and "rules N…"; then come settings, events
// with their time in seconds, and, indented, what the engine does. Between two events the engine is woken
// whenever it wants to be. "voice" lets a voice play what is said: each piece begins 0.1 s after the one before
// ended (or after it was given) and takes a second for 14 letters.
func TestStories(t *testing.T) {
	for _, file := range storyFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			for _, s := range parseStories(t, file, string(want)) {
				s.run(t, &got)
			}
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if g, w := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n"); !slices.Equal(g, w) {
				for i := range max(len(g), len(w)) {
					if i >= len(g) || i >= len(w) || g[i] != w[i] {
						t.Fatalf("%s:%d differs (go test -update writes it anew)\n got %s\nwant %s", file, i+1, at(g, i), at(w, i))
					}
				}
			}
		})
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

func storyFiles(t *testing.T) []string {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "rules.txt" })
}

type story struct {
	file, title string
	rules       []int
	head        []string // comments above it
	lines       []string
}

func parseStories(t *testing.T, file, text string) []*story {
	t.Helper()
	var out []*story
	var head []string
	var cur *story
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "story "):
			cur = &story{file: filepath.Base(file), title: strings.TrimPrefix(line, "story "), head: head}
			head = nil
			out = append(out, cur)
		case cur == nil || strings.HasPrefix(line, "##"):
			head = append(head, line)
		case strings.HasPrefix(line, "rules "):
			for _, f := range strings.Fields(line)[1:] {
				n, err := strconv.Atoi(f)
				if err != nil {
					t.Fatalf("%s: %q", file, line)
				}
				cur.rules = append(cur.rules, n)
			}
		case strings.HasPrefix(line, "    "), line == "":
		default:
			cur.lines = append(cur.lines, line)
		}
	}
	return out
}

// stage is a story being played.
type stage struct {
	t      *testing.T
	e      *Engine
	out    *bytes.Buffer
	now    time.Duration
	starts map[transcript.Seq]time.Duration
	voice  bool
	line   []planned // what the voice will report
	busy   time.Duration
}

type planned struct {
	at time.Duration
	ev Event
}

func (s *story) run(t *testing.T, out *bytes.Buffer) {
	t.Helper()
	for _, h := range s.head {
		fmt.Fprintln(out, h)
	}
	fmt.Fprintf(out, "story %s\nrules", s.title)
	for _, r := range s.rules {
		fmt.Fprint(out, " ", r)
	}
	fmt.Fprintln(out)
	set := Default()
	st := &stage{t: t, out: out, starts: map[transcript.Seq]time.Duration{}}
	for _, line := range s.lines {
		if name, ok := strings.CutPrefix(line, "set "); ok {
			name, value, _ := strings.Cut(name, " ")
			if err := set.Set(name, value); err != nil {
				t.Fatalf("%s: %v", s.title, err)
			}
			fmt.Fprintln(out, line)
			continue
		}
		if line == "voice" {
			st.voice = true
			fmt.Fprintln(out, line)
			continue
		}
		if strings.HasPrefix(line, "#") {
			fmt.Fprintln(out, line)
			continue
		}
		if st.e == nil {
			st.e = New(set, nil)
		}
		when, rest, _ := strings.Cut(line, " ")
		sec, err := strconv.ParseFloat(when, 64)
		if err != nil {
			t.Fatalf("%s: %q: no time", s.title, line)
		}
		st.sleep(secondsOf(sec))
		fmt.Fprintln(out, line)
		st.step(st.parse(rest))
	}
	// What is still to come within the next minute belongs to the story.
	st.sleep(st.now + time.Minute)
	fmt.Fprintln(out)
}

// sleep lets time pass: the engine is woken at its deadlines, the voice reports what it plays.
func (st *stage) sleep(until time.Duration) {
	for range 10000 {
		next, ok := st.e.Deadline()
		ev := Event(Tick{})
		if len(st.line) > 0 && (!ok || st.line[0].at <= next) {
			next, ok, ev = st.line[0].at, true, st.line[0].ev
			if next <= until {
				st.line = st.line[1:]
			}
		}
		if !ok || next > until {
			st.now = max(st.now, until)
			return
		}
		st.now = max(st.now, next)
		st.step(ev)
	}
	st.t.Fatal("the engine wants to be woken without end")
}

func (st *stage) step(ev Event) {
	for _, eff := range st.e.Step(st.now, ev) {
		fmt.Fprintf(st.out, "    %.3f %s\n", st.now.Seconds(), describe(eff))
		if st.voice {
			st.perform(eff)
		}
	}
}

// perform is the voice of a story.
func (st *stage) perform(eff Effect) {
	add := func(at time.Duration, ev Event) { st.line = append(st.line, planned{at, ev}) }
	switch eff := eff.(type) {
	case Say:
		begin := max(st.busy, st.now) + 100*time.Millisecond
		length := time.Duration(max(7, utf8.RuneCountInString(eff.Text))) * time.Second / 14
		st.busy = begin + length
		add(begin, Started{eff.Utterance, eff.Piece, length})
		add(st.busy, Ended{eff.Utterance, eff.Piece})
	case PlayClip:
		add(st.now+500*time.Millisecond, ClipEnded{})
	case Stop:
		st.line = slices.DeleteFunc(st.line, func(p planned) bool {
			switch ev := p.ev.(type) {
			case Started:
				return ev.Utterance == eff.Utterance
			case Ended:
				return ev.Utterance == eff.Utterance
			}
			return eff.Utterance == 0
		})
		st.busy = st.now
	case Unsay:
		st.line = slices.DeleteFunc(st.line, func(p planned) bool {
			switch ev := p.ev.(type) {
			case Started:
				return ev.Utterance == eff.Utterance && slices.Contains(eff.Pieces, ev.Piece)
			case Ended:
				return ev.Utterance == eff.Utterance && slices.Contains(eff.Pieces, ev.Piece)
			}
			return false
		})
		st.busy = st.now
		for _, p := range st.line {
			st.busy = max(st.busy, p.at)
		}
	}
}

// args are the words of a line, with "quoted text" as one.
type args struct {
	t     *testing.T
	words []string
	line  string
}

func (a *args) next() string {
	if len(a.words) == 0 {
		a.t.Fatalf("%q is too short", a.line)
	}
	w := a.words[0]
	a.words = a.words[1:]
	return w
}

func (a *args) flag(name string) bool {
	if i := slices.Index(a.words, name); i >= 0 {
		a.words = slices.Delete(a.words, i, i+1)
		return true
	}
	return false
}

func (a *args) option(name string) string {
	for i, w := range a.words {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			a.words = slices.Delete(a.words, i, i+1)
			return v
		}
	}
	return ""
}

func (a *args) seq(s string) transcript.Seq {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		a.t.Fatalf("%q: %v", a.line, err)
	}
	return transcript.Seq(n)
}

func (a *args) seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		a.t.Fatalf("%q: %v", a.line, err)
	}
	return secondsOf(f)
}

// piece reads "utterance.piece".
func (a *args) piece() (u, p int) {
	if _, err := fmt.Sscanf(a.next(), "%d.%d", &u, &p); err != nil {
		a.t.Fatalf("%q: %v", a.line, err)
	}
	return u, p
}

func words(line string) []string {
	var out []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] == '"' {
			end := strings.IndexByte(line[1:], '"')
			text := line[1:]
			line = ""
			if end >= 0 {
				line = text[end+1:]
				text = text[:end]
			}
			if n, ok := strings.CutPrefix(text, "long:"); ok { // a text of so many characters
				count, _ := strconv.Atoi(n)
				text = strings.Repeat("Many a word. ", count/13+1)[:count]
			}
			out = append(out, text)
			continue
		}
		w, rest, _ := strings.Cut(line, " ")
		out = append(out, w)
		line = rest
	}
	return out
}

func who(name string) *transcript.Speaker {
	if name == "?" {
		return nil
	}
	return &transcript.Speaker{Name: name}
}

func (st *stage) parse(line string) Event {
	a := &args{t: st.t, words: words(line), line: line}
	switch verb := a.next(); verb {
	case "hears":
		lang := a.option("lang")
		if lang == "" {
			lang = "en"
		}
		seq, speaker := a.seq(a.next()), who(a.next())
		if _, ok := st.starts[seq]; !ok {
			st.starts[seq] = st.now - 300*time.Millisecond
		}
		return Partial{Seq: seq, Start: st.starts[seq], End: st.now, Text: a.next(), Lang: lang, Speaker: speaker}
	case "final":
		lang := a.option("lang")
		if lang == "" {
			lang = "en"
		}
		from := a.option("from")
		rev := a.option("rev")
		seq, speaker := a.seq(a.next()), who(a.next())
		start, ok := st.starts[seq]
		if !ok {
			start = st.now - 1500*time.Millisecond
		}
		if from != "" {
			start = a.seconds(from)
		}
		s := transcript.Segment{Seq: seq, Start: start.Seconds(), End: (st.now - 400*time.Millisecond).Seconds(), Text: a.next(), Lang: lang, Speaker: speaker}
		s.Rev = int(a.seq(rev))
		return Final{Segment: s}
	case "shown":
		var list []transcript.Person
		for n := range strings.SplitSeq(a.next(), ",") {
			if n != "nobody" {
				list = append(list, transcript.Person{Name: n})
			}
		}
		return Shown{list}
	case "publish":
		return Publish{Turn: a.seq(a.option("turn")), Stream: a.option("stream"), ID: a.next(), Text: a.next()}
	case "chunk":
		ev := Chunk{Speculative: a.flag("speculative"), Turn: a.seq(a.option("turn")), Stream: a.next()}
		ev.Index = int(a.seq(a.next()))
		ev.Delta = a.next()
		return ev
	case "complete":
		ev := Complete{Cancelled: a.flag("cancelled"), Stream: a.next()}
		if len(a.words) > 0 {
			ev.Text = a.next()
		}
		return ev
	case "speak":
		ev := Speak{Interrupt: a.flag("interrupt"), File: a.option("file"), ID: a.next()}
		if ev.File == "" {
			ev.Text = a.next()
		}
		return ev
	case "draft":
		return Draft{Ready: a.flag("ready"), ForTurn: a.seq(a.option("for")), ID: a.next(), Text: a.next()}
	case "started":
		u, p := a.piece()
		return Started{u, p, a.seconds(a.next())}
	case "prepared":
		u, p := a.piece()
		return Prepared{u, p, a.seconds(a.next())}
	case "progress":
		u, p := a.piece()
		return Progress{u, p, a.seconds(a.next()), a.seconds(a.next())}
	case "ended":
		u, p := a.piece()
		return Ended{u, p}
	case "failed":
		u, p := a.piece()
		return Failed{u, p}
	case "change":
		set := st.e.Settings()
		if err := set.Set(a.next(), a.next()); err != nil {
			st.t.Fatal(err)
		}
		return Change{set}
	case "stop-speaking":
		return StopSpeaking{}
	case "clip-ended":
		return ClipEnded{}
	case "transcript-stopped":
		return TranscriptStopped{}
	case "transcript-deleted":
		return TranscriptDeleted{}
	case "objected":
		return Objected{}
	case "close":
		return Close{}
	default:
		st.t.Fatalf("what is %q?", verb)
		return nil
	}
}

// describe is an effect on one line of a story.
func describe(eff Effect) string {
	var b strings.Builder
	opt := func(format string, set bool, v any) {
		if set {
			fmt.Fprintf(&b, " "+format, v)
		}
	}
	name := func(s *transcript.Speaker) string {
		if s == nil {
			return "?"
		}
		return s.Name
	}
	switch f := eff.(type) {
	case Deliver:
		t := f.Turn
		fmt.Fprintf(&b, "turn %d", t.Seq)
		opt("merged=%v", len(t.Merged) > 1, t.Merged)
		opt("extends=%d", t.Extends != 0, t.Extends)
		fmt.Fprintf(&b, " by=%s held=%v %q", name(t.Speaker), t.Held.Milliseconds(), t.Text)
		opt("%s", t.Echo, "echo")
		opt("draft=%s", t.Draft != DraftNone, t.Draft)
		opt("%q", t.DraftText != "", t.DraftText)
		opt("because=%s", t.DraftWhy != "", t.DraftWhy)
	case DeliverPartial:
		fmt.Fprintf(&b, "partial %d by=%s %q", f.Seq, name(f.Speaker), f.Text)
	case Extended:
		fmt.Fprintf(&b, "extended %d by=%s %q so far %q", f.Turn, name(f.Speaker), f.TurnText, f.SoFar)
	case PublishAnswer:
		fmt.Fprintf(&b, "answer %s", f.ID)
		opt("delivered, message %d", f.Delivered, f.Message)
		opt("%s", !f.Delivered, "not delivered")
		opt("%s", f.Dropped, "dropped")
		opt("because=%s", f.Reason != "", f.Reason)
		opt("%s", f.Superseded, "superseded_by_new_speech")
		opt("turn=%d", f.Turn != 0, f.Turn)
		opt("last_turn=%d", f.LastTurn != 0, f.LastTurn)
		opt("%s", f.PrefixSkipped, "draft_prefix_skipped")
		opt("already said %q", f.AlreadySaid != "", f.AlreadySaid)
	case SpeakAnswer:
		fmt.Fprintf(&b, "answer %s", f.ID)
		opt("utterance %d", f.OK, f.Utterance)
		opt("refused because=%s", !f.OK, f.Reason)
	case DraftAnswer:
		fmt.Fprintf(&b, "answer %s", f.ID)
		opt("draft %q", f.OK, f.Sentence)
		opt("refused because=%s", !f.OK, f.Reason)
	case Say:
		fmt.Fprintf(&b, "say %d.%d %s", f.Utterance, f.Piece, f.Kind)
		opt("%q", f.Text != "", short(f.Text))
		opt("file %s", f.File != "", f.File)
	case Unsay:
		fmt.Fprintf(&b, "unsay %d%v", f.Utterance, f.Pieces)
	case Stop:
		fmt.Fprintf(&b, "stop %d", f.Utterance)
	case Duck:
		fmt.Fprintf(&b, "duck %d", f.Utterance)
	case Restore:
		fmt.Fprintf(&b, "restore %d", f.Utterance)
	case Prepare:
		fmt.Fprintf(&b, "prepare %q", f.Text)
	case PlayClip:
		fmt.Fprintf(&b, "clip %d %q", f.Phrase, f.Text)
	case SpeechEnded:
		fmt.Fprintf(&b, "speech %d %s %s", f.Utterance, f.Kind, f.State)
		opt("of %s", f.ID != "", f.ID)
		opt("%s", f.BargeIn, "barge_in")
		opt("said %q", f.Said != "", short(f.Said))
		opt("unsaid %q", f.Unsaid != "", short(f.Unsaid))
		if f.BargeIn {
			fmt.Fprintf(&b, " by=%s %q", name(f.By), f.ByText)
		}
	case MarkEcho:
		fmt.Fprintf(&b, "echo %d", f.Seq)
	default:
		fmt.Fprintf(&b, "%T %+v", eff, eff)
	}
	return b.String()
}

func short(s string) string {
	if len(s) > 120 {
		return s[:100] + fmt.Sprintf("… (%d characters)", utf8.RuneCountInString(s))
	}
	return s
}
