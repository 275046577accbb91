package trusted

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "d")
}

func TestAnOrder(t *testing.T) {
	dir := short(t)
	if err := Ask(t.Context(), dir, "x", nil, nil); !errors.Is(err, ErrNotRunning) {
		t.Errorf("nobody there: %v", err)
	}
	s, err := Listen(dir, func(_ context.Context, r Request) (any, error) {
		if r.Word == "fail" {
			return nil, errors.New("no: " + string(r.Body))
		}
		return map[string]string{"word": r.Word}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := Ask(t.Context(), dir, "hello", 1, &got); err != nil || got["word"] != "hello" {
		t.Errorf("%v, %v", got, err)
	}
	if err := Ask(t.Context(), dir, "fail", "why", nil); err == nil || err.Error() != `no: "why"` {
		t.Errorf("%v", err)
	}
	if err := Ask(t.Context(), dir, strings.Repeat("x", maxLine), nil, nil); err == nil {
		t.Error("a line that is too long")
	}
	if info, err := os.Stat(filepath.Join(dir, socket)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := Ask(t.Context(), dir, "x", nil, nil); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder stays: %v", err)
	}
}

func TestAFolderOfOthersIsNotUsed(t *testing.T) {
	dir := short(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(dir, nil); err == nil {
		t.Error("a folder that others may enter")
	}
	if err := Ask(t.Context(), dir, "x", nil, nil); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("%v", err)
	}
}
