package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// family is who our own children are, so that adopted orphans can be told from them.
var family = kin{pids: map[int]bool{}}

type kin struct {
	mu   sync.Mutex
	pids map[int]bool
}

func (k *kin) add(pid int)      { k.mu.Lock(); k.pids[pid] = true; k.mu.Unlock() }
func (k *kin) remove(pid int)   { k.mu.Lock(); delete(k.pids, pid); k.mu.Unlock() }
func (k *kin) has(pid int) bool { k.mu.Lock(); defer k.mu.Unlock(); return k.pids[pid] }

// Subreaper makes this process the one that orphaned descendants fall to, instead of process 1, which in a
// container may reap nobody.
func Subreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

// Orphans lists processes, living or dead, that fell to us or that something other than this package started.
func Orphans() ([]int, error) {
	self := os.Getpid()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var orphans []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || family.has(pid) {
			continue
		}
		s, err := readStat(pid)
		if err != nil || s.ppid != self {
			continue
		}
		orphans = append(orphans, pid)
	}
	return orphans, nil
}

// KillOrphans kills adopted processes that match and reaps those that have ended. Nil matches all.
// It returns how many were reaped; call it again until it is quiet. Programs that use os/exec beside this package
// must not call it.
func KillOrphans(match func(pid int) bool) (int, error) {
	orphans, err := Orphans()
	if err != nil {
		return 0, err
	}
	reaped := 0
	for _, pid := range orphans {
		if match == nil || match(pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		var status unix.WaitStatus
		got, err := unix.Wait4(pid, &status, unix.WNOHANG, nil)
		if err == nil && got == pid {
			reaped++
		}
	}
	return reaped, nil
}

// Adopted reaps the dead that fell to us and that nobody here waits for, such as what left its session before it died.
// A child that somebody does wait for is a zombie for a moment only, so that only one which was already dead at the
// last look is reaped: os/exec may be used beside it. It is not for use by several goroutines at once.
type Adopted struct{ dead map[int]uint64 }

// Reap looks once, and returns how many were reaped. Call it from time to time.
func (a *Adopted) Reap() (int, error) {
	orphans, err := Orphans()
	if err != nil {
		return 0, err
	}
	dead, reaped := map[int]uint64{}, 0
	for _, pid := range orphans {
		s, err := readStat(pid)
		if err != nil || s.state != 'Z' {
			continue
		}
		if start, seen := a.dead[pid]; !seen || start != s.start {
			dead[pid] = s.start
			continue
		}
		var status unix.WaitStatus
		if got, err := unix.Wait4(pid, &status, unix.WNOHANG, nil); err == nil && got == pid {
			reaped++
		}
	}
	a.dead = dead
	return reaped, nil
}

// ErrGone means that there is no such process.
var ErrGone = errors.New("no such process")

// StartTime is when a process began, in clock ticks since boot. With its id it names a process for good.
func StartTime(pid int) (uint64, error) {
	s, err := readStat(pid)
	return s.start, err
}

// Alive says whether the process that had this id and start time still runs (a zombie does not).
func Alive(pid int, start uint64) bool {
	s, err := readStat(pid)
	return err == nil && s.start == start && s.state != 'Z' && s.state != 'X'
}

// Parent is the parent of a process.
func Parent(pid int) (int, error) {
	s, err := readStat(pid)
	return s.ppid, err
}

// Group is the process group of a process.
func Group(pid int) (int, error) {
	s, err := readStat(pid)
	return s.pgrp, err
}

// InSession lists the living processes of a session (a child started with Outlive leads one of its own number).
// The session's number cannot be given to another process as long as one of them lives.
func InSession(sid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil && s.session == sid && s.state != 'Z' && s.state != 'X' {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// ReapSession reaps the dead of a session that fell to us and that we did not start ourselves.
func ReapSession(sid int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	self := os.Getpid()
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || family.has(pid) {
			continue
		}
		if s, err := readStat(pid); err == nil && s.session == sid && s.ppid == self && s.state == 'Z' {
			var status unix.WaitStatus
			_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil)
		}
	}
}

type stat struct {
	state               byte
	ppid, pgrp, session int
	start               uint64
}

func readStat(pid int) (stat, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			return stat{}, ErrGone
		}
		return stat{}, err
	}
	return parseStat(raw)
}

// parseStat reads /proc/PID/stat. The program's name stands in brackets and may hold anything, so that the
// last closing bracket is where the fields begin.
func parseStat(raw []byte) (stat, error) {
	i := bytes.LastIndexByte(raw, ')')
	if i < 0 {
		return stat{}, errors.New("proc stat without a name")
	}
	f := strings.Fields(string(raw[i+1:]))
	if len(f) < 20 || len(f[0]) != 1 {
		return stat{}, errors.New("proc stat too short")
	}
	ppid, err1 := strconv.Atoi(f[1])
	pgrp, err2 := strconv.Atoi(f[2])
	session, err3 := strconv.Atoi(f[3])
	start, err4 := strconv.ParseUint(f[19], 10, 64)
	return stat{state: f[0][0], ppid: ppid, pgrp: pgrp, session: session, start: start}, errors.Join(err1, err2, err3, err4)
}
