package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Report is what Verify found in a whole log.
type Report struct {
	Files   int   `json:"files"`
	Records int64 `json:"records"`
	// First and Last are the numbers of the first and last record; First is above 1 when old files were deleted.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// Digest is the last record's own: kept elsewhere, it shows that nobody made a new chain.
	Digest string `json:"digest"`
}

// Broken is where a log's chain does not hold.
type Broken struct {
	File string // its name
	Line int    // from 1
	Seq  int64  // the number the record there should have; 0 when that is unknown
	Why  string
}

func (b *Broken) Error() string {
	return fmt.Sprintf("the audit log is broken at record %d (%s, line %d): %s", b.Seq, b.File, b.Line, b.Why)
}

// Verify reads a log from its first record to its last and checks every link. It fails with a *Broken at the first
// that does not hold: a record changed, left out, doubled, moved, or taken off the end. See, if not nil, gets every
// record on the way. It may run while the log is written: a line without an end is not looked at yet.
func Verify(dir string, see func(Entry) error) (Report, error) {
	head, hash, err := readHead(dir)
	if err != nil {
		return Report{}, err
	}
	floor, err := readFloor(dir)
	if err != nil {
		return Report{}, err
	}
	files, err := closedFiles(dir)
	if err != nil {
		return Report{}, err
	}
	files = append(files, filepath.Join(dir, current))
	var r Report
	prev := ""
	headSeen := head == 0
	for _, path := range files {
		name := filepath.Base(path)
		f, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) && name == current {
			continue
		}
		if err != nil {
			return r, fmt.Errorf("the audit log: %w", err)
		}
		r.Files++
		broken := func(line int, why string) error {
			next := r.Last + 1
			if r.Records == 0 {
				next = 0
			}
			return &Broken{name, line, next, why}
		}
		err = lines(f, func(n int, text []byte) error {
			e, err := parse(text)
			if err != nil {
				return broken(n, err.Error())
			}
			switch {
			case r.Records == 0 && e.Seq == 1 && e.Prev != genesis:
				return broken(n, "the first record follows something")
			case r.Records == 0 && e.Seq > floor:
				return &Broken{name, n, floor, "it begins later than the old files that were deleted say"}
			case r.Records > 0 && e.Seq != r.Last+1:
				return broken(n, fmt.Sprintf("record %d stands here", e.Seq))
			case r.Records > 0 && e.Prev != prev:
				return broken(n, "it does not follow the record before it")
			}
			if r.Records == 0 {
				r.First = e.Seq
			}
			if e.Seq == head {
				if e.Hash != hash {
					return broken(n, "the head names another record of this number")
				}
				headSeen = true
			}
			r.Records++
			r.Last, prev = e.Seq, e.Hash
			r.Digest = e.Hash
			if see != nil {
				return see(Entry{e})
			}
			return nil
		})
		if err = errors.Join(err, f.Close()); err != nil {
			var b *Broken
			if errors.As(err, &b) {
				return r, b
			}
			return r, err
		}
	}
	if head == 0 && r.Records > 1 { // it was not there when we began, or it is gone
		if head, _, err = readHead(dir); err != nil || head == 0 {
			return r, &Broken{headFile, 0, r.Last + 1, "it is missing: whether records were taken off the end cannot be told"}
		}
		return r, nil
	}
	if !headSeen && head > r.Last {
		return r, &Broken{current, 0, r.Last + 1, fmt.Sprintf("it ends at record %d, and %d were written", r.Last, head)}
	}
	return r, nil
}

// lines gives every whole line of a file.
func lines(f *os.File, each func(n int, text []byte) error) error {
	b := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		text, err := b.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil // what follows is still being written
		case err != nil:
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := each(n, text[:len(text)-1]); err != nil {
			return err
		}
	}
}

func readFloor(dir string) (floor int64, err error) {
	b, err := os.ReadFile(filepath.Join(dir, floorFile))
	if errors.Is(err, os.ErrNotExist) {
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the audit log's floor: %w", err)
	}
	if floor, err = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err != nil {
		return 0, &Broken{floorFile, 1, 0, "it is no number"}
	}
	return floor, nil
}

func readHead(dir string) (seq int64, hash string, err error) {
	b, err := os.ReadFile(filepath.Join(dir, headFile))
	if errors.Is(err, os.ErrNotExist) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("the audit log's head: %w", err)
	}
	if _, err := fmt.Sscanf(strings.TrimSpace(string(b)), "%d %s", &seq, &hash); err != nil {
		return 0, "", &Broken{headFile, 1, 0, "it is no head"}
	}
	return seq, hash, nil
}
