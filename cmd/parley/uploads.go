package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"parley/browser"
	"parley/internal/proc"
	"parley/tenant"
	"parley/tool"
	"parley/upload"
)

// openUploads makes the store of files that agents bring.
func (a *app) openUploads(data string) (err error) {
	a.uploads, err = upload.Open(upload.Options{
		Dir: filepath.Join(data, "uploads"), MaxBytes: int64(a.v.Int("PARLEY_UPLOAD_MAX_BYTES")), TenantBytes: int64(a.v.Int("PARLEY_UPLOAD_TENANT_QUOTA_BYTES")),
		Wait: a.v.Seconds("PARLEY_UPLOAD_URL_TTL_SEC"), TTL: a.v.Seconds("PARLEY_UPLOAD_TTL_SEC"), Log: a.log,
	})
	return err
}

// audioFile finds a sound that a tenant brought.
func (a *app) audioFile(_ context.Context, t tenant.ID, id string) (path string, err error) {
	f, err := a.uploads.Get(t, id, "")
	return f.Path, tool.UploadFail(err, id)
}

// lender gives uploads to browser sessions. Browsers of another account get copies: the data folder is closed to them.
type lender struct {
	uploads *upload.Store
	account *proc.Account // nil: browsers are ours and read the files where they lie
	log     *slog.Logger

	mu       sync.Mutex
	sessions map[string]bool
	dir      string         // of the copies; empty until there is one
	watching sync.WaitGroup // for sessions to end
}

// copies is the beginning of the name of folders of copies; the process that made them follows.
const copies = "parley-files-"

// newLender also removes the copies of services that were killed.
func newLender(u *upload.Store, account *proc.Account, log *slog.Logger) *lender {
	old, _ := filepath.Glob(filepath.Join(os.TempDir(), copies+"*")) // the pattern is sound
	for _, dir := range old {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), copies), "-")
		n, err := strconv.Atoi(pid)
		if _, gone := proc.StartTime(n); err != nil || !errors.Is(gone, proc.ErrGone) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil && !errors.Is(err, os.ErrPermission) { // another user's is not ours to remove
			log.Warn("files that an earlier service lent to its browsers are still there", "err", err)
		}
	}
	return &lender{uploads: u, account: account, log: log, sessions: map[string]bool{}}
}

// Lend implements browse.Files.
func (l *lender) Lend(_ context.Context, t tenant.ID, s *browser.Session, ids []string) ([]string, error) {
	var paths []string
	for _, id := range ids {
		f, err := l.uploads.Get(t, id, s.ID())
		if err != nil {
			return nil, tool.UploadFail(err, id)
		}
		paths = append(paths, f.Path)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.sessions[s.ID()] {
		l.sessions[s.ID()] = true
		l.watching.Go(func() { <-s.Done(); l.takeBack(s.ID()) })
	}
	if l.account == nil {
		return paths, nil
	}
	for i, p := range paths {
		var err error
		if paths[i], err = l.copy(p, s.ID(), ids[i]); err != nil {
			return nil, tool.Fail(tool.CodeInternal).Because(err)
		}
	}
	return paths, nil
}

// copy puts a file where the account can read it and nobody but us can change it. The caller holds the lock.
func (l *lender) copy(path, session, id string) (_ string, err error) {
	if l.dir == "" {
		dir, err := os.MkdirTemp("", copies+strconv.Itoa(os.Getpid())+"-")
		if err != nil {
			return "", err
		}
		if err := os.Chmod(dir, 0o711); err != nil {
			return "", err
		}
		l.dir = dir
	}
	folder := filepath.Join(l.dir, session, id)
	to := filepath.Join(folder, filepath.Base(path))
	if _, err := os.Stat(to); err == nil {
		return to, nil // it was lent before
	}
	if err := os.MkdirAll(folder, 0o711); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(folder) // the first error is told
		}
	}()
	from, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer from.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return "", err
	}
	_, err1 := io.Copy(out, from)
	err2 := out.Chown(-1, int(l.account.GID))
	if err := errors.Join(err1, err2, out.Close()); err != nil {
		return "", fmt.Errorf("lending a file: %w", err)
	}
	return to, nil
}

// takeBack deletes what a session was lent.
func (l *lender) takeBack(session string) {
	l.uploads.Released(session)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, session)
	if l.dir == "" {
		return
	}
	if err := os.RemoveAll(filepath.Join(l.dir, session)); err != nil {
		l.log.Error("files that a browser was lent are still there", "session", session, "err", err)
	}
}

// close waits until every session has given back what it was lent. The sessions are closed by then.
func (l *lender) close() error {
	l.watching.Wait()
	if l.dir == "" {
		return nil
	}
	return os.RemoveAll(l.dir)
}
