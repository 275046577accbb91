//go:build cgo

package main

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/speech"
	"parley/testkit/need"
)

// A process that was stopped in the middle of a meeting is replaced: what was said meanwhile is written down, and the
// voice is back.
func TestAStoppedProcessIsReplaced(t *testing.T) {
	e := engine(t, need.Models(t), nil)
	line := prompts(t, "conf-onlyperson")[0]
	s, err := e.Open(t.Context(), speech.StreamOptions{Lang: "en"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pid := e.Status(t.Context()).PID
	time.Sleep(time.Second) // the first sign of life
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := s.Write(0, line.PCM); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("heard %v after the stop", time.Since(began).Round(time.Millisecond))
	text, lost := "", false
	for len(s.Events()) > 0 {
		switch ev := (<-s.Events()).(type) {
		case speech.Final:
			text += ev.Text
		case speech.Fault:
			lost = lost || ev.Kind == speech.KindNetwork
		}
	}
	if !lost || !strings.Contains(strings.ToLower(text), "only person") {
		t.Errorf("heard %q, told of it: %v", text, lost)
	}
	if now := e.Status(t.Context()).PID; now == pid || now == 0 {
		t.Errorf("process %d, before %d", now, pid)
	}
	c, err := e.Speak(ctx, speech.SpeakRequest{Text: "We are back."})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if p, err := c.Next(ctx); err != nil || len(p.PCM) == 0 {
		t.Errorf("%d samples, %v", len(p.PCM), err)
	}
}
