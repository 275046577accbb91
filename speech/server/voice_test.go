package server

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSoundsAreKeptAcrossProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "voice")
	c := Clause{Voice: "v", Phonemes: "p", Speed: 1}
	first := NewSounds(dir)
	if first.get(c) != nil {
		t.Fatal("known before it was made")
	}
	if err := first.put(c, []int16{1, -2, 3}); err != nil {
		t.Fatal(err)
	}
	second := NewSounds(dir)
	if got := second.get(c); len(got) != 3 || got[1] != -2 {
		t.Errorf("%v", got)
	}
	for _, other := range []Clause{{Voice: "w", Phonemes: "p", Speed: 1}, {Voice: "v", Phonemes: "q", Speed: 1}, {Voice: "v", Phonemes: "p", Speed: 1.1}} {
		if second.get(other) != nil {
			t.Errorf("%+v has the sound of another", other)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	// A file that was cut is made again.
	if err := os.WriteFile(filepath.Join(dir, files[0].Name()), []byte{1}, 0o600); err != nil {
		t.Fatal(err)
	}
	if NewSounds(dir).get(c) != nil {
		t.Error("half a sample was taken for a sound")
	}
}

func TestSoundsInMemoryAreBounded(t *testing.T) {
	s := NewSounds("")
	for i := range 50 {
		if err := s.put(Clause{Phonemes: string(rune('a' + i))}, make([]int16, maxSounds/10)); err != nil {
			t.Fatal(err)
		}
		if s.size > maxSounds {
			t.Fatalf("%d samples", s.size)
		}
	}
	if s.put(Clause{Phonemes: "long"}, make([]int16, maxSounds+1)); s.get(Clause{Phonemes: "long"}) != nil {
		t.Error("a sound beyond the bound was kept")
	}
	// A folder that cannot be written costs the next process, not this one.
	bad := NewSounds("/proc/no/such/folder")
	if err := bad.put(Clause{}, []int16{1}); err == nil || bad.get(Clause{}) == nil {
		t.Errorf("%v", err)
	}
}
