package ogg

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// page is the unit of an Ogg file: some packets with a checksum and the time at their end.
type page struct {
	flags   byte
	granule int64 // 48 kHz samples at the end of the last packet that ends here, pre-skip included
	serial  uint32
	seq     uint32
	lacing  []byte
	body    []byte
}

// The flags of a page.
const (
	continued = 1 // its first packet began on the page before
	first     = 2
	last      = 4
)

const (
	pageHeader = 27
	maxPage    = pageHeader + 255 + 255*255
)

var magic = []byte("OggS")

// errCut means that what follows is no whole page: the file ends inside one, or is damaged there.
var errCut = errors.New("no whole page")

// crcTable is for the checksum of Ogg: polynomial 0x04c11db7, highest bit first, nothing inverted.
var crcTable = func() (t [256]uint32) {
	for i := range t {
		r := uint32(i) << 24
		for range 8 {
			if r&0x80000000 != 0 {
				r = r<<1 ^ 0x04c11db7
			} else {
				r <<= 1
			}
		}
		t[i] = r
	}
	return t
}()

func checksum(crc uint32, b []byte) uint32 {
	for _, c := range b {
		crc = crc<<8 ^ crcTable[byte(crc>>24)^c]
	}
	return crc
}

// readPage reads the next page. At a clean end it returns io.EOF, at anything that is no whole page errCut.
// The page's slices are its own.
func readPage(r *bufio.Reader) (page, error) {
	var p page
	head, err := r.Peek(pageHeader)
	if len(head) == 0 && errors.Is(err, io.EOF) {
		return p, io.EOF
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			return p, errCut
		}
		return p, err
	}
	if string(head[:4]) != string(magic) || head[4] != 0 {
		return p, errCut
	}
	whole := make([]byte, pageHeader+int(head[26]), maxPage)
	if err := full(r, whole); err != nil {
		return p, err
	}
	size := 0
	for _, n := range whole[pageHeader:] {
		size += int(n)
	}
	body := whole[len(whole) : len(whole)+size]
	if err := full(r, body); err != nil {
		return p, err
	}
	p = page{
		flags:   whole[5],
		granule: int64(binary.LittleEndian.Uint64(whole[6:])),
		serial:  binary.LittleEndian.Uint32(whole[14:]),
		seq:     binary.LittleEndian.Uint32(whole[18:]),
		lacing:  whole[pageHeader:len(whole):len(whole)],
		body:    body,
	}
	sum := binary.LittleEndian.Uint32(whole[22:])
	clear(whole[22:26])
	if checksum(checksum(0, whole), body) != sum {
		return page{}, errCut
	}
	return p, nil
}

func full(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}

// size is the page's length in the file.
func (p *page) size() int64 { return int64(pageHeader + len(p.lacing) + len(p.body)) }

// packets splits the body. open is what is left of a packet that goes on on the next page.
func (p *page) packets() (packets [][]byte, open []byte) {
	body, begin, end := p.body, 0, 0
	for _, n := range p.lacing {
		end += int(n)
		if n < 255 {
			packets = append(packets, body[begin:end:end])
			begin = end
		}
	}
	return packets, body[begin:end:end]
}

// pack makes a page of whole packets, which must fit.
func pack(flags byte, granule int64, serial, seq uint32, packets [][]byte) (page, error) {
	p := page{flags: flags, granule: granule, serial: serial, seq: seq}
	for _, k := range packets {
		for n := len(k); ; n -= 255 {
			p.lacing = append(p.lacing, byte(min(n, 255)))
			if n < 255 {
				break
			}
		}
		p.body = append(p.body, k...)
	}
	if len(p.lacing) > 255 {
		return page{}, fmt.Errorf("%d packets do not fit on an Ogg page", len(packets))
	}
	return p, nil
}

// bytes is the page as it stands in a file.
func (p *page) bytes() []byte {
	b := make([]byte, pageHeader, p.size())
	copy(b, magic)
	b[5] = p.flags
	binary.LittleEndian.PutUint64(b[6:], uint64(p.granule))
	binary.LittleEndian.PutUint32(b[14:], p.serial)
	binary.LittleEndian.PutUint32(b[18:], p.seq)
	b[26] = byte(len(p.lacing))
	b = append(append(b, p.lacing...), p.body...)
	binary.LittleEndian.PutUint32(b[22:], checksum(0, b))
	return b
}
