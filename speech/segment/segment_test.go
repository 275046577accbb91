package segment

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the expected effects in testdata")

// TestStories plays scripts: what is heard on the left, what the machine does about it indented below.
//
//	partials 500ms | silence 500ms | early 0.7    settings, at the top
//	say 1s [0.9]        frames with a speech probability (0.99 unless given)
//	hush 200ms [0.01]   frames without
//	loud 3000 | soft    how loud the following frames are
//	judge 0.9           the latest Judge is answered
//	draft complete      the latest Draft is decoded and reads like a sentence; "draft open": it does not
//	gap 5s, flush
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(raw))
			if *update {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(raw) {
				t.Errorf("the story goes otherwise:\n%s", got)
			}
		})
	}
}

type story struct {
	t      *testing.T
	c      Config
	m      *Machine
	level  int16
	judge  int64
	draft  int64
	flushN int64
	out    bytes.Buffer
}

func play(t *testing.T, script string) string {
	s := &story{t: t, c: Config{Silence: 500 * ms}, level: 1000}
	for _, line := range strings.Split(strings.TrimRight(script, "\n"), "\n") {
		if strings.HasPrefix(line, "    ") {
			continue // what is expected
		}
		fmt.Fprintln(&s.out, line)
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		s.do(words)
	}
	return s.out.String()
}

func (s *story) do(words []string) {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "partials":
		s.c.Partials = s.samples(arg(1))
		return
	case "silence":
		s.c.Silence = s.samples(arg(1))
		return
	case "early":
		s.c.Early = s.number(arg(1), 0)
		return
	case "loud":
		s.level = int16(s.number(arg(1), 0))
		return
	}
	if s.m == nil {
		s.m = New(s.c, 0)
	}
	switch words[0] {
	case "say":
		s.frames(s.samples(arg(1)), s.number(arg(2), 0.99))
	case "hush":
		s.frames(s.samples(arg(1)), s.number(arg(2), 0.01))
	case "judge":
		s.effects(s.m.Judged(s.judge, s.number(arg(1), 0)))
	case "draft":
		s.effects(s.m.Drafted(s.draft, arg(1) == "complete"))
	case "gap":
		s.effects(s.m.Gap(s.m.Pos() + s.samples(arg(1))))
	case "flush":
		s.flushN++
		s.effects(s.m.Flush(s.flushN))
	default:
		s.t.Fatalf("unknown line %q", words)
	}
}

func (s *story) frames(n int64, prob float64) {
	pcm := make([]int16, Frame)
	for i := range pcm {
		pcm[i] = s.level
	}
	for end := s.m.Pos() + n; s.m.Pos()+Frame <= end; {
		s.effects(s.m.Frame(pcm, prob))
	}
}

func (s *story) effects(list []Effect) {
	for _, e := range list {
		at := func(pos int64) string { return fmt.Sprintf("%.3f", float64(pos)/second) }
		text := ""
		switch e := e.(type) {
		case Activity:
			text = fmt.Sprintf("activity %v at %s", e.On, at(e.At))
		case Judge:
			s.judge = e.At
			text = "judge at " + at(e.At)
		case Decode:
			kind := []string{"partial", "draft", "final"}[e.Kind]
			if e.Kind == Draft {
				s.draft = e.ID
			}
			text = fmt.Sprintf("decode %d %s of segment %d: %s to %s, speech %s", e.ID, kind, e.Seg, at(e.Start), at(e.End), at(e.Speech))
		case Cancel:
			text = fmt.Sprintf("cancel %d", e.ID)
		case Close:
			text = fmt.Sprintf("close segment %d with %d: %s to %s, answers all before %s", e.Seg, e.ID, at(e.Start), at(e.End), at(e.Upto))
		case Quiet:
			text = "quiet before " + at(e.Upto)
		case Flushed:
			text = fmt.Sprintf("flushed %d", e.ID)
		}
		fmt.Fprintf(&s.out, "    %s  %s\n", at(s.m.Pos()), text)
	}
}

func (s *story) samples(text string) int64 {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return int64(d/time.Millisecond) * ms
}

func (s *story) number(text string, otherwise float64) float64 {
	if text == "" {
		return otherwise
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// Whatever is heard: segments do not overlap, nothing is answered twice, nothing is longer than the recogniser can
// hear, and a closed segment's decode is never cancelled.
func FuzzMachine(f *testing.F) {
	f.Add([]byte{200, 200, 200, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, uint8(1))
	f.Add(bytes.Repeat([]byte{250}, 1000), uint8(0))
	f.Fuzz(func(t *testing.T, in []byte, settings uint8) {
		c := Config{Silence: (200 + 300*int64(settings%4)) * ms, Early: float64(settings/4%2) * 0.5, Partials: int64(settings/8%2) * 500 * ms}
		m := New(c, 1000)
		answered := int64(1000)
		var judge, draft, flushes int64
		closed := map[int64]bool{}
		decodes := map[int64]Decode{}
		check := func(list []Effect) {
			for _, e := range list {
				switch e := e.(type) {
				case Judge:
					judge = e.At
				case Decode:
					if e.Kind == Draft {
						draft = e.ID
					}
					if e.End-e.Start > maxLength || e.End <= e.Start || e.End > m.Pos() || e.Start < answered {
						t.Fatalf("%+v with %d answered", e, answered)
					}
					decodes[e.ID] = e
				case Cancel:
					if closed[e.ID] {
						t.Fatal("a final was cancelled")
					}
				case Close:
					d, ok := decodes[e.ID]
					if !ok || closed[e.ID] || d.Start != e.Start || d.Seg != e.Seg || e.Onset < e.Start || e.Onset > e.End || d.End > e.Upto {
						t.Fatalf("%+v of %+v", e, d)
					}
					if e.Start < answered || e.Upto < e.End || e.End < e.Start || e.Upto > m.Pos() {
						t.Fatalf("%+v after %d", e, answered)
					}
					closed[e.ID] = true
					answered = e.Upto
				case Quiet:
					if e.Upto < answered {
						t.Fatalf("quiet before %d after %d", e.Upto, answered)
					}
					answered = e.Upto
				}
			}
		}
		pcm := make([]int16, Frame)
		for _, b := range in {
			switch {
			case b < 4:
				check(m.Judged(judge, float64(b)/3))
			case b < 8:
				check(m.Drafted(draft, b%2 == 0))
			case b == 8:
				flushes++
				check(m.Flush(flushes))
			case b == 9:
				check(m.Gap(m.Pos() + second))
			default:
				for range 1 + b%8 {
					pcm[0] = int16(b)
					check(m.Frame(pcm, float64(b)/255))
				}
			}
		}
	})
}
