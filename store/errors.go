package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrNotFound says that there is no such row.
var ErrNotFound = errors.New("not found")

var (
	errCorrupt = errors.New("the file is damaged")
	errNewer   = errors.New("the file was made by a newer version")
)

// Kind sorts what can go wrong by what a person can do about it.
type Kind string

// The kinds.
const (
	Corrupt Kind = "corrupt" // SetAside moves the file away
	Newer   Kind = "newer"   // update the program, or use another data folder
	Locked  Kind = "locked"  // another process writes for too long
	Full    Kind = "full"    // the disk, or a quota
	Denied  Kind = "denied"  // permissions, or a read-only disk
	Failed  Kind = "failed"  // anything else
)

// Error is a failure of the store.
type Error struct {
	Kind Kind
	Path string
	Op   string
	Err  error
}

// Error says what failed and what to do.
func (e *Error) Error() string {
	return fmt.Sprintf("store %s: %s: %v%s", e.Path, e.Op, e.Err, remedies[e.Kind])
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

var remedies = map[Kind]string{
	Corrupt: " (move it away to start with an empty store; recordings and transcripts are files of their own and stay)",
	Newer:   " (update parley, or give it another data folder)",
	Locked:  " (another process is writing to it and does not end; is a backup or another parley stuck?)",
	Full:    " (the disk is full: make room and try again)",
	Denied:  " (check who owns the data folder and whether the disk is writable)",
}

// explain turns an error of the driver into an *Error. Nil, ErrNotFound and the context's own errors pass.
func explain(path, op string, err error) error {
	var done *Error
	switch {
	case err == nil, errors.As(err, &done):
		return err
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrStale), errors.Is(err, ErrTooMany), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	e := &Error{Kind: Failed, Path: path, Op: op, Err: err}
	var lite *sqlite.Error
	switch {
	case errors.Is(err, errCorrupt):
		e.Kind = Corrupt
	case errors.Is(err, errNewer):
		e.Kind = Newer
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind = Full
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Kind = Denied
	case errors.As(err, &lite):
		switch lite.Code() & 0xff { // the low byte is the primary code
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			e.Kind = Corrupt
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			e.Kind = Locked
		case sqlite3.SQLITE_FULL:
			e.Kind = Full
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH:
			e.Kind = Denied
		}
	}
	return e
}

// KindOf is the kind of a store's error, or empty.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// SetAside moves a damaged store of a data folder to a name that ends in suffix, with what belongs to it.
// No process may have it open.
func SetAside(dir, suffix string) (moved string, err error) {
	path := dir + string(os.PathSeparator) + File
	moved = path + suffix
	if err := os.Rename(path, moved); err != nil {
		return "", fmt.Errorf("setting the store aside: %w", err)
	}
	for _, part := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+part, moved+part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("setting the store aside: %w", err)
		}
	}
	return moved, nil
}
