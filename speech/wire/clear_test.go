package wire

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestClear(t *testing.T) {
	yes := func([]byte) bool { return true }
	for _, c := range []struct {
		name    string
		files   []string
		held    bool
		useless bool
		gone    bool
	}{
		{"lock alone", nil, false, true, true},
		{"a useless log", []string{LogName}, false, true, true},
		{"a log worth reading", []string{LogName}, false, false, false},
		{"somebody else's file", []string{"x"}, false, true, false},
		{"a process serves it", []string{LogName}, true, true, false},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		claim, err := NewClaim(dir)
		if err != nil {
			t.Fatal(err)
		}
		if c.held {
			defer claim.Release()
		} else {
			claim.Disown() // the socket stays, as after a death
		}
		for _, f := range c.files {
			if err := os.WriteFile(filepath.Join(dir, f), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := Clear(dir, func([]byte) bool { return c.useless }); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		_, err = os.Stat(dir)
		if gone := errors.Is(err, fs.ErrNotExist); gone != c.gone {
			t.Errorf("%s: gone %v", c.name, gone)
		}
	}
	if err := Clear(filepath.Join(t.TempDir(), "nothing"), yes); err != nil {
		t.Errorf("no folder: %v", err)
	}
}

// Whoever comes while a folder is cleared away gets a lock that counts, or comes again; never do two have it.
func TestClaimsWhileTheFolderIsCleared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var wg sync.WaitGroup
	var mu sync.Mutex // held by whoever has the claim
	for range 4 {
		wg.Go(func() {
			for range 200 {
				claim, err := NewClaim(dir)
				switch {
				case errors.Is(err, ErrClaimed):
					continue
				case err != nil:
					t.Error(err)
					return
				}
				if !mu.TryLock() {
					t.Error("two have the claim")
				} else {
					if _, err := os.Stat(SocketPath(dir)); err != nil {
						t.Error(err)
					}
					mu.Unlock()
				}
				claim.Release()
			}
		})
		wg.Go(func() {
			for range 200 {
				if err := Clear(dir, func([]byte) bool { return true }); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
