// Package upload keeps the files that agents bring, until they have been used.
package upload

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/tenant"
)

// Bounds that are no settings.
const (
	// MaxFiles is how many uploads a tenant holds at once, waiting ones included.
	MaxFiles = 50
	// MaxStreams and MaxAllStreams are how many files of a tenant, and of all tenants, may arrive at once.
	MaxStreams    = 4
	MaxAllStreams = 16
	// MaxName is the longest file name, in bytes.
	MaxName = 200
	// held is how long a file that was asked for stays at least, so that whoever asked can read it.
	held = 2 * time.Minute
)

var (
	// ErrNotFound means that the tenant has no such file: never had, or not any more.
	ErrNotFound = errors.New("there is no such file")
	// ErrWaiting means that the file has not arrived.
	ErrWaiting = errors.New("the file has not arrived yet")
	// ErrArriving means that somebody sends it at this moment.
	ErrArriving = errors.New("the file is arriving right now")
	// ErrThere means that it has arrived already; a file is never replaced.
	ErrThere = errors.New("the file is there already")
	// ErrBusy means that as many files arrive as may at once. Sending it again later works.
	ErrBusy = errors.New("too many files arrive at once")
	// ErrTooMany means that the tenant holds MaxFiles.
	ErrTooMany = fmt.Errorf("%d files are held at once at the most", MaxFiles)
	// ErrName means that a name is none for a file.
	ErrName = fmt.Errorf("a file name is 1 to %d bytes of plain text without a folder", MaxName)
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("uploads have ended")
)

// TooLargeError means that a file, or all of a tenant's together, would be larger than allowed.
type TooLargeError struct {
	Max      int64 // bytes
	OfTenant bool  // Max is that of all files together
}

// Error says how much is allowed.
func (e *TooLargeError) Error() string {
	if e.OfTenant {
		return fmt.Sprintf("all files together may have %d bytes; the ones that are not needed go an hour after they came, or with the session that used them", e.Max)
	}
	return fmt.Sprintf("a file may have %d bytes", e.Max)
}

// SizeError means that another number of bytes came than was said.
type SizeError struct{ Want, Got int64 }

// Error tells both.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%d bytes were announced, and %d came", e.Want, e.Got)
}

// Options make a Store. Zero values work, but for Dir.
type Options struct {
	// Dir is the folder of all uploads; several stores may share it.
	Dir string
	// MaxBytes is the most of one file, TenantBytes of all of a tenant's; zero: 300 MB and 1 GB.
	MaxBytes, TenantBytes int64
	// Wait is how long a file may stay away; zero: 15 min. TTL is how long it stays once it came; zero: an hour.
	Wait, TTL time.Duration
	Log       *slog.Logger // nil: silent
}

// State is how far an upload is.
type State string

// The states.
const (
	Waiting  State = "waiting"
	Arriving State = "arriving"
	Ready    State = "ready"
)

// File is an upload as it is now.
type File struct {
	ID     string
	Tenant tenant.ID
	Name   string
	State  State
	// Size is what came, in bytes; before that what was announced, or 0.
	Size int64
	// Path is where it lies; empty until it is there.
	Path string
	// Ends is when it will be deleted.
	Ends time.Time
}

// file is an upload with what is ours to know.
type file struct {
	File
	announced int64           // 0: not
	reserved  int64           // of the tenant's bytes
	users     map[string]bool // sessions that were given it
}

// Store keeps files. It is safe for concurrent use. Files of one store are deleted when it closes, and those of a dead
// one when the next opens.
type Store struct {
	o        Options
	instance string
	lock     *os.File
	life     context.Context
	end      context.CancelFunc
	tasks    sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	files   map[string]*file
	bytes   map[tenant.ID]int64
	streams map[tenant.ID]int
	all     int // streams
}

// Open makes a store in a folder, and deletes what dead stores left there.
func Open(o Options) (*Store, error) {
	o.MaxBytes, o.TenantBytes = cmp.Or(o.MaxBytes, 300<<20), cmp.Or(o.TenantBytes, 1<<30)
	o.Wait, o.TTL = cmp.Or(o.Wait, 15*time.Minute), cmp.Or(o.TTL, time.Hour)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{o: o, instance: random(4), files: map[string]*file{}, bytes: map[tenant.ID]int64{}, streams: map[tenant.ID]int{}}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of uploads: %w", err)
	}
	var err error
	if s.lock, err = takeLock(lockPath(o.Dir, s.instance)); err != nil {
		return nil, fmt.Errorf("lock of uploads: %w", err)
	}
	if n, err := sweepDead(o.Dir); err != nil {
		o.Log.Warn("uploads of an earlier service are still there", "err", err)
	} else if n > 0 {
		o.Log.Info("uploads of an earlier service were deleted", "files", n)
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.tasks.Go(s.expire)
	return s, nil
}

