package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// What callers branch on.
var (
	// ErrErased: the transcript was deleted; nothing of it may be written or read again.
	ErrErased = errors.New("transcript: it was deleted")
	// ErrCursor: the cursor is not one that a Page gave; begin again at 0.
	ErrCursor = errors.New("transcript: this cursor was not given by an earlier answer; begin again at 0")
	// ErrTooLong: one segment's line is over MaxLine.
	ErrTooLong = errors.New("transcript: the segment is too long for one line")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("transcript: the log is closed")
)

// MaxLine is the longest line written or read, in bytes. Half a minute of speech with word times takes 10 kB.
const MaxLine = 256 << 10

// syncEvery is how often appended lines are forced to the disk. A killed process loses nothing that Append
// returned for (the kernel has it); a power cut loses at most this much.
const syncEvery = 5 * time.Second

// Log is the transcript file of one meeting: a line of JSON for each segment and for each later correction,
// written as it happens. Its methods may be called by any goroutine.
type Log struct {
	mu     sync.Mutex
	path   string
	file   *os.File // nil once closed or erased
	erased bool
	size   int64
	view   View
	synced time.Time
	torn   int64
}

// OpenLog opens the transcript at path (mode 0600), or begins it. Lines that are there are read back, and a
// last line that a crash tore is cut off. Where the deletion marker stands it gives ErrErased.
func OpenLog(path string) (*Log, error) {
	if Erased(path) {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(path), ErrErased)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("transcript: open: %w", err)
	}
	l := &Log{path: path, file: f, synced: time.Now()}
	if err := l.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("transcript: read back: %w", err), f.Close())
	}
	return l, nil
}

// load reads what is there and cuts a torn tail, so that the next line does not grow onto it.
func (l *Log) load() error {
	data, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	whole := int64(bytes.LastIndexByte(data, '\n') + 1)
	for line := range bytes.Lines(data[:whole]) {
		if s, ok := parseLine(line); ok {
			l.view.Apply(s)
		}
	}
	if l.torn = int64(len(data)) - whole; l.torn > 0 {
		if err := l.file.Truncate(whole); err != nil {
			return err
		}
	}
	l.size = whole
	return nil
}

// Torn is how many bytes of a half-written line were cut off when the log was opened.
func (l *Log) Torn() int64 { l.mu.Lock(); defer l.mu.Unlock(); return l.torn }

// NextSeq is the number for the next segment.
func (l *Log) NextSeq() Seq { l.mu.Lock(); defer l.mu.Unlock(); return l.view.Last() + 1 }

// Append writes a segment and returns it as written. A Seq of 0 takes the next number; a Seq that is there
// becomes its next revision, whatever Rev says.
func (l *Log) Append(s Segment) (Segment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.erased:
		return s, ErrErased
	case l.file == nil:
		return s, ErrClosed
	}
	if s.Seq <= 0 {
		s.Seq = l.view.Last() + 1
	}
	s.Rev = 0
	if old, ok := l.view.Get(s.Seq); ok {
		s.Rev = old.Rev + 1
	}
	line, err := json.Marshal(s)
	if err != nil {
		return s, fmt.Errorf("transcript: write segment %d: %w", s.Seq, err)
	}
	line = append(line, '\n')
	if len(line) > MaxLine {
		return s, fmt.Errorf("segment %d: %w", s.Seq, ErrTooLong)
	}
	if err := l.write(line); err != nil {
		return s, fmt.Errorf("transcript: write segment %d: %w", s.Seq, err)
	}
	l.view.Apply(s)
	return s, nil
}

// write appends one line by one system call. What a full disk left half written is taken back.
func (l *Log) write(line []byte) error {
	n, err := l.file.Write(line)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, l.file.Truncate(l.size))
		}
		return err
	}
	l.size += int64(n)
	if now := time.Now(); now.Sub(l.synced) >= syncEvery {
		l.synced = now
		return l.file.Sync()
	}
	return nil
}

// Latest is every segment as it stands now, in the order of Seq.
func (l *Log) Latest() []Segment { l.mu.Lock(); defer l.mu.Unlock(); return l.view.Segments() }

// Since is ReadPage on this log.
func (l *Log) Since(c Cursor, limit int) (Page, error) {
	l.mu.Lock()
	path, erased := l.path, l.erased
	l.mu.Unlock()
	if erased {
		return Page{}, ErrErased
	}
	return ReadPage(path, c, limit)
}

// Erase deletes the transcript: the marker first, synced, then text in memory, the file's content and the
// file. When it fails half-way the marker makes the next start finish it.
func (l *Log) Erase() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erased = true
	l.view = View{}
	err := MarkErased(l.path)
	if l.file != nil {
		// Emptied as well as unlinked: another process may have it open.
		err = errors.Join(err, l.file.Truncate(0), l.file.Close())
		l.file = nil
	}
	if rm := os.Remove(l.path); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	if err != nil {
		return fmt.Errorf("transcript: erase: %w", err)
	}
	return nil
}

// Close forces the file to the disk and closes it. Closing twice is harmless.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Sync(), l.file.Close())
	l.file = nil
	if err != nil {
		return fmt.Errorf("transcript: close: %w", err)
	}
	return nil
}
