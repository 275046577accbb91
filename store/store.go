// Package store is the durable memory of a data folder: one SQLite file that several processes may share.
//
// What people said and wrote is never in it; recordings and transcripts are files of their own.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// File is the name of the store in a data folder.
const File = "parley.db"

// busyTimeout is how long a statement waits for another process's write.
const busyTimeout = 5 * time.Second

//go:embed migrations/*.sql
var migrations embed.FS

// Store is an open store. It is safe for concurrent use, by several processes too.
type Store struct {
	db   *sql.DB
	path string

	Meetings    Meetings
	Links       Links
	Idempotency Idempotency
	Usage       Usage
	Grants      Grants

	// What the control endpoint manages.
	Bookmarks       Bookmarks
	TabSets         TabSets
	ControlSettings ControlSettings
	Credentials     Credentials
}

// Open opens the store of a data folder, making folder (0700) and file (0600) where they are missing, and
// brings its tables up to date. Errors are an *Error whose Kind says what to do.
func Open(ctx context.Context, dir string) (*Store, error) {
	path := filepath.Join(dir, File)
	fail := func(op string, err error) (*Store, error) { return nil, explain(path, op, err) }
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail("making the data folder", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fail("opening", err)
	}
	if err := f.Close(); err != nil {
		return fail("opening", err)
	}
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), // first: the others may have to wait
		"synchronous(FULL)", "foreign_keys(ON)", "cache_size(-512)",
	}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String())
	if err != nil {
		return fail("opening", err)
	}
	// A connection costs memory; readers do not wait for the writer, so two are enough.
	db.SetMaxOpenConns(2)
	db.SetMaxIdleConns(2)
	s := &Store{db: db, path: path}
	s.Meetings, s.Links, s.Idempotency, s.Usage, s.Grants = Meetings{s}, Links{s}, Idempotency{s}, Usage{s}, Grants{s}
	s.Bookmarks, s.TabSets, s.ControlSettings, s.Credentials = Bookmarks{s}, TabSets{s}, ControlSettings{s}, Credentials{s}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// prepare makes a file fit to work with. While several processes open a new one, SQLite tells some of them at
// once that it is locked, whatever the time-out: they try again.
func (s *Store) prepare(ctx context.Context) error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := s.step("switching the journal of", func() error {
			var mode string // it stays with the file, so that later connections find it done
			err := s.db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
			if err == nil && mode != "wal" {
				err = fmt.Errorf("its journal is %s, not wal: is the data folder on a network drive?", mode)
			}
			return err
		})
		if err == nil {
			err = s.step("checking", func() error { return s.check(ctx) })
		}
		if err == nil {
			err = s.step("updating the tables of", func() error { return s.migrate(ctx) })
		}
		if KindOf(err) != Locked || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Store) step(op string, f func() error) error { return explain(s.path, op, f()) }

// Close waits for running statements and closes the file.
func (s *Store) Close() error { return s.db.Close() }

// Path is where the file is.
func (s *Store) Path() string { return s.path }

// Ping tells whether the store can be written, for a readiness check.
func (s *Store) Ping(ctx context.Context) error {
	return s.write(ctx, "checking", func(tx *sql.Tx) error {
		var have int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", have)) // what stands there, written again
		return err
	})
}

// check reads the whole file once; it is small.
func (s *Store) check(ctx context.Context) error {
	var verdict string
	if err := s.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", errCorrupt, verdict)
	}
	return nil
}

func steps() []string {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is ours
	}
	slices.Sort(names)
	return names
}

func version() int { return len(steps()) }

// migrate runs the steps this file has not seen. It holds the write lock from before it looks, so that of
// several processes only one does it.
func (s *Store) migrate(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var have int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if have > version() {
		return fmt.Errorf("%w: its tables are of version %d, this program knows %d", errNewer, have, version())
	}
	for _, name := range steps()[have:] {
		step, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(step)); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(name, "migrations/"), err)
		}
	}
	if have < version() {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version())); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// write runs f in a transaction that holds the write lock from the start.
func (s *Store) write(ctx context.Context, op string, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return explain(s.path, op, err)
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return explain(s.path, op, err)
	}
	return explain(s.path, op, tx.Commit())
}

func (s *Store) exec(ctx context.Context, op, query string, args ...any) (rows int64, err error) {
	err = s.write(ctx, op, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		rows, err = r.RowsAffected()
		return err
	})
	return rows, err
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
