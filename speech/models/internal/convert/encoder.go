package convert

import "parley/speech/models/internal/onnxfile"

// encode builds what all forms of the encoder share: features [n,80,t] in, states [n,T,D] out. With fused attention
// it runs on ONNX Runtime only.
func (g *graph) encode(mel string, fused bool) string {
	w, d := g.w, g.w.d
	conv := func(x, name string, in int, stride int64) string {
		return g.gelu(g.ops("Conv", 1, []onnxfile.Attr{
			{Name: "kernel_shape", Value: []int64{3}},
			{Name: "pads", Value: []int64{1, 1}},
			{Name: "strides", Value: []int64{stride}},
		}, x, g.floats(name+"/weight", d, in, 3), g.floats(name+"/bias", d))[0])
	}
	x := conv(mel, "encoder/conv1", 80, 1)
	x = conv(x, "encoder/conv2", d, 2)
	x = g.transpose(x, 0, 2, 1)
	pos := g.floats("encoder/position_encodings/encodings", w.audio, d)
	x = g.op("Add", x, g.op("Slice", pos, g.ints(0), g.dim(x, 1), g.ints(0)))
	for i := range w.encLayers {
		name := layer("encoder", i)
		qkv := g.split(g.linear(g.norm(x, name+"/self_attention/layer_norm"), name+"/self_attention/linear_0", 3*d, d), 3, d)
		var a string
		if fused {
			a = g.attend(qkv[0], qkv[1], qkv[2])
		} else {
			p := g.softmax(g.op("MatMul", g.toHeads(g.scaled(qkv[0])), g.toHeadsT(qkv[1])))
			a = g.fromHeads(g.op("MatMul", p, g.toHeads(qkv[2])))
		}
		x = g.op("Add", x, g.linear(a, name+"/self_attention/linear_1", d, d))
		x = g.ffn(x, name)
	}
	return g.norm(x, "encoder/layer_norm")
}

// ownEncoder gives the keys and values that the decoder's cross attention reads, laid out for it once:
// in mel [n,80,t]; out ck_i [n,heads,64,T] and cv_i [n,heads,T,64] for each layer of the decoder.
func ownEncoder(w *weights) *onnxfile.Model {
	g := newGraph("encoder", w)
	x := g.encode(g.input("mel", onnxfile.Float, "n", 80, "t"), true)
	for i := range w.decLayers {
		kv := g.split(g.linear(x, layer("decoder", i)+"/attention/linear_1", 2*w.d, w.d), 2, w.d)
		g.output(CrossKey(i), g.toHeadsT(kv[0]), onnxfile.Float, "n", w.heads, headWidth, "T")
		g.output(CrossValue(i), g.toHeads(kv[1]), onnxfile.Float, "n", w.heads, "T", headWidth)
	}
	return g.model()
}
