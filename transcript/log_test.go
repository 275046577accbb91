package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func open(t *testing.T) (*Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m1a2b3c4d5e6.jsonl")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, path
}

func say(t *testing.T, l *Log, s Segment) Segment {
	t.Helper()
	s, err := l.Append(s)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLogNumbersAndRevises(t *testing.T) {
	l, path := open(t)
	a := say(t, l, Segment{Text: "Hello.", End: 1})
	b := say(t, l, Segment{Text: "Hi there.", Start: 1, End: 2})
	a.Speaker = &Speaker{Name: "Ada", Confidence: 0.8, Source: SourceHighlight}
	a2 := say(t, l, a)
	if a.Seq != 1 || b.Seq != 2 || a2.Seq != 1 || a2.Rev != 1 || l.NextSeq() != 3 {
		t.Fatalf("numbers: %d %d, revision %d.%d, next %d", a.Seq, b.Seq, a2.Seq, a2.Rev, l.NextSeq())
	}
	if got := l.Latest(); !reflect.DeepEqual(got, []Segment{a2, b}) {
		t.Errorf("latest = %+v", got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if all, err := ReadAll(path); err != nil || !reflect.DeepEqual(all, l.Latest()) {
		t.Errorf("read back %+v, %v", all, err)
	}
}

func TestCursorGivesEachLineOnce(t *testing.T) {
	l, path := open(t)
	var c Cursor
	seen := 0
	for i := range 246 {
		say(t, l, Segment{Text: fmt.Sprint("line ", i)})
		if i%7 != 0 {
			continue
		}
		for {
			p, err := ReadPage(path, c, 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Segments {
				seen++
				if s.Seq != Seq(seen) {
					t.Fatalf("line %d came as number %d", s.Seq, seen)
				}
			}
			c = p.Next
			if !p.More {
				break
			}
		}
		if seen != i+1 {
			t.Fatalf("after %d lines, %d were read", i+1, seen)
		}
	}
	for _, bad := range []Cursor{-1, 1, c + 1, 1 << 40} {
		if _, err := ReadPage(path, bad, 0); !errors.Is(err, ErrCursor) {
			t.Errorf("cursor %d: %v", bad, err)
		}
	}
	if p, err := l.Since(c, 0); err != nil || len(p.Segments) != 0 || p.More {
		t.Errorf("at the end: %+v, %v", p, err)
	}
}

func TestTornLastLine(t *testing.T) {
	l, path := open(t)
	say(t, l, Segment{Text: "whole"})
	end := l.size
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"seq":2,"text":"to`)
	f.Close()

	p, err := ReadPage(path, 0, 0)
	if err != nil || len(p.Segments) != 1 || p.Next != Cursor(end) || p.More {
		t.Fatalf("a reader sees %+v, %v", p, err)
	}
	l, err = OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Torn() != 19 {
		t.Errorf("torn: %d", l.Torn())
	}
	if s := say(t, l, Segment{Text: "after"}); s.Seq != 2 {
		t.Errorf("seq %d", s.Seq)
	}
	p, err = ReadPage(path, p.Next, 0)
	if err != nil || len(p.Segments) != 1 || p.Segments[0].Text != "after" || p.Skipped != 0 {
		t.Errorf("then %+v, %v", p, err)
	}
}

func TestBadLinesAreSkippedAndCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.jsonl")
	long := `{"seq":2,"text":"` + strings.Repeat("x", MaxLine) + `"}`
	data := "{\"seq\":1,\"text\":\"a\"}\nrubbish\n{\"seq\":-1}\n" + long + "\n\n{\"seq\":3,\"text\":\"b\"}\n"
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := ReadPage(path, 0, 0)
	if err != nil || len(p.Segments) != 2 || p.Skipped != 4 || int(p.Next) != len(data) {
		t.Errorf("%d segments, %d skipped, next %d of %d, %v", len(p.Segments), p.Skipped, p.Next, len(data), err)
	}
}

func TestErase(t *testing.T) {
	l, path := open(t)
	say(t, l, Segment{Text: "a secret"})
	reader, err := os.Open(path) // somebody else has it open
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := l.Erase(); err != nil {
		t.Fatal(err)
	}
	if b := make([]byte, 10); true {
		if n, _ := reader.Read(b); n > 0 {
			t.Errorf("an open reader still finds %q", b[:n])
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 || left[0].Name() != "m1a2b3c4d5e6.deleted" {
		t.Errorf("left: %v", left)
	}
	if len(l.Latest()) != 0 {
		t.Error("text is still in memory")
	}
	if _, err := l.Append(Segment{Text: "more"}); !errors.Is(err, ErrErased) {
		t.Errorf("append: %v", err)
	}
	if _, err := l.Since(0, 0); !errors.Is(err, ErrErased) {
		t.Errorf("since: %v", err)
	}
	if _, err := ReadPage(path, 0, 0); !errors.Is(err, ErrErased) {
		t.Errorf("read: %v", err)
	}
	if _, err := OpenLog(path); !errors.Is(err, ErrErased) {
		t.Errorf("open again: %v", err)
	}
	if err := l.Erase(); err != nil {
		t.Errorf("erase again: %v", err)
	}
}

func TestSweepFinishesDeletions(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"ma.ogg", "ma.2.ogg", "ma.jsonl", "ma.deleted", "mb.ogg", "mb.jsonl", "mab.ogg"} {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := SweepErased(dir)
	if err != nil || len(removed) != 3 {
		t.Errorf("removed %v, %v", removed, err)
	}
	left, _ := os.ReadDir(dir)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "ma.deleted mab.ogg mb.jsonl mb.ogg" {
		t.Errorf("left: %s", got)
	}
	if _, err := SweepErased(filepath.Join(dir, "absent")); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestTooLongSegmentLeavesTheLogUsable(t *testing.T) {
	l, _ := open(t)
	if _, err := l.Append(Segment{Text: strings.Repeat("x", MaxLine)}); !errors.Is(err, ErrTooLong) {
		t.Fatalf("got %v", err)
	}
	if s := say(t, l, Segment{Text: "fine"}); s.Seq != 1 {
		t.Errorf("seq %d", s.Seq)
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add([]byte("{\"seq\":1,\"text\":\"a\"}\n{\"seq\":1,\"rev\":1}\n{\"se"), 2)
	f.Add([]byte("\n\n\x00\n{}\n[1]\n{\"seq\":9223372036854775807}\n"), 0)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		var got []Segment
		var c Cursor
		for {
			p, err := readLines(bytes.NewReader(data[c:]), c, limit)
			if err != nil {
				t.Fatal(err)
			}
			if p.Next < c || int(p.Next) > len(data) || p.Next > 0 && data[p.Next-1] != '\n' {
				t.Fatalf("cursor %d after %d", p.Next, c)
			}
			got = append(got, p.Segments...)
			if !p.More || p.Next == c {
				break
			}
			c = p.Next
		}
		if rest := data[c:]; len(rest) > 0 && bytes.Count(rest, []byte("\n")) > 1000 {
			t.Fatal("stopped too early")
		}
		var v View
		for _, s := range got {
			v.Apply(s)
		}
		last := Seq(0)
		for _, s := range v.Segments() {
			if s.Seq <= last {
				t.Fatal("out of order")
			}
			last = s.Seq
		}
	})
}
