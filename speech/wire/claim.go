package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrClaimed means that another process serves this run folder, or is about to.
var ErrClaimed = errors.New("speech wire: another speech process has this run folder")

// maxSocketPath is what an address of a Unix socket holds, without its final zero.
const maxSocketPath = 107

// SocketPath is where the process of a run folder listens.
func SocketPath(dir string) string { return filepath.Join(dir, SocketName) }

// A Claim is the right to serve a run folder: a lock, and the socket that clients already find.
//
// Both are files so that a client can hand them to the process it starts: the lock lives as long as any copy of the
// file is open, so it is free the moment the process is gone, however it went; and because the socket listens before
// the process runs, clients wait in its queue instead of asking again and again.
type Claim struct {
	Lock   *os.File
	Socket *os.File
	dir    string
}

// NewClaim takes the lock of dir and makes the socket. ErrClaimed says that somebody else holds the lock.
func NewClaim(dir string) (*Claim, error) {
	switch err := PrivateDir(dir); {
	case errors.Is(err, os.ErrNotExist):
		return nil, ErrClaimed // as below
	case err != nil:
		return nil, err
	}
	path := SocketPath(dir)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("speech wire: the run folder's path is too long: a socket's address holds %d bytes, this needs %d: %s", maxSocketPath, len(path), path)
	}
	lock, err := lockIn(dir, os.O_CREATE)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, ErrClaimed // its folder is just being cleared away: the next try makes it anew
	case err != nil:
		return nil, err
	}
	if err := lock.Truncate(0); err != nil { // the last holder's name
		lock.Close()
		return nil, fmt.Errorf("speech wire: %w", err)
	}
	// Whoever left a socket here is dead: it would hold the lock.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		lock.Close()
		return nil, fmt.Errorf("speech wire: %w", err)
	}
	socket, err := listen(path)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("speech wire: %w", err)
	}
	return &Claim{Lock: lock, Socket: socket, dir: dir}, nil
}

// lockIn takes the lock of dir. ErrNotExist says that it is not there, or has just gone.
func lockIn(dir string, flag int) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, LockName), os.O_RDWR|flag|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("speech wire: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrClaimed
		}
		return nil, fmt.Errorf("speech wire: lock %s: %w", lock.Name(), err)
	}
	// A lock on a file that was cleared away between the two calls would keep nobody out.
	mine, err := lock.Stat()
	if err == nil {
		var named os.FileInfo
		if named, err = os.Stat(lock.Name()); err == nil && !os.SameFile(mine, named) {
			err = os.ErrNotExist
		}
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("speech wire: %w", err)
	}
	return lock, nil
}

// maxLog is the longest log that Clear reads.
const maxLog = 1 << 20

// Clear removes a run folder that no process serves and that holds nothing worth keeping: the lock, a dead socket and
// a log of which useless says so. It is no error when the folder stays.
func Clear(dir string, useless func(log []byte) bool) error {
	lock, err := lockIn(dir, 0)
	switch {
	case errors.Is(err, ErrClaimed), errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	defer lock.Close()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("speech wire: %w", err)
	}
	for _, e := range entries {
		switch e.Name() {
		case LockName, SocketName:
		case LogName:
			info, err := e.Info()
			if err != nil {
				return fmt.Errorf("speech wire: %w", err)
			}
			if !info.Mode().IsRegular() || info.Size() > maxLog {
				return nil
			}
			log, err := os.ReadFile(filepath.Join(dir, LogName))
			if err != nil {
				return fmt.Errorf("speech wire: %w", err)
			}
			if !useless(log) {
				return nil
			}
		default:
			return nil
		}
	}
	// The lock last: whoever waits for it finds that it is no longer the folder's.
	for _, name := range []string{SocketName, LogName, LockName, "."} {
		path := filepath.Join(dir, name)
		err := os.Remove(path)
		if errors.Is(err, syscall.ENOTEMPTY) {
			return nil // somebody has just come
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("speech wire: %w", err)
		}
	}
	return nil
}

func listen(path string) (*os.File, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	defer l.Close() // the duplicate below stays
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, err
	}
	return l.File()
}

// InheritedClaim takes over what a client handed to this process as descriptors 3 (the lock) and 4 (the socket).
func InheritedClaim(dir string) (*Claim, error) {
	c := &Claim{Lock: os.NewFile(3, LockName), Socket: os.NewFile(4, SocketName), dir: dir}
	for _, f := range []*os.File{c.Lock, c.Socket} {
		if _, err := f.Stat(); err != nil {
			return nil, fmt.Errorf("speech wire: nothing was handed over: %w", err)
		}
		// The children of this process must not keep the lock or the socket alive.
		syscall.CloseOnExec(int(f.Fd()))
	}
	return c, nil
}

// Listener accepts the clients. It takes the socket out of the claim.
func (c *Claim) Listener() (*net.UnixListener, error) {
	l, err := net.FileListener(c.Socket)
	c.Socket.Close()
	if err != nil {
		return nil, fmt.Errorf("speech wire: %w", err)
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		l.Close()
		return nil, fmt.Errorf("speech wire: the socket is a %T", l)
	}
	u.SetUnlinkOnClose(false)
	return u, nil
}

// Release gives the run folder up: the socket's name first, so that nobody finds it after the lock is free.
func (c *Claim) Release() error {
	err := os.Remove(SocketPath(c.dir))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	c.Socket.Close()
	return errors.Join(err, c.Lock.Close())
}

// Holder names the process that a claim was handed to. The start time, in clock ticks since boot, tells it from a later
// process with the same id.
type Holder struct {
	PID   int
	Start uint64
	Since time.Time // when it was handed over, by the machine's clock
}

// Note writes down who got the claim, for every client that has to end it when it hangs.
func (c *Claim) Note(h Holder) error {
	_, err := c.Lock.WriteAt(fmt.Appendf(nil, "%d %d\n", h.PID, h.Start), 0)
	if err != nil {
		return fmt.Errorf("speech wire: %w", err)
	}
	return nil
}

// HolderOf reads who got the claim of dir; false when nobody was noted. Whether it still lives is another question.
func HolderOf(dir string) (Holder, bool) {
	f, err := os.Open(filepath.Join(dir, LockName))
	if err != nil {
		return Holder{}, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Holder{}, false
	}
	h := Holder{Since: info.ModTime()}
	line, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return Holder{}, false
	}
	if n, err := fmt.Sscanf(string(line), "%d %d\n", &h.PID, &h.Start); n != 2 || err != nil || h.PID <= 1 || h.Start == 0 {
		return Holder{}, false
	}
	return h, true
}

// Disown closes this process's copies after they were handed to another.
func (c *Claim) Disown() {
	c.Socket.Close()
	c.Lock.Close()
}

// PrivateDir makes a folder that only its owner may enter, and refuses one that others may.
func PrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("speech wire: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("speech wire: %w", err)
	}
	owner := -1
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(st.Uid)
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("speech wire: %s is not a folder", dir)
	case owner != os.Geteuid():
		return fmt.Errorf("speech wire: %s belongs to user %d: choose another run folder", dir, owner)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("speech wire: others may enter %s (mode %#o): chmod 700 it", dir, info.Mode().Perm())
	}
	return nil
}
