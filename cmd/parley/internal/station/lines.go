package station

import (
	"errors"
	"sync"

	"parley/meeting"
	"parley/transcript"
)

// lines is the transcript's file as the meeting's Log. The file is made with the first line, so that a meeting in
// which nobody speaks leaves none.
type lines struct {
	path string

	mu     sync.Mutex
	log    *transcript.Log
	erased bool
}

// Append keeps a segment.
func (l *lines) Append(s transcript.Segment) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.erased {
		return transcript.ErrErased
	}
	if l.log == nil {
		log, err := transcript.OpenLog(l.path)
		if err != nil {
			return err
		}
		l.log = log
	}
	_, err := l.log.Append(s)
	return err
}

// Erase removes the file; nothing is kept after it.
func (l *lines) Erase() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erased = true
	if l.log == nil {
		return nil // the meeting's files unlink what an earlier process left
	}
	return l.log.Erase()
}

// Close closes the file.
func (l *lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return nil
	}
	if err := l.log.Close(); err != nil && !errors.Is(err, transcript.ErrClosed) {
		return err
	}
	return nil
}

var _ meeting.Log = (*lines)(nil)
