package convert

import (
	"fmt"

	"parley/speech/models/internal/onnxfile"
)

// The names of the graphs' inputs and outputs that come once a layer.
func CrossKey(i int) string   { return fmt.Sprintf("ck_%d", i) }
func CrossValue(i int) string { return fmt.Sprintf("cv_%d", i) }
func pastKey(i int) string    { return fmt.Sprintf("pk_%d", i) }
func pastValue(i int) string  { return fmt.Sprintf("pv_%d", i) }
func newKey(i int) string     { return fmt.Sprintf("nk_%d", i) }
func newValue(i int) string   { return fmt.Sprintf("nv_%d", i) }

// ownDecoder is one step, of one or many tokens:
//
//	in   tokens [n,nt]; for each layer pk_i [n,heads,64,past], pv_i [n,heads,past,64], ck_i, cv_i
//	out  logits [n,1,V] of the last token; for each layer nk_i, nv_i (past + nt); align [n,alignment heads,nt,T]
//
// The first step has a past of length zero. The embedding is stored once: its rows are looked up in the columns of
// the matrix that makes the logits.
func ownDecoder(w *weights) *onnxfile.Model {
	g := newGraph("decoder", w)
	d := w.d
	tokens := g.input("tokens", onnxfile.Int64, "n", "nt")
	past := make([][2]string, w.decLayers)
	cross := make([][2]string, w.decLayers)
	for i := range w.decLayers {
		past[i] = [2]string{
			g.input(pastKey(i), onnxfile.Float, "n", w.heads, headWidth, "past"),
			g.input(pastValue(i), onnxfile.Float, "n", w.heads, "past", headWidth),
		}
	}
	for i := range w.decLayers {
		cross[i] = [2]string{
			g.input(CrossKey(i), onnxfile.Float, "n", w.heads, headWidth, "T"),
			g.input(CrossValue(i), onnxfile.Float, "n", w.heads, "T", headWidth),
		}
	}

	table, scale, _ := g.int8("decoder/embeddings/weight", w.vocab, d)
	rows := g.opAttr("Gather", "axis", int64(1), table, tokens) // [D,n,nt]
	rows = g.op("Mul", g.opAttr("Cast", "to", int64(onnxfile.Float), rows), scale)
	x := g.transpose(rows, 1, 2, 0)

	from := g.dim(past[0][0], 3)
	to := g.op("Add", from, g.dim(tokens, 1))
	pos := g.floats("decoder/position_encodings/encodings", w.text, d)
	x = g.op("Add", x, g.op("Slice", pos, from, to, g.ints(0)))

	// A token sees itself and what came before: everything else gets a very small number before the softmax.
	scalar := func(v string) string { return g.op("Squeeze", v, g.ints(0)) }
	columns := g.op("Range", g.int(0), scalar(to), g.int(1))
	lines := g.op("Unsqueeze", g.op("Range", scalar(from), scalar(to), g.int(1)), g.ints(1))
	mask := g.op("Where", g.op("Greater", columns, lines), g.float(-1e9), g.float(0))

	aligned := make(map[int]string) // layer → cross attention of its alignment heads
	type kept struct{ k, v string }
	var keep []kept
	for i := range w.decLayers {
		name := layer("decoder", i)
		qkv := g.split(g.linear(g.norm(x, name+"/self_attention/layer_norm"), name+"/self_attention/linear_0", 3*d, d), 3, d)
		k := g.concat(3, past[i][0], g.toHeadsT(qkv[1]))
		v := g.concat(2, past[i][1], g.toHeads(qkv[2]))
		keep = append(keep, kept{k, v})
		scores := g.op("Add", g.op("MatMul", g.toHeads(g.scaled(qkv[0])), k), mask)
		a := g.fromHeads(g.op("MatMul", g.softmax(scores), v))
		x = g.op("Add", x, g.linear(a, name+"/self_attention/linear_1", d, d))

		q := g.toHeads(g.scaled(g.linear(g.norm(x, name+"/attention/layer_norm"), name+"/attention/linear_0", d, d)))
		p := g.softmax(g.op("MatMul", q, cross[i][0]))
		if heads := w.alignOf(i); len(heads) > 0 {
			aligned[i] = g.opAttr("Gather", "axis", int64(1), p, g.ints(heads...))
		}
		a = g.fromHeads(g.op("MatMul", p, cross[i][1]))
		x = g.op("Add", x, g.linear(a, name+"/attention/linear_2", d, d))
		x = g.ffn(x, name)
	}
	x = g.op("Slice", x, g.ints(-1), g.ints(w.text), g.ints(1))
	logits := g.matmul(g.norm(x, "decoder/layer_norm"), "decoder/embeddings/weight", w.vocab, d)

	g.output("logits", logits, onnxfile.Float, "n", 1, w.vocab)
	for i, kv := range keep {
		g.output(newKey(i), kv.k, onnxfile.Float, "n", w.heads, headWidth, "total")
		g.output(newValue(i), kv.v, onnxfile.Float, "n", w.heads, "total", headWidth)
	}
	g.output("align", g.joinAligned(aligned), onnxfile.Float, "n", len(w.align), "nt", "T")
	return g.model()
}

func (w *weights) alignOf(layer int) []int {
	var heads []int
	for _, lh := range w.align {
		if lh[0] == layer {
			heads = append(heads, lh[1])
		}
	}
	return heads
}

func (g *graph) joinAligned(aligned map[int]string) string {
	var parts []string
	for i := range g.w.decLayers {
		if p, ok := aligned[i]; ok {
			parts = append(parts, p)
		}
	}
	return g.concat(1, parts...)
}
