//go:build cgo

package whisper

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	onnx "github.com/yalue/onnxruntime_go"

	"parley/speech/ort"
)

// Options say how a model is run.
type Options struct {
	// Runtime is the file of ONNX Runtime. It is loaded once in a process; empty means that ort.Init was called.
	Runtime string
	// Threads that one decode may use; zero means one. Two decodes at once gain more than two threads in one.
	Threads int
}

// Model is a loaded recogniser. Decode may be called from many goroutines at once.
type Model struct {
	// Config describes it.
	Config Config
	// Tokens knows its tokens.
	Tokens *Tokens

	enc, dec *ort.Session
	slabs    sync.Pool // *[]float32: room for keys and values, kept between decodes
	mu       sync.RWMutex
	closed   bool
}

// ErrClosed means that the model was closed.
var ErrClosed = errors.New("whisper: the model is closed")

// Load loads the model of one folder (models.Paths.Whisper).
func Load(dir string, o Options) (*Model, error) {
	if o.Runtime != "" {
		if err := ort.Init(o.Runtime); err != nil {
			return nil, err
		}
	}
	c, err := ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	m := &Model{Config: c}
	if m.Tokens, err = ReadTokens(dir); err != nil {
		return nil, err
	}
	if m.Tokens.Len() != c.EndOfText {
		return nil, fmt.Errorf("whisper: %s of %s has %d tokens, want %d", TokensFile, dir, m.Tokens.Len(), c.EndOfText)
	}
	var cross, past, next []string
	for i := range c.Layers {
		cross = append(cross, fmt.Sprintf("ck_%d", i), fmt.Sprintf("cv_%d", i))
		past = append(past, fmt.Sprintf("pk_%d", i), fmt.Sprintf("pv_%d", i))
		next = append(next, fmt.Sprintf("nk_%d", i), fmt.Sprintf("nv_%d", i))
	}
	so := ort.Options{Threads: o.Threads}
	if m.enc, err = ort.Open(filepath.Join(dir, EncoderFile), []string{"mel"}, cross, so); err != nil {
		return nil, err
	}
	in := append(append([]string{"tokens"}, past...), cross...)
	out := append([]string{"logits", "align"}, next...)
	if m.dec, err = ort.Open(filepath.Join(dir, DecoderFile), in, out, so); err != nil {
		return nil, errors.Join(err, m.enc.Close())
	}
	return m, nil
}

// Close frees the model once the decodes that are running have returned.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	return errors.Join(m.enc.Close(), m.dec.Close())
}

// Decode writes down one piece of speech. It stops soon after ctx ends, with its error.
func (m *Model) Decode(ctx context.Context, r Request) (Result, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return Result{}, ErrClosed
	}
	truncated := len(r.PCM) > MaxSamples
	if truncated {
		r.PCM = r.PCM[:MaxSamples]
	}
	for _, id := range r.Prefix {
		if id < 0 || id >= m.Config.EndOfText {
			return Result{}, fmt.Errorf("whisper: prefix: %d is no text token", id)
		}
	}
	if len(r.PCM) == 0 {
		return Result{Lang: r.Lang, NoSpeech: 1}, nil
	}
	parts, err := inParts(r, func(r Request) (transcript, error) {
		d, err := m.hear(ctx, r)
		if err != nil {
			return transcript{}, err
		}
		defer d.close()
		return decode(ctx, m.Config, d, r)
	})
	if err != nil {
		return Result{}, err
	}
	out := result(parts, m.Tokens, r)
	out.Truncated = out.Truncated || truncated
	return out, nil
}

// decoder is the engine of one decode. Not for several goroutines.
type decoder struct {
	m     *Model
	t     int // positions of the encoder
	cross []onnx.Value
	past  []onnx.Value
	n     int          // tokens in past
	slabs []*[]float32 // of cross, past and the next past
	slab  int          // which of the last two past is in
}

func (d *decoder) heads() int  { return d.m.Config.AlignHeads }
func (d *decoder) frames() int { return d.t }

