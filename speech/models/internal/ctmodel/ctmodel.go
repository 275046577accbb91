// Package ctmodel reads the tensors of a CTranslate2 model.bin, the form in which the packages carry Whisper.
package ctmodel

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Type is an element type as the format numbers it.
type Type uint8

// The element types.
const (
	Float32 Type = 0
	Int8    Type = 1
	Int16   Type = 2
	Int32   Type = 3
	Float16 Type = 4
)

func (t Type) size() int {
	switch t {
	case Float32, Int32:
		return 4
	case Int16, Float16:
		return 2
	case Int8:
		return 1
	}
	return 0
}

// Variable is a named tensor. Data are its little-endian bytes, a view into the file: not aligned.
type Variable struct {
	Type Type
	Dims []int
	Data []byte
}

// Model is a parsed file.
type Model struct {
	Spec      string
	Variables map[string]Variable
}

// ErrCorrupt means that the bytes are no model.bin, or not a whole one.
var ErrCorrupt = errors.New("ctmodel: the model file is damaged")

// Parse reads a whole file. The result points into b, which must not change while it is used.
func Parse(b []byte) (*Model, error) {
	r := reader{b: b}
	if v := r.u32(); r.err == nil && v != 6 {
		return nil, fmt.Errorf("%w: format version %d, not 6", ErrCorrupt, v)
	}
	m := &Model{Spec: r.text(), Variables: map[string]Variable{}}
	r.u32() // revision of the specification
	count := r.u32()
	for i := uint32(0); i < count && r.err == nil; i++ {
		name := r.text()
		var v Variable
		want := 1
		for range r.u8() {
			d := r.u32()
			// No product of dimensions may pass the file's own size, so it cannot overflow either.
			if int64(d) > int64(len(b)) || (d > 0 && want > len(b)/int(d)) {
				return nil, fmt.Errorf("%w: %q is larger than the file", ErrCorrupt, name)
			}
			v.Dims = append(v.Dims, int(d))
			want *= int(d)
		}
		v.Type = Type(r.u8())
		v.Data = r.take(int64(r.u32()))
		if r.err != nil {
			break
		}
		if v.Type.size() == 0 || len(v.Data) != want*v.Type.size() {
			return nil, fmt.Errorf("%w: %q has %d bytes for %v of type %d", ErrCorrupt, name, len(v.Data), v.Dims, v.Type)
		}
		if _, twice := m.Variables[name]; twice {
			return nil, fmt.Errorf("%w: %q stands there twice", ErrCorrupt, name)
		}
		m.Variables[name] = v
	}
	aliases := r.u32()
	for i := uint32(0); i < aliases && r.err == nil; i++ {
		alias, name := r.text(), r.text()
		v, ok := m.Variables[name]
		if r.err == nil && !ok {
			return nil, fmt.Errorf("%w: alias %q of nothing", ErrCorrupt, alias)
		}
		m.Variables[alias] = v
	}
	if r.err != nil {
		return nil, r.err
	}
	if len(r.b) != 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", ErrCorrupt, len(r.b))
	}
	return m, nil
}

type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int64) []byte {
	if r.err == nil && (n < 0 || n > int64(len(r.b))) {
		r.err = fmt.Errorf("%w: it ends too early", ErrCorrupt)
	}
	if r.err != nil {
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// text is a length that counts a final zero byte, the text, and that byte.
func (r *reader) text() string {
	b := r.take(int64(r.u16()))
	if r.err != nil {
		return ""
	}
	if len(b) == 0 || b[len(b)-1] != 0 {
		r.err = fmt.Errorf("%w: a name does not end in zero", ErrCorrupt)
		return ""
	}
	return string(b[:len(b)-1])
}
