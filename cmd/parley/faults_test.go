//go:build accept

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/audio/ogg"
	"parley/room"
	"parley/speech/local"
	"parley/testkit/need"
	"parley/testkit/supertonic"
	"parley/tool"
)

// Whatever breaks in a conversation has an answer that says so, costs bounded memory, and leaves the meeting and its
// recording as they were.
func TestFaultsOfAConversation(t *testing.T) {
	need.Real(t)
	service := supertonic.New()
	defer service.Close()
	// The speech process belongs to a path of models: under another name this test has one of its own to kill.
	models := filepath.Join(t.TempDir(), "models")
	if err := os.Symlink(need.Models(t), models); err != nil {
		t.Fatal(err)
	}
	h := newHouseFor(t, 12*time.Minute, "PARLEY_TTS_URL="+service.URL, "PARLEY_MODELS="+models)
	quick, deaf := h.overWebSocket(), h.overWebSocket()
	link := h.room.Link(room.NewID())
	ada := h.listener(link, adaName)
	id := h.attend(link, nil)
	channel := "parley:meeting:" + id
	for _, host := range []*host{quick, deaf} {
		host.until(h.ctx, "the channel is offered", func() bool { return slices.Contains(host.opened, channel) })
	}
	began := h.status(id).RecordingSeconds
	well := func(what string) {
		t.Helper()
		before := h.status(id)
		if before.State != tool.Attending || !before.Recording {
			t.Fatalf("after %s: %+v", what, before)
		}
		h.eventually(20*time.Second, "the recording goes on after "+what, func() bool { return h.status(id).RecordingSeconds > before.RecordingSeconds })
		h.hears(ada, "we are heard after "+what, func() {
			if r := quick.publish(h.ctx, channel, "All is well.", 0); !r.Delivered {
				t.Errorf("after %s: %+v", what, r)
			}
		})
		h.eventually(2*time.Minute, "we fall silent", func() bool { return !h.status(id).Speaking })
	}

	t.Run("a publish of ten thousand characters", func(t *testing.T) {
		if r := quick.publish(h.ctx, channel, strings.Repeat("A word. ", 1250), 0); r.Delivered || r.Reason != "too-long" || r.MessageID != "" {
			t.Errorf("%+v", r)
		}
		well("it")
	})

	t.Run("a host that floods", func(t *testing.T) {
		pids := append(children(h.c.service.PID()), h.c.service.PID())
		before := memory(pids)
		delta, err := json.Marshal(strings.Repeat("more and more words ", 20))
		if err != nil {
			t.Fatal(err)
		}
		for n := range 20_000 { // 8 MB of a text that never ends
			quick.mu.Lock()
			err := quick.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"channels/outgoing/chunk","params":{"channelId":%q,"inferenceId":"i%d","index":%d,"delta":%s}}`, channel, n/5000, n%5000, delta))
			quick.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
		}
		well("a flood of chunks")
		if grown := memory(pids) - before; grown > 160<<20 {
			t.Errorf("it cost %d MiB", grown>>20)
		}
	})

	t.Run("a host that never reads", func(t *testing.T) {
		deaf.mu.Lock() // what reads for it waits for this
		defer deaf.mu.Unlock()
		if err := ada.Play(h.ctx, h.voice("Who is going to write the notes?")); err != nil {
			t.Fatal(err)
		}
		quick.until(h.ctx, "the other one hears the turn", func() bool { return slices.ContainsFunc(quick.heard, incoming.turn) })
		well("a host that does not read")
	})

	t.Run("a synthesizer that hangs in the middle", func(t *testing.T) {
		service.Change(func(b *supertonic.Behaviour) { b.Hangs, b.Before = true, 1 })
		var sp tool.Spoken
		h.call("meeting_speak", map[string]any{"meeting_id": id, "backend": "supertonic", "text": "Good morning. This is never said.", "wait": true}, &sp)
		if sp.State != "failed" || sp.Said != "Good morning." || sp.Unsaid != "This is never said." {
			t.Errorf("it ended so: %+v", sp)
		}
		// One that says nothing at all is an error.
		service.Change(func(b *supertonic.Behaviour) { *b = supertonic.Behaviour{Fails: 500, Code: "synthesis_failed"} })
		err := h.c.call(h.ctx, "meeting_speak", map[string]any{"meeting_id": id, "backend": "supertonic", "text": "Nothing."}, nil)
		if err == nil || !strings.Contains(err.Error(), "voice failed") {
			t.Errorf("%v", err)
		}
		well("a synthesizer that hangs")
	})

	for _, c := range []struct {
		name   string
		signal syscall.Signal
	}{{"the speech process is killed", syscall.SIGKILL}, {"the speech process is stopped", syscall.SIGSTOP}} {
		t.Run(c.name, func(t *testing.T) {
			victim := speechProcess(speechRunFor(models))
			if victim == 0 {
				t.Fatal("no speech process of this test runs")
			}
			said := make(chan error, 1)
			clip := h.voice("And could you please tell all of us when the next meeting is going to be?")
			turns := len(quick.turns())
			go func() { said <- ada.Play(h.ctx, clip) }()
			if err := syscall.Kill(victim, c.signal); err != nil {
				t.Fatal(err)
			}
			if err := <-said; err != nil {
				t.Fatal(err)
			}
			quick.until(h.ctx, "what was said meanwhile is heard all the same", func() bool {
				n := 0
				for _, m := range quick.heard {
					if m.turn() {
						n++
					}
				}
				return n > turns
			})
			if now := speechProcess(speechRunFor(models)); now == 0 || now == victim {
				t.Errorf("process %d, before %d", now, victim)
			}
			well(c.name)
		})
	}

	h.call("meeting_leave", map[string]any{"meeting_id": id}, nil)
	quick.until(h.ctx, "the channel goes", func() bool { return slices.Contains(quick.gone, channel) })
	if r := quick.publish(h.ctx, channel, "Too late.", 0); r.Delivered || r.Reason != "meeting-ended" {
		t.Errorf("published after the end: %+v", r)
	}
	st := h.status(id)
	info, err := ogg.Info(st.RecordingPath)
	if err != nil || info.Seconds < st.RecordingSeconds-1 || st.RecordingSeconds <= began || st.RecordingGapS > 1 {
		t.Errorf("the recording has %.1f s of %.1f, with %.1f s missing: %v", info.Seconds, st.RecordingSeconds, st.RecordingGapS, err)
	}
}

// memory is what processes hold that is theirs alone.
func memory(pids []int) (bytes int64) {
	for _, pid := range pids {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // it has ended
		}
		for l := range strings.Lines(string(raw)) {
			if kb, ok := strings.CutPrefix(l, "RssAnon:"); ok {
				n, _ := strconv.ParseInt(strings.Fields(kb)[0], 10, 64) // the kernel writes a number
				bytes += n << 10
			}
		}
	}
	return bytes
}

// speechProcess is the one with a run folder; 0: there is none.
func speechProcess(run string) int {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		if line := string(raw); strings.Contains(line, local.BinaryName) && strings.Contains(line, run) {
			return pid
		}
	}
	return 0
}
