package keeper

import (
	"os"
	"testing"
	"time"

	"parley/internal/proc"
	"parley/meeting/files"
	"parley/store"
)

// A meeting that nobody saw ending ended when its worker wrote last, unless the worker still lives.
func TestWhenAnInterruptedMeetingEnded(t *testing.T) {
	set, err := files.Of(t.TempDir(), "me", "m0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Prepare(); err != nil {
		t.Fatal(err)
	}
	requested := time.Now().Add(-time.Hour)
	left := info{ID: "m0123456789ab", Worker: 1 << 30, Started: 1, Requested: requested}
	recent := func(what string, at time.Time) {
		t.Helper()
		if d := time.Since(at); d < 0 || d > 10*time.Second {
			t.Errorf("%s: %v ago", what, d)
		}
	}
	recent("nothing was written", endOf(left, set))

	last := requested.Add(10 * time.Minute)
	if err := os.WriteFile(set.Recording(), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(set.Recording(), last, last); err != nil {
		t.Fatal(err)
	}
	if at := endOf(left, set); !at.Equal(last) {
		t.Errorf("ended at %v, want %v", at, last)
	}

	started, err := proc.StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	alive := left
	alive.Worker, alive.Started = os.Getpid(), started
	recent("the worker lives", endOf(alive, set))

	before := requested.Add(-time.Minute)
	if err := os.Chtimes(set.Recording(), before, before); err != nil {
		t.Fatal(err)
	}
	recent("files older than the meeting", endOf(left, set))
}

// What a meeting left is found again by a later service, its evidence too.
func TestEvidenceIsFoundAgain(t *testing.T) {
	k := keeper(t, 0)
	row := store.Meeting{ID: "m0123456789ab", Tenant: "me", State: "ended", Reason: "left", Ended: time.Now()}
	if s := k.withEvidence(k.fromRow(row)); s.Evidence != "" {
		t.Errorf("evidence that is not there: %q", s.Evidence)
	}
	set, err := files.Of(k.o.Data, "me", row.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(set.Evidence(), 0o700); err != nil {
		t.Fatal(err)
	}
	if s := k.withEvidence(k.fromRow(row)); s.Evidence != set.Evidence() {
		t.Errorf("%q", s.Evidence)
	}
}
