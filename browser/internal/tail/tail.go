// Package tail keeps the end of what a child process writes, to say why it failed.
package tail

import (
	"strings"
	"sync"
)

// Tail is a Writer that keeps the last Max bytes. It is safe for concurrent use.
type Tail struct {
	// Max is the bound in bytes; zero means 8 KiB.
	Max int

	mu  sync.Mutex
	buf []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := t.Max
	if limit == 0 {
		limit = 8 << 10
	}
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - limit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// String is what is kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// LastLine is the last line that is not blank.
func (t *Tail) LastLine() string {
	text := strings.TrimSpace(t.String())
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
