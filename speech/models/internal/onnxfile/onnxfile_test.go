package onnxfile_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"parley/speech/models/internal/onnxfile"
	"parley/speech/models/internal/onnxfile/onnxtest"
)

func raw(b []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

func sample() *onnxfile.Model {
	return &onnxfile.Model{Opset: 17, Meta: [][2]string{{"k", "v"}, {"empty", ""}}, Graph: &onnxfile.Graph{
		Name:    "g",
		Inputs:  []onnxfile.Value{{Name: "x", Type: onnxfile.Float, Dims: []any{"n", 3}}},
		Outputs: []onnxfile.Value{{Name: "y", Type: onnxfile.Float, Dims: []any{"n", 3}}},
		Nodes: []onnxfile.Node{
			{Op: "Mul", In: []string{"x", "w"}, Out: []string{"m"}},
			{Op: "Gelu", Domain: "com.microsoft", In: []string{"m"}, Out: []string{"y"},
				Attrs: []onnxfile.Attr{{Name: "i", Value: int64(-1)}, {Name: "f", Value: float32(1)}, {Name: "s", Value: "t"}, {Name: "l", Value: []int64{1, -2}}}},
		},
		Weights: []onnxfile.Tensor{
			{Name: "w", Type: onnxfile.Float, Dims: []int64{3}, Data: raw(make([]byte, 12))},
			{Name: "scalar", Type: onnxfile.Int64, Data: raw([]byte{1, 0, 0, 0, 0, 0, 0, 0})},
			{Name: "large", Type: onnxfile.Int8, Dims: []int64{300, 1000}, Data: raw(bytes.Repeat([]byte{7}, 300000))},
		},
	}}
}

func TestWhatIsWrittenCanBeReadBack(t *testing.T) {
	var b bytes.Buffer
	if err := sample().Write(&b); err != nil {
		t.Fatal(err)
	}
	f, err := onnxtest.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if f.IR != 8 || f.Opset != 17 || f.Graph != "g" || f.Meta["k"] != "v" || !slices.Equal(f.Domains, []string{"com.microsoft"}) {
		t.Errorf("%+v", f)
	}
	if !slices.Equal(f.Inputs, []string{"x"}) || !slices.Equal(f.Outputs, []string{"y"}) || len(f.Nodes) != 2 || f.Nodes[1].Domain != "com.microsoft" {
		t.Errorf("%v %v %v", f.Inputs, f.Outputs, f.Nodes)
	}
	if w := f.Weights["large"]; len(w.Raw) != 300000 || !slices.Equal(w.Dims, []uint64{300, 1000}) || w.Type != 3 {
		t.Errorf("large: %d bytes %v", len(w.Raw), w.Dims)
	}
	if w := f.Weights["scalar"]; len(w.Dims) != 0 || len(w.Raw) != 8 {
		t.Errorf("scalar: %+v", w)
	}
}

func TestAWeightOfAnotherSizeIsAnError(t *testing.T) {
	for _, n := range []int{11, 13} {
		m := sample()
		m.Graph.Weights[0].Data = raw(make([]byte, n))
		if err := m.Write(io.Discard); err == nil || !strings.Contains(err.Error(), "w: ") {
			t.Errorf("%d bytes for 12: %v", n, err)
		}
	}
}

func TestErrorsOfBothSidesComeThrough(t *testing.T) {
	broken := errors.New("broken")
	m := sample()
	m.Graph.Weights[1].Data = func(io.Writer) error { return broken }
	if err := m.Write(io.Discard); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := sample().Write(failing{broken}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
