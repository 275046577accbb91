package ogg

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// stream makes a recording of silence, without an encoder: packets of 20 ms, the last page cut by some samples.
func stream(t testing.TB, packets, firstSample, cut int64) []byte {
	t.Helper()
	var out []byte
	seq := uint32(0)
	put := func(flags byte, granule int64, packets ...[]byte) {
		p, err := pack(flags, granule, 77, seq, packets)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p.bytes()...)
		seq++
	}
	put(first, 0, append([]byte("OpusHead"), 1, 1, 0x38, 1, 0x80, 0x3e, 0, 0, 0, 0, 0))
	put(0, 0, packTags([]string{firstTag + "=" + itoa(firstSample), beganTag + "=2026-01-02T03:04:05.678Z"}))
	for n := int64(0); n < packets; {
		k := min(packetsPerPage, packets-n)
		var body [][]byte
		for range k {
			body = append(body, silence)
		}
		n += k
		flags, granule := byte(0), n*packet48
		if n == packets && cut >= 0 {
			flags, granule = last, granule-cut
		}
		put(flags, granule, body...)
	}
	return out
}

func itoa(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

func TestInfoReadsWhatIsWhole(t *testing.T) {
	whole := stream(t, 105, 640, 648) // 105 packets less 648 samples: 100152 at 48 kHz
	for _, c := range []struct {
		name   string
		bytes  []byte
		want   int64 // samples at 16 kHz
		closed bool
	}{
		{"whole", whole, (105*960 - 648 - 312) / 3, true},
		{"last page cut", whole[:len(whole)-5], (100*960 - 312) / 3, false},
		{"garbage behind", append(bytes.Clone(whole), "OggS and more"...), (105*960 - 648 - 312) / 3, true},
		{"headers only", stream(t, 0, 0, -1), 0, false},
		{"one bit wrong", flip(whole, len(whole)-3), (100*960 - 312) / 3, false},
	} {
		info, err := read(bytes.NewReader(c.bytes))
		if err != nil || info.Samples != c.want || info.Closed != c.closed || info.Bytes != int64(len(c.bytes)) {
			t.Errorf("%s: %+v %v, want %d samples", c.name, info, err, c.want)
		}
	}
	info, _ := read(bytes.NewReader(whole))
	if info.First != 640 || !info.Began.Equal(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)) {
		t.Errorf("tags: %+v", info)
	}
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

func TestInfoRefusesWhatIsNoRecording(t *testing.T) {
	whole := stream(t, 10, 0, -1)
	for name, b := range map[string][]byte{
		"empty": nil, "text": []byte("hello, this is not a recording at all, not even nearly"),
		"header cut": whole[:40], "no tags": whole[:47], "header damaged": flip(whole, 30),
	} {
		if _, err := read(bytes.NewReader(b)); !errors.Is(err, ErrNotOpus) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Info(filepath.Join(t.TempDir(), "none.ogg")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestJoiningPutsPartsInTheirPlaces(t *testing.T) {
	type part struct {
		n              int
		packets, first int64
		cut            int64
		damage         int // bytes cut off
	}
	for _, c := range []struct {
		name  string
		parts []part
		want  int64 // samples
		left  int
	}{
		{"one part, killed", []part{{1, 25, 0, -1, 3}}, 20*320 - 104, 1},
		{"a part that follows on", []part{{1, 100, 0, -1, 0}, {2, 50, (100 - 4) * 320, 480, 0}}, 146*320 - 160 - 104, 1},
		{"a gap of a second", []part{{1, 50, 0, -1, 0}, {3, 50, 100 * 320, 0, 0}}, 150*320 - 104, 1},
		{"the first part is lost", []part{{2, 50, 64 * 320, 0, 0}}, 114*320 - 104, 1},
		{"the first part was closed early", []part{{1, 50, 0, 900, 0}, {2, 50, (49 - 4) * 320, 0, 0}}, 95*320 - 104, 1},
		{"a part that is inside another", []part{{1, 100, 0, 0, 0}, {2, 20, 60 * 320, 0, 0}}, 100*320 - 104, 1},
		{"an empty part", []part{{1, 30, 0, 0, 0}, {2, 0, 30 * 320, -1, 0}}, 30*320 - 104, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.ogg")
			for _, p := range c.parts {
				b := stream(t, p.packets, p.first, p.cut)
				if err := os.WriteFile(partPath(path, p.n), b[:len(b)-p.damage], 0o600); err != nil {
					t.Fatal(err)
				}
			}
			// Somebody was interrupted here.
			if err := os.WriteFile(joinPath(path), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
			info, err := Join(path)
			if err != nil || info.Samples != c.want || info.Valid != info.Bytes || info.First != 0 {
				t.Fatalf("%+v %v, want %d samples", info, err, c.want)
			}
			if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
				t.Errorf("%d files left", len(entries))
			}
			again, err := Join(path)
			if err != nil || again != info {
				t.Errorf("joined again: %+v %v", again, err)
			}
			wellFormed(t, path)
		})
	}
}

// wellFormed reads every page: sequence and time must go up by what the packets say.
func wellFormed(t testing.TB, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	var count int64
	for seq := uint32(0); ; seq++ {
		p, err := readPage(r)
		if err != nil {
			break
		}
		packets, open := p.packets()
		if seq >= 2 {
			count += int64(len(packets))
		}
		if p.seq != seq || len(open) > 0 || p.granule > count*packet48 || (p.flags&last == 0 && p.granule != count*packet48) {
			t.Errorf("page %d: sequence %d, granule %d after %d packets", seq, p.seq, p.granule, count)
		}
	}
}

func TestRemoveLeavesTheNeighbours(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"m.ogg", "m.2.ogg", "m.13.ogg", ".m.ogg.joining", "m.x.ogg", "m2.ogg", "m.02.ogg", "m.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "m.ogg")
	for range 2 {
		if err := Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := Remove(filepath.Join(dir, "no", "m.ogg")); err != nil {
		t.Error(err)
	}
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if len(left) != 4 {
		t.Errorf("left: %v", left)
	}
}

func TestPackedPagesReadTheSame(t *testing.T) {
	packets := [][]byte{{}, make([]byte, 254), make([]byte, 255), make([]byte, 256), make([]byte, 5000), {1}}
	p, err := pack(last, 1<<40, 5, 6, packets)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readPage(bufio.NewReader(bytes.NewReader(p.bytes())))
	if err != nil {
		t.Fatal(err)
	}
	back, open := got.packets()
	if got.granule != 1<<40 || got.serial != 5 || got.seq != 6 || got.flags != last || len(open) > 0 || len(back) != len(packets) {
		t.Fatalf("%+v", got)
	}
	for i := range packets {
		if !bytes.Equal(back[i], packets[i]) {
			t.Errorf("packet %d changed", i)
		}
	}
	if _, err := pack(0, 0, 0, 0, [][]byte{make([]byte, 255*255)}); err == nil {
		t.Error("a packet too large for a page")
	}
}

func FuzzInfo(f *testing.F) {
	f.Add(stream(f, 25, 640, 100))
	f.Add(stream(f, 0, 0, -1))
	f.Add(stream(f, 3, 0, -1)[:100])
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := read(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ErrNotOpus) {
				t.Fatal(err)
			}
			return
		}
		if info.Bytes != int64(len(b)) || info.Valid > info.Bytes || info.Samples < 0 || info.First < 0 {
			t.Fatalf("%+v of %d bytes", info, len(b))
		}
		// What is whole stays the same without the rest.
		again, err := read(bytes.NewReader(b[:info.Valid]))
		if err != nil || again.Samples != info.Samples || again.Valid != info.Valid {
			t.Fatalf("%+v %v, was %+v", again, err, info)
		}
	})
}

// FuzzWeave mends the checksums, so that what the fuzzer changes inside pages is looked at.
func FuzzWeave(f *testing.F) {
	f.Add(stream(f, 25, 0, 100), stream(f, 25, 30*320, 0))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var out bytes.Buffer
		w := &weaver{w: &out}
		for i, raw := range [][]byte{mend(a), mend(b)} {
			info, err := read(bytes.NewReader(raw))
			if err != nil || info.First > 60*rate {
				return
			}
			if i == 0 {
				w.preSkip = info.preSkip
			}
			if err := w.part(bytes.NewReader(raw), info, i == 1); err != nil {
				return
			}
		}
		if w.count == 0 {
			return
		}
		if err := w.flush(true); err != nil {
			t.Fatal(err)
		}
		info, err := read(&out)
		if err != nil || info.Valid != info.Bytes || info.Samples != max(0, w.end())/perSample {
			t.Fatalf("%+v %v, want %d", info, err, w.end()/perSample)
		}
	})
}

// mend sets the checksum of everything that could be a page.
func mend(b []byte) []byte {
	b = bytes.Clone(b)
	for at := 0; at+pageHeader <= len(b); {
		if !bytes.Equal(b[at:at+4], magic) {
			at++
			continue
		}
		end := at + pageHeader + int(b[at+26])
		if end > len(b) {
			break
		}
		for _, n := range b[at+pageHeader : end] {
			end += int(n)
		}
		if end > len(b) {
			break
		}
		clear(b[at+22 : at+26])
		sum := checksum(0, b[at:end])
		b[at+22], b[at+23], b[at+24], b[at+25] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		at = end
	}
	return b
}

// A part that was cut before its first sound is no damage: nothing was recorded.
func TestNothingRecordedIsToldFromDamage(t *testing.T) {
	for size, want := range map[int]error{0: ErrEmpty, 30: ErrEmpty, 200: ErrEmpty, headersOnly + 1: ErrNotOpus} {
		path := filepath.Join(t.TempDir(), "a.ogg")
		if err := os.WriteFile(path, bytes.Repeat([]byte("Oggs?"), size/5+1)[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Join(path); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", size, err, want)
		}
	}
}
