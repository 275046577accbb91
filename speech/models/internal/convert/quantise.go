package convert

import (
	"encoding/binary"
	"io"
	"math"
	"sync"
)

// halfValue is the float32 of every float16, subnormal ones included: made when a model is first converted.
var halfValue = sync.OnceValue(func() *[1 << 16]float32 {
	var t [1 << 16]float32
	for i := range t {
		exp, frac := i>>10&0x1f, float64(i&0x3ff)
		var v float64
		switch exp {
		case 0:
			v = math.Ldexp(frac, -24)
		case 31:
			v = math.Inf(1)
			if frac != 0 {
				v = math.NaN()
			}
		default:
			v = math.Ldexp(1024+frac, exp-25)
		}
		if i>>15 == 1 {
			v = math.Copysign(v, -1)
		}
		t[i] = float32(v)
	}
	return &t
})

// symmetric is the scheme for the constant side of a matrix product: int8, one scale, zero at 0.
type symmetric struct {
	scale float32
	table [1 << 16]int8
}

// newSymmetric follows the quantiser in its order of roundings; the hashes of the results depend on each.
func newSymmetric(half []byte) *symmetric {
	value := halfValue()
	var top uint16
	for i := 0; i+1 < len(half); i += 2 {
		// Without the sign, float16 values sort like their bits.
		top = max(top, binary.LittleEndian.Uint16(half[i:])&0x7fff)
	}
	q := &symmetric{scale: float32(2 * float64(value[top]) / 254)}
	if q.scale == 0 {
		q.scale = 1
	}
	for i := range q.table {
		v := math.RoundToEven(float64(value[i] / q.scale))
		if !math.IsNaN(v) { // those bits cannot occur: the tensors are finite
			q.table[i] = int8(max(-128, min(127, v)))
		}
	}
	return q
}

// transposed writes the [out,in] matrix as int8 [in,out], the way matrix products want it.
func (q *symmetric) transposed(w io.Writer, half []byte, out, in int) error {
	buf := make([]byte, in*out)
	// In blocks, so that both sides stay in the cache.
	const block = 64
	for o0 := 0; o0 < out; o0 += block {
		for i0 := 0; i0 < in; i0 += block {
			for o := o0; o < min(o0+block, out); o++ {
				row := half[2*o*in:]
				for i := i0; i < min(i0+block, in); i++ {
					buf[i*out+o] = byte(q.table[binary.LittleEndian.Uint16(row[2*i:])])
				}
			}
		}
	}
	_, err := w.Write(buf)
	return err
}

// asymmetric is the scheme for looked-up rows: uint8 with a scale and a zero point.
type asymmetric struct {
	scale float32
	zero  uint8
	table [1 << 16]uint8
}

func newAsymmetric(half []byte) *asymmetric {
	value := halfValue()
	var lo, hi float32
	for i := 0; i+1 < len(half); i += 2 {
		v := value[binary.LittleEndian.Uint16(half[i:])]
		lo, hi = min(lo, v), max(hi, v)
	}
	wide := (float64(hi) - float64(lo)) / 255
	if wide == 0 {
		wide = 1
	}
	q := &asymmetric{scale: float32(wide), zero: uint8(math.RoundToEven(-float64(lo) / wide))}
	for i := range q.table {
		v := math.RoundToEven(float64(value[i]/q.scale)) + float64(q.zero)
		if !math.IsNaN(v) {
			q.table[i] = uint8(max(0, min(255, v)))
		}
	}
	return q
}

func (q *asymmetric) write(w io.Writer, half []byte) error {
	buf := make([]byte, len(half)/2)
	for i := range buf {
		buf[i] = q.table[binary.LittleEndian.Uint16(half[2*i:])]
	}
	_, err := w.Write(buf)
	return err
}

// floats writes float16 values as float32.
func floats(w io.Writer, half []byte) error {
	value := halfValue()
	buf := make([]byte, 2*len(half))
	for i := 0; i < len(half); i += 2 {
		v := value[binary.LittleEndian.Uint16(half[i:])]
		binary.LittleEndian.PutUint32(buf[2*i:], math.Float32bits(v))
	}
	_, err := w.Write(buf)
	return err
}
