// Package convert turns Whisper's tensors, as the packages carry them, into the ONNX files that our decoder runs.
//
// Weights are quantised to eight bits exactly as ONNX Runtime's own dynamic quantiser does it, and the graphs are
// written directly, so no Python is needed and the same input always gives the same bytes.
package convert

import (
	"errors"
	"fmt"
	"io"

	"parley/speech/models/internal/ctmodel"
	"parley/speech/models/internal/onnxfile"
	"parley/speech/whisper"
)

// Source is one model as the packages carry it: three files' contents.
type Source struct {
	Name      string // tiny.en, base
	Model     []byte // model.bin; its parts joined
	Tokenizer []byte // tokenizer.json
	Config    []byte // config.json
}

// Form is the shape of the graphs.
type Form int

// The two forms.
const (
	// Own is what speech/whisper runs: caches grow, cross attention is laid out once, the embedding is stored once.
	Own Form = iota
	// Sherpa is what sherpa-onnx runs, with word times: the fallback for other run times.
	Sherpa
)

// Output makes one file. It may be written once.
type Output struct {
	Name  string
	Write func(io.Writer) error
}

// ErrShape means that the tensors are not those of a Whisper model that we know.
var ErrShape = errors.New("convert: not a Whisper model of a known shape")

// Files plans the files of one model. The source's contents must stay unchanged until all were written.
func Files(s Source, form Form) ([]Output, error) {
	m, err := ctmodel.Parse(s.Model)
	if err != nil {
		return nil, err
	}
	t, err := readTokenizer(s.Tokenizer)
	if err != nil {
		return nil, err
	}
	w, err := newWeights(m, s.Config)
	if err != nil {
		return nil, err
	}
	cfg, err := describe(s.Name, w, t, s.Config)
	if err != nil {
		return nil, err
	}
	var enc, dec *onnxfile.Model
	switch form {
	case Own:
		enc, dec = ownEncoder(w), ownDecoder(w)
	case Sherpa:
		enc, dec = sherpaEncoder(w, cfg, s.Config, t), sherpaDecoder(w)
	}
	if w.err != nil {
		return nil, w.err
	}
	out := []Output{
		{whisper.EncoderFile, enc.Write},
		{whisper.DecoderFile, dec.Write},
		{whisper.TokensFile, t.write},
	}
	if form == Own {
		b, err := encodeConfig(cfg)
		if err != nil {
			return nil, err
		}
		out = append(out, Output{whisper.ConfigFile, func(w io.Writer) error { _, err := w.Write(b); return err }})
	}
	return out, nil
}

// weights gives the tensors by name and checks their shapes; the first mistake stays in err.
type weights struct {
	m           *ctmodel.Model
	err         error
	d           int // width
	heads       int
	encLayers   int
	decLayers   int
	vocab       int
	audio, text int
	align       [][2]int // layer, head
}

func newWeights(m *ctmodel.Model, config []byte) (*weights, error) {
	w := &weights{m: m}
	dim := func(name string, axis, rank int) int {
		v, ok := m.Variables[name]
		if !ok || len(v.Dims) != rank {
			w.fail("%s is missing or has another rank", name)
			return 0
		}
		return v.Dims[axis]
	}
	w.vocab, w.d = dim("decoder/embeddings/weight", 0, 2), dim("decoder/embeddings/weight", 1, 2)
	w.audio = dim("encoder/position_encodings/encodings", 0, 2)
	w.text = dim("decoder/position_encodings/encodings", 0, 2)
	if w.err != nil {
		return nil, w.err
	}
	if w.d == 0 || w.d%headWidth != 0 || w.d > 4096 {
		return nil, fmt.Errorf("%w: width %d", ErrShape, w.d)
	}
	w.heads = w.d / headWidth
	for has := true; has; {
		_, has = m.Variables[layer("encoder", w.encLayers)+"/self_attention/linear_0/weight"]
		if has {
			w.encLayers++
		}
	}
	for has := true; has; {
		_, has = m.Variables[layer("decoder", w.decLayers)+"/self_attention/linear_0/weight"]
		if has {
			w.decLayers++
		}
	}
	if w.encLayers == 0 || w.decLayers == 0 {
		return nil, fmt.Errorf("%w: no layers", ErrShape)
	}
	align, err := alignmentHeads(config)
	if err != nil {
		return nil, err
	}
	for _, lh := range align {
		if lh[0] < 0 || lh[0] >= w.decLayers || lh[1] < 0 || lh[1] >= w.heads {
			return nil, fmt.Errorf("%w: alignment head %v", ErrShape, lh)
		}
	}
	w.align = align
	return w, nil
}

// headWidth is the width of an attention head in every Whisper model.
const headWidth = 64

func layer(part string, i int) string { return fmt.Sprintf("%s/layer_%d", part, i) }

func (w *weights) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: "+format, append([]any{ErrShape}, args...)...)
	}
}

// half gives a float16 tensor of exactly these dimensions.
func (w *weights) half(name string, dims ...int) []byte {
	v, ok := w.m.Variables[name]
	same := ok && v.Type == ctmodel.Float16 && len(v.Dims) == len(dims)
	for i := 0; same && i < len(dims); i++ {
		same = v.Dims[i] == dims[i]
	}
	if !same {
		w.fail("%s: %v of type %d, want %v of type %d", name, v.Dims, v.Type, dims, ctmodel.Float16)
		return nil
	}
	return v.Data
}
