package files

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const id = "m0123456789ab"

func set(t *testing.T) Set {
	t.Helper()
	s, err := Of(t.TempDir(), "me", id)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	return s
}

func fill(t *testing.T, s Set) {
	t.Helper()
	for _, p := range []string{s.Part(1), s.Part(2), s.Transcript(), s.at(".ogg.tmp")} {
		if err := os.WriteFile(p, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Keep("end.png", []byte("x")); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var ns []string
	for _, e := range es {
		ns = append(ns, e.Name())
	}
	return ns
}

func TestNotes(t *testing.T) {
	s := set(t)
	if n, err := s.Notes(); n != nil || err != nil {
		t.Errorf("none yet: %v %v", n, err)
	}
	for range 2 {
		if err := s.Note(map[string]string{"what": "x"}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(s.Ledger(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"what":"cut o`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if n, err := s.Notes(); err != nil || len(n) != 2 || string(n[1]) != `{"what":"x"}` {
		t.Errorf("%s %v", n, err)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		tenant, id string
		ok         bool
	}{
		{"me", id, true}, {"A.b-c_1", id, true},
		{"", id, false}, {"..", id, false}, {"a/b", id, false}, {".me", id, false},
		{"me", "", false}, {"me", "m0123456789aB", false}, {"me", "m0123456789ab/", false}, {"me", "../m0123456789ab", false}, {"me", "m0123456789abc", false},
	} {
		if _, err := Of("/d", c.tenant, c.id); (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrName)) {
			t.Errorf("%q %q: %v", c.tenant, c.id, err)
		}
	}
}

func TestDeletionLeavesTheMarkerAlone(t *testing.T) {
	s := set(t)
	fill(t, s)
	neighbour, _ := Of(s.data, "me", "m0123456789ac")
	fill(t, neighbour)
	if err := s.Note(map[string]string{"what": "announced"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s.Dir()); got[0] != id+MarkerExt || len(got) != 6 {
		t.Errorf("left: %v", got)
	}
	if info, _ := os.Stat(s.Marker()); info.Size() != 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("marker: %v", info)
	}
	if _, err := os.Stat(s.Ledger()); err != nil {
		t.Error("the ledger went along")
	}
	if err := s.Delete(); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if _, err := s.Keep("late.png", []byte("x")); err == nil {
		t.Error("evidence was kept beside a marker")
	}
}

// A crash between any two steps of a deletion is finished by the next sweep.
func TestSweepFinishesInterruptedDeletions(t *testing.T) {
	s := set(t)
	fill(t, s)
	if err := s.Mark(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // one more file gone each time
		done, err := Sweep(s.data, time.Now(), Policy{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(done.Finished, []string{id}) {
			t.Errorf("finished: %v", done.Finished)
		}
		if got := names(t, s.Dir()); !slices.Equal(got, []string{id + MarkerExt}) {
			t.Errorf("left: %v", got)
		}
		if err := os.WriteFile(s.Transcript(), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRetention(t *testing.T) {
	month := 30 * 24 * time.Hour
	for _, c := range []struct {
		name    string
		age     time.Duration
		keep    time.Duration
		busy    bool
		expires bool
	}{
		{"a second before", month - time.Second, month, false, false},
		{"at the time", month, month, false, true},
		{"old, but going on", 2 * month, month, true, false},
		{"for ever", 100 * month, -1, false, false},
		{"not at all", time.Second, 0, false, true},
	} {
		s := set(t)
		fill(t, s)
		now := time.Now().Truncate(time.Second)
		for _, n := range names(t, s.Dir()) {
			if err := os.Chtimes(filepath.Join(s.Dir(), n), now.Add(-c.age), now.Add(-c.age)); err != nil {
				t.Fatal(err)
			}
		}
		p := Policy{Keep: func(string) time.Duration { return c.keep }, Busy: func(string) bool { return c.busy }}
		done, err := Sweep(s.data, now, p)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(done.Expired) == 1; got != c.expires || s.Deleted() != c.expires {
			t.Errorf("%s: %+v", c.name, done)
		}
		if !c.expires {
			continue
		}
		// The marker of a deletion stays as long again.
		done, _ = Sweep(s.data, now, Policy{Keep: func(string) time.Duration { return month }})
		if done.Markers != 0 || !s.Deleted() {
			t.Errorf("%s: the marker went at once", c.name)
		}
		done, _ = Sweep(s.data, now.Add(month+time.Hour), Policy{Keep: func(string) time.Duration { return month }})
		if done.Markers != 1 || s.Deleted() {
			t.Errorf("%s: the marker stayed", c.name)
		}
	}
}

func TestOneNewFileKeepsTheSet(t *testing.T) {
	s := set(t)
	fill(t, s)
	old := time.Now().Add(-1000 * time.Hour)
	if err := os.Chtimes(s.Recording(), old, old); err != nil {
		t.Fatal(err)
	}
	done, err := Sweep(s.data, time.Now(), Policy{Keep: func(string) time.Duration { return time.Hour }})
	if err != nil || len(done.Expired) != 0 {
		t.Errorf("%+v %v", done, err)
	}
}

func TestSweepLeavesStrangersAlone(t *testing.T) {
	s := set(t)
	stranger := filepath.Join(s.Dir(), "notes.txt")
	if err := os.WriteFile(stranger, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Sweep(s.data, time.Now(), Policy{Keep: func(string) time.Duration { return 0 }}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stranger); err != nil {
		t.Error("a file that is not ours is gone")
	}
	if _, err := Sweep(filepath.Join(s.data, "nowhere"), time.Now(), Policy{}); err != nil {
		t.Errorf("nothing there yet: %v", err)
	}
}

func TestParts(t *testing.T) {
	s := set(t)
	if got := s.Parts(); got != nil {
		t.Errorf("%v", got)
	}
	for _, n := range []int{2, 3, 5} {
		if err := os.WriteFile(s.Part(n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Parts(); !slices.Equal(got, []string{s.Part(2), s.Part(3)}) {
		t.Errorf("%v", got)
	}
}
