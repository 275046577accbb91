package shot

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func picture(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func chunk(kind string, data []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

// with puts a chunk behind the header.
func with(raw []byte, c []byte) []byte {
	const head = 8 + 12 + 13
	return bytes.Join([][]byte{raw[:head], c, raw[head:]}, nil)
}

func TestBoundsOfAPicture(t *testing.T) {
	for _, c := range []struct {
		w, h int
		ok   bool
	}{{1, 1, true}, {MaxSide, 2048, true}, {2048, MaxSide, true}, {MaxSide + 1, 1, false}, {1, MaxSide + 1, false}, {MaxSide, 2049, false}} {
		p, err := Clean(picture(t, c.w, c.h))
		if (err == nil) != c.ok || c.ok && (p.Width != c.w || p.Height != c.h) {
			t.Errorf("%dx%d: %v", c.w, c.h, err)
		}
	}
	// Noise does not pack: as many bytes as may be, and one more.
	noise := func(n int) []byte {
		img := image.NewRGBA(image.Rect(0, 0, 800, 600))
		r := rand.New(rand.NewPCG(1, 2))
		for i := range img.Pix {
			img.Pix[i] = byte(r.Uint32()) | 0xff*byte(i%4/3)
		}
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		return with(b.Bytes(), chunk("tEXt", make([]byte, n-b.Len()-12)))
	}
	if _, err := Clean(noise(MaxBytes)); err != nil {
		t.Errorf("2 MiB: %v", err)
	}
	if _, err := Clean(noise(MaxBytes + 1)); !errors.Is(err, ErrPicture) {
		t.Errorf("2 MiB and one: %v", err)
	}
}

func TestOnlyPixelsStay(t *testing.T) {
	raw := picture(t, 4, 4)
	for _, kind := range []string{"tEXt", "zTXt", "iTXt", "eXIf", "iCCP", "tIME"} {
		p, err := Clean(with(raw, chunk(kind, []byte("secret\x00words"))))
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if bytes.Contains(p.PNG(), []byte("secret")) || bytes.Contains(p.PNG(), []byte(kind)) {
			t.Errorf("%s stays", kind)
		}
	}
	if p, err := Clean(with(raw, chunk("sRGB", []byte{0}))); err != nil || !bytes.Contains(p.PNG(), []byte("sRGB")) {
		t.Errorf("sRGB: %v", err)
	}
	for what, b := range map[string][]byte{
		"unknown kind":      with(raw, chunk("xxXx", nil)),
		"colour mark":       with(raw, chunk("sRGB", []byte("longer"))),
		"twice":             with(with(raw, chunk("sRGB", []byte{0})), chunk("sRGB", []byte{0})),
		"behind the end":    append(bytes.Clone(raw), 0),
		"cut off":           raw[:len(raw)-1],
		"wrong sum":         append(bytes.Clone(raw[:len(raw)-1]), raw[len(raw)-1]^1),
		"empty":             nil,
		"another format":    []byte("GIF89a"),
		"no pixels":         append(bytes.Clone(raw[:8+25]), chunk("IEND", nil)...),
		"pixels of another": bytes.Join([][]byte{[]byte(signature), chunk("IHDR", []byte{0, 0, 0, 9, 0, 0, 0, 9, 8, 0, 0, 0, 0}), raw[8+25:]}, nil),
	} {
		if _, err := Clean(b); !errors.Is(err, ErrPicture) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestThePictureIsTheInspectedOne(t *testing.T) {
	p, err := Clean(picture(t, 4, 4))
	if err != nil {
		t.Fatal(err)
	}
	data, err := p.Data()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := base64.StdEncoding.Strict().DecodeString(data); err != nil || !bytes.Equal(b, p.PNG()) {
		t.Errorf("%v", err)
	}
	p.png[20] ^= 1
	if _, err := p.Data(); !errors.Is(err, ErrPicture) {
		t.Errorf("changed after inspection: %v", err)
	}
	p.Wipe()
	if !bytes.Equal(p.png, make([]byte, len(p.png))) {
		t.Error("it was not wiped")
	}
}

type reads struct {
	text  string
	whole bool
	err   error
}

func (r reads) Read(context.Context, []byte) (string, bool, error) { return r.text, r.whole, r.err }

// TestWithoutAReaderNothingLeaves, and neither does what was read in part or shows a secret.
func TestWithoutAReaderNothingLeaves(t *testing.T) {
	p, err := Clean(picture(t, 4, 4))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		r    Reader
		want error
	}{
		{"no reader", nil, ErrUnread},
		{"a reader that fails", reads{"", true, errors.New("x")}, ErrUnread},
		{"a part", reads{"hello", false, nil}, ErrUnread},
		{"harmless", reads{"hello", true, nil}, nil},
		{"a password", reads{"password: hunter2-horse", true, nil}, ErrShows},
		{"a password on two lines", reads{"password:\nhunter2-horse", true, nil}, ErrShows},
		{"a card", reads{"4111 1111 1111 1111", true, nil}, ErrShows},
		{"marked", reads{"strictly confidential", true, nil}, ErrShows},
	} {
		if err := Inspect(t.Context(), c.r, p); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestTheTableOfTesseract(t *testing.T) {
	row := func(f ...string) string { return strings.Join(f, "\t") }
	head := row("level", "page_num", "block_num", "par_num", "line_num", "word_num", "left", "top", "width", "height", "conf", "text")
	page := row("1", "1", "0", "0", "0", "0", "0", "0", "100", "50", "-1", "")
	word := func(line, text string) string {
		return row("5", "1", "1", "1", line, "1", "0", "0", "9", "9", "90", text)
	}
	text, whole, err := parseTSV(strings.Join([]string{head, page, word("1", "hello"), word("1", "world"), word("2", "again"), word("2", " ")}, "\n") + "\n")
	if err != nil || !whole || text != "hello world\nagain" {
		t.Errorf("%q %v %v", text, whole, err)
	}
	if _, whole, err := parseTSV(head + "\n" + word("1", "x")); err != nil || whole {
		t.Errorf("no page: %v %v", whole, err)
	}
	if _, _, err := parseTSV("Error opening data file"); err == nil {
		t.Error("no table")
	}
}

// TestTesseractWhereItIsInstalled reads a drawn picture; where the program is missing, the export is denied.
func TestTesseractWhereItIsInstalled(t *testing.T) {
	if testing.Short() {
		t.Skip("a real program")
	}
	r := FindTesseract("")
	if r == nil {
		p, err := Clean(picture(t, 4, 4))
		if err != nil {
			t.Fatal(err)
		}
		if err := Inspect(t.Context(), r, p); !errors.Is(err, ErrUnread) {
			t.Errorf("%v", err)
		}
		t.Log("tesseract is not installed: that the export is denied without it was tested")
		return
	}
	raw := drawn("HELLO 42")
	p, err := Clean(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, whole, err := r.Read(t.Context(), p.PNG())
	if err != nil || !whole || !strings.Contains(strings.ToUpper(text), "HELLO") {
		t.Errorf("%q %v %v", text, whole, err)
	}
}

func TestAReaderThatHangsOrIsGone(t *testing.T) {
	r := &Tesseract{Path: filepath.Join(t.TempDir(), "none")}
	if _, _, err := r.Read(t.Context(), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// drawn draws letters of thick strokes, seven by five, which any reader reads.
func drawn(s string) []byte {
	font := map[rune][7]string{
		'H': {"#...#", "#...#", "#...#", "#####", "#...#", "#...#", "#...#"}, 'E': {"#####", "#....", "#....", "####.", "#....", "#....", "#####"},
		'L': {"#....", "#....", "#....", "#....", "#....", "#....", "#####"}, 'O': {".###.", "#...#", "#...#", "#...#", "#...#", "#...#", ".###."},
		'4': {"#..#.", "#..#.", "#..#.", "#####", "...#.", "...#.", "...#."}, '2': {".###.", "#...#", "....#", "..##.", ".#...", "#....", "#####"}, ' ': {},
	}
	const size = 8
	img := image.NewGray(image.Rect(0, 0, (len(s)*6+4)*size, 12*size))
	for i := range img.Pix {
		img.Pix[i] = 255
	}
	for i, c := range s {
		for y, line := range font[c] {
			for x, dot := range line {
				if dot == '#' {
					for dy := range size {
						for dx := range size {
							img.SetGray((2+i*6+x)*size+dx, (2+y)*size+dy, color.Gray{})
						}
					}
				}
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func FuzzPicture(f *testing.F) {
	f.Add(picture(f, 2, 2))
	f.Add(with(picture(f, 2, 2), chunk("tEXt", []byte("x"))))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Clean(raw)
		if err != nil {
			return
		}
		again, err := Clean(p.PNG())
		if err != nil || !bytes.Equal(again.PNG(), p.PNG()) || len(p.PNG()) > MaxBytes || p.Width*p.Height > MaxPixels {
			t.Errorf("%v", err)
		}
	})
}
