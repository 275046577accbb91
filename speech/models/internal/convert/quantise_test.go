package convert

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

func halves(bits ...uint16) []byte {
	var b []byte
	for _, v := range bits {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

func TestHalfPrecisionValues(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0x0000: 0, 0x0001: 5.960464477539063e-08, 0x03ff: 6.097555160522461e-05, // below the normal ones
		0x0400: 6.103515625e-05, 0x3c00: 1, 0x3c01: 1.0009765625, 0x4248: 3.140625, 0x7bff: 65504, 0x7c00: math.Inf(1),
		0x8001: -5.960464477539063e-08, 0xbc00: -1, 0xfbff: -65504, 0xfc00: math.Inf(-1),
	} {
		if got := float64(halfValue()[bits]); got != want {
			t.Errorf("%#04x is %v, want %v", bits, got, want)
		}
	}
	if v := halfValue()[0x8000]; v != 0 || !math.Signbit(float64(v)) {
		t.Errorf("minus zero is %v", v)
	}
	if v := float64(halfValue()[0x7e00]); !math.IsNaN(v) {
		t.Errorf("not a number is %v", v)
	}
}

func TestSymmetric(t *testing.T) {
	// 1, -1, 0.5, tiny: scale 2/254; 0.5 lies between 63 and 64, exactly on 63.5, and goes to the even one.
	q := newSymmetric(halves(0x3c00, 0xbc00, 0x3800, 0x0001))
	if q.scale != float32(2.0/254) {
		t.Errorf("scale %v", q.scale)
	}
	for bits, want := range map[uint16]int8{0x3c00: 127, 0xbc00: -127, 0x3800: 64, 0xb800: -64, 0x0001: 0, 0x7bff: 127, 0xfbff: -128} {
		if got := q.table[bits]; got != want {
			t.Errorf("%#04x becomes %d, want %d", bits, got, want)
		}
	}
	var b bytes.Buffer
	if err := q.transposed(&b, halves(0x3c00, 0x3800, 0, 0xbc00, 0xb800, 0x3c00), 2, 3); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.Bytes(), []byte{127, 129, 64, 192, 0, 127}) { // [2,3] to [3,2], -127 and -64 as bytes
		t.Errorf("transposed: %v", b.Bytes())
	}
	if z := newSymmetric(halves(0, 0x8000)); z.scale != 1 || z.table[0] != 0 {
		t.Errorf("all zero: %v", z.scale)
	}
}

func TestAsymmetric(t *testing.T) {
	q := newAsymmetric(halves(0x3c00, 0xb800)) // 1 and -0.5: scale 1.5/255, zero point 85
	if q.scale != float32(1.5/255) || q.zero != 85 {
		t.Errorf("scale %v, zero %d", q.scale, q.zero)
	}
	for bits, want := range map[uint16]uint8{0x3c00: 255, 0xb800: 0, 0: 85, 0x7bff: 255, 0xfbff: 0} {
		if got := q.table[bits]; got != want {
			t.Errorf("%#04x becomes %d, want %d", bits, got, want)
		}
	}
	// Zero is always in the range, so that nothing is stored exactly.
	if q := newAsymmetric(halves(0x3c00, 0x4000)); q.zero != 0 || q.scale != float32(2.0/255) {
		t.Errorf("only above zero: %v, %d", q.scale, q.zero)
	}
}
