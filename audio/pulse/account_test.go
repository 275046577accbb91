package pulse

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"parley/internal/proc"
	"parley/testkit/need"
)

// TestAsAnotherAccount: started by root, the server is somebody else's and still ours to use; nothing of it is root's.
func TestAsAnotherAccount(t *testing.T) {
	need.Sound(t)
	if os.Getuid() != 0 {
		t.Skip("only root can run programs as others")
	}
	account, err := proc.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := proc.RunDir("", account)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s, err := Start(t.Context(), Options{Dir: dir + "/snd", Account: account})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			_ = s.Close()
		}
	}()
	for _, path := range []string{dir + "/snd", dir + "/snd/native", dir + "/snd/daemon.pa", "/proc/" + strconv.Itoa(s.PID())} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; owner != account.UID {
			t.Errorf("%s belongs to %d", path, owner)
		}
	}
	if info, err := os.Stat(dir + "/snd"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v %v", info.Mode(), err)
	}
	if _, err := s.LoopTest(t.Context()); err != nil {
		t.Error(err)
	}
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	closed = true
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("closing took %v", took)
	}
	if left, err := os.ReadDir(dir + "/snd"); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
