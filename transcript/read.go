package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Cursor is a place in a transcript file: the byte after the last line that was read. 0 is the beginning.
type Cursor int64

// Page is a stretch of a transcript file.
type Page struct {
	// Segments are the lines in the order written: corrections come after what they correct.
	Segments []Segment
	// Next is the cursor to go on from.
	Next Cursor
	// More is true when whole lines were left because of the limits.
	More bool
	// Skipped counts lines that could not be understood.
	Skipped int
}

// The bounds of one Page.
const (
	pageLines = 1000
	pageBytes = 1 << 20
)

// ReadPage reads the lines after a cursor: at most limit (0 or more than 1000 means 1000) and about 1 MiB.
// A last line that is still being written is left for the next call. A transcript that has not begun is an
// empty page; one that was deleted is ErrErased.
func ReadPage(path string, c Cursor, limit int) (Page, error) {
	p := Page{Next: c}
	if Erased(path) {
		return Page{}, ErrErased
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if c != 0 {
			return Page{}, ErrCursor
		}
		return p, nil
	}
	if err != nil {
		return Page{}, fmt.Errorf("transcript: read: %w", err)
	}
	defer f.Close()
	if err := seek(f, c); err != nil {
		return Page{}, err
	}
	return readLines(f, c, limit)
}

// seek goes to a cursor and checks that a line begins there.
func seek(f io.ReadSeeker, c Cursor) error {
	if c == 0 {
		return nil
	}
	if c < 0 {
		return ErrCursor
	}
	if _, err := f.Seek(int64(c)-1, io.SeekStart); err != nil {
		return fmt.Errorf("transcript: read: %w", err)
	}
	var b [1]byte
	if _, err := io.ReadFull(f, b[:]); err != nil || b[0] != '\n' {
		return ErrCursor
	}
	return nil
}

// readLines reads whole lines from r, which stands at c.
func readLines(r io.Reader, c Cursor, limit int) (Page, error) {
	if limit <= 0 || limit > pageLines {
		limit = pageLines
	}
	p := Page{Next: c}
	br := bufio.NewReaderSize(r, 64<<10)
	for int64(p.Next-c) < pageBytes && len(p.Segments) < limit {
		line, n, whole, err := readLine(br)
		if err != nil {
			return Page{}, fmt.Errorf("transcript: read: %w", err)
		}
		if !whole {
			return p, nil
		}
		p.Next += Cursor(n)
		if s, ok := parseLine(line); ok {
			p.Segments = append(p.Segments, s)
		} else {
			p.Skipped++
		}
	}
	_, err := br.Peek(1)
	p.More = err == nil
	return p, nil
}

// readLine gives a line of at most MaxLine bytes (a longer one comes back empty) and how many bytes it took.
// whole is false at the end of the file, also when the last line lacks its end.
func readLine(br *bufio.Reader) (line []byte, n int, whole bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		n += len(part)
		if n <= MaxLine {
			line = append(line, part...)
		} else {
			line = nil
		}
		switch {
		case err == nil:
			return line, n, true, nil
		case errors.Is(err, io.EOF):
			return nil, n, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, n, false, err
		}
	}
}

// parseLine reads one line; a line that is no segment is not ok.
func parseLine(line []byte) (Segment, bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || len(line) > MaxLine {
		return Segment{}, false
	}
	var s Segment
	if json.Unmarshal(line, &s) != nil || s.Seq <= 0 || s.Rev < 0 {
		return Segment{}, false
	}
	return s, true
}

// ReadAll reads a whole transcript file as it stands now.
func ReadAll(path string) ([]Segment, error) {
	var v View
	for c := Cursor(0); ; {
		p, err := ReadPage(path, c, 0)
		if err != nil {
			return nil, err
		}
		for _, s := range p.Segments {
			v.Apply(s)
		}
		if !p.More {
			return v.Segments(), nil
		}
		c = p.Next
	}
}
