package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"parley/speech/models/internal/ctmodel/cttest"
	"parley/speech/models/internal/onnxfile/onnxtest"
	"parley/speech/whisper"
)

// small is a model of one layer each with 300 tokens, whose weights are whatever.
func small() Source {
	const d, f, vocab = headWidth, 4 * headWidth, 300
	tensors := map[string]cttest.Tensor{}
	put := func(name string, dims ...int) {
		n := 1
		for _, x := range dims {
			n *= x
		}
		bits := make([]uint16, n)
		for i := range bits {
			bits[i] = uint16(i*2654435761>>7) & 0xbfff // small positive and negative numbers
		}
		tensors[name] = cttest.Tensor{Dims: dims, Half: bits}
	}
	linear := func(name string, out, in int) { put(name+"/weight", out, in); put(name+"/bias", out) }
	norm := func(name string) { put(name+"/gamma", d); put(name+"/beta", d) }
	put("encoder/conv1/weight", d, 80, 3)
	put("encoder/conv1/bias", d)
	put("encoder/conv2/weight", d, d, 3)
	put("encoder/conv2/bias", d)
	put("encoder/position_encodings/encodings", 1500, d)
	put("decoder/position_encodings/encodings", 448, d)
	put("decoder/embeddings/weight", vocab, d)
	norm("encoder/layer_norm")
	norm("decoder/layer_norm")
	for _, part := range []string{"encoder/layer_0", "decoder/layer_0"} {
		norm(part + "/self_attention/layer_norm")
		linear(part+"/self_attention/linear_0", 3*d, d)
		linear(part+"/self_attention/linear_1", d, d)
		norm(part + "/ffn/layer_norm")
		linear(part+"/ffn/linear_0", f, d)
		linear(part+"/ffn/linear_1", d, f)
	}
	norm("decoder/layer_0/attention/layer_norm")
	linear("decoder/layer_0/attention/linear_0", d, d)
	linear("decoder/layer_0/attention/linear_1", 2*d, d)
	linear("decoder/layer_0/attention/linear_2", d, d)

	vocabulary := map[string]int{"Ġword": 1, "Ã©": 2, "<|endoftext|>": 3, "": 0}
	added := []map[string]any{}
	for i, name := range []string{"endoftext", "startoftranscript", "en", "de", "translate", "transcribe", "startoflm", "startofprev", "nocaptions", "notimestamps"} {
		added = append(added, map[string]any{"id": 3 + i, "content": "<|" + name + "|>"})
	}
	tok, err := json.Marshal(map[string]any{"added_tokens": added, "model": map[string]any{"vocab": vocabulary}})
	if err != nil {
		panic(err)
	}
	return Source{Name: "small", Model: cttest.File(tensors, "decoder/projection/weight", "decoder/embeddings/weight"), Tokenizer: tok,
		Config: []byte(`{"alignment_heads":[[0,0]],"suppress_ids":[1,2],"suppress_ids_begin":[3,1]}`)}
}

func write(t *testing.T, s Source, form Form) map[string][]byte {
	t.Helper()
	files, err := Files(s, form)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		out[f.Name] = b.Bytes()
	}
	return out
}

func TestTheSameTensorsGiveTheSameBytes(t *testing.T) {
	for _, form := range []Form{Own, Sherpa} {
		a, b := write(t, small(), form), write(t, small(), form)
		if !maps.EqualFunc(a, b, bytes.Equal) {
			t.Errorf("form %d differs from run to run", form)
		}
	}
}

