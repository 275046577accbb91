package models

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestEveryPathLiesBelowTheRoot(t *testing.T) {
	p := At("/m")
	for _, f := range []string{p.Kokoro, p.KokoroVocab, p.VAD, p.TurnEnd, p.Embedder, p.Runtime,
		p.Whisper(Base), p.Voice("af_heart"), p.Lexicon("us_gold")} {
		if rel, err := filepath.Rel("/m", f); err != nil || rel == "." || rel[0] == '.' {
			t.Errorf("%s is outside", f)
		}
	}
}

func TestVoicesAreListedSortedAndOnlyVoices(t *testing.T) {
	p := At(t.TempDir())
	if _, err := p.Voices(); err == nil {
		t.Error("no folder, no error")
	}
	dir := filepath.Dir(p.Voice("x"))
	if err := os.MkdirAll(filepath.Join(dir, "folder.bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"bm_george", "af_heart"} {
		if err := os.WriteFile(p.Voice(id), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := p.Voices()
	if err != nil || !reflect.DeepEqual(got, []string{"af_heart", "bm_george"}) {
		t.Errorf("Voices() = %v, %v", got, err)
	}
}
