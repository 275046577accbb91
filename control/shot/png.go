// Package shot makes a picture of a page fit to leave: bounded, stripped to its pixels, and read before it goes.
package shot

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image/png"
)

// Bounds of a picture.
const (
	MaxBytes  = 2 << 20
	MaxSide   = 4096
	MaxPixels = 8 << 20
)

// ErrPicture says that this is no picture that may leave.
var ErrPicture = errors.New("the picture is none that may leave")

func bad(why string) error { return fmt.Errorf("%w: %s", ErrPicture, why) }

const signature = "\x89PNG\r\n\x1a\n"

// needed are the chunks that make the pixels; sRGB is the standard's own mark. dropped carry text, profiles, times and
// other things that nobody sees; without them the picture is the same.
var (
	needed  = map[string]bool{"IHDR": true, "PLTE": true, "tRNS": true, "IDAT": true, "IEND": true, "sRGB": true}
	dropped = map[string]bool{"tEXt": true, "zTXt": true, "iTXt": true, "eXIf": true, "iCCP": true, "tIME": true, "pHYs": true, "gAMA": true, "cHRM": true, "sBIT": true, "bKGD": true, "hIST": true, "sPLT": true}
)

// Picture is a checked picture. Its bytes are those that were inspected: Data gives no others.
type Picture struct {
	Width, Height int
	png           []byte
	sum           [sha512.Size384]byte
}

// Clean reads a PNG, drops what is not pixels, and checks all bounds. A chunk of an unknown kind is refused.
func Clean(raw []byte) (*Picture, error) {
	if len(raw) > MaxBytes {
		return nil, bad("it has more than 2 MiB")
	}
	if !bytes.HasPrefix(raw, []byte(signature)) {
		return nil, bad("it is no PNG")
	}
	out := []byte(signature)
	rest := raw[len(signature):]
	p := new(Picture)
	seen := map[string]int{}
	last := ""
	for {
		if len(rest) < 12 {
			return nil, bad("it is cut off")
		}
		n := binary.BigEndian.Uint32(rest)
		kind := string(rest[4:8])
		if uint64(n) > uint64(len(rest)-12) {
			return nil, bad("it is cut off")
		}
		chunk := rest[: 12+n : 12+n]
		rest = rest[12+n:]
		if crc32.ChecksumIEEE(chunk[4:8+n]) != binary.BigEndian.Uint32(chunk[8+n:]) {
			return nil, bad("a chunk's sum is wrong")
		}
		if last == "" && kind != "IHDR" || last != "" && kind == "IHDR" {
			return nil, bad("its header is not in its place")
		}
		seen[kind]++
		switch {
		case dropped[kind]:
			last = kind
			continue
		case !needed[kind]:
			return nil, bad("it has a chunk of an unknown kind")
		case kind != "IDAT" && seen[kind] > 1:
			return nil, bad("it has a chunk twice")
		case kind == "IDAT" && seen["IDAT"] > 1 && last != "IDAT":
			return nil, bad("its pixels are not together")
		case kind == "sRGB" && n != 1:
			return nil, bad("its colour mark is wrong")
		}
		if kind == "IHDR" {
			if n != 13 {
				return nil, bad("its header is wrong")
			}
			w, h := binary.BigEndian.Uint32(chunk[8:]), binary.BigEndian.Uint32(chunk[12:])
			if w == 0 || h == 0 || w > MaxSide || h > MaxSide || uint64(w)*uint64(h) > MaxPixels {
				return nil, bad("its sides are out of bounds")
			}
			p.Width, p.Height = int(w), int(h)
		}
		out = append(out, chunk...)
		last = kind
		if kind == "IEND" {
			break
		}
	}
	if len(rest) > 0 {
		return nil, bad("something follows it")
	}
	img, err := png.Decode(bytes.NewReader(out))
	if err != nil || img.Bounds().Dx() != p.Width || img.Bounds().Dy() != p.Height {
		return nil, bad("it does not decode")
	}
	p.png, p.sum = out, sha512.Sum384(out)
	return p, nil
}

// PNG are the bytes to look at; nobody changes them.
func (p *Picture) PNG() []byte { return p.png }

// Data is the picture in canonical base64, if its bytes are still those that were checked.
func (p *Picture) Data() (string, error) {
	if sha512.Sum384(p.png) != p.sum {
		return "", bad("its bytes changed after they were looked at")
	}
	return base64.StdEncoding.EncodeToString(p.png), nil
}

// Wipe overwrites the picture, as far as memory lets itself be overwritten.
func (p *Picture) Wipe() { clear(p.png) }