func random(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Name gives the name under which a file can lie in a folder of its own, or ErrName. It reads as it is written: what
// turns the direction of text would show another ending than the file has.
func Name(s string) (string, error) {
	bad := func(r rune) bool {
		return r == '/' || r == '\\' || unicode.IsControl(r) || r == utf8.RuneError || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
	}
	if s == "" || len(s) > MaxName || s == "." || s == ".." || strings.TrimSpace(s) == "" || strings.ContainsFunc(s, bad) {
		return "", ErrName
	}
	return s, nil
}

// Create makes an upload that waits for its bytes. Size is how many will come; 0 says nothing about it.
func (s *Store) Create(t tenant.ID, name string, size int64) (File, error) {
	name, err := Name(name)
	if err != nil {
		return File{}, err
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return File{}, ErrClosed
	}
	n := 0
	for _, f := range s.files {
		if f.Tenant == t && f.Ends.After(now) {
			n++
		}
	}
	switch {
	case n >= MaxFiles:
		return File{}, ErrTooMany
	case size > s.o.MaxBytes:
		return File{}, &TooLargeError{Max: s.o.MaxBytes}
	case size+s.bytes[t] > s.o.TenantBytes:
		return File{}, &TooLargeError{Max: s.o.TenantBytes, OfTenant: true}
	}
	f := &file{File: File{ID: "f" + s.instance + random(8), Tenant: t, Name: name, State: Waiting, Size: size, Ends: now.Add(s.o.Wait)}, announced: size}
	s.files[f.ID] = f
	return f.File, nil
}

// find gives a tenant's file. The caller holds the lock.
func (s *Store) find(t tenant.ID, id string) (*file, error) {
	f := s.files[id]
	if f == nil || f.Tenant != t || f.State != Arriving && !f.Ends.After(time.Now()) {
		return nil, ErrNotFound
	}
	return f, nil
}

// Put takes a file's bytes as they come, straight to the disk. Length is how many the sender says there are; -1: it does
// not say. Of a file that did not come whole nothing stays, and it can be sent again.
func (s *Store) Put(ctx context.Context, t tenant.ID, id string, body io.Reader, length int64) (File, error) {
	f, err := s.begin(t, id, length)
	if err != nil {
		return File{}, err
	}
	defer s.tasks.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	path, n, err := s.take(ctx, f, body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.streams[t]--; s.streams[t] == 0 {
		delete(s.streams, t)
	}
	now := time.Now()
	if err != nil {
		s.reserve(f, 0)
		f.State, f.Ends = Waiting, later(f.Ends, now.Add(time.Minute)) // time to send it again
		return File{}, err
	}
	s.reserve(f, n)
	f.State, f.Size, f.Path, f.Ends = Ready, n, path, now.Add(s.o.TTL)
	return f.File, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// begin lets a file arrive, or says why not, before any byte is read.
func (s *Store) begin(t tenant.ID, id string, length int64) (*file, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	f, err := s.find(t, id)
	switch {
	case err != nil:
		return nil, err
	case f.State == Arriving:
		return nil, ErrArriving
	case f.State == Ready:
		return nil, ErrThere
	case length > s.o.MaxBytes:
		return nil, &TooLargeError{Max: s.o.MaxBytes}
	case f.announced > 0 && length >= 0 && length != f.announced:
		return nil, &SizeError{Want: f.announced, Got: length}
	case s.streams[t] >= MaxStreams || s.all >= MaxAllStreams:
		return nil, ErrBusy
	case !s.reserve(f, max(length, f.announced)):
		return nil, &TooLargeError{Max: s.o.TenantBytes, OfTenant: true}
	}
	f.State = Arriving
	s.streams[t]++
	s.all++
	s.tasks.Add(1)
	return f, nil
}

// reserve changes how many of its tenant's bytes a file has, if there are so many. The caller holds the lock.
func (s *Store) reserve(f *file, n int64) bool {
	n = max(n, 0)
	all := s.bytes[f.Tenant] - f.reserved + n
	if n > f.reserved && all > s.o.TenantBytes {
		return false
	}
	f.reserved = n
	if s.bytes[f.Tenant] = all; all == 0 {
		delete(s.bytes, f.Tenant)
	}
	return true
}

// take writes what comes. On an error nothing is left.
func (s *Store) take(ctx context.Context, f *file, body io.Reader) (path string, n int64, err error) {
	dir := filepath.Join(s.o.Dir, string(f.Tenant), f.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", 0, fmt.Errorf("folder of an upload: %w", err)
	}
	path = filepath.Join(dir, f.Name)
	defer func() {
		if err != nil {
			err = errors.Join(err, removeAll(dir))
		}
	}()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", 0, bare(err)
	}
	defer func() { err = errors.Join(err, bare(out.Close())) }()
	buf := make([]byte, 64<<10)
	for {
		got, rerr := body.Read(buf)
		if got > 0 {
			n += int64(got)
			if err := s.grow(f, n); err != nil {
				return "", n, err
			}
			if _, err := out.Write(buf[:got]); err != nil {
				return "", n, bare(err)
			}
		}
		switch {
		case ctx.Err() != nil:
			return "", n, context.Cause(ctx)
		case errors.Is(rerr, io.EOF):
			if f.announced > 0 && n != f.announced {
				return "", n, &SizeError{Want: f.announced, Got: n}
			}
			return path, n, nil
		case rerr != nil:
			return "", n, rerr
		}
	}
}

// grow allows a file to have n bytes, or says why not.
func (s *Store) grow(f *file, n int64) error {
	switch {
	case n > s.o.MaxBytes:
		return &TooLargeError{Max: s.o.MaxBytes}
	case f.announced > 0 && n > f.announced:
		return &SizeError{Want: f.announced, Got: n}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > f.reserved && !s.reserve(f, n) {
		return &TooLargeError{Max: s.o.TenantBytes, OfTenant: true}
	}
	return nil
}

// bare is an error of the file system without the path, whose last part is the agent's own name for the file.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Op, p.Err)
	}
	return err
}

// Keep stores a small file whose bytes are there already.
func (s *Store) Keep(ctx context.Context, t tenant.ID, name string, content []byte) (File, error) {
	f, err := s.Create(t, name, int64(len(content)))
	if err != nil {
		return File{}, err
	}
	out, err := s.Put(ctx, t, f.ID, strings.NewReader(string(content)), int64(len(content)))
	if err != nil {
		s.Drop(t, f.ID)
	}
	return out, err
}

// Get gives a file that is there, and keeps it for two minutes at least. With a session, the file goes when that one (and
// every other that was given it) is Released.
func (s *Store) Get(t tenant.ID, id, session string) (File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.find(t, id)
	switch {
	case err != nil:
		return File{}, err
	case f.State != Ready:
		return File{}, ErrWaiting
	}
	f.Ends = later(f.Ends, time.Now().Add(held))
	if session != "" {
		if f.users == nil {
			f.users = map[string]bool{}
		}
		f.users[session] = true
	}
	return f.File, nil
}

// Released deletes what only this session was given.
func (s *Store) Released(session string) {
	var gone []*file
	s.mu.Lock()
	for _, f := range s.files {
		if f.users[session] {
			if delete(f.users, session); len(f.users) == 0 {
				gone = append(gone, f)
			}
		}
	}
	s.forget(gone)
	s.mu.Unlock()
	s.unlink(gone)
}

// Drop deletes a file, or ends an upload that waits. One that arrives is left to its end.
func (s *Store) Drop(t tenant.ID, id string) {
	s.mu.Lock()
	f, err := s.find(t, id)
	if err != nil || f.State == Arriving {
		s.mu.Unlock()
		return
	}
	gone := []*file{f}
	s.forget(gone)
	s.mu.Unlock()
	s.unlink(gone)
}

// forget takes files out of the books. The caller holds the lock and unlinks them without it.
func (s *Store) forget(gone []*file) {
	for _, f := range gone {
		s.reserve(f, 0)
		delete(s.files, f.ID)
	}
}

func (s *Store) unlink(gone []*file) {
	for _, f := range gone {
		if err := removeAll(filepath.Join(s.o.Dir, string(f.Tenant), f.ID)); err != nil {
			s.o.Log.Error("an upload could not be deleted", "file", f.ID, "err", err)
		}
	}
}

// sweepEvery is how late a file may be deleted. It is not given out any more before.
const sweepEvery = 30 * time.Second

// expire is the goroutine that deletes what has ended. Close ends it.
func (s *Store) expire() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		var gone []*file
		s.mu.Lock()
		for _, f := range s.files {
			if f.State != Arriving && !f.Ends.After(now) {
				gone = append(gone, f)
			}
		}
		s.forget(gone)
		s.mu.Unlock()
		s.unlink(gone)
	}
}

// Close ends what arrives and deletes every file of this store.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.tasks.Wait()
	s.mu.Lock()
	var gone []*file
	for _, f := range s.files {
		gone = append(gone, f)
	}
	s.forget(gone)
	s.mu.Unlock()
	s.unlink(gone)
	return errors.Join(os.Remove(s.lock.Name()), s.lock.Close())
}
