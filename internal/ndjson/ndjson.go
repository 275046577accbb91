// Package ndjson reads records that end with a line feed, each within a bound.
package ndjson

import (
	"bufio"
	"errors"
	"io"
)

// ErrTooLarge says that a record was over the bound; it was skipped and the next can be read.
var ErrTooLarge = errors.New("the record is too large")

// Read gives the next record without its line end (LF, or CR and LF). Only LF ends a record. One longer than
// max is skipped as a whole without being held. A last record without line end counts; then comes io.EOF.
func Read(r *bufio.Reader, max int) ([]byte, error) {
	record := []byte{}
	large := false
	for {
		part, err := r.ReadSlice('\n')
		if !large && len(record)+len(part) > max+2 { // room for CR and LF
			large, record = true, nil
		}
		if !large {
			record = append(record, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case large:
			return nil, ErrTooLarge
		case err != nil && len(record) == 0:
			return nil, io.EOF
		}
		if n := len(record); n > 0 && record[n-1] == '\n' {
			record = record[:n-1]
		}
		if n := len(record); n > 0 && record[n-1] == '\r' {
			record = record[:n-1]
		}
		if len(record) > max {
			return nil, ErrTooLarge
		}
		return record, nil
	}
}
