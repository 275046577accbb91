package ogg

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"
)

// Join puts the parts of a recording together into the recording, without encoding anything again, and removes
// them. What lies between two parts becomes silence. It may be repeated after any interruption: until the whole is on
// disk the parts stay as they are, and parts that a whole already holds are only removed.
//
// A recording of one part that was cut by a kill loses what follows its last whole page.
func Join(path string) (FileInfo, error) {
	if err := checkPath(path); err != nil {
		return FileInfo{}, err
	}
	if err := gone(os.Remove(joinPath(path))); err != nil {
		return FileInfo{}, fmt.Errorf("join recording: %w", err)
	}
	list, err := parts(path)
	if err != nil {
		return FileInfo{}, err
	}
	var use []int
	var infos []FileInfo
	end := int64(-1) // of what we have, at 16 kHz
	for _, n := range list {
		info, err := Info(partPath(path, n))
		if err != nil && !errors.Is(err, ErrNotOpus) {
			return FileInfo{}, err
		}
		// Empty, or already inside: an earlier join was interrupted after it had replaced the first part.
		if err != nil || info.Samples <= 0 || (n > 1 && info.First+info.Samples <= end) {
			continue
		}
		use, infos = append(use, n), append(infos, info)
		end = info.First + info.Samples
	}
	if len(use) == 0 {
		why := ErrEmpty
		for _, n := range list {
			if info, err := os.Stat(partPath(path, n)); err == nil && info.Size() > headersOnly {
				why = ErrNotOpus
			}
		}
		return FileInfo{}, fmt.Errorf("recording %s: no part has any sound: %w", filepath.Base(path), why)
	}
	if len(use) > 1 || use[0] != 1 || infos[0].First != 0 {
		if err := weave(path, use, infos); err != nil {
			return FileInfo{}, fmt.Errorf("join recording: %w", err)
		}
	} else if err := settle(path, infos[0]); err != nil {
		return FileInfo{}, fmt.Errorf("close recording: %w", err)
	}
	whole, err := Info(path)
	if err != nil {
		return FileInfo{}, err
	}
	if whole.Samples < end-packet16 {
		return whole, fmt.Errorf("join recording: %d samples came out, want %d; the parts are kept", whole.Samples, end)
	}
	for _, n := range list {
		if n == 1 {
			continue
		}
		if err := gone(os.Remove(partPath(path, n))); err != nil {
			return whole, fmt.Errorf("join recording: %w", err)
		}
	}
	return whole, nil
}

// weave writes the parts into one stream beside the recording and puts it in the recording's place.
func weave(path string, use []int, infos []FileInfo) (err error) {
	temp := joinPath(path)
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), gone(os.Remove(temp)))
		}
	}()
	out := bufio.NewWriterSize(f, 256<<10)
	w := &weaver{w: out, preSkip: infos[0].preSkip, began: infos[0].Began}
	for i, n := range use {
		if err := w.file(partPath(path, n), infos[i], i == len(use)-1); err != nil {
			return fmt.Errorf("part %d: %w", n, err)
		}
	}
	if err := w.flush(true); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	// Look before the original is replaced.
	want := w.end() / perSample
	got, err := Info(temp)
	if err != nil {
		return err
	}
	if got.Samples != want {
		return fmt.Errorf("the joined file has %d samples, want %d", got.Samples, want)
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// settle leaves only whole pages in a recording of one part, and waits until they are on disk.
func settle(path string, info FileInfo) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Valid < info.Bytes {
		if err := f.Truncate(info.Valid); err != nil {
			return err
		}
	}
	return f.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// weaver writes one stream of 20 ms packets. Parts begin on a 20 ms grid and have the same pre-skip, so that their
// packets fall on the packets of the whole, and each sample keeps its place exactly.
type weaver struct {
	w       io.Writer
	preSkip int64
	began   time.Time
	serial  uint32
	seq     uint32
	count   int64    // packets written or pending
	pending [][]byte // the packets of the next page
	granule int64    // at the end of all; less than count packets when the last one is cut
}

// A page holds 200 ms, as the encoder makes them.
const packetsPerPage = 10

// silence is 20 ms of nothing: a full-band CELT frame that holds no energy.
var silence = []byte{0xf8, 0xff, 0xfe}

// at is where the next packet begins, in 48 kHz samples since the recording's first.
func (w *weaver) at() int64 { return w.count*packet48 - w.preSkip }

// end is where the sound ends.
func (w *weaver) end() int64 { return w.granule - w.preSkip }

func (w *weaver) file(path string, info FileInfo, isLast bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return w.part(f, info, isLast)
}

// part appends a part, from the first packet that is not covered yet. Where it overlaps with the part before, its
// first packets only serve to let the decoder settle, and are left out.
func (w *weaver) part(r io.Reader, info FileInfo, isLast bool) error {
	s := newScanner(r)
	if _, err := s.head(); err != nil {
		return err
	}
	if w.seq == 0 {
		if err := w.headers(s); err != nil {
			return err
		}
	}
	begin := info.First*perSample - info.preSkip // where its first packet begins
	whole := info.granule / packet48             // packets that hold nothing but sound
	all := (info.granule + packet48 - 1) / packet48
	if !isLast {
		all = whole // the next part takes over at a packet that is whole
	}
	taken := false // whether the latest packet was
	for n := int64(0); n < all; {
		p, err := s.page()
		if err != nil {
			return err
		}
		if p.flags&continued != 0 {
			return errors.New("a packet over two pages: not written by us")
		}
		packets, open := p.packets()
		if len(open) > 0 {
			return errors.New("a packet over two pages: not written by us")
		}
		for _, k := range packets {
			if n == all {
				break
			}
			at := begin + n*packet48
			n++
			if taken = at >= w.at()-packet48/2; !taken {
				continue
			}
			for at > w.at()+packet48/2 {
				if err := w.add(silence); err != nil {
					return err
				}
			}
			if err := w.add(k); err != nil {
				return err
			}
		}
	}
	if isLast && taken {
		w.granule -= all*packet48 - info.granule
	}
	return nil
}

// headers copies the first part's header. Of the tags only the date outlives the join.
func (w *weaver) headers(s *scanner) error {
	w.serial = s.serial
	var tags []string
	if !w.began.IsZero() {
		tags = append(tags, beganTag+"="+w.began.UTC().Format(time.RFC3339Nano))
	}
	for i, k := range [][]byte{s.opusHead, packTags(tags)} {
		flags := byte(0)
		if i == 0 {
			flags = first
		}
		if err := w.page(flags, 0, [][]byte{k}); err != nil {
			return err
		}
	}
	return nil
}

func (w *weaver) add(k []byte) error {
	// A full page is only written once more follows: the last one gets the mark of the end.
	if len(w.pending) == packetsPerPage {
		if err := w.flush(false); err != nil {
			return err
		}
	}
	w.pending = append(w.pending, k)
	w.count++
	w.granule = w.count * packet48
	return nil
}

func (w *weaver) flush(end bool) error {
	flags := byte(0)
	if end {
		flags = last
	}
	err := w.page(flags, w.granule, w.pending)
	w.pending = w.pending[:0]
	return err
}

func (w *weaver) page(flags byte, granule int64, packets [][]byte) error {
	if w.seq == math.MaxUint32 {
		return errors.New("too many pages")
	}
	p, err := pack(flags, granule, w.serial, w.seq, packets)
	if err != nil {
		return err
	}
	w.seq++
	_, err = w.w.Write(p.bytes())
	return err
}
