package local

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/proc"
	"parley/speech"
	"parley/speech/speechtest"
	"parley/speech/wire"
	"parley/testkit/need"
)

func TestWhenAProcessCountsAsHung(t *testing.T) {
	const s = time.Second
	began := time.Now()
	at := began.Add
	p := pulse{every: 3 * s, wait: 4 * s, hung: 10 * s, young: 30 * s}
	old := wire.Holder{PID: 7, Start: 1, Since: at(-time.Hour)}
	fresh := wire.Holder{PID: 8, Start: 1, Since: at(-20 * s)}
	for _, c := range []struct {
		name  string
		does  func(v *vigil)
		now   time.Duration
		who   wire.Holder
		wants bool
	}{
		{"nothing was asked", func(*vigil) {}, time.Hour, old, false},
		{"two questions, however long ago", func(v *vigil) { v.miss(at(0)); v.miss(at(4 * s)) }, time.Hour, old, false},
		{"three questions too soon", func(v *vigil) { v.miss(at(0)); v.miss(at(s)); v.miss(at(2 * s)) }, 10*s - 1, old, false},
		{"three questions", func(v *vigil) { v.miss(at(0)); v.miss(at(4 * s)); v.miss(at(8 * s)) }, 10 * s, old, true},
		{"an answer in between", func(v *vigil) { v.miss(at(0)); v.miss(at(4 * s)); v.known = 7; v.answered(); v.miss(at(8 * s)) }, 12 * s, old, false},
		{"an answer after a stop", func(v *vigil) { v.miss(at(0)); v.miss(at(4 * s)); v.miss(at(8 * s)); v.known = 7; v.answered() }, 12 * s, old, false},
		{"nobody there in between", func(v *vigil) { v.miss(at(0)); v.miss(at(4 * s)); v.absent(); v.miss(at(8 * s)) }, 12 * s, old, false},
		{"a new one that never answered", func(v *vigil) { v.known = 7; v.answered(); v.miss(at(0)); v.miss(at(0)); v.miss(at(0)) }, 10*s - 1, fresh, false},
		{"the same, no longer new", func(v *vigil) { v.known = 7; v.answered(); v.miss(at(0)); v.miss(at(0)); v.miss(at(0)) }, 10 * s, fresh, true},
		{"a new one that had answered", func(v *vigil) { v.known = 8; v.answered(); v.miss(at(-5 * s)); v.miss(at(0)); v.miss(at(0)) }, 5 * s, fresh, true},
		{"a new one that had not", func(v *vigil) { v.known = 7; v.answered(); v.miss(at(-5 * s)); v.miss(at(0)); v.miss(at(0)) }, 5 * s, fresh, false},
	} {
		v := vigil{pulse: p}
		c.does(&v)
		if got := v.hung(at(c.now), c.who); got != c.wants {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// silent is an engine whose run folder has a process that takes connections and says nothing.
func silent(t *testing.T, note func(*wire.Claim)) *Engine {
	t.Helper()
	dir := runDir(t)
	claim, err := wire.NewClaim(dir)
	if err != nil {
		t.Fatal(err)
	}
	note(claim)
	l, err := claim.Listener()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); claim.Release() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go io.Copy(io.Discard, c)
		}
	}()
	e := New(Options{RunDir: dir, ModelsDir: "/nowhere", Log: slog.New(slog.DiscardHandler)})
	e.launch = func(*wire.Claim) (*child, error) { return nil, net.ErrClosed }
	e.pulse = pulse{every: 20 * time.Millisecond, wait: 50 * time.Millisecond, hung: 200 * time.Millisecond}
	t.Cleanup(func() { e.Close() })
	return e
}

// Only the process that was noted when it was started, and is still the same, is ever killed.
func TestWhoIsKilledForHanging(t *testing.T) {
	for _, c := range []struct {
		name string
		note func(start uint64, pid int, c *wire.Claim)
		dies bool
	}{
		{"the noted one", func(start uint64, pid int, c *wire.Claim) { c.Note(wire.Holder{PID: pid, Start: start}) }, true},
		{"another with its id", func(start uint64, pid int, c *wire.Claim) { c.Note(wire.Holder{PID: pid, Start: start - 1}) }, false},
		{"nobody noted", func(uint64, int, *wire.Claim) {}, false},
		{"not a note", func(_ uint64, _ int, c *wire.Claim) { c.Lock.WriteString("-1 -1\n") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("/bin/sleep", "60")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			start, err := proc.StartTime(cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			e := silent(t, func(claim *wire.Claim) { c.note(start, cmd.Process.Pid, claim) })
			gone := make(chan struct{})
			go func() { cmd.Wait(); close(gone) }()
			defer func() { cmd.Process.Kill(); <-gone }()
			e.o.StartTimeout = 20 * time.Second
			ctx, cancel := context.WithCancel(t.Context())
			opened := make(chan struct{})
			go func() { defer close(opened); e.Open(ctx, speech.StreamOptions{}) }()
			defer func() { cancel(); <-opened }()
			patience := 15 * time.Second
			if !c.dies {
				patience = time.Second // several times the bound
			}
			select {
			case <-gone:
				if !c.dies {
					t.Error("it was killed")
				}
			case <-time.After(patience):
				if c.dies {
					t.Error("it was not killed")
				}
			}
		})
	}
}

// A process that was stopped (kill -STOP) is replaced for all its clients, and what was said meanwhile is heard.
func TestAHungProcessIsReplaced(t *testing.T) {
	need.Real(t)
	dir := runDir(t)
	quick := pulse{every: 200 * time.Millisecond, wait: time.Second, hung: 3 * time.Second, young: time.Minute}
	engines := []*Engine{realEngine(t, dir, "process"), realEngine(t, dir, "process")}
	var streams []speech.Stream
	for _, e := range engines {
		e.pulse = quick
		s, err := e.Open(t.Context(), speech.StreamOptions{Lang: "en"})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	pid := engines[0].Status(t.Context()).PID
	h, ok := wire.HolderOf(dir)
	if !ok || h.PID != pid {
		t.Fatalf("%+v %v, process %d", h, ok, pid)
	}
	// A short stop does no harm.
	stop := func() {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	time.Sleep(time.Second) // one question goes unanswered
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * quick.wait) // others are answered again
	if now := engines[0].Status(t.Context()).PID; now != pid {
		t.Fatalf("after a short stop there is process %d instead of %d", now, pid)
	}
	stop()
	for i, s := range streams {
		if err := s.Write(0, speechtest.Tone("alpha bravo charlie")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := s.Flush(ctx); err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		s.Close()
		var texts []string
		for ev := range s.Events() {
			if f, ok := ev.(speech.Final); ok {
				texts = append(texts, f.Text)
			}
		}
		if got := strings.Join(texts, " "); got != "alpha bravo charlie." {
			t.Errorf("client %d heard %q", i, got)
		}
	}
	if proc.Alive(pid, h.Start) {
		t.Error("the hung process still lives")
	}
	if now := engines[1].Status(t.Context()).PID; now == 0 || now == pid {
		t.Errorf("process %d, before %d", now, pid)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	for _, e := range engines {
		e.Close()
	}
	ended(t, dir)
}
