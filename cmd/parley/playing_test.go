package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/room"
	"parley/room/guest"
	"parley/testkit/need"
	"parley/testkit/ruler"
	"parley/testkit/voices"
	"parley/tool"
)

// A sound that the agent brought is heard in the meeting as it is, though somebody talks all the while; only a command
// stops it.
func TestAFileIsPlayedInAMeeting(t *testing.T) {
	need.Real(t)
	h := newHouseFor(t, 8*time.Minute)
	link := h.room.Link(room.NewID())
	heard := filepath.Join(t.TempDir(), "heard.ogg")
	g := h.guest(link, "Ada")
	rec, err := guest.Join(h.ctx, guest.Options{URL: link, Name: "Ear", Record: heard}, nil)
	if err == nil {
		err = rec.Admitted(h.ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rec.Leave() }()
	id := h.attend(link, nil)
	tone := h.sound(guest.Tone(8 * time.Second))

	// A large file is sent by the command that the agent is given.
	var up tool.Uploaded
	h.call("upload_create", map[string]any{"filename": "tone.wav", "size_bytes": fileSize(t, tone)}, &up)
	cmd := exec.CommandContext(h.ctx, "sh", "-c", up.Curl)
	cmd.Dir = filepath.Dir(tone)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", up.Curl, err, out)
	}

	recordings, err := voices.Novel()
	if err != nil {
		t.Fatal(err)
	}
	talk, err := guest.Load(h.ctx, recordings[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	var sp tool.Spoken
	h.call("meeting_speak", map[string]any{"meeting_id": id, "audio_file_id": up.File}, &sp)
	if sp.State != "playing" || sp.DurationS < 7.5 {
		t.Errorf("it began so: %+v", sp)
	}
	if err := g.Play(h.ctx, talk); err != nil { // words enough to interrupt a voice
		t.Fatal(err)
	}
	var end *tool.Speech
	h.until(id, "the file is over", func(ev tool.Event) bool {
		if ev.Speech != nil && ev.Speech.Utterance == sp.Utterance && ev.Speech.State != "playing" {
			end = ev.Speech
		}
		return end != nil
	})
	if end.State != "done" || end.BargeIn || end.Said != "" || end.Unsaid != "" {
		t.Errorf("it ended so: %+v", end)
	}
	if p := end.Proof; p == nil || p.Heard == "false" || p.LevelDB == nil || *p.LevelDB < -40 {
		t.Errorf("the proof that it was heard: %+v", p)
	}

	// Another one, in another format, is stopped by the command.
	mp3 := filepath.Join(t.TempDir(), "tone.mp3")
	if out, err := exec.CommandContext(h.ctx, "ffmpeg", "-v", "error", "-i", tone, mp3).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	small := h.bring("tone.mp3", mp3)
	h.call("meeting_speak", map[string]any{"meeting_id": id, "audio_file_id": small}, &sp)
	var stopped tool.SpeakingStopped
	h.call("meeting_stop_speaking", map[string]any{"meeting_id": id}, &stopped)
	if !stopped.Stopped || stopped.Said != "" || stopped.Unsaid != "" {
		t.Errorf("stopped: %+v", stopped)
	}

	// What is no sound is refused, and the meeting does not mind.
	noise := filepath.Join(t.TempDir(), "list.m3u8")
	if err := os.WriteFile(noise, []byte("#EXTM3U\n#EXTINF:1,\n"+tone+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = h.c.call(h.ctx, "meeting_speak", map[string]any{"meeting_id": id, "audio_file_id": h.bring("list.m3u8", noise)}, nil)
	if err == nil || !strings.Contains(err.Error(), "cannot be played") {
		t.Errorf("a list of files: %v", err)
	}
	if err := h.c.call(h.ctx, "meeting_speak", map[string]any{"meeting_id": id, "audio_file_id": "f00"}, nil); err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("a file that is not there: %v", err)
	}
	h.call("meeting_speak", map[string]any{"meeting_id": id, "text": "And now for something else.", "wait": true}, &sp)
	if sp.State != "done" {
		t.Errorf("the voice after it: %+v", sp)
	}
	h.call("meeting_leave", map[string]any{"meeting_id": id}, nil)
	if err := rec.Leave(); err != nil {
		t.Fatal(err)
	}
	<-rec.Done()
	r, err := ruler.Read(h.ctx, heard)
	if err != nil && !need.Overloaded(t) {
		t.Fatalf("what the guest recorded: %v", err)
	}
	// Ada talks over it in the mix; most seconds of the tone can be told all the same.
	if len(r.Seconds) < 4 && !need.Overloaded(t) {
		t.Errorf("of eight seconds the guest heard %v", r.Seconds)
	}
}

// sound writes samples at 48 kHz as a file.
func (h *house) sound(pcm []int16) string {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), "tone.wav")
	cmd := exec.CommandContext(h.ctx, "ffmpeg", "-v", "error", "-f", "s16le", "-ac", "1", "-ar", "48000", "-i", "-", path)
	var raw bytes.Buffer
	if err := binary.Write(&raw, binary.LittleEndian, pcm); err != nil {
		h.t.Fatal(err)
	}
	cmd.Stdin = &raw
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return path
}

// bring uploads a small file within the call.
func (h *house) bring(name, path string) string {
	h.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	var up tool.Uploaded
	h.call("upload_create", map[string]any{"filename": name, "content_base64": base64.StdEncoding.EncodeToString(raw)}, &up)
	if up.Size != int64(len(raw)) || up.URL != "" {
		h.t.Errorf("%+v", up)
	}
	return up.File
}

func (h *house) until(meeting, what string, yes func(tool.Event) bool) {
	h.t.Helper()
	if err := h.c.until(h.ctx, meeting, time.Minute, what, yes); err != nil {
		h.t.Fatal(err)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