// hear runs the encoder.
func (m *Model) hear(ctx context.Context, r Request) (*decoder, error) {
	samples := make([]float32, len(r.PCM))
	for i, v := range r.PCM {
		samples[i] = float32(v) / 32768
	}
	frames := shape(len(samples), r.Pad)
	mel, err := ort.Tensor(LogMel(samples, frames), 1, Mels, int64(frames))
	if err != nil {
		return nil, err
	}
	defer ort.Free(mel)
	d := &decoder{m: m, t: frames / 2}
	for range 3 {
		d.slabs = append(d.slabs, m.slab())
	}
	// The results are written into memory of ours: left to the runtime, each would be copied once more.
	if d.cross, err = m.layered(d.slabs[0], d.t); err == nil {
		err = m.enc.RunInto(ctx, []onnx.Value{mel}, d.cross)
	}
	if err == nil {
		d.past, err = m.layered(d.slabs[1], 0)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *decoder) close() {
	ort.Free(d.cross...)
	ort.Free(d.past...)
	for _, s := range d.slabs {
		d.m.slabs.Put(s)
	}
	*d = decoder{}
}

func (m *Model) slab() *[]float32 {
	if s, ok := m.slabs.Get().(*[]float32); ok {
		return s
	}
	return new([]float32)
}

// layered makes keys [1,heads,64,n] and values [1,heads,n,64] for each layer, one after the other in a slab.
func (m *Model) layered(slab *[]float32, n int) ([]onnx.Value, error) {
	each := m.Config.Width * n
	if need := 2 * m.Config.Layers * each; cap(*slab) < need {
		*slab = make([]float32, need+need/4)
	}
	rest := (*slab)[:cap(*slab)]
	var all []onnx.Value
	for i := range 2 * m.Config.Layers {
		shape := []int64{1, int64(m.Config.Heads), 64, int64(n)}
		if i%2 == 1 {
			shape[2], shape[3] = shape[3], shape[2]
		}
		t, err := ort.Tensor(rest[:each:each], shape...)
		if err != nil {
			ort.Free(all...)
			return nil, err
		}
		rest = rest[each:]
		all = append(all, t)
	}
	return all, nil
}

// step runs the decoder over some more tokens.
func (d *decoder) step(ctx context.Context, tokens []int) ([]float32, [][]float32, error) {
	ids := make([]int64, len(tokens))
	for i, t := range tokens {
		ids[i] = int64(t)
	}
	in, err := ort.Tensor(ids, 1, int64(len(ids)))
	if err != nil {
		return nil, nil, err
	}
	defer ort.Free(in)
	next, err := d.m.layered(d.slabs[1+(d.slab+1)%2], d.n+len(ids))
	if err != nil {
		return nil, nil, err
	}
	inputs := append(append([]onnx.Value{in}, d.past...), d.cross...)
	outputs := append([]onnx.Value{nil, nil}, next...)
	if err := d.m.dec.RunInto(ctx, inputs, outputs); err != nil {
		ort.Free(next...)
		return nil, nil, err
	}
	defer ort.Free(outputs[:2]...)
	ort.Free(d.past...)
	d.past, d.slab, d.n = next, (d.slab+1)%2, d.n+len(ids)

	scores, _, err := ort.Floats(outputs[0])
	if err != nil {
		return nil, nil, err
	}
	align, dims, err := ort.Floats(outputs[1])
	if err != nil {
		return nil, nil, err
	}
	if len(scores) < d.m.Config.Vocabulary || len(dims) != 4 || dims[2] != int64(len(ids)) || dims[3] != int64(d.t) || dims[1] != int64(d.heads()) {
		return nil, nil, fmt.Errorf("whisper: the decoder gave results of unexpected shape %v", dims)
	}
	// [heads, tokens, frames] becomes a row for each token.
	rows := make([][]float32, len(ids))
	for i := range rows {
		rows[i] = make([]float32, d.heads()*d.t)
		for h := range d.heads() {
			copy(rows[i][h*d.t:(h+1)*d.t], align[(h*len(ids)+i)*d.t:])
		}
	}
	return scores, rows, nil
}
