package pulse

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/audio"
	"parley/internal/proc"
	"parley/testkit/need"
)

// start gives a running server that ends with the test.
func start(t testing.TB) *Server {
	t.Helper()
	need.Sound(t)
	dir, err := proc.RunDir("", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s, err := Start(t.Context(), Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
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

func capture(t testing.TB, s *Server, o CaptureOptions) *Capture {
	t.Helper()
	c, err := s.Capture(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSilenceArrivesAsSound(t *testing.T) {
	c := capture(t, start(t), CaptureOptions{})
	began := time.Now()
	var pos int64
	for time.Since(began) < 2*time.Second {
		f, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if f.Pos != pos {
			t.Fatalf("position %d, want %d", f.Pos, pos)
		}
		if p := audio.Peak(f.PCM); p > audio.Floor {
			t.Fatalf("peak %v dBFS where nobody plays", p)
		}
		pos = f.End()
	}
	wall := time.Since(began).Seconds() * audio.HearRate
	if d := wall - float64(pos); d > 0.3*audio.HearRate || d < -0.1*audio.HearRate {
		t.Errorf("%d samples in %.0f samples of time", pos, wall)
	}
}

func TestCaptureEndsWithItsServer(t *testing.T) {
	s := start(t)
	c := capture(t, s, CaptureOptions{})
	if _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := c.Read(t.Context()); err != nil {
			if !errors.Is(err, ErrServerGone) {
				t.Errorf("got %v, want ErrServerGone", err)
			}
			break
		}
	}
	<-s.Done()
	if err := s.Err(); !errors.Is(err, ErrServerGone) {
		t.Errorf("the server's end: %v", err)
	}
	if _, err := s.Capture(t.Context(), CaptureOptions{}); err == nil {
		t.Error("capture from a dead server")
	}
}

func TestAFrozenServerIsNotSilence(t *testing.T) {
	s := start(t)
	events := make(chan CaptureEvent, 16)
	c := capture(t, s, CaptureOptions{Quiet: 300 * time.Millisecond, Dead: 3 * time.Second, OnEvent: func(e CaptureEvent) { events <- e }})
	var behind atomic.Int64 // samples that the latest frame lags behind the clock
	go func() {
		var began time.Time
		for {
			f, err := c.Read(context.Background())
			if err != nil {
				return
			}
			if began.IsZero() {
				began = f.At.Add(-time.Duration(f.End()) * time.Second / audio.HearRate)
			}
			behind.Store(int64(f.At.Sub(began).Seconds()*audio.HearRate) - f.End())
		}
	}()
	expect := func(kind CaptureKind) {
		t.Helper()
		select {
		case e := <-events:
			if e.Kind != kind {
				t.Fatalf("event %q, want %q", e.Kind, kind)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no event %q", kind)
		}
	}
	freeze := func(sig syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(s.PID(), sig); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(1500 * time.Millisecond)
	freeze(syscall.SIGSTOP)
	expect(CaptureQuiet)
	freeze(syscall.SIGCONT)
	expect(CaptureResumed)
	// Whether the server makes up for the time it slept or has lost it: positions and the clock agree again.
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if b := behind.Load(); b < audio.HearRate/5 && b > -audio.HearRate/5 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%d samples behind the clock", b)
		}
	}
}

func TestStartRefusesWhatCannotWork(t *testing.T) {
	need.Sound(t)
	if _, err := Start(t.Context(), Options{Dir: t.TempDir() + "/a b"}); err == nil {
		t.Error("a folder with a blank was accepted")
	}
	if _, err := Start(t.Context(), Options{Dir: t.TempDir(), Program: "/bin/false"}); err == nil {
		t.Error("a server that ends at once was accepted")
	}
}
