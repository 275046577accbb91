package convert

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"parley/speech/models/internal/onnxfile"
	"parley/speech/whisper"
)

// sherpaEncoder gives all layers' cross keys and values in two tensors [layers,n,T,D], with the notes that
// sherpa-onnx reads from the file.
func sherpaEncoder(w *weights, c whisper.Config, config []byte, t *tokenizer) *onnxfile.Model {
	g := newGraph("encoder", w)
	x := g.encode(g.input("mel", onnxfile.Float, "n", 80, "t"), false)
	var ks, vs []string
	for i := range w.decLayers {
		kv := g.split(g.linear(x, layer("decoder", i)+"/attention/linear_1", 2*w.d, w.d), 2, w.d)
		ks = append(ks, g.op("Unsqueeze", kv[0], g.ints(0)))
		vs = append(vs, g.op("Unsqueeze", kv[1], g.ints(0)))
	}
	g.output("n_layer_cross_k", g.concat(0, ks...), onnxfile.Float, w.decLayers, "n", "T", w.d)
	g.output("n_layer_cross_v", g.concat(0, vs...), onnxfile.Float, w.decLayers, "n", "T", w.d)
	return g.model(sherpaMeta(w, c, config, t)...)
}

// sherpaDecoder keeps the past in buffers of full length [layers,n,448,D] that it is told the fill of.
func sherpaDecoder(w *weights) *onnxfile.Model {
	g := newGraph("decoder", w)
	d := w.d
	tokens := g.input("tokens", onnxfile.Int64, "n", "nt")
	pastK := g.input("in_n_layer_self_k_cache", onnxfile.Float, w.decLayers, "n", w.text, d)
	pastV := g.input("in_n_layer_self_v_cache", onnxfile.Float, w.decLayers, "n", w.text, d)
	crossK := g.input("n_layer_cross_k", onnxfile.Float, w.decLayers, "n", "T", d)
	crossV := g.input("n_layer_cross_v", onnxfile.Float, w.decLayers, "n", "T", d)
	offset := g.input("offset", onnxfile.Int64, 1)

	half := w.half("decoder/embeddings/weight", w.vocab, d)
	if half == nil {
		return g.model()
	}
	q := newAsymmetric(half)
	table := g.weight("decoder/embeddings/weight:uint8", onnxfile.Uint8, func(out io.Writer) error { return q.write(out, half) }, w.vocab, d)
	zero := g.weight("decoder/embeddings/weight:uint8zero", onnxfile.Uint8, raw([]byte{q.zero}))
	x := g.op("DequantizeLinear", g.opAttr("Gather", "axis", int64(0), table, tokens),
		g.namedFloat("decoder/embeddings/weight:uint8scale", q.scale), zero)
	end := g.op("Add", offset, g.dim(tokens, 1))
	pos := g.floats("decoder/position_encodings/encodings", w.text, d)
	x = g.op("Add", x, g.op("Slice", pos, offset, end, g.ints(0)))

	scalar := func(v string) string { return g.op("Squeeze", v, g.ints(0)) }
	columns := g.op("Range", g.int(0), scalar(end), g.int(1))
	lines := g.op("Unsqueeze", g.op("Range", scalar(offset), scalar(end), g.int(1)), g.ints(1))
	mask := g.op("Where", g.op("Greater", columns, lines), g.float(-1e9), g.float(0))

	pick := func(x string, i int) string { return g.opAttr("Gather", "axis", int64(0), x, g.int(i)) }
	aligned := map[int]string{}
	var ks, vs []string
	for i := range w.decLayers {
		name := layer("decoder", i)
		qkv := g.split(g.linear(g.norm(x, name+"/self_attention/layer_norm"), name+"/self_attention/linear_0", 3*d, d), 3, d)
		grow := func(past, now string) (used, whole string) {
			all := pick(past, i)
			used = g.concat(1, g.op("Slice", all, g.ints(0), offset, g.ints(1)), now)
			whole = g.concat(1, used, g.op("Slice", all, end, g.ints(w.text), g.ints(1)))
			return used, g.op("Unsqueeze", whole, g.ints(0))
		}
		k, wholeK := grow(pastK, qkv[1])
		v, wholeV := grow(pastV, qkv[2])
		ks, vs = append(ks, wholeK), append(vs, wholeV)
		scores := g.op("Add", g.op("MatMul", g.toHeads(g.scaled(qkv[0])), g.toHeadsT(k)), mask)
		a := g.fromHeads(g.op("MatMul", g.softmax(scores), g.toHeads(v)))
		x = g.op("Add", x, g.linear(a, name+"/self_attention/linear_1", d, d))

		cq := g.toHeads(g.scaled(g.linear(g.norm(x, name+"/attention/layer_norm"), name+"/attention/linear_0", d, d)))
		p := g.softmax(g.op("MatMul", cq, g.toHeadsT(pick(crossK, i))))
		if heads := w.alignOf(i); len(heads) > 0 {
			aligned[i] = g.opAttr("Gather", "axis", int64(1), p, g.ints(heads...))
		}
		a = g.fromHeads(g.op("MatMul", p, g.toHeads(pick(crossV, i))))
		x = g.op("Add", x, g.linear(a, name+"/attention/linear_2", d, d))
		x = g.ffn(x, name)
	}
	logits := g.matmul(g.norm(x, "decoder/layer_norm"), "decoder/embeddings/weight", w.vocab, d)
	g.output("logits", logits, onnxfile.Float, "n", "nt", w.vocab)
	g.output("out_n_layer_self_k_cache", g.concat(0, ks...), onnxfile.Float, w.decLayers, "n", w.text, d)
	g.output("out_n_layer_self_v_cache", g.concat(0, vs...), onnxfile.Float, w.decLayers, "n", w.text, d)
	// Sherpa takes the batch first here; with the heads first it runs too, and its times are wrong.
	g.output("cross_attention_weights", g.joinAligned(aligned), onnxfile.Float, "n", len(w.align), "nt", "T")
	return g.model([2]string{"n_alignment_heads", fmt.Sprint(len(w.align))})
}

