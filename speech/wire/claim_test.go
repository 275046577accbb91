package wire

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOneClaimAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c, err := NewClaim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewClaim(dir); !errors.Is(err, ErrClaimed) {
		t.Errorf("a second claim: %v", err)
	}
	// Clients may come before anybody accepts: they wait in the queue.
	conn, err := net.Dial("unix", SocketPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	info, err := os.Stat(SocketPath(dir))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v %v", info.Mode(), err)
	}
	l, err := c.Listener()
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	got.Close()
	l.Close()
	if err := c.Release(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(SocketPath(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestAClaimSurvivesAStaleSocket(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := NewClaim(dir)
	if err != nil {
		t.Fatal(err)
	}
	first.Disown() // as if killed: the name stays, the lock is free
	if _, err := os.Stat(SocketPath(dir)); err != nil {
		t.Fatal(err)
	}
	second, err := NewClaim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
}

func TestOnlyPrivateFolders(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		mode os.FileMode
		ok   bool
	}{{0o700, true}, {0o710, false}, {0o701, false}, {0o755, false}} {
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		if err := PrivateDir(dir); (err == nil) != c.ok {
			t.Errorf("mode %#o: %v", c.mode, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := PrivateDir(link); err == nil {
		t.Error("a symbolic link was accepted")
	}
}

func TestALongPathIsRefusedWithItsReason(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if _, err := NewClaim(dir); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
}
