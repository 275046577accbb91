package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary play a parent that is killed.
func TestMain(m *testing.M) {
	if os.Getenv("PROC_TEST_PARENT") != "" {
		c, err := Start(Spec{Path: "/bin/sleep", Args: []string{"300"}})
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(strconv.Itoa(c.PID()) + "\n")
		<-c.Done()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestStopIsPoliteThenFirm(t *testing.T) {
	polite, err := Start(Spec{Path: "/bin/sleep", Args: []string{"300"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := polite.Stop(t.Context(), 5*time.Second); err != nil {
		t.Errorf("sleep ends on SIGTERM: %v", err)
	}
	var out bytes.Buffer
	stubborn, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "trap '' TERM; echo ready; while :; do sleep 1; done"}, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		// The shell ignores the signal from its trap on; SigIgn in its status says so.
		raw, _ := os.ReadFile("/proc/" + strconv.Itoa(stubborn.PID()) + "/status")
		for _, line := range strings.Split(string(raw), "\n") {
			if mask, ok := strings.CutPrefix(line, "SigIgn:\t"); ok {
				n, _ := strconv.ParseUint(mask, 16, 64)
				return n&(1<<(uint(unix.SIGTERM)-1)) != 0
			}
		}
		return false
	})
	if err := stubborn.Stop(t.Context(), 50*time.Millisecond); !errors.Is(err, ErrKilled) {
		t.Errorf("a child that ignores SIGTERM: got %v, want ErrKilled", err)
	}
}

func TestTheGroupGoesWithItsLeader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "sleep 300 & echo $!; exit 3"}, Stdout: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 32)
	n, err := r.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	var exit *exec.ExitError
	if !errors.As(c.Err(), &exit) || exit.ExitCode() != 3 {
		t.Errorf("exit status: %v", c.Err())
	}
	grandchild, _ := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	eventually(t, func() bool {
		s, err := readStat(grandchild)
		return err != nil || s.state == 'Z'
	})
}

func TestAChildDiesWithItsParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), "PROC_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 32)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	child, _ := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	start, err := StartTime(child)
	if err != nil {
		t.Fatal(err)
	}
	if !Alive(child, start) {
		t.Fatal("the child does not run")
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	eventually(t, func() bool { return !Alive(child, start) })
}

func TestAFailedStartSaysWhat(t *testing.T) {
	_, err := Start(Spec{Name: "sound server", Path: "/nonexistent/pulseaudio"})
	if err == nil || !strings.Contains(err.Error(), "sound server") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestSecretsOfOurEnvironmentStayHere(t *testing.T) {
	t.Setenv("PARLEY_SECRET_FOR_TEST", "x")
	for _, e := range BaseEnv() {
		if strings.HasPrefix(e, "PARLEY_") {
			t.Errorf("leaked %s", e)
		}
	}
}

func TestParseStat(t *testing.T) {
	ok := "12 (a) b) (c) S 7 12 12 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 0 0"
	s, err := parseStat([]byte(ok))
	if err != nil || s.ppid != 7 || s.start != 98765 || s.state != 'S' || s.pgrp != 12 {
		t.Errorf("%+v %v", s, err)
	}
	for _, bad := range []string{"", "12 (x", "12 (x) S 1", "1 (x) S a b 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 x 0 0"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a) b) (c) S 7 12 12 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 0 0"))
	f.Fuzz(func(t *testing.T, raw []byte) { _, _ = parseStat(raw) })
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatal("it did not happen within 10 s")
		case <-tick.C:
		}
	}
}

// A session is everything a leader started, in whatever group, also after the leader is gone.
func TestSessions(t *testing.T) {
	if err := Subreaper(); err != nil {
		t.Fatal(err)
	}
	c, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "timeout 300 sleep 300 & sleep 300"}, Outlive: true})
	if err != nil {
		t.Fatal(err)
	}
	sid := c.PID()
	t.Cleanup(func() {
		pids, _ := InSession(sid)
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		ReapSession(sid)
	})
	// timeout makes a group of its own, which does not go with the leader's.
	eventually(t, func() bool {
		pids, _ := InSession(sid)
		strangers := 0
		for _, pid := range pids {
			if g, err := Group(pid); err == nil && g != sid {
				strangers++
			}
		}
		return len(pids) == 4 && strangers == 2
	})
	if err := unix.Kill(sid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	pids, err := InSession(sid)
	if err != nil || len(pids) == 0 {
		t.Fatalf("after the leader: %v %v", pids, err)
	}
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	eventually(t, func() bool { pids, _ := InSession(sid); return len(pids) == 0 })
	ReapSession(sid) // all of them are dead by now, and have fallen to us
	for _, pid := range pids {
		if _, err := readStat(pid); !errors.Is(err, ErrGone) {
			t.Errorf("%d is still there: %v", pid, err)
		}
	}
}

// What left its session falls to us one by one; nothing of it stays behind as a zombie.
func TestTheDeadOfOtherSessionsAreReapedAtTheSecondLook(t *testing.T) {
	if err := Subreaper(); err != nil {
		t.Fatal(err)
	}
	c, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "setsid sh -c 'exit 3' & setsid sh -c 'exit 4' & exit 0"}})
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	waited := exec.Command("/bin/sh", "-c", "exit 5")
	if err := waited.Start(); err != nil {
		t.Fatal(err)
	}
	zombies := func() (n int) {
		pids, err := Orphans()
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			if s, err := readStat(pid); err == nil && s.state == 'Z' {
				n++
			}
		}
		return n
	}
	eventually(t, func() bool { return zombies() >= 3 })
	var a Adopted
	if n, err := a.Reap(); n != 0 || err != nil {
		t.Fatalf("the first look reaped %d (%v)", n, err)
	}
	var exit *exec.ExitError
	if err := waited.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 5 {
		t.Errorf("a child that is waited for: %v", err)
	}
	if n, err := a.Reap(); n < 2 || err != nil {
		t.Errorf("the second look reaped %d (%v)", n, err)
	}
	if n := zombies(); n != 0 {
		t.Errorf("%d zombies are left", n)
	}
}

// A run folder is never made where its user cannot come.
func TestRunDirIsOpenToItsAccount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives folders to others")
	}
	a := &Account{Name: "somebody", UID: 12345, GID: 12345, Groups: []uint32{777}}
	open := t.TempDir()
	for p := open; p != os.TempDir() && p != "/"; p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	closed := filepath.Join(open, "closed")
	below := filepath.Join(closed, "below")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := RunDir(below, a); err == nil || !strings.Contains(err.Error(), closed+" is closed to the user somebody") {
		t.Errorf("below a closed folder: %v", err)
	}
	t.Setenv("TMPDIR", below)
	dir, err := RunDir("", a)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir)
	if strings.HasPrefix(dir, closed) {
		t.Errorf("made in %s", dir)
	}
	for mode, gid := range map[os.FileMode]int{0o750: 777, 0o710: 12345, 0o711: 0} {
		if err := errors.Join(os.Chown(closed, 0, gid), os.Chmod(closed, mode)); err != nil {
			t.Fatal(err)
		}
		if c := closedTo(below, a); c != "" {
			t.Errorf("%v of group %d: %s is closed", mode, gid, c)
		}
	}
}
