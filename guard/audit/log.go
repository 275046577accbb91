package audit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Names of the files in a log's folder.
const (
	current  = "audit.jsonl"
	lockFile = "audit.lock"
	headFile = "audit.head"
	// floorFile holds the number below which records were deleted with old files.
	floorFile = "audit.floor"
)

// Options of a log. The zero value works.
type Options struct {
	// MaxBytes is the size at which a file is closed and a new one begun; zero is 16 MiB.
	MaxBytes int64
	// Keep is how many closed files stay; zero is 16. Older ones are deleted, and Verify says where it begins.
	Keep int
	// Sync waits for the disk at every record. Without it a loss of power can take the last seconds; a crash of
	// the service takes nothing.
	Sync bool
}

// Log writes records. It is safe for concurrent use, also by several processes on one folder: each record is
// written under a lock of the folder, behind whatever is last there.
type Log struct {
	dir string
	o   Options

	mu   sync.Mutex
	lock *os.File
	file *os.File
	size int64 // of file after our last write; another process wrote when it differs
	seq  int64
	hash string
}

// Open opens the log of a folder, which is made when it is missing. A last line that a crash tore is taken off,
// and the next record says so.
func Open(dir string, o Options) (*Log, error) {
	o.MaxBytes, o.Keep = cmp.Or(o.MaxBytes, 16<<20), cmp.Or(o.Keep, 16)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the audit folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	l := &Log{dir: dir, o: o, lock: lock, size: -1}
	if err := l.locked(func() error { return l.attach() }); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close closes the files. Records after it fail.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, f := range []**os.File{&l.file, &l.lock} {
		if *f != nil {
			errs = append(errs, (*f).Close())
			*f = nil
		}
	}
	return errors.Join(errs...)
}

// Write appends a record. When it fails, what it is about must not be done; of the record there is a whole line or nothing.
func (l *Log) Write(r Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock == nil {
		return errors.New("the audit log is closed")
	}
	return l.locked(func() error {
		if err := l.attach(); err != nil {
			return err
		}
		if l.size >= l.o.MaxBytes {
			if err := l.rotate(); err != nil {
				return err
			}
		}
		return l.append(r.entry(l.seq+1, l.hash))
	})
}

func (l *Log) locked(f func() error) error {
	if err := syscall.Flock(int(l.lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("the audit log's lock: %w", err)
	}
	defer func() { _ = syscall.Flock(int(l.lock.Fd()), syscall.LOCK_UN) }() // the descriptor's end frees it as well
	return f()
}

func (l *Log) append(e entry) error {
	text, hash, err := e.line()
	if err != nil {
		return err
	}
	n, err := l.file.Write(text)
	if err == nil && l.o.Sync {
		err = l.file.Sync()
	}
	if err != nil {
		// Half a line would break the chain for whoever comes next.
		if n > 0 {
			err = errors.Join(err, l.file.Truncate(l.size))
		}
		l.size = -1
		return fmt.Errorf("an audit record: %w", err)
	}
	l.size += int64(n)
	l.seq, l.hash = e.Seq, hash
	return l.writeHead()
}

// writeHead notes the last record beside the log, so that taking lines off the end shows. It comes after the
// record: a crash between the two leaves it one behind, never ahead.
func (l *Log) writeHead() error {
	f, err := os.OpenFile(filepath.Join(l.dir, headFile), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("the audit log's head: %w", err)
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%020d %s\n", l.seq, l.hash), 0)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the audit log's head: %w", err)
	}
	return nil
}

