package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var at = time.Date(2026, 3, 1, 9, 30, 0, 125_000_000, time.UTC)

func sample(i int) Record {
	list := []Record{
		{At: at, Stage: "authorized", Tenant: "me", Token: "a1b2c3", Transport: "stdio", Tool: "meeting_join", Effect: "allow"},
		{At: at, Stage: "completed", Tenant: "me", Token: "a1b2c3", Transport: "stdio", Tool: "meeting_join", Meeting: "m-1", Effect: "allow", Took: 1234567 * time.Nanosecond},
		{At: at, Stage: "refused", Tenant: "me", Token: "a1b2c3", Transport: "http", Tool: "navigate", Effect: "deny", Rules: []string{"non-http-navigation", "url-payload"}, Code: "denied_by_policy"},
		{At: at, Stage: "failed", Tenant: "me", Transport: "control", Tool: "recording_get", Meeting: "m-1", Effect: "confirm", Approved: true, Code: "no_recording", Replayed: true},
	}
	return list[i%len(list)]
}

func open(t testing.TB, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func write(t testing.TB, l *Log, n int) {
	t.Helper()
	for i := range n {
		if err := l.Write(sample(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func verify(t testing.TB, dir string, records int64) Report {
	t.Helper()
	r, err := Verify(dir, nil)
	if err != nil || r.Records != records {
		t.Fatalf("%+v %v, want %d records", r, err, records)
	}
	return r
}

func TestAWholeChainHolds(t *testing.T) {
	dir := t.TempDir()
	verify(t, dir, 0)
	l := open(t, dir, Options{})
	write(t, l, 10)
	verify(t, dir, 10)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(sample(0)); err == nil {
		t.Error("a closed log takes records")
	}
	write(t, open(t, dir, Options{}), 3)
	if r := verify(t, dir, 13); r.First != 1 || r.Last != 13 {
		t.Errorf("%+v", r)
	}
	if info, err := os.Stat(filepath.Join(dir, current)); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

// TestWhatIsTakenAwayStaysMissing: records after it do not hide that records were taken off the end, neither those of the
// service that runs on nor those of the next one.
func TestWhatIsTakenAwayStaysMissing(t *testing.T) {
	cut := func(t *testing.T, dir string) {
		path := filepath.Join(dir, current)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Join(bytes.SplitAfter(good, []byte("\n"))[:3], nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	replaced := func(t *testing.T, dir string) { // the last record, with a hash that fits
		path := filepath.Join(dir, current)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(good, []byte("\n"))
		last, err := parse(bytes.TrimSuffix(lines[4], []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		last.Tool = "recording_get"
		if lines[4], _, err = last.line(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		take  func(*testing.T, string)
		alive bool  // the service runs on
		seq   int64 // what is missed first
	}{
		{"the end, under a service that runs", cut, true, 4},
		{"the end, between two", cut, false, 4},
		{"the file, under a service that runs", remove(current), true, 1},
		{"the file, between two", remove(current), false, 1},
		{"the last record, between two", replaced, false, 6},
		{"the end and the head, under a service that runs", func(t *testing.T, dir string) { cut(t, dir); remove(headFile)(t, dir) }, true, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			l := open(t, dir, Options{})
			write(t, l, 5)
			if !c.alive {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
			c.take(t, dir)
			if !c.alive {
				l = open(t, dir, Options{})
			}
			write(t, l, 3)
			_, err := Verify(dir, nil)
			var b *Broken
			if !errors.As(err, &b) || b.Seq != c.seq {
				t.Errorf("%v, want record %d", err, c.seq)
			}
		})
	}
	t.Run("the head alone", func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, dir, Options{})
		write(t, l, 5)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		remove(headFile)(t, dir)
		var b *Broken
		if _, err := Verify(dir, nil); !errors.As(err, &b) || b.File != headFile {
			t.Errorf("a missing head: %v", err)
		}
		write(t, open(t, dir, Options{}), 1)
		stages := ""
		if _, err := Verify(dir, func(e Entry) error { stages = e.e.Stage + " " + stages; return nil }); err != nil || !strings.Contains(stages, "recovered") {
			t.Errorf("%v, and the record does not say that the head was gone: %s", err, stages)
		}
	})
}

func TestEveryChangeIsFound(t *testing.T) {
	dir := t.TempDir()
	write(t, open(t, dir, Options{}), 8)
	path := filepath.Join(dir, current)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(good, []byte("\n"))
	lines = lines[:len(lines)-1]
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, c := range []struct {
		name string
		text []byte
		seq  int64
	}{
		{"a tool renamed", bytes.Replace(good, []byte("navigate"), []byte("navigata"), 1), 3},
		{"a line dropped", join(append(append([][]byte{}, lines[:3]...), lines[4:]...)...), 4},
		{"the first line dropped", join(lines[1:]...), 1},
		{"a line doubled", join(append(append([][]byte{}, lines[:4]...), lines[3:]...)...), 5},
		{"two lines swapped", join(append(append(append([][]byte{}, lines[:2]...), lines[3], lines[2]), lines[4:]...)...), 3},
		{"the end cut off", join(lines[:6]...), 7},
		{"all cut off", nil, 1},
		{"a foreign line", join(good, []byte("hello\n")), 9},
		{"a member added", bytes.Replace(good, []byte(`"stage"`), []byte(`"x":1,"stage"`), 1), 0},
	} {
		if err := os.WriteFile(path, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Verify(dir, nil)
		var b *Broken
		if !errors.As(err, &b) || b.Seq != c.seq {
			t.Errorf("%s: %v, want record %d", c.name, err, c.seq)
		}
	}
	// Any single byte.
	for i := 0; i < len(good); i += 13 {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(dir, nil); err == nil {
			t.Fatalf("byte %d changed, and nothing is said", i)
		}
	}
}

func TestRotationKeepsTheChain(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{MaxBytes: 1500, Keep: 3})
	write(t, l, 40)
	r, err := Verify(dir, nil)
	if err != nil || r.Files != 4 || r.First <= 1 || r.Last != 40 {
		t.Fatalf("%+v %v", r, err)
	}
	closed, err := closedFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(closed[1]); err != nil {
		t.Fatal(err)
	}
	var b *Broken
	if _, err := Verify(dir, nil); !errors.As(err, &b) {
		t.Errorf("a file in the middle is gone: %v", err)
	}
}

func TestALogContinuesAfterRotationWithAnEmptyFile(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	write(t, l, 3)
	l.Close()
	// A crash right after the rename.
	if err := os.Rename(filepath.Join(dir, current), filepath.Join(dir, fmt.Sprintf("audit-%020d.jsonl", 3))); err != nil {
		t.Fatal(err)
	}
	write(t, open(t, dir, Options{}), 2)
	verify(t, dir, 5)
}

func TestATornLineIsTakenOffAndTold(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	write(t, l, 2)
	l.Close()
	f, err := os.OpenFile(filepath.Join(dir, current), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"seq":3,"prev":"12`)
	f.Close()
	verify(t, dir, 2) // it may be a line being written
	write(t, open(t, dir, Options{}), 1)
	verify(t, dir, 4)
	text, _ := os.ReadFile(filepath.Join(dir, current))
	if !strings.Contains(string(text), `"stage":"recovered","lost_bytes":19`) {
		t.Errorf("%s", text)
	}
}

func TestTwoProcessesWriteOneChain(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, Options{MaxBytes: 4000, Keep: 100}), open(t, dir, Options{MaxBytes: 4000, Keep: 100})
	var wg sync.WaitGroup
	for _, l := range []*Log{a, b} {
		for range 2 {
			wg.Go(func() {
				for i := range 50 {
					if err := l.Write(sample(i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	verify(t, dir, 200)
}

func TestWhatIsNoNameIsBlottedOut(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	secret := "hunter2 is my password\n{\"x\""
	r := Record{At: at, Stage: "refused", Tenant: "me", Tool: secret, Meeting: secret, Code: secret, Rules: []string{secret}, Transport: strings.Repeat("x", 5000)}
	if err := l.Write(r); err != nil {
		t.Fatal(err)
	}
	verify(t, dir, 1)
	text, _ := os.ReadFile(filepath.Join(dir, current))
	if strings.Contains(string(text), "my password") || len(text) > 1500 || bytes.Count(text, []byte("\n")) != 1 {
		t.Errorf("%s", text)
	}
}

func TestAFullDiskIsAnError(t *testing.T) {
	l := open(t, t.TempDir(), Options{})
	write(t, l, 1)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	old := l.file
	l.file = full
	err = l.append(sample(0).entry(l.seq+1, l.hash))
	l.file = old
	l.mu.Unlock()
	full.Close()
	if err == nil {
		t.Fatal("a record that was not written counts as written")
	}
	write(t, l, 1)
	verify(t, l.dir, 2)
}

func TestRenderings(t *testing.T) {
	dir := t.TempDir()
	write(t, open(t, dir, Options{}), 4)
	var ecs, cef strings.Builder
	_, err := Verify(dir, func(e Entry) error {
		j, err := e.ECS()
		if err != nil {
			return err
		}
		c, err := e.CEF("1.2|3")
		fmt.Fprintf(&ecs, "%s\n", j)
		fmt.Fprintf(&cef, "%s\n", c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, got := range map[string]string{"ecs.jsonl": ecs.String(), "cef.txt": cef.String()} {
		path := filepath.Join("testdata", file)
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != got {
			t.Errorf("%s (UPDATE=1 rewrites it): %v\n%s", path, err, got)
		}
	}
}

func TestCEFEscapes(t *testing.T) {
	if got := header(`a|b\c` + "\n"); got != `a\|b\\c ` {
		t.Errorf("%q", got)
	}
	if got := extension("a=b\\c|d\ne"); got != `a\=b\\c|d\ne` {
		t.Errorf("%q", got)
	}
	if got := extension(strings.Repeat("ü", 600)); len(got) > maxCEF || strings.Contains(got, "\uFFFD") {
		t.Errorf("%d bytes", len(got))
	}
}

func FuzzParse(f *testing.F) {
	line, _, err := sample(2).entry(1, genesis).line()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line[:len(line)-1])
	f.Add([]byte(`{"hash":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := parse(text)
		if err == nil && !bytes.HasSuffix(text, []byte(`"`+e.Hash+`"}`)) {
			t.Fatal("a record that does not end in its hash")
		}
	})
}
