package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/audio/ogg"
	"parley/internal/proc"
	"parley/room"
	"parley/room/guest"
	"parley/testkit/need"
	"parley/testkit/ruler"
	"parley/tool"
)

// house is a room server and a service of its own, for one test.
type house struct {
	t    *testing.T
	ctx  context.Context
	room *room.Server
	c    *client
	data string
}

func newHouse(t *testing.T, env ...string) *house {
	t.Helper()
	return newHouseFor(t, 4*time.Minute, env...)
}

// newHouseFor is a house that stands that long.
func newHouseFor(t *testing.T, limit time.Duration, env ...string) *house {
	t.Helper()
	need.Browser(t)
	need.Sound(t)
	models := need.Models(t)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	server, err := room.New(room.Options{Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving) }()
	t.Cleanup(func() { stop(); <-served })
	h := &house{t: t, ctx: ctx, room: server, data: filepath.Join(t.TempDir(), "data")}
	h.start(models, env...)
	return h
}

func (h *house) start(models string, env ...string) {
	h.t.Helper()
	c, err := startClient(h.ctx, h.data, models, 4, env...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.c = c
	h.t.Cleanup(c.close)
}

func (h *house) guest(link, name string) *guest.Guest {
	h.t.Helper()
	g, err := guest.Join(h.ctx, guest.Options{URL: link, Name: name, Log: slog.New(slog.DiscardHandler)}, nil)
	if err == nil {
		err = g.Admitted(h.ctx)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = g.Leave() })
	return g
}

// attend joins and waits until everything runs.
func (h *house) attend(link string, more map[string]any) string {
	h.t.Helper()
	args := map[string]any{"url": link, "lang": "en"}
	for k, v := range more {
		args[k] = v
	}
	var st tool.Status
	h.call("meeting_join", args, &st)
	err := h.c.until(h.ctx, st.Meeting, time.Minute, "the bot attends", func(ev tool.Event) bool { return ev.State == tool.Attending })
	if err != nil {
		h.t.Fatal(err)
	}
	return st.Meeting
}

func (h *house) call(name string, args map[string]any, result any) {
	h.t.Helper()
	if err := h.c.call(h.ctx, name, args, result); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) status(id string) tool.Status {
	h.t.Helper()
	var st tool.Status
	h.call("meeting_status", map[string]any{"meeting_id": id}, &st)
	return st
}

// eventually asks again until it is so.
func (h *house) eventually(within time.Duration, what string, ok func() bool) {
	h.t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			h.t.Fatalf("%s: not within %s", what, within)
		case <-tick.C:
		}
	}
}

// children are the living descendants of a process.
func children(root int) []int {
	parents := map[int]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p, err := proc.Parent(pid); err == nil {
				parents[pid] = p
			}
		}
	}
	var out []int
	for pid := range parents {
		for p := parents[pid]; p > 1; p = parents[p] {
			if p == root {
				out = append(out, pid)
				break
			}
		}
	}
	return out
}

func TestAMeetingFromEndToEnd(t *testing.T) {
	need.Models(t)
	var out, errs bytes.Buffer
	keep := t.TempDir()
	t.Setenv("PARLEY_CONFIG", "/dev/null")
	code := dispatch(context.Background(), &environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs},
		[]string{"demo", "--keep", keep})
	if code != exitOK {
		t.Fatalf("code %d\n%s\n%s", code, out.String(), errs.String())
	}
	t.Log(out.String())
	for _, want := range []string{
		"announcement sent to everyone", "Ada:     ", "Emmy:    ", "the bot says:", "Ada heard, written down again:",
		"chat   Emmy writes: Please don't record this.", "nothing is left but the marker",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo did not tell: %s", want)
		}
	}
	files, err := filepath.Glob(filepath.Join(keep, "*.ogg"))
	if err != nil || len(files) != 1 {
		t.Fatalf("recordings kept: %v %v", files, err)
	}
	if info, err := ogg.Info(files[0]); err != nil || info.Seconds < 30 || !info.Closed {
		t.Errorf("%+v %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "parley-demo-"+strconv.Itoa(os.Getpid())+"-*")); len(left) > 0 {
		t.Errorf("left on disk: %v", left)
	}
}