// attach makes file and size those of the folder, and seq and hash those of the last record that was ever written there, as
// far as the file, its head or we ourselves know of it. Where that is not in the file any more, the next record leaves a gap
// that Verify finds: a chain that went on behind whatever is left would hide what was taken away.
func (l *Log) attach() error {
	path := filepath.Join(l.dir, current)
	if l.file != nil && l.size >= 0 {
		ours, err := l.file.Stat()
		if err != nil {
			return fmt.Errorf("the audit log: %w", err)
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(ours, there) && there.Size() == l.size {
			return nil
		}
	}
	if l.file != nil {
		l.file.Close() // read and written by offset below; nothing is buffered
		l.file = nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	l.file = f
	last, size, torn, err := lastLine(f)
	if err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	known, knownHash := l.seq, l.hash
	l.size, l.seq, l.hash = size, 0, genesis
	if torn > 0 {
		if err := f.Truncate(size); err != nil {
			return fmt.Errorf("the audit log: %w", err)
		}
	}
	if last == nil {
		if last, err = l.lastOfClosed(); err != nil {
			return err
		}
	}
	if last != nil {
		e, err := parse(last)
		if err != nil {
			return fmt.Errorf("the audit log's last record: %w; move the folder %s away to begin anew", err, filepath.Base(l.dir))
		}
		l.seq, l.hash = e.Seq, e.Hash
	}
	head, headHash, headErr := readHead(l.dir)
	for _, k := range []struct {
		seq  int64
		hash string
	}{{head, headHash}, {known, knownHash}} {
		if k.seq > 0 && k.seq >= l.seq {
			l.seq, l.hash = k.seq, k.hash
		}
	}
	if torn > 0 || headErr != nil || head == 0 && l.seq > 1 { // a head that is gone is one more thing to tell
		e := Record{Stage: "recovered"}.entry(l.seq+1, l.hash)
		e.Lost = torn
		return l.append(e)
	}
	return nil
}

// lastLine reads the last whole line, and tells how long the file is up to its end and what follows that.
func lastLine(f *os.File) (line []byte, size, torn int64, err error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return nil, 0, 0, err
	}
	const most = 64 << 10 // more than a record can have, twice
	from := max(0, end-most)
	b := make([]byte, end-from)
	if _, err := f.ReadAt(b, from); err != nil {
		return nil, 0, 0, err
	}
	cut := bytes.LastIndexByte(b, '\n')
	if cut < 0 && from > 0 {
		return nil, 0, 0, errors.New("its last line is no record")
	}
	torn = int64(len(b) - cut - 1)
	size = end - torn
	if cut < 0 {
		return nil, 0, torn, nil
	}
	b = b[:cut]
	return b[bytes.LastIndexByte(b, '\n')+1:], size, torn, nil
}

func (l *Log) rotate() error {
	to := filepath.Join(l.dir, fmt.Sprintf("audit-%020d.jsonl", l.seq))
	if err := os.Rename(filepath.Join(l.dir, current), to); err != nil {
		return fmt.Errorf("closing an audit file: %w", err)
	}
	closed, err := closedFiles(l.dir)
	if err != nil {
		return err
	}
	for len(closed) > l.o.Keep {
		// The floor first: a crash in between leaves more than it says, never less.
		var last int64
		if _, err := fmt.Sscanf(filepath.Base(closed[0]), "audit-%d.jsonl", &last); err != nil {
			return fmt.Errorf("an old audit file: %w", err)
		}
		if err := os.WriteFile(filepath.Join(l.dir, floorFile), fmt.Appendf(nil, "%d\n", last+1), 0o600); err != nil {
			return fmt.Errorf("the audit log's floor: %w", err)
		}
		if err := os.Remove(closed[0]); err != nil {
			return fmt.Errorf("deleting an old audit file: %w", err)
		}
		closed = closed[1:]
	}
	l.size = -1
	return l.attach()
}

func (l *Log) lastOfClosed() ([]byte, error) {
	closed, err := closedFiles(l.dir)
	if err != nil || len(closed) == 0 {
		return nil, err
	}
	f, err := os.Open(closed[len(closed)-1])
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	defer f.Close()
	line, _, _, err := lastLine(f)
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	return line, nil
}

// closedFiles lists the files that were rotated away, the oldest first: their names sort as their numbers do.
func closedFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(escape(dir), "audit-*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("the audit folder: %w", err)
	}
	slices.Sort(files)
	return files, nil
}

func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}
