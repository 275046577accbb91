package ogg

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const suffix = ".ogg"

// partPath is where a part lies: the first one is the recording itself.
func partPath(path string, n int) string {
	if n == 1 {
		return path
	}
	return strings.TrimSuffix(path, suffix) + "." + strconv.Itoa(n) + suffix
}

// joinPath is where parts are put together before they take the recording's place.
func joinPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".joining")
}

// parts lists the numbers of the parts that exist, in order.
func parts(path string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("recording parts: %w", err)
	}
	base := filepath.Base(path)
	stem := strings.TrimSuffix(base, suffix) + "."
	var out []int
	for _, e := range entries {
		if e.Name() == base {
			out = append(out, 1)
			continue
		}
		middle, ok := strings.CutPrefix(e.Name(), stem)
		if !ok {
			continue
		}
		if middle, ok = strings.CutSuffix(middle, suffix); !ok {
			continue
		}
		if n, err := strconv.Atoi(middle); err == nil && n >= 2 && strconv.Itoa(n) == middle {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Remove deletes a recording with all its parts. That there is none is no error.
func Remove(path string) error {
	list, err := parts(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	var all error
	for _, n := range list {
		all = errors.Join(all, gone(os.Remove(partPath(path, n))))
	}
	return errors.Join(all, gone(os.Remove(joinPath(path))))
}

func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func checkPath(path string) error {
	if !strings.HasSuffix(path, suffix) || len(filepath.Base(path)) == len(suffix) {
		return fmt.Errorf("recording path %q does not end in NAME%s", path, suffix)
	}
	return nil
}