func sherpaMeta(w *weights, c whisper.Config, config []byte, t *tokenizer) [][2]string {
	var meta [][2]string
	put := func(name string, v any) { meta = append(meta, [2]string{name, fmt.Sprint(v)}) }
	list := func(ids []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]") }
	mc, err := parseModelConfig(config)
	if err != nil {
		w.fail("%v", err)
	}
	special, err := t.must("translate", "startofprev", "startoflm")
	if err != nil {
		w.fail("%v", err)
		return nil
	}
	put("model_type", "whisper-"+c.Name)
	put("version", 1)
	put("n_mels", whisper.Mels)
	put("n_audio_ctx", w.audio)
	put("n_audio_state", w.d)
	put("n_audio_head", w.heads)
	put("n_audio_layer", w.encLayers)
	put("n_vocab", w.vocab)
	put("n_text_ctx", w.text)
	put("n_text_state", w.d)
	put("n_text_head", w.heads)
	put("n_text_layer", w.decLayers)
	put("n_alignment_heads", len(w.align))
	languages, multilingual := t.languages(), 0
	sequence := []int{c.Start}
	if c.Multilingual() {
		multilingual = 1
		sequence = append(sequence, c.Languages["en"], c.Transcribe)
	}
	put("sot_sequence", list(sequence))
	codes := make([]string, 0, len(languages))
	for code := range languages {
		codes = append(codes, code)
	}
	sort.Slice(codes, func(i, j int) bool { return languages[codes[i]] < languages[codes[j]] })
	ids := make([]int, len(codes))
	for i, code := range codes {
		ids[i] = languages[code]
	}
	put("all_language_tokens", list(ids))
	put("all_language_codes", strings.Join(codes, ","))
	put("sot", c.Start)
	put("sot_index", 0)
	put("eot", c.EndOfText)
	put("blank_id", c.SuppressFirst[0])
	put("is_multilingual", multilingual)
	put("no_speech", c.NoSpeech)
	put("non_speech_tokens", list(mc.Suppress))
	put("transcribe", c.Transcribe)
	put("translate", special[0])
	put("sot_prev", special[1])
	put("sot_lm", special[2])
	put("no_timestamps", c.NoTimestamps)
	return meta
}
