package server

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Sounds keeps the sound of common clauses: in memory, and in a folder so that the next process has them at once.
// Only clauses from our own list come in, never a caller's words. It is safe for concurrent use.
type Sounds struct {
	dir string

	mu   sync.Mutex
	held map[string][]int16
	size int
}

// maxSounds bounds the memory, in samples: two minutes of speech.
const maxSounds = 120 * 24000

// NewSounds keeps sounds in dir, or in memory only when it is empty.
func NewSounds(dir string) *Sounds { return &Sounds{dir: dir, held: map[string][]int16{}} }

// key names a clause's sound: whatever changes it changes the name.
func (s *Sounds) key(c Clause) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "1|%s|%s|%.3f", c.Voice, c.Phonemes, c.Speed))
	return hex.EncodeToString(sum[:16])
}

// get gives the sound of a clause, if it is known.
func (s *Sounds) get(c Clause) []int16 {
	key := s.key(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if pcm, ok := s.held[key]; ok {
		return pcm
	}
	if s.dir == "" {
		return nil
	}
	raw, err := os.ReadFile(filepath.Join(s.dir, key+".pcm"))
	if err != nil || len(raw) == 0 || len(raw)%2 != 0 {
		return nil // it is made again
	}
	pcm := make([]int16, len(raw)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(raw[2*i:]))
	}
	s.hold(key, pcm)
	return pcm
}

// put keeps the sound of a clause. An error says that the folder did not take it; memory did.
func (s *Sounds) put(c Clause, pcm []int16) error {
	key := s.key(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(key, pcm)
	if s.dir == "" {
		return nil
	}
	raw := make([]byte, 0, 2*len(pcm))
	for _, v := range pcm {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(v))
	}
	path := filepath.Join(s.dir, key+".pcm")
	err := os.MkdirAll(s.dir, 0o700)
	if err == nil {
		err = os.WriteFile(path+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path) // whole or not at all
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(path+".new"))
	}
	return nil
}

// hold keeps a sound in memory, in the place of any others.
func (s *Sounds) hold(key string, pcm []int16) {
	if len(pcm) > maxSounds {
		return
	}
	for k, old := range s.held {
		if s.size+len(pcm) <= maxSounds {
			break
		}
		s.size -= len(old)
		delete(s.held, k)
	}
	s.size += len(pcm) - len(s.held[key])
	s.held[key] = pcm
}
