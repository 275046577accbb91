package convert

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"parley/speech/models/internal/onnxfile"
)

// graph builds one graph; a value is known by its name.
type graph struct {
	onnxfile.Graph
	w         *weights
	n         int
	consts    map[string]bool
	quantised map[string][3]string // activation → quantised, scale, zero: shared by all products that read it
}

func newGraph(name string, w *weights) *graph {
	return &graph{Graph: onnxfile.Graph{Name: name}, w: w, consts: map[string]bool{}, quantised: map[string][3]string{}}
}

func (g *graph) model(meta ...[2]string) *onnxfile.Model {
	return &onnxfile.Model{Graph: &g.Graph, Opset: 17, Meta: meta}
}

func (g *graph) input(name string, t onnxfile.DataType, dims ...any) string {
	g.Inputs = append(g.Inputs, onnxfile.Value{Name: name, Type: t, Dims: dims})
	return name
}

// output gives a value the name by which the outside knows it. The value is renamed: a copying operator would cost
// something at every step.
func (g *graph) output(name, value string, t onnxfile.DataType, dims ...any) {
	for i := range g.Nodes {
		for _, names := range [][]string{g.Nodes[i].In, g.Nodes[i].Out} {
			for j, n := range names {
				if n == value {
					names[j] = name
				}
			}
		}
	}
	g.Outputs = append(g.Outputs, onnxfile.Value{Name: name, Type: t, Dims: dims})
}

// ops adds an operator with several results.
func (g *graph) ops(op string, results int, a []onnxfile.Attr, in ...string) []string {
	out := make([]string, results)
	for i := range out {
		g.n++
		out[i] = fmt.Sprintf("v%d", g.n)
	}
	g.Nodes = append(g.Nodes, onnxfile.Node{Op: op, In: in, Out: out, Attrs: a})
	return out
}

func (g *graph) op(op string, in ...string) string { return g.ops(op, 1, nil, in...)[0] }

func (g *graph) opAttr(op, name string, value any, in ...string) string {
	return g.ops(op, 1, []onnxfile.Attr{{Name: name, Value: value}}, in...)[0]
}

func (g *graph) weight(name string, t onnxfile.DataType, data func(io.Writer) error, dims ...int) string {
	if g.consts[name] {
		return name
	}
	g.consts[name] = true
	d := make([]int64, len(dims))
	for i, n := range dims {
		d[i] = int64(n)
	}
	g.Weights = append(g.Weights, onnxfile.Tensor{Name: name, Type: t, Dims: d, Data: data})
	return name
}

// floats is a tensor of the model, widened.
func (g *graph) floats(name string, dims ...int) string {
	half := g.w.half(name, dims...)
	return g.weight(name, onnxfile.Float, func(w io.Writer) error { return floats(w, half) }, dims...)
}

func raw(b []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

// float is a scalar of rank 0: with one dimension it would change the rank of what it is multiplied with.
func (g *graph) float(v float32) string {
	return g.namedFloat(fmt.Sprintf("float:%g", v), v)
}

func (g *graph) namedFloat(name string, v float32) string {
	return g.weight(name, onnxfile.Float, raw(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))))
}

// ints is a list of whole numbers, a tensor of rank 1.
func (g *graph) ints(v ...int) string {
	var b []byte
	for _, i := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(int64(i)))
	}
	return g.weight(fmt.Sprintf("ints:%v", v), onnxfile.Int64, raw(b), len(v))
}

// int is one whole number of rank 0.
func (g *graph) int(v int) string {
	return g.weight(fmt.Sprintf("int:%d", v), onnxfile.Int64, raw(binary.LittleEndian.AppendUint64(nil, uint64(int64(v)))))
}

func (g *graph) transpose(x string, perm ...int64) string {
	return g.opAttr("Transpose", "perm", perm, x)
}

func (g *graph) concat(axis int64, in ...string) string {
	return g.opAttr("Concat", "axis", axis, in...)
}

// split cuts the last axis into equal parts of this size.
func (g *graph) split(x string, parts, size int) []string {
	sizes := make([]int, parts)
	for i := range sizes {
		sizes[i] = size
	}
	return g.ops("Split", parts, []onnxfile.Attr{{Name: "axis", Value: int64(-1)}}, x, g.ints(sizes...))
}