func TestTheGraphsHaveTheNamesThatTheirReadersUse(t *testing.T) {
	own, sherpa := write(t, small(), Own), write(t, small(), Sherpa)
	for _, c := range []struct {
		file    []byte
		in, out string
	}{
		{own[whisper.EncoderFile], "mel", "ck_0 cv_0"},
		{own[whisper.DecoderFile], "tokens pk_0 pv_0 ck_0 cv_0", "logits nk_0 nv_0 align"},
		{sherpa[whisper.EncoderFile], "mel", "n_layer_cross_k n_layer_cross_v"},
		{sherpa[whisper.DecoderFile], "tokens in_n_layer_self_k_cache in_n_layer_self_v_cache n_layer_cross_k n_layer_cross_v offset",
			"logits out_n_layer_self_k_cache out_n_layer_self_v_cache cross_attention_weights"},
	} {
		f, err := onnxtest.Read(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f.Inputs, " "); got != c.in {
			t.Errorf("inputs %s, want %s", got, c.in)
		}
		if got := strings.Join(f.Outputs, " "); got != c.out {
			t.Errorf("outputs %s, want %s", got, c.out)
		}
		// Every value is made before it is used, once.
		known := map[string]bool{"": true}
		for _, names := range [][]string{f.Inputs, slices.Collect(maps.Keys(f.Weights))} {
			for _, n := range names {
				known[n] = true
			}
		}
		for _, n := range f.Nodes {
			for _, in := range n.In {
				if !known[in] {
					t.Errorf("%s reads %s, which nothing made", n.Op, in)
				}
			}
			for _, out := range n.Out {
				if known[out] {
					t.Errorf("%s makes %s again", n.Op, out)
				}
				known[out] = true
			}
		}
		for _, out := range f.Outputs {
			if !known[out] {
				t.Errorf("nothing makes the output %s", out)
			}
		}
	}
	f, err := onnxtest.Read(sherpa[whisper.EncoderFile])
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]string{"model_type": "whisper-small", "sot": "4", "eot": "3", "sot_sequence": "4", "all_language_codes": "en,de", "all_language_tokens": "5,6", "is_multilingual": "0", "non_speech_tokens": "1,2", "n_text_ctx": "448"} {
		if f.Meta[k] != want {
			t.Errorf("note %s is %q, want %q", k, f.Meta[k], want)
		}
	}
}

func TestTokensAndDescription(t *testing.T) {
	out := write(t, small(), Own)
	if got, want := string(out[whisper.TokensFile]), " 0\nIHdvcmQ= 1\nw6k= 2\n"; got != want { // nothing, " word", "é"
		t.Errorf("tokens %q, want %q", got, want)
	}
	c, err := whisper.ParseConfig(out[whisper.ConfigFile])
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "small" || c.EndOfText != 3 || c.Start != 4 || c.Multilingual() || c.Heads != 1 || c.NoSpeech != 11 || fmt.Sprint(c.SuppressFirst) != "[1 3]" {
		t.Errorf("%+v", c)
	}
}

func TestWhatIsNoWhisperIsRefused(t *testing.T) {
	rename := func(from, to string) func(*Source) {
		return func(s *Source) { s.Model = bytes.ReplaceAll(s.Model, []byte(from), []byte(to)) }
	}
	for name, change := range map[string]func(*Source){
		"no model":         func(s *Source) { s.Model = nil },
		"no embedding":     rename("decoder/embeddings/weight", "decoder/embeddingX/weight"),
		"no bias":          rename("encoder/layer_0/ffn/linear_0/bias", "encoder/layer_0/ffn/linear_0/bXas"),
		"no decoder layer": rename("decoder/layer_0/self_attention/linear_0/weight", "decoder/layer_7/self_attention/linear_0/weight"),
		"no tokenizer":     func(s *Source) { s.Tokenizer = []byte("{}") },
		"a tokenizer with gaps": func(s *Source) {
			s.Tokenizer = bytes.Replace(s.Tokenizer, []byte(`"Ġword":1`), []byte(`"Ġword":2`), 1)
		},
		"no configuration":    func(s *Source) { s.Config = []byte("{}") },
		"a head out of range": func(s *Source) { s.Config = []byte(`{"alignment_heads":[[0,1]]}`) },
	} {
		s := small()
		change(&s)
		if _, err := Files(s, Own); err == nil {
			t.Errorf("%s: accepted", name)
		} else if name != "no model" && !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzTokenizer(f *testing.F) {
	f.Add(small().Tokenizer)
	f.Fuzz(func(t *testing.T, b []byte) {
		tok, err := readTokenizer(b)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := tok.write(&out); err != nil {
			t.Fatal(err)
		}
		// What we write, the recogniser must be able to read.
		back, err := whisper.ParseTokens(out.Bytes())
		if err != nil || back.Len() != len(tok.text) {
			t.Errorf("%d tokens: %v", len(tok.text), err)
		}
	})
}
