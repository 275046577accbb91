package ogg

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Samples in a file are counted at 48 kHz whatever the input's rate, ours at 16 kHz.
const (
	rate      = 16000
	perSample = 48000 / rate
	// A packet of ours is 20 ms.
	packet48 = 960
	packet16 = packet48 / perSample
)

// ErrNotOpus means that a file is no Ogg/Opus recording, or not even the beginning of one.
var ErrNotOpus = errors.New("not an Ogg/Opus recording")

// ErrEmpty means that a recording ended before its first sound was on disk.
var ErrEmpty = errors.New("nothing was recorded yet")

// headersOnly is more than an encoder writes before its first sound, and less than a second of it.
const headersOnly = 2 << 10

// FileInfo is what an Ogg/Opus file says of itself. Damage at the end is left out: a recording whose writer was
// killed is whole up to its last whole page.
type FileInfo struct {
	Bytes   int64   // of the file
	Valid   int64   // bytes up to the end of the last whole page
	Seconds float64 // that can be played
	Samples int64   // the same at 16 kHz
	Closed  bool    // the last page is marked as the end
	First   int64   // where the file's first sample stands in its recording, at 16 kHz
	// Began is when the recording's first sample was; zero when the file does not say.
	Began time.Time

	preSkip int64 // 48 kHz samples to throw away at the beginning
	granule int64 // at the end of the last whole page
}

// Info reads a file.
func Info(path string) (FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return FileInfo{}, fmt.Errorf("recording: %w", err)
	}
	defer f.Close()
	info, err := read(f)
	if err != nil {
		return FileInfo{}, fmt.Errorf("recording %s: %w", path, err)
	}
	return info, nil
}

// read scans a whole file. An hour is some 11 MB: a few milliseconds.
func read(r io.Reader) (FileInfo, error) {
	s := newScanner(r)
	info, err := s.head()
	if err != nil {
		return FileInfo{}, err
	}
	for {
		p, err := s.page()
		if errors.Is(err, io.EOF) || errors.Is(err, errCut) {
			break
		}
		if err != nil {
			return FileInfo{}, err
		}
		if p.granule >= info.granule {
			info.granule = p.granule
		}
		info.Closed = p.flags&last != 0
		info.Valid = s.offset
	}
	// What follows the last whole page only counts towards the size.
	rest, err := io.Copy(io.Discard, s.r)
	if err != nil {
		return FileInfo{}, err
	}
	info.Bytes = s.consumed + rest
	if n := info.granule - info.preSkip; n > 0 {
		info.Samples = n / perSample
		info.Seconds = float64(n) / 48000
	}
	return info, nil
}

// scanner reads the pages of one stream.
type scanner struct {
	r        *bufio.Reader
	raw      *counting
	offset   int64 // end of the last whole page
	consumed int64 // bytes taken from r, whole pages or not
	serial   uint32
	opusHead []byte // the first packet
}

type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func newScanner(r io.Reader) *scanner {
	raw := &counting{r: r}
	return &scanner{r: bufio.NewReaderSize(raw, 64<<10), raw: raw}
}

// page gives the next whole page of the stream; pages of other streams end it.
func (s *scanner) page() (page, error) {
	p, err := readPage(s.r)
	s.consumed = s.raw.n - int64(s.r.Buffered())
	if err != nil {
		return p, err
	}
	if s.offset > 0 && p.serial != s.serial {
		return p, errCut
	}
	s.serial = p.serial
	s.offset = s.consumed
	return p, nil
}

// head reads the two header packets, each on a page (or pages) of its own as the format demands.
func (s *scanner) head() (FileInfo, error) {
	var info FileInfo
	p, err := s.page()
	if err != nil || p.flags&first == 0 {
		return info, notOpus(err)
	}
	packets, open := p.packets()
	if len(packets) != 1 || len(open) > 0 {
		return info, ErrNotOpus
	}
	h := packets[0]
	if len(h) < 19 || !bytes.HasPrefix(h, []byte("OpusHead")) || h[8]>>4 != 0 || h[9] == 0 {
		return info, ErrNotOpus
	}
	s.opusHead = h
	info.preSkip = int64(binary.LittleEndian.Uint16(h[10:]))
	var tags []byte
	for {
		p, err := s.page()
		if err != nil {
			return info, notOpus(err)
		}
		packets, open := p.packets()
		if len(packets) > 1 || (len(packets) == 1 && len(open) > 0) {
			return info, ErrNotOpus
		}
		if len(packets) == 1 {
			tags = append(tags, packets[0]...)
			break
		}
		if tags = append(tags, open...); len(tags) > maxTags {
			return info, ErrNotOpus
		}
	}
	if !bytes.HasPrefix(tags, []byte("OpusTags")) {
		return info, ErrNotOpus
	}
	info.First, info.Began = readTags(tags)
	info.Valid = s.offset
	return info, nil
}

// maxTags bounds the comments of a file; pictures may be in there, ours has a line.
const maxTags = 4 << 20

func notOpus(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, errCut) {
		return ErrNotOpus
	}
	return err
}
