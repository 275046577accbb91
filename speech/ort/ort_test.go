//go:build cgo

package ort_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"parley/speech/models"
	"parley/speech/ort"
	"parley/testkit/need"
)

func TestTheRuntimeIsLoadedOnce(t *testing.T) {
	p := models.At(need.Models(t))
	if _, err := ort.Open(p.VAD, []string{"input"}, []string{"output"}, ort.Options{}); err == nil {
		t.Error("a model was opened before Init")
	}
	if err := ort.Init(filepath.Join(t.TempDir(), "absent.so")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	broken := filepath.Join(t.TempDir(), "broken.so")
	if err := os.WriteFile(broken, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := ort.Init(broken); err == nil {
		t.Error("a broken library was loaded")
	}
	for range 2 {
		if err := ort.Init(p.Runtime); err != nil {
			t.Fatal(err)
		}
	}
	if err := ort.Init(broken); !errors.Is(err, ort.ErrOtherRuntime) {
		t.Errorf("another library: %v", err)
	}
}

func TestAModelRuns(t *testing.T) {
	p := models.At(need.Models(t))
	if err := ort.Init(p.Runtime); err != nil {
		t.Fatal(err)
	}
	s, err := ort.Open(p.VAD, []string{"input", "state", "sr"}, []string{"output", "stateN"}, ort.Options{NoArena: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, err := ort.Tensor(make([]float32, 576), 1, 576)
	if err != nil {
		t.Fatal(err)
	}
	state, err := ort.Tensor(make([]float32, 256), 2, 1, 128)
	if err != nil {
		t.Fatal(err)
	}
	rate, err := ort.Tensor([]int64{16000}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer ort.Free(in, state, rate)
	out, err := s.Run(t.Context(), in, state, rate)
	if err != nil {
		t.Fatal(err)
	}
	defer ort.Free(out...)
	v, shape, err := ort.Floats(out[0])
	if err != nil || len(v) != 1 || len(shape) != 2 || v[0] < 0 || v[0] > 0.5 {
		t.Errorf("silence is speech with %v (%v), %v", v, shape, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Run(ctx, in, state, rate); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if _, err := s.Run(t.Context(), in); err == nil {
		t.Error("it ran without its inputs")
	}
	if _, err := ort.Open(p.KokoroVocab, []string{"x"}, []string{"y"}, ort.Options{}); err == nil {
		t.Error("a file that is no model was opened")
	}
}
