//go:build cgo

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/local"
	"parley/speech/models"
	"parley/testkit/need"
)

// damaged is a folder of models with one bit changed in the largest file at path or below it.
func damaged(t *testing.T, root, path string) string {
	t.Helper()
	rel, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	victim, size := "", int64(0)
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, at)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if (at == rel || strings.HasPrefix(at, rel+"/")) && info.Size() > size {
			victim, size = at, info.Size()
		}
		return os.Symlink(name, to)
	})
	if err != nil || victim == "" {
		t.Fatalf("%q: %v", victim, err)
	}
	raw, err := os.ReadFile(filepath.Join(root, victim))
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.Remove(filepath.Join(dir, victim)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, victim), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// One damaged file takes away what needs it and nothing else, before the process runs and in it; and what is lost is
// said with its remedy.
func TestOneDamagedFile(t *testing.T) {
	p := models.At(need.Models(t))
	for _, c := range []struct {
		name, file            string
		hears, partial, speak bool
		german                bool
		note                  string
	}{
		{"the small recogniser", p.Whisper(models.TinyEn), true, true, true, true, "partial texts come later"},
		{"the large recogniser", p.Whisper(models.Base), true, true, true, false, "English only"},
		{"voice activity", p.VAD, false, false, true, false, ""},
		{"the voice", p.Kokoro, true, true, false, true, "kokoro"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := engine(t, damaged(t, p.Root, c.file), nil)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			told := func(st local.Status, well string) {
				t.Helper()
				if c.hears != (st.State == well) || (st.Problem == "") != c.hears || (st.Remedy == "") != c.hears {
					t.Errorf("hearing: %+v", st)
				}
				if c.speak != (st.Voice == local.StateIdle || st.Voice == local.StateReady) {
					t.Errorf("voice: %+v", st)
				}
				all := strings.Join(st.Notes, "\n")
				if !strings.Contains(all, c.note) || (c.note != "" && !strings.Contains(all, "is corrupt: parley models fetch")) {
					t.Errorf("notes: %q", all)
				}
			}
			told(e.Status(ctx), local.StateIdle)
			said, err := e.Speak(ctx, speech.SpeakRequest{Text: "Good morning."})
			if err == nil {
				defer said.Close()
				var piece speech.Piece
				if piece, err = said.Next(ctx); err == nil && len(piece.PCM) == 0 {
					t.Error("no sound")
				}
			}
			if (err == nil) != c.speak || err != nil && !strings.Contains(err.Error(), "is corrupt: parley models fetch") {
				t.Errorf("speaking: %v", err)
			}
			s, err := e.Open(ctx, speech.StreamOptions{Lang: "en", Partials: true})
			if (err == nil) != c.hears {
				t.Fatalf("hearing: %v", err)
			}
			if err != nil {
				var typed *speech.Error
				if !errors.As(err, &typed) || typed.Kind != speech.KindUnavailable || !strings.Contains(err.Error(), "silero_vad.onnx is corrupt: parley models fetch") {
					t.Errorf("%v", err)
				}
				told(e.Status(ctx), local.StateReady)
				return
			}
			defer s.Close()
			pcm := prompts(t, "conf-onlyperson")[0].PCM
			for at := 0; at < len(pcm); at += 3200 {
				if err := s.Write(int64(at), pcm[at:min(at+3200, len(pcm))]); err != nil {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond)
			}
			if err := s.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			text, partials := "", 0
			for len(s.Events()) > 0 {
				switch ev := (<-s.Events()).(type) {
				case speech.Final:
					text += ev.Text
				case speech.Partial:
					partials++
				case speech.Fault:
					t.Errorf("%v", ev.Err)
				}
			}
			if !strings.Contains(strings.ToLower(text), "only person") || (partials > 0) != c.partial {
				t.Errorf("%q, %d partials", text, partials)
			}
			told(e.Status(ctx), local.StateReady)
			g, err := e.Open(ctx, speech.StreamOptions{Lang: "de"})
			if (err == nil) != c.german {
				t.Errorf("German: %v", err)
			}
			if err == nil {
				g.Close()
			}
		})
	}
}
