package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"parley/turn"
)

// ErrTenant says that a tenant's name cannot be a file's.
var ErrTenant = errors.New("settings: this name of a tenant cannot be the name of a file")

// Store keeps what tenants set, a file each. Several services may share the folder: a file is read each time, and
// replaced as a whole. It is safe for concurrent use.
type Store struct {
	dir string
	mu  sync.Mutex // of read, change, write
}

// NewStore keeps them in a folder, which is made when something is set.
func NewStore(dir string) *Store { return &Store{dir: dir} }

// maxFile bounds a file that is read.
const maxFile = 64 << 10

func (s *Store) path(tenant string) (string, error) {
	if tenant == "" || tenant == "." || tenant == ".." || filepath.Base(tenant) != tenant {
		return "", ErrTenant
	}
	return filepath.Join(s.dir, tenant+".json"), nil
}

// Get gives what a tenant has set.
func (s *Store) Get(tenant string) (map[string]string, error) {
	path, err := s.path(tenant)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return map[string]string{}, nil
	case err != nil:
		return nil, fmt.Errorf("speech settings: %w", err)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("speech settings: %s is %d bytes long and cannot be ours", filepath.Base(path), info.Size())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("speech settings: %w", err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fmt.Errorf("speech settings: %s cannot be read; remove it to begin anew: %w", filepath.Base(path), err)
	}
	return values, nil
}

// Set changes values; one that is nil is removed. All of them are checked before any is changed, also together. The
// error of a bad one names it.
func (s *Store) Set(tenant string, changes map[string]*string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	values, err := s.Get(tenant)
	if err != nil {
		return nil, err
	}
	for name, v := range changes {
		if v == nil {
			if _, known := Named(name); !known {
				return nil, &InputError{fmt.Errorf("%s: there is no such setting", name)}
			}
			delete(values, name)
			continue
		}
		if err := Check(name, *v); err != nil {
			return nil, &InputError{err}
		}
		values[name] = *v
	}
	if err := together(values); err != nil {
		return nil, &InputError{err}
	}
	path, err := s.path(tenant)
	if err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return nil, err
	}
	return values, replace(path, raw)
}

// InputError says that a value cannot be taken.
type InputError struct{ Err error }

// Error says which and why.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *InputError) Unwrap() error { return e.Err }

// together checks what values mean to each other: a language without phrases needs phrases.
func together(values map[string]string) error {
	set := turn.Default()
	for _, name := range []string{"ack_phrases", "ack_lang"} {
		if v, ok := values[name]; ok {
			if err := set.Set(name, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// replace writes a file anew, as a whole.
func replace(path string, raw []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("speech settings: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return fmt.Errorf("speech settings: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("speech settings: %w", err)
	}
	return nil
}
