//go:build accept

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/audio/ogg"
	"parley/internal/proc"
	"parley/room"
	"parley/room/guest"
	"parley/testkit/need"
	"parley/testkit/voices"
	"parley/tool"
)

// Killed at random moments of a real meeting (browser, sound server, encoder, speech), each part leaves a recording
// that plays up to a second before, every final text that was told, and no process. PARLEY_TEST_KILLS says how many
// times; PARLEY_TEST_SEED repeats a run.
func TestKillsAtRandomMoments(t *testing.T) {
	n, seed := 20, uint64(time.Now().UnixNano())
	if v, err := strconv.Atoi(os.Getenv("PARLEY_TEST_KILLS")); err == nil {
		n = v
	}
	if v, err := strconv.ParseUint(os.Getenv("PARLEY_TEST_SEED"), 10, 64); err == nil {
		seed = v
	}
	t.Logf("PARLEY_TEST_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, seed))
	h := newHouseFor(t, time.Duration(n)*time.Minute+time.Minute)
	link := h.room.Link(room.NewID())
	stop := h.talker(link)
	defer stop()

	parts := []struct {
		match  string
		reason []string // empty: the meeting goes on
	}{
		{"worker", []string{"crashed"}},
		{"--remote-debugging-pipe", []string{"page-lost", "crashed", "start-failed"}},
		{"pulseaudio", []string{"sound-lost", "page-lost", "crashed", "start-failed"}},
		{"ffmpeg", nil},
		{"serve", []string{"interrupted"}},
	}
	losses := map[string][]float64{}
	for i := range n {
		part := parts[i%len(parts)]
		moment := time.Duration(rng.Int64N(int64(6 * time.Second)))
		loss, err := h.killOne(link, part.match, part.reason, moment)
		if err != nil {
			t.Errorf("kill %d (%s after %v): %v", i, part.match, moment, err)
			continue
		}
		losses[part.match] = append(losses[part.match], loss)
	}
	for match, l := range losses {
		slices.Sort(l)
		t.Logf("%-24s %d kills: lost p50 %.2f s, p95 %.2f s, most %.2f s", match, len(l), l[len(l)/2], l[len(l)*95/100], l[len(l)-1])
		if l[len(l)-1] > 1 && !need.Overloaded(t) {
			t.Errorf("%s: %.2f s lost", match, l[len(l)-1])
		}
	}
}

// talker is a guest who reads sentences until stopped.
func (h *house) talker(link string) (stop func()) {
	h.t.Helper()
	prompts, err := voices.Prompts()
	if err != nil {
		h.t.Fatal(err)
	}
	picked, err := voices.Pick(prompts, adaReads...)
	if err != nil {
		h.t.Fatal(err)
	}
	var clips []guest.Clip
	for _, p := range picked {
		c, err := guest.Load(h.ctx, p.Path)
		if err != nil {
			h.t.Fatal(err)
		}
		clips = append(clips, c)
	}
	g := h.guest(link, "Ada")
	ctx, cancel := context.WithCancel(h.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if err := g.Play(ctx, clips[i%len(clips)]); err != nil && ctx.Err() == nil {
				h.t.Errorf("the guest who talks: %v", err)
				return
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}

// killOne attends, kills one part at that moment after the recording began, and tells how many seconds cannot be played.
func (h *house) killOne(link, match string, reasons []string, moment time.Duration) (float64, error) {
	id := h.attend(link, nil)
	select {
	case <-time.After(moment): // the random moment
	case <-h.ctx.Done():
		return 0, h.ctx.Err()
	}
	service := h.c.service.PID()
	below := children(service)
	victim := h.part(match)
	if victim == 0 {
		return 0, fmt.Errorf("no %s runs", match)
	}
	var told tool.Heard
	h.call("meeting_listen", map[string]any{"meeting_id": id, "since": 0, "timeout_sec": 0, "limit": 500, "kinds": []string{"transcript"}}, &told)
	asked := time.Now()
	recorded := h.status(id).RecordingSeconds
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		return 0, err
	}
	recorded += time.Since(asked).Seconds() // what was written meanwhile, at most
	if match == "serve" {
		<-h.c.service.Done()
		for deadline := time.Now().Add(40 * time.Second); slices.ContainsFunc(below, running); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				return 0, fmt.Errorf("processes outlive the service")
			}
		}
		h.start(need.Models(h.t))
	}
	if reasons == nil {
		h.call("meeting_leave", map[string]any{"meeting_id": id}, nil)
	}
	h.eventually(40*time.Second, "the meeting has ended", func() bool { return h.status(id).State == tool.Ended })
	h.eventually(20*time.Second, "the recording is whole, or there is none", func() bool { return h.status(id).RecordingState != "writing" })
	st := h.status(id)
	if reasons != nil && !contains(reasons, st.Reason) {
		return 0, fmt.Errorf("it ended with %q, want one of %v", st.Reason, reasons)
	}
	var info ogg.FileInfo
	switch st.RecordingState {
	case "none": // it died before the first sound was on disk
	case "ready":
		var err error
		if info, err = ogg.Info(st.RecordingPath); err != nil {
			return 0, err
		}
	default:
		return 0, fmt.Errorf("the recording is %s", st.RecordingState)
	}
	var kept tool.Transcript
	h.call("meeting_transcript", map[string]any{"meeting_id": id}, &kept)
	for _, ev := range told.Events {
		if ev.Line != nil && ev.Line.Final && !slices.ContainsFunc(kept.Segments, func(l tool.Line) bool { return l.Seq == ev.Line.Seq }) {
			return 0, fmt.Errorf("the final %d was told and is not on disk", ev.Line.Seq)
		}
	}
	if match != "serve" {
		h.eventually(20*time.Second, "nothing of the meeting is left running", func() bool {
			return !slices.ContainsFunc(children(service), running)
		})
	}
	return recorded - info.Seconds, nil
}

// running says that a process lives and is not the speech process, which meetings share.
func running(pid int) bool {
	start, err := proc.StartTime(pid)
	return err == nil && proc.Alive(pid, start) && !isSpeech(pid)
}