// dim gives the length of an axis as a list of one number.
func (g *graph) dim(x string, axis int) string {
	return g.op("Gather", g.op("Shape", x), g.ints(axis))
}

// matmul multiplies with a weight of the model, quantised; name is the weight's, [out,in] in the file.
func (g *graph) matmul(x, name string, out, in int) string {
	q, ok := g.quantised[x]
	if !ok {
		q = [3]string(g.ops("DynamicQuantizeLinear", 3, nil, x))
		g.quantised[x] = q
	}
	wq, scale, zero := g.int8(name, out, in)
	y := g.op("MatMulInteger", q[0], wq, q[2], zero)
	y = g.opAttr("Cast", "to", int64(onnxfile.Float), y)
	return g.op("Mul", y, g.op("Mul", q[1], scale))
}

// int8 is a weight of the model, quantised and transposed to [in,out], with its scale and zero point.
func (g *graph) int8(name string, out, in int) (q, scale, zero string) {
	half := g.w.half(name, out, in)
	if half == nil {
		return "", "", ""
	}
	s := newSymmetric(half)
	q = g.weight(name+":int8", onnxfile.Int8, func(w io.Writer) error { return s.transposed(w, half, out, in) }, in, out)
	scale = g.namedFloat(name+":scale", s.scale)
	// One for each weight: where the processor wants unsigned weights the runtime rewrites weight and zero point
	// together, and cannot do so twice with the same one.
	zero = g.weight(name+":zero", onnxfile.Int8, raw([]byte{0}))
	return q, scale, zero
}

// linear is a product and a bias.
func (g *graph) linear(x, name string, out, in int) string {
	return g.op("Add", g.matmul(x, name+"/weight", out, in), g.floats(name+"/bias", out))
}

func (g *graph) norm(x, name string) string {
	d := g.w.d
	return g.ops("LayerNormalization", 1, []onnxfile.Attr{{Name: "axis", Value: int64(-1)}, {Name: "epsilon", Value: float32(1e-5)}},
		x, g.floats(name+"/gamma", d), g.floats(name+"/beta", d))[0]
}

// gelu is x * Phi(x) with the error function, in the order of operators that ONNX Runtime knows to fuse.
func (g *graph) gelu(x string) string {
	e := g.op("Erf", g.op("Div", x, g.float(float32(math.Sqrt2))))
	return g.op("Mul", g.op("Mul", x, g.op("Add", e, g.float(1))), g.float(0.5))
}

// ffn is the second half of a layer, with its residual.
func (g *graph) ffn(x, prefix string) string {
	d := g.w.d
	h := g.linear(g.norm(x, prefix+"/ffn/layer_norm"), prefix+"/ffn/linear_0", 4*d, d)
	return g.op("Add", x, g.linear(g.gelu(h), prefix+"/ffn/linear_1", d, 4*d))
}

// toHeads lays [n,T,D] out as [n,heads,T,64].
func (g *graph) toHeads(x string) string {
	return g.transpose(g.op("Reshape", x, g.ints(0, 0, g.w.heads, headWidth)), 0, 2, 1, 3)
}

// toHeadsT lays [n,T,D] out as [n,heads,64,T], the way keys are multiplied.
func (g *graph) toHeadsT(x string) string {
	return g.transpose(g.op("Reshape", x, g.ints(0, 0, g.w.heads, headWidth)), 0, 2, 3, 1)
}

// fromHeads undoes toHeads.
func (g *graph) fromHeads(x string) string {
	return g.op("Reshape", g.transpose(x, 0, 2, 1, 3), g.ints(0, 0, g.w.d))
}

// scaled divides a query by the square root of the head's width.
func (g *graph) scaled(q string) string { return g.op("Mul", q, g.float(0.125)) }

// attend is self-attention over whole sequences [n,T,D], nobody masked: one operator of the runtime's own, which
// never holds the T x T scores. It saves a tenth of the encoder's time for 8 s of sound and a quarter for 20 s.
func (g *graph) attend(q, k, v string) string {
	out := g.ops("MultiHeadAttention", 1, []onnxfile.Attr{{Name: "num_heads", Value: int64(g.w.heads)}}, q, k, v)[0]
	g.Nodes[len(g.Nodes)-1].Domain = "com.microsoft"
	return out
}

func (g *graph) softmax(x string) string { return g.opAttr("Softmax", "axis", int64(-1), x) }
