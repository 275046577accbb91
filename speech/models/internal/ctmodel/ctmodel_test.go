package ctmodel_test

import (
	"errors"
	"strings"
	"testing"

	"parley/speech/models/internal/ctmodel"
	"parley/speech/models/internal/ctmodel/cttest"
)

func sample() []byte {
	return cttest.File(map[string]cttest.Tensor{
		"a/weight": {Dims: []int{2, 3}, Half: []uint16{0, 0x3c00, 0xbc00, 1, 0x7bff, 0x8001}},
		"a/scalar": {Half: []uint16{0x4000}},
	}, "b/weight", "a/weight")
}

func TestParse(t *testing.T) {
	m, err := ctmodel.Parse(sample())
	if err != nil {
		t.Fatal(err)
	}
	w := m.Variables["a/weight"]
	if m.Spec != "WhisperSpec" || w.Type != ctmodel.Float16 || len(w.Dims) != 2 || w.Dims[1] != 3 || len(w.Data) != 12 {
		t.Errorf("%q, %+v", m.Spec, w)
	}
	if s := m.Variables["a/scalar"]; len(s.Dims) != 0 || len(s.Data) != 2 {
		t.Errorf("scalar: %+v", s)
	}
	if &m.Variables["b/weight"].Data[0] != &w.Data[0] {
		t.Error("the alias is not the same tensor")
	}
}

func TestEveryCutFileIsRefused(t *testing.T) {
	whole := sample()
	for n := range whole {
		if _, err := ctmodel.Parse(whole[:n]); !errors.Is(err, ctmodel.ErrCorrupt) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	if _, err := ctmodel.Parse(append(whole, 0)); !errors.Is(err, ctmodel.ErrCorrupt) {
		t.Errorf("one byte too many: %v", err)
	}
}

func TestLiesAreRefused(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"another version": func(b []byte) []byte { b[0] = 7; return b },
		"an alias of nothing": func([]byte) []byte {
			return cttest.File(map[string]cttest.Tensor{"a": {Half: []uint16{0}}}, "b", "absent")
		},
		"a size that does not fit the dimensions": func([]byte) []byte {
			return cttest.File(map[string]cttest.Tensor{"a": {Dims: []int{3}, Half: []uint16{0}}})
		},
		"dimensions whose product overflows": func([]byte) []byte {
			return cttest.File(map[string]cttest.Tensor{"a": {Dims: []int{1 << 31, 1 << 31, 4}}})
		},
		"a name without an end": func(b []byte) []byte {
			return []byte(strings.Replace(string(b), "a/weight\x00", "a/weightx", 1))
		},
	} {
		if _, err := ctmodel.Parse(change(sample())); !errors.Is(err, ctmodel.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample())
	f.Add([]byte{6, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ctmodel.Parse(b)
		if err != nil {
			return
		}
		for name, v := range m.Variables {
			if len(v.Data) > len(b) {
				t.Errorf("%s is larger than the file", name)
			}
		}
	})
}
