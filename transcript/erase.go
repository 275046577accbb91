package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// marker is the empty file <id>.deleted beside a meeting's files: whoever deletes writes and syncs it first,
// and whoever starts unlinks what stands beside it. So a deletion that a crash cut short is finished.
const marker = ".deleted"

// markerOf is the marker of any file of a meeting: its name up to the first dot is the meeting's id.
func markerOf(path string) string {
	id, _, _ := strings.Cut(filepath.Base(path), ".")
	return filepath.Join(filepath.Dir(path), id+marker)
}

// Erased says that the meeting of this file was deleted.
func Erased(path string) bool {
	_, err := os.Lstat(markerOf(path))
	return err == nil
}

// MarkErased writes the deletion marker for the meeting of this file and waits until it is on the disk.
func MarkErased(path string) error {
	f, err := os.OpenFile(markerOf(path), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("transcript: deletion marker: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close(), syncDir(filepath.Dir(path))); err != nil {
		return fmt.Errorf("transcript: deletion marker: %w", err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SweepErased finishes deletions in a folder: it unlinks every plain file that stands beside a marker
// (recording, parts, transcript) and returns their names.
func SweepErased(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("transcript: finish deletions: %w", err)
	}
	gone := map[string]bool{}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), marker); ok {
			gone[id] = true
		}
	}
	var removed []string
	var failed []error
	for _, e := range entries {
		id, rest, _ := strings.Cut(e.Name(), ".")
		if !gone[id] || "."+rest == marker || !e.Type().IsRegular() {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
			continue
		}
		removed = append(removed, e.Name())
	}
	if err := errors.Join(failed...); err != nil {
		return removed, fmt.Errorf("transcript: finish deletions: %w", err)
	}
	return removed, nil
}