func TestTheRulerIsWholeInTheRecording(t *testing.T) {
	h := newHouse(t)
	tone, err := guest.Encode(h.ctx, "ruler", guest.Tone(12*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	// A browser that gets no processor time for a moment loses sound before anybody could record it, and says
	// nothing. What we lose ourselves is lost every time.
	for try := 1; ; try++ {
		err := h.ruler(tone)
		if err == nil {
			return
		}
		t.Logf("try %d: %v", try, err)
		if try == 3 {
			if !need.Overloaded(t) {
				t.Error(err)
			}
			return
		}
	}
}

// ruler records the ruler and says what is missing of it.
func (h *house) ruler(tone guest.Clip) error {
	h.t.Helper()
	link := h.room.Link(room.NewID())
	g := h.guest(link, "Ruler")
	id := h.attend(link, map[string]any{"live_transcript": false})
	if err := g.Play(h.ctx, tone); err != nil {
		h.t.Fatal(err)
	}
	h.call("meeting_leave", map[string]any{"meeting_id": id}, nil)
	st := h.status(id)
	if st.RecordingState != "ready" {
		h.t.Fatalf("%+v", st)
	}
	r, err := ruler.Read(h.ctx, st.RecordingPath)
	if err != nil {
		return err
	}
	// The jitter buffer stretches and squeezes; whole seconds must be there, in order, once.
	if len(r.Missing) > 0 || len(r.Back) > 0 || len(r.Seconds) < 11 || r.Lost() > 500*time.Millisecond {
		return fmt.Errorf("missing %v, back %v, %d seconds, %s lost", r.Missing, r.Back, len(r.Seconds), r.Lost())
	}
	return nil
}

func TestEachPartMayBeKilled(t *testing.T) {
	for _, part := range []struct {
		name    string
		match   string
		reason  []string // how the meeting ends; empty: it goes on
		restart bool
	}{
		{"encoder", "ffmpeg", nil, false},
		{"sound server", "pulseaudio", []string{"sound-lost", "page-lost", "crashed", "start-failed"}, false},
		{"browser", "--remote-debugging-pipe", []string{"page-lost"}, false},
		{"worker", "worker", []string{"crashed"}, false},
		{"service", "serve", []string{"interrupted"}, true},
	} {
		t.Run(part.name, func(t *testing.T) {
			h := newHouse(t)
			link := h.room.Link(room.NewID())
			g := h.guest(link, "Ada")
			id := h.attend(link, nil)
			tone, err := guest.Encode(h.ctx, "tone", guest.Tone(6*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Play(h.ctx, tone); err != nil {
				t.Fatal(err)
			}
			service := h.c.service.PID()
			below := children(service)
			victim := h.part(part.match)
			if victim == 0 {
				t.Fatalf("no %s runs", part.name)
			}
			before := h.status(id).RecordingSeconds
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if part.restart {
				<-h.c.service.Done()
				h.eventually(40*time.Second, "everything of the service is gone", func() bool {
					for _, pid := range below {
						if start, err := proc.StartTime(pid); err == nil && proc.Alive(pid, start) && !isSpeech(pid) {
							return false
						}
					}
					return true
				})
				h.start(need.Models(t))
			}
			if part.reason == nil {
				if err := g.Play(h.ctx, tone); err != nil {
					t.Fatal(err)
				}
				if st := h.status(id); st.State != tool.Attending || !st.Recording {
					t.Fatalf("%+v", st)
				}
				h.call("meeting_leave", map[string]any{"meeting_id": id}, nil)
			}
			h.eventually(40*time.Second, "the meeting has ended", func() bool { return h.status(id).State == tool.Ended })
			st := h.status(id)
			if part.reason != nil && !contains(part.reason, st.Reason) {
				t.Errorf("it ended with %q, want one of %v", st.Reason, part.reason)
			}
			h.eventually(20*time.Second, "the recording is ready", func() bool { return h.status(id).RecordingState == "ready" })
			info, err := ogg.Info(h.status(id).RecordingPath)
			if err != nil {
				t.Fatal(err)
			}
			if info.Seconds < before-1 {
				t.Errorf("%.2f s can be played, and %.2f s were recorded before the kill", info.Seconds, before)
			}
			if part.name != "service" {
				h.eventually(20*time.Second, "nothing of the meeting is left running", func() bool {
					for _, pid := range children(h.c.service.PID()) {
						if !isSpeech(pid) {
							return false
						}
					}
					return true
				})
			}
		})
	}
}

// part is the process of the service, or below it, whose command line has the words; the browser's helpers do not count.
func (h *house) part(match string) int {
	service := h.c.service.PID()
	if match == "serve" {
		return service
	}
	victim := 0
	for _, pid := range children(service) {
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		args := strings.ReplaceAll(string(raw), "\x00", " ")
		if strings.Contains(args, match) && !strings.Contains(args, "--type=") {
			victim = pid
		}
	}
	return victim
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// isSpeech says whether a process is the shared speech process (or a zombie, which runs no more).
func isSpeech(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err != nil || len(raw) == 0 || strings.Contains(string(raw), "parley-speech")
}

func TestWhatCannotBeDoneIsSaid(t *testing.T) {
	h := newHouse(t)
	link := h.room.Link(room.NewID())
	refused := func(want, name string, args map[string]any) {
		t.Helper()
		err := h.c.call(h.ctx, name, args, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %v: %v, want %q", name, args, err, want)
		}
	}
	refused("bad_link", "meeting_join", map[string]any{"url": "hello"})
	refused("bad_link", "meeting_join", map[string]any{"url": "https://meet.google.com.example.org/abc-defg-hij"})
	refused("unsupported", "meeting_join", map[string]any{"url": "https://teams.live.com/meet/9312345678901?p=abc"})
	refused("bad_argument", "meeting_join", map[string]any{"url": link, "lang": "klingon!!"})
	refused("unknown_platform", "meeting_join", map[string]any{"url": "https://example.org/call/1"})
	refused("meeting_not_found", "meeting_status", map[string]any{"meeting_id": "m000000000000"})
	refused("meeting_not_found", "meeting_speak", map[string]any{"meeting_id": "m000000000000", "text": "hello"})

	// A room that is not there: the door itself says so, and nothing stays.
	var st tool.Status
	h.call("meeting_join", map[string]any{"url": "http://127.0.0.1:9/room/none"}, &st)
	h.eventually(30*time.Second, "a room that cannot be reached ends the join", func() bool { return h.status(st.Meeting).State == tool.Ended })
	if end := h.status(st.Meeting); end.Reason == "" || end.ReasonText == "" || end.RecordingState != "none" {
		t.Errorf("%+v", end)
	}

	h.guest(link, "Ada")
	id := h.attend(link, nil)
	refused("text_too_long", "meeting_speak", map[string]any{"meeting_id": id, "text": strings.Repeat("long ", 500)})
	refused("bad_argument", "meeting_speak", map[string]any{"meeting_id": id, "text": "hello", "voice": "nobody"})
	refused("nobody", "meeting_speak", map[string]any{"meeting_id": id, "text": "hello", "voice": "nobody"})
	refused("English", "meeting_speak", map[string]any{"meeting_id": id, "text": "hello", "lang": "xx"})
	refused("since", "meeting_transcript", map[string]any{"meeting_id": id, "since": 5})
	refused("recording_writing", "recording_get", map[string]any{"meeting_id": id})
	var again tool.Status
	h.call("meeting_join", map[string]any{"url": link}, &again)
	if again.Meeting != id || !again.Existing {
		t.Errorf("a second join of the same meeting gave %s, existing %t", again.Meeting, again.Existing)
	}
	h.call("meeting_recording_delete", map[string]any{"meeting_id": id}, nil)
	if st := h.status(id); st.RecordingState != "deleted" || st.Recording {
		t.Errorf("%+v", st)
	}
	h.call("meeting_leave", map[string]any{"meeting_id": id}, nil)
	refused("recording_deleted", "recording_get", map[string]any{"meeting_id": id})
	refused("meeting_ended", "meeting_speak", map[string]any{"meeting_id": id, "text": "hello"})
}

func TestNobodySpeaksBeforeBeingLetIn(t *testing.T) {
	need.Browser(t)
	server, err := room.New(room.Options{Listen: "127.0.0.1:0", Lobby: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving) }()
	t.Cleanup(func() { stop(); <-served })
	h := newHouse(t)
	link := server.Link(room.NewID())
	knocks := make(chan string, 4)
	host, err := guest.Join(h.ctx, guest.Options{URL: link, Name: "Host", Log: slog.New(slog.DiscardHandler)}, func(e guest.Event) {
		if e.Kind == guest.Knock {
			knocks <- e.ID
		}
	})
	if err == nil {
		err = host.Admitted(h.ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Leave() })
	var st tool.Status
	h.call("meeting_join", map[string]any{"url": link}, &st)
	id := <-knocks
	h.eventually(30*time.Second, "it waits", func() bool { return h.status(st.Meeting).State == tool.Waiting })
	if s := h.status(st.Meeting); s.Recording || s.RecordingSeconds > 0 {
		t.Errorf("recorded before being let in: %+v", s)
	}
	if err := h.c.call(h.ctx, "meeting_speak", map[string]any{"meeting_id": st.Meeting, "text": "hello"}, nil); err == nil || !strings.Contains(err.Error(), "not_admitted") {
		t.Errorf("speaking in the lobby: %v", err)
	}
	if err := host.Decline(id); err != nil {
		t.Fatal(err)
	}
	h.eventually(30*time.Second, "a declined join ends", func() bool { return h.status(st.Meeting).State == tool.Ended })
	if s := h.status(st.Meeting); s.Reason != "denied" || s.RecordingState != "none" {
		t.Errorf("reason %q, recording %q", s.Reason, s.RecordingState)
	}
}
