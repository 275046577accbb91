package upload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/tenant"
)

func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *Store) put(t *testing.T, by tenant.ID, name, body string) File {
	t.Helper()
	f, err := s.Keep(t.Context(), by, name, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// left are the files below a folder, without locks.
func left(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(p, ".lock") {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAFileComesOnceAndIsItsTenantsAlone(t *testing.T) {
	s := open(t, Options{})
	f, err := s.Create("me", "report.pdf", 5)
	if err != nil || f.State != Waiting || f.Path != "" {
		t.Fatalf("%+v %v", f, err)
	}
	if _, err := s.Get("me", f.ID, ""); !errors.Is(err, ErrWaiting) {
		t.Errorf("before it came: %v", err)
	}
	if _, err := s.Put(t.Context(), "you", f.ID, strings.NewReader("hello"), 5); !errors.Is(err, ErrNotFound) {
		t.Errorf("another tenant sends: %v", err)
	}
	got, err := s.Put(t.Context(), "me", f.ID, strings.NewReader("hello"), 5)
	if err != nil || got.State != Ready || got.Size != 5 || got.Path != filepath.Join(s.o.Dir, "me", f.ID, "report.pdf") {
		t.Fatalf("%+v %v", got, err)
	}
	raw, err := os.ReadFile(got.Path)
	if err != nil || string(raw) != "hello" {
		t.Errorf("%q %v", raw, err)
	}
	info, err := os.Stat(got.Path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if _, err := s.Put(t.Context(), "me", f.ID, strings.NewReader("again"), 5); !errors.Is(err, ErrThere) {
		t.Errorf("a second time: %v", err)
	}
	_, never := s.Get("me", "f0123456789", "")
	if _, err := s.Get("you", f.ID, ""); !errors.Is(err, ErrNotFound) || err.Error() != never.Error() {
		t.Errorf("another tenant asks: %v", err)
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"report.pdf": true, "Übersicht (1).ogg": true, "-": true, ".hidden": true, "": false, " ": false, ".": false, "..": false, "a/b": false, `a\b`: false,
		"a\nb": false, "a\x00b": false, "\xff": false, "notes\u202egnp.exe": false, "a\u2028b": false, "סיכום.pdf": true, "👩‍💻.png": true, strings.Repeat("n", MaxName): true, strings.Repeat("n", MaxName+1): false,
	} {
		if _, err := Name(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestSizesOnBothSidesOfTheirBounds(t *testing.T) {
	for name, c := range map[string]struct {
		announced, length int64
		body              int
		want              string
	}{
		"as announced":                  {5, 5, 5, ""},
		"no word of it":                 {0, -1, 5, ""},
		"the header lies":               {5, 6, 6, "5 bytes were announced, and 6 came"},
		"fewer than announced":          {5, -1, 4, "5 bytes were announced, and 4 came"},
		"more than announced":           {5, -1, 6, "5 bytes were announced, and 6 came"},
		"the most of a file":            {0, -1, 100, ""},
		"more than that":                {0, -1, 101, "a file may have 100 bytes"},
		"more than that, by the header": {0, 101, 101, "a file may have 100 bytes"},
		"nothing":                       {0, 0, 0, ""},
	} {
		s := open(t, Options{MaxBytes: 100})
		f, err := s.Create("me", "f", c.announced)
		if err != nil {
			t.Fatal(err)
		}
		body := &counting{r: strings.NewReader(strings.Repeat("x", c.body))}
		_, err = s.Put(t.Context(), "me", f.ID, body, c.length)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && len(left(t, s.o.Dir)) > 0 {
			t.Errorf("%s: something stays on the disk", name)
		}
		if c.length > 100 && body.n > 0 {
			t.Errorf("%s: %d bytes were read although the header said enough", name, body.n)
		}
		if _, again := s.Put(t.Context(), "me", f.ID, strings.NewReader(strings.Repeat("x", int(c.announced))), -1); err != nil && again != nil {
			t.Errorf("%s: it cannot be sent again: %v", name, again)
		}
	}
	s := open(t, Options{MaxBytes: 100})
	var large *TooLargeError
	if _, err := s.Create("me", "f", 101); !errors.As(err, &large) {
		t.Errorf("announced larger than allowed: %v", err)
	}
}

type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

func TestATenantsBytesAreBounded(t *testing.T) {
	s := open(t, Options{TenantBytes: 100})
	a := s.put(t, "me", "a", strings.Repeat("x", 60))
	var large *TooLargeError
	if _, err := s.Create("me", "b", 41); !errors.As(err, &large) || !large.OfTenant {
		t.Errorf("announced: %v", err)
	}
	b, err := s.Create("me", "b", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int64{-1, 41} {
		if _, err := s.Put(t.Context(), "me", b.ID, strings.NewReader(strings.Repeat("x", 41)), length); !errors.As(err, &large) || !large.OfTenant {
			t.Errorf("sent with length %d: %v", length, err)
		}
	}
	if _, err := s.Keep(t.Context(), "you", "b", bytes.Repeat([]byte("x"), 100)); err != nil {
		t.Errorf("another tenant has its own: %v", err)
	}
	s.Drop("me", a.ID)
	if _, err := s.Put(t.Context(), "me", b.ID, strings.NewReader(strings.Repeat("x", 100)), -1); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if len(s.bytes) != 2 || s.bytes["me"] != 100 || s.bytes["you"] != 100 {
		t.Errorf("the books say %v", s.bytes)
	}
}

func TestOnlySoManyUploads(t *testing.T) {
	s := open(t, Options{})
	var last File
	for i := range MaxFiles {
		f, err := s.Create("me", "f", 0)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		last = f
	}
	if _, err := s.Create("me", "f", 0); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	if _, err := s.Create("you", "f", 0); err != nil {
		t.Error(err)
	}
	s.Drop("me", last.ID)
	if _, err := s.Create("me", "f", 0); err != nil {
		t.Error(err)
	}
}

func TestOnlySoManyStreams(t *testing.T) {
	s := open(t, Options{})
	pipes := make([]*io.PipeWriter, MaxStreams)
	done := make(chan error, MaxStreams)
	for i := range pipes {
		f, err := s.Create("me", "f", 0)
		if err != nil {
			t.Fatal(err)
		}
		r, w := io.Pipe()
		pipes[i] = w
		go func() {
			_, err := s.Put(t.Context(), "me", f.ID, r, -1)
			done <- err
		}()
		if _, err := w.Write([]byte("x")); err != nil { // it arrives
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "me", f.ID, strings.NewReader("y"), -1); !errors.Is(err, ErrArriving) {
			t.Errorf("a second sender of the same file: %v", err)
		}
	}
	f, err := s.Create("me", "f", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "me", f.ID, strings.NewReader("x"), -1); !errors.Is(err, ErrBusy) {
		t.Errorf("a fifth: %v", err)
	}
	if _, err := s.Keep(t.Context(), "you", "f", []byte("x")); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	_ = pipes[0].Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := s.Put(t.Context(), "me", f.ID, strings.NewReader("x"), -1); err != nil {
		t.Errorf("after one has come: %v", err)
	}
	// One that breaks off leaves nothing, and can be sent again.
	_ = pipes[1].CloseWithError(io.ErrUnexpectedEOF)
	if err := <-done; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	for _, p := range pipes[2:] {
		_ = p.Close()
		<-done
	}
	if len(s.streams) > 0 || s.all != 0 || s.bytes["me"] != 4 {
		t.Errorf("the books say %v, %d, %v", s.streams, s.all, s.bytes)
	}
}

func TestWhenAFileGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		there := func(id string) bool { _, err := s.Get("me", id, ""); return err == nil }
		waits, err := s.Create("me", "waits", 0)
		if err != nil {
			t.Fatal(err)
		}
		old := s.put(t, "me", "old", "x")
		one, both := s.put(t, "me", "one", "x"), s.put(t, "me", "both", "x")
		for id, sessions := range map[string][]string{one.ID: {"s1"}, both.ID: {"s1", "s2"}} {
			for _, session := range sessions {
				if _, err := s.Get("me", id, session); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.Released("s1")
		if there(one.ID) || !there(both.ID) {
			t.Error("the file of a session goes with it, and one of several with the last")
		}
		s.Released("s2")
		if there(both.ID) {
			t.Error("the last session has ended")
		}
		time.Sleep(15*time.Minute + time.Second)
		if _, err := s.Put(t.Context(), "me", waits.ID, strings.NewReader("x"), 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("it was waited for longer than 15 min: %v", err)
		}
		time.Sleep(44*time.Minute + 58*time.Second)
		if !there(old.ID) { // this keeps it two minutes longer
			t.Error("it went before the hour was over")
		}
		time.Sleep(2*time.Minute + time.Second)
		if there(old.ID) {
			t.Error("it is still there after an hour")
		}
		time.Sleep(sweepEvery)
		synctest.Wait()
		if files := left(t, s.o.Dir); len(files) > 0 {
			t.Errorf("on the disk: %v", files)
		}
	})
}

func TestAStartDeletesWhatADeadServiceLeftAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	dead, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	old := dead.put(t, "me", "old", "x")
	// It dies: its lock is free, its files stay.
	if err := dead.lock.Close(); err != nil {
		t.Fatal(err)
	}
	dead.end()
	dead.tasks.Wait()
	living := open(t, Options{Dir: dir})
	kept := living.put(t, "me", "kept", "x")
	open(t, Options{Dir: dir})
	if _, err := os.Stat(old.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of the dead: %v", err)
	}
	if _, err := os.Stat(kept.Path); err != nil {
		t.Errorf("the file of the living: %v", err)
	}
	locks, err := filepath.Glob(filepath.Join(dir, ".*.lock"))
	if err != nil || len(locks) != 2 {
		t.Errorf("%v %v", locks, err)
	}
}

func TestCloseEndsWhatArrivesAndDeletesAll(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s.put(t, "me", "a", "x")
	f, err := s.Create("me", "b", 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	body := &slow{more: make(chan struct{})}
	go func() { _, err := s.Put(context.Background(), "me", f.ID, body, -1); done <- err }()
	body.more <- struct{}{}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	<-s.life.Done()
	close(body.more) // another byte, and another: it does not wait for the end of them
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if files := left(t, dir); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
	if _, err := s.Create("me", "c", 0); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// slow gives a byte each time it is told to, and without end once more is closed.
type slow struct{ more chan struct{} }

func (s *slow) Read(b []byte) (int, error) {
	<-s.more
	b[0] = 'x'
	return 1, nil
}
