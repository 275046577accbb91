// Package corpus finds recordings of people, with what they say, in packages of the system: for tests and for the
// demonstration. Nothing of it is shipped.
package corpus

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// Utterance is one recording.
type Utterance struct {
	ID   string
	File string
	Text string
}

// The folders into which Debian and its children install the recordings.
const (
	asteriskSounds = "/usr/share/asterisk/sounds/en"
	asteriskTexts  = "/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz"
	librivox       = "/usr/share/pocketsphinx/test/data/librivox"
)

// Asterisk gives telephone prompts of at least four words, read by one professional speaker (packages
// asterisk-core-sounds-en and -g722). The order is fixed and mixed: a prefix is a fair sample.
func Asterisk() ([]Utterance, error) {
	f, err := os.Open(asteriskTexts)
	if err != nil {
		return nil, fmt.Errorf("corpus: install asterisk-core-sounds-en: %w", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("corpus: %s: %w", asteriskTexts, err)
	}
	var all []Utterance
	s := bufio.NewScanner(z)
	for s.Scan() {
		id, text, ok := strings.Cut(s.Text(), ": ")
		// Signs that are read in one way or another, and remarks, are of no use to compare with.
		if !ok || strings.HasPrefix(id, ";") || strings.ContainsAny(text, "*#[]()<>") || len(strings.Fields(text)) < 4 {
			continue
		}
		file := filepath.Join(asteriskSounds, filepath.FromSlash(id)+".g722")
		if _, err := os.Stat(file); err == nil {
			all = append(all, Utterance{ID: id, File: file, Text: strings.TrimSpace(text)})
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("corpus: %s: %w", asteriskTexts, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("corpus: no recordings in %s: install asterisk-core-sounds-en-g722", asteriskSounds)
	}
	place := func(u Utterance) uint64 {
		h := fnv.New64a()
		h.Write([]byte(u.ID))
		return h.Sum64()
	}
	sort.Slice(all, func(i, j int) bool { return place(all[i]) < place(all[j]) })
	return all, nil
}

// LibriVox gives five sentences of a read novel (package pocketsphinx-testdata).
func LibriVox() ([]Utterance, error) {
	b, err := os.ReadFile(filepath.Join(librivox, "transcription"))
	if err != nil {
		return nil, fmt.Errorf("corpus: install pocketsphinx-testdata: %w", err)
	}
	var all []Utterance
	for line := range strings.Lines(string(b)) {
		text, id, ok := strings.Cut(strings.TrimSpace(line), " (")
		id = strings.TrimSuffix(id, ")")
		if !ok {
			continue
		}
		text = strings.TrimSpace(strings.NewReplacer("<s>", "", "</s>", "", "more a amiable", "more amiable").Replace(text))
		all = append(all, Utterance{ID: id, File: filepath.Join(librivox, id+".wav"), Text: text})
	}
	return all, nil
}

// PCM decodes a recording to 16 kHz mono with ffmpeg.
func PCM(ctx context.Context, file string) ([]int16, error) {
	cmd := exec.CommandContext(ctx, "ffmpeg", "-v", "error", "-nostdin", "-i", file, "-f", "s16le", "-ac", "1", "-ar", "16000", "-")
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("corpus: %s: %w: %s", filepath.Base(file), err, strings.TrimSpace(bad.String()))
	}
	pcm := make([]int16, out.Len()/2)
	if err := binary.Read(&out, binary.LittleEndian, pcm); err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	return pcm, nil
}
