// Package voices finds recorded human speech with its text among what Debian ships, for the demo and the tests.
package voices

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// Recording is one sentence or two by one person.
type Recording struct {
	ID   string
	Path string
	Text string
}

// ErrMissing means that the package with the recordings is not installed.
var ErrMissing = errors.New("the recordings are not installed: run make setup")

// The places where Debian's packages put them (asterisk-core-sounds-en and -g722; pocketsphinx-testdata).
var (
	promptTexts = []string{"/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz", "/usr/share/asterisk/sounds/en/core-sounds-en.txt"}
	promptDirs  = []string{"/usr/share/asterisk/sounds/en", "/usr/share/asterisk/sounds/en_US_f_Allison"}
	novelDir    = "/usr/share/pocketsphinx/test/data/librivox"
)

// Prompts are the announcements of a telephone system, read by one professional speaker, sorted by id.
// Fragments and lines with signs that are not read as written are left out.
func Prompts() ([]Recording, error) {
	raw, err := firstFile(promptTexts)
	if err != nil {
		return nil, err
	}
	texts, err := parsePrompts(raw)
	if err != nil {
		return nil, err
	}
	var out []Recording
	for id, text := range texts {
		for _, dir := range promptDirs {
			p := filepath.Join(dir, filepath.FromSlash(id)+".g722")
			if _, err := os.Stat(p); err == nil {
				out = append(out, Recording{ID: id, Path: p, Text: text})
				break
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("telephone prompts: %w", ErrMissing)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out, nil
}

// Pick gives the prompts with these ids, in this order.
func Pick(all []Recording, ids ...string) ([]Recording, error) {
	byID := map[string]Recording{}
	for _, r := range all {
		byID[r.ID] = r
	}
	var out []Recording
	for _, id := range ids {
		r, ok := byID[id]
		if !ok {
			return nil, fmt.Errorf("recording %q: %w", id, ErrMissing)
		}
		out = append(out, r)
	}
	return out, nil
}

// Novel are sentences of a novel, read by another person.
func Novel() ([]Recording, error) {
	raw, err := os.ReadFile(filepath.Join(novelDir, "transcription"))
	if err != nil {
		return nil, fmt.Errorf("sentences of a novel: %w", ErrMissing)
	}
	var out []Recording
	for _, r := range parseNovel(string(raw)) {
		r.Path = filepath.Join(novelDir, r.ID+".wav")
		if _, err := os.Stat(r.Path); err == nil {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("sentences of a novel: %w", ErrMissing)
	}
	return out, nil
}

// Decode gives a recording's samples, mono at a rate in Hz, by ffmpeg.
func Decode(ctx context.Context, path string, rate int) ([]int16, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "ffmpeg", "-nostdin", "-v", "error", "-i", path, "-f", "s16le", "-ac", "1", "-ar", fmt.Sprint(rate), "-")
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("decode %s: %w: %s", filepath.Base(path), err, strings.TrimSpace(errs.String()))
	}
	pcm := make([]int16, out.Len()/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(out.Bytes()[2*i:]))
	}
	return pcm, nil
}

func firstFile(paths []string) ([]byte, error) {
	for _, p := range paths {
		if raw, err := os.ReadFile(p); err == nil {
			return raw, nil
		}
	}
	return nil, fmt.Errorf("telephone prompts: %w", ErrMissing)
}

// parsePrompts reads "id: text" lines, gzipped or not.
func parsePrompts(raw []byte) (map[string]string, error) {
	var r io.Reader = bytes.NewReader(raw)
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("texts of the prompts: %w", err)
		}
		r = z
	}
	texts := map[string]string{}
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		line := sc.Text()
		id, text, ok := strings.Cut(line, ":")
		text = strings.TrimSpace(text)
		if !ok || strings.HasPrefix(line, ";") || strings.ContainsAny(text, "*#[]()<>0123456789/&") ||
			strings.Contains(text, "...") || len(strings.Fields(text)) < 4 {
			continue
		}
		texts[strings.TrimSpace(id)] = text
	}
	return texts, sc.Err()
}

// parseNovel reads "<s> words </s> (id)" lines. One of them has a word too many against what is read.
func parseNovel(raw string) []Recording {
	var out []Recording
	for _, line := range strings.Split(raw, "\n") {
		text, id, ok := strings.Cut(line, "</s>")
		id = strings.Trim(strings.TrimSpace(id), "()")
		if !ok || id == "" || strings.ContainsAny(id, "/\\") {
			continue
		}
		text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "<s>"))
		text = strings.Replace(text, "a more a amiable", "a more amiable", 1)
		out = append(out, Recording{ID: id, Text: text})
	}
	return out
}
