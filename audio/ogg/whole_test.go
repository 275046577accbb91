package ogg

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"parley/audio"
	"parley/audio/pulse"
	"parley/internal/proc"
	"parley/room/guest"
	"parley/testkit/need"
	"parley/testkit/ruler"
)

// TestFromTheSpeakersToTheFile goes the whole way that a meeting's sound goes: a program plays the ruler into the
// speakers, we hear it, and it passes the gate to the recorder, whose encoder is killed and frozen meanwhile.
func TestFromTheSpeakersToTheFile(t *testing.T) {
	need.Sound(t)
	need.Program(t, "pacat")
	run, err := proc.RunDir("", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	server, err := pulse.Start(t.Context(), pulse.Options{Dir: run})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })

	raw := filepath.Join(t.TempDir(), "ruler")
	pcm := guest.Tone(30 * time.Second)
	bytes := make([]byte, 0, 2*len(pcm))
	for _, s := range pcm {
		bytes = append(bytes, byte(s), byte(uint16(s)>>8))
	}
	if err := os.WriteFile(raw, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	play := exec.Command("pacat", "--playback", "--raw", "--format=s16le", "--channels=1", "--rate=48000", "--latency-msec=2000", raw)
	play.Env = append(os.Environ(), server.Env()...)
	if err := play.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = play.Process.Kill(); _ = play.Wait() })

	path := filepath.Join(t.TempDir(), "m.ogg")
	c, err := server.Capture(t.Context(), pulse.CaptureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var tee audio.Tee
	gate := audio.NewGate(&tee)
	pumped := make(chan error, 1)
	go func() {
		for {
			f, err := c.Read(context.Background())
			if err != nil {
				pumped <- err
				return
			}
			_ = gate.Write(f)
		}
	}()
	if _, err := until(t, 5*time.Second, func() bool { return gate.Counts().Blocked > 0 }); err != nil {
		t.Fatal("nothing arrives")
	}
	r := record(t, Options{Path: path, Stall: 700 * time.Millisecond})
	tee.Add("recorder", r)
	gate.Open()
	time.Sleep(3300 * time.Millisecond)
	if err := syscall.Kill(encoderOf(r), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2500 * time.Millisecond)
	if err := syscall.Kill(encoderOf(r), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(4 * time.Second)
	gate.Close()
	gate.Settle()
	began := r.Began()
	res := stop(t, r)
	wall := time.Since(began).Seconds()
	_ = c.Close()
	<-pumped

	t.Logf("%+v", res)
	if res.Parts != 3 || res.Lost != 0 || res.Seconds > wall || res.Seconds < 9 {
		t.Errorf("%+v in %.2f s", res, wall)
	}
	report, err := ruler.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	// A joint may sound odd for a packet or two, and the ruler is read to 10 ms.
	if err := report.Err(60 * time.Millisecond); err != nil {
		t.Error(err)
	}
	if lost := report.Lost(); lost > 120*time.Millisecond {
		t.Errorf("%v lost", lost)
	}
}

// until polls.
func until(t testing.TB, limit time.Duration, is func() bool) (time.Duration, error) {
	t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > limit {
			return 0, context.DeadlineExceeded
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began), nil
}
