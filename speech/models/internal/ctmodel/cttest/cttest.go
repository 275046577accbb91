// Package cttest writes model files for tests.
package cttest

import (
	"encoding/binary"
	"sort"
)

// Tensor is a float16 tensor by its bits.
type Tensor struct {
	Dims []int
	Half []uint16
}

// File is a file of these tensors; aliases come in pairs: the alias, what it stands for.
func File(tensors map[string]Tensor, aliases ...string) []byte {
	var b []byte
	u32 := func(v int) { b = binary.LittleEndian.AppendUint32(b, uint32(v)) }
	text := func(s string) {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(s)+1))
		b = append(append(b, s...), 0)
	}
	u32(6)
	text("WhisperSpec")
	u32(3)
	u32(len(tensors))
	names := make([]string, 0, len(tensors))
	for n := range tensors {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		t := tensors[n]
		text(n)
		b = append(b, byte(len(t.Dims)))
		for _, d := range t.Dims {
			u32(d)
		}
		b = append(b, 4)
		u32(2 * len(t.Half))
		for _, h := range t.Half {
			b = binary.LittleEndian.AppendUint16(b, h)
		}
	}
	u32(len(aliases) / 2)
	for _, a := range aliases {
		text(a)
	}
	return b
}
